/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The crash states that break what the program seems to rely on (infer/infer.h), over all operations of the run.
 *
 * "First is persistent before second is stored" is broken where a store p of the second can be there without
 * the store u of the first that is nearest to it in the operation:
 *
 *	u ... p ... fence      u is not guaranteed when p is made: just before the fence, what is guaranteed, and p
 *	p ... fence ... u      the same moment: u is not made yet
 *
 * What is there of p's line is all up to p. And at the end of an operation, what is guaranteed then.
 *
 * States are alike if their operations are of one kind and store at the same statements in the same order, and the
 * same two statements are concerned: such a *cluster* has its first state tested before any has its second.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"

#define NO_ITEM SIZE_MAX

/* A store in an operation: its last piece in a line. */
struct item {
	uint64_t event;
	uint32_t line, number;
	uint32_t statement;
	size_t before; /* the one of its statement before it, and 1 */
};

/* What is believed of a statement: `other` is to be there if it is. */
struct demand {
	uint32_t statement, other;
};

struct plan {
	const struct crash_history *h;
	struct crash_cursor at;
	struct crash_breaches *out;
	uint64_t most;             /* states of a cluster; 0: all */
	VEC(struct demand) demand; /* sorted */
	uint32_t *statement;       /* by place */
	uint32_t statements;
	size_t *last, *next; /* by statement: items of the operation, and 1 */
	VEC(struct item) item;
	struct hmap members; /* cluster -> how many */
	uint64_t path;       /* the operation's kind and statements */
};

/* ---- what is believed ---- */

static int by_statement(const void *a, const void *b)
{
	const struct demand *x = a, *y = b;
	if (x->statement != y->statement)
		return x->statement < y->statement ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

static void list_demands(struct plan *p, const struct infer_beliefs *beliefs)
{
	size_t n, kept = 0;
	const struct infer_belief *b = infer_beliefs_all(beliefs, &n);
	for (size_t i = 0; i < n; i++) {
		VEC_PUSH(&p->demand, ((struct demand){ b[i].second, b[i].first }));
		if (infer_rule(b[i].rule)->atomic)
			VEC_PUSH(&p->demand, ((struct demand){ b[i].first, b[i].second }));
	}
	if (p->demand.n)
		qsort(p->demand.p, p->demand.n, sizeof *p->demand.p, by_statement);
	for (size_t i = 0; i < p->demand.n; i++)
		if (!kept || by_statement(&p->demand.p[kept - 1], &p->demand.p[i]))
			p->demand.p[kept++] = p->demand.p[i];
	p->demand.n = kept;
}

static void list_statements(struct plan *p, const struct infer_beliefs *beliefs)
{
	p->statement = xcalloc(p->h->place.n + 1, sizeof *p->statement);
	for (size_t i = 0; i < p->h->place.n; i++) {
		const struct crash_place *place = &p->h->place.p[i];
		uint32_t s = infer_statement(beliefs, place->process, place->site, place->ctx);
		p->statement[i] = s;
		if (s != INFER_NO_STATEMENT && s >= p->statements)
			p->statements = s + 1;
	}
	p->last = xcalloc(p->statements + 1, sizeof *p->last);
	p->next = xcalloc(p->statements + 1, sizeof *p->next);
}

/* ---- an operation ---- */

static void add_piece(struct plan *p, size_t i)
{
	struct crash_piece piece = crash_piece_at(p->h, i);
	struct item *last = p->item.n ? &p->item.p[p->item.n - 1] : NULL;
	uint32_t statement = p->statement[piece.place];
	if (statement == INFER_NO_STATEMENT || p->h->line.p[piece.line].file >= p->h->npm)
		return;
	uint32_t number = crash_number_of(p->h, (uint32_t)i);
	if (last && last->event == piece.event && last->line == piece.line) {
		last->number = number;
		return;
	}
	if (!p->last[statement])
		p->path = hash_mix(p->path, statement);
	VEC_PUSH(&p->item,
		 ((struct item){ piece.event, piece.line, number, statement, p->last[statement] }));
	p->last[statement] = p->item.n;
}

/* The stores of an operation; false: there are none. */
static bool list_items(struct plan *p, const struct infer_op *op, uint32_t thread)
{
	const struct crash_history *h = p->h;
	size_t i = BISECT(k, h->pieces, crash_piece_at(h, k).event < op->begin);
	p->item.n = 0;
	for (; i < h->pieces && crash_piece_at(h, i).event <= op->end; i++)
		if (thread == UINT32_MAX || crash_piece_at(h, i).thread == thread)
			add_piece(p, i);
	return p->item.n > 0;
}

static void forget_items(struct plan *p)
{
	for (size_t i = 0; i < p->item.n; i++)
		p->last[p->item.p[i].statement] = p->next[p->item.p[i].statement] = 0;
}

/* Just before the fence after an event, or the end of the operation. */
static uint64_t moment(const struct plan *p, uint64_t event, uint64_t end)
{
	const struct crash_history *h = p->h;
	size_t i = BISECT(k, h->mark.n, crash_mark_at(h, k).event <= event);
	for (; i < h->mark.n && crash_mark_at(h, i).event < end; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.kind == TRACE_FENCE || m.kind == TRACE_SYNC || m.kind == TRACE_FILE_SYNC)
			return m.event;
	}
	return end > event && end < h->events ? end : event + 1;
}

