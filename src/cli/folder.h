/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that a recording goes to. */
#ifndef HOLDFAST_CLI_FOLDER_H
#define HOLDFAST_CLI_FOLDER_H

#include "base/base.h"

bool folder_is(const char *path); /* a folder, there already */
/* PROGRAM-N.hft with the first N that is free; xmalloc'ed. */
char *folder_default(const char *program);
/* Makes way for a new trace. With `force` one that is there is removed, but nothing else. */
int folder_clear(const char *dir, bool force, bool *existed, struct err *err);
/* Removes the trace in a folder, and the folder `itself`; 0, or -1 and errno. */
int folder_remove(const char *dir, bool itself);

#endif
