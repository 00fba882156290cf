/* SPDX-License-Identifier: BSD-3-Clause */
/* A finding's input again: without the tracer, and under check. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explore/folder.h"
#include "report/report.h"

struct explore_replay {
	const struct explore_opts *o;
	struct explore_folder *folder;
	struct explore_hit hit; /* the finding is its own */
	struct explore_plan *plan;
	struct explore_slot slot;
};

struct wanted {
	const char *id;
	unsigned n;
	char *json, *witness;
};

static void match(void *arg, const struct campaign_db_finding *row)
{
	struct wanted *w = arg;
	if (strncmp(row->id, w->id, strlen(w->id)) != 0 || w->n++)
		return;
	w->json = xstrdup(row->finding);
	w->witness = xstrdup(row->witness ? row->witness : "");
}

static int find(struct explore_replay *r, const char *id, struct err *err)
{
	struct wanted w = { .id = id };
	int bad = campaign_db_each_finding(r->folder->db, match, &w, err);
	if (!bad && w.n != 1)
		bad = err_set(err, EXIT_USAGE,
			      w.n ? "%s is the beginning of several ids in %s"
				  : "there is no finding %s in %s",
			      id, r->folder->shown);
	if (!bad)
		bad = !(r->hit.f = report_finding_parse(w.json, err)) ||
		      explore_witness_parse(w.witness, &r->hit, err);
	free(w.json);
	free(w.witness);
	return bad;
}

static int make_plan(struct explore_replay *r, struct err *err)
{
	const struct explore_program *how = &r->o->program;
	const struct explore_hit *hit = &r->hit;
	if (chdir(how->cwd))
		return err_errno(err, EXIT_PROGRAM, "cannot go to %s, where it was explored",
				 how->cwd);
	r->plan = explore_plan_new(&r->o->inputs, how->argv, hit->phase, err);
	if (!r->plan)
		return -1;
	if (hit->input.n < r->plan->n ||
	    (hit->input.n > r->plan->n && hit->nsources == r->plan->source.n))
		return err_set(err, EXIT_USAGE,
			       "a file or argument is not what it was: the input has %zu bytes, "
			       "%zu were explored",
			       r->plan->n, hit->input.n);
	return 0;
}

struct explore_replay *explore_replay_open(const struct explore_opts *o,
					   struct explore_folder *folder, const char *id,
					   struct err *err)
{
	struct explore_replay *r = xcalloc(1, sizeof *r);
	r->o = o;
	r->folder = folder;
	if (!find(r, id, err) && (r->hit.campaign || !make_plan(r, err)))
		return r;
	explore_replay_free(r);
	return NULL;
}

const char *explore_replay_campaign(const struct explore_replay *r)
{
	return r->hit.campaign;
}

int explore_replay_native(struct explore_replay *r, bool gdb, struct explore_native *out,
			  struct err *err)
{
	struct explore_stage stage = { &r->o->program, r->plan, NULL };
	char *dir = xasprintf("%s/findings/%s", r->folder->dir, r->hit.f->id);
	int ran = 0;
	if (access(dir, X_OK) && explore_files(stage.program, r->plan, &r->hit.input, dir, err))
		ran = -1;
	else if (r->hit.nsources <= r->plan->source.n)
		ran = explore_native_here(&stage, dir, gdb ? "gdb --args" : NULL, out, err) ? -1
											    : 1;
	free(dir);
	return ran;
}

int explore_replay_died(const struct explore_replay *r, const struct explore_native *n)
{
	const struct finding_kind_info *kind = r->hit.f->kind;
	if (!strcmp(kind->name, "program-crash"))
		return n->signal != 0;
	if (!strcmp(kind->name, "program-hang"))
		return n->hung;
	return -1;
}

/* Memory that the program names gets its input from the second run on. */
static int run_again(struct explore_replay *r, struct launch_explorer_run *run, struct err *err)
{
	struct explore_slot *s = &r->slot;
	size_t known, n;
	const uint8_t *input;
	do {
		launch_explorer_sources(s->launch, &known, &input);
		if (explore_slot_try(s, &r->hit.input, r->o->stop, run, err))
			return -1;
		launch_explorer_sources(s->launch, &n, &input);
	} while (n > known);
	return 0;
}

int explore_replay_check(struct explore_replay *r, bool *other_path, struct err *err)
{
	const struct explore_hit *hit = &r->hit;
	struct explore_slot *s = &r->slot;
	struct launch_explorer_run run = { 0 };
	bool used;
	if (explore_slot_start(s, &r->o->program, r->plan, &r->o->check, &used, err) ||
	    (used && run_again(r, &run, err)))
		return -1;
	*other_path = used && (s->branches != hit->branches || s->trail != hit->trail);
	return explore_shows(hit, s, &r->o->check, &run);
}

void explore_replay_free(struct explore_replay *r)
{
	explore_slot_end(&r->slot);
	explore_plan_free(r->plan);
	explore_hit_free(&r->hit);
	if (r->hit.f)
		finding_free(r->hit.f);
	free(r);
}
