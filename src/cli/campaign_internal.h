/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of a campaign share. */
#ifndef HOLDFAST_CLI_CAMPAIGN_INTERNAL_H
#define HOLDFAST_CLI_CAMPAIGN_INTERNAL_H

#include "cli/campaign.h"

bool campaign_interrupted(void);

/* campaign_keep.c */
int campaign_save(struct campaign *, struct err *);   /* the settings of a new one */
int campaign_load(struct campaign *, struct err *);   /* settings and verdicts of an old one */
void campaign_hooks(struct campaign *);               /* for crash_run */
int campaign_finish(struct campaign *, struct err *); /* it is over: findings and counts */

/* campaign_say.c */
void campaign_progress(void *campaign, const struct crash_counts *);

#endif
