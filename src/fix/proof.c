/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the patch help? The program is built without it and with it, and the recorded command runs both times. With
 * it the findings must be gone, no other error may be there, the output must be the same, the tests must pass.
 * What stands in the way is taken out, and the rest is tried again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fix/proof.h"

struct proof {
	struct fix_lab lab;
	struct fix *x;
	struct fix_trial before;
	char *said;    /* of the last trial that was good; NULL: none was */
	char *also;    /* … errors that were there before under another name; NULL: none */
	bool stronger; /* fixes have got a fence since the last trial */
	bool unsteady; /* what the program prints differs from run to run */
};

static bool has(const struct finding_set *set, const char *id)
{
	for (size_t i = 0; i < set->v.n; i++)
		if (!strcmp(set->v.p[i]->id, id))
			return true;
	return false;
}

static bool known(const struct proof *p, const char *id)
{
	return has(p->x->set, id) || has(&p->before.check.findings, id);
}

static bool is_new(const struct proof *p, const struct finding *f)
{
	return f->level == FINDING_ERROR && !known(p, f->id);
}

/* No fix is for the store, and before the patch it lacked as much. */
static bool was_there(const struct proof *p, const struct finding *f)
{
	for (size_t i = 0; i < p->x->entry.n; i++)
		if (p->x->entry.p[i].state == FIX_PLANNED && fix_is_for(&p->lab, f, i))
			return false;
	return fix_was_there(&p->lab, &p->before.check.findings, f);
}

/* An error that was not there before; NULL: none. */
static const struct finding *new_error(const struct proof *p, const struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++)
		if (is_new(p, set->v.p[i]) && !was_there(p, set->v.p[i]))
			return set->v.p[i];
	return NULL;
}

static void take_out(struct proof *p, size_t entry, const char *why)
{
	struct fix *x = p->x;
	for (size_t i = 0; i < x->plan.fix.n; i++)
		for (size_t k = 0; k < x->plan.fix.p[i].bugs.n; k++)
			if (x->with.p[x->plan.fix.p[i].bugs.p[k]].entry == entry && !x->out.p[i])
				x->out.p[i] = xstrdup(why);
	for (size_t i = 0; i < x->removal.n; i++)
		x->removal.p[i].out |= x->removal.p[i].entry == entry;
	x->entry.p[entry].state = FIX_OUT;
	fix_tell(x, entry, "taken out: %s", why);
}

/* What an entry is for is there again, or the same store lacks something else. */
static bool remains(const struct proof *p, const struct fix_trial *t, size_t entry)
{
	const struct finding_set *set = &t->check.findings;
	const char *id = p->x->entry.p[entry].f->id;
	bool any = has(set, id) || has(&t->crash.findings, id);
	for (size_t i = 0; !any && i < set->v.n; i++)
		any = is_new(p, set->v.p[i]) && fix_is_for(&p->lab, set->v.p[i], entry);
	return any;
}

/* Findings that the patch was to repair and that are there again; their fixes go. */
static size_t take_out_remaining(struct proof *p, const struct fix_trial *t)
{
	size_t n = 0;
	for (size_t i = 0; i < p->x->entry.n; i++) {
		if (p->x->entry.p[i].state != FIX_PLANNED || !remains(p, t, i))
			continue;
		take_out(p, i, "with the patch the finding is still there");
		n++;
	}
	return n;
}

static bool same_output(const struct fix_trial *before, const struct fix_trial *t)
{
	char *a = xasprintf("%s.record.out", before->dir), *b = xasprintf("%s.record.out", t->dir);
	bool same = fix_same_file(a, b);
	free(a);
	free(b);
	return same;
}

static bool is_in(const struct repair_place *at, const struct finding_place *p)
{
	const struct srcloc_frame *m = finding_main_frame(p);
	return m && m->function && at->function && !strcmp(m->function, at->function);
}

/* The crash loses what this function stores, as far as anybody knows by names: lines have moved. */
static bool loses(const struct finding *f, const struct repair_place *store)
{
	bool lost = false;
	for (size_t i = 0; i < f->related.n; i++)
		lost |= strstr(f->related.p[i].role, "lost") != NULL &&
			is_in(store, &f->related.p[i].place);
	return lost;
}

