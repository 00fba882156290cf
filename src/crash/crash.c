/* SPDX-License-Identifier: BSD-3-Clause */
/* A crash test from its beginning to its end; engine.c is what lies between. */
#include "crash/crash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/leader.h"
#include "crash/span.h"

/* How many states there are at all points, as a power of ten. */
static double count_possible(const struct crash *c)
{
	double sum = 0, most = 0; /* sum * 10^most so far */
	struct crash_cursor at;
	crash_cursor_init(&at, c->h);
	for (size_t i = 0; i < c->points.v.n; i++) {
		double states = 0;
		crash_cursor_move(&at, c->points.v.p[i].event);
		for (size_t k = 0; k < at.open.n; k++) {
			uint32_t line = at.open.p[k];
			states += log10(at.hi[line] - at.lo[line] + 1.0);
		}
		if (states > most) {
			sum *= pow(10, most - states);
			most = states;
		}
		sum += pow(10, states - most);
	}
	crash_cursor_free(&at);
	return sum > 0 ? most + log10(sum) : 0;
}

static bool writes_pm(const struct crash_history *h)
{
	for (size_t i = 0; i < h->line.n; i++)
		if (crash_line_counts(h, (uint32_t)i))
			return true;
	return false;
}

bool crash_strategy_needs_deps(const char *strategy)
{
	const struct crash_strategy *s = crash_strategy_find("invariants");
	size_t n = strlen(s->name);
	for (const char *at = strategy; at && (at = strstr(at, s->name)); at += n)
		if ((at == strategy || at[-1] == '+') && (!at[n] || at[n] == '+'))
			return true;
	return false;
}

/* What the program relies on is asked for, or can be used. */
static bool wants_breaches(const struct crash *c)
{
	const char *strategy = c->opts.strategy;
	bool automatic = crash_strategy_find(strategy) == crash_strategy_find(NULL);
	return crash_strategy_needs_deps(strategy) || (automatic && c->h->dependences);
}

static int find_breaches(struct crash *c, const struct infer_ops *ops, struct err *err)
{
	bool all = c->opts.endless || !c->opts.max_per_path;
	struct infer_beliefs *b = infer_beliefs_read(c->h->reader, ops, c->opts.model, c->src, err);
	if (b)
		crash_breaches_plan(&c->breaches, c->h, ops, b, all ? 0 : CRASH_ALIKE);
	infer_beliefs_free(b);
	return b ? 0 : -1;
}

/* The operations, which are looked for once: for the judge, and for what the program relies on. */
static int find_operations(struct crash *c, struct err *err)
{
	const struct crash_opts *o = &c->opts;
	bool judged = o->listen || o->ops_file, relied = wants_breaches(c);
	struct infer_ops *ops = NULL;
	if (!judged && !relied)
		return 0;
	ops = infer_ops_read(c->h->reader,
			     &(struct infer_ops_opts){ .way = o->ops_way, .calls = o->ops_calls },
			     err);
	int bad = !ops || (judged && crash_ops_take(c->h, ops, err)) ||
		  (relied && find_breaches(c, ops, err));
	if (!bad && o->listen && !o->ops_file)
		crash_ops_narrow(c->h);
	if (!bad && o->listen)
		crash_ops_settle(c->h);
	char *found = bad ? NULL : infer_ops_sentence(ops);
	if (found)
		c->h->ops_found = xasprintf("%s: %s", judged ? "judged" : "orders of", found);
	free(found);
	infer_ops_free(ops);
	return bad ? -1 : 0;
}

struct crash *crash_new(struct trace_reader *r, const struct crash_opts *o, struct err *err)
{
	struct crash *c = xcalloc(1, sizeof *c);
	double start = now_seconds();
	c->opts = *o;
	if (!crash_strategy_find(o->strategy)) {
		err_set(err, EXIT_USAGE, "unknown strategy '%s'", o->strategy);
		return crash_free(c), NULL;
	}
	c->src = srcloc_trace_new(trace_defs(r));
	c->h = crash_history_new(r, o->model, c->src, err);
	if (!c->h)
		return crash_free(c), NULL;
	if (!writes_pm(c->h)) {
		err_set(err, EXIT_PROGRAM, "the program never wrote %s: there is nothing to crash",
			o->model->files ? "a file that is recorded" : "persistent memory");
		return crash_free(c), NULL;
	}
	if (find_operations(c, err))
		return crash_free(c), NULL;
	if (o->ops_file && !(c->suffix = crash_suffix_new(o, c->h->op.n, err)))
		return crash_free(c), NULL;
	if (crash_points_find(c->h, o, c->src, &c->points, err))
		return crash_free(c), NULL;
	crash_cursor_init(&c->building, c->h);
	crash_cursor_init(&c->searching, c->h);
	crash_cursor_init(&c->reporting, c->h);
	crash_cursor_init(&c->judging, c->h);
	c->counts.points = c->points.v.n;
	c->counts.paths = c->points.paths;
	c->counts.points_found = c->points.found;
	c->counts.possible = count_possible(c);
	c->counts.read = now_seconds() - start;
	return c;
}

