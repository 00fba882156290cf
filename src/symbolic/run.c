/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes in a run: its nodes go to the pool, its branches become the path, its PM events the
 * behaviour; nothing of it is in the tree before symbolic_run_end, so a run can be dropped.
 *
 * Beside each node its value for the run's input is kept. That costs one operation a node and shows
 * at once whether the tracer's expressions say what the machine did: a branch whose condition has
 * another value is counted as wrong and is no constraint.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

#define MAX_PATH (1u << 18)     /* decisions of one run; later ones are not looked at */
#define MAX_NODE_GAP (1u << 20) /* numbers come roughly in order */

/* ---- nodes ---- */

static struct value known_node(const struct symbolic_run *run, uint64_t id)
{
	return id < run->node.n ? run->node.p[id] : (struct value){ 0 };
}

static bool operand(struct symbolic_run *run, const struct trace_event *e, unsigned i,
		    struct value *out)
{
	uint32_t word = (uint32_t)e->arg[1];
	unsigned w = expr_operand_width(word, i);
	uint64_t arg = e->arg[2 + i];
	if (e->flags >> i & 1) {
		out->v = arg & expr_mask(w);
		out->e = solve_pool_const(run->s->pool, w, out->v);
		return true;
	}
	*out = known_node(run, arg);
	return out->e && EXPR_W(solve_pool_word(run->s->pool, out->e)) == w;
}

static struct value input_node(struct symbolic_run *run, uint64_t byte)
{
	struct symbolic *s = run->s;
	struct value r = { 0 };
	if (byte >= s->n)
		return r;
	r.v = byte < run->in.n ? run->in.byte[byte] : 0;
	if (s->fixed && s->fixed[byte])
		r.e = solve_pool_const(s->pool, 8, r.v);
	else
		r.e = solve_pool_input(s->pool, (uint32_t)byte);
	return r;
}

static struct value table_node(struct symbolic_run *run, const struct trace_event *e)
{
	unsigned w = EXPR_W((uint32_t)e->arg[1]), bytes = (w + 7) / 8;
	struct value index, r = { 0 };
	if (e->size < 256 * bytes || !operand(run, e, 0, &index))
		return r;
	r.e = solve_pool_table(run->s->pool, w, index.e, e->data);
	for (unsigned i = 0; i < bytes; i++)
		r.v |= (uint64_t)e->data[index.v * bytes + i] << 8 * i;
	r.v &= expr_mask(w);
	return r;
}

static struct value make_node(struct symbolic_run *run, const struct trace_event *e)
{
	uint32_t word = (uint32_t)e->arg[1];
	struct value r = { 0 }, o[3] = { { 0 } };
	if (!expr_word_ok(word))
		return r;
	if (EXPR_OP(word) == EXPR_INPUT)
		return input_node(run, e->arg[2]);
	if (EXPR_OP(word) == EXPR_TABLE)
		return table_node(run, e);
	for (unsigned i = 0; i < expr_operands(word); i++)
		if (!operand(run, e, i, &o[i]))
			return r;
	r.v = expr_apply(word, o[0].v, o[1].v, o[2].v);
	r.e = solve_pool_node(run->s->pool, word, o[0].e, o[1].e, o[2].e);
	return r;
}

static void on_node(struct symbolic_run *run, const struct trace_event *e)
{
	uint64_t id = e->arg[0];
	if (id >= run->node.n) {
		if (id - run->node.n > MAX_NODE_GAP) {
			symbolic_note_wrong(run->s, 0, e->ip, id, run->node.n);
			return;
		}
		VEC_RESERVE(&run->node, id + 1);
		memset(run->node.p + run->node.n, 0, (id + 1 - run->node.n) * sizeof(struct value));
		run->node.n = id + 1;
	}
	run->node.p[id] = make_node(run, e);
	if (!run->node.p[id].e)
		symbolic_note_wrong(run->s, 0, e->ip, e->arg[1], id);
}

static void on_verify(struct symbolic_run *run, const struct trace_event *e)
{
	struct value v = known_node(run, e->arg[0]);
	uint64_t mask;
	if (!v.e)
		return;
	mask = expr_mask(EXPR_W(solve_pool_word(run->s->pool, v.e)));
	v.v = solve_pool_eval(run->s->pool, v.e, run->in.byte, run->in.n);
	if (v.v != (e->arg[1] & mask))
		symbolic_note_wrong(run->s, v.e, e->ip, v.v, e->arg[1] & mask);
}

/* ---- branches ---- */

static expr condition(struct symbolic *s, unsigned kind, expr node, uint64_t value)
{
	unsigned w = EXPR_W(solve_pool_word(s->pool, node));
	if (kind == SYM_COND && w == 1)
		return value ? node : solve_pool_not(s->pool, node);
	return solve_pool_eq(s->pool, node, solve_pool_const(s->pool, w, value));
}

