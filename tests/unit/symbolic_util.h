/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program under symbolic execution without a program: C functions that compute with `struct sym`
 * and so emit the records that a tracer would, straight into the engine.
 */
#ifndef HOLDFAST_TESTS_SYMBOLIC_UTIL_H
#define HOLDFAST_TESTS_SYMBOLIC_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolic/internal.h"

struct sym {
	uint32_t node; /* 0: a constant */
	uint64_t v;
	unsigned w;
};

#define MAX_LEAVES 4096
struct vm {
	struct symbolic_run *run;
	const struct symbolic_input *in;
	uint32_t next; /* node number */
	int leaf;      /* what the program says it came to */
};
typedef void program(struct vm *);

static inline void vm_emit(struct vm *vm, unsigned kind, unsigned flags, uint64_t ip, unsigned n,
			   const uint64_t *arg)
{
	struct trace_event e = {
		.kind = (uint8_t)kind, .flags = (uint8_t)flags, .ip = ip, .nargs = (uint8_t)n
	};
	for (unsigned i = 0; i < n; i++)
		e.arg[i] = arg[i];
	symbolic_run_record(vm->run, &e);
}

static inline struct sym vm_const(unsigned w, uint64_t v)
{
	return (struct sym){ 0, v & expr_mask(w), w };
}

static inline struct sym vm_node(struct vm *vm, uint32_t word, struct sym a, struct sym b,
				 struct sym c)
{
	struct sym o[3] = { a, b, c }, r = { 0, expr_apply(word, a.v, b.v, c.v), EXPR_W(word) };
	uint64_t arg[5] = { 0, word };
	unsigned flags = 0;
	if (!a.node && !b.node && !c.node)
		return r;
	r.node = arg[0] = ++vm->next;
	for (unsigned i = 0; i < 3; i++) {
		arg[2 + i] = o[i].node ? o[i].node : o[i].v;
		flags |= !o[i].node << i;
	}
	vm_emit(vm, TRACE_SYM_NODE, flags, 0, 5, arg);
	return r;
}

static inline struct sym vm_in(struct vm *vm, uint32_t i)
{
	uint64_t arg[5] = { ++vm->next, EXPR_WORD(EXPR_INPUT, 8, 0, 0), i };
	vm_emit(vm, TRACE_SYM_NODE, 1, 0, 5, arg);
	return (struct sym){ vm->next, vm->in->byte[i], 8 };
}

/* entry[a], 8 bits each. */
static inline struct sym vm_table(struct vm *vm, struct sym a, const uint8_t entry[256])
{
	struct trace_event e = { .kind = TRACE_SYM_NODE,
				 .nargs = 5,
				 .arg = { ++vm->next, EXPR_WORD(EXPR_TABLE, 8, 8, 0), a.node },
				 .size = 256,
				 .data = entry };
	symbolic_run_record(vm->run, &e);
	return (struct sym){ vm->next, entry[a.v], 8 };
}

/* Both operands have the same width; comparisons give one bit. */
static inline struct sym vm_op(struct vm *vm, enum expr_op op, struct sym a, struct sym b)
{
	bool compares = op >= EXPR_EQ && op <= EXPR_SLE;
	return vm_node(vm, EXPR_WORD(op, compares ? 1 : a.w, a.w, 0), a, b, vm_const(1, 0));
}

static inline struct sym vm_zext(struct vm *vm, unsigned w, struct sym a)
{
	return vm_node(vm, EXPR_WORD(EXPR_ZEXT, w, a.w, 0), a, vm_const(1, 0), vm_const(1, 0));
}

static inline void vm_decision(struct vm *vm, unsigned kind, uint64_t ip, struct sym x)
{
	uint64_t arg[4] = { x.node, x.v, ip + 1, ip + 2 };
	if (x.node)
		vm_emit(vm, TRACE_SYM_BRANCH, kind, ip, 4, arg);
}

/* A conditional jump at ip: to ip + 1 if it is true, else to ip + 2. */
static inline bool vm_if(struct vm *vm, uint64_t ip, struct sym x)
{
	vm_decision(vm, SYM_COND, ip, x);
	return x.v;
}

