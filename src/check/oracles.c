/* SPDX-License-Identifier: BSD-3-Clause */
/* The universal oracles: one file and one line each. They report in this order; `fence` looks
 * at what the others have said. */
#include "check/internal.h"

extern const struct check_oracle oracle_unpersisted, oracle_late, oracle_overwrite, oracle_flush,
	oracle_fence, oracle_many;

const struct check_oracle *const check_oracles[] = {
	&oracle_unpersisted, &oracle_late, &oracle_overwrite, &oracle_flush, &oracle_fence,
	&oracle_many,        NULL,
};
