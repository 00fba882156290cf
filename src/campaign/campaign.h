/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaigns, and the database that keeps their results. */
#ifndef HOLDFAST_CAMPAIGN_CAMPAIGN_H
#define HOLDFAST_CAMPAIGN_CAMPAIGN_H

#include "campaign/db.h"

#endif
