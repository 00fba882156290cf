/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations of libpmemobj, by the calls that it documents and a recording has: what they are asked for is the size and the
 * type number of an object, and what they return is where it is, as an offset in the pool. In a transaction the pool is that of the
 * call that began it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "infer/behaviour.h"

#define NO_ARGUMENT 7u
#define IN_TX NO_ARGUMENT

/* Which arguments have the pool, the size and the type number. */
static const struct call {
	const char *name;
	uint8_t pool, size, type;
} calls[] = {
	{ "pmemobj_tx_begin", 0, NO_ARGUMENT, NO_ARGUMENT },
	{ "pmemobj_root", 0, 1, NO_ARGUMENT },
	{ "pmemobj_reserve", 0, 2, 3 },
	{ "pmemobj_xreserve", 0, 2, 3 },
	{ "pmemobj_tx_alloc", IN_TX, 0, 1 },
	{ "pmemobj_tx_zalloc", IN_TX, 0, 1 },
	{ "pmemobj_tx_xalloc", IN_TX, 0, 1 },
	{ "pmemobj_tx_realloc", IN_TX, 2, 3 }, /* the first two are the object */
	{ "pmemobj_tx_zrealloc", IN_TX, 2, 3 },
};
#define CALLS (sizeof calls / sizeof *calls)

struct thread {
	uint64_t tx; /* its pool, as a byte; 0: none */
	uint64_t fn; /* the function that has not returned, and 1; 0: none */
	uint64_t pool, size, type;
};
struct reading {
	struct infer_typer *t;
	struct trace_maps *maps;
	const struct trace_defs *defs;
	struct hmap at; /* process and thread -> */
	VEC(struct thread) thread;
};

static const struct call *call_of(const struct reading *r, const struct trace_event *e)
{
	const char *name = trace_string(r->defs, e->process, (uint32_t)e->arg[0]);
	for (size_t i = 0; name && i < CALLS; i++)
		if (!strcmp(name, calls[i].name))
			return &calls[i];
	return NULL;
}

static struct thread *thread_of(struct reading *r, const struct trace_event *e)
{
	uint64_t key = (uint64_t)e->process << 32 | e->thread, at = r->thread.n;
	if (!hmap_get(&r->at, key, &at)) {
		hmap_put(&r->at, key, at);
		VEC_PUSH(&r->thread, ((struct thread){ 0 }));
	}
	return &r->thread.p[at];
}

/* An address in PM as a byte of its file; 0: it is in none. */
static uint64_t byte_at(const struct reading *r, uint32_t process, uint64_t addr)
{
	uint64_t off, len;
	uint32_t file;
	if (!trace_maps_locate(r->maps, process, addr, &file, &off, &len))
		return 0;
	return model_file_byte(file, off);
}

static void on_call(struct reading *r, const struct trace_event *e)
{
	const struct call *c = call_of(r, e);
	struct thread *t = c ? thread_of(r, e) : NULL;
	if (!c)
		return;
	t->pool = c->pool == IN_TX ? t->tx : byte_at(r, e->process, e->arg[1 + c->pool]);
	if (c->size == NO_ARGUMENT) {
		t->tx = t->pool ? t->pool : t->tx;
		return;
	}
	t->fn = e->arg[0] + 1;
	t->size = e->arg[1 + c->size];
	t->type = c->type == NO_ARGUMENT ? 0 : e->arg[1 + c->type];
}

static void on_return(struct reading *r, const struct trace_event *e)
{
	struct thread *t = thread_of(r, e);
	uint64_t off = e->arg[2];
	char name[64];
	if (!t->fn || t->fn != e->arg[0] + 1)
		return;
	t->fn = 0;
	if (!off || !t->pool || !t->size)
		return;
	snprintf(name, sizeof name, "allocation of type %" PRIu64, t->type);
	infer_objects_add(&r->t->allocations,
			  (struct infer_object){ t->pool + off, t->pool + off + t->size,
						 infer_named_type(r->t->named, name, t->size,
								  INFER_BY_ALLOCATION, NULL),
						 0 });
}

void infer_types_allocations(struct infer_typer *t, struct trace_reader *trace)
{
	const struct trace_defs *defs = trace_defs(trace);
	struct reading r = { .t = t, .maps = trace_maps_new(defs), .defs = defs };
	struct trace_event e;
	struct err ignored = { 0 };
	if (!trace_seek(trace, 0, &ignored))
		while (trace_next(trace, &e, &ignored) == 1) {
			trace_maps_apply(r.maps, &e, &ignored);
			if (e.kind == TRACE_CALL)
				on_call(&r, &e);
			else if (e.kind == TRACE_RETURN)
				on_return(&r, &e);
		}
	infer_objects_sort(&t->allocations, t->named);
	trace_maps_free(r.maps);
	hmap_free(&r.at);
	VEC_FREE(&r.thread);
}
