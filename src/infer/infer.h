/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program seems to do and to rely on, read off one recorded run, without annotations.
 *
 * Operations: an *operation* is a span of the events, of one thread, that stands for one thing that the
 * program was asked to do:
 *
 *	thread 1   ──begin════════════end──────begin═══end──
 *	thread 2   ───────begin══════════════end────────────      they may overlap
 *
 * There are several ways to find them, the rows of a table in ops.c; the first that gives more than
 * one operation is used, unless one is asked for.
 */
#ifndef HOLDFAST_INFER_INFER_H
#define HOLDFAST_INFER_INFER_H

#include "base/base.h"
#include "finding/finding.h"
#include "model/model.h"
#include "srcloc/srcloc.h"
#include "trace/trace.h"

#define INFER_NO_END UINT64_MAX

struct infer_op {
	uint64_t begin;   /* its first event */
	uint64_t end;     /* its last; INFER_NO_END: it never ended */
	uint64_t said;    /* by which event it was acknowledged; INFER_NO_END: nobody knows */
	uint64_t id;      /* as it was marked; otherwise its index */
	uint32_t index;   /* from 1, in the order of begins */
	uint32_t process; /* whose thread it is … */
	uint32_t thread;  /* … as in struct trace_event */
	uint32_t name;    /* for infer_op_name */
	uint64_t site;    /* of a call: the instruction that makes it; otherwise 0 */
	uint64_t target;  /* … and what it calls */
	char *input;      /* what the program had read for it, or NULL: it is not known */
	char *output;     /* what it said, likewise */
	/* It may be several, the others beginning with these events; in order, NULL: it is one. */
	uint64_t *parts;
	uint32_t nparts;
};

/* A way to find operations; NULL past the last. */
struct infer_way {
	const char *name, *about;
	bool sure; /* the program or its user says what is an operation */
};
const struct infer_way *infer_way_at(size_t i);

struct infer_ops_opts {
	const char *way;   /* NULL: the first that gives more than one, or that is sure */
	const char *calls; /* names of functions, globs, separated by commas; NULL: none */
};

/*
 * Reads the trace, once or more; the reader stands elsewhere afterwards. Opts may be NULL. NULL and err: the way
 * that was asked for is not there, or gives none. A damaged trace is read as far as it goes. That there are none by any
 * way is no error.
 */
struct infer_ops;
struct infer_ops *infer_ops_read(struct trace_reader *, const struct infer_ops_opts *,
				 struct err *);
const struct infer_op *infer_ops_all(const struct infer_ops *, size_t *n);
const char *infer_op_name(const struct infer_ops *, const struct infer_op *);
/* The way that found them, and how many of which name there are, in words (malloc'ed); NULL: none. */
const struct infer_way *infer_ops_way(const struct infer_ops *);
char *infer_ops_sentence(const struct infer_ops *);
void infer_ops_free(struct infer_ops *);

/*
 * Who stores to PM, how often, and what becomes of it; with 'record --profile-sites', how often the same code
 * stores to other memory, too. By places in the source:
 *
 *	update (a.c:3)  called at  modify (a.c:8)  called at  foo (a.c:19)      lost 1, persisted 0, elsewhere 0
 *	update (a.c:3)  called at  modify (a.c:8)                               lost 1, persisted 0, elsewhere 9000
 *
 * A statement's stores are those of the instructions of its line, and what a library stores that it calls.
 */
struct infer_at {
	const char *function, *file;
	uint32_t line;
};
struct infer_uses {
	uint64_t lost;      /* stores to PM that were not persistent when they went out of sight */
	uint64_t persisted; /* … that were made persistent */
	uint64_t elsewhere; /* stores to other memory; 0 if nobody counted */
};
/* Reads the whole trace from its beginning; a damaged one as far as it goes. */
struct infer_profile;
struct infer_profile *infer_profile_read(struct trace_reader *, const struct model_ops *);
bool infer_profile_counted(const struct infer_profile *); /* what is stored elsewhere is known */
/* All that path[0] did when it was called at path[1], that at path[2], … */
struct infer_uses infer_profile_uses(const struct infer_profile *, const struct infer_at *path,
				     size_t n);
void infer_profile_free(struct infer_profile *);

/*
 * Likely invariants: which orders of stores the program seems to rely on, read off the dependences between its
 * accesses to PM (WITCHER, SOSP '21, 4.3). A *dependence* is between two words of PM, in one operation; a
 * *statement* is a place in the source that stores; a *belief* is about two statements that stored to such words:
 *
 *	R(key[j]) depends on R(token[j])     seen in lookup(): the key is read only if the token is set
 *	        key[j] ◀── insert:14, token[j] ◀── insert:18
 *	insert:14 is persistent before insert:18 is stored      41 of 41 times
 */
enum infer_rule { INFER_RO1, INFER_RO2, INFER_RO3, INFER_RA1, INFER_RULES };
struct infer_rule_info {
	const char *name;
	const char *seen;   /* of words X and Y, in the run */
	const char *belief; /* that follows */
	const char *broken; /* the state to try */
	bool swapped;       /* Y is the one to be persistent first */
	bool atomic;        /* neither may be there without the other */
};
const struct infer_rule_info *infer_rule(enum infer_rule);

struct infer_belief {
	enum infer_rule rule;
	uint32_t first,
		second; /* statements: the first is persistent before the second is stored */
	uint64_t seen;  /* dependences that suggest it */
	uint64_t event; /* … one of them: the later access */
	/* Cases: operations store at both. Of a rule that is atomic, held: in one line, or by one event. */
	uint64_t held, broken;
	uint64_t
		broke; /* the event of a case: the second was stored, and the first was not persistent */
	/* Of those that broke, the odd ones: the words themselves depend on each other, and the same two call paths
	 * kept the order INFER_MANY times, and nearly always. */
	uint64_t odd;
	uint64_t odd_first, odd_second; /* events of the first of them */
	uint64_t usual;                 /* how often these call paths kept it */
};
#define INFER_MANY 20u /* cases that make a habit … */
#define INFER_RARE 20u /* … from which one in so many, at most, may depart */

