/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --recover, --probe and --continue: every path with a behaviour that no path had before is recorded, as `holdfast record`
 * does it, with its input in place and nothing of it lasting; then the recording is crashed as
 * `holdfast crash` does it, within a budget. Each has a campaign of its own in the exploration's
 * folder, crash/NNNN, so that its findings can be shown and replayed from there. Operations that are
 * symbolic input are those of the path.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

static void take_findings(struct explore *x, struct finding_set *set, const char *dir,
			  const struct symbolic_input *in)
{
	for (size_t i = 0; i < set->v.n; i++) {
		size_t known = x->found.hit.n;
		struct finding *f = explore_found_add(&x->found, set->v.p[i], x->plan, in, NULL,
						      explore_path(x, in->parent));
		struct explore_hit *hit = explore_hit(&x->found, f);
		if (x->found.hit.n > known || !hit->kept) {
			free(hit->campaign);
			hit->campaign = xstrdup(dir);
		}
	}
	set->v.n = 0;
}

/* The file with what --ops-file names, if that is symbolic: a file of `input`; malloc'ed. NULL: it is not. */
static char *ops_of_path(struct explore *x, const char *input)
{
	const char *name = campaign_settings_get(x->o->recover, "ops-file");
	const struct explore_source *a =
		name ? explore_source_named(x->plan, name, strlen(name)) : NULL;
	uint32_t kind = a ? x->plan->source.p[a - x->plan->about.p].kind : 0;
	if (!a || a->pm || (kind != SYM_SRC_STDIN && kind != SYM_SRC_FILE))
		return NULL;
	return xasprintf("%s/%s", input, a->name);
}

static int run_campaign(struct explore *x, const char *dir, const char *input,
			struct finding_set *set, struct err *err)
{
	struct campaign_settings settings = { 0 };
	char *ops = ops_of_path(x, input);
	campaign_settings_copy(&settings, x->o->recover);
	if (ops)
		campaign_settings_put(&settings, "ops-file", ops);
	struct campaign *c = campaign_open(dir, &settings, CAMPAIGN_DB_FRESH, err);
	/* Nobody watches: it is short, and one of many. */
	int bad = !c || campaign_start(c, x->o->cells, err) || campaign_run(c, NULL, NULL, err);
	if (!bad)
		campaign_report(c, set);
	campaign_close(c);
	if (bad && ops && err->status == EXIT_USAGE)
		err->status = EXIT_PROGRAM; /* this path's input has no operations */
	campaign_settings_free(&settings);
	free(ops);
	return bad;
}

static int crash_one(struct explore *x, const struct symbolic_input *in, struct err *err)
{
	struct explore_recovery *r = &x->recovery;
	struct explore_stage stage = explore_stage(x);
	struct finding_set set = { 0 };
	char *dir = xasprintf("%s/crash/%04llu", x->folder->dir, (unsigned long long)r->campaigns);
	char *input = xasprintf("%s/input", dir), *trace = xasprintf("%s/trace", dir);
	int bad = explore_files(stage.program, stage.plan, in, input, err) ||
		  explore_record(&stage, input, trace, err) ||
		  run_campaign(x, dir, input, &set, err);
	r->campaigns++;
	explore_verify_recording(x, dir);
	if (!bad)
		take_findings(x, &set, dir, in);
	finding_set_free(&set);
	free(dir);
	free(input);
	free(trace);
	if (explore_stopped(x))
		return 0;
	/* A path whose recording or recovery does not work is no reason to end. */
	if (bad && err->status == EXIT_PROGRAM) {
		r->unwell++;
		if (!r->why_unwell)
			r->why_unwell = xstrdup(err->text);
		return 0;
	}
	return bad;
}

int explore_recover(struct explore *x, struct err *err)
{
	struct explore_recovery *r = &x->recovery;
	int bad = 0;
	for (size_t i = 0; i < r->input.n; i++) {
		if (!bad && !explore_stopped(x))
			bad = crash_one(x, &r->input.p[i], err);
		symbolic_input_free(&r->input.p[i]);
	}
	r->input.n = 0;
	return bad;
}

void explore_recovery_free(struct explore_recovery *r)
{
	for (size_t i = 0; i < r->input.n; i++)
		symbolic_input_free(&r->input.p[i]);
	VEC_FREE(&r->input);
	free(r->why_unwell);
}
