/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash/strategy.h"

/* From nothing only the nearer half: the other half is nearer to all. */
bool crash_subset_first(struct crash_subset *s, unsigned distance)
{
	if (distance > s->digits || (s->side == CRASH_FROM_NOTHING && distance > s->digits / 2))
		return false;
	for (unsigned i = 0; i < distance; i++) {
		s->chosen[i] = i;
		s->value[i] = 1;
	}
	return true;
}

bool crash_subset_next(struct crash_subset *s, unsigned distance)
{
	for (unsigned i = distance; i-- > 0;) {
		if (++s->value[i] < s->digit[s->chosen[i]].n)
			return true;
		s->value[i] = 1;
	}
	for (unsigned i = distance; i-- > 0;) {
		if (s->chosen[i] + distance - i >= s->digits)
			continue;
		s->chosen[i]++;
		for (unsigned k = i + 1; k < distance; k++)
			s->chosen[k] = s->chosen[k - 1] + 1;
		return true;
	}
	return false;
}

uint32_t crash_subset_version(const struct crash_subset *s, unsigned digit, unsigned distance)
{
	const struct crash_digit *d = &s->digit[digit];
	unsigned value = 0;
	for (unsigned i = 0; i < distance; i++)
		if (s->chosen[i] == digit)
			value = s->value[i];
	return d->version[s->side == CRASH_FROM_ALL ? value : d->n - 1 - value];
}
