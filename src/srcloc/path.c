/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call paths of a trace's events.
 *
 * A context node says "the call instruction at call_ip, in context parent, went to target".
 * So an event at `ip` in context c lies on this path, innermost first:
 *
 *	step(ip, c), step(c.call_ip, c.parent), step(c.parent.call_ip, c.parent.parent), …
 *
 * where step(ip, c) is the frames of ip and, if c.target is another function than the one
 * around ip, a frame for that function: it was called, and then left by a jump to (or towards)
 * the function around ip (tail.c). Steps of calls are kept per node, so a path costs one copy a frame.
 *
 * Modules come and go, and a node keeps its number: a kept step is good for one `age` of the
 * process only, and every change of the mapped modules starts a new age.
 */
#include <stdlib.h>
#include <string.h>

#include "srcloc/srcloc.h"
#include "trace/trace.h"

#define MAX_STEPS 65536 /* a longer way to the root is a cycle in a bad trace */

struct step {
	uint32_t age;
	uint32_t n;
	struct srcloc_frame frame[];
};

struct process {
	struct srcloc *space;
	uint32_t age;
	struct hmap step;    /* context node -> struct step * */
	const char *program; /* the first module that was mapped: the executable, mostly */
};

typedef VEC(struct srcloc_frame) frame_vec;

struct srcloc_trace {
	const struct trace_defs *defs;
	struct srcloc *root; /* maps nothing; owns what the processes share */
	VEC(struct process) process;
	frame_vec path, scratch;
	char signal_name[TRACE_CTX_SIGNAL_MAX][16];
};

struct srcloc_trace *srcloc_trace_new(const struct trace_defs *defs)
{
	struct srcloc_trace *st = xcalloc(1, sizeof *st);
	st->defs = defs;
	st->root = srcloc_new();
	for (unsigned i = 0; i < TRACE_CTX_SIGNAL_MAX; i++)
		snprintf(st->signal_name[i], sizeof st->signal_name[i], "<signal %u>", i);
	return st;
}

void srcloc_trace_free(struct srcloc_trace *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->process.n; i++) {
		struct process *p = &st->process.p[i];
		for (size_t k = 0; k < p->step.cap; k++)
			if (p->step.used[k])
				free((struct step *)(uintptr_t)p->step.val[k]);
		hmap_free(&p->step);
		srcloc_free(p->space);
	}
	VEC_FREE(&st->process);
	VEC_FREE(&st->path);
	VEC_FREE(&st->scratch);
	srcloc_free(st->root);
	free(st);
}

/* The address space a new process starts with: its parent's after fork, else an empty one. */
static const struct srcloc *first_space(const struct srcloc_trace *st, uint32_t process)
{
	const struct trace_process_def *def = trace_process(st->defs, process);
	bool forked = def && def->birth == TRACE_BIRTH_FORK && def->parent_index < process;
	return forked && st->process.p[def->parent_index].space
		       ? st->process.p[def->parent_index].space
		       : st->root;
}

static struct process *process_of(struct srcloc_trace *st, uint32_t process)
{
	while (st->process.n <= process)
		VEC_PUSH(&st->process, (struct process){ 0 });
	struct process *p = &st->process.p[process];
	if (!p->space) {
		const struct trace_process_def *def = trace_process(st->defs, process);
		const struct srcloc *from = first_space(st, process);
		p->space = srcloc_fork(from);
		p->age = 1;
		if (from != st->root)
			p->program = st->process.p[def->parent_index].program;
	}
	return p;
}

void srcloc_trace_feed(struct srcloc_trace *st, const struct trace_event *ev)
{
	bool modules = ev->kind == TRACE_MODULE_UNLOAD || ev->kind == TRACE_MODULE_LOAD;
	if (!modules && ev->process < st->process.n && st->process.p[ev->process].space)
		return;
	struct process *p = process_of(st, ev->process);
	if (ev->kind == TRACE_MODULE_UNLOAD) {
		srcloc_unmap(p->space, ev->arg[0], ev->arg[1]);
		p->age++;
	} else if (ev->kind == TRACE_MODULE_LOAD) {
		const struct trace_module_def *m =
			trace_module(st->defs, ev->process, (uint32_t)ev->arg[3]);
		if (!m || !m->path)
			return;
		srcloc_map(p->space, ev->arg[0], ev->arg[1], ev->arg[2], m->path, m->build_id,
			   m->build_id_len);
		p->program = p->program ? p->program : m->path;
		p->age++;
	}
}

