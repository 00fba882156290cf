/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expressions, each one once. A node is 20 bytes and is found through a hash table of numbers;
 * making one first tries to find an equal, simpler one (src/term). There, constants are no nodes;
 * here they are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "solve/internal.h"

#define MEMOS (1u << 13)
#define MAX_DEPTH 96
#define MAX_STEPS (1u << 20)

static const char *const op_name[] = {
#define X(NAME, name, n) name,
	EXPR_OPS(X)
#undef X
};
unsigned solve_pool_operands(uint32_t word)
{
	return EXPR_OP(word) == EXPR_INPUT ? 0 : expr_operands(word);
}

/* ---- nodes as terms ---- */

static struct term term_of(const struct pool *p, expr e)
{
	struct term t = { 0, width(p, e), 0 };
	if (!is_const(p, e, &t.v))
		t.node = e;
	return t;
}

static expr expr_of(struct pool *p, struct term t)
{
	return t.node ? t.node : solve_pool_const(p, t.w, t.v);
}

static struct term make_term(struct term_space *space, uint32_t word, const struct term x[3])
{
	struct pool *p = (struct pool *)space;
	expr e[3] = { 0 };
	for (unsigned i = 0; i < expr_operands(word); i++)
		e[i] = expr_of(p, x[i]);
	return (struct term){ solve_pool_make(p, word, e[0], e[1], e[2]), EXPR_W(word), 0 };
}

static void look_at_term(struct term_space *space, uint32_t node, struct term_parts *parts)
{
	const struct pool *p = (const struct pool *)space;
	const struct node *n = pool_at(p, node);
	unsigned operands = expr_operands(n->word);
	parts->op = EXPR_OP(n->word);
	parts->lo = EXPR_LO(n->word);
	if (parts->op == EXPR_INPUT || parts->op == EXPR_TABLE)
		return;
	parts->a = term_of(p, n->a);
	if (operands > 1)
		parts->b = term_of(p, n->b);
	if (operands > 2)
		parts->c = term_of(p, n->c);
}

struct pool *solve_pool_new(void)
{
	struct pool *p = xcalloc(1, sizeof *p);
	VEC_PUSH(&p->node, (struct node){ 0 });
	VEC_PUSH(&p->set, (struct set){ 0 });
	p->slots = 1024;
	p->slot = xcalloc(p->slots, sizeof *p->slot);
	p->space = (struct term_space){ .make = make_term,
					.look = look_at_term,
					.memo = xcalloc(MEMOS, sizeof *p->space.memo),
					.memos = MEMOS,
					.max_depth = MAX_DEPTH,
					.max_steps = MAX_STEPS };
	return p;
}

void solve_pool_free(struct pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->table.n; i++)
		free(p->table.p[i]);
	VEC_FREE(&p->table);
	hmap_free(&p->table_of);
	solve_pool_sets_free(p);
	VEC_FREE(&p->node);
	VEC_FREE(&p->value);
	VEC_FREE(&p->epoch);
	VEC_FREE(&p->stack);
	free(p->slot);
	free(p->space.memo);
	free(p);
}

/* ---- hash-consing ---- */

static uint64_t node_hash(uint32_t word, expr a, expr b, expr c)
{
	return hash_mix((uint64_t)word << 32 | a, (uint64_t)b << 32 | c);
}

static void grow(struct pool *p)
{
	free(p->slot);
	p->slots *= 2;
	p->slot = xcalloc(p->slots, sizeof *p->slot);
	for (size_t e = 1; e < p->node.n; e++) {
		const struct node *n = &p->node.p[e];
		size_t i = node_hash(n->word, n->a, n->b, n->c) & (p->slots - 1);
		while (p->slot[i])
			i = (i + 1) & (p->slots - 1);
		p->slot[i] = (uint32_t)e;
	}
}