void crash_free(struct crash *c)
{
	if (!c)
		return;
	crash_cells_free(c);
	for (size_t i = 0; i < c->cause.n; i++)
		crash_cause_free(&c->cause.p[i]);
	VEC_FREE(&c->cause);
	VEC_FREE(&c->told);
	crash_scenes_free(c);
	crash_suffix_free(c->suffix);
	crash_said_free(c->texts);
	hmap_free(&c->calm);
	hmap_free(&c->dropped);
	crash_leaders_free(c->leaders);
	hmap_free(&c->shuffled);
	free(c->chatter);
	crash_suspects_free(&c->suspects);
	VEC_FREE(&c->breaches.v);
	for (size_t i = 0; i < c->also.n; i++)
		free(c->also.p[i]);
	VEC_FREE(&c->also);
	VEC_FREE(&c->job);
	VEC_FREE(&c->file);
	VEC_FREE(&c->statement);
	crash_points_free(&c->points);
	hmap_free(&c->verdict);
	hmap_free(&c->said);
	hmap_free(&c->made);
	hmap_free(&c->window);
	hmap_free(&c->asked);
	hmap_free(&c->group);
	crash_view_free(&c->view);
	crash_cursor_free(&c->building);
	crash_cursor_free(&c->searching);
	crash_cursor_free(&c->reporting);
	crash_cursor_free(&c->judging);
	crash_paths_free(c);
	crash_history_free(c->h);
	srcloc_trace_free(c->src);
	free(c);
}

const struct runner_file *crash_files(struct crash *c, bool same_address, size_t *n)
{
	c->file.n = 0;
	for (size_t i = 0; i < c->h->file.n; i++) {
		const struct crash_file *f = &c->h->file.p[i];
		VEC_PUSH(&c->file,
			 ((struct runner_file){ f->path, same_address || f->fixed ? f->addr : 0,
						i >= c->h->npm }));
	}
	*n = c->file.n;
	return c->file.p;
}

const struct crash_counts *crash_counts(const struct crash *c)
{
	return &c->counts;
}

const char *crash_messages(const struct crash *c)
{
	return c->chatter;
}

const char *crash_damage(const struct crash *c)
{
	return c->h->damage;
}

char *crash_unknown(const struct crash *c)
{
	const struct crash_history *h = c->h;
	const char *one = NULL;
	size_t n = 0;
	for (uint32_t i = 0; i < trace_tree_things(h->tree); i++) {
		const struct trace_thing *g = trace_tree_thing(h->tree, i);
		bool file = g->node != TRACE_NO_NODE && g->kind == TRACE_IS_FILE &&
			    g->file == TRACE_NO_FILE;
		uint32_t f = file ? h->of_node[g->node] : CRASH_NO_FILE;
		if (!file || (f != CRASH_NO_FILE && !h->file.p[f].lost) || crash_is_scratch(h, i))
			continue;
		one = one ? one : trace_node(trace_defs(h->reader), g->node)->path;
		n++;
	}
	if (!n)
		return NULL;
	return xasprintf("%s%s: recovery sees it as it is now, not as it was at the crash; the "
			 "program writes more files, or more to them, than are kept",
			 one, n > 1 ? " and others" : "");
}

const char *crash_stale(const struct crash *c, size_t i)
{
	return srcloc_trace_stale(c->src, i);
}

size_t crash_memory(const struct crash *c)
{
	return crash_history_memory(c->h);
}

struct crash_behaviours *crash_behaviours(struct crash *c)
{
	return crash_behaviours_new(c->h, c->src, NULL);
}

/* ---- is recovery a judge at all? ---- */

static const char *last_line(const char *output, char *buf, size_t size)
{
	size_t end = output ? strlen(output) : 0, from;
	while (end && output[end - 1] == '\n')
		end--;
	for (from = end; from && output[from - 1] != '\n'; from--)
		;
	snprintf(buf, size, "%.*s", (int)(end - from), output ? output + from : "");
	return buf;
}

static void describe(struct crash_verdict v, const char *output, char *buf, size_t size)
{
	char line[256];
	switch (v.verdict) {
	case RUNNER_CRASHED:
		snprintf(buf, size, "is ended by signal %d (%s)", v.status, strsignal(v.status));
		break;
	case RUNNER_HUNG: snprintf(buf, size, "does not end in time"); break;
	case RUNNER_FLOODED: snprintf(buf, size, "writes without end"); break;
	default: snprintf(buf, size, "ends with status %d", v.status);
	}
	if (*last_line(output, line, sizeof line))
		snprintf(buf + strlen(buf), size - strlen(buf), ": %s", line);
}

