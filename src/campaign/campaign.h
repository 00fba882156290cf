/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Campaigns: what is asked for, what is kept of it, and what it finds.
 */
#ifndef HOLDFAST_CAMPAIGN_CAMPAIGN_H
#define HOLDFAST_CAMPAIGN_CAMPAIGN_H

#include "campaign/db.h"
#include "finding/finding.h"

/*
 * Settings: what was asked for, by name, as text. They are kept with the results, so that a
 * campaign can be resumed and a finding replayed.
 */
struct campaign_setting {
	char *name, *text;
};
struct campaign_settings {
	struct campaign_setting *p;
	size_t n, cap;
};
/* Copies; one of that name is replaced. */
void campaign_settings_put(struct campaign_settings *, const char *name, const char *text);
const char *campaign_settings_get(const struct campaign_settings *, const char *name); /* or NULL */
void campaign_settings_copy(struct campaign_settings *to, const struct campaign_settings *from);
void campaign_settings_free(struct campaign_settings *);
int campaign_settings_save(struct campaign_db *, const struct campaign_settings *, struct err *);
/* Adds the one of that name that is kept. One that was given must be what it was; `what` is the
 * word for all of it in the message: "campaign". */
int campaign_settings_resume(struct campaign_db *, const char *name, const char *what,
			     struct campaign_settings *, struct err *);

/* The set has a crash that shows what comes of this misuse. */
bool campaign_shown_by_crash(const struct finding_set *, const struct finding *);
/* Adds what check found, but for what a crash shows; `checked` is empty afterwards. */
void campaign_merge(struct finding_set *, struct finding_set *checked);

#endif