/*
 * A flush that was put before a fence that is there may be complete too late: a crash shows that the store is lost although what comes
 * after it is not. Then it gets a fence of its own.
 */
static bool strengthen(struct proof *p, const struct finding *f)
{
	struct fix *x = p->x;
	bool any = false;
	for (size_t i = 0; i < x->plan.fix.n; i++) {
		struct repair_fix *fix = &x->plan.fix.p[i];
		size_t entry = x->with.p[fix->bug].entry;
		if (fix->acts != REPAIR_FLUSH || x->out.p[i] ||
		    !loses(f, &x->bug.p[fix->bug].site[0].at))
			continue;
		fix->acts = FIX_BOTH;
		fix_tell(x, entry,
			 "with a fence, too: a crash has shown that the next one comes too late");
		any = true;
	}
	return any;
}

/* What is wrong with a trial besides findings that remain; xmalloc'ed, NULL: nothing. */
static char *wrong(struct proof *p, const struct fix_trial *t)
{
	const struct finding *f = new_error(p, &t->check.findings);
	if (!f)
		f = new_error(p, &t->crash.findings);
	p->stronger = f && strengthen(p, f);
	if (f) {
		const struct srcloc_frame *m = finding_main_frame(&f->place);
		char where[512];
		return xasprintf("with the patch there is another error: %s at %s", f->kind->name,
				 m ? srcloc_text(m, where, sizeof where)
				   : "a place without source");
	}
	if (t->status != p->before.status)
		return xasprintf(
			"with the patch the program ends with status %d, without it with %d",
			t->status, p->before.status);
	return NULL;
}

/* 1: what it prints has changed; 0: not, or it is something else in every run, so that nothing can be said of it. */
static int other_output(struct proof *p, const struct fix_trial *t, struct err *err)
{
	struct fix_trial again = { 0 };
	if (same_output(&p->before, t))
		return 0;
	if (fix_lab_run(&p->lab, &again, err)) {
		fix_trial_free(&again);
		return -1;
	}
	bool steady = same_output(t, &again);
	fix_trial_free(&again);
	if (!steady && !p->unsteady)
		VEC_PUSH(&p->x->proof, xstrdup("proof: the program prints something else in each "
					       "run: its output was not compared"));
	p->unsteady |= !steady;
	return steady;
}

/* One trial of the patch as it is now. 0: it is good; 1: not, *why says so; -1: err. */
static int trial(struct proof *p, struct fix_trial *t, size_t *remain, char **why, struct err *err)
{
	struct err failed;
	*why = NULL;
	*remain = 0;
	p->stronger = false;
	if (fix_make_edits(p->x, err) || fix_lab_restore(&p->lab, err))
		return -1;
	if (fix_lab_build(&p->lab, &failed)) {
		*why = xasprintf("with the patch %s", failed.text);
		return fix_interrupted() ? (*err = failed, -1) : 1;
	}
	if (fix_lab_try(&p->lab, true, t, err))
		return -1;
	*remain = take_out_remaining(p, t);
	if (*remain)
		return 1;
	if ((*why = wrong(p, t)))
		return 1;
	int other = other_output(p, t, err);
	if (other > 0)
		*why = xstrdup("with the patch the program prints something else");
	if (other)
		return other;
	if (fix_lab_test(&p->lab, &failed)) {
		*why = xasprintf("with the patch %s", failed.text);
		return fix_interrupted() ? (*err = failed, -1) : 1;
	}
	return 0;
}

static char *renamed(const struct proof *p, const struct finding_set *set)
{
	struct buf b = { 0 };
	char where[512];
	for (size_t i = 0; i < set->v.n; i++)
		if (is_new(p, set->v.p[i]))
			buf_printf(&b, "%s%s at %s", b.n ? "; " : "", set->v.p[i]->kind->name,
				   srcloc_text(finding_main_frame(&set->v.p[i]->place), where,
					       sizeof where));
	char *text = b.n ? xasprintf("proof: what was there before and has another name now is "
				     "for another 'fix', when the patch is applied: %.*s",
				     (int)b.n, b.p)
			 : NULL;
	buf_free(&b);
	return text;
}

