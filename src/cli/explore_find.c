/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run shows: what check finds in it, and how it died.
 *
 * Every run that does to PM what no other did, the addresses included, is checked from the
 * program's start on. One that was ended by a signal or took too long is not: what it had not
 * yet persisted is not held against it. Such a run is made again without the tracer, and only
 * what happens there too is a finding; gdb says where. Runs that die with the same signal after
 * the same last sign of life are taken for the same, once a few of them were looked at.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

#define LOOKS 3    /* runs of one kind of death that are made again */
#define DEATHS 100 /* … of all kinds */
#define FRAMES 64

/* ---- findings and their inputs ---- */

struct explore_hit *explore_hit(struct explore *x, const struct finding *f)
{
	for (size_t i = 0; i < x->hit.n; i++)
		if (x->hit.p[i].f == f)
			return &x->hit.p[i];
	return NULL;
}

struct finding *explore_add(struct explore *x, struct finding *f, const struct explore_slot *s,
			    const struct symbolic_input *in, uint64_t path)
{
	uint64_t rank = explore_rank(x->plan, in);
	struct finding_input *w = finding_input(f);
	struct explore_hit *hit;
	w->rank = rank;
	w->path = path;
	w->paths = f->count = 1;
	f = finding_add(&x->set, f);
	if (!(hit = explore_hit(x, f))) {
		struct explore_hit new = { .f = f, .phase = x->phase };
		VEC_PUSH(&x->hit, new);
		hit = &x->hit.p[x->hit.n - 1];
		x->news = true;
	} else if (f->input->rank != rank || explore_rank(x->plan, &hit->input) <= rank) {
		return f;
	}
	symbolic_input_free(&hit->input);
	hit->input = explore_copy(in);
	hit->phase = x->phase;
	hit->nsources = x->plan->source.n;
	hit->branches = s ? s->branches : 0;
	hit->trail = s ? s->trail : 0;
	hit->kept = false;
	return f;
}

/* ---- check ---- */

static void feed(void *check, const struct trace_event *e)
{
	if (e->kind < TRACE_KINDS)
		check_feed(check, e);
}

struct check *explore_check_new(const struct explore *x, const struct explore_slot *s,
				struct err *err)
{
	struct check_opts co = {
		.model = model_find(x->o->crash.model),
		.notes = x->o->notes,
		.plugin = x->o->oracle.p,
		.nplugin = x->o->oracle.n,
	};
	return check_new(&co, launch_explorer_defs(s->launch), err);
}

int explore_check(const struct explore *x, struct explore_slot *s, struct finding_set *set,
		  struct err *err)
{
	struct check *check = s->ready;
	s->ready = NULL;
	if (!check) {
		if (!(check = explore_check_new(x, s, err)))
			return -1;
		explore_log_each(&s->prefix, launch_explorer_defs(s->launch), feed, check);
	}
	explore_log_each(&s->log, launch_explorer_defs(s->launch), feed, check);
	check_end(check);
	check_report(check, set);
	check_free(check);
	return 0;
}

static int check_run(struct explore *x, struct explore_slot *s, uint64_t path, struct err *err)
{
	struct finding_set set = { 0 };
	uint64_t known;
	double start = now_seconds();
	if (hmap_get(&x->shapes, s->shape, &known))
		return 0;
	hmap_put(&x->shapes, s->shape, path);
	int bad = explore_check(x, s, &set, err);
	for (size_t i = 0; i < set.v.n; i++)
		explore_add(x, set.v.p[i], s, &s->input, path);
	set.v.n = 0;
	finding_set_free(&set);
	x->checking += now_seconds() - start;
	return bad;
}

/* ---- how a program died ---- */

static bool died(const struct launch_explorer_run *run)
{
	return run->hung || run->signal;
}

static uint64_t death_key(const struct explore_slot *s, const struct launch_explorer_run *run)
{
	uint64_t key = hash_mix(s->last_ip, (uint64_t)(run->hung ? 1000 : run->signal));
	return key ? key : 1;
}

/* "#1  0x0000555555555189 in walk (log=0x…) at /src/log.c:41": false: not a frame. */
static bool parse_frame(char *line, struct srcloc_frame *f)
{
	char *p = line, *end;
	if (*p++ != '#')
		return false;
	strtoul(p, &end, 10);
	p = end + strspn(end, " ");
	if (!strncmp(p, "0x", 2)) {
		f->offset = strtoull(p, &end, 16);
		p = strncmp(end, " in ", 4) ? end : end + 4;
	}
	end = strstr(p, " (");
	if (!end)
		return false;
	*end = 0;
	f->function = strcmp(p, "??") ? p : NULL;
	char *at = strstr(end + 1, ") at "), *from = strstr(end + 1, ") from ");
	if (at) {
		f->file = at + 5;
		char *colon = strrchr(at + 5, ':');
		if (colon) {
			*colon = 0;
			f->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		}
	} else if (from) {
		f->module = from + 7;
	}
	return true;
}

/* What gdb says from the signal on; NULL: nothing of use. */
static const char *useful(const char *text)
{
	const char *at = text ? strstr(text, " received signal ") : NULL;
	while (at && at > text && at[-1] != '\n')
		at--;
	return at;
}

/* The call path in gdb's words. False: it knows no function of the program's. */
static bool place_from_gdb(const struct explore_plan *p, const char *text,
			   struct finding_place *place)
{
	char *own = xstrdup(text);
	struct srcloc_frame frame[FRAMES];
	size_t n = 0;
	bool known = false;
	for (char *line = strtok(own, "\n"); line && n < FRAMES; line = strtok(NULL, "\n")) {
		frame[n] = (struct srcloc_frame){ .module = p->argv[0] };
		if (parse_frame(line, &frame[n])) {
			known = known || (frame[n].function && frame[n].module == p->argv[0]);
			n++;
		}
	}
	if (known)
		*place = finding_place_copy((struct srcloc_where){ frame, n });
	free(own);
	return known;
}

