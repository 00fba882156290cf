/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of holdfast dump share. */
#ifndef HOLDFAST_CLI_DUMP_H
#define HOLDFAST_CLI_DUMP_H

#include "infer/infer.h"

/* Prints the operations, and which way has found them. */
int dump_ops(struct trace_reader *, const struct infer_ops_opts *, bool json, struct err *);

#endif
