/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and sizes as people write them. */
#ifndef HOLDFAST_CLI_UNITS_H
#define HOLDFAST_CLI_UNITS_H

#include "base/base.h"

/* "90", "90s", "1.5m", "2h", "200ms": seconds; with no unit, seconds. False: not a time. */
bool units_time(const char *, double *seconds);
bool units_has_unit(const char *); /* it ends with a letter */
/* "4096", "64k", "1.5G": bytes. */
bool units_size(const char *, uint64_t *bytes);

#endif