struct srcloc_where srcloc_trace_at(struct srcloc_trace *st, uint32_t process, uint64_t ip)
{
	return srcloc_at(process_of(st, process)->space, ip);
}

const char *srcloc_trace_stale(const struct srcloc_trace *st, size_t i)
{
	return srcloc_stale(st->root, i);
}

bool srcloc_trace_lvalue(struct srcloc_trace *st, const struct srcloc_frame *f,
			 const char *statement, struct srcloc_lvalue *out)
{
	return srcloc_lvalue(st->root, f, statement, out);
}

const struct srcloc_type *srcloc_trace_type(struct srcloc_trace *st, const struct srcloc_frame *f,
					    const char *name)
{
	return srcloc_type(st->root, f, name);
}

/* Length of a function's own name: compilers split off "f.cold", "f() [clone .part.0]", … */
static size_t own_name(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	return clone ? (size_t)(clone - function) : strcspn(function, ".");
}

static bool same_function(const struct srcloc_frame *a, const struct srcloc_frame *b)
{
	if (a->function == b->function || !a->function || !b->function)
		return true; /* or nothing known, so nothing to tell */
	size_t n = own_name(a->function);
	return a->module == b->module && n == own_name(b->function) &&
	       !strncmp(a->function, b->function, n);
}

static void add_entered(struct srcloc_frame f, enum srcloc_kind kind, frame_vec *out)
{
	f.kind = (uint8_t)kind;
	f.inlined = false;
	VEC_PUSH(out, f);
}

/* A function that was left by a jump, with those that are inlined around it there. */
static void add_left(struct srcloc_where at, const struct srcloc_frame *entered, frame_vec *out)
{
	for (size_t i = 0; i + 1 < at.n; i++)
		VEC_PUSH(out, at.frame[i]);
	add_entered(same_function(&at.frame[at.n - 1], entered) ? at.frame[at.n - 1] : *entered,
		    SRCLOC_TAIL, out);
}

/* step(ip, ctx), see above. An ip that is a signal's number stands for the kernel. */
static void make_step(struct srcloc_trace *st, uint32_t process, uint64_t ip, uint32_t ctx,
		      frame_vec *out)
{
	const struct trace_ctx_def *c =
		ctx >= TRACE_CTX_FIRST ? trace_ctx(st->defs, process, ctx) : NULL;
	struct srcloc *space = process_of(st, process)->space;
	struct srcloc_where at = { NULL, 0 }, entered = { NULL, 0 };
	bool entered_known = c && c->target;
	if (entered_known)
		entered = srcloc_at(space, c->target);
	const struct srcloc_frame *e = entered_known ? &entered.frame[entered.n - 1] : NULL;
	if (ip < TRACE_CTX_SIGNAL_MAX) {
		struct srcloc_frame f = { .function = st->signal_name[ip], .kind = SRCLOC_SIGNAL };
		VEC_PUSH(out, f);
		if (e && !e->plt)
			add_entered(*e, SRCLOC_INTERRUPTED, out);
		return;
	}
	at = srcloc_at(space, ip);
	for (size_t i = 0; i < at.n; i++)
		VEC_PUSH(out, at.frame[i]);
	const struct srcloc_frame *outermost = &at.frame[at.n - 1];
	if (!e || outermost->plt)
		return;
	if (!e->plt && !same_function(e, outermost)) {
		add_left(srcloc_at(space, srcloc_left_at(space, c->target, outermost->function)), e,
			 out);
		return;
	}
	/* Entered through a linkage stub, and now in a nameless function: the stub knows which
	 * exported function of the library it was that jumped there. */
	if (e->plt && e->function && !outermost->function) {
		struct srcloc_frame f = { .function = e->function,
					  .module = outermost->module,
					  .offset = outermost->offset };
		add_entered(f, SRCLOC_TAIL, out);
	}
}