static inline bool vm_is(struct vm *vm, uint64_t ip, struct sym x, uint64_t value)
{
	return vm_if(vm, ip, vm_op(vm, EXPR_EQ, x, vm_const(x.w, value)));
}

static inline bool vm_less(struct vm *vm, uint64_t ip, struct sym x, uint64_t value)
{
	return vm_if(vm, ip, vm_op(vm, EXPR_ULT, x, vm_const(x.w, value)));
}

/* base + (index << shift), 64 bits. */
static inline struct sym vm_address(struct vm *vm, uint64_t base, struct sym index, unsigned shift)
{
	struct sym wide = vm_zext(vm, 64, index);
	wide = vm_op(vm, EXPR_SHL, wide, vm_const(64, shift));
	return vm_op(vm, EXPR_ADD, wide, vm_const(64, base));
}

static inline void vm_store(struct vm *vm, uint64_t ip, struct sym addr)
{
	struct trace_event e = {
		.kind = TRACE_STORE, .ip = ip, .nargs = 1, .size = 8, .arg = { addr.v }
	};
	vm_decision(vm, SYM_PM_STORE, ip, addr);
	symbolic_run_record(vm->run, &e);
}

static inline void vm_flush(struct vm *vm, uint64_t ip, struct sym addr)
{
	vm_decision(vm, SYM_FLUSH, ip, addr);
	vm_emit(vm, TRACE_FLUSH, 0, ip, 1, &addr.v);
}

static inline void vm_fence(struct vm *vm, uint64_t ip)
{
	vm_emit(vm, TRACE_FENCE, 0, ip, 0, NULL);
}

/* Takes bytes from source 0 as read() would: how many there were. */
static inline uint32_t vm_read(struct vm *vm, uint64_t ip, uint32_t want)
{
	uint32_t now = vm->in->now[0], n = want < now ? want : now;
	uint64_t arg[3] = { 0, 0, n };
	vm_emit(vm, TRACE_SYM_READ, want > now, ip, 3, arg);
	return n;
}

/* ---- exploring it ---- */

struct exploration {
	struct symbolic *s;
	unsigned leaf[MAX_LEAVES];  /* how often each was reached */
	unsigned first[MAX_LEAVES]; /* the run that did it first, from 1 */
	unsigned runs, why[SYMBOLIC_LONGER + 1];
	uint64_t inputs; /* hash of all inputs in their order */
	struct symbolic_outcome last;
};

static inline void run_input(struct exploration *x, program *prog, const struct symbolic_input *in)
{
	struct vm vm = { .in = in };
	vm.run = symbolic_run_begin(x->s, in, NULL);
	prog(&vm);
	symbolic_run_end(vm.run, &x->last);
	x->runs++;
	x->why[in->why]++;
	x->inputs = hash_mix(x->inputs, hash_bytes(in->byte, in->n));
	assert_in_range(vm.leaf, 0, MAX_LEAVES - 1);
	if (!x->leaf[vm.leaf]++)
		x->first[vm.leaf] = x->runs;
}

/* Runs until there is nothing left, or `most` runs are made. */
static inline void explore(struct exploration *x, program *prog, unsigned most)
{
	struct symbolic_input in;
	while (x->runs < most && symbolic_next(x->s, &in)) {
		run_input(x, prog, &in);
		symbolic_input_free(&in);
	}
}

static inline unsigned leaves(const struct exploration *x)
{
	unsigned n = 0;
	for (size_t i = 0; i < MAX_LEAVES; i++)
		n += x->leaf[i] != 0;
	return n;
}

static inline void open_engine(struct exploration *x, struct symbolic_opts opts, uint32_t bytes)
{
	struct sym_source source = { .kind = SYM_SRC_STDIN, .len = bytes, .now = bytes };
	struct err err;
	memset(x, 0, sizeof *x);
	if (!opts.source) {
		opts.source = &source;
		opts.nsource = 1;
	}
	opts.validate = !opts.max_memory;
	x->s = symbolic_new(&opts, &err);
	assert_non_null(x->s);
}

static inline void close_engine(struct exploration *x)
{
	assert_int_equal(symbolic_wrong(x->s, NULL), 0);
	assert_int_equal(symbolic_stats(x->s)->solve.wrong, 0);
	symbolic_free(x->s);
}

#endif
