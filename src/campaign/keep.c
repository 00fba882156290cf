/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of a campaign: its settings, each verdict as it comes, and the findings. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/internal.h"
#include "report/report.h"

#define COUNTS_KEPT 1.0 /* seconds between two times that counts are kept */
#define HASTY 0x80u     /* in `known`: crash_verdict */
#define PROGRESS 0.2    /* … and between two calls of the caller's `progress` */

/* ---- settings ---- */

int campaign_save(struct campaign *c, struct err *err)
{
	char cwd[4096];
	int bad = campaign_db_begin(c->db, err) || campaign_settings_save(c->db, &c->settings, err);
	if (!bad && getcwd(cwd, sizeof cwd))
		bad = campaign_db_set(c->db, "cwd", cwd, err);
	return bad || campaign_db_commit(c->db, err) ? -1 : 0;
}

static void load_verdict(void *arg, const struct campaign_db_verdict *v)
{
	struct campaign *c = arg;
	bool hasty = v->verdict == RUNNER_HUNG && v->spent * 1000 < c->options.runner.timeout_ms;
	hmap_put(&c->known, v->hash,
		 (uint64_t)(uint32_t)v->status << 8 | (hasty ? HASTY : 0) | v->verdict);
	if (v->verdict == RUNNER_OK && v->spent > c->slowest)
		c->slowest = v->spent;
	if (v->said)
		hmap_put(&c->heard, v->hash, v->said);
}

int campaign_load(struct campaign *c, struct err *err)
{
	const char *name;
	for (size_t i = 0; (name = campaign_setting_name(i)); i++)
		if (strcmp(name, "budget") != 0 && /* it is this run's own */
		    campaign_settings_resume(c->db, name, "campaign", &c->settings, err))
			return -1;
	if (!campaign_settings_get(&c->settings, "recover") &&
	    !campaign_settings_get(&c->settings, "probe") &&
	    !campaign_settings_get(&c->settings, "continue"))
		return err_set(err, EXIT_USAGE, "%s holds no crash campaign", c->dir);
	return 0;
}

int campaign_load_verdicts(struct campaign *c, struct err *err)
{
	if (campaign_db_each_verdict(c->db, load_verdict, c, err))
		return -1;
	const char *kept = campaign_db_get(c->db, "seconds");
	c->seconds_before = kept ? strtod(kept, NULL) : 0;
	kept = campaign_db_get(c->db, "course");
	const char *last = kept ? strrchr(kept, ',') : NULL;
	c->causes_before = last ? strtoull(last + 1, NULL, 10) : 0;
	(void)campaign_chart_load(&c->chart, c->db);
	c->tested_before = (double)c->known.n; /* what was killed may not have counted them */
	return 0;
}

/* ---- while it runs ---- */

static bool known(void *arg, uint64_t key, struct crash_verdict *v)
{
	const struct campaign *c = arg;
	uint64_t packed;
	if (!hmap_get(&c->known, key, &packed))
		return false;
	*v = (struct crash_verdict){ .verdict = (enum runner_verdict)(packed & (HASTY - 1)),
				     .status = (int)(packed >> 8),
				     .hasty = packed & HASTY };
	hmap_get(&c->heard, key, &v->said);
	return true;
}

static int tested(void *arg, const struct crash_tested *t, struct err *err)
{
	struct campaign *c = arg;
	struct campaign_db_verdict v = { .hash = t->key,
					 .verdict = t->verdict.verdict,
					 .status = t->verdict.status,
					 .said = t->verdict.said,
					 .event = t->event,
					 .strategy = t->strategy,
					 .output = t->output,
					 .spent = t->spent };
	return campaign_db_put_verdict(c->db, &v, err);
}

static int put_number(struct campaign *c, const char *key, double value, struct err *err)
{
	char text[32];
	snprintf(text, sizeof text, "%.10g", value);
	return campaign_db_set(c->db, key, text, err);
}

/* Of all runs of the campaign. */
static double seconds_of(const struct campaign *c)
{
	return c->seconds_before + now_seconds() - c->started;
}

/* What a run may not know, or not yet. */
static int put_more(struct campaign *c, struct err *err)
{
	const struct crash_counts *n = crash_counts(c->crash);
	const struct crash_behaviour_counts *b = &n->behaviour;
	if (c->plan.known &&
	    put_number(c, "images", c->tested_before + (double)c->plan.images, err))
		return -1;
	if (!b->behaviours)
		return 0;
	return put_number(c, "behaviours", (double)b->behaviours, err) ||
	       put_number(c, "groups", (double)b->groups, err) ||
	       put_number(c, "representatives",
			  (double)(b->taken < b->groups ? b->taken : b->groups), err) ||
	       put_number(c, "followed", b->taken > b->groups ? (double)(b->taken - b->groups) : 0,
			  err) ||
	       put_number(c, "behaviour_tested", (double)b->tested, err) ||
	       put_number(c, "behaviour_failed", (double)b->failed, err);
}

/* Adds a line to the course of the campaign, if there is a cause that no earlier run knew. */
static int note_course(struct campaign *c, struct err *err)
{
	const struct crash_counts *n = crash_counts(c->crash);
	if (n->causes <= c->causes_before)
		return 0;
	const char *old = campaign_db_get(c->db, "course");
	char *course = xasprintf("%s%.1f,%.0f,%llu,%llu\n", old ? old : "", seconds_of(c),
				 c->tested_before + (double)n->tested,
				 (unsigned long long)n->failed, (unsigned long long)n->causes);
	c->causes_before = n->causes;
	int bad = campaign_db_set(c->db, "course", course, err);
	free(course);
	return bad;
}

