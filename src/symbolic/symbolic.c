/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine: seeds first, then what the searcher picks and the solver finds an input for. */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

#define MAX_TARGETS 16u
#define SOLVER_MS 2000u
#define PATIENCE 0.05 /* seconds without an input, while runs are under way */

void symbolic_input_free(struct symbolic_input *in)
{
	free(in->byte);
	in->byte = NULL;
	in->n = 0;
}

struct symbolic_input symbolic_input_copy(const struct symbolic_input *in)
{
	struct symbolic_input copy = *in;
	copy.byte = xmalloc(in->n + 1);
	if (in->n)
		memcpy(copy.byte, in->byte, in->n);
	return copy;
}

uint64_t symbolic_random(struct symbolic *s)
{
	return splitmix64(&s->rng);
}

/* ---- begin and end ---- */

static uint32_t view_priority(struct symbolic *s, uint64_t ip, uint32_t stack)
{
	const struct stack *st = &s->cover.stacks.stack.p[stack];
	return binary_view_priority_in(s->view, ip, s->cover.stacks.ip.p + st->at, st->n);
}

void symbolic_update(struct symbolic *s)
{
	if (!s->learnt)
		return;
	s->learnt = false;
	binary_view_update(s->view);
	s->priority_version++;
}

static uint8_t *copy_bytes(const uint8_t *from, size_t n)
{
	uint8_t *copy = from ? xmalloc(n + 1) : NULL;
	if (copy)
		memcpy(copy, from, n);
	return copy;
}

struct solver *symbolic_solver(struct symbolic *s)
{
	struct solve_opts opts = { .timeout_ms = s->opts.solver_ms,
				   .validate = s->opts.validate,
				   .lo = s->lo,
				   .hi = s->hi,
				   .nrange = s->lo && s->hi ? s->n : 0 };
	return solve_solver_new(s->pool, &opts);
}

static void copy_options(struct symbolic *s, const struct symbolic_opts *opts)
{
	s->opts = *opts;
	s->opts.model = opts->model ? opts->model : model_find(NULL);
	s->opts.max_targets = opts->max_targets ? opts->max_targets : MAX_TARGETS;
	s->opts.solver_ms = opts->solver_ms ? opts->solver_ms : SOLVER_MS;
	s->source = xcalloc(opts->nsource + 1, sizeof *s->source);
	for (size_t i = 0; i < opts->nsource; i++) {
		const struct sym_source *src = &opts->source[i];
		s->source[i] = *src;
		if ((size_t)src->first + src->len > s->n)
			s->n = (size_t)src->first + src->len;
	}
	s->lo = copy_bytes(opts->lo, s->n);
	s->hi = copy_bytes(opts->hi, s->n);
	s->fixed = copy_bytes(opts->fixed, s->n);
	s->rng = opts->random;
}

struct symbolic *symbolic_new(const struct symbolic_opts *opts, struct err *err)
{
	struct stack empty = { 0 };
	struct symbolic *s;
	if (opts->nsource > SYM_MAX_SOURCES) {
		err_set(err, EXIT_USAGE, "%zu symbolic sources, %u is the limit", opts->nsource,
			SYM_MAX_SOURCES);
		return NULL;
	}
	s = xcalloc(1, sizeof *s);
	copy_options(s, opts);
	symbolic_behave_init(&s->before, s->opts.model, NULL);
	s->pool = solve_pool_new();
	s->solver = symbolic_solver(s);
	s->view = binary_view_new(opts->cache);
	s->priority = view_priority;
	s->priority_version = 1;
	VEC_PUSH(&s->cover.stacks.stack, empty);
	symbolic_tree_init(&s->tree);
	s->search = symbolic_search_new(s, opts->strategy);
	if (s->search)
		return s;
	err_set(err, EXIT_USAGE, "unknown search strategy '%s'", opts->strategy);
	symbolic_free(s);
	return NULL;
}

static void free_lists(struct symbolic *s)
{
	for (size_t i = 0; i < s->seed.n; i++)
		symbolic_input_free(&s->seed.p[i]);
	for (size_t i = 0; i < s->prefix.n; i++)
		free((void *)s->prefix.p[i].data);
	for (size_t i = 0; i < s->concrete.n; i++)
		free(s->concrete.p[i].name);
	VEC_FREE(&s->seed);
	VEC_FREE(&s->prefix);
	VEC_FREE(&s->concrete);
	VEC_FREE(&s->active);
	VEC_FREE(&s->kin);
	hmap_free(&s->made);
	hmap_free(&s->leaf);
	hmap_free(&s->contexts);
	hmap_free(&s->behaviour);
}

void symbolic_free(struct symbolic *s)
{
	if (!s)
		return;
	while (s->active.n)
		symbolic_run_drop(s->active.p[0]);
	symbolic_search_free(s->search);
	symbolic_candidates_free(&s->candidates);
	symbolic_tree_free(&s->tree);
	symbolic_cover_free(&s->cover);
	symbolic_behave_free(&s->before);
	solve_solver_free(s->solver);
	solve_pool_free(s->pool);
	binary_view_free(s->view);
	free_lists(s);
	free(s->source);
	free(s->lo);
	free(s->hi);
	free(s->fixed);
	free(s->wrong_example);
	free(s);
}

/* ---- inputs ---- */