/* Reads the trace twice; the reader stands elsewhere afterwards. `src` has been fed with all events, or is NULL.
 * NULL and err: it cannot be read, or has no dependences (EXIT_USAGE). */
struct infer_beliefs;
struct infer_beliefs *infer_beliefs_read(struct trace_reader *, const struct infer_ops *,
					 const struct model_ops *, struct srcloc_trace *src,
					 struct err *);
/* The best supported first: by cases that held, then by dependences. */
const struct infer_belief *infer_beliefs_all(const struct infer_beliefs *, size_t *n);
/* The statement of an instruction in its calling context; INFER_NO_STATEMENT: it stores nothing. */
#define INFER_NO_STATEMENT UINT32_MAX
uint32_t infer_statement(const struct infer_beliefs *, uint32_t process, uint32_t site,
			 uint32_t ctx);
const struct finding_place *infer_statement_place(const struct infer_beliefs *, uint32_t statement);
/* "node->next" where the source and its debug information tell, else NULL; the beliefs' own. */
const char *infer_statement_target(struct infer_beliefs *, uint32_t statement);
const char *infer_beliefs_stale(const struct infer_beliefs *, size_t i); /* see srcloc */
void infer_beliefs_free(struct infer_beliefs *);

/*
 * Update behaviours (Neal, "SQUINT", 4.4): bursts of stores to one object, with the order that the program
 * enforces between them. An *update* is a store, or a piece of one that is never torn. Each is given
 * types, of which there may be several where structs lie in structs; those of one object (type and address) are cut into
 * *epochs*; an epoch is a *behaviour*. Behaviours with the same fields in the same order have one *shape*. A *group* has a
 * shape that stands for all of its members: it stores to all of their fields, and orders them no more than they do.
 *
 *	struct entry at +0x40      key ─▶ value, valid      insert_ordered: key is persistent before the others are stored
 *	struct entry at +0x80      key, value, valid        insert: no order; it represents both
 */
struct infer_update {
	uint64_t byte;                /* its first, model_file_byte */
	uint32_t place, line, thread; /* line: whose updates persist in the order of time */
	uint32_t len;                 /* 0: to a file that is no PM; it belongs to no object */
};
struct infer_place {
	uint32_t process, site, ctx;
	uint64_t ip;
};
struct infer_updates { /* all of a run, in the order of time */
	void *arg;
	void (*at)(void *arg, size_t i, struct infer_update *out);
	size_t n;
	/* By update, moments (crash/order.h has a drawing): x is persistent before y is stored if persisted[x] <=
	 * stored[y]. INFER_NEVER: it is not persisted. */
	const uint32_t *stored, *persisted;
	size_t moments;
	const struct infer_place *place;
	size_t places;
};
#define INFER_NEVER UINT32_MAX

/* How a type is found, the best way first: a ladder. NULL past the last. */
struct infer_typing {
	const char *name, *about;
};
const struct infer_typing *infer_typing_at(size_t i);

struct infer_type {
	const char *name;
	uint64_t size;    /* 0: not known */
	uint32_t typing;  /* the best way in which it was found */
	uint64_t updates; /* to its objects, those to objects in them too */
	uint64_t objects; /* that were seen */
	uint64_t behaviours;
};
struct infer_field {
	const char *name;
	uint32_t type;
	uint64_t updates;
};
/* Behaviours of one shape that are made by the same statements. */
struct infer_behaviour {
	uint32_t shape;
	uint64_t count;
	/* Of the first of them, and of one of the last if there are several: updates in order, at most INFER_MOST_UPDATES. */
	struct infer_example {
		uint32_t *update;
		size_t n;
	} first, late;
	uint32_t *statement; /* that make them, sorted */
	size_t statements;
};
#define INFER_MOST_UPDATES 1024u
#define INFER_MOST_FIELDS 64u /* an epoch ends where it would have more */
struct infer_shape {
	uint32_t type;
	const uint32_t *field; /* sorted */
	const uint64_t *after; /* by field: a bit for each that is surely persistent before it */
	size_t fields, edges;
	const uint32_t *behaviour;
	size_t behaviours;
};
struct infer_group {
	uint32_t shape;         /* that represents all */
	const uint32_t *member; /* shapes, itself first */
	size_t members;
};

/* Reads the updates a few times, and the trace once if it has allocations; `src` has been fed with all events, or is NULL: there is no source. */
struct infer_behaviours;
struct infer_behaviours *infer_behaviours_read(const struct infer_updates *, struct trace_reader *,
					       struct srcloc_trace *src);
void infer_behaviours_free(struct infer_behaviours *);
/* Number i; NULL past the last. */
const struct infer_type *infer_type_at(const struct infer_behaviours *, size_t i);
const struct infer_field *infer_field_at(const struct infer_behaviours *, size_t i);
const struct infer_behaviour *infer_behaviour_at(const struct infer_behaviours *, size_t i);
const struct infer_shape *infer_shape_at(const struct infer_behaviours *, size_t i);
/* The largest shapes first: by fields, then by the fewest edges. */
const struct infer_group *infer_group_at(const struct infer_behaviours *, size_t i);
/* How many updates have their best type in this way. */
uint64_t infer_typed(const struct infer_behaviours *, size_t typing);

#endif
