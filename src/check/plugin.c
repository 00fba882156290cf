/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Custom oracles: call, survive.
 *
 * A plug-in runs in our process. Before each callback a way back is set; a fatal signal, or a
 * timer that finds the same callback still running, takes it, and the plug-in is not called
 * again. That costs a few instructions per callback and no system call. It does not protect
 * against a plug-in that overwrites our memory.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "check/plugin.h"

typedef void callback(void *, const struct holdfast_event *);

static const struct holdfast_host functions;

/* Callbacks have no argument for the host's own state, and signal handlers have none at all. */
static struct plugins *host;
static struct plugin *running;
static const char *running_what;
static sigjmp_buf way_back;
static volatile sig_atomic_t in_host; /* the plug-in has called us: no time to be interrupted */
static volatile sig_atomic_t overdue; /* … but when it comes out of it */
static volatile uint64_t calls;       /* callbacks begun */
static uint64_t last_calls;
static int ticks, patience;
static bool catches_exit;
static pid_t owner; /* not a child that a plug-in makes */
static struct {
	unsigned users; /* analyses with plug-ins that are awake */
	struct sigaction old[8];
	void *stack;
} guard;

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
#define FATAL (sizeof fatal / sizeof *fatal)
#define EXITED (NSIG + 1) /* instead of a signal: it called exit() */

/* ---- signals ---- */

