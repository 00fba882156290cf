/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow version of a block: build.c puts in the calls, slow.c is what they call.
 *
 * Each temporary of a block has a place in sym_temp[], set where the block sets it. A call gets
 * a description of the statement, made when the block was translated, and the value of the
 * temporary that the machine has just computed; the operands' are in sym_temp[] by then.
 */
#ifndef HOLDFAST_TRACER_SLOW_H
#define HOLDFAST_TRACER_SLOW_H

#include "exec.h"
#include "expr/term.h"

#define SYM_TEMPS 16384u
extern struct sym_value sym_temp[SYM_TEMPS];

/* A part of the guest state that a helper of VEX uses. */
struct sym_part {
	Int offset, size;
	Bool read, write;
};

struct sym_stmt {
	Addr ip;
	struct sym_value *r, *r2;       /* results */
	UInt bits;                      /* of r */
	const struct sym_value *a[5];   /* operands; NULL: none */
	const struct sym_value **extra; /* arguments of a call */
	UInt nextra;
	UInt op;          /* IROp, IRLoadGOp */
	Int offset, size; /* in the guest state; size of an access */
	ULong groups;     /* of registers; 0: cannot be symbolic */
	Int elems, bias;  /* GetI, PutI: offset is the array's, size an element's */
	const HChar *name;
	Addr to[2];         /* of an exit: if it is taken, if not */
	Bool reads, writes; /* memory, by a helper of VEX at a[0] */
	struct sym_part *part;
	UInt nparts;
};

extern VG_REGPARM(3) void slow_upper(struct sym_value *r, ULong v1, ULong v2, ULong v3);
extern VG_REGPARM(2) void slow_before_load(Addr a, ULong size);
extern VG_REGPARM(1) void slow_before_division(const struct sym_stmt *);
/* WrTmp */
extern VG_REGPARM(2) void slow_set(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_copy(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_get(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_geti(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_load(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_unop(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_binop(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_triop(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_qop(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_ite(const struct sym_stmt *, ULong v);
extern VG_REGPARM(2) void slow_ccall(const struct sym_stmt *, ULong v);
/* the others */
extern VG_REGPARM(1) void slow_put(const struct sym_stmt *);
extern VG_REGPARM(1) void slow_puti(const struct sym_stmt *);
extern VG_REGPARM(1) void slow_store(const struct sym_stmt *);
extern VG_REGPARM(2) void slow_loadg(const struct sym_stmt *, ULong v);
extern VG_REGPARM(3) void slow_cas(const struct sym_stmt *, ULong lo, ULong hi);
extern VG_REGPARM(1) void slow_dirty(const struct sym_stmt *);
extern VG_REGPARM(1) void slow_exit(const struct sym_stmt *);
extern VG_REGPARM(1) void slow_next(const struct sym_stmt *);
extern VG_REGPARM(2) void slow_flush(const struct sym_stmt *, ULong addr);

/* ---- values.c ---- */
#define SYM_VALUES 1024u
struct sym_values {
	UInt n;
	ULong v[SYM_VALUES]; /* ascending */
};
/* All values that the term can have on this path, and perhaps more. False: too many. */
Bool sym_values(struct term, struct sym_values *);

/* ---- addr.c ---- */
/* r, loaded at the symbolic address a: a table, a choice, or the address is pinned. */
void sym_load_at(const struct sym_value *a, struct sym_value *r, Addr ip);
/* Before the store: x goes to the symbolic address a. */
void sym_store_at(const struct sym_value *a, const struct sym_value *x, Addr ip);
/* Where a store at a may go; none: the address is pinned. */
void sym_store_places(const struct sym_value *a, UInt size, Addr ip, struct sym_values *places);
void sym_store_pinned(const struct sym_value *a, UInt size, Addr ip);

/* ---- places.c ---- */
/* What is read or written if `a` is one of these places; all of them are accessible. r->v is what this
 * run has read. was: what was in its place before; NULL: it is still there. */
void sym_places_load(struct term a, const struct sym_values *, struct sym_value *r);
void sym_places_store(struct term a, const struct sym_values *, const struct sym_value *x,
		      const struct sym_value *was);

/* ---- concrete.c ---- */
/* An operation that is not followed, a helper's name or VEX's. */
void sym_concrete(const HChar *name);
void sym_concrete_op(IROp op);

/* IR that both versions need: instr.c */
IRExpr *sym_ir_u64(ULong v);
IRExpr *sym_ir_assign(IRSB *sb, IRType ty, IRExpr *e);
void sym_ir_call(IRSB *sb, const HChar *name, void *fn, Int regparms, IRExpr **args, IRExpr *guard);

/* build.c: one block; called as the members of struct block_hooks are */
void sym_build_begin(IRSB *out, const IRSB *in);
void sym_build_before(IRSB *out, IRStmt *, Addr ip);
void sym_build_after(IRSB *out, IRStmt *, Addr ip);
void sym_build_next(IRSB *out, Addr ip);
void sym_build_flush(IRSB *out, Addr ip, const struct amode *, IRExpr *addr);

#endif
