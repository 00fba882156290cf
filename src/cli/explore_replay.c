/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast replay, for a finding of an exploration: the program with the finding's input, first
 * without the tracer, on the terminal; then, if it is a misuse of PM, under check.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explore.h"
#include "report/report.h"

bool explore_is(struct campaign_db *s)
{
	const char *verb = campaign_db_get(s, "verb");
	return verb && !strcmp(verb, "explore");
}

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

static void say_native(const struct explore_native *n)
{
	if (n->hung)
		msg_info("the program did not end in time");
	else if (n->signal)
		msg_info("the program was ended by signal %d (%s)", n->signal,
			 strsignal(n->signal));
	else
		msg_info("the program ended with status %d", n->status);
}

/* Memory that the program names gets its input from the second run on. */
static int run_again(struct explore_slot *s, const struct explore_hit *hit,
		     struct launch_explorer_run *run, struct err *err)
{
	size_t known, n;
	const uint8_t *input;
	do {
		launch_explorer_sources(s->launch, &known, &input);
		if (explore_slot_try(s, &hit->input, run, err))
			return -1;
		launch_explorer_sources(s->launch, &n, &input);
	} while (n > known);
	return 0;
}

/* Under check: 1 it shows, 0 it does not. */
static int check_again(struct explore *x, const struct explore_hit *hit, struct err *err)
{
	struct explore_slot *s = &x->slot[0];
	struct launch_explorer_run run = { 0 };
	bool used;
	if (explore_slot_start(s, x, &used, err))
		return -1;
	x->started = 1;
	if (used && run_again(s, hit, &run, err))
		return -1;
	bool shows = explore_shows(x, hit, s, &run);
	if (used && (s->branches != hit->branches || s->trail != hit->trail))
		msg_warn("this run took another way than the exploration's%s",
			 x->o->pin ? ""
				   : ": does the program depend on time or chance? "
				     "'explore --pin' fixes them");
	msg_info(shows ? "check finds it again" : "check does not find it this time");
	return shows;
}

static int replay(struct explore *x, const struct explore_hit *hit, bool gdb, struct err *err)
{
	struct explore_native n = { 0 };
	char *dir = xasprintf("%s/findings/%s", x->dir, hit->f->id);
	bool there = access(dir, X_OK) == 0;
	int shows = -1;
	const char *kind = hit->f->kind->name;
	if (!there && explore_files(x, x->plan, &hit->input, dir, err))
		return free(dir), -1;
	if (hit->nsources > x->plan->source.n) {
		msg_info("memory that the program names is only symbolic under the tracer");
		free(dir);
		return check_again(x, hit, err);
	}
	if (explore_native_here(x, x->plan, dir, gdb ? "gdb --args" : NULL, &n, err)) {
		free(dir);
		return -1;
	}
	free(dir);
	if (gdb)
		return 0;
	say_native(&n);
	if (!strcmp(kind, "program-crash"))
		shows = n.signal != 0;
	else if (!strcmp(kind, "program-hang"))
		shows = n.hung;
	else
		shows = check_again(x, hit, err);
	if (shows == 0 && hit->death)
		msg_info("it did not happen this time");
	return shows;
}

static int prepare(struct explore *x, struct wanted *w, struct explore_hit *hit, struct err *err)
{
	if (campaign_db_each_finding(x->db, match, w, err))
		return -1;
	if (w->n != 1)
		return err_set(err, EXIT_USAGE,
			       w->n ? "%s is the beginning of several ids in %s"
				    : "there is no finding %s in %s",
			       w->id, x->shown);
	if (!(hit->f = report_finding_parse(w->json, err)) ||
	    explore_witness_parse(w->witness, hit, err) || explore_limits(x, err))
		return -1;
	if (hit->campaign)
		return 0;
	if (chdir(x->cwd))
		return err_errno(err, EXIT_PROGRAM, "cannot go to %s, where it was explored",
				 x->cwd);
	x->phase = hit->phase;
	x->plan = explore_plan_new(x->o, x->argv, hit->phase, err);
	if (!x->plan)
		return -1;
	if (hit->input.n < x->plan->n ||
	    (hit->input.n > x->plan->n && hit->nsources == x->plan->source.n))
		return err_set(err, EXIT_USAGE,
			       "a file or argument is not what it was: the input has %zu bytes, "
			       "%zu were explored",
			       x->plan->n, hit->input.n);
	return 0;
}

int explore_replay(const char *dir, const char *id, bool gdb, char **campaign, struct err *err)
{
	struct explore_opts o = { 0 };
	struct explore x = { .o = &o, .nslots = 1 };
	struct explore_hit hit = { 0 };
	struct wanted w = { .id = id };
	int shows = -1;
	*campaign = NULL;
	x.slot = xcalloc(1, sizeof *x.slot);
	x.dir = realpath(dir, NULL);
	x.shown = xstrdup(dir);
	x.cwd = getcwd(NULL, 0);
	if (!x.dir)
		err_errno(err, EXIT_USAGE, "cannot use %s", dir);
	else if ((x.db = campaign_db_open(x.dir, CAMPAIGN_DB_READ, err)) &&
		 !explore_load(&x, err) && !prepare(&x, &w, &hit, err)) {
		if (hit.campaign)
			*campaign = xstrdup(hit.campaign);
		shows = hit.campaign ? 0 : replay(&x, &hit, gdb, err);
	}
	finding_free(hit.f);
	symbolic_input_free(&hit.input);
	free(hit.campaign);
	free(w.json);
	free(w.witness);
	explore_end(&x);
	explore_opts_free(&o);
	return shows;
}
