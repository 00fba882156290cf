/* SPDX-License-Identifier: BSD-3-Clause */
/* The view of a program, shared by view.c (places), learn.c (facts) and priority.c. */
#ifndef HOLDFAST_BINARY_VIEW_H
#define HOLDFAST_BINARY_VIEW_H

#include "binary/internal.h"

/* An instruction of some file. */
struct ref {
	uint32_t file, pos, block;
};

/* What a call or jump was seen to lead to; a list. */
struct target {
	struct ref to;
	uint32_t next;
};

struct file {
	struct binary *b;
	char *path;
	uint32_t unit0;                    /* its units are unit0 … unit0+nunit-1 of the view */
	uint32_t *unit_first, *unit_block; /* blocks of each unit */
	uint64_t *pm;                      /* a bit a position: counts as modifying PM */
	uint64_t *may;                     /* … a store that may, by flow analysis */
	bool no_flow;                      /* … which is not possible */
	struct ref *import;                /* file NONE: not resolved */
	struct hmap learnt;                /* block → first of its targets */
	uint32_t *priority;                /* at the beginning of each block */
	uint8_t *shape;                    /* of each block: BLOCK_CYCLIC, BLOCK_RECURS */
};

enum {
	BLOCK_CYCLIC = 1, /* in a cycle: all of it has one priority */
	BLOCK_RECURS = 2, /* a call back into its own cycle of calls can be reached */
};

struct place {
	uint32_t file;
	uint64_t bias; /* what to take off an address of the program */
};

/* What a run has shown: a store to PM, or a call in which PM was mapped. */
struct evidence {
	struct ref at;
	bool map;
};

struct flow;
struct binary_view {
	char *cache;
	VEC(struct file) file;
	struct imap map; /* address → place */
	VEC(struct place) place;
	struct hmap ignored; /* hashes of paths that are no ELF files */
	struct hmap export;  /* hash of a name → file, block */
	VEC(struct target) target;
	struct hmap known;             /* hashes of facts */
	fact_vec fact;                 /* learnt here, or in earlier runs of this program */
	fact_vec pending;              /* … about files that are not there (yet) */
	size_t nsaved;                 /* facts that the cache has */
	VEC(struct evidence) evidence; /* that flow analysis has not heard of */
	struct flow *flow;             /* NULL: there was none yet */
	/* what to bring up to date */
	uint8_t *dirty; /* a byte a unit */
	uint32_t nunit;
	bool new_files, new_calls, new_weights;
	/* control dependence, unit by unit, as it is asked for */
	VEC(struct binary_control) control;
	struct hmap control_of;
	/* units in order, callees first, cycles together */
	uint32_t *call_first, *call_to; /* units called by each unit */
	uint32_t *order, *cycle_first, *cycle_of, ncycle;
};

/* view.c */
bool binary_view_find(const struct binary_view *, uint64_t ip, struct ref *); /* of known code */
uint32_t binary_view_unit(const struct binary_view *, const struct ref *);
uint32_t binary_view_bits(const uint64_t *bits, uint32_t from, uint32_t to); /* set in [from, to) */
uint32_t binary_view_weight(const struct file *, uint32_t from, uint32_t to); /* of pm or may */

/* learn.c */
void binary_learn_file(struct binary_view *, uint32_t file); /* a new one: its own facts, imports */
void binary_learn_pending(struct binary_view *);
/* The targets that a block's last instruction may lead to outside its unit; start with 0. */
bool binary_learn_callee(const struct binary_view *, uint32_t file, uint32_t block, uint64_t *state,
			 struct ref *);
/* Ways on from a block in its unit; start with 0. */
bool binary_learn_way(const struct binary_view *, uint32_t file, uint32_t block, uint64_t *state,
		      uint32_t *to);

bool binary_learn_quiet(const struct binary_view *, uint32_t file, uint32_t pos); /* FUNC_QUIET */

/* control.c: the ways in a unit, between its blocks, which are numbered there as its list has them. A way to as many as there are leads out. */
typedef VEC(struct binary_way) binary_ways;
void binary_unit_ways(const struct binary_view *, uint32_t file, uint32_t unit, binary_ways *out);
uint32_t binary_in_unit(const struct file *, uint32_t unit, uint32_t block);

/* flow.c */
void binary_flow_saw(struct binary_view *, const struct ref *, bool map);
void binary_flow_update(struct binary_view *);
void binary_flow_free(struct flow *);

/* priority.c */
void binary_priority_order(struct binary_view *);
void binary_priority_update(struct binary_view *);
uint32_t binary_priority_at(const struct binary_view *, const struct ref *);

#endif
