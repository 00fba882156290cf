/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run does to PM, as one number: two runs with the same number need not both be checked.
 *
 * The sequence of its PM events becomes a sequence of tokens: kind, instruction, and the state that
 * the line was in (so a flush that hits the stored line and one that misses it differ, though
 * addresses themselves do not count). Repetitions are folded: as soon as the last p tokens have come three
 * times in a row, one of the three is dropped, for p up to MAX_PERIOD:
 *
 *   A B A B      stays (once and twice are different: the second round meets what the first left)
 *   A B A B A B  becomes A B A B, and so does any number of rounds more
 *
 * At the end come the stores whose lines were never flushed, and those never fenced, as sets.
 */
#include <stdlib.h>

#include "symbolic/internal.h"

#define MAX_PERIOD 32u

void symbolic_behave_free(struct behave *b)
{
	VEC_FREE(&b->line);
	VEC_FREE(&b->seq);
	hmap_free(&b->by_line);
}

static bool find(const struct behave *b, uint64_t line, struct line *out)
{
	uint64_t i;

	for (; b; b = b->before)
		if (hmap_get(&b->by_line, line, &i)) {
			*out = b->line.p[i];
			return true;
		}
	return false;
}

struct line *symbolic_behave_line(struct behave *b, uint64_t line)
{
	struct line l = { .at = line };
	uint64_t i;

	if (hmap_get(&b->by_line, line, &i))
		return &b->line.p[i];
	if (b->before && find(b->before, line, &l))
		l.store = 0; /* not this run's */
	hmap_put(&b->by_line, line, b->line.n);
	VEC_PUSH(&b->line, l);
	return &b->line.p[b->line.n - 1];
}

enum line_state symbolic_behave_state(const struct behave *b, const struct line *l)
{
	return l->state == LINE_PENDING && l->epoch < b->epoch ? LINE_CLEAN : l->state;
}

/* The last p tokens are the same as the p before them, and as the p before those. */
static bool thrice(const uint64_t *seq, size_t n, size_t p)
{
	for (size_t i = 1; i <= p; i++)
		if (seq[n - i] != seq[n - i - p] || seq[n - i] != seq[n - i - 2 * p])
			return false;
	return true;
}

static void add(struct behave *b, uint64_t token)
{
	VEC_PUSH(&b->seq, token);
	for (size_t p = 1; p <= MAX_PERIOD && 3 * p <= b->seq.n; p++)
		if (thrice(b->seq.p, b->seq.n, p)) {
			b->seq.n -= p;
			return;
		}
}

static uint64_t token(const struct trace_event *e, uint64_t more)
{
	return hash_mix(e->ip, hash_mix(e->kind, more));
}

/* A store may reach over several lines; those in the middle are as the first. */
static void store(struct behave *b, const struct trace_event *e)
{
	uint64_t first = e->arg[0] / TRACE_LINE;
	uint64_t last = (e->arg[0] + (e->size ? e->size - 1 : 0)) / TRACE_LINE;
	uint64_t states = 0;

	for (uint64_t i = first; i <= last; i++) {
		struct line *l = symbolic_behave_line(b, i);

		if (i == first || i == last)
			states = states << 2 | symbolic_behave_state(b, l);
		l->state = e->flags & TRACE_F_NT ? LINE_PENDING : LINE_DIRTY;
		l->epoch = b->epoch;
		l->store_ip = e->ip;
	}
	add(b, token(e, states << 8 | e->flags));
}

static void flush(struct behave *b, const struct trace_event *e, bool ordered)
{
	struct line *l = symbolic_behave_line(b, e->arg[0] / TRACE_LINE);

	add(b, token(e, hash_mix(l->store_ip, symbolic_behave_state(b, l))));
	l->state = ordered ? LINE_CLEAN : LINE_PENDING;
	l->epoch = b->epoch;
}

void symbolic_behave_event(struct behave *b, const struct trace_event *e, bool ordered)
{
	switch (e->kind) {
	case TRACE_STORE: store(b, e); break;
	case TRACE_FLUSH: flush(b, e, ordered); break;
	case TRACE_FENCE:
		add(b, token(e, 0));
		b->epoch++;
		break;
	case TRACE_SYNC:
	case TRACE_MAP:
	case TRACE_UNMAP:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_SYNC:
	case TRACE_FILE_RENAME:
	case TRACE_FILE_UNLINK:
	case TRACE_TX_BEGIN:
	case TRACE_TX_END:
	case TRACE_TX_ADD: add(b, token(e, 0)); break;
	default: break;
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

uint64_t symbolic_behave_hash(struct behave *b)
{
	VEC(uint64_t) left = { 0 };
	uint64_t hash = hash_bytes(b->seq.p, b->seq.n * sizeof *b->seq.p);

	for (size_t i = 0; i < b->line.n; i++) {
		enum line_state state = symbolic_behave_state(b, &b->line.p[i]);

		if (state == LINE_DIRTY || state == LINE_PENDING)
			VEC_PUSH(&left, hash_mix(b->line.p[i].store_ip, state));
	}
	if (left.n)
		qsort(left.p, left.n, sizeof *left.p, by_value);
	for (size_t i = 0; i < left.n; i++)
		if (!i || left.p[i] != left.p[i - 1])
			hash = hash_mix(hash, left.p[i]);
	VEC_FREE(&left);
	return hash;
}
