/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input that the program handed on to where it is not followed: how and where, each place once. What
 * depends on it there or comes back from there is not explored, whatever number of branches is left.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

static const char *const words[SYM_LEFT_COUNT] = {
#define X(NAME, text) [SYM_LEFT_##NAME] = text,
	SYM_LEFTS(X)
#undef X
};

/* xmalloc'ed; "" if nothing is known about the place. */
static char *place_text(const struct explore_slot *s, const struct explore_gone *g)
{
	struct finding_place place = { 0 };
	const struct srcloc_frame *f;
	char text[256] = "";
	explore_place_at(s, g->ip, g->ctx, &place);
	if ((f = finding_main_frame(&place)))
		srcloc_text(f, text, sizeof text);
	free(place.frame);
	return xstrdup(text);
}

static void add(struct explore_lefts *all, enum sym_left how, char *at)
{
	for (size_t i = 0; i < all->v.n; i++)
		if (!strcmp(all->v.p[i].how, words[how]) && !strcmp(all->v.p[i].at, at)) {
			free(at);
			return;
		}
	VEC_PUSH(&all->v, ((struct explore_left){ words[how], at }));
}

void explore_lefts_look(struct explore_lefts *all, const struct explore_slot *s)
{
	for (size_t i = 0; i < s->gone.n; i++) {
		const struct explore_gone *g = &s->gone.p[i];
		uint64_t key = hash_mix(hash_mix(g->ip, g->how), g->ctx);
		if (hmap_get(&all->known, key, NULL))
			continue;
		hmap_put(&all->known, key, 1);
		add(all, g->how, place_text(s, g));
	}
}

void explore_lefts_free(struct explore_lefts *all)
{
	for (size_t i = 0; i < all->v.n; i++)
		free(all->v.p[i].at);
	VEC_FREE(&all->v);
	hmap_free(&all->known);
}
