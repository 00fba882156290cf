/* SPDX-License-Identifier: BSD-3-Clause */
/* One explorer: the program, started once, and the events of the run that it makes now. */
#include <stdlib.h>
#include <string.h>

#include "explore/slot.h"

#define POLL_MS 100
#define TOLD 1024u /* places that the engine was told of last */

/* ---- what the explorer tells ---- */

static bool changes_pm(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_STORE:
	case TRACE_FLUSH:
	case TRACE_FENCE:
	case TRACE_SYNC:
	case TRACE_MAP:
	case TRACE_UNMAP:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_SYNC:
	case TRACE_TX_BEGIN:
	case TRACE_TX_END:
	case TRACE_TX_ADD:
	case TRACE_OP_BEGIN:
	case TRACE_OP_END:
	case TRACE_CALL:
	case TRACE_RETURN: return true;
	default: return false;
	}
}

/* Two runs of one effect do the same to the same places: what one shows the other shows too. */
static void add_effect(struct explore_slot *s, const struct trace_event *e)
{
	if (!changes_pm(e))
		return;
	s->effect = hash_mix(s->effect, e->ip ^ (uint64_t)e->kind << 56);
	s->effect = hash_mix(s->effect, e->nargs ? e->arg[0] : 0);
	s->effect = hash_mix(s->effect, (uint64_t)e->ctx << 32 | e->size);
}

static void note_place(struct explore_slot *s, const struct trace_event *e)
{
	if (e->ip) {
		s->last_ip = e->ip;
		s->last_ctx = e->ctx;
	}
}

/* Once for each place, or now and then: said twice does no harm. */
static void note_covered(struct explore_slot *s, const struct trace_event *e)
{
	uint64_t key = (uint64_t)e->site << 32 | e->ctx;
	if (e->kind == TRACE_STORE || e->kind == TRACE_FLUSH || e->kind == TRACE_FENCE) {
		uint64_t *told = &s->told[(e->site ^ e->ctx * 31u) % TOLD];
		if (*told == key)
			return;
		*told = key;
	}
	explore_log_add(&s->places, e);
}

static int on_event(void *arg, const struct trace_event *e, struct err *err)
{
	struct explore_slot *s = arg;
	(void)err;
	if (e->kind < TRACE_KINDS)
		s->kind[e->kind]++;
	if (e->kind == TRACE_LOAD || e->kind == TRACE_FILE_READ)
		return 0;
	if (!s->prefix_over) {
		explore_log_add(&s->prefix, e);
		if (s->ready) {
			check_feed(s->ready, e);
			note_covered(s, e);
		}
		s->prefix_stores += e->kind == TRACE_STORE;
		return 0;
	}
	explore_log_add(&s->log, e);
	s->stores += e->kind == TRACE_STORE;
	add_effect(s, e);
	note_place(s, e);
	if (s->run)
		symbolic_run_record(s->run, e);
	return 0;
}

static int on_sym(void *arg, const struct trace_event *e, struct err *err)
{
	struct explore_slot *s = arg;
	(void)err;
	if (!s->prefix_over && s->whole_prefix)
		explore_log_add(&s->prefix, e);
	if (e->kind == TRACE_SYM_LEFT && e->flags < SYM_LEFT_COUNT) {
		struct explore_gone gone = { e->flags, e->ctx, e->ip };
		VEC_PUSH(&s->gone, gone);
	}
	if (e->kind == TRACE_SYM_BRANCH && s->prefix_over) {
		s->branches++;
		s->trail = hash_mix(s->trail, e->ip ^ (uint64_t)e->flags << 56);
		s->trail = hash_mix(s->trail, e->arg[1]);
		note_place(s, e);
	}
	if (s->run)
		symbolic_run_record(s->run, e);
	return 0;
}

/* ---- from start to end ---- */

static void launch_options(struct explore_slot *s, const struct explore_program *how,
			   const struct explore_plan *p)
{
	s->opts = (struct launch_explorer_opts){
		.run = how->run,
		.source = p->source.p,
		.nsource = p->given,
		.seed = p->seed.p[0].byte,
		.fixed = p->fixed,
		.packet = p->packet.p,
		.npacket = p->packet.n,
		.port = how->port,
		.stop = how->stop,
		.timeout = how->timeout,
		.pin = how->pin,
		.fresh = how->no_fork,
		.verify = how->verify,
	};
	s->opts.run.argv = (const char *const *)p->argv;
}

static void forget_prefix(struct explore_slot *s)
{
	explore_log_clear(&s->prefix);
	explore_log_clear(&s->places);
	s->prefix_stores = 0;
	check_free(s->ready);
	s->ready = NULL;
}

struct told {
	struct symbolic *engine;
	const struct trace_defs *defs;
};

static void tell_engine(void *arg, const struct trace_event *e)
{
	struct told *t = arg;
	symbolic_prefix(t->engine, t->defs, e);
}

