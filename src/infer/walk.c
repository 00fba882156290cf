/* SPDX-License-Identifier: BSD-3-Clause */
#include "infer/walk.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/*
 * A lock may lie in PM, or in a file that is mapped to be shared (LMDB's lock file); but whoever takes and releases it has not done
 * anything yet. Functions that libc exports for that, by module and name.
 */
static const char *const libc[] = { "libc.so*", "libc-*.so", "libpthread*", NULL };
static const char *const locking[] = { "pthread_mutex_*",
				       "pthread_rwlock_*",
				       "pthread_spin_*",
				       "pthread_cond_*",
				       "pthread_barrier_*",
				       "sem_*",
				       NULL };

bool infer_changes(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_STORE:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_RENAME:
	case TRACE_FILE_UNLINK:
	case TRACE_NODE_NEW:
	case TRACE_NODE_LINK:
	case TRACE_NODE_MOVE:
	case TRACE_NODE_UNLINK:
	case TRACE_NODE_WRITE:
	case TRACE_NODE_TRUNCATE:
	case TRACE_NODE_ALLOCATE: return true;
	default: return false;
	}
}

bool infer_persists(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_FLUSH: return !(e->flags & TRACE_F_VOLATILE);
	case TRACE_FENCE:
	case TRACE_SYNC:
	case TRACE_FILE_SYNC:
	case TRACE_NODE_SYNC: return true;
	default: return false;
	}
}

static bool fits(const char *const *globs, const char *name)
{
	while (*globs && fnmatch(*globs, name, 0) != 0)
		globs++;
	return *globs != NULL;
}

/* Is the instruction in such a function? */
static bool is_locking(struct infer_walk *w, uint32_t process, uint64_t ip)
{
	uint64_t key = hash_mix(ip, process), known;
	if (hmap_get(&w->lock, key, &known))
		return known == 1;
	struct srcloc_where at = srcloc_trace_at(w->src, process, ip);
	const struct srcloc_frame *f = &at.frame[at.n - 1];
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	bool is = f->module && f->function && fits(libc, slash ? slash + 1 : f->module) &&
		  fits(locking, f->function + strspn(f->function, "_"));
	hmap_put(&w->lock, key, is ? 1 : 2);
	return is;
}

static struct infer_thread *thread_of(struct infer_walk *w, const struct trace_event *e)
{
	uint64_t key = (uint64_t)e->process << 32 | e->thread, i;
	if (!hmap_get(&w->at, key, &i)) {
		struct infer_thread *t = xcalloc(1, sizeof *t);
		t->process = e->process;
		t->thread = e->thread;
		hmap_put(&w->at, key, i = w->thread.n);
		VEC_PUSH(&w->thread, t);
	}
	return w->thread.p[i];
}

/* The contexts from the thread's bottom to this one. */
static void find_path(const struct infer_walk *w, struct infer_thread *t, uint32_t ctx)
{
	const struct trace_ctx_def *d;
	size_t n = 0;
	for (uint32_t at = ctx; at >= TRACE_CTX_FIRST; at = d->parent, n++)
		if (!(d = trace_ctx(w->defs, t->process, at)))
			break;
	VEC_RESERVE(&t->path, n);
	t->path.n = n;
	for (uint32_t at = ctx; n > 0; at = trace_ctx(w->defs, t->process, at)->parent)
		t->path.p[--n] = at;
}

/* How many of the calls are still going on. */
static size_t still(const struct infer_thread *t, uint32_t kept)
{
	size_t n = 0;
	while (n < t->call.n && n < t->path.n && t->call.p[n].ctx == t->path.p[n]) {
		if (kept && t->call.p[n].ctx > kept - 1)
			break;
		n++;
	}
	return n;
}

/* What comes between two children belongs to the first, until the program says something. */
static void extend(struct infer_call *c, uint64_t event)
{
	struct infer_child *last = c->child.n ? &c->child.p[c->child.n - 1] : NULL;
	if (last && last->said == UINT64_MAX)
		last->rest = event;
}

static void speak(struct infer_thread *t, uint64_t event)
{
	for (size_t i = 0; i < t->call.n; i++) {
		struct infer_call *c = &t->call.p[i];
		struct infer_child *last = c->child.n ? &c->child.p[c->child.n - 1] : NULL;
		c->spoke = event;
		if (last && last->said == UINT64_MAX)
			last->said = event;
	}
}