/* ---- states ---- */

static void add_state(struct plan *p, uint64_t cluster, enum crash_breach_kind kind, uint64_t event,
		      uint32_t line, uint32_t version)
{
	uint64_t n = 0;
	cluster = hash_mix(hash_mix(p->path, cluster), kind);
	hmap_get(&p->members, cluster, &n);
	if (p->most && n == p->most)
		return;
	hmap_put(&p->members, cluster, n + 1);
	VEC_PUSH(&p->out->v, ((struct crash_breach){ .event = event,
						     .line = line,
						     .version = version,
						     .member = (uint32_t)n,
						     .kind = (uint8_t)kind,
						     .order = p->out->v.n }));
}

/* The store `item` is there without one of `other`, which is `before` it or after it, and 1. */
static void try_pair(struct plan *p, const struct item *item, uint32_t other, size_t before,
		     size_t after, uint64_t end)
{
	uint64_t cluster = (uint64_t)item->statement << 32 | other;
	const struct item *u = before ? &p->item.p[before - 1] : NULL;
	if (u && u->line != item->line) {
		crash_cursor_move(&p->at, item->event);
		if (p->at.lo[u->line] < u->number)
			add_state(p, cluster, CRASH_BREACH_ORDER, moment(p, item->event, end),
				  item->line, item->number);
	}
	if (after)
		add_state(p, cluster, CRASH_BREACH_EARLY, moment(p, item->event, end), item->line,
			  item->number);
}

/* From the last store to the first: what follows each is known then, and what was before it was noted. */
static void try_item(struct plan *p, size_t i, uint64_t end)
{
	const struct item *item = &p->item.p[i];
	uint32_t s = item->statement;
	size_t k = BISECT(d, p->demand.n, p->demand.p[d].statement < s);
	for (; k < p->demand.n && p->demand.p[k].statement == s; k++) {
		uint32_t other = p->demand.p[k].other;
		size_t before = other == s ? item->before : p->last[other];
		while (before > i + 1)
			before = p->item.p[before - 1].before;
		p->last[other] = other == s ? p->last[other] : before;
		try_pair(p, item, other, before, before ? 0 : p->next[other], end);
	}
	p->last[s] = i + 1;
	p->next[s] = i + 1;
}

/* Something that the operation stored is not guaranteed when it ends. */
static void try_end(struct plan *p, uint64_t end)
{
	uint64_t event = end < p->h->events ? end + 1 : p->h->events;
	crash_cursor_move(&p->at, event);
	for (size_t i = 0; i < p->item.n; i++)
		if (p->at.lo[p->item.p[i].line] < p->item.p[i].number) {
			add_state(p, 0, CRASH_BREACH_END, event, UINT32_MAX, 0);
			return;
		}
}

static void try_op(struct plan *p, const struct infer_op *op, const char *name, uint32_t thread)
{
	uint64_t end = op->end < p->h->events ? op->end : p->h->events;
	p->path = hash_bytes(name, strlen(name));
	if (list_items(p, op, thread)) {
		for (size_t i = p->item.n; i-- > 0;)
			try_item(p, i, end);
		try_end(p, end);
	}
	forget_items(p);
}

/* ---- all of them ---- */

static int by_turn(const void *a, const void *b)
{
	const struct crash_breach *x = a, *y = b;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The thread whose stores are an operation's: its own, or, where it overlaps with no other, any (UINT32_MAX). */
static uint32_t thread_of(const struct crash_history *h, const struct infer_op *op, size_t n,
			  uint64_t before)
{
	uint64_t key = (uint64_t)op->process << 32 | op->thread, thread;
	if ((!before || op->begin > before) && (n == 1 || op[1].begin > op->end))
		return UINT32_MAX;
	return hmap_get(&h->thread_at, key, &thread) ? (uint32_t)thread : UINT32_MAX - 1;
}

static void try_ops(struct plan *p, const struct infer_ops *ops)
{
	size_t n;
	const struct infer_op *op = infer_ops_all(ops, &n), all = { .end = UINT64_MAX };
	uint64_t before = 0; /* the end of those that began before */
	for (size_t i = 0; i < n; i++) {
		try_op(p, &op[i], infer_op_name(ops, &op[i]),
		       thread_of(p->h, &op[i], n - i, before));
		before = op[i].end > before ? op[i].end : before;
	}
	if (!n)
		try_op(p, &all, "", UINT32_MAX);
}

void crash_breaches_plan(struct crash_breaches *out, const struct crash_history *h,
			 const struct infer_ops *ops, const struct infer_beliefs *beliefs,
			 uint64_t most)
{
	struct plan p = { .h = h, .out = out, .most = most };
	list_statements(&p, beliefs);
	list_demands(&p, beliefs);
	crash_cursor_init(&p.at, h);
	try_ops(&p, ops);
	if (out->v.n)
		qsort(out->v.p, out->v.n, sizeof *out->v.p, by_turn);
	crash_cursor_free(&p.at);
	VEC_FREE(&p.demand);
	VEC_FREE(&p.item);
	hmap_free(&p.members);
	free(p.statement);
	free(p.last);
	free(p.next);
}
