/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of universal oracles. A row NAME is the struct check_oracle_NAME of one file here. They report in
 * this order; `fence` looks at what the others have said. */
#include "check/internal.h"

#define ORACLES(X)                                                                                 \
	X(unpersisted)                                                                             \
	X(late)                                                                                    \
	X(overwrite)                                                                               \
	X(flush)                                                                                   \
	X(fence)                                                                                   \
	X(many)                                                                                    \
	X(files)

#define X(name) extern const struct check_oracle check_oracle_##name;
ORACLES(X)
#undef X

const struct check_oracle *const check_oracles[] = {
#define X(name) &check_oracle_##name,
	ORACLES(X)
#undef X
		NULL,
};

struct oracle_state *check_state_of(const struct check *c, const struct check_oracle *oracle)
{
	size_t i = 0;
	while (check_oracles[i] != oracle)
		i++;
	return &c->state[i];
}

struct oracle_state *check_unpersisted(const struct check *c)
{
	return check_state_of(c, &check_oracle_unpersisted);
}
