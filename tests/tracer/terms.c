/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Are the tracer's expressions right for every input, not only for that of the run?
 *
 * src/term simplifies what is made; tracer/expr/flags.c says what x86 flags are. Both are linked
 * here without Valgrind: nodes are kept in an array, random terms are made from random terms, and
 * the result is evaluated for many inputs and compared with what the operation itself gives, or,
 * for flags, with VEX's own helpers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr/term.h"

/* VEX's, in the library that the tracer is linked with. */
ULong amd64g_calculate_condition(ULong cond, ULong op, ULong dep1, ULong dep2, ULong ndep);
ULong amd64g_calculate_rflags_all(ULong op, ULong dep1, ULong dep2, ULong ndep);
ULong amd64g_calculate_rflags_c(ULong op, ULong dep1, ULong dep2, ULong ndep);

/* ---- what the tool has in expr/node.c and Valgrind ---- */

#define MAX_NODES 60000u
#define INPUTS 8u /* bytes */
#define TRIES 24u /* inputs; the first is that of the run */

static struct {
	UInt word;
	struct sym_operand arg[3];
	ULong value[TRIES];
} nodes[MAX_NODES];
static UInt nnodes;
static uint8_t input[TRIES][INPUTS];

static ULong value_of(UInt node, ULong constant, UInt try)
{
	return node ? nodes[node].value[try] : constant;
}

static int same(const struct sym_operand *a, const struct sym_operand *b)
{
	return a->node == b->node && (a->node || a->value == b->value);
}

UInt sym_node(UInt word, struct sym_operand a, struct sym_operand b, struct sym_operand c,
	      ULong *value)
{
	UInt i, id;
	struct sym_operand arg[3] = { a, b, c };
	for (id = 1; id <= nnodes; id++) /* each only once: a node's number is compared */
		if (nodes[id].word == word && same(&nodes[id].arg[0], &a) &&
		    same(&nodes[id].arg[1], &b) && same(&nodes[id].arg[2], &c)) {
			*value = nodes[id].value[0];
			return id;
		}
	assert_true(++nnodes < MAX_NODES);
	nodes[nnodes].word = word;
	memcpy(nodes[nnodes].arg, arg, sizeof arg);
	for (i = 0; i < TRIES; i++)
		nodes[nnodes].value[i] =
			expr_apply(word, value_of(a.node, a.value, i), value_of(b.node, b.value, i),
				   value_of(c.node, c.value, i));
	*value = nodes[nnodes].value[0];
	return nnodes;
}

UInt sym_args(UInt node, struct sym_operand arg[3])
{
	memcpy(arg, nodes[node].arg, sizeof nodes[node].arg);
	return nodes[node].word;
}

Int VG_(strcmp)(const HChar *a, const HChar *b)
{
	return strcmp(a, b);
}

/* ---- random terms ---- */

static uint64_t seed;

static uint64_t chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545F4914F6CDD1Dull;
}

static UInt below(UInt n)
{
	return (UInt)((chance() >> 33) % n);
}

/* Numbers that matter more often than chance has it. */
static ULong number(UInt w)
{
	switch (below(6)) {
	case 0: return below(3);
	case 1: return expr_mask(w) - below(3);
	case 2: return (1ull << (w - 1)) + below(3) - 1;
	case 3: return expr_mask(1 + below(w));
	case 4: return 1ull << below(w);
	default: return chance();
	}
}

static struct term made[64]; /* what later terms are made of */
static UInt nmade;

static ULong term_value(struct term t, UInt try)
{
	return t.node ? nodes[t.node].value[try] : t.v;
}

static void keep(struct term t)
{
	made[nmade < 64 ? nmade++ : below(64)] = t;
}

static void begin(void)
{
	UInt i, j;
	nnodes = nmade = 0;
	memset(sym_terms.memo, 0, sym_terms.memos * sizeof *sym_terms.memo);
	for (j = 0; j < TRIES; j++)
		for (i = 0; i < INPUTS; i++)
			input[j][i] = (uint8_t)number(8);
	for (i = 0; i < INPUTS; i++) {
		struct sym_operand number_of = { 0, i };
		nodes[++nnodes].word = EXPR_WORD(EXPR_INPUT, 8, 0, 0);
		memset(nodes[nnodes].arg, 0, sizeof nodes[nnodes].arg);
		nodes[nnodes].arg[0] = number_of;
		for (j = 0; j < TRIES; j++)
			nodes[nnodes].value[j] = input[j][i];
		keep((struct term){ nnodes, 8, input[0][i] });
	}
}

/* One of them, brought to the width. */
static struct term some(UInt w)
{
	struct term t = made[below(nmade)];
	if (below(5) == 0)
		return t_const(w, number(w));
	if (t.w > w)
		return t_extract(t, below(t.w - w + 1), w);
	return below(2) ? t_zext(t, w) : t_sext(t, w);
}

static UInt some_width(void)
{
	static const UInt w[] = { 1, 8, 8, 16, 32, 32, 64, 64, 5, 24 };
	return w[below(sizeof w / sizeof *w)];
}