static void met_or_not(struct symbolic_run *run)
{
	if (run->in.depth && run->path.n == run->in.depth)
		run->met = run->hash == run->in.expects;
}

static void decide(struct symbolic_run *run, const struct decision *d)
{
	uint64_t before;
	if (solve_pool_is_const(run->s->pool, d->cond, &before) || run->path.n == MAX_PATH ||
	    hmap_get(&run->on_path, d->cond, NULL))
		return;
	hmap_put(&run->on_path, d->cond, 1);
	VEC_PUSH(&run->path, *d);
	run->hash = symbolic_tree_hash(run->hash, d->ip, d->kind, d->value);
	met_or_not(run);
}

static void on_branch(struct symbolic_run *run, const struct trace_event *e)
{
	struct value v = known_node(run, e->arg[0]);
	struct decision d = { .ip = e->ip,
			      .value = e->arg[1],
			      .yes = e->arg[2],
			      .no = e->arg[3],
			      .node = v.e,
			      .kind = e->flags,
			      .ctx = e->ctx,
			      .process = e->process,
			      .pm = run->pm };
	uint64_t went = d.value ? d.yes : d.no;
	unsigned w;
	run->used = true;
	run->s->stats.branches++;
	if (d.kind > SYM_PIN || !v.e)
		return;
	if (d.kind == SYM_COND && went)
		run->new_blocks += symbolic_cover_ran(run->s, went);
	if (d.kind == SYM_JUMP && binary_view_saw_jump(run->s->view, d.ip, d.value))
		run->s->learnt = true;
	w = EXPR_W(solve_pool_word(run->s->pool, v.e));
	d.value &= expr_mask(w);
	if (v.v != d.value) {
		symbolic_note_wrong(run->s, v.e, e->ip, v.v, d.value);
		return;
	}
	if (d.kind == SYM_PM_STORE || d.kind == SYM_FLUSH) {
		if (w != 64)
			return;
		*(d.kind == SYM_FLUSH ? &run->flush : &run->store) =
			(struct pending_address){ d.ip, d.value, v.e };
		symbolic_lines_access(run, &d);
		return;
	}
	d.cond = condition(run->s, d.kind, d.node, d.value);
	decide(run, &d);
}

/* ---- events ---- */

/* The symbolic address that was announced for this event, or 0. */
static expr announced(struct pending_address *a, const struct trace_event *e)
{
	expr node = a->node;
	if (!node || a->ip != e->ip || a->value / TRACE_LINE != e->arg[0] / TRACE_LINE)
		return 0;
	a->node = 0;
	return node;
}

static void on_pm_event(struct symbolic_run *run, const struct trace_event *e)
{
	enum model_effect effect = model_effect(run->s->opts.model, e, model_class(run->defs, e));
	uint32_t stack =
		symbolic_cover_stack(run->s, run->defs, e->process, e->ctx, &run->contexts);
	run->pm += e->kind == TRACE_STORE || e->kind == TRACE_FLUSH || e->kind == TRACE_FENCE;
	switch (e->kind) {
	case TRACE_STORE:
		symbolic_miss_store(run, e, effect, announced(&run->store, e));
		symbolic_cover_pm(run->s, e, stack);
		break;
	case TRACE_FLUSH:
		symbolic_miss_flush(run, e, effect, announced(&run->flush, e));
		symbolic_cover_pm(run->s, e, stack);
		break;
	case TRACE_FENCE: symbolic_cover_pm(run->s, e, stack); break;
	case TRACE_SYNC:
	case TRACE_FILE_SYNC: symbolic_miss_flush(run, e, effect, 0); break;
	case TRACE_MAP: symbolic_cover_map(run->s, e, stack); break;
	case TRACE_MODULE_LOAD: symbolic_cover_module(run->s, run->defs, e); break;
	case TRACE_EXIT: run->died = e->arg[1] != 0; break;
	default: break;
	}
	symbolic_behave_event(&run->behave, e, effect);
}

static void on_concrete(struct symbolic *s, const struct trace_event *e)
{
	struct note note = { .count = e->arg[0] };
	size_t i = 0;
	while (i < s->concrete.n && (strlen(s->concrete.p[i].name) != e->size ||
				     memcmp(s->concrete.p[i].name, e->data, e->size) != 0))
		i++;
	if (i == s->concrete.n) {
		note.name = xasprintf("%.*s", (int)e->size, (const char *)e->data);
		VEC_PUSH(&s->concrete, note);
	} else {
		s->concrete.p[i].count += e->arg[0];
	}
	for (; i && s->concrete.p[i].count > s->concrete.p[i - 1].count; i--) {
		note = s->concrete.p[i];
		s->concrete.p[i] = s->concrete.p[i - 1];
		s->concrete.p[i - 1] = note;
	}
}

