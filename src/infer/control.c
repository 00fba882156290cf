/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control dependence of a run: which execution of which branch decided that an access was made.
 *
 * Of each activation of a function the newest execution of each branch is kept, with the labels of its
 * condition. An access depends on the newest of the branches that its block depends on (binary/control.c); if
 * there is none in its activation, its function was run whatever happened there, and it depends on what
 * the call depends on. That branch depends on another in its turn, and so on, up to INFER_LEVELS:
 *
 *	if (t->token[j])                        branch 1, label R(token[j])
 *		if (!strcmp(t->key[j], key))    branch 2, label R(key[j]); R(key[j]), in strcmp, depends on branch 1
 *			return t->value[j];     R(value[j]) depends on branch 2, and through it on branch 1
 *
 * WITCHER's graph of these lines (its figure 3) has all three dependences.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/binary.h"
#include "infer/internal.h"

#define OUTWARD 16u        /* calls that are gone up */
#define CONTROLS 16u       /* branches that a block depends on */
#define RECORDS (1u << 20) /* executions that are kept */

struct module {
	uint64_t addr, len, offset;
	const char *path;
	bool loaded;
};

/* An address space: that of a process and those that it forked. */
struct space {
	struct binary_view *view;
	VEC(struct module) module;
	struct hmap block; /* ip -> block and 1 */
};

struct record {
	uint64_t order;
	uint32_t up; /* record + 1 that it depended on; 0: none */
	uint32_t n;
	struct trace_label label[TRACE_LABELS];
};

struct infer_control {
	const struct trace_defs *defs;
	VEC(struct space) space;
	VEC(uint32_t) space_of; /* by process, and 1 */
	VEC(struct record) record;
	struct hmap newest; /* process, activation and block -> record */
	uint64_t order;
};

struct infer_control *infer_control_new(const struct trace_defs *defs)
{
	struct infer_control *c = xcalloc(1, sizeof *c);
	c->defs = defs;
	return c;
}

void infer_control_forget(struct infer_control *c)
{
	if (!c->record.n)
		return;
	c->record.n = 0;
	hmap_free(&c->newest);
	c->newest = (struct hmap){ 0 };
}

void infer_control_free(struct infer_control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->space.n; i++) {
		binary_view_free(c->space.p[i].view);
		VEC_FREE(&c->space.p[i].module);
		hmap_free(&c->space.p[i].block);
	}
	VEC_FREE(&c->space);
	VEC_FREE(&c->space_of);
	VEC_FREE(&c->record);
	hmap_free(&c->newest);
	free(c);
}

/* ---- code ---- */

static struct space *space_of(struct infer_control *c, uint32_t process)
{
	const struct trace_process_def *p = trace_process(c->defs, process);
	while (c->space_of.n <= process)
		VEC_PUSH(&c->space_of, 0);
	if (!c->space_of.p[process]) {
		uint32_t same = 0;
		if (p && p->birth == TRACE_BIRTH_FORK && p->parent_index < process) {
			(void)space_of(c, p->parent_index);
			same = c->space_of.p[p->parent_index];
		}
		if (!same) {
			VEC_PUSH(&c->space, ((struct space){ .view = binary_view_new(NULL) }));
			same = (uint32_t)c->space.n;
		}
		c->space_of.p[process] = same;
	}
	return &c->space.p[c->space_of.p[process] - 1];
}

void infer_control_event(struct infer_control *c, const struct trace_event *e)
{
	const struct trace_module_def *m;
	if (e->kind != TRACE_MODULE_LOAD)
		return;
	m = trace_module(c->defs, e->process, (uint32_t)e->arg[3]);
	if (m)
		VEC_PUSH(&space_of(c, e->process)->module,
			 ((struct module){ e->arg[0], e->arg[1], e->arg[2], m->path, false }));
}

/* A file is decoded when something in it is asked for. */
static void load(struct space *s, uint64_t ip)
{
	for (size_t i = s->module.n; i-- > 0;) {
		struct module *m = &s->module.p[i];
		if (ip - m->addr >= m->len)
			continue;
		if (!m->loaded)
			binary_view_load(s->view, m->path, m->addr, m->len, m->offset);
		m->loaded = true;
		break;
	}
}

const struct binary_view *infer_control_view(struct infer_control *c, uint32_t process, uint64_t ip)
{
	struct space *s = space_of(c, process);
	load(s, ip);
	return s->view;
}

static uint64_t block_of(struct space *s, uint64_t ip)
{
	uint64_t block;
	if (hmap_get(&s->block, ip, &block))
		return block - 1;
	load(s, ip);
	block = binary_view_block_number(s->view, ip);
	hmap_put(&s->block, ip, block + 1);
	return block;
}

/* ---- executions ---- */

static uint64_t key_of(uint32_t process, uint32_t activation, uint64_t block)
{
	return hash_mix((uint64_t)process << 32 | activation, block);
}

/* The newest execution in this activation of a branch that the instruction depends on; 0: none, else record + 1. */
static uint32_t newest_in(struct infer_control *c, uint32_t process, uint32_t activation,
			  uint64_t ip)
{
	struct space *s = space_of(c, process);
	uint64_t block = block_of(s, ip), on[CONTROLS], at;
	uint32_t found = 0;
	size_t n =
		block == BINARY_NO_BLOCK ? 0 : binary_view_controls(s->view, block, on, CONTROLS);
	for (size_t i = 0; i < n; i++)
		if (hmap_get(&c->newest, key_of(process, activation, on[i]), &at) &&
		    (!found || c->record.p[at].order > c->record.p[found - 1].order))
			found = (uint32_t)at + 1;
	return found;
}

static uint32_t controlling(struct infer_control *c, uint32_t process, uint32_t activation,
			    uint64_t ip, const struct trace_deps *deps)
{
	for (unsigned i = 0; activation && c->record.n && i < OUTWARD; i++) {
		uint32_t found = newest_in(c, process, activation, ip);
		const struct trace_activation *a;
		if (found)
			return found;
		a = trace_deps_activation(deps, process, activation);
		if (!a || a->call < TRACE_CTX_SIGNAL_MAX)
			return 0;
		ip = a->call;
		activation = a->parent;
	}
	return 0;
}

void infer_control_branch(struct infer_control *c, const struct trace_event *e,
			  const struct trace_dep *dep, const struct trace_deps *deps)
{
	uint64_t block = block_of(space_of(c, e->process), e->ip);
	struct record r = { .order = c->order++, .n = dep->ndata };
	if (block == BINARY_NO_BLOCK || !dep->activation)
		return;
	if (c->record.n == RECORDS)
		infer_control_forget(c);
	r.up = controlling(c, e->process, dep->activation, e->ip, deps);
	memcpy(r.label, dep->data, dep->ndata * sizeof *r.label);
	hmap_put(&c->newest, key_of(e->process, dep->activation, block), c->record.n);
	VEC_PUSH(&c->record, r);
}

size_t infer_control_labels(struct infer_control *c, const struct trace_event *e,
			    const struct trace_dep *dep, const struct trace_deps *deps,
			    struct trace_label *out, size_t max)
{
	uint32_t at = controlling(c, e->process, dep->activation, e->ip, deps);
	size_t n = 0;
	for (unsigned level = 0; at && level < INFER_LEVELS; level++) {
		const struct record *r = &c->record.p[at - 1];
		for (uint32_t i = 0; i < r->n && n < max; i++)
			out[n++] = r->label[i];
		at = r->up;
	}
	return n;
}