static void must_be(struct term r, UInt word, struct term a, struct term b, struct term c)
{
	UInt i;
	assert_int_equal(r.w, EXPR_W(word));
	for (i = 0; i < TRIES; i++) {
		ULong want = expr_apply(word, term_value(a, i), term_value(b, i), term_value(c, i));
		ULong got = term_value(r, i);
		if (got != want || (!i && r.v != want))
			fail_msg("operation %u of %u bits, aw %u, lo %u, of %llx %llx %llx: %llx, "
				 "not %llx",
				 EXPR_OP(word), EXPR_W(word), EXPR_AW(word), EXPR_LO(word),
				 term_value(a, i), term_value(b, i), term_value(c, i), got, want);
	}
	keep(r);
}

static void step_unary(UInt w)
{
	struct term a = some(w), none = t_const(1, 0);
	UInt wide = w + below(65 - w), lo = below(w), part = 1 + below(w - lo);
	switch (below(6)) {
	case 0: must_be(t_not(a), EXPR_WORD(EXPR_NOT, w, w, 0), a, none, none); break;
	case 1: must_be(t_neg(a), EXPR_WORD(EXPR_NEG, w, w, 0), a, none, none); break;
	case 2: must_be(t_zext(a, wide), EXPR_WORD(EXPR_ZEXT, wide, w, 0), a, none, none); break;
	case 3: must_be(t_sext(a, wide), EXPR_WORD(EXPR_SEXT, wide, w, 0), a, none, none); break;
	default:
		must_be(t_extract(a, lo, part), EXPR_WORD(EXPR_EXTRACT, part, w, lo), a, none,
			none);
	}
}

static void step_binary(UInt w)
{
	static const enum expr_op all[] = { EXPR_ADD,  EXPR_SUB,  EXPR_MUL,  EXPR_UMULH, EXPR_SMULH,
					    EXPR_UDIV, EXPR_SDIV, EXPR_UREM, EXPR_SREM,  EXPR_AND,
					    EXPR_OR,   EXPR_XOR,  EXPR_SHL,  EXPR_LSHR,  EXPR_ASHR,
					    EXPR_AND,  EXPR_OR,   EXPR_ADD };
	enum expr_op op = all[below(sizeof all / sizeof *all)];
	struct term a = some(w), b = some(w), none = t_const(1, 0);
	if (op >= EXPR_SHL && op <= EXPR_ASHR && below(2))
		b = t_const(w, below(w + 2));
	must_be(t_bin(op, a, b), EXPR_WORD(op, w, w, 0), a, b, none);
}

/* What programs do and chance seldom does. */
static void step_idiom(UInt w)
{
	struct term x = some(w), y = some(w), c = some(1), d = some(1), none = t_const(1, 0);
	struct term k = t_const(w, number(w)), j = t_const(w, number(w)), t, u;
	enum expr_op count = EXPR_CTZ + below(4), division = EXPR_UDIV128 + below(4);
	UInt counted = count == EXPR_PARITY ? 1 : w;
	switch (below(7)) {
	case 6: /* x, if it is k */
		c = t_cmp(EXPR_EQ, x, k);
		must_be(t_ite(c, x, y), EXPR_WORD(EXPR_ITE, w, 1, 0), c, x, y);
		break;
	case 0: /* x is k and not j */
		t = t_cmp(EXPR_EQ, x, k);
		u = t_not(t_cmp(EXPR_EQ, x, j));
		must_be(t_bin(EXPR_AND, t, u), EXPR_WORD(EXPR_AND, 1, 1, 0), t, u, none);
		break;
	case 1: /* the smaller one is 0 */
		t = t_ite(t_cmp(EXPR_ULT, x, y), x, y);
		u = t_const(w, 0);
		must_be(t_cmp(EXPR_EQ, t, u), EXPR_WORD(EXPR_EQ, 1, w, 0), t, u, none);
		break;
	case 2: /* offsets from the same place */
		t = t_bin(EXPR_ADD, x, k);
		u = t_bin(EXPR_ADD, x, j);
		must_be(t_cmp(EXPR_EQ, t, u), EXPR_WORD(EXPR_EQ, 1, w, 0), t, u, none);
		break;
	case 3: /* strcmp's difference of two masks */
		t = t_bin(EXPR_SUB, t_sext(c, 8), t_sext(d, 8));
		must_be(t_sign(t), EXPR_WORD(EXPR_EXTRACT, 1, 8, 7), t, none, none);
		break;
	case 4: must_be(t_count(count, x), EXPR_WORD(count, counted, w, 0), x, none, none); break;
	default:
		t = some(64);
		u = some(64);
		x = some(64);
		must_be(t_div128(division, t, u, x), EXPR_WORD(division, 64, 64, 0), t, u, x);
	}
}

