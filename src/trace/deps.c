/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependences, from the events of `record --deps` (format.h).
 *
 * Labels are distances back in the LOADs of the process: the newest RECENT of these are kept. Activations are kept as a stack
 * for each thread; one that is announced drops what was above its parent:
 *
 *   frame 1 of 0, 4 of 1, 5 of 4     [1] [4] [5]
 *   frame 4 of 1                     [1] [4]
 *   frame 9 of 4                     [1] [4] [9]
 */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define RECENT (1u << 18)

struct stack {
	VEC(struct trace_activation) frame;
};

struct process {
	VEC(struct trace_label) recent; /* LOAD number n is at n % RECENT */
	uint64_t loads;
	uint32_t activation; /* of the events to come */
	uint32_t thread;     /* whose it is */
	uint8_t flags;       /* of the DEP that waits for its access */
	uint32_t distance[2 * TRACE_LABELS];
	struct hmap stack_of; /* thread -> its place in stacks */
	VEC(struct stack) stacks;
};

struct trace_deps {
	VEC(struct process) of;
	bool any;
};

struct trace_deps *trace_deps_new(void)
{
	return xcalloc(1, sizeof(struct trace_deps));
}

void trace_deps_free(struct trace_deps *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->of.n; i++) {
		for (size_t t = 0; t < d->of.p[i].stacks.n; t++)
			VEC_FREE(&d->of.p[i].stacks.p[t].frame);
		hmap_free(&d->of.p[i].stack_of);
		VEC_FREE(&d->of.p[i].stacks);
		VEC_FREE(&d->of.p[i].recent);
	}
	VEC_FREE(&d->of);
	free(d);
}

bool trace_deps_any(const struct trace_deps *d)
{
	return d->any;
}

static struct process *process_of(struct trace_deps *d, uint32_t index)
{
	while (d->of.n <= index)
		VEC_PUSH(&d->of, (struct process){ 0 });
	return &d->of.p[index];
}

/* ---- activations ---- */

static struct stack *stack_of(struct process *p, uint32_t thread)
{
	uint64_t at = p->stacks.n;
	if (!hmap_get(&p->stack_of, thread, &at)) {
		hmap_put(&p->stack_of, thread, at);
		VEC_PUSH(&p->stacks, (struct stack){ 0 });
	}
	return &p->stacks.p[at];
}

static void enter(struct process *p, const struct trace_event *e)
{
	struct trace_activation a = { (uint32_t)e->arg[0], (uint32_t)e->arg[1], e->arg[2] };
	struct stack *s = stack_of(p, e->thread);
	while (s->frame.n && s->frame.p[s->frame.n - 1].id != a.parent)
		s->frame.n--;
	VEC_PUSH(&s->frame, a);
	p->activation = a.id;
	p->thread = e->thread;
}

const struct trace_activation *trace_deps_activation(const struct trace_deps *d, uint32_t process,
						     uint32_t id)
{
	const struct process *p = process < d->of.n ? &d->of.p[process] : NULL;
	uint64_t at;
	const struct stack *s =
		p && hmap_get(&p->stack_of, p->thread, &at) ? &p->stacks.p[at] : NULL;
	for (size_t i = s ? s->frame.n : 0; i > 0; i--)
		if (s->frame.p[i - 1].id == id)
			return &s->frame.p[i - 1];
	return NULL;
}

/* ---- labels ---- */

static int nonsense(const struct trace_event *e, struct err *err)
{
	return err_set(err, EXIT_PROGRAM, "event %llu: labels that make no sense",
		       (unsigned long long)e->num);
}

static bool labels_fit(const struct trace_event *e)
{
	unsigned data = TRACE_DEP_DATA(e->flags),
		 addr = e->kind == TRACE_DEP ? TRACE_DEP_ADDR(e->flags) : 0;
	return data <= TRACE_LABELS && addr <= TRACE_LABELS &&
	       e->size == (data + addr) * sizeof(uint32_t);
}

static unsigned find(const struct process *p, const uint32_t *distance, unsigned n,
		     struct trace_label *to)
{
	unsigned found = 0;
	for (unsigned i = 0; i < n; i++)
		if (distance[i] && distance[i] <= p->loads && distance[i] <= RECENT)
			to[found++] = p->recent.p[(p->loads - distance[i]) % RECENT];
	return found;
}

static void fill(struct process *p, struct trace_dep *dep)
{
	unsigned data = TRACE_DEP_DATA(p->flags);
	dep->ndata = find(p, p->distance, data, dep->data);
	dep->naddr = find(p, p->distance + data, TRACE_DEP_ADDR(p->flags), dep->addr);
	dep->activation = p->activation;
	p->flags = 0;
}

static void keep_load(struct process *p, const struct trace_event *e)
{
	struct trace_label l = { .num = e->num,
				 .addr = e->arg[0],
				 .ip = e->ip,
				 .size = (uint32_t)e->arg[1],
				 .ctx = e->ctx,
				 .thread = e->thread,
				 .activation = p->activation };
	if (p->recent.n < RECENT)
		VEC_PUSH(&p->recent, l);
	else
		p->recent.p[p->loads % RECENT] = l;
	p->loads++;
}

static void take_labels(struct process *p, const struct trace_event *e)
{
	p->flags = e->flags;
	if (e->size)
		memcpy(p->distance, e->data, e->size);
}

static int branch(struct process *p, const struct trace_event *e, struct trace_dep *dep,
		  struct err *err)
{
	if (!labels_fit(e))
		return nonsense(e, err);
	take_labels(p, e);
	p->flags = TRACE_DEP_DATA(e->flags);
	fill(p, dep);
	return 1;
}

int trace_deps_event(struct trace_deps *d, const struct trace_event *e, struct trace_dep *dep,
		     struct err *err)
{
	struct process *p = process_of(d, e->process);
	switch (e->kind) {
	case TRACE_FRAME:
		d->any = true;
		enter(p, e);
		return 0;
	case TRACE_DEP:
		if (!labels_fit(e))
			return nonsense(e, err);
		take_labels(p, e);
		return 0;
	case TRACE_BRANCH: return branch(p, e, dep, err);
	case TRACE_LOAD:
		fill(p, dep);
		keep_load(p, e);
		return 1;
	case TRACE_STORE:
		fill(p, dep);
		if (e->flags & TRACE_F_KERNEL)
			dep->activation = 0;
		return 1;
	default: return 0;
	}
}
