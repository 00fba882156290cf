/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An oracle that asks its host everything, for asked.c. Answers become messages of findings:
 * one of kind "answer" per place, so each step of the program is its own.
 */
#include <holdfast/oracle.h>
#include <stdio.h>
#include <string.h>

static const struct holdfast_host *host;
static const struct holdfast_kind kinds[] = {
	{ "answer", HOLDFAST_NOTE, "an answer", "What the host said." },
	{ "counts", HOLDFAST_ERROR, "numbers of callbacks", "At the end." },
	{ 0 },
};
#ifndef MORE
#define MORE /* further functions to watch: what happens in them is not wanted */
#endif
static const char *const watch[] = { "watched_*", MORE NULL };

static uint64_t first, last_store;
static unsigned stores, flushes, fences, calls, rets, maps, unmaps;

static void *start(const struct holdfast_host *h)
{
	host = h;
	return NULL;
}

static void store(void *state, const struct holdfast_event *e)
{
	struct holdfast_line l;
	struct holdfast_source s;
	uint64_t value = 0, beyond = 0;
	size_t known = host->value(e->process, e->addr, &value, (size_t)e->size);
	(void)state;
	stores++;
	last_store = host->where(e);
	if (!first)
		first = last_store;
	host->line(e->process, e->addr, &l);
	host->source(last_store, &s);
	host->report(
		0, last_store, first,
		"%s: %s size %llu bytes %02x value %zu:%llx beyond %zu dirty %llx pending %llx ever %llx "
		"pm %d dram %d nt %d atomic %d line %u",
		s.function, host->describe(e->process, e->addr), (unsigned long long)e->size,
		e->bytes[0], known, (unsigned long long)value,
		host->value(e->process, e->addr + 4096, &beyond, 8), (unsigned long long)l.dirty,
		(unsigned long long)l.pending, (unsigned long long)l.ever,
		host->is_pm(e->process, e->addr), host->is_pm(e->process, 4096), e->nontemporal,
		e->atomic, s.line);
}

static void flush(void *state, const struct holdfast_event *e)
{
	struct holdfast_line l;
	(void)state;
	flushes++;
	host->line(e->process, e->addr, &l);
	host->report(0, host->where(e), 0,
		     "flush %llu aligned %d dirty %llx pending %llx ever %llx",
		     (unsigned long long)e->size, e->addr % 64 == 0, (unsigned long long)l.dirty,
		     (unsigned long long)l.pending, (unsigned long long)l.ever);
}

static void fence(void *state, const struct holdfast_event *e)
{
	(void)state, (void)e;
	fences++;
}

static void call(void *state, const struct holdfast_event *e)
{
	(void)state;
	calls++;
	host->report(0, host->where(e), 0, "call %s(%llu, %llu)", e->function,
		     (unsigned long long)e->arg[0], (unsigned long long)e->arg[1]);
}

static void ret(void *state, const struct holdfast_event *e)
{
	(void)state;
	rets++;
	if (e->unwound || e->result[0] != 42 || strcmp(e->function, "watched_sum") != 0)
		rets += 1000;
}

static void map(void *state, const struct holdfast_event *e)
{
	(void)state;
	maps += e->size == 8192;
}

static void unmap(void *state, const struct holdfast_event *e)
{
	(void)state;
	unmaps += e->size == 8192;
}

static void end(void *state)
{
	(void)state;
	host->report(1, last_store, first,
		     "stores %u flushes %u fences %u calls %u rets %u maps %u unmaps %u", stores,
		     flushes, fences, calls, rets, maps, unmaps);
	host->report(99, last_store, first, "no such kind");
	host->report(0, 0, 0, "no such place");
}

const struct holdfast_oracle holdfast_oracle = {
	.api = HOLDFAST_ORACLE_API,
	.name = "asks",
	.kinds = kinds,
	.watch = watch,
	.start = start,
	.store = store,
	.flush = flush,
	.fence = fence,
	.call = call,
	.ret = ret,
	.map = map,
	.unmap = unmap,
	.end = end,
	.outside_calls = sizeof watch > 2 * sizeof *watch,
};