static void on_fatal(int sig)
{
	if (running)
		siglongjmp(way_back, sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* exit() calls this before anything else is undone, and the way back leads out of it. */
static void on_end(int status, void *arg)
{
	(void)status;
	(void)arg;
	if (!running || getpid() != owner)
		return;
	catches_exit = !on_exit(on_end, NULL);
	siglongjmp(way_back, EXITED);
}

/* In the place of the C library's, for plug-ins and for ourselves. */
void _exit(int status)
{
	if (running && getpid() == owner)
		siglongjmp(way_back, EXITED);
	for (;;)
		syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}

static void on_tick(int sig)
{
	if (!running || calls != last_calls) {
		last_calls = calls;
		ticks = 0;
	} else if (++ticks >= patience) {
		overdue = in_host;
		if (!in_host)
			siglongjmp(way_back, sig);
	}
}

/* Around what a plug-in may call, so that its timer never cuts through our own state. */
static void enter(void)
{
	in_host = 1;
}

static void leave(void)
{
	in_host = 0;
	if (overdue)
		siglongjmp(way_back, SIGALRM);
}

static void guard_on(void)
{
	struct sigaction sa = { .sa_flags = SA_NODEFER | SA_ONSTACK | SA_RESTART };
	struct itimerval every = { { 1, 0 }, { 1, 0 } };
	if (guard.users++)
		return;
	stack_t alt = { .ss_sp = guard.stack = xmalloc(65536), .ss_size = 65536 };
	patience = check_plugin_patience();
	owner = getpid();
	if (!catches_exit)
		catches_exit = !on_exit(on_end, NULL);
	sigaltstack(&alt, NULL);
	sa.sa_handler = on_fatal;
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &sa, &guard.old[i]);
	sa.sa_handler = on_tick;
	sigaction(SIGALRM, &sa, &guard.old[FATAL]);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void guard_off(void)
{
	struct itimerval never = { 0 };
	stack_t none = { .ss_flags = SS_DISABLE };
	if (--guard.users)
		return;
	setitimer(ITIMER_REAL, &never, NULL);
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &guard.old[i], NULL);
	sigaction(SIGALRM, &guard.old[FATAL], NULL);
	sigaltstack(&none, NULL);
	free(guard.stack);
}

static void bury(struct plugin *p, int sig)
{
	const struct trace_event *e = host->event;
	p->dead = true;
	in_host = overdue = 0;
	p->death_where = e ? model_where_of(host->check->model, e) : 0;
	p->death_event = e ? e->num + 1 : 0;
	if (sig == SIGALRM)
		snprintf(p->death, sizeof p->death, "the oracle %s did not return from %s()",
			 p->oracle->name, running_what);
	else if (sig == EXITED)
		snprintf(p->death, sizeof p->death, "the oracle %s called exit() in %s()",
			 p->oracle->name, running_what);
	else
		snprintf(p->death, sizeof p->death, "the oracle %s crashed in %s() (%s)",
			 p->oracle->name, running_what, strsignal(sig));
	msg_warn("%s: %s; its later findings are missing", p->path, p->death);
}

/* Begins a callback; false: it came back here, dead. Only sigsetjmp's caller may return to it,
 * so this is a macro, used in functions that do nothing else. */
#define GUARD(p, what) ((running_what = (what), running = (p), calls++), sigsetjmp(way_back, 0))

static __attribute__((noinline)) void call_start(struct plugin *p)
{
	int sig = GUARD(p, "start");
	if (!sig)
		p->state = p->oracle->start(&functions);
	running = NULL;
	if (sig)
		bury(p, sig);
}

static __attribute__((noinline)) void call_event(struct plugin *p, const char *what, callback *f,
						 const struct holdfast_event *h)
{
	int sig = GUARD(p, what);
	if (!sig)
		f(p->state, h);
	running = NULL;
	if (sig)
		bury(p, sig);
}

static __attribute__((noinline)) void call_end(struct plugin *p)
{
	int sig = GUARD(p, "end");
	if (!sig)
		p->oracle->end(p->state);
	running = NULL;
	if (sig)
		bury(p, sig);
}

/* ---- what a plug-in may ask ---- */

static uint64_t host_where(const struct holdfast_event *e)
{
	uint64_t where;
	(void)e;
	if (!host->event) /* in start() or end() there is none */
		return 0;
	enter();
	where = (uint64_t)model_where_of(host->check->model, host->event) + 1;
	leave();
	return where;
}

/* Did where() give it? */
static bool known(uint64_t where)
{
	return where && where - 1 < model_places(host->check->model);
}

static void host_source(uint64_t where, struct holdfast_source *out)
{
	const struct srcloc_frame *f;
	*out = (struct holdfast_source){ 0 };
	if (!known(where))
		return;
	enter();
	f = finding_main_frame(check_place(host->check, (model_where)(where - 1)));
	if (f)
		*out = (struct holdfast_source){ f->function, f->file, f->line };
	leave();
}

/* 0: not in PM. A plug-in may ask for any process. */
static uint64_t location(uint32_t process, uint64_t addr)
{
	uint64_t loc = 0;
	enter();
	if (process < trace_processes(host->check->defs))
		loc = model_location(host->check->model, process, addr);
	leave();
	return loc;
}

static int host_is_pm(uint32_t process, uint64_t addr)
{
	return location(process, addr) && !model_is_volatile(host->check->model, process, addr);
}

static void host_line(uint32_t process, uint64_t addr, struct holdfast_line *out)
{
	const struct model_line *l =
		location(process, addr) ? model_line_at(host->check->model, process, addr) : NULL;
	*out = (struct holdfast_line){ 0 };
	if (!l)
		return;
	out->pending = model_pending(host->check->model, l);
	out->dirty = l->open & ~out->pending;
	out->ever = l->ever;
}

static void keep_value(const struct trace_event *e)
{
	uint64_t loc = model_location(host->check->model, e->process, e->arg[0]);
	if (loc)
		check_values_put(&host->values, loc, e->data, e->size);
}

static size_t host_value(uint32_t process, uint64_t addr, void *buf, size_t len)
{
	uint64_t loc = model_location(host->check->model, process, addr);
	return loc ? check_values_get(&host->values, loc, buf, len) : 0;
}

static const char *host_describe(uint32_t process, uint64_t addr)
{
	static char text[512];
	uint64_t loc = location(process, addr);
	if (!loc) {
		snprintf(text, sizeof text, "0x%" PRIx64, addr);
		return text;
	}
	return model_key_text(host->check->model, loc / TRACE_LINE, (unsigned)(loc % TRACE_LINE),
			      text, sizeof text);
}

static void host_report(unsigned kind, uint64_t where, uint64_t related, const char *fmt, ...)
{
	struct plugin *p = running;
	char text[512];
	va_list ap;
	bool fresh;
	if (!p || kind >= p->nkinds || !known(where))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap); /* first: it may be what crashes */
	va_end(ap);
	enter();
	struct cause *k = check_cause_hit(&p->findings, (enum finding_kind)kind,
					  (model_where)(where - 1), &fresh);
	if (fresh) {
		k->custom = &p->kind[kind];
		k->event = host->event ? host->event->num : host->check->last.num;
		VEC_PUSH(&p->message, xstrdup(text));
		VEC_PUSH(&p->related, known(related) ? related : 0);
		if (known(related))
			VEC_PUSH(&host->check->wanted, (model_where)(related - 1));
	}
	leave();
}