static void accept(struct proof *p, const struct fix_trial *t)
{
	free(p->also);
	p->also = renamed(p, &t->check.findings);
	for (size_t i = 0; i < p->x->entry.n; i++)
		if (p->x->entry.p[i].state == FIX_PLANNED)
			p->x->entry.p[i].state = FIX_PROVED;
	free(p->said);
	p->said = xasprintf("proof: the program was built and run again: %" PRIu64
			    " flushes and %" PRIu64 " fences before, %" PRIu64 " and %" PRIu64
			    " after",
			    p->before.flushes, p->before.fences, t->flushes, t->fences);
}

/* All at once, without those that remain, until none does. 1: something else is wrong, see *why. */
static int together(struct proof *p, char **why, struct err *err)
{
	for (;;) {
		struct fix_trial t = { 0 };
		size_t remain;
		int bad = trial(p, &t, &remain, why, err);
		if (!bad)
			accept(p, &t);
		fix_trial_free(&t);
		if (bad == 1 && p->stronger) {
			free(*why);
			continue;
		}
		if (bad != 1 || !remain)
			return bad;
		if (!fix_count(p->x, FIX_PLANNED))
			return fix_make_edits(p->x, err);
	}
}

/* The fixes of a finding, which were left out with "". */
static void put_in(struct fix *x, size_t entry)
{
	for (size_t i = 0; i < x->plan.fix.n; i++)
		for (size_t b = 0; b < x->plan.fix.p[i].bugs.n; b++)
			if (x->with.p[x->plan.fix.p[i].bugs.p[b]].entry == entry && x->out.p[i] &&
			    !*x->out.p[i]) {
				free(x->out.p[i]);
				x->out.p[i] = NULL;
			}
	for (size_t i = 0; i < x->removal.n; i++)
		x->removal.p[i].out &= x->removal.p[i].entry != entry;
	x->entry.p[entry].state = FIX_PLANNED;
}

/* One finding after the other: what does not go with those before it is taken out. */
static int one_by_one(struct proof *p, struct err *err)
{
	struct fix *x = p->x;
	VEC(size_t) left = { 0 };
	int bad = 0;
	for (size_t i = 0; i < x->entry.n; i++)
		if (x->entry.p[i].state == FIX_PLANNED) {
			VEC_PUSH(&left, i);
			x->entry.p[i].state = FIX_LEFT;
		}
	for (size_t i = 0; i < x->plan.fix.n; i++)
		if (!x->out.p[i])
			x->out.p[i] = xstrdup("");
	for (size_t i = 0; i < x->removal.n; i++)
		x->removal.p[i].out = true;
	for (size_t k = 0; bad >= 0 && k < left.n; k++) {
		char *why = NULL;
		put_in(x, left.p[k]);
		bad = together(p, &why, err);
		if (bad > 0)
			take_out(p, left.p[k], why ? why : "it does not help");
		free(why);
	}
	VEC_FREE(&left);
	return bad < 0 ? -1 : fix_make_edits(x, err);
}

/* Without the patch: it must build and run, and what it prints is what it should print. */
static int begin(struct proof *p, struct err *err)
{
	if (fix_lab_open(&p->lab, err))
		return -1;
	if (fix_lab_build(&p->lab, err))
		return -1;
	return fix_lab_try(&p->lab, false, &p->before, err);
}

int fix_prove(struct fix *x, const struct fix_proof *o, struct err *err)
{
	struct proof p = { .lab = { .x = x, .o = o }, .x = x };
	char *why = NULL;
	if (!fix_count(x, FIX_PLANNED))
		return 0;
	fix_watch_signals();
	int bad = begin(&p, err);
	if (!bad)
		bad = together(&p, &why, err);
	if (bad > 0 && fix_count(x, FIX_PLANNED) > 1) {
		bad = one_by_one(&p, err);
	} else if (bad > 0) {
		for (size_t i = 0; i < x->entry.n; i++)
			if (x->entry.p[i].state == FIX_PLANNED)
				take_out(&p, i, why ? why : "it does not help");
		bad = fix_make_edits(x, err);
	}
	free(why);
	if (p.said)
		VEC_PUSH(&x->proof, p.said);
	if (p.also)
		VEC_PUSH(&x->proof, p.also);
	fix_trial_free(&p.before);
	fix_lab_close(&p.lab);
	return bad ? -1 : 0;
}