static void feed_places(void *places, const struct trace_event *e)
{
	if (e->kind < TRACE_KINDS)
		srcloc_trace_feed(places, e);
}

/* Where the run was last heard of. */
static void place_from_run(const struct explore_slot *s, struct finding_place *place)
{
	struct srcloc_trace *t = srcloc_trace_new(launch_explorer_defs(s->launch));
	explore_log_each(&s->prefix, launch_explorer_defs(s->launch), feed_places, t);
	explore_log_each(&s->log, launch_explorer_defs(s->launch), feed_places, t);
	if (s->last_ip)
		*place = finding_place_copy(srcloc_path(t, 0, s->last_ip, s->last_ctx));
	srcloc_trace_free(t);
}

static const char under_gdb[] =
	"gdb -batch -nx -q -iex 'set debuginfod enabled off' -iex 'set startup-with-shell off' "
	"-iex 'set disable-randomization off' -iex 'set filename-display absolute' "
	"-iex 'set width 0' -ex run -ex 'bt 64' --args";

static struct finding *crash_finding(struct explore *x, struct explore_slot *s, const char *dir,
				     int sig)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_CRASH));
	struct explore_native n = { 0 };
	struct err ignored;
	char *gdb = find_program("gdb");
	const char *said = NULL;
	if (gdb && !explore_native(x, x->plan, dir, under_gdb, &n, &ignored))
		said = useful(n.text);
	if (!said || !place_from_gdb(x->plan, said, &f->place))
		place_from_run(s, &f->place);
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

static struct finding *hang_finding(const struct explore *x, const struct explore_slot *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_HANG));
	place_from_run(s, &f->place);
	f->message = xasprintf("the program does not end within %g s", x->run_limit);
	f->cause = xstrdup("hang");
	return f;
}

/* Once more without the tracer; NULL: it does not happen there. */
static struct finding *look_again(struct explore *x, struct explore_slot *s,
				  const struct launch_explorer_run *run, struct err *err)
{
	char *dir = xasprintf("%s/try", x->dir);
	struct explore_native n = { 0 };
	struct finding *f = NULL;
	if (explore_files(x, x->plan, &s->input, dir, err) ||
	    explore_native(x, x->plan, dir, NULL, &n, err))
		err->status = err->status ? err->status : EXIT_PROGRAM;
	else if (run->hung && n.hung)
		f = hang_finding(x, s);
	else if (!run->hung && n.signal)
		f = crash_finding(x, s, dir, n.signal);
	free(n.text);
	free(dir);
	return f;
}

static struct explore_death *death_of(struct explore *x, uint64_t key)
{
	for (size_t i = 0; i < x->death.n; i++)
		if (x->death.p[i].key == key)
			return &x->death.p[i];
	struct explore_death new = { .key = key };
	VEC_PUSH(&x->death, new);
	return &x->death.p[x->death.n - 1];
}

/* One more of a kind that is known: it may have a smaller input. */
static void same_death(struct explore *x, struct explore_slot *s, struct finding *f)
{
	struct explore_hit *hit = explore_hit(x, f);
	uint64_t rank = explore_rank(x->plan, &s->input);
	f->input->paths++;
	f->count++;
	if (!hit || rank >= f->input->rank)
		return;
	f->input->rank = rank;
	symbolic_input_free(&hit->input);
	hit->input = explore_copy(&s->input);
	hit->phase = x->phase;
	hit->nsources = x->plan->source.n;
	hit->branches = s->branches;
	hit->trail = s->trail;
	hit->kept = false;
}

static int look_at_death(struct explore *x, struct explore_slot *s,
			 const struct launch_explorer_run *run, uint64_t path, struct err *err)
{
	uint64_t key = death_key(s, run);
	struct explore_death *d = death_of(x, key);
	*(run->hung ? &x->hung : &x->crashed) += 1;
	if (d->looks >= LOOKS || x->looks >= DEATHS) {
		if (d->f)
			same_death(x, s, d->f);
		return 0;
	}
	d->looks++;
	x->looks++;
	err->status = 0;
	struct finding *f = look_again(x, s, run, err);
	if (!f && err->status)
		return -1;
	if (!f) {
		x->tracer_only++;
		return 0;
	}
	f = explore_add(x, f, s, &s->input, path);
	explore_hit(x, f)->death = key;
	death_of(x, key)->f = f;
	return 0;
}

/* ---- both ---- */

int explore_look(struct explore *x, struct explore_slot *s, const struct symbolic_outcome *o,
		 const struct launch_explorer_run *run, struct err *err)
{
	uint64_t path = x->before.stats.runs + o->number + 1;
	if (explore_interrupted() && died(run))
		return 0; /* by the same Ctrl-C */
	if (died(run))
		return look_at_death(x, s, run, path, err);
	return check_run(x, s, path, err);
}

bool explore_shows(struct explore *x, const struct explore_hit *hit, struct explore_slot *s,
		   const struct launch_explorer_run *run)
{
	struct finding_set set = { 0 };
	struct err ignored;
	bool shows = false;
	if (hit->death || died(run))
		return died(run) && death_key(s, run) == hit->death;
	if (!explore_check(x, s, &set, &ignored))
		for (size_t i = 0; i < set.v.n && !shows; i++)
			shows = finding_same(set.v.p[i], hit->f);
	finding_set_free(&set);
	return shows;
}
