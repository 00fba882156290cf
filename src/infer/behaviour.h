/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that find update behaviours share: types*.c, epoch.c, group.c, behaviour.c. */
#ifndef HOLDFAST_INFER_BEHAVIOUR_H
#define HOLDFAST_INFER_BEHAVIOUR_H

#include "infer/internal.h"

#define INFER_NO_TYPE UINT32_MAX

/* ---- types.c: which objects and fields an update is to ---- */

enum infer_typing_row {
	INFER_BY_LVALUE,
	INFER_BY_OVERLAP,
	INFER_BY_ALLOCATION,
	INFER_BY_FUNCTION,
	INFER_BY_SITE,
	INFER_TYPINGS
};

/* An update as part of an object. */
struct infer_part {
	uint32_t type, field;
	uint64_t base; /* of the object: its address, or another number of its own */
};
#define INFER_MOST_INNER 3u
#define INFER_MOST_PARTS (2u + 2u * INFER_MOST_INNER)

/* All types and fields, as names that are known once. */
struct infer_named {
	VEC(struct infer_type) type;
	VEC(struct infer_field) field;
	VEC(const struct srcloc_type *) in; /* by type; NULL: it is no struct */
	struct hmap type_at, field_at;
};
uint32_t infer_named_type(struct infer_named *, const char *name, uint64_t size,
			  enum infer_typing_row, const struct srcloc_type *);
uint32_t infer_named_field(struct infer_named *, uint32_t type, const char *name);
void infer_named_free(struct infer_named *);

/* types_objects.c: the objects that typed stores show. */
struct infer_object {
	uint64_t base, end;
	uint32_t type, updates;
};
struct infer_objects {
	VEC(struct infer_object) v; /* once they are sorted: those that are in no other */
	struct hmap recent;
	size_t sorted; /* so many are sorted, and each is there once */
	size_t last;   /* that was asked for */
};
void infer_objects_add(struct infer_objects *, struct infer_object);
/* Counts those of each type, and keeps the largest. */
void infer_objects_sort(struct infer_objects *, struct infer_named *);
const struct infer_object *infer_objects_around(struct infer_objects *, uint64_t byte);
void infer_objects_free(struct infer_objects *);

/* What a place says of its stores. */
struct infer_place_type {
	uint32_t statement;
	uint32_t type;         /* of the statement's lvalue; INFER_NO_TYPE: none */
	uint64_t offset, size; /* … of what is stored, in it; size 0: not known */
	bool fixed;            /* … the offset is known */
	uint32_t function;     /* as a type; INFER_NO_TYPE: not known */
	uint32_t call;         /* the line in it, as a field */
	uint64_t context;      /* that called it */
	uint32_t site;         /* the calling context as a type; INFER_NO_TYPE: not asked for yet */
};
/* types_function.c: sets the last three of all places that have paths. */
void infer_types_functions(struct infer_named *, struct infer_place_type *,
			   const struct finding_place *path, size_t n);

/* A field that was asked for of late. */
struct infer_known_field {
	uint64_t offset;
	uint32_t type, field; /* type: plus one */
	struct {
		uint64_t offset;
		uint32_t type;
	} inner[INFER_MOST_INNER]; /* structs in the type that lie around the field */
	unsigned inners;
};

struct infer_typer {
	const struct infer_updates *u;
	struct infer_named *named;
	struct infer_place_type *place;
	struct infer_objects objects, allocations;
	bool allocates; /* libpmemobj stores: the trace may have its allocations */
	uint64_t typed[INFER_TYPINGS];
	struct infer_known_field *known;
	struct burst {
		size_t from, to;
		uint64_t low;
	} burst; /* of one place, one after the other, to one object */
};
/* types_allocation.c: sets `allocations`. */
void infer_types_allocations(struct infer_typer *, struct trace_reader *);
void infer_typer_init(struct infer_typer *, const struct infer_updates *, struct infer_named *,
		      struct trace_reader *, struct srcloc_trace *);
/* The parts of update i, the innermost object first; in the order of updates. Returns how many. */
size_t infer_typer_at(struct infer_typer *, size_t i, struct infer_update *,
		      struct infer_part out[INFER_MOST_PARTS]);
void infer_typer_free(struct infer_typer *);

/* ---- epoch.c: an object's updates, cut into epochs ---- */

/* The updates of an epoch to one field. */
struct infer_span {
	uint32_t field;
	uint32_t line;              /* INFER_NEVER: several */
	uint32_t first, last;       /* updates */
	uint32_t stored, persisted; /* the first's, and the latest moment of all */
};
struct infer_epoch {
	uint32_t type;
	uint64_t base;
	VEC(struct infer_span) span;
	VEC(uint32_t) update;
	VEC(uint32_t) statement; /* that made them, sorted */
	uint32_t persisted;      /* the latest moment of all updates of the object so far */
	uint32_t last;           /* of its updates */
};
struct infer_epochs {
	const struct infer_updates *u;
	uint32_t *least; /* by update: the least `persisted` of it and all that follow */
	uint32_t *from;  /* by moment: the first update that is stored then or later */
	VEC(struct infer_epoch) open;
	VEC(uint32_t) unused; /* of these */
	struct hmap at;       /* type and base -> open */
	size_t sweep;         /* look for those that have ended when so many are open */
	void (*ended)(void *, const struct infer_epoch *);
	void *arg;
};
void infer_epochs_init(struct infer_epochs *, const struct infer_updates *);
/* In the order of updates. `ended` is called with each epoch once. */
void infer_epochs_add(struct infer_epochs *, uint32_t i, uint32_t line, uint32_t statement,
		      const struct infer_part *);
void infer_epochs_end(struct infer_epochs *);
/* Everything of x is surely persistent before anything of y. */
bool infer_span_before(const struct infer_span *x, const struct infer_span *y);

/* ---- group.c: epochs that are alike ---- */

/* What is public, and the memory behind it. */
struct infer_shape_own {
	struct infer_shape v;
	VEC(uint32_t) behaviour;
};
struct infer_group_own {
	struct infer_group v;
	VEC(uint32_t) member;
	uint32_t next; /* of the same type, plus one */
};
struct infer_behaviours {
	struct infer_named named;
	struct infer_typer typer;
	VEC(struct infer_shape_own) shape;
	VEC(struct infer_behaviour) behaviour;
	VEC(struct infer_group_own) group;
	struct hmap shape_at;     /* type, fields and order -> shape */
	struct hmap behaviour_at; /* shape and statements -> behaviour */
};
void infer_groups_add(struct infer_behaviours *, const struct infer_epoch *);
void infer_groups_end(struct infer_behaviours *);
void infer_groups_free(struct infer_behaviours *);
/* The fields of `a` are among those of `r`, and `r` does not order them more. */
bool infer_represents(const struct infer_shape *r, const struct infer_shape *a);

#endif