void explore_slot_prefix(struct explore_slot *s, struct symbolic *engine, bool used)
{
	struct told t = { engine, launch_explorer_defs(s->launch) };
	/* If no run will ask what state it left, what was covered is enough. */
	explore_log_each(used ? &s->prefix : &s->places, t.defs, tell_engine, &t);
}

int explore_slot_start(struct explore_slot *s, const struct explore_program *how,
		       const struct explore_plan *p, const struct check_opts *check, bool *used,
		       struct err *err)
{
	*s = (struct explore_slot){ .whole_prefix = check != NULL };
	launch_options(s, how, p);
	s->launch = launch_explorer_new(&s->opts, on_event, on_sym, s, err);
	if (!s->launch)
		return -1;
	s->told = xcalloc(TOLD, sizeof *s->told);
	/* The first one's prefix is checked while it runs, on the other core. */
	if (check && !(s->ready = check_new(check, launch_explorer_defs(s->launch), err)))
		return -1;
	if (launch_explorer_start(s->launch, used, err))
		return -1;
	s->prefix_over = true;
	if (*used && !launch_explorer_forks(s->launch, NULL))
		forget_prefix(s); /* every run begins with it anew */
	return 0;
}

#define LAST_LINES 10

char *explore_slot_last_words(struct explore_slot *s)
{
	int status = launch_explorer_status(s->launch);
	const char *said = launch_explorer_said(s->launch), *from = said + strlen(said);
	struct buf b = { 0 };
	for (unsigned lines = 0; from > said && (from[-1] != '\n' || ++lines < LAST_LINES);)
		from--;
	if (!status && !*from)
		return NULL;
	buf_printf(&b, "it ended with status %d", status);
	for (const char *nl; *from; from = nl + (*nl == '\n')) {
		nl = from + strcspn(from, "\n");
		buf_printf(&b, "\n  it said: %.*s", (int)(nl - from), from);
	}
	char *text = xasprintf("%.*s", (int)b.n, (const char *)b.p);
	buf_free(&b);
	return text;
}

int explore_slot_go(struct explore_slot *s, struct symbolic_input *in, struct symbolic *engine,
		    struct err *err)
{
	explore_log_clear(&s->log);
	s->gone.n = 0;
	s->effect = s->trail = s->branches = s->last_ip = 0;
	s->stores = s->prefix_stores;
	s->last_ctx = 0;
	symbolic_input_free(&s->input);
	s->input = *in;
	*in = (struct symbolic_input){ 0 };
	if (engine)
		s->run = symbolic_run_begin(engine, &s->input, launch_explorer_defs(s->launch));
	if (launch_explorer_go(s->launch, s->input.byte, s->input.now, err))
		return -1;
	if (s->prefix.n && !launch_explorer_forks(s->launch, NULL)) { /* from now on */
		forget_prefix(s);
		s->stores = 0;
	}
	s->busy = true;
	return 0;
}

int explore_slot_poll(struct explore_slot *s, int ms, struct launch_explorer_run *run,
		      struct err *err)
{
	int over = launch_explorer_poll(s->launch, ms, run, err);
	if (over)
		s->busy = false;
	return over;
}

int explore_slot_try(struct explore_slot *s, const struct symbolic_input *in,
		     const volatile sig_atomic_t *stop, struct launch_explorer_run *run,
		     struct err *err)
{
	struct symbolic_input copy = symbolic_input_copy(in);
	int over = 0;
	if (explore_slot_go(s, &copy, NULL, err))
		return -1;
	while (!over && !*stop)
		over = explore_slot_poll(s, POLL_MS, run, err);
	if (over < 0)
		return -1;
	return over ? 0 : err_set(err, EXIT_PROGRAM, "interrupted");
}

static void feed(void *check, const struct trace_event *e)
{
	if (e->kind < TRACE_KINDS)
		check_feed(check, e);
}

int explore_slot_check(struct explore_slot *s, const struct check_opts *how,
		       struct finding_set *set, struct err *err)
{
	const struct trace_defs *defs = launch_explorer_defs(s->launch);
	struct check *check = s->ready;
	s->ready = NULL;
	if (!check) {
		if (!(check = check_new(how, defs, err)))
			return -1;
		explore_log_each(&s->prefix, defs, feed, check);
	}
	explore_log_each(&s->log, defs, feed, check);
	check_end(check);
	check_report(check, set);
	check_free(check);
	return 0;
}

void explore_slot_end(struct explore_slot *s)
{
	if (s->run)
		symbolic_run_drop(s->run);
	if (s->launch)
		launch_explorer_free(s->launch);
	symbolic_input_free(&s->input);
	check_free(s->ready);
	explore_log_free(&s->prefix);
	explore_log_free(&s->places);
	free(s->told);
	explore_log_free(&s->log);
	VEC_FREE(&s->gone);
	*s = (struct explore_slot){ 0 };
}
