/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine: events go through the model, whose steps go to every oracle. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/internal.h"

/* ---- steps to oracles ---- */

static void tell(struct check *c, enum check_step kind, const struct model_step *s)
{
	for (size_t i = 0; i < c->listener[kind].n; i++)
		c->listener[kind].p[i].tell(c->listener[kind].p[i].oracle, s);
}

static void on_store(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_STORE, s);
}

static void on_flush(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_FLUSH, s);
}

static void on_fence(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_FENCE, s);
}

static void on_sync(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_SYNC, s);
}

static void on_persist(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_PERSIST, s);
}

static void on_op_end(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_OP_END, s);
}

static void on_gone(void *arg, const struct model_step *s)
{
	tell(arg, CHECK_GONE, s);
}

static void listen(struct check *c, enum check_step kind, struct check_listener l)
{
	if (l.tell)
		VEC_PUSH(&c->listener[kind], l);
}

/* Each has a state of its own, and is told only of what it has a callback for. */
static void add_oracles(struct check *c)
{
	size_t n = 0;
	while (check_oracles[n])
		n++;
	c->state = xcalloc(n, sizeof *c->state);
	for (size_t i = 0; i < n; i++) {
		const struct check_oracle *o = check_oracles[i];
		struct oracle_state *state = &c->state[i];
		state->check = c;
		listen(c, CHECK_STORE, (struct check_listener){ o->store, state });
		listen(c, CHECK_FLUSH, (struct check_listener){ o->flush, state });
		listen(c, CHECK_FENCE, (struct check_listener){ o->fence, state });
		listen(c, CHECK_SYNC, (struct check_listener){ o->sync, state });
		listen(c, CHECK_PERSIST, (struct check_listener){ o->persist, state });
		listen(c, CHECK_OP_END, (struct check_listener){ o->op_end, state });
		listen(c, CHECK_GONE, (struct check_listener){ o->gone, state });
	}
}

struct check *check_new(const struct check_opts *o, const struct trace_defs *defs, struct err *err)
{
	struct check *c = xcalloc(1, sizeof *c);
	struct model_watch watch = {
		.arg = c,
		.store = on_store,
		.flush = on_flush,
		.fence = on_fence,
		.sync = on_sync,
		.persist = on_persist,
		.op_end = on_op_end,
		.gone = on_gone,
	};
	add_oracles(c);
	if (o->model && o->model->files != MODEL_FILES_AT_ONCE)
		c->files = check_disk_new();
	c->defs = defs;
	c->notes = o->notes;
	c->include_libs = o->include_libs;
	c->replay = o->replay;
	if (o->recovery)
		check_recovery_known(c, o->recovery, o->nrecovery);
	c->model = model_new(o->model, defs, &watch);
	c->srcloc = srcloc_trace_new(defs);
	c->plugins = check_plugins_load(c, o->plugin, o->nplugin, err);
	if (!c->plugins) {
		check_free(c);
		return NULL;
	}
	return c;
}

void check_free(struct check *c)
{
	if (!c)
		return;
	check_plugins_free(c->plugins);
	check_disk_free(c->files);
	check_asked_free(&c->asked);
	VEC_FREE(&c->vain);
	for (size_t i = 0; check_oracles[i]; i++) {
		check_causes_free(&c->state[i].causes);
		check_pairs_free(&c->state[i].pairs);
		check_pairs_free(&c->state[i].writers);
		check_pairs_free(&c->state[i].awaited);
		VEC_FREE(&c->state[i].expected);
		VEC_FREE(&c->state[i].rounds);
		check_pairs_free(&c->state[i].replaced);
		check_pairs_free(&c->state[i].kin);
		check_pairs_free(&c->state[i].lines);
		check_pairs_free(&c->state[i].inside);
		hmap_free(&c->state[i].atomics);
		hmap_free(&c->state[i].atom);
		VEC_FREE(&c->state[i].atoms);
		hmap_free(&c->state[i].storing);
		hmap_free(&c->state[i].persisting);
		VEC_FREE(&c->state[i].counts);
		VEC_FREE(&c->state[i].fences);
		VEC_FREE(&c->state[i].tally);
	}
	for (size_t i = 0; i < c->place.n; i++)
		if (c->place.p[i]) {
			free(c->place.p[i]->frame);
			free(c->place.p[i]);
		}
	finding_helpers_free(c->helpers);
	for (int i = 0; i < CHECK_STEPS; i++)
		VEC_FREE(&c->listener[i]);
	VEC_FREE(&c->place);
	VEC_FREE(&c->statement);
	VEC_FREE(&c->user);
	VEC_FREE(&c->author);
	VEC_FREE(&c->wanted);
	VEC_FREE(&c->persisted);
	VEC_FREE(&c->flags);
	VEC_FREE(&c->persister);
	VEC_FREE(&c->lock);
	check_targets_free(&c->targets);
	hmap_free(&c->recovery_at);
	free(c->state);
	srcloc_trace_free(c->srcloc);
	model_free(c->model);
	free(c);
}

