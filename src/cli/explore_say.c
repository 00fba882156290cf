/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said about an exploration, while it runs and at its end. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"
#include "cli/session.h"

#define SAY_EVERY 0.2
#define ROW_EVERY 0.5
#define NOTES 16
#define STATS 32
#define NAMED 5 /* operations that were not followed */

static const char *const columns[EXPLORE_COLUMNS] = { "seconds",  "paths",      "blocks",
						      "pm sites", "behaviours", "findings" };

/* ---- while it runs ---- */

void explore_row(struct explore *x)
{
	struct symbolic_stats s = explore_stats(x);
	const double row[EXPLORE_COLUMNS] = { now_seconds() - x->begun, (double)s.paths,
					      (double)s.blocks,         (double)s.pm,
					      (double)s.behaviours,     (double)x->set.v.n };
	for (size_t i = 0; i < EXPLORE_COLUMNS; i++)
		VEC_PUSH(&x->chart, row[i]);
	x->charted = now_seconds();
	x->charted_findings = x->set.v.n;
}

void explore_say(struct explore *x)
{
	double now = now_seconds(), spent = now - x->begun;
	if (now - x->charted > ROW_EVERY || x->set.v.n != x->charted_findings)
		explore_row(x);
	if (now - x->said < SAY_EVERY)
		return;
	x->said = now;
	struct symbolic_stats s = explore_stats(x);
	progress("explore: %" PRIu64 " paths (%.0f/s), %" PRIu64 " queries, %zu of %zu blocks, "
		 "%zu PM sites, %" PRIu64 " to do, %zu finding%s, %.0f s",
		 s.paths, spent > 0 ? (double)s.runs / spent : 0, s.solve.queries, s.blocks,
		 s.blocks_all, s.pm, s.candidates, x->set.v.n, x->set.v.n == 1 ? "" : "s", spent);
}

int explore_csv(const struct explore *x, const char *path, struct err *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot write %s", path);
	for (size_t i = 0; i < EXPLORE_COLUMNS; i++)
		fprintf(f, "%s%s", i ? "," : "", columns[i]);
	for (size_t i = 0; i < x->chart.n; i++)
		fprintf(f, i % EXPLORE_COLUMNS ? ",%.0f" : "\n%.3f", x->chart.p[i]);
	fputc('\n', f);
	bool bad = ferror(f);
	if (f != stdout ? fclose(f) : fflush(f))
		bad = true;
	return bad ? err_errno(err, EXIT_INTERNAL, "cannot write %s", path) : 0;
}

/* ---- priorities ---- */

struct listing {
	FILE *out;
	struct srcloc_trace *places;
	const char *function, *file; /* of the row that is being put together */
	uint32_t line, priority;
	uint64_t from;
	bool pm, any;
};

