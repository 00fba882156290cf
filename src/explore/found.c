/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings, each with the smallest input that shows it, and what check finds in a run.
 *
 * Every run whose effect on PM no other run had, the addresses included, is checked from the
 * program's start on.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/found.h"

struct explore_hit *explore_hit(struct explore_found *found, const struct finding *f)
{
	for (size_t i = 0; i < found->hit.n; i++)
		if (found->hit.p[i].f == f)
			return &found->hit.p[i];
	return NULL;
}

void explore_hit_replace(struct explore_hit *hit, const struct explore_plan *p,
			 const struct symbolic_input *in, const struct explore_slot *s)
{
	symbolic_input_free(&hit->input);
	hit->input = symbolic_input_copy(in);
	hit->rank = explore_input_rank(p, in);
	hit->f->input->rank = hit->rank;
	hit->phase = p->phase;
	hit->nsources = p->source.n;
	hit->branches = s ? s->branches : 0;
	hit->trail = s ? s->trail : 0;
	hit->kept = false;
}

void explore_hit_free(struct explore_hit *hit)
{
	symbolic_input_free(&hit->input);
	free(hit->campaign);
}

struct finding *explore_found_add(struct explore_found *found, struct finding *f,
				  const struct explore_plan *p, const struct symbolic_input *in,
				  const struct explore_slot *s, uint64_t path)
{
	struct finding_input *w = finding_input(f);
	struct explore_hit *hit;
	w->rank = explore_input_rank(p, in);
	w->path = path;
	w->paths = f->count = 1;
	uint64_t rank = w->rank;
	f = finding_add(&found->set, f);
	if (!(hit = explore_hit(found, f))) {
		struct explore_hit new = { .f = f };
		VEC_PUSH(&found->hit, new);
		hit = &found->hit.p[found->hit.n - 1];
		found->news = true;
	} else if (hit->rank <= rank) {
		return f;
	}
	explore_hit_replace(hit, p, in, s);
	return f;
}

int explore_found_check(struct explore_found *found, struct explore_slot *s,
			const struct explore_plan *p, const struct check_opts *how, uint64_t path,
			struct err *err)
{
	struct finding_set set = { 0 };
	uint64_t known;
	double start = now_seconds();
	if (hmap_get(&found->checked, s->effect, &known))
		return 0;
	hmap_put(&found->checked, s->effect, path);
	int bad = explore_slot_check(s, how, &set, err);
	for (size_t i = 0; i < set.v.n; i++)
		explore_found_add(found, set.v.p[i], p, &s->input, s, path);
	set.v.n = 0;
	finding_set_free(&set);
	found->checking += now_seconds() - start;
	return bad;
}

bool explore_shows(const struct explore_hit *hit, struct explore_slot *s,
		   const struct check_opts *how, const struct launch_explorer_run *run)
{
	struct finding_set set = { 0 };
	struct err ignored;
	bool shows = false;
	if (hit->death || explore_died(run))
		return explore_died(run) && explore_death_key(s, run) == hit->death;
	if (!explore_slot_check(s, how, &set, &ignored))
		for (size_t i = 0; i < set.v.n && !shows; i++)
			shows = finding_same(set.v.p[i], hit->f);
	finding_set_free(&set);
	return shows;
}

void explore_found_merge(struct explore_found *found)
{
	struct finding_set *set = &found->set;
	bool *drop = xcalloc(set->v.n + 1, sizeof *drop);
	size_t n = 0;
	for (size_t i = 0; i < set->v.n; i++)
		drop[i] = !set->v.p[i]->crash && campaign_shown_by_crash(set, set->v.p[i]);
	for (size_t i = 0; i < set->v.n; i++)
		if (drop[i])
			finding_free(set->v.p[i]);
		else
			set->v.p[n++] = set->v.p[i];
	set->v.n = n;
	free(drop);
}

void explore_found_free(struct explore_found *found)
{
	for (size_t i = 0; i < found->hit.n; i++)
		explore_hit_free(&found->hit.p[i]);
	VEC_FREE(&found->hit);
	hmap_free(&found->checked);
	finding_set_free(&found->set);
}
