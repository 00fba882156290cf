/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules, one row each: what is seen of two words of PM, and what follows for the stores to them. */
#include "infer/infer.h"

static const struct infer_rule_info rules[] = {
	[INFER_RO1] = { "RO1", "what is stored to Y, or where, is computed from X",
			"X is persistent before Y is stored", "Y is there and X is not" },
	[INFER_RO2] = { "RO2", "Y is stored under a condition on X",
			"X is persistent before Y is stored", "Y is there and X is not" },
	[INFER_RO3] = { "RO3", "Y is read under a condition on X, which guards it",
			"Y is persistent before X is stored", "X is there and Y is not",
			.swapped = true },
	[INFER_RA1] = { "RA1", "both X and Y guard something", "X and Y become persistent at once",
			"one is there without the other", .atomic = true },
};

const struct infer_rule_info *infer_rule(enum infer_rule rule)
{
	return rule < INFER_RULES ? &rules[rule] : NULL;
}