/* As many bytes as the sources have, whatever the seed has. */
void symbolic_seed(struct symbolic *s, const struct symbolic_input *in)
{
	struct symbolic_input seed = *in;
	seed.byte = xcalloc(1, s->n + 1);
	if (in->n)
		memcpy(seed.byte, in->byte, in->n < s->n ? in->n : s->n);
	seed.n = s->n;
	seed.why = SYMBOLIC_SEED;
	seed.depth = 0;
	seed.expects = 0;
	VEC_PUSH(&s->seed, seed);
	s->seeded = true;
}

static void default_seed(struct symbolic *s)
{
	struct symbolic_input in = { .byte = xcalloc(1, s->n + 1), .n = s->n };
	for (size_t i = 0; i < s->n && s->lo; i++)
		in.byte[i] = s->lo[i];
	for (size_t i = 0; i < s->opts.nsource; i++)
		in.now[i] = s->source[i].now;
	symbolic_seed(s, &in);
	symbolic_input_free(&in);
}

/* The answer to a MISS question may be an input that was run before. */
static bool is_new(struct symbolic *s, const struct symbolic_input *in)
{
	uint64_t now = hash_bytes(in->now, s->opts.nsource * sizeof *in->now);
	uint64_t key = hash_mix(hash_bytes(in->byte, in->n), now);
	bool known = hmap_get(&s->made, key, NULL);
	hmap_put(&s->made, key, 1);
	return !known;
}

static bool stopped(const struct symbolic *s)
{
	return s->opts.stop && *s->opts.stop;
}

int symbolic_next(struct symbolic *s, struct symbolic_input *out)
{
	double begin = now_seconds();
	struct candidate c;
	if (!s->seeded)
		default_seed(s);
	if (s->seed_at < s->seed.n) {
		*out = s->seed.p[s->seed_at];
		s->seed.p[s->seed_at++].byte = NULL;
		is_new(s, out);
		return 1;
	}
	while (!stopped(s) && symbolic_candidate_take(s, &c)) {
		bool found = symbolic_ask(s, &c, out);
		symbolic_base_release(s, c.base);
		if (found && (is_new(s, out) || c.why != SYMBOLIC_MISS))
			return 1;
		if (found)
			symbolic_input_free(out);
		if (s->active.n && now_seconds() - begin > PATIENCE)
			return 0;
	}
	return 0;
}

/* ---- what is common to all runs ---- */

void symbolic_prefix(struct symbolic *s, const struct trace_defs *defs, const struct trace_event *e)
{
	struct trace_event copy = *e;
	if (e->kind >= TRACE_SYM_FIRST) {
		copy.data = copy_bytes(e->data, e->size);
		VEC_PUSH(&s->prefix, copy);
		return;
	}
	if (e->kind == TRACE_MODULE_LOAD)
		symbolic_cover_module(s, defs, e);
	if (e->kind == TRACE_STORE || e->kind == TRACE_FLUSH || e->kind == TRACE_FENCE)
		symbolic_cover_pm(s, e,
				  symbolic_cover_stack(s, defs, e->process, e->ctx, &s->contexts));
	if (e->kind == TRACE_MAP)
		symbolic_cover_map(s, e,
				   symbolic_cover_stack(s, defs, e->process, e->ctx, &s->contexts));
	symbolic_behave_event(&s->before, e, model_effect(s->opts.model, e, model_class(defs, e)));
	s->before.seq.n = 0;
}

void symbolic_prefix_cover(struct symbolic *s, const uint64_t *block, const uint8_t *cover,
			   size_t n)
{
	symbolic_cover_blocks(s, block, cover, n);
}

/* ---- figures ---- */

void symbolic_retire_solver(struct symbolic *s)
{
	solve_stats_add(&s->solved, solve_solver_stats(s->solver));
	solve_solver_free(s->solver);
	s->solver = NULL;
}

const struct symbolic_stats *symbolic_stats(struct symbolic *s)
{
	s->stats.candidates = s->candidates.n;
	s->stats.blocks = s->cover.own_blocks;
	s->stats.blocks_all = binary_view_blocks(s->view);
	s->stats.pm = s->cover.own_pm;
	s->stats.pm_all = binary_view_pm(s->view);
	s->stats.nodes = solve_pool_count(s->pool);
	s->stats.memory = symbolic_memory(s);
	s->stats.solve = s->solved;
	solve_stats_add(&s->stats.solve, solve_solver_stats(s->solver));
	return &s->stats;
}

struct binary_view *symbolic_view(struct symbolic *s)
{
	symbolic_update(s);
	return s->view;
}

const char *symbolic_concrete(const struct symbolic *s, size_t i, uint64_t *count)
{
	if (i >= s->concrete.n)
		return NULL;
	*count = s->concrete.p[i].count;
	return s->concrete.p[i].name;
}

void symbolic_note_wrong(struct symbolic *s, expr e, uint64_t ip, uint64_t is, uint64_t should)
{
	struct buf buf = { 0 };
	if (s->wrong++)
		return;
	if (e) {
		buf_printf(&buf, "at %#llx: expected %#llx, has %#llx: ", (unsigned long long)ip,
			   (unsigned long long)should, (unsigned long long)is);
		solve_pool_print(s->pool, e, &buf);
	} else {
		buf_printf(&buf, "at %#llx: a node that makes no sense (%#llx, %#llx)",
			   (unsigned long long)ip, (unsigned long long)is,
			   (unsigned long long)should);
	}
	s->wrong_example = xasprintf("%.*s", (int)buf.n, buf.p);
	buf_free(&buf);
}

uint64_t symbolic_wrong(const struct symbolic *s, const char **example)
{
	if (example)
		*example = s->wrong_example;
	return s->wrong;
}