/* The step of the call that made context `ctx`, kept until the modules change. */
static const struct step *call_step(struct srcloc_trace *st, uint32_t process, uint32_t ctx,
				    const struct trace_ctx_def *c)
{
	struct process *p = process_of(st, process);
	uint64_t old = 0;
	hmap_get(&p->step, ctx, &old);
	struct step *kept = (struct step *)(uintptr_t)old;
	if (kept && kept->age == p->age)
		return kept;
	st->scratch.n = 0;
	make_step(st, process, c->call_ip, c->parent, &st->scratch);
	kept = xrealloc(kept, sizeof *kept + st->scratch.n * sizeof kept->frame[0]);
	kept->age = p->age;
	kept->n = (uint32_t)st->scratch.n;
	memcpy(kept->frame, st->scratch.p, st->scratch.n * sizeof kept->frame[0]);
	hmap_put(&p->step, ctx, (uintptr_t)kept);
	return kept;
}

static bool is_main(const struct srcloc_frame *f)
{
	return f->function && !strcmp(f->function, "main");
}

/* An address in the executable, in its main. */
static bool in_main(const struct process *p, uint64_t ip)
{
	const char *module = srcloc_module(p->space, ip);
	if (!module || strcmp(module, p->program))
		return false;
	struct srcloc_where at = srcloc_at(p->space, ip);
	return is_main(&at.frame[at.n - 1]);
}

/* The frame is the executable's main, and no frame further out, from context ctx on, is: what is further
 * out is the C library, whose debug information is large. */
static bool ends_path(struct srcloc_trace *st, uint32_t process, uint32_t ctx,
		      const struct srcloc_frame *f)
{
	const struct process *p = process_of(st, process);
	if (!is_main(f) || !p->program || !f->module || strcmp(f->module, p->program))
		return false;
	const struct trace_ctx_def *c = NULL;
	for (int i = 0; ctx >= TRACE_CTX_FIRST && i < MAX_STEPS; i++, ctx = c->parent) {
		const struct trace_ctx_def *inner = c;
		if (!(c = trace_ctx(st->defs, process, ctx)))
			return true;
		if (in_main(p, c->call_ip) || (inner && in_main(p, c->target)))
			return false;
	}
	return true;
}

static struct srcloc_where make_path(struct srcloc_trace *st, uint32_t process, uint64_t ip,
				     uint32_t ctx, bool to_main)
{
	static const struct srcloc_frame cut = { .function = "<…>", .kind = SRCLOC_CUT };
	frame_vec *path = &st->path;
	path->n = 0;
	make_step(st, process, ip, ctx, path);
	for (int i = 0; ctx != TRACE_CTX_ROOT && i < MAX_STEPS; i++) {
		const struct trace_ctx_def *c =
			ctx >= TRACE_CTX_FIRST ? trace_ctx(st->defs, process, ctx) : NULL;
		if (to_main && ends_path(st, process, ctx, &path->p[path->n - 1]))
			break;
		if (!c) { /* TRACE_CTX_CUT, or a node that a damaged trace lost */
			VEC_PUSH(path, cut);
			break;
		}
		const struct step *s = call_step(st, process, ctx, c);
		VEC_RESERVE(path, path->n + s->n);
		memcpy(path->p + path->n, s->frame, s->n * sizeof s->frame[0]);
		path->n += s->n;
		ctx = c->parent;
	}
	return (struct srcloc_where){ path->p, path->n };
}

struct srcloc_where srcloc_path(struct srcloc_trace *st, uint32_t process, uint64_t ip,
				uint32_t ctx)
{
	return make_path(st, process, ip, ctx, false);
}

struct srcloc_where srcloc_path_to_main(struct srcloc_trace *st, uint32_t process, uint64_t ip,
					uint32_t ctx)
{
	return srcloc_path_trim(make_path(st, process, ip, ctx, true));
}

struct srcloc_where srcloc_path_trim(struct srcloc_where path)
{
	for (size_t i = path.n; i-- > 0;) {
		const struct srcloc_frame *f = &path.frame[i];
		if (is_main(f))
			return (struct srcloc_where){ path.frame, i + 1 };
	}
	for (size_t i = 1; i < path.n; i++) /* a stripped program: what called main has names */
		if (path.frame[i].function && !strncmp(path.frame[i].function, "__libc_start_", 13))
			return (struct srcloc_where){ path.frame, i };
	return path;
}