static void step(void)
{
	UInt w = some_width();
	struct term a = some(w), b = some(w), c = some(1), none = t_const(1, 0);
	enum expr_op compare = EXPR_EQ + below(5);
	switch (below(9)) {
	case 0:
	case 1: step_unary(w); break;
	case 8: step_idiom(w); break;
	case 2:
	case 3: step_binary(w); break;
	case 4: must_be(t_ite(c, a, b), EXPR_WORD(EXPR_ITE, w, 1, 0), c, a, b); break;
	case 5:
		b = some(1 + below(64));
		if (w + b.w <= 64)
			must_be(t_concat(a, b), EXPR_WORD(EXPR_CONCAT, w + b.w, w, 0), a, b, none);
		break;
	default: must_be(t_cmp(compare, a, b), EXPR_WORD(compare, 1, w, 0), a, b, none); break;
	}
}

static void terms_keep_their_meaning(void **state)
{
	UInt round, i;
	(void)state;
	seed = 20261115;
	for (round = 0; round < 10000; round++) {
		begin();
		for (i = 0; i < 60; i++)
			step();
	}
}

/* ---- flags ---- */

static struct sym_value as_value(struct term t)
{
	struct sym_value x = { .bits = 64 };
	x.v[0] = t.v;
	x.node[0] = t.node;
	return x;
}

static ULong ask_vex(int what, ULong cond, ULong op, ULong dep1, ULong dep2, ULong ndep)
{
	if (what == 0)
		return amd64g_calculate_condition(cond, op, dep1, dep2, ndep);
	return what == 1 ? amd64g_calculate_rflags_c(op, dep1, dep2, ndep)
			 : amd64g_calculate_rflags_all(op, dep1, dep2, ndep);
}

/* The old flags: all of them, or a carry. */
static struct term old_flags(ULong op)
{
	struct term t = some(64);
	ULong mask = (op >= 37 && op <= 44) || op >= 61 ? 0x8d5 : 1;
	return t_bin(EXPR_AND, t, t_const(64, mask));
}

static void one_flag(ULong op)
{
	static const char *const name[] = { "amd64g_calculate_condition",
					    "amd64g_calculate_rflags_c",
					    "amd64g_calculate_rflags_all" };
	int what = (int)below(4) % 3;
	ULong cond = below(16);
	struct term dep1 = some(64), dep2 = some(64), ndep = old_flags(op);
	struct sym_value r = { .bits = 64 };
	struct sym_value arg[5] = { as_value(t_const(64, cond)), as_value(t_const(64, op)),
				    as_value(dep1), as_value(dep2), as_value(ndep) };
	UInt i;
	if (op == 0)
		dep1 = t_bin(EXPR_AND, dep1, t_const(64, 0x8d5));
	arg[2] = as_value(dep1);
	assert_true(sym_ccall(name[what], &r, what ? arg + 1 : arg, what ? 4 : 5));
	if (!r.node[0])
		r.v[0] = ask_vex(what, cond, op, dep1.v, dep2.v, ndep.v); /* the machine's */
	for (i = 0; i < TRIES; i++) {
		ULong want = ask_vex(what, cond, op, term_value(dep1, i), term_value(dep2, i),
				     term_value(ndep, i));
		ULong got = r.node[0] ? nodes[r.node[0]].value[i] : r.v[0];
		if (got != want)
			fail_msg("%s, condition %llu, operation %llu of %llx %llx %llx: %llx, not "
				 "%llx",
				 name[what], cond, op, term_value(dep1, i), term_value(dep2, i),
				 term_value(ndep, i), got, want);
	}
}

static void flags_are_vex_flags(void **state)
{
	ULong op;
	UInt round, i;
	(void)state;
	seed = 6;
	for (round = 0; round < 60; round++) {
		begin();
		for (i = 0; i < 20; i++)
			step();
		for (op = 0; op <= 64; op++)
			for (i = 0; i < 4; i++)
				one_flag(op);
	}
}

/* After a shift by a symbolic amount the operation itself is not known. */
static void flags_of_either_operation(void **state)
{
	UInt round, i;
	(void)state;
	seed = 7;
	for (round = 0; round < 300; round++) {
		struct term op, dep1, dep2, c;
		struct sym_value r = { .bits = 64 }, arg[4];
		begin();
		c = t_cmp(EXPR_ULT, made[0], made[1]);
		op = t_ite(c, t_const(64, 8), t_const(64, 20)); /* SUBQ, LOGICQ */
		dep1 = some(64);
		dep2 = some(64);
		arg[0] = as_value(op);
		arg[1] = as_value(dep1);
		arg[2] = as_value(dep2);
		arg[3] = as_value(t_const(64, 0));
		assert_true(sym_ccall("amd64g_calculate_rflags_all", &r, arg, 4));
		for (i = 0; r.node[0] && i < TRIES; i++)
			assert_int_equal(nodes[r.node[0]].value[i],
					 amd64g_calculate_rflags_all(term_value(op, i),
								     term_value(dep1, i),
								     term_value(dep2, i), 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_keep_their_meaning),
		cmocka_unit_test(flags_are_vex_flags),
		cmocka_unit_test(flags_of_either_operation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
