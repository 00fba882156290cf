/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What check found, proved or refuted by crashes.
 *
 * A finding about stores is a suspicion: the campaign begins with states that lose these stores and as
 * little else as possible (src/crash/suspect.c). A crash that recovery does not survive for that very
 * reason is the finding's witness, and no finding of its own. Recovery that handles all of the
 * states refutes nothing for good, so the finding stays, one level down. Everything else is open.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/internal.h"

struct trace_use *campaign_uses(struct campaign *c, size_t *n)
{
	struct trace_use *use = crash_uses(c->crash, c->runner, n);
	c->uses_known = use != NULL;
	c->uses_nothing = c->uses_known;
	for (size_t i = 0; i < *n; i++)
		c->uses_nothing &= !use[i].read;
	return use;
}

uint64_t campaign_proofs(const struct campaign *c, enum finding_proof proof)
{
	return c->proofs[proof];
}

bool campaign_proves_only(const struct campaign_settings *s)
{
	const char *strategy = campaign_settings_get(s, "strategy");
	return strategy && !strcmp(strategy, "proof");
}

bool campaign_was_checked(const struct campaign *c)
{
	const char *verb = campaign_db_get(c->db, "verb");
	return verb && !strcmp(verb, "test");
}

void campaign_checked(struct campaign *c, struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++) {
		struct finding *f = set->v.p[i];
		struct campaign_check k = {
			.f = f, .level = f->level, .related = f->related.n, .replay = f->replay
		};
		f->replay = f->replay ? xstrdup(f->replay) : NULL;
		if (f->stores.n) {
			k.suspect = ++c->suspects;
			crash_suspect(c->crash, f->stores.p, f->stores.n, f->event);
		}
		VEC_PUSH(&c->check, k);
	}
	set->v.n = 0;
	c->checked = true;
}

void campaign_check_free(struct campaign *c)
{
	for (size_t i = 0; i < c->check.n; i++) {
		finding_free(c->check.p[i].f);
		free(c->check.p[i].replay);
	}
	for (size_t i = 0; i < c->merged.n; i++)
		finding_free(c->merged.p[i]);
	VEC_FREE(&c->check);
	VEC_FREE(&c->merged);
}

/* ---- a verdict ---- */

static char *text_copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_crash(struct finding *to, const struct finding_crash *from)
{
	struct finding_crash *crash = finding_crash(to);
	*crash = *from;
	crash->verdict = text_copy(from->verdict);
	crash->output = text_copy(from->output);
	crash->backtrace = text_copy(from->backtrace);
	crash->state = text_copy(from->state);
	crash->op.input = text_copy(from->op.input);
	crash->op.name = text_copy(from->op.name);
	crash->scene = finding_scene_share(from->scene);
}

/* The finding as check made it. */
static void reset(struct campaign_check *k)
{
	struct finding *f = k->f;
	for (size_t i = k->related; i < f->related.n; i++) {
		free(f->related.p[i].message);
		free(f->related.p[i].place.frame);
	}
	f->related.n = k->related;
	f->level = k->level;
	finding_uncrash(f);
	free(f->replay);
	f->replay = text_copy(k->replay);
}

/* The crash shows what comes of it: its state, and its stores, are the finding's now. */
static void take_witness(struct campaign *c, struct finding *f, const struct finding *crash)
{
	copy_crash(f, crash->crash);
	for (size_t i = 0; i < crash->related.n; i++) {
		struct finding_related r = crash->related.p[i];
		r.message = text_copy(r.message);
		r.place = finding_place_clone(&r.place);
		VEC_PUSH(&f->related, r);
	}
	f->level = FINDING_ERROR;
	free(f->replay);
	f->replay = xasprintf("holdfast replay %s %s", f->id, c->dir);
}

static char *stores_text(const struct crash_proof *p)
{
	if (p->stores == 1)
		return xstrdup("lose it");
	if (p->lost >= p->stores)
		return xasprintf("lose its %" PRIu64 " stores, together and one at a time",
				 p->stores);
	return xasprintf("lose its stores, all at once and %" PRIu64 " of %" PRIu64
			 " one at a time",
			 p->lost, p->stores);
}