const char *const *check_watches(const struct check *c, size_t *n)
{
	return check_plugins_watches(c->plugins, n);
}

/* Source places are looked up when needed, but before the code that they are in goes away. */
const struct finding_place *check_place(struct check *c, model_where w)
{
	while (c->place.n <= w)
		VEC_PUSH(&c->place, NULL);
	if (!c->place.p[w]) {
		const struct model_place *p = model_place(c->model, w);
		struct srcloc_where path =
			srcloc_path_to_main(c->srcloc, p->process, p->ip, p->ctx);
		c->place.p[w] = xmalloc(sizeof *c->place.p[w]);
		*c->place.p[w] = finding_place_copy(path);
		if (c->helpers)
			finding_helpers_mark(c->helpers, c->place.p[w]->frame, c->place.p[w]->n);
	}
	return c->place.p[w];
}

bool check_same_file(uint64_t key, uint64_t other)
{
	return model_key_file(key) == model_key_file(other);
}

bool check_file_was_persisted(const struct check *c, uint64_t key)
{
	for (size_t i = c->persisted.n; i > 0; i--)
		if (c->persisted.p[i - 1] == model_key_file(key))
			return true;
	return false;
}

void check_file_persisted(struct check *c, uint64_t key)
{
	if (!check_file_was_persisted(c, key))
		VEC_PUSH(&c->persisted, model_key_file(key));
}

/* A fence that is none by intent; it is remembered for what will be said about it. */
static bool by_runtime(struct check *c, const struct trace_event *e)
{
	if (e->kind != TRACE_FENCE || !(e->flags & TRACE_F_ATOMIC))
		return false;
	model_where w = model_where_of(c->model, e);
	if (!check_is_runtime(c, w))
		return false;
	uint32_t thread = model_thread_of(c->model, e);
	while (c->lock.n <= thread)
		VEC_PUSH(&c->lock, (struct runtime_lock){ 0 });
	c->lock.p[thread] = (struct runtime_lock){ e->num + 1, w };
	return true;
}

void check_feed(struct check *c, const struct trace_event *e)
{
	if (e->kind == TRACE_MODULE_UNLOAD)
		for (size_t i = 0; i < c->wanted.n; i++)
			check_place(c, c->wanted.p[i]);
	srcloc_trace_feed(c->srcloc, e);
	if (e->kind == TRACE_MODULE_LOAD) {
		const struct trace_module_def *m =
			trace_module(c->defs, e->process, (uint32_t)e->arg[3]);
		check_advice_module(c, m ? m->path : NULL);
	}
	c->last.num = e->num; /* not all of it: this is the hot path */
	c->last.kind = e->kind;
	c->last.process = e->process;
	c->last.thread = e->thread;
	c->last.site = e->site;
	c->last.ctx = e->ctx;
	c->last.ip = e->ip;
	c->any = true;
	if (e->kind == TRACE_STORE)
		check_targets_store(c, e);
	else if (e->kind == TRACE_MAP)
		check_targets_map(c, e);
	else if (e->kind == TRACE_CALL || e->kind == TRACE_RETURN)
		check_asked_call(c, e);
	if (!by_runtime(c, e))
		model_feed(c->model, e);
	check_plugins_event(c->plugins, e);
	if (c->files && (e->kind == TRACE_OUTPUT || trace_node_arg(e->kind)))
		check_disk_event(check_state_of(c, &check_oracle_files), c->files, e);
}

/* Tells helpers from the rest, by all that was seen so far. */
static void find_helpers(struct check *c)
{
	finding_helpers_free(c->helpers);
	c->helpers = finding_helpers_new();
	for (model_where w = 0; w < model_places(c->model); w++) {
		const struct model_place *p = model_place(c->model, w);
		enum finding_act act;
		if (!p->ip || !finding_act_of(p->class, p->stores, &act))
			continue;
		const struct finding_place *at = check_place(c, w);
		finding_helpers_see(c->helpers, (struct srcloc_where){ at->frame, at->n }, act);
	}
	finding_helpers_decide(c->helpers);
	for (size_t i = 0; i < c->place.n; i++)
		if (c->place.p[i])
			finding_helpers_mark(c->helpers, c->place.p[i]->frame, c->place.p[i]->n);
}

void check_report(struct check *c, struct finding_set *out)
{
	find_helpers(c);
	check_blame_libraries(c);
	check_statements(c);
	for (size_t i = 0; check_oracles[i]; i++)
		if (check_oracles[i]->report)
			check_oracles[i]->report(&c->state[i], out);
	check_plugins_report(c->plugins, out);
}

void check_end(struct check *c)
{
	if (c->any)
		model_end(c->model, &c->last);
	check_plugins_end(c->plugins);
}

char *check_loaded(const struct check *c)
{
	return check_plugins_text(c->plugins);
}

const char *check_stale(const struct check *c, size_t i)
{
	return srcloc_trace_stale(c->srcloc, i);
}

size_t check_lines(const struct check *c)
{
	return model_lines(c->model);
}

size_t check_memory(const struct check *c)
{
	return model_memory(c->model);
}
