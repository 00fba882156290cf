/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that count: each value that they store is the one before it and one or two more, or less. Many programs
 * keep counts of free slots, users or hits beside what they persist, and count anew after a restart; nothing else
 * in a run tells these from a count that is needed. What goes from 0 to 1 or back is a flag as likely, and no step;
 * of code that persists nothing it says nothing.
 *
 * The value before it is known by its hash only (model/values.c), so a few of very many stores are taken for a step.
 */
#include "check/internal.h"

#define ENOUGH 1000 /* stores of a place tell what it does */
#define FEW 3
#define RARE 8 /* one in so many may be something else: it begins anew, say */

uint16_t check_number_hash(const struct model_step *s, uint64_t value)
{
	uint8_t bytes[sizeof value];
	memcpy(bytes, &value, sizeof bytes);
	return model_value_hash(s->mask, bytes, (unsigned)__builtin_ctzll(s->mask) / 8);
}

static bool is_step(const struct model_step *s, unsigned w, uint64_t value)
{
	for (int by = -2; by <= 2; by++)
		if (by && check_number_hash(s, value + (uint64_t)by) == s->line->newest[w])
			return true;
	return false;
}

/* From 0 to 1, or back. */
static bool is_switch(const struct model_step *s, unsigned w, uint64_t value)
{
	return value <= 1 && check_number_hash(s, !value) == s->line->newest[w];
}

void check_note_count(struct oracle_state *u, const struct model_step *s)
{
	unsigned w = (unsigned)__builtin_ctzll(s->mask) / 8;
	uint64_t value = 0;
	if (!s->ev->data || s->ev->size > 8 || s->mask >> (w * 8) >> 8 || !s->line->newest[w] ||
	    s->ev->size != (uint32_t)__builtin_popcountll(s->mask))
		return;
	while (u->counts.n <= s->where)
		VEC_PUSH(&u->counts, (struct check_count){ 0 });
	struct check_count *c = &u->counts.p[s->where];
	memcpy(&value, s->ev->data, s->ev->size);
	if (c->stores >= ENOUGH)
		return;
	c->stores++;
	if (is_switch(s, w, value))
		c->switches++;
	else
		c->steps += is_step(s, w, value);
}

bool check_counts(const struct oracle_state *u, uint32_t statement, uint64_t persisted, bool idle)
{
	const uint32_t *of = u->check->statement.p;
	uint64_t stores = 0, steps = 0;
	for (model_where w = 0; w < u->counts.n; w++) {
		if (of[w] != statement)
			continue;
		stores += u->counts.p[w].stores - (idle ? u->counts.p[w].switches : 0);
		steps += u->counts.p[w].steps;
	}
	return steps >= FEW && (stores - steps) * RARE <= stores && persisted * 2 < stores;
}