static void put_row(struct listing *l)
{
	/* Of stubs and start-up code nobody wants to know. */
	if (!l->any || (!l->priority && !l->line)) {
		l->any = false;
		return;
	}
	const char *text = l->file && l->line ? finding_source_line(l->file, l->line) : NULL;
	const char *base = l->file ? strrchr(l->file, '/') : NULL;
	fprintf(l->out, "%8u %c 0x%-8" PRIx64 " %-20s ", l->priority, l->pm ? '*' : ' ', l->from,
		l->function ? l->function : "?");
	if (l->file && l->line)
		fprintf(l->out, "%s:%-5u %s", base ? base + 1 : l->file, l->line,
			text ? text + strspn(text, " \t") : "");
	fputc('\n', l->out);
	l->any = false;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Instructions of one source line, one behind the other, are one row with the highest priority. */
static void put_instruction(void *arg, uint64_t ip, uint32_t priority, bool pm)
{
	struct listing *l = arg;
	struct srcloc_where w = srcloc_trace_at(l->places, 0, ip);
	const struct srcloc_frame *f = &w.frame[w.n - 1];
	if (l->any && (!same_text(f->function, l->function) || !same_text(f->file, l->file) ||
		       f->line != l->line || (!f->line && priority != l->priority)))
		put_row(l);
	if (!l->any) {
		l->function = f->function;
		l->file = f->file;
		l->line = f->line;
		l->from = ip;
		l->priority = 0;
		l->pm = false;
		l->any = true;
	}
	l->priority = priority > l->priority ? priority : l->priority;
	l->pm = l->pm || pm;
}

static void feed_places(void *places, const struct trace_event *e)
{
	if (e->kind < TRACE_KINDS)
		srcloc_trace_feed(places, e);
}

void explore_priorities(struct explore *x, FILE *out)
{
	struct binary_view *view = symbolic_view(x->sym);
	struct listing l = { .out = out };
	const struct explore_slot *s = &x->slot[0];
	const struct trace_defs *defs = launch_explorer_defs(s->launch);
	l.places = srcloc_trace_new(defs);
	explore_log_each(s->prefix.n ? &s->prefix : &s->log, defs, feed_places, l.places);
	binary_view_update(view);
	fprintf(out, "priority   address    function             place\n");
	binary_view_each(view, put_instruction, &l);
	put_row(&l);
	fflush(out);
	srcloc_trace_free(l.places);
}

/* ---- the report ---- */

void explore_keep_concrete(struct explore *x)
{
	uint64_t n;
	const char *name;
	for (size_t i = 0; x->sym && (name = symbolic_concrete(x->sym, i, &n)); i++) {
		size_t k = 0;
		while (k < x->concrete.n && strcmp(x->concrete.p[k].name, name) != 0)
			k++;
		if (k == x->concrete.n) {
			struct explore_concrete c = { xstrdup(name), 0 };
			VEC_PUSH(&x->concrete, c);
		}
		x->concrete.p[k].n += n;
	}
	const char *example = NULL;
	/* Bytes that the engine did not know of yet are no mistake. */
	uint64_t wrong = x->sym && !x->memory.n ? symbolic_wrong(x->sym, &example) : 0;
	if (wrong)
		msg_warn("%" PRIu64
			 " expressions had another value than the machine; the first: %s",
			 wrong, example ? example : "?");
}

static size_t fill_stats(struct explore *x, struct report_stat stat[STATS])
{
	struct symbolic_stats s = explore_stats(x);
	const struct report_stat all[] = {
		{ "runs", (double)s.runs },
		{ "paths", (double)s.paths },
		{ "seconds", x->seconds },
		{ "cores", (double)x->nslots },
		{ "queries", (double)s.solve.queries },
		{ "sat", (double)s.solve.sat },
		{ "unsat", (double)s.solve.unsat },
		{ "z3_queries", (double)s.solve.z3 },
		{ "cache_hits", (double)s.solve.cache_hits },
		{ "solver_seconds", s.solve.seconds },
		{ "check_seconds", x->checking },
		{ "diverged", (double)s.diverged },
		{ "predicted", (double)s.predicted },
		{ "timeouts", (double)s.solve.timeouts },
		{ "infeasible", (double)s.infeasible },
		{ "candidates", (double)s.candidates },
		{ "dropped", (double)s.dropped },
		{ "branches", (double)s.branches },
		{ "nodes", (double)s.nodes },
		{ "memory", (double)s.memory },
		{ "blocks", (double)s.blocks },
		{ "blocks_known", (double)s.blocks_all },
		{ "pm_sites", (double)s.pm },
		{ "pm_sites_known", (double)s.pm_all },
		{ "behaviours", (double)s.behaviours },
		{ "crashed", (double)x->crashed },
		{ "hung", (double)x->hung },
		{ "campaigns", (double)x->campaigns },
	};
	memcpy(stat, all, sizeof all);
	return sizeof all / sizeof *all;
}

static char *concrete_note(const struct explore *x)
{
	struct buf b = { 0 };
	buf_puts(&b, "not followed, their values taken as they were:");
	for (size_t i = 0; i < x->concrete.n && i < NAMED; i++)
		buf_printf(&b, "%s %s (%" PRIu64 ")", i ? "," : "", x->concrete.p[i].name,
			   x->concrete.p[i].n);
	if (x->concrete.n > NAMED)
		buf_printf(&b, " and %zu more", x->concrete.n - NAMED);
	buf_add(&b, "", 1);
	return b.p;
}

static double percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

static size_t odd_notes(const struct explore *x, const struct symbolic_stats *s, char **notes)
{
	size_t k = 0;
	if (x->concrete.n)
		notes[k++] = concrete_note(x);
	if (s->diverged)
		notes[k++] =
			xasprintf("%" PRIu64 " of %" PRIu64 " runs did not take the branch that "
				  "they were made for (%.1f%%)%s",
				  s->diverged, s->predicted,
				  percent((double)s->diverged, (double)s->predicted),
				  x->o->pin ? ""
					    : "; does the program read the time or random "
					      "numbers? --pin fixes them");
	if (s->solve.timeouts)
		notes[k++] = xasprintf("%" PRIu64 " questions were too hard for the solver in the "
				       "time that it has (--solver-timeout)",
				       s->solve.timeouts);
	if (s->dropped)
		notes[k++] = xasprintf("%" PRIu64 " branches were given up for lack of memory "
				       "(--max-memory)",
				       s->dropped);
	if (x->tracer_only)
		notes[k++] = xasprintf("%" PRIu64 " runs crashed or hung under the tracer, but not "
				       "without it: not reported",
				       x->tracer_only);
	if (x->dirtied)
		notes[k++] =
			xasprintf("%" PRIu64 " runs changed what the next one would have seen: "
				  "the program was started again",
				  x->dirtied);
	if (x->alone)
		notes[k++] = xasprintf("each run was a new process: %s", x->alone);
	if (x->unwell)
		notes[k++] = xasprintf("%" PRIu64 " paths could not be crashed: %s", x->unwell,
				       x->why_unwell);
	return k;
}

static size_t fill_notes(struct explore *x, char *notes[NOTES])
{
	struct symbolic_stats s = explore_stats(x);
	double spent = x->seconds > 0 ? x->seconds : 1e-9;
	uint64_t easy = s.solve.trivial + s.solve.cache_hits + s.solve.enumerated;
	size_t k = 0;
	notes[k++] =
		xasprintf("%" PRIu64 " paths in %" PRIu64 " runs, %.1f s: %.1f runs a second "
			  "and core; %" PRIu64 " branch%s left to try",
			  s.paths, s.runs, x->seconds, (double)s.runs / spent / (double)x->nslots,
			  s.candidates, s.candidates == 1 ? "" : "es");
	notes[k++] = xasprintf("%zu of %zu basic blocks of the program, %zu of %zu known PM "
			       "instructions, %" PRIu64 " different sequences of them",
			       s.blocks, s.blocks_all, s.pm, s.pm_all, s.behaviours);
	notes[k++] = xasprintf("solver: %" PRIu64 " questions, %.0f%% of the time; %.0f%% answered "
			       "without Z3, %.0f%% from the cache; %" PRIu64 " impossible",
			       s.solve.queries, percent(s.solve.seconds, spent),
			       percent((double)easy, (double)s.solve.queries),
			       percent((double)s.solve.cache_hits, (double)s.solve.queries),
			       s.solve.unsat);
	if (x->campaigns)
		notes[k++] =
			xasprintf("%" PRIu64 " paths were crashed: those that do to PM what no "
				  "path before did",
				  x->campaigns);
	return k + odd_notes(x, &s, notes + k);
}

static char *incomplete(const struct explore *x)
{
	if (explore_interrupted())
		return xasprintf("interrupted; holdfast explore --resume %s goes on", x->shown);
	if (!x->used)
		return xstrdup(
			"the program never used the symbolic input: there was only one path");
	if (!x->kind[TRACE_STORE])
		return xstrdup("the program never wrote persistent memory: there was nothing to "
			       "check");
	if (x->cut)
		return xasprintf("%s; holdfast explore --resume %s goes on", x->cut, x->shown);
	return NULL;
}

/* A store that a crash shows to be lost needs not be reported by check, too. */
static void drop_doubles(struct finding_set *set)
{
	bool *drop = xcalloc(set->v.n + 1, sizeof *drop);
	size_t n = 0;
	for (size_t i = 0; i < set->v.n; i++)
		drop[i] = !set->v.p[i]->crash && campaign_shown_by_crash(set, set->v.p[i]);
	for (size_t i = 0; i < set->v.n; i++)
		if (drop[i])
			finding_free(set->v.p[i]);
		else
			set->v.p[n++] = set->v.p[i];
	set->v.n = n;
	free(drop);
}

int explore_report(struct explore *x, struct err *err)
{
	struct report_stat stats[STATS];
	char *notes[NOTES], *why = incomplete(x);
	struct report_chart chart = { columns, EXPLORE_COLUMNS, x->chart.p,
				      x->chart.n / EXPLORE_COLUMNS };
	(void)err;
	if (!x->used)
		msg_warn("the program never used the symbolic input%s%s", x->unused ? ": " : "",
			 x->unused ? x->unused : "");
	if (!x->kind[TRACE_STORE] && !msg_quiet)
		run_say_no_pm(&x->o->run, x->kind);
	drop_doubles(&x->set);
	output_filter(&x->out, &x->set);
	struct report r = {
		.verb = "explore",
		.model = model_find(x->o->crash.model)->name,
		.command = (const char *const *)x->argv,
		.ncommand = x->argc,
		.incomplete = why,
		.findings = &x->set,
		.stats = stats,
		.nstats = fill_stats(x, stats),
		.notes = (const char *const *)notes,
		.nnotes = fill_notes(x, notes),
		.chart = &chart,
	};
	int status = output_write(&x->out, &r, stderr);
	output_say_stale(&x->out);
	for (size_t i = 0; i < r.nnotes; i++)
		free(notes[i]);
	free(why);
	return status;
}