static void on_read(struct symbolic_run *run, const struct trace_event *e)
{
	if (e->arg[2])
		run->used = true;
	if (!(e->flags & 1) || e->arg[0] >= run->s->opts.nsource)
		return;
	run->end[e->arg[0]].met = true;
	run->end[e->arg[0]].ip = e->ip;
	run->end[e->arg[0]].ctx = e->ctx;
	run->end[e->arg[0]].process = e->process;
}

void symbolic_run_record(struct symbolic_run *run, const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_SYM_NODE: on_node(run, e); break;
	case TRACE_SYM_BRANCH: on_branch(run, e); break;
	case TRACE_SYM_VERIFY: on_verify(run, e); break;
	case TRACE_SYM_READ: on_read(run, e); break;
	case TRACE_SYM_CONCRETE: on_concrete(run->s, e); break;
	default:
		if (e->kind < TRACE_KINDS)
			on_pm_event(run, e);
		break;
	}
}

/* ---- from begin to end ---- */

struct symbolic_run *symbolic_run_begin(struct symbolic *s, const struct symbolic_input *in,
					const struct trace_defs *defs)
{
	struct symbolic_run *run = xcalloc(1, sizeof *run);
	run->s = s;
	run->defs = defs;
	run->in = symbolic_input_copy(in);
	run->hash = s->tree.step.p[0].hash;
	run->sizes = (uint32_t)hash_bytes(in->now, s->opts.nsource * sizeof *in->now);
	if (in->why != SYMBOLIC_SEED && in->parent < s->kin.n)
		run->from = s->kin.p[in->parent];
	symbolic_behave_init(&run->behave, s->opts.model, &s->before);
	VEC_PUSH(&s->active, run);
	for (size_t i = 0; i < s->prefix.n; i++)
		symbolic_run_record(run, &s->prefix.p[i]);
	return run;
}

void symbolic_run_cover(struct symbolic_run *run, const uint64_t *block, const uint8_t *cover,
			size_t n)
{
	run->new_blocks += symbolic_cover_blocks(run->s, block, cover, n);
}

static void forget(struct symbolic *s, const struct symbolic_run *run)
{
	for (size_t i = 0; i < s->active.n; i++)
		if (s->active.p[i] == run)
			s->active.p[i] = s->active.p[--s->active.n];
}

void symbolic_run_drop(struct symbolic_run *run)
{
	forget(run->s, run);
	symbolic_input_free(&run->in);
	VEC_FREE(&run->node);
	VEC_FREE(&run->path);
	VEC_FREE(&run->accesses);
	hmap_free(&run->on_path);
	hmap_free(&run->contexts);
	symbolic_behave_free(&run->behave);
	symbolic_miss_free(&run->miss);
	free(run);
}

static bool first_time(struct hmap *m, uint64_t key)
{
	if (hmap_get(m, key, NULL))
		return false;
	hmap_put(m, key, 1);
	return true;
}

/* An access that kills the program says nothing: its branch is the one that was asked for. */
static void died_there(struct symbolic_run *run)
{
	if (!run->died || !run->in.depth || run->path.n + 1 != run->in.depth ||
	    run->hash != run->in.before)
		return;
	run->hash = run->in.expects;
	run->met = true;
}

/* A run that did nothing to PM since it left the path of its parent goes on with that one's. */
static struct kin kin_of(const struct symbolic_run *run, uint64_t behaviour, bool new)
{
	uint32_t depth = run->in.depth;
	uint64_t before = depth && depth <= run->path.n ? run->path.p[depth - 1].pm : 0;
	struct kin k = run->from;
	if (run->pm > before)
		k.line = behaviour;
	k.age = new ? 0 : k.age + (run->in.why != SYMBOLIC_LONGER);
	return k;
}

void symbolic_run_end(struct symbolic_run *run, struct symbolic_outcome *out)
{
	struct symbolic *s = run->s;
	uint64_t behaviour = symbolic_behave_hash(&run->behave);
	died_there(run);
	*out = (struct symbolic_outcome){ .number = s->stats.runs++,
					  .branches = run->path.n,
					  .new_blocks = run->new_blocks,
					  .used_input = run->used };
	out->new_path = first_time(&s->leaf, run->hash);
	out->new_behaviour = first_time(&s->behaviour, behaviour);
	out->diverged = run->in.depth && !run->met;
	VEC_PUSH(&s->kin, kin_of(run, behaviour, out->new_behaviour));
	s->stats.paths += out->new_path;
	s->stats.behaviours += out->new_behaviour;
	s->stats.predicted += run->in.depth != 0;
	s->stats.diverged += out->diverged;
	symbolic_candidates_of_run(run, out->number);
	symbolic_run_drop(run);
	symbolic_compact_if_needed(s);
}
