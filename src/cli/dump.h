/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of holdfast dump share. */
#ifndef HOLDFAST_CLI_DUMP_H
#define HOLDFAST_CLI_DUMP_H

#include "infer/infer.h"

/* Writes all files, folders and links that the recording knows, as before event `at`, to a folder. */
int dump_image(struct trace_reader *, const char *dir, uint64_t at, struct err *);
/* Prints the operations, and which way has found them. */
int dump_ops(struct trace_reader *, const struct infer_ops_opts *, bool json, struct err *);

#endif
