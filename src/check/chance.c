/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that became persistent only together with something else in their line. */
#include "check/internal.h"

const struct srcloc_frame *check_by_chance(struct oracle_state *u, const struct srcloc_frame *at)
{
	for (model_where w = 0; w < model_places(u->check->model); w++) {
		const uint32_t *t = oracle_tally(u, w);
		if (t[PERSISTED] || !t[BY_CHANCE])
			continue;
		const struct srcloc_frame *store = finding_main_frame(check_place(u->check, w));
		if (store && check_same_function(at, store))
			return store;
	}
	return NULL;
}
