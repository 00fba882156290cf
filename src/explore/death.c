/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that crash or hang. What they had not yet persisted is not held against them: they are not
 * checked. Such a run is made again without the tracer, and only what happens there too is a
 * finding; gdb says where. Runs that die with the same signal after the same last event are
 * taken for the same, once a few of them were made again.
 */
#include <stdlib.h>
#include <string.h>

#include "explore/found.h"

#define LOOKS 3    /* runs of one kind of death that are made again */
#define DEATHS 100 /* … of all kinds */

bool explore_died(const struct launch_explorer_run *run)
{
	return run->hung || run->signal;
}

uint64_t explore_death_key(const struct explore_slot *s, const struct launch_explorer_run *run)
{
	uint64_t key = hash_mix(s->last_ip, (uint64_t)(run->hung ? 1000 : run->signal));
	return key ? key : 1;
}

/* What gdb says from the signal on; NULL: nothing of use. */
static const char *useful(const char *text)
{
	const char *at = text ? strstr(text, " received signal ") : NULL;
	while (at && at > text && at[-1] != '\n')
		at--;
	return at;
}

static const char under_gdb[] =
	"gdb -batch -nx -q -iex 'set debuginfod enabled off' -iex 'set startup-with-shell off' "
	"-iex 'set disable-randomization off' -iex 'set filename-display absolute' "
	"-iex 'set width 0' -ex run -ex 'bt 64' --args";

static struct finding *crash_finding(const struct explore_stage *stage,
				     const struct explore_slot *s, const char *dir, int sig)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_CRASH));
	struct explore_native n = { 0 };
	struct err ignored;
	char *gdb = find_program("gdb");
	const char *said = NULL;
	if (gdb && !explore_native(stage, dir, under_gdb, &n, &ignored))
		said = useful(n.text);
	if (!said || !explore_place_gdb(stage->plan->argv[0], said, &f->place))
		explore_place_run(s, &f->place);
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	f->message =
		xasprintf("the program is ended by signal %d (%s)%s%s", sig, strsignal(sig),
			  at && at->function ? " in " : "", at && at->function ? at->function : "");
	f->cause = xasprintf("signal %d", sig);
	if (said)
		finding_input(f)->backtrace = xstrdup(said);
	free(n.text);
	free(gdb);
	return f;
}

static struct finding *hang_finding(double timeout, const struct explore_slot *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_HANG));
	explore_place_run(s, &f->place);
	f->message = xasprintf("the program does not end within %g s", timeout);
	f->cause = xstrdup("hang");
	return f;
}

/* Once more without the tracer. *f NULL: it does not happen there. */
static int look_again(const struct explore_stage *stage, const struct explore_slot *s,
		      const struct launch_explorer_run *run, const char *dir, struct finding **f,
		      struct err *err)
{
	struct explore_native n = { 0 };
	*f = NULL;
	int bad = explore_files(stage->program, stage->plan, &s->input, dir, err) ||
		  explore_native(stage, dir, NULL, &n, err);
	if (!bad && run->hung && n.hung)
		*f = hang_finding(stage->program->timeout, s);
	else if (!bad && !run->hung && n.signal)
		*f = crash_finding(stage, s, dir, n.signal);
	free(n.text);
	return bad;
}

static struct explore_death *death_of(struct explore_deaths *d, uint64_t key)
{
	for (size_t i = 0; i < d->v.n; i++)
		if (d->v.p[i].key == key)
			return &d->v.p[i];
	struct explore_death new = { .key = key };
	VEC_PUSH(&d->v, new);
	return &d->v.p[d->v.n - 1];
}

/* One more of a kind that is known: it may have a smaller input. */
static void same_death(struct explore_hit *hit, struct explore_slot *s,
		       const struct explore_plan *p)
{
	hit->f->input->paths++;
	hit->f->count++;
	if (explore_input_rank(p, &s->input) < hit->rank)
		explore_hit_replace(hit, p, &s->input, s);
}

int explore_death_look(struct explore_deaths *all, struct explore_found *found,
		       struct explore_slot *s, const struct explore_stage *stage,
		       const struct launch_explorer_run *run, const char *dir, uint64_t path,
		       struct err *err)
{
	uint64_t key = explore_death_key(s, run);
	struct explore_death *d = death_of(all, key);
	struct finding *f;
	*(run->hung ? &all->hung : &all->crashed) += 1;
	if (d->looks >= LOOKS || all->looks >= DEATHS) {
		if (d->f)
			same_death(explore_hit(found, d->f), s, stage->plan);
		return 0;
	}
	d->looks++;
	all->looks++;
	if (look_again(stage, s, run, dir, &f, err))
		return -1;
	if (!f) {
		all->tracer_only++;
		all->lost += !run->hung && run->signal == SIGKILL;
		return 0;
	}
	d->f = explore_found_add(found, f, stage->plan, &s->input, s, path);
	explore_hit(found, d->f)->death = key;
	return 0;
}
