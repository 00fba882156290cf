/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where addresses of PM can come to: a flow analysis over the files of a program.
 *
 * A value is a *node*: a register at the beginning of a block or behind an instruction, a slot of a stack frame,
 * a global variable, a field of an object in volatile memory, what a function returns. Each node has a set of
 * what it may point to: PM, an object (made at a call of foreign code, or a variable whose address is
 * taken; by number modulo 61), or what was loaded from PM, which may be a pointer into it or a number.
 * Sets flow along edges until nothing changes (Andersen's analysis, with fields, without contexts):
 *
 *	p = mmap(…)     seen to map PM                  { PM } ──▶ p
 *	h->base = p     h points to object 7            p ──▶ field (7, 8)
 *	q = h->base     …                               field (7, 8) ──▶ q
 *	q->next->n = 1  a store that no run has seen    q->next is from PM: the store may modify PM
 *
 * What points to PM is evidence of runs only: calls in which PM was mapped, and stores that hit it.
 * From such a store it goes backwards, too: to the argument, variable, field or call that its
 * address came from.
 */
#ifndef HOLDFAST_BINARY_FLOW_H
#define HOLDFAST_BINARY_FLOW_H

#include "binary/view.h"

#define FLOW_REGS 16 /* that are followed from block to block */
#define FLOW_PM ((uint64_t)1)
#define FLOW_LOADED ((uint64_t)2)       /* from PM */
#define FLOW_INSIDE ((uint64_t)1 << 63) /* somewhere in the objects, not where they begin */
#define FLOW_OBJECTS (~(FLOW_PM | FLOW_LOADED | FLOW_INSIDE))

enum flow_edge {
	FLOW_COPY,   /* the same value */
	FLOW_DERIVE, /* … with something added */
	FLOW_CALL,   /* an argument: evidence does not go back to all callers */
	FLOW_MIXED,  /* a sum of two: it is not known whose address it is */
};

/* An access through a pointer; disp NONE: anywhere. */
struct flow_access {
	uint32_t base, value; /* nodes; value 0: not followed */
	uint32_t disp;
	uint32_t next;    /* of the same base */
	uint64_t met[2];  /* objects that were, at a known field and at any */
	bool store, seen; /* seen: a load that gave an address of PM */
};

/* An instruction that stores. */
struct flow_store {
	uint32_t file, pos;
	uint32_t base, index; /* nodes; 0: none */
	bool scaled;
};

/* A call, to be linked with its targets as they become known. */
struct flow_call {
	uint32_t file, block;
	uint32_t arg[6], result; /* nodes */
	uint32_t linked;
};

struct flow_link {
	uint32_t to, next;
	uint8_t kind;
};

/* A variable whose address is taken: an object whose fields are places of their own. */
struct flow_variable {
	uint64_t object, space;
	uint32_t at;
	char kind;
};

struct flow_node {
	uint64_t set;
	uint32_t out, in; /* first links */
	uint32_t access;  /* first, of which it is the base */
	uint32_t load;    /* access that it is the value of, + 1 */
	bool queued, evident;
	bool exact; /* what a function returns that maps memory: each call of it speaks for itself */
};

struct flow {
	VEC(struct flow_node) node; /* 0: points to nothing */
	VEC(struct flow_link) link;
	VEC(struct flow_access) access;
	VEC(struct flow_store) store;
	VEC(struct flow_call) call;
	VEC(struct flow_variable) variable;
	VEC(uint32_t) work;
	struct hmap at;       /* hash of a place → node */
	struct hmap store_at; /* file and position → store */
	struct hmap call_at;  /* file and block → call */
	struct hmap
		copier; /* callees that were seen to write PM for their caller, as memcpy() does */
	uint32_t *
		first; /* of each file: node of its first block's first register; NONE: not built */
	uint32_t nfile, nobject;
};

/* flow.c: what flow_build.c makes it of */
uint32_t binary_flow_node(struct flow *);
uint32_t binary_flow_place(struct flow *, char kind, uint64_t a, uint64_t b); /* by what it is */
void binary_flow_edge(struct flow *, uint32_t from, uint32_t to, enum flow_edge);
void binary_flow_access(struct flow *, uint32_t base, uint32_t disp, uint32_t value, bool store);
uint64_t binary_flow_object(struct flow *); /* a new one */
/* … of which the fields are the places of that kind from `at` on. */
uint64_t binary_flow_variable(struct flow *, char kind, uint64_t space, uint32_t at);
void binary_flow_add(struct flow *, uint32_t node, uint64_t set);
/* flow_build.c: false: too large, or it cannot be read. */
bool binary_flow_build(struct flow *, const struct binary_view *, uint32_t file);

#endif