static const struct holdfast_host functions = {
	HOLDFAST_ORACLE_API, host_where, host_source,   host_is_pm,
	host_line,           host_value, host_describe, host_report,
};

/* Which callback an event is for. */
static callback *callback_for(const struct holdfast_oracle *o, uint8_t kind, const char **what)
{
	switch (kind) {
	case TRACE_STORE: *what = "store"; return o->store;
	case TRACE_FLUSH: *what = "flush"; return o->flush;
	case TRACE_FENCE: *what = "fence"; return o->fence;
	case TRACE_MAP: *what = "map"; return o->map;
	case TRACE_UNMAP: *what = "unmap"; return o->unmap;
	case TRACE_OP_BEGIN: *what = "op_begin"; return o->op_begin;
	case TRACE_OP_END: *what = "op_end"; return o->op_end;
	case TRACE_CALL: *what = "call"; return o->call;
	case TRACE_RETURN: *what = "ret"; return o->ret;
	default: return NULL;
	}
}

void check_plugin_start(struct plugins *ps, struct plugin *p)
{
	p->waits = false;
	ps->asked |= p->oracle->api < 2 || !p->oracle->no_values;
	for (unsigned kind = 0; kind < TRACE_KINDS; kind++) {
		struct plugin_listener l = { .plugin = p };
		l.tell = callback_for(p->oracle, (uint8_t)kind, &l.what);
		l.outside = kind <= TRACE_FENCE && p->oracle->api >= 3 && p->oracle->outside_calls;
		if (!l.tell)
			continue;
		ps->inside_too[kind] |= !l.outside;
		VEC_PUSH(&ps->listener[kind], l);
	}
	if (!ps->awake++)
		guard_on();
	host = ps;
	if (p->oracle->start)
		call_start(p);
}

void check_plugins_stop(struct plugins *ps)
{
	if (host == ps)
		host = NULL;
	if (ps->awake)
		guard_off();
}

/* ---- events ---- */

/* This is done for every store: only what a kind of events has is written. */
static const struct holdfast_event *show(struct plugins *ps, const struct trace_event *e)
{
	unsigned as = e->kind == TRACE_CALL     ? PLUGIN_CALL
		      : e->kind == TRACE_RETURN ? PLUGIN_RETURN
						: PLUGIN_PLAIN;
	struct holdfast_event *h = &ps->shown[as];
	h->num = e->num;
	h->process = e->process;
	h->thread = e->thread;
	h->ip = e->ip;
	h->addr = h->id = e->arg[0];
	h->size = e->kind == TRACE_STORE   ? e->size
		  : e->kind == TRACE_FLUSH ? TRACE_LINE
					   : e->arg[1];
	h->bytes = e->data;
	h->nontemporal = (e->flags & TRACE_F_NT) != 0;
	h->atomic = (e->flags & TRACE_F_ATOMIC) != 0;
	h->by_kernel = (e->flags & TRACE_F_KERNEL) != 0;
	h->unwound = (e->flags & TRACE_F_UNWOUND) != 0;
	if (as == PLUGIN_PLAIN)
		return h;
	h->function = trace_string(ps->check->defs, e->process, (uint32_t)e->arg[0]);
	if (as == PLUGIN_CALL)
		memcpy(h->arg, e->arg + 1, sizeof h->arg);
	else
		memcpy(h->result, e->arg + 1, sizeof h->result);
	return h;
}