static uint32_t make_set(struct pool *p, uint32_t word, expr a, expr b, expr c)
{
	uint32_t set = 0;
	if (EXPR_OP(word) == EXPR_INPUT)
		return solve_pool_set_single(p, a);
	switch (solve_pool_operands(word)) {
	case 3: set = solve_pool_set_join(p, set, p->node.p[c].set); /* fall through */
	case 2: set = solve_pool_set_join(p, set, p->node.p[b].set); /* fall through */
	case 1: set = solve_pool_set_join(p, set, p->node.p[a].set); /* fall through */
	default: return set;
	}
}

expr solve_pool_make(struct pool *p, uint32_t word, expr a, expr b, expr c)
{
	size_t i = node_hash(word, a, b, c) & (p->slots - 1);
	struct node node = { word, a, b, c, 0 };
	for (; p->slot[i]; i = (i + 1) & (p->slots - 1)) {
		const struct node *n = &p->node.p[p->slot[i]];
		if (n->word == word && n->a == a && n->b == b && n->c == c)
			return p->slot[i];
	}
	node.set = make_set(p, word, a, b, c);
	VEC_PUSH(&p->node, node);
	p->slot[i] = (uint32_t)p->node.n - 1;
	if (p->node.n > p->slots / 4 * 3)
		grow(p);
	return (expr)p->node.n - 1;
}

/* ---- making nodes ---- */

expr solve_pool_const(struct pool *p, unsigned w, uint64_t v)
{
	v &= expr_mask(w);
	return solve_pool_make(p, EXPR_WORD(EXPR_CONST, w, 0, 0), (uint32_t)v, (uint32_t)(v >> 32),
			       0);
}

expr solve_pool_input(struct pool *p, uint32_t byte)
{
	return solve_pool_make(p, EXPR_WORD(EXPR_INPUT, 8, 0, 0), byte, 0, 0);
}

/* Fills in what follows from the operands; 0: they do not fit. */
static uint32_t normal_word(const struct pool *p, uint32_t word, const expr *x)
{
	enum expr_op op = EXPR_OP(word);
	if (op <= EXPR_INPUT || op >= EXPR_TABLE || !x[0] || x[0] >= p->node.n)
		return 0;
	word = EXPR_WORD(op, EXPR_W(word), width(p, x[0]), op == EXPR_EXTRACT ? EXPR_LO(word) : 0);
	if (!expr_word_ok(word))
		return 0;
	for (unsigned i = 0; i < expr_operands(word); i++)
		if (!x[i] || x[i] >= p->node.n || width(p, x[i]) != expr_operand_width(word, i))
			return 0;
	return word;
}

expr solve_pool_node(struct pool *p, uint32_t word, expr a, expr b, expr c)
{
	expr x[3] = { a, b, c };
	struct term t[3] = { { 0 } };
	uint64_t v;
	if (EXPR_OP(word) == EXPR_INPUT && a && is_const(p, a, &v))
		return solve_pool_input(p, (uint32_t)v);
	word = normal_word(p, word, x);
	if (!word)
		return 0;
	for (unsigned i = 0; i < expr_operands(word); i++)
		t[i] = term_of(p, x[i]);
	return expr_of(p, term_node(&p->space, word, t[0], t[1], t[2]));
}

static uint32_t table_number(struct pool *p, const uint8_t *entries, size_t size)
{
	uint64_t key = hash_seeded(entries, size, size), at;
	for (; hmap_get(&p->table_of, key, &at); key++)
		if (!memcmp(p->table.p[at], entries, size))
			return (uint32_t)at;
	VEC_PUSH(&p->table, memcpy(xmalloc(size), entries, size));
	p->table_bytes += size;
	hmap_put(&p->table_of, key, p->table.n - 1);
	return (uint32_t)p->table.n - 1;
}

uint64_t solve_pool_table_entry(const uint8_t *entries, unsigned w, unsigned i)
{
	unsigned size = (w + 7) / 8;
	uint64_t v = 0;
	memcpy(&v, entries + (size_t)i * size, size);
	return v & expr_mask(w);
}

