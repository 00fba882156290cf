/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers over time, of a campaign or an exploration: kept with it, for pictures. */
#ifndef HOLDFAST_CAMPAIGN_CHART_H
#define HOLDFAST_CAMPAIGN_CHART_H

#include "campaign/db.h"

struct campaign_chart {
	VEC(char *) name; /* of the columns; the first is the seconds */
	VEC(double) v;    /* row by row */
	double every;     /* seconds between rows */
};
void campaign_chart_begin(struct campaign_chart *, const char *const *name, size_t columns);
/* Adds a row, if the last one is old enough; false: it is not. No number falls. */
bool campaign_chart_add(struct campaign_chart *, const double *row, bool always);
int campaign_chart_save(const struct campaign_chart *, struct campaign_db *, struct err *);
/* What is kept; false: nothing is. */
bool campaign_chart_load(struct campaign_chart *, struct campaign_db *);
void campaign_chart_free(struct campaign_chart *);

#endif
