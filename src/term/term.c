/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a term. A rule may ask for further terms, and so on: that ends at a depth, and what was
 * asked for of late is remembered, so that the narrowing of a long chain costs one step for each
 * new link. Expressions share their parts and are not trees: without limits, a hash function would
 * take forever.
 */
#include "term/internal.h"

#define POSSIBLE_DEPTH 6

/* ---- the rules, in the order in which they are tried ---- */

#define RULES 3
static term_rule *const rules[EXPR_OPS_COUNT][RULES] = {
	[EXPR_NOT] = { term_rule_not },
	[EXPR_NEG] = { term_rule_neg },
	[EXPR_ADD] = { term_rule_add, term_rule_disjoint },
	[EXPR_SUB] = { term_rule_sub },
	[EXPR_MUL] = { term_rule_mul },
	[EXPR_UMULH] = { term_rule_mul },
	[EXPR_SMULH] = { term_rule_mul },
	[EXPR_UDIV] = { term_rule_divide },
	[EXPR_SDIV] = { term_rule_divide },
	[EXPR_UREM] = { term_rule_divide },
	[EXPR_SREM] = { term_rule_divide },
	[EXPR_UDIV128] = { term_rule_divide_wide },
	[EXPR_SDIV128] = { term_rule_divide_wide },
	[EXPR_UREM128] = { term_rule_divide_wide },
	[EXPR_SREM128] = { term_rule_divide_wide },
	[EXPR_AND] = { term_rule_and_or, term_rule_pairs, term_rule_mask },
	[EXPR_OR] = { term_rule_and_or, term_rule_disjoint, term_rule_pairs },
	[EXPR_XOR] = { term_rule_xor, term_rule_disjoint, term_rule_pairs },
	[EXPR_SHL] = { term_rule_shift },
	[EXPR_LSHR] = { term_rule_shift },
	[EXPR_ASHR] = { term_rule_shift },
	[EXPR_EQ] = { term_rule_eq },
	[EXPR_ULT] = { term_rule_less },
	[EXPR_SLT] = { term_rule_less },
	[EXPR_ULE] = { term_rule_less_equal },
	[EXPR_SLE] = { term_rule_less_equal },
	[EXPR_ITE] = { term_rule_ite },
	[EXPR_EXTRACT] = { term_rule_extract },
	[EXPR_CONCAT] = { term_rule_concat },
	[EXPR_ZEXT] = { term_rule_zext },
	[EXPR_SEXT] = { term_rule_sext },
};

/* ---- for all operations: choices between constants ---- */

/* One of two constants: a condition, and what it is then and else. */
struct choice {
	struct term c, yes, no;
};

/* Is t, whose parts are p, a choice? A constant is one, whatever the condition. */
static bool is_choice(struct term t, const struct term_parts *p, struct choice *x)
{
	*x = (struct choice){ p->a, t, t };
	if (!t.node)
		return true;
	if (p->op == EXPR_ITE) {
		x->yes = p->b;
		x->no = p->c;
		return !p->b.node && !p->c.node;
	}
	x->yes = term_const(t.w, p->op == EXPR_SEXT ? ~(uint64_t)0 : 1);
	x->no = term_const(t.w, 0);
	return (p->op == EXPR_SEXT || p->op == EXPR_ZEXT) && p->a.w == 1;
}

/* An operation on choices by the same condition is such a choice. Extensions and parts of a single
 * bit stay what they are. */
static struct term rule_choice(struct term_space *s, const struct term_request *t)
{
	enum expr_op op = EXPR_OP(t->word);
	unsigned w = EXPR_W(t->word);
	struct choice a, b;
	if (op == EXPR_ITE || op == EXPR_CONCAT || op >= EXPR_UDIV128)
		return term_none();
	if ((op == EXPR_ZEXT || op == EXPR_SEXT || op == EXPR_EXTRACT) && t->p.op != EXPR_ITE)
		return term_none();
	if (!is_choice(t->a, &t->p, &a) || !is_choice(t->b, &t->q, &b) ||
	    (t->a.node && t->b.node && !term_same(a.c, b.c)))
		return term_none();
	return term_ite(s, t->a.node ? a.c : b.c,
			term_const(w, expr_apply(t->word, a.yes.v, b.yes.v, 0)),
			term_const(w, expr_apply(t->word, a.no.v, b.no.v, 0)));
}

static struct term simplify(struct term_space *s, uint32_t word, const struct term x[3])
{
	struct term_request t = { word, x[0], x[1], x[2], term_look(s, x[0]), term_look(s, x[1]) };
	term_rule *const *rule = rules[EXPR_OP(word)];
	struct term r = rule_choice(s, &t);

	for (unsigned i = 0; i < RULES && !term_found(r) && rule[i]; i++)
		r = rule[i](s, &t);
	return r;
}

/* ---- making ---- */

static bool commutes(enum expr_op op)
{
	return op == EXPR_ADD || op == EXPR_MUL || op == EXPR_UMULH || op == EXPR_SMULH ||
	       op == EXPR_AND || op == EXPR_OR || op == EXPR_XOR || op == EXPR_EQ;
}

