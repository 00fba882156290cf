/* SPDX-License-Identifier: BSD-3-Clause */
/* Explored programs under test: what explorer.c and explorer_more.c share. */
#ifndef EXPLORER_RIG_H
#define EXPLORER_RIG_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launch/launch.h"

/* What was told of the latest run, or of what came before the first. */
struct heard {
	unsigned events, stores, reads, branches, ends, ready;
	uint64_t first, last; /* numbers of events */
	bool end_met;
	uint64_t taken; /* bytes, as SYM_READ says */
};

struct test {
	struct launch_explorer_opts o;
	struct sym_source source[4];
	const char *argv[6];
	uint8_t input[64];
	struct heard h;
	struct launch_explorer *e;
	struct launch_explorer_run run;
};

extern char program[PATH_MAX]; /* explored */

int rig_setup(void **state); /* an empty folder to be in */
int rig_teardown(void **state);
void put(const char *path, const char *text);
void expect_text(const char *path, const char *text);

void add(struct test *, enum sym_kind, uint32_t len, const char *path);
bool begin(struct test *, const char *purpose, const char *arg); /* up to the first use */
bool begin_as(struct test *, const char *const *argv);
int run_with(struct test *, const char *input); /* its exit status */
void end(struct test *);

#endif