/* A row of the chart, if it is time for one. */
static int note_chart(struct campaign *c, bool always, struct err *err)
{
	static const char *const columns[] = { "seconds", "images tested", "failing states",
					       "causes", "failure points" };
	const struct crash_counts *n = crash_counts(c->crash);
	const double row[] = { seconds_of(c), c->tested_before + (double)n->tested,
			       (double)n->failed, (double)n->causes,
			       n->points ? (double)n->point + 1 : 0 };
	if (!c->chart.name.n)
		campaign_chart_begin(&c->chart, columns, sizeof columns / sizeof *columns);
	if (c->chart.name.n != sizeof row / sizeof *row ||
	    !campaign_chart_add(&c->chart, row, always))
		return 0;
	return campaign_chart_save(&c->chart, c->db, err);
}

static int put_counts(struct campaign *c, const char *state, struct err *err)
{
	const struct crash_counts *n = crash_counts(c->crash);
	for (int i = 0; c->checked && i < FINDING_PROOFS; i++)
		if (put_number(c, finding_proof_name((enum finding_proof)i), (double)c->proofs[i],
			       err))
			return -1;
	return (c->checked && campaign_db_set(c->db, "verb", "test", err)) ||
	       campaign_db_set(c->db, "state", state, err) ||
	       campaign_db_set(c->db, "at", n->strategy ? n->strategy : "sanity", err) ||
	       put_number(c, "points", (double)n->points, err) ||
	       put_number(c, "point", (double)n->point, err) ||
	       put_number(c, "generated", (double)n->generated, err) ||
	       put_number(c, "tested", c->tested_before + (double)n->tested, err) ||
	       put_number(c, "resumed", (double)n->resumed, err) ||
	       put_number(c, "failed", (double)n->failed, err) ||
	       put_number(c, "causes", (double)n->causes, err) ||
	       put_number(c, "seconds", seconds_of(c), err) || put_more(c, err);
}

/* All that is known now, in the order of a report. */
static struct finding_set gather(struct campaign *c, struct finding_set *crashes)
{
	struct finding_set all = { 0 };
	crash_report(c->crash, c->dir, crashes);
	campaign_judge(c, crashes);
	for (size_t i = 0; i < crashes->v.n; i++)
		VEC_PUSH(&all.v, crashes->v.p[i]);
	for (size_t i = 0; i < c->check.n; i++)
		if (!c->check.p[i].shown)
			VEC_PUSH(&all.v, c->check.p[i].f);
	finding_sort(&all);
	return all;
}

static int put_findings(struct campaign *c, struct err *err)
{
	struct finding_set crashes = { 0 }, all = gather(c, &crashes);
	int bad = campaign_db_clear_findings(c->db, err);
	for (size_t i = 0; i < all.v.n && !bad; i++) {
		struct finding *f = all.v.p[i];
		char *json = report_finding_json(f);
		struct campaign_db_finding row = { f->id, json, f->crash ? f->crash->state : NULL };
		bad = campaign_db_put_finding(c->db, &row, err);
		free(json);
	}
	VEC_FREE(&all.v); /* the findings are others' */
	finding_set_free(&crashes);
	return bad;
}

/* A cause is kept as soon as it is known. */
static int keep_findings(struct campaign *c, struct err *err)
{
	if (campaign_db_begin(c->db, err))
		return -1;
	double start = now_seconds();
	int bad = put_findings(c, err) || note_course(c, err) || note_chart(c, true, err);
	c->reporting = now_seconds() - start;
	campaign_plan_until(c);
	return campaign_db_commit(c->db, err) || bad ? -1 : 0;
}

/* For status; what cannot be written here is no loss. */
static void keep_counts(struct campaign *c)
{
	struct err ignored;
	if (campaign_db_begin(c->db, &ignored))
		return;
	(void)put_counts(c, "running", &ignored);
	(void)note_chart(c, false, &ignored);
	(void)campaign_db_commit(c->db, &ignored);
}

static int progressed(void *arg, const struct crash_counts *n, struct err *err)
{
	struct campaign *c = arg;
	double now = now_seconds();
	if (n->causes != c->causes && keep_findings(c, err))
		return -1;
	c->causes = n->causes;
	if (now - c->kept > COUNTS_KEPT) {
		c->kept = now;
		keep_counts(c);
	}
	if (c->watch && now - c->said >= PROGRESS) {
		struct campaign_progress p = campaign_plan_progress(c, now);
		c->said = now;
		c->watch(c->watch_arg, &p);
	}
	return 0;
}

static bool stop(void *arg)
{
	(void)arg;
	return campaign_interrupted();
}

void campaign_hooks(struct campaign *c)
{
	c->hooks = (struct crash_hooks){
		.arg = c, .known = known, .tested = tested, .progress = progressed, .stop = stop
	};
	keep_counts(c);
}

int campaign_finish(struct campaign *c, struct err *err)
{
	if (campaign_db_begin(c->db, err))
		return -1;
	int bad = put_findings(c, err) || note_chart(c, true, err) ||
		  put_counts(c, crash_counts(c->crash)->cut ? "stopped" : "finished", err);
	return campaign_db_commit(c->db, err) || bad ? -1 : 0;
}
