/* SPDX-License-Identifier: BSD-3-Clause */
/* One explorer: the program, started once, and the events of the run that it makes now. */
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

#define POLL_MS 100

/* ---- copies of events ---- */

/* Its arguments follow, then its data, which ends at a multiple of 8. The ip is the site's. */
struct packed {
	uint32_t num; /* from the log's first event */
	uint32_t site, ctx, thread, size;
	uint8_t kind, flags, nargs, process;
};

void explore_log_add(struct explore_log *log, const struct trace_event *e)
{
	static const char zero[8];
	uint32_t size = e->data ? e->size : 0;
	if (!log->n++)
		log->first = e->num;
	struct packed p = { (uint32_t)(e->num - log->first),
			    e->site,
			    e->ctx,
			    e->thread,
			    size,
			    e->kind,
			    e->flags,
			    e->nargs,
			    (uint8_t)e->process };
	buf_add(&log->bytes, &p, sizeof p);
	buf_add(&log->bytes, e->arg, e->nargs * sizeof *e->arg);
	buf_add(&log->bytes, e->data, size);
	buf_add(&log->bytes, zero, -size % 8);
}

#define KNOWN 1024u /* places that were asked for last */

struct known_site {
	uint64_t ip;
	uint32_t process, site;
};

static uint64_t ip_of(const struct trace_defs *defs, struct known_site *known, uint32_t process,
		      uint32_t site)
{
	struct known_site *k = &known[site % KNOWN];
	if (k->site != site || k->process != process) {
		const struct trace_site_def *def = trace_site(defs, process, site);
		*k = (struct known_site){ def ? def->ip : 0, process, site };
	}
	return k->ip;
}

void explore_log_each(const struct explore_log *log, const struct trace_defs *defs,
		      void (*each)(void *, const struct trace_event *), void *arg)
{
	struct known_site *known = xcalloc(KNOWN, sizeof *known);
	known[0].site = UINT32_MAX; /* not even the first is known */
	for (size_t at = 0; at < log->bytes.n;) {
		struct packed p;
		struct trace_event e = { 0 };
		memcpy(&p, log->bytes.p + at, sizeof p);
		at += sizeof p;
		e.num = log->first + p.num;
		e.kind = p.kind;
		e.flags = p.flags;
		e.nargs = p.nargs;
		e.process = p.process;
		e.thread = p.thread;
		e.site = p.site;
		e.ctx = p.ctx;
		e.size = p.size;
		e.ip = ip_of(defs, known, p.process, p.site);
		memcpy(e.arg, log->bytes.p + at, p.nargs * sizeof *e.arg);
		at += p.nargs * sizeof *e.arg;
		e.data = p.size ? (const uint8_t *)log->bytes.p + at : NULL;
		at += (p.size + 7u) / 8 * 8;
		each(arg, &e);
	}
	free(known);
}

void explore_log_free(struct explore_log *log)
{
	buf_free(&log->bytes);
	*log = (struct explore_log){ 0 };
}

static void log_clear(struct explore_log *log)
{
	log->bytes.n = 0;
	log->first = log->n = 0;
}

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

/* Two runs of one shape do the same to the same places: what one shows the other shows too. */
static void add_shape(struct explore_slot *s, const struct trace_event *e)
{
	if (!changes_pm(e))
		return;
	s->shape = hash_mix(s->shape, e->ip ^ (uint64_t)e->kind << 56);
	s->shape = hash_mix(s->shape, e->nargs ? e->arg[0] : 0);
	s->shape = hash_mix(s->shape, (uint64_t)e->ctx << 32 | e->size);
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
		uint64_t *told = &s->told[(e->site ^ e->ctx * 31u) % KNOWN];
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
		s->x->kind[e->kind]++;
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
	add_shape(s, e);
	note_place(s, e);
	if (s->run)
		symbolic_run_record(s->run, e);
	return 0;
}

static int on_sym(void *arg, const struct trace_event *e, struct err *err)
{
	struct explore_slot *s = arg;
	(void)err;
	if (!s->prefix_over && s == s->x->slot)
		explore_log_add(&s->prefix, e);
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

static unsigned port_of(const struct explore_opts *o)
{
	return o->run.port ? (unsigned)strtoul(o->run.port, NULL, 10) : 0;
}

static void launch_options(const struct explore *x, struct launch_explorer_opts *lo)
{
	const struct explore_plan *p = x->plan;
	struct run_opts run = x->o->run;
	run.client = run.port = run.ready = run.stop = NULL;
	struct launch_opts ro = run_launch_opts(&run, p->argv, NULL, 0);
	x->o->run.watch = run.watch; /* its array may have moved */
	*lo = (struct launch_explorer_opts){
		.run = ro,
		.source = p->source.p,
		.nsource = p->given,
		.seed = p->seed.p[0].byte,
		.fixed = p->fixed,
		.packet = p->packet.p,
		.npacket = p->packet.n,
		.port = port_of(x->o),
		.stop = x->o->run.stop,
		.timeout = x->run_limit,
		.pin = x->o->pin,
		.fresh = x->o->no_fork,
		.verify = x->o->verify,
	};
}

static void forget_prefix(struct explore_slot *s)
{
	log_clear(&s->prefix);
	log_clear(&s->places);
	s->prefix_stores = 0;
	check_free(s->ready);
	s->ready = NULL;
}

static void tell_engine(void *arg, const struct trace_event *e)
{
	struct explore_slot *s = arg;
	symbolic_prefix(s->x->sym, launch_explorer_defs(s->launch), e);
}

void explore_slot_prefix(struct explore_slot *s, bool used)
{
	/* If no run will ask what state it left, what was covered is enough. */
	explore_log_each(used ? &s->prefix : &s->places, launch_explorer_defs(s->launch),
			 tell_engine, s);
}

int explore_slot_start(struct explore_slot *s, struct explore *x, bool *used, struct err *err)
{
	*s = (struct explore_slot){ .x = x };
	launch_options(x, &s->opts);
	s->launch = launch_explorer_new(&s->opts, on_event, on_sym, s, err);
	if (!s->launch)
		return -1;
	s->told = xcalloc(KNOWN, sizeof *s->told);
	/* The first one's prefix is checked while it runs, on the other core. */
	if (s == x->slot && !(s->ready = explore_check_new(x, s, err)))
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

int explore_slot_go(struct explore_slot *s, struct symbolic_input *in, bool tell, struct err *err)
{
	log_clear(&s->log);
	s->shape = s->trail = s->branches = s->last_ip = 0;
	s->stores = s->prefix_stores;
	s->last_ctx = 0;
	symbolic_input_free(&s->input);
	s->input = *in;
	*in = (struct symbolic_input){ 0 };
	if (tell)
		s->run = symbolic_run_begin(s->x->sym, &s->input, launch_explorer_defs(s->launch));
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
		     struct launch_explorer_run *run, struct err *err)
{
	struct symbolic_input copy = explore_copy(in);
	int over = 0;
	if (explore_slot_go(s, &copy, false, err))
		return -1;
	while (!over && !explore_interrupted())
		over = explore_slot_poll(s, POLL_MS, run, err);
	if (over < 0)
		return -1;
	return over ? 0 : err_set(err, EXIT_PROGRAM, "interrupted");
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
	*s = (struct explore_slot){ 0 };
}