/* Who it is that judges, as far as is known here. */
static const char *judging(const struct crash *c)
{
	return c->opts.listen ? "what judges (--probe, --continue, or --recover before them)"
			      : "the recovery command";
}

/* The image with everything persistent before an event, with all operations that follow; `where` is its name. */
static int check_at(struct crash *c, uint64_t event, const char *where, struct err *err)
{
	struct crash_state s = { .event = event };
	struct crash_verdict first, again;
	char *output = NULL, *other = NULL, what[512];
	size_t ended = crash_ops_begun(c->h, event);
	if (crash_run_state(c, &s, ended, true, &first, &output, err) ||
	    first.verdict == RUNNER_BROKEN)
		return free(output), -1;
	describe(first, output, what, sizeof what);
	int bad = crash_run_state(c, &s, ended, true, &again, &other, err);
	if (!bad && first.said != again.said)
		bad = crash_said_unsteady(where, output, other, err);
	free(output);
	free(other);
	if (bad)
		return -1;
	if (first.verdict != again.verdict || first.status != again.status)
		return err_set(err, EXIT_PROGRAM,
			       "%s is not reliable: on the image of %s it gave "
			       "different verdicts (%s, then %s); a crash test would mean nothing",
			       judging(c), where, runner_verdict_name(first.verdict),
			       runner_verdict_name(again.verdict));
	if (first.verdict == RUNNER_OK ||
	    c->h->fault.n) /* the disk has failed: that is a finding */
		return 0;
	return err_set(err, EXIT_PROGRAM,
		       "%s %s on the image of %s, without any crash; "
		       "a crash test would mean nothing%s",
		       judging(c), what, where,
		       first.verdict == RUNNER_CRASHED
			       ? " (does the program keep addresses in the pool? --same-address)"
			       : "");
}

/* At the normal end, and where it has most operations still to do. */
static int check_uncrashed(struct crash *c, struct err *err)
{
	if (check_at(c, c->h->events, "the normal end", err))
		return -1;
	return c->suffix && c->h->op.n
		       ? check_at(c, c->h->op.p[0].begin, "the begin of the first operation", err)
		       : 0;
}

/* Recovery accepts what is guaranteed at a point. */
static int accepts(struct crash *c, size_t point, bool *ok, struct err *err)
{
	struct crash_cursor *at = &c->searching;
	struct crash_state s = { .event = c->points.v.p[point].event };
	struct crash_verdict v;
	int bad;
	crash_cursor_move(at, s.event);
	for (size_t i = 0; i < at->open.n; i++) {
		uint32_t line = at->open.p[i];
		crash_state_set(&s, at, line, at->lo[line]);
	}
	bad = crash_try(c, &s, false, &v, NULL, err);
	crash_state_free(&s);
	*ok = v.verdict == RUNNER_OK;
	return bad;
}

/* The first point at which the pool is surely complete; the last one if there is none. */
static int find_created(struct crash *c, struct err *err)
{
	size_t bad = 0, good = c->points.v.n - 1;
	bool ok;
	for (size_t step = 1; step < c->points.v.n; step *= 2) {
		if (accepts(c, step - 1, &ok, err))
			return -1;
		if (ok) {
			good = step - 1;
			break;
		}
		bad = step - 1;
	}
	while (good - bad > 1) {
		size_t mid = bad + (good - bad) / 2;
		if (accepts(c, mid, &ok, err))
			return -1;
		if (ok)
			good = mid;
		else
			bad = mid;
	}
	c->created = c->points.v.p[good].event;
	return 0;
}

void crash_slowest(struct crash *c, double seconds)
{
	c->slowest = seconds;
}

void crash_use(struct crash *c, struct runner *r)
{
	c->runner = r;
	if (!c->cell)
		c->cell = xcalloc(runner_cells(r), sizeof *c->cell);
}

int crash_sanity(struct crash *c, struct runner *r, const struct crash_hooks *hooks,
		 struct err *err)
{
	struct crash_state start = { .event = c->h->start };
	char *output = NULL, what[512];
	crash_use(c, r);
	c->hooks = hooks;
	if (check_uncrashed(c, err) || crash_try(c, &start, false, &c->empty, &output, err))
		return free(output), -1;
	describe(c->empty, output, what, sizeof what);
	free(output);
	if (c->empty.verdict == RUNNER_OK)
		return 0;
	if (c->empty.verdict != RUNNER_FAILED)
		return err_set(err, EXIT_PROGRAM,
			       "the recovery command %s on the initial image, before the program "
			       "did anything; a crash test would mean nothing",
			       what);
	msg_info("the recovery command %s on the initial image: where it does the same before the "
		 "pool is complete, that is not held against the program",
		 what);
	return find_created(c, err);
}
