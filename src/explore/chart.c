/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers over time, and sums of the engines' own. */
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

const char *const explore_columns[EXPLORE_COLUMNS] = { "seconds",  "paths",      "blocks",
						       "pm sites", "behaviours", "findings" };

void explore_chart_add(struct explore_chart *c, double seconds, const struct symbolic_stats *s,
		       size_t findings)
{
	const double row[EXPLORE_COLUMNS] = {
		seconds,       (double)s->paths,      (double)s->blocks,
		(double)s->pm, (double)s->behaviours, (double)findings
	};
	for (size_t i = 0; i < EXPLORE_COLUMNS; i++)
		VEC_PUSH(&c->v, row[i]);
	c->last = now_seconds();
	c->findings = findings;
}

void explore_chart_print(const struct explore_chart *c, FILE *f)
{
	for (size_t i = 0; i < EXPLORE_COLUMNS; i++)
		fprintf(f, "%s%s", i ? "," : "", explore_columns[i]);
	for (size_t i = 0; i < c->v.n; i++)
		fprintf(f, i % EXPLORE_COLUMNS ? ",%.0f" : "\n%.3f", c->v.p[i]);
	fputc('\n', f);
}

int explore_chart_write(const struct explore_chart *c, const char *path, struct err *err)
{
	FILE *f = fopen(path, "w");
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot write %s", path);
	explore_chart_print(c, f);
	bool bad = ferror(f);
	if (fclose(f))
		bad = true;
	return bad ? err_errno(err, EXIT_INTERNAL, "cannot write %s", path) : 0;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

void explore_stats_add(struct symbolic_stats *all, const struct symbolic_stats *s)
{
	all->runs += s->runs;
	all->paths += s->paths;
	all->diverged += s->diverged;
	all->predicted += s->predicted;
	all->dropped += s->dropped;
	all->infeasible += s->infeasible;
	all->undecided += s->undecided;
	all->branches += s->branches;
	all->behaviours += s->behaviours;
	all->candidates = s->candidates;
	all->nodes = most(s->nodes, all->nodes);
	all->memory = most(s->memory, all->memory);
	all->blocks = most(s->blocks, all->blocks);
	all->pm = most(s->pm, all->pm);
	all->blocks_all = most(s->blocks_all, all->blocks_all);
	all->pm_all = most(s->pm_all, all->pm_all);
	solve_stats_add(&all->solve, &s->solve);
}