static struct term_memo key_of(uint32_t word, const struct term x[3])
{
	struct term_memo m = { .word = word };
	for (unsigned i = 0; i < 3; i++) {
		m.x[i] = x[i].node ? x[i].node : x[i].v;
		m.constants |= (uint32_t)!x[i].node << i;
	}
	return m;
}

static struct term_memo *memo_at(const struct term_space *s, const struct term_memo *key)
{
	uint64_t h = key->word ^ (uint64_t)key->constants << 32;
	for (unsigned i = 0; i < 3; i++)
		h = (h ^ key->x[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return &s->memo[h >> 32 & (s->memos - 1)];
}

static bool memo_is(const struct term_memo *m, const struct term_memo *key)
{
	return m->word == key->word && m->constants == key->constants && m->x[0] == key->x[0] &&
	       m->x[1] == key->x[1] && m->x[2] == key->x[2];
}

static struct term find(struct term_space *s, uint32_t word, const struct term x[3])
{
	struct term_memo key = key_of(word, x), *m = memo_at(s, &key);
	if (memo_is(m, &key))
		return m->result;
	if (!s->depth)
		s->steps = 0;
	if (s->depth < s->max_depth && s->steps++ < s->max_steps) {
		s->depth++;
		key.result = simplify(s, word, x);
		s->depth--;
	}
	if (!term_found(key.result))
		key.result = s->make(s, word, x);
	*m = key;
	return key.result;
}

struct term term_node(struct term_space *s, uint32_t word, struct term a, struct term b,
		      struct term c)
{
	struct term x[3] = { a, b, c };
	unsigned n = expr_operands(word);
	for (unsigned i = n; i < 3; i++)
		x[i] = term_none();
	if (!(x[0].node | x[1].node | x[2].node))
		return term_const(EXPR_W(word), expr_apply(word, x[0].v, x[1].v, x[2].v));
	if (commutes(EXPR_OP(word)) && b.node && (!a.node || a.node > b.node)) {
		x[0] = b;
		x[1] = a;
	}
	return find(s, word, x);
}

/* ---- by name ---- */

struct term term_not(struct term_space *s, struct term a)
{
	return term_node(s, EXPR_WORD(EXPR_NOT, a.w, a.w, 0), a, term_none(), term_none());
}

struct term term_neg(struct term_space *s, struct term a)
{
	return term_node(s, EXPR_WORD(EXPR_NEG, a.w, a.w, 0), a, term_none(), term_none());
}

struct term term_bin(struct term_space *s, enum expr_op op, struct term a, struct term b)
{
	return term_node(s, EXPR_WORD(op, a.w, a.w, 0), a, b, term_none());
}

struct term term_cmp(struct term_space *s, enum expr_op op, struct term a, struct term b)
{
	return term_node(s, EXPR_WORD(op, 1, a.w, 0), a, b, term_none());
}

struct term term_ite(struct term_space *s, struct term c, struct term a, struct term b)
{
	if (!c.node)
		return c.v ? a : b;
	return term_node(s, EXPR_WORD(EXPR_ITE, a.w, 1, 0), c, a, b);
}

struct term term_extract(struct term_space *s, struct term a, unsigned lo, unsigned w)
{
	if (w == a.w)
		return a;
	return term_node(s, EXPR_WORD(EXPR_EXTRACT, w, a.w, lo), a, term_none(), term_none());
}

struct term term_concat(struct term_space *s, struct term hi, struct term lo)
{
	return term_node(s, EXPR_WORD(EXPR_CONCAT, hi.w + lo.w, hi.w, 0), hi, lo, term_none());
}

struct term term_zext(struct term_space *s, struct term a, unsigned w)
{
	if (w == a.w)
		return a;
	return term_node(s, EXPR_WORD(EXPR_ZEXT, w, a.w, 0), a, term_none(), term_none());
}

struct term term_sext(struct term_space *s, struct term a, unsigned w)
{
	if (w == a.w)
		return a;
	return term_node(s, EXPR_WORD(EXPR_SEXT, w, a.w, 0), a, term_none(), term_none());
}

/* ---- bits that may be set ---- */

static uint64_t possible(struct term_space *s, struct term t, unsigned depth)
{
	struct term_parts p;
	uint64_t a, b;
	if (!t.node)
		return t.v;
	if (!depth--)
		return expr_mask(t.w);
	p = term_look(s, t);
	switch (p.op) {
	case EXPR_ZEXT: return possible(s, p.a, depth);
	case EXPR_EXTRACT: return possible(s, p.a, depth) >> p.lo & expr_mask(t.w);
	case EXPR_CONCAT: a = possible(s, p.a, depth); return a << p.b.w | possible(s, p.b, depth);
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_XOR:
		a = possible(s, p.a, depth);
		b = possible(s, p.b, depth);
		return p.op == EXPR_AND ? a & b : a | b;
	case EXPR_ITE: b = possible(s, p.b, depth); return b | possible(s, p.c, depth);
	case EXPR_CTZ:
	case EXPR_CLZ:
	case EXPR_POPCNT: return expr_mask(64 - (unsigned)__builtin_clzll(t.w));
	default: return expr_mask(t.w);
	}
}

uint64_t term_possible(struct term_space *s, struct term t)
{
	return possible(s, t, POSSIBLE_DEPTH);
}
