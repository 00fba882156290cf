/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is told of dependences: FRAME, LOAD, DEP and BRANCH (trace/format.h).
 *
 * A function's activation gets its number, kept in its frame of the shadow stack, when there is something to tell of it; those that
 * called it get theirs before. FRAME is told when the activation is not that of the event before.
 *
 * Branches without labels say only that one with labels is no longer the last: they are told in activations that have
 * had one with labels. Between two accesses or branches with labels ("a run") a branch without is told again only if it goes elsewhere.
 */
#include "labels.h"

static struct {
	ULong loads;     /* LOAD events of this process */
	ULong base;      /* label l was the LOAD number base + l, from 1 */
	UInt numbers;    /* activations */
	UInt activation; /* of the newest event */
	UInt run;
} told = { .run = 1 };

/* ---- activations ---- */

static inline UInt number_of(const struct frame *f)
{
	return f->flags >> FRAME_NUMBER_SHIFT;
}

static void tell_frame(const struct frame *f)
{
	ULong args[3] = { number_of(f), f == ctx_base() ? 0 : number_of(f - 1), f->call_ip };
	emit(TRACE_FRAME, 0, 0, ctx_node(), 3, args, NULL, 0);
	told.activation = number_of(f);
}

static void here(void)
{
	struct frame *f;
	ctx_node(); /* drops frames that were left */
	if (LIKELY(number_of(record.top) && number_of(record.top) == told.activation))
		return;
	for (f = record.top; f > ctx_base() && !number_of(f);)
		f--;
	if (number_of(f) && f < record.top)
		f++;
	for (; f <= record.top; f++) {
		if (!number_of(f)) {
			told.numbers = told.numbers % FRAME_NUMBERS + 1;
			f->flags |= told.numbers << FRAME_NUMBER_SHIFT;
		}
		tell_frame(f);
	}
}

/* ---- labels ---- */

static UInt distances(set_t s, UInt *to)
{
	UInt n = set_labels(s, to);
	for (UInt i = 0; i < n; i++)
		to[i] = (UInt)(told.loads - told.base) + 1 - to[i];
	return n;
}

static void tell_labels(UInt site, set_t data, set_t address)
{
	UInt distance[2 * TRACE_LABELS], n, m;
	if (!data && !address)
		return;
	n = distances(data, distance);
	m = distances(address, distance + n);
	emit(TRACE_DEP, TRACE_DEP_FLAGS(n, m), site, ctx_node(), 0, NULL, distance,
	     (n + m) * sizeof(UInt));
}

void told_access(UInt site)
{
	here();
	tell_labels(site, (set_t)record.labels, (set_t)(record.labels >> 32));
	told.run++;
}

/* [a, end) in one mapping of PM. */
static set_t tell_load(Addr a, Addr end, Addr ip, set_t address)
{
	UInt site = emit_site(ip, TRACE_SITE_OTHER, 0);
	ULong args[2] = { a, end - a };
	here();
	tell_labels(site, 0, address);
	emit(TRACE_LOAD, 0, site, ctx_node(), 2, args, NULL, 0);
	told.run++;
	return (set_t)(++told.loads - told.base);
}

/* What is loaded from PM has its own label only; what is not, those that are there and those of the address. */
set_t told_load(Addr a, UInt size, Addr ip, set_t address)
{
	const struct region *r = region_find(a);
	Addr end = a + size, stop;
	set_t s = 0;
	if (LIKELY(r && end <= r->hi))
		return tell_load(a, end, ip, address);
	if (LIKELY(!r && region_next(a) >= end))
		return set_union(memory_get(a, size), address);
	for (; a < end; a = stop) {
		r = region_find(a);
		stop = r ? r->hi : region_next(a);
		stop = stop < end ? stop : end;
		s = set_union(s, r ? tell_load(a, stop, ip, address) : memory_get(a, stop - a));
	}
	return s;
}

/* ---- branches ---- */

void told_branch(struct branch *b, Addr to, UInt flags, set_t s)
{
	UInt distance[TRACE_LABELS], n;
	ULong arg = to;
	if (!region_ever())
		return;
	here();
	if (s) {
		record.top->flags |= FRAME_BRANCHED;
		b->run = 0;
		told.run++;
	} else {
		if (b->run == told.run && b->activation == told.activation && b->last == to)
			return;
		b->run = told.run;
		b->activation = told.activation;
		b->last = to;
	}
	n = distances(s, distance);
	emit(TRACE_BRANCH, flags | n, emit_site(b->ip, TRACE_SITE_OTHER, 0), ctx_node(), 1, &arg,
	     distance, n * sizeof(UInt));
}

/* ---- start anew ---- */

Bool told_many(void)
{
	return told.loads - told.base >= SET_MANY / 2;
}

void told_forget(void)
{
	emit(TRACE_LABELS_LOST, 0, 0, 0, 0, NULL, NULL, 0);
	told.base = told.loads;
}

/* The process is another one, and nobody was told of the activations that it is in. */
void told_forked(void)
{
	for (struct frame *f = ctx_base(); f <= record.top; f++)
		f->flags &= (1u << FRAME_NUMBER_SHIFT) - 1 - FRAME_BRANCHED;
	told.loads = told.base = 0;
	told.activation = 0;
	told.run++;
}
