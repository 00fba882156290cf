/* SPDX-License-Identifier: BSD-3-Clause */
/* infer_types.c: prints the objects that a recording stores to. */
#ifndef HOLDFAST_CLI_TYPES_H
#define HOLDFAST_CLI_TYPES_H

#include "base/base.h"

/* At most `top` types, 0: all. */
int types_show(const char *dir, const char *model, bool json, uint64_t top, struct err *);

#endif
