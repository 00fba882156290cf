/* SPDX-License-Identifier: BSD-3-Clause */
/* What holdfast fix works on: findings, and what was run to get them. */
#ifndef HOLDFAST_CLI_FIX_H
#define HOLDFAST_CLI_FIX_H

#include "cli/cli.h"
#include "fix/fix.h"

struct fix_input {
	struct finding_set findings;
	char *dir;    /* of the recording; NULL: there is none */
	char *folder; /* where the program ran */
	char *model;
	bool crashed;                    /* the findings come from a campaign */
	struct cli_list command, object; /* the words are kept in `own` */
	struct cli_list crash;           /* options of the campaign */
	VEC(char *) own;
};
/* A folder, a JSON report or pmemcheck's log. */
int fix_input_load(struct fix_input *, const char *path, const char *model, struct err *);
void fix_input_free(struct fix_input *);
void fix_input_word(struct fix_input *, struct cli_list *, char *text); /* takes it */

#endif