expr solve_pool_table(struct pool *p, unsigned w, expr index, const uint8_t *entries)
{
	uint64_t v, first;
	unsigned i;
	if (!w || w > 64 || !index || index >= p->node.n || width(p, index) != 8)
		return 0;
	if (is_const(p, index, &v))
		return solve_pool_const(p, w, solve_pool_table_entry(entries, w, (unsigned)v));
	first = solve_pool_table_entry(entries, w, 0);
	for (i = 1; i < 256 && solve_pool_table_entry(entries, w, i) == first;)
		i++;
	if (i == 256)
		return solve_pool_const(p, w, first);
	return solve_pool_make(p, EXPR_WORD(EXPR_TABLE, w, 8, 0), index,
			       table_number(p, entries, 256u * ((w + 7) / 8)), 0);
}

const uint8_t *solve_pool_entries(const struct pool *p, expr e)
{
	return op_of(p, e) == EXPR_TABLE ? p->table.p[p->node.p[e].b] : NULL;
}

expr solve_pool_eq(struct pool *p, expr a, expr b)
{
	return a && b ? solve_pool_node(p, EXPR_WORD(EXPR_EQ, 1, width(p, a), 0), a, b, 0) : 0;
}

expr solve_pool_not(struct pool *p, expr a)
{
	return a ? solve_pool_node(p, EXPR_WORD(EXPR_NOT, width(p, a), width(p, a), 0), a, 0, 0)
		 : 0;
}

/* ---- looking at nodes ---- */

uint32_t solve_pool_word(const struct pool *p, expr e)
{
	return p->node.p[e].word;
}

expr solve_pool_operand(const struct pool *p, expr e, unsigned i)
{
	const struct node *n = &p->node.p[e];
	if (i >= solve_pool_operands(n->word))
		return 0;
	return i == 0 ? n->a : i == 1 ? n->b : n->c;
}

bool solve_pool_is_const(const struct pool *p, expr e, uint64_t *value)
{
	uint64_t v;
	if (!e || !is_const(p, e, &v))
		return false;
	if (value)
		*value = v;
	return true;
}

size_t solve_pool_count(const struct pool *p)
{
	return p->node.n - 1;
}

size_t solve_pool_memory(const struct pool *p)
{
	return sizeof *p + p->node.cap * sizeof *p->node.p + p->slots * sizeof *p->slot +
	       MEMOS * sizeof *p->space.memo + p->table_bytes + solve_pool_sets_memory(p) +
	       p->value.cap * sizeof *p->value.p + p->epoch.cap * sizeof *p->epoch.p +
	       p->stack.cap * sizeof *p->stack.p;
}

const uint32_t *solve_pool_inputs(const struct pool *p, expr e, size_t *n)
{
	*n = set_of(p, e)->size;
	return solve_pool_set_bytes(p, p->node.p[e].set);
}

#define PRINT_DEPTH 24
#define PRINT_BYTES 4000

static void print(const struct pool *p, expr e, struct buf *b, unsigned depth)
{
	const struct node *n = &p->node.p[e];
	enum expr_op op = EXPR_OP(n->word);
	uint64_t v;
	if (is_const(p, e, &v)) {
		buf_printf(b, v < 10 ? "%" PRIu64 : "0x%" PRIx64, v);
	} else if (op == EXPR_INPUT) {
		buf_printf(b, "in[%u]", n->a);
	} else if (depth >= PRINT_DEPTH || b->n > PRINT_BYTES) {
		buf_puts(b, "…");
	} else {
		buf_printf(b, "(%s", op_name[op]);
		if (op == EXPR_EXTRACT)
			buf_printf(b, " %u..%u", EXPR_LO(n->word),
				   EXPR_LO(n->word) + EXPR_W(n->word) - 1);
		else if (op == EXPR_ZEXT || op == EXPR_SEXT || op == EXPR_TABLE)
			buf_printf(b, " %u", EXPR_W(n->word));
		for (unsigned i = 0; i < solve_pool_operands(n->word); i++) {
			buf_puts(b, " ");
			print(p, solve_pool_operand(p, e, i), b, depth + 1);
		}
		buf_puts(b, ")");
	}
}

void solve_pool_print(const struct pool *p, expr e, struct buf *b)
{
	if (e)
		print(p, e, b, 0);
}