/* A call: is it what plug-ins wait for? */
static void wake(struct plugins *ps, const struct trace_event *e)
{
	const char *function = trace_string(ps->check->defs, e->process, (uint32_t)e->arg[0]);
	for (size_t i = 0; i < ps->v.n; i++) {
		struct plugin *p = ps->v.p[i];
		if (!p->waits || !check_named(p->oracle->automatic, function))
			continue;
		p->why = xstrdup(function);
		check_plugin_start(ps, p);
	}
}

/* Does a watched function run in the event's thread? */
static bool is_inside(struct plugins *ps, const struct trace_event *e)
{
	uint32_t thread = model_thread_of(ps->check->model, e);
	while (ps->depth.n <= thread)
		VEC_PUSH(&ps->depth, 0);
	uint32_t *depth = &ps->depth.p[thread];
	if (e->kind == TRACE_CALL)
		++*depth;
	else if (e->kind == TRACE_RETURN && *depth)
		--*depth;
	return *depth;
}

void check_plugins_event(struct plugins *ps, const struct trace_event *e)
{
	const struct holdfast_event *h;
	bool inside;
	if (e->kind == TRACE_CALL && ps->awake < ps->v.n)
		wake(ps, e);
	if (!ps->awake)
		return;
	host = ps;
	if (e->kind == TRACE_STORE && ps->asked)
		keep_value(e);
	if (!ps->listener[e->kind].n && e->kind != TRACE_CALL && e->kind != TRACE_RETURN)
		return;
	inside = is_inside(ps, e);
	if (inside && !ps->inside_too[e->kind])
		return;
	h = show(ps, e);
	ps->event = e;
	for (size_t i = 0; i < ps->listener[e->kind].n; i++) {
		struct plugin_listener l = ps->listener[e->kind].p[i];
		if (!l.plugin->dead && !(inside && l.outside))
			call_event(l.plugin, l.what, l.tell, h);
	}
	ps->event = NULL;
}

static void report_death(struct check *c, struct plugin *p, struct finding_set *out)
{
	struct cause k = { .kind = FINDING_PLUGIN_FAILED, .where = p->death_where, .count = 1 };
	struct finding *f;
	if (p->death_event) {
		k.event = p->death_event - 1;
		f = check_cause_finding(c, &k, "%s", p->death);
	} else {
		f = finding_new(finding_kind_info(FINDING_PLUGIN_FAILED));
		f->message = xstrdup(p->death);
	}
	f->advice = xstrdup("Mend the plug-in, or leave it out.");
	finding_add(out, f);
}

void check_plugins_report(struct plugins *ps, struct finding_set *out)
{
	for (size_t i = 0; i < ps->v.n; i++) {
		struct plugin *p = ps->v.p[i];
		for (size_t k = 0; k < p->findings.causes.v.n; k++) {
			struct cause *c = p->findings.causes.v.p[k];
			struct finding *f =
				check_cause_finding(ps->check, c, "%s", p->message.p[k]);
			check_cause_relate(ps->check, f, "related", "see also", p->related.p[k]);
			finding_add(out, f);
		}
		if (p->dead)
			report_death(ps->check, p, out);
	}
}

void check_plugins_end(struct plugins *ps)
{
	for (size_t i = 0; i < ps->v.n; i++) {
		struct plugin *p = ps->v.p[i];
		host = ps;
		if (!p->dead && !p->waits && p->oracle->end)
			call_end(p);
	}
}