static char *harmless_text(const struct crash_proof *p)
{
	char *what = stores_text(p);
	char *text = p->accepted == 1
			     ? xasprintf("it handles the one crash state tried, which %s",
					 p->stores == 1 ? "loses it" : "loses its stores")
			     : xasprintf("it handles the %" PRIu64 " crash states tried, which %s",
					 p->accepted, what);
	free(what);
	return text;
}

/* Why there is no verdict; NULL: there is one, it is harmless. */
static char *open_text(const struct campaign *c, const struct crash_proof *p)
{
	if (!p->stores)
		return xstrdup(
			"no crash loses just these stores: something guarantees them in time");
	if (!p->planned)
		return xstrdup("losing these stores changes nothing in the files");
	if (p->failed)
		return xasprintf("%" PRIu64 " of %" PRIu64
				 " crash states that lose it fail, but for "
				 "another reason%s%s",
				 p->failed, p->tested, p->other ? ": " : "",
				 p->other ? p->other->message : "");
	if (p->part)
		return xasprintf("another finding is about it: %s", p->part->message);
	if (p->tested < p->planned)
		return xasprintf("%" PRIu64 " of %" PRIu64
				 " crash states that lose it were tried so far",
				 p->tested, p->planned);
	if (!p->accepted)
		return xstrdup("when it can be lost, the pool is not complete yet");
	if (c->blind)
		return xasprintf(
			"recovery accepts %" PRIu64 " crash state%s that lose%s it, but it reads "
			"nothing of the files",
			p->accepted, p->accepted == 1 ? "" : "s", p->accepted == 1 ? "s" : "");
	return NULL;
}

static void judge_one(struct campaign *c, struct campaign_check *k,
		      const struct finding_set *crashes)
{
	struct crash_proof p;
	struct finding_verdict v = { 0 };
	struct finding *shown = campaign_shown_by_crash(crashes, k->f);
	const struct finding *witness;
	crash_proof(c->crash, k->suspect - 1, &p);
	v = (struct finding_verdict){ .states = p.tested, .stores = p.stores, .lost = p.lost };
	if (!p.finding.n && !p.own && shown)
		VEC_PUSH(&p.finding, shown);
	witness = p.finding.n ? p.finding.p[0] : p.own;
	if (witness) {
		v.proof = FINDING_PROVED;
		v.text = text_copy(witness->message);
		take_witness(c, k->f, witness);
	} else {
		v.text = open_text(c, &p);
		v.proof = v.text ? FINDING_OPEN : FINDING_HARMLESS;
	}
	if (v.proof == FINDING_HARMLESS) {
		v.text = harmless_text(&p);
		k->f->level = finding_level_down(k->level);
	}
	finding_judge(k->f, &v);
	c->proofs[v.proof]++;
	for (size_t i = 0; i < p.finding.n; i++)
		hmap_put(&c->witness, (uintptr_t)p.finding.p[i], 1);
	VEC_FREE(&p.finding);
	finding_free(p.own);
}

void campaign_judge(struct campaign *c, struct finding_set *crashes)
{
	size_t n = 0;
	memset(c->proofs, 0, sizeof c->proofs);
	for (size_t i = 0; i < c->check.n; i++) {
		struct campaign_check *k = &c->check.p[i];
		k->shown = !k->suspect && campaign_shown_by_crash(crashes, k->f);
		reset(k);
		if (k->suspect)
			judge_one(c, k, crashes);
	}
	for (size_t i = 0; i < crashes->v.n; i++) {
		struct finding *f = crashes->v.p[i];
		if (hmap_get(&c->witness, (uintptr_t)f, NULL))
			VEC_PUSH(&c->merged, f);
		else
			crashes->v.p[n++] = f;
	}
	crashes->v.n = n;
	hmap_free(&c->witness);
}

void campaign_report(struct campaign *c, struct finding_set *set)
{
	crash_report(c->crash, c->dir, set);
	campaign_judge(c, set);
	for (size_t i = 0; i < c->check.n; i++) {
		struct campaign_check *k = &c->check.p[i];
		if (!k->shown)
			finding_add(set, k->f);
		else
			VEC_PUSH(&c->merged, k->f);
		free(k->replay);
	}
	c->check.n = 0;
}
