/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/launch/ share. */
#ifndef HOLDFAST_LAUNCH_INTERNAL_H
#define HOLDFAST_LAUNCH_INTERNAL_H

#include "launch/launch.h"

#define LAUNCH_TOOL "holdfast-amd64-linux"

/* tool.c: xmalloc'ed paths, or NULL and err. */
char *launch_find_libexec(struct err *err);
char *launch_find_valgrind(struct err *err); /* its version is the tracer's */

#endif
