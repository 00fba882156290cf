/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside src/check: oracles and the causes that they collect. */
#ifndef HOLDFAST_CHECK_INTERNAL_H
#define HOLDFAST_CHECK_INTERNAL_H

#include <string.h>

#include "check/check.h"

/*
 * One distinct cause: a kind at a place, however often it happens. The example is the first
 * instance: what the line had gone through by then.
 */
struct cause {
	enum finding_kind kind;
	const struct finding_kind_info *custom; /* a plug-in's kind; NULL: one of ours */
	model_where where;
	uint64_t count;
	uint64_t extra;    /* the oracle's own */
	uint64_t key;      /* the line, 0: none */
	uint8_t byte, len; /* the bytes concerned */
	uint32_t thread;   /* of the guilty event */
	uint64_t event;    /* the guilty event */
	/* numbers + 1 of what shaped the state; 0: did not happen */
	uint64_t store, flush, fence, end;
	model_where store_where, flush_where, fence_where, end_where;
	uint8_t end_kind; /* enum trace_kind of what ended the line's life */
};
struct causes {
	VEC(struct cause *) v;
	struct hmap index;
};

/* What oracles are told of: steps of the model. */
#define CHECK_HOOKS(X) X(store) X(flush) X(fence) X(sync) X(persist) X(op_end) X(gone)
#define CHECK_MOST 31 /* oracles */

struct check {
#define X(hook) uint8_t with_##hook[CHECK_MOST + 1]; /* those that have it: numbers from 1 */
	CHECK_HOOKS(X)
#undef X
	struct model *model;
	const struct trace_defs *defs;
	struct srcloc_trace *srcloc;
	const char *replay;
	bool notes;
	struct trace_event last; /* the newest event, without arguments and data */
	bool any;
	struct oracle_state *state;        /* of each oracle */
	VEC(struct finding_place *) place; /* by model_where; resolved when asked for */
	VEC(model_where) wanted;           /* places that findings will name */
	VEC(uint64_t) persisted;           /* files of which something became persistent */
	struct plugins *plugins;
};

/* What an oracle keeps: causes, and a few counters for every place, which it names itself. */
#define TALLY 4
struct oracle_state {
	struct check *check;
	struct causes causes;
	VEC(uint32_t) tally;
};
/* The TALLY counters of a place. */
static inline uint32_t *oracle_tally(struct oracle_state *o, model_where w)
{
	size_t old = o->tally.n, need = ((size_t)w + 1) * TALLY;
	if (need > old) {
		VEC_RESERVE(&o->tally, need);
		o->tally.n = need;
		memset(o->tally.p + old, 0, (need - old) * sizeof *o->tally.p);
	}
	return o->tally.p + (size_t)w * TALLY;
}

/* An oracle: callbacks, any of which may be NULL. */
struct check_oracle {
	const char *name;
	void (*store)(struct oracle_state *, const struct model_step *);
	void (*flush)(struct oracle_state *, const struct model_step *);
	void (*fence)(struct oracle_state *, const struct model_step *);
	void (*sync)(struct oracle_state *, const struct model_step *);
	void (*persist)(struct oracle_state *, const struct model_step *);
	void (*op_end)(struct oracle_state *, const struct model_step *);
	void (*gone)(struct oracle_state *, const struct model_step *);
	void (*report)(struct oracle_state *, struct finding_set *);
};
extern const struct check_oracle *const check_oracles[]; /* ended by NULL */

/* cause.c: counts an instance; returns the cause, with *fresh set if it is the first. */
struct cause *check_cause_hit(struct oracle_state *, enum finding_kind, model_where, bool *fresh);
/* Fills the example from the line's state; word: which of its words, -1 the whole line. */
void check_cause_example(struct check *, struct cause *, const struct model_step *, int word);
void check_cause_ends(struct check *, struct cause *, const struct model_step *);
/* The finding for a cause; the message is a format without the location. */
struct finding *check_cause_finding(struct check *, const struct cause *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a further place to a finding; where1: place + 1, 0 for none. */
void check_cause_relate(struct check *, struct finding *, const char *role, const char *what,
			uint64_t where1);
void check_causes_free(struct causes *);
const struct finding_place *check_place(struct check *, model_where);

/* Files, by the keys of their lines. */
void check_file_persisted(struct check *, uint64_t key);
bool check_file_was_persisted(const struct check *, uint64_t key);
bool check_same_file(uint64_t key, uint64_t other);

/* foreign.c: does the place belong to a library that decided by itself what to do? */
bool check_foreign(struct check *, model_where);

/* values.c: bytes by location; the map is zeroed to begin with. */
void check_values_put(struct hmap *, uint64_t loc, const uint8_t *data, size_t n);
size_t check_values_get(struct hmap *, uint64_t loc, void *buf, size_t len); /* bytes known */
void check_values_free(struct hmap *);

/* plugin.c: custom oracles. */
struct plugins *check_plugins_load(struct check *, const char *const *path, size_t n, struct err *);
void check_plugins_event(struct plugins *, const struct trace_event *);
void check_plugins_end(struct plugins *);
void check_plugins_report(struct plugins *, struct finding_set *);
void check_plugins_free(struct plugins *);
const char *const *check_plugins_watches(const struct plugins *, size_t *n);

#endif
