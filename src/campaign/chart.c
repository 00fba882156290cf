/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers over time, as they are kept: a line of names, and a line of numbers for each moment, the
 * seconds first. However long it takes, there are no more than CHART_ROWS of them: a full chart drops
 * every other one, and takes half as many from then on.
 */
#include <stdlib.h>
#include <string.h>

#include "campaign/chart.h"

#define CHART_KEY "chart"
#define CHART_ROWS 256u
#define CHART_EVERY 0.5 /* seconds between rows, at first */

void campaign_chart_begin(struct campaign_chart *c, const char *const *name, size_t columns)
{
	campaign_chart_free(c);
	for (size_t i = 0; i < columns; i++)
		VEC_PUSH(&c->name, xstrdup(name[i]));
}

void campaign_chart_free(struct campaign_chart *c)
{
	for (size_t i = 0; i < c->name.n; i++)
		free(c->name.p[i]);
	VEC_FREE(&c->name);
	VEC_FREE(&c->v);
	c->every = CHART_EVERY;
}

static const double *last_row(const struct campaign_chart *c)
{
	return c->v.n ? c->v.p + c->v.n - c->name.n : NULL;
}

static void thin(struct campaign_chart *c)
{
	size_t columns = c->name.n, rows = c->v.n / columns, kept = 0;
	for (size_t i = 0; i < rows; i += 2, kept++)
		memmove(c->v.p + kept * columns, c->v.p + i * columns, columns * sizeof *c->v.p);
	c->v.n = kept * columns;
	c->every *= 2;
}

bool campaign_chart_add(struct campaign_chart *c, const double *row, bool always)
{
	const double *last = last_row(c);
	size_t columns = c->name.n;
	if (!always && last && row[0] - last[0] < c->every)
		return false;
	if (last && row[0] <= last[0])
		c->v.n -= columns; /* it is the same moment */
	else if (c->v.n / columns >= CHART_ROWS)
		thin(c);
	last = last_row(c);
	for (size_t i = 0; i < columns; i++) {
		/* What an earlier run had counted was so, though this one begins to count anew. */
		double value = last && row[i] < c->v.p[c->v.n - columns] ? c->v.p[c->v.n - columns]
									 : row[i];
		VEC_PUSH(&c->v, value);
	}
	return true;
}

int campaign_chart_save(const struct campaign_chart *c, struct campaign_db *db, struct err *err)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < c->name.n; i++)
		buf_printf(&b, "%s%s", i ? "," : "", c->name.p[i]);
	for (size_t i = 0; i < c->v.n; i++)
		buf_printf(&b, i % c->name.n ? ",%.10g" : "\n%.3f", c->v.p[i]);
	buf_add(&b, "", 1);
	int bad = campaign_db_set(db, CHART_KEY, b.p, err);
	buf_free(&b);
	return bad;
}

/* A line of so many numbers; false: it is none. */
static bool parse_row(struct campaign_chart *c, const char **at)
{
	size_t before = c->v.n;
	for (size_t i = 0; i < c->name.n; i++) {
		char *end;
		double value = strtod(*at, &end);
		if (end == *at || (*end && *end != ',' && *end != '\n') || !(value >= 0) ||
		    value > 1e18) {
			c->v.n = before;
			return false;
		}
		VEC_PUSH(&c->v, value);
		*at = *end == ',' ? end + 1 : end;
	}
	return true;
}

bool campaign_chart_load(struct campaign_chart *c, struct campaign_db *db)
{
	const char *text = campaign_db_get(db, CHART_KEY), *at = text;
	campaign_chart_free(c);
	while (at && *at && *at != '\n') {
		size_t n = strcspn(at, ",\n");
		VEC_PUSH(&c->name, xasprintf("%.*s", (int)n, at));
		at += n + (at[n] == ',');
	}
	while (at && *at == '\n' && at[1]) {
		at++;
		if (!parse_row(c, &at))
			break;
	}
	size_t rows = c->name.n ? c->v.n / c->name.n : 0;
	while (c->every * CHART_ROWS < (rows ? last_row(c)[0] : 0))
		c->every *= 2;
	return rows != 0;
}