/* What was in the innermost call was in its caller as well. */
static void end_call(struct infer_walk *w, struct infer_thread *t)
{
	struct infer_call *c = &t->call.p[t->call.n - 1];
	struct infer_call *up = t->call.n > 1 ? c - 1 : NULL;
	uint64_t said = c->spoke > c->end ? c->spoke : UINT64_MAX;
	if (w->closed)
		w->closed(w->arg, t);
	if (up && c->begin != UINT64_MAX) {
		up->begin = up->begin == UINT64_MAX ? c->begin : up->begin;
		up->end = c->end;
		up->stores += c->stores;
		if (c->stores)
			VEC_PUSH(&up->child,
				 ((struct infer_child){ .site = c->site,
							.target = c->target,
							.begin = c->begin,
							.end = c->end,
							.before = c->before,
							.after = t->stores,
							.rest = c->end,
							.said = said,
							.maps = c->mapped || c->unmaps }));
		else
			extend(up, c->end);
	}
	if (up) {
		up->mapped = up->mapped ? up->mapped : c->mapped;
		up->unmaps |= c->unmaps;
	}
	VEC_FREE(&c->child);
	t->call.n--;
}

static void begin_call(struct infer_walk *w, struct infer_thread *t, uint32_t ctx)
{
	const struct trace_ctx_def *d = trace_ctx(w->defs, t->process, ctx);
	bool locks = (t->call.n && t->call.p[t->call.n - 1].locks) ||
		     is_locking(w, t->process, d->call_ip);
	VEC_PUSH(&t->call, ((struct infer_call){ .ctx = ctx,
						 .number = ++w->calls,
						 .site = d->call_ip,
						 .target = d->target,
						 .begin = UINT64_MAX,
						 .before = t->stores,
						 .locks = locks }));
}

/* Does a lock do this? */
static bool by_lock(struct infer_walk *w, const struct infer_call *c, const struct trace_event *e)
{
	const struct trace_site_def *site =
		e->kind == TRACE_STORE ? trace_site(w->defs, e->process, e->site) : NULL;
	return c->locks || (site && is_locking(w, e->process, site->ip));
}

static void note(struct infer_walk *w, struct infer_thread *t, const struct trace_event *e)
{
	struct infer_call *c = &t->call.p[t->call.n - 1];
	bool changes = infer_changes(e);
	if (by_lock(w, c, e))
		return;
	if (w->seen)
		w->seen(w->arg, t, e);
	t->stores += changes;
	t->persists += infer_persists(e);
	c->stores += changes;
	if (e->kind == TRACE_MAP && e->flags & TRACE_F_PM)
		c->mapped = c->mapped ? c->mapped : e->num + 1;
	if (e->kind == TRACE_UNMAP)
		c->unmaps = true;
	if (!changes && !infer_persists(e))
		return;
	c->begin = c->begin == UINT64_MAX ? e->num : c->begin;
	c->end = e->num;
	extend(c, e->num);
}

void infer_walk_begin(struct infer_walk *w)
{
	w->src = srcloc_trace_new(w->defs);
}

void infer_walk_event(struct infer_walk *w, const struct trace_event *e)
{
	if (e->kind != TRACE_MODULE_UNLOAD)
		srcloc_trace_feed(w->src, e);
	if (e->ctx < TRACE_CTX_FIRST)
		return;
	struct infer_thread *t = thread_of(w, e);
	if (e->kept || !t->call.n || t->call.p[t->call.n - 1].ctx != e->ctx) {
		find_path(w, t, e->ctx);
		size_t n = still(t, e->kept);
		while (t->call.n > n)
			end_call(w, t);
		while (t->call.n < t->path.n)
			begin_call(w, t, t->path.p[t->call.n]);
	}
	if (t->call.n)
		note(w, t, e);
	if (e->kind == TRACE_OUTPUT)
		speak(t, e->num);
}

void infer_walk_end(struct infer_walk *w)
{
	for (size_t i = 0; i < w->thread.n; i++) {
		struct infer_thread *t = w->thread.p[i];
		while (t->call.n)
			end_call(w, t);
		VEC_FREE(&t->call);
		VEC_FREE(&t->path);
		free(t);
	}
	VEC_FREE(&w->thread);
	hmap_free(&w->at);
	hmap_free(&w->lock);
	srcloc_trace_free(w->src);
}
