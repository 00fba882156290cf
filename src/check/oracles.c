/* SPDX-License-Identifier: BSD-3-Clause */
/* The universal oracles: one file and one line each. They report in this order; `fence` looks
 * at what the others have said. */
#include "check/internal.h"

extern const struct check_oracle check_oracle_unpersisted, check_oracle_late,
	check_oracle_overwrite, check_oracle_flush, check_oracle_fence, check_oracle_many;

const struct check_oracle *const check_oracles[] = {
	&check_oracle_unpersisted,
	&check_oracle_late,
	&check_oracle_overwrite,
	&check_oracle_flush,
	&check_oracle_fence,
	&check_oracle_many,
	NULL,
};
