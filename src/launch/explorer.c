/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program again and again with other inputs: launch.h has the interface, the tool's side
 * is tracer/world/server.c.
 *
 *   forks    one tracer; each run is a child of it, from just before the input's first use
 *   fresh    one tracer for each run: where the program cannot be forked, or one run disturbs
 *            the next, or the caller wants it so
 *
 * A run that has changed what cannot be set back is followed by a restart: a new tracer that goes
 * up to the same point, unheard.
 */
#include "launch/explorer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RESTARTS 3
#define START_TIMEOUT 60.0 /* seconds up to the first use, at least */
#define KILL_AGAIN 1.0

/* ---- what the tracer says ---- */

static int take_event(void *arg, const struct trace_event *ev, struct err *err)
{
	struct launch_explorer *e = arg;
	if (!e->ready)
		e->story = hash_mix(e->story ^ ev->ip, (uint64_t)ev->kind << 32 | ev->size);
	return e->quiet || !e->event ? 0 : e->event(e->arg, ev, err);
}

static int take_sym(void *arg, const struct trace_event *ev, struct err *err)
{
	struct launch_explorer *e = arg;
	if (ev->kind == TRACE_SYM_READY) {
		e->ready = true;
		e->alone = ev->flags == SYM_READY_ALONE;
		if (e->alone && !e->fresh)
			e->quiet = true; /* this process will not be listened to */
	}
	if (ev->kind == TRACE_SYM_DIRTIED)
		e->dirtied = true;
	if (ev->kind == TRACE_SYM_END)
		e->over = true;
	return e->quiet || !e->sym ? 0 : e->sym(e->arg, ev, err);
}

/* ---- new and free ---- */

static int open_control(struct launch_explorer *e, struct err *err)
{
	void *m = MAP_FAILED;
	e->control_fd = memfd_create("holdfast-explore", MFD_CLOEXEC);
	if (e->control_fd >= 0 && !ftruncate(e->control_fd, sizeof *e->control))
		m = mmap(NULL, sizeof *e->control, PROT_READ | PROT_WRITE, MAP_SHARED,
			 e->control_fd, 0);
	if (m == MAP_FAILED)
		return err_errno(err, EXIT_INTERNAL, "cannot set up shared memory for the tracer");
	e->control = m;
	e->control->magic = SYM_MAGIC;
	e->control->pin = e->opts.pin;
	e->control->mounts_fd = -1;
	return 0;
}

static int set_sources(struct launch_explorer *e, struct err *err)
{
	const struct launch_explorer_opts *o = &e->opts;
	struct sym_control *c = e->control;
	size_t bytes = 0;
	if (o->nsource > SYM_MAX_SOURCES)
		return err_set(err, EXIT_USAGE, "more than %u symbolic inputs", SYM_MAX_SOURCES);
	for (size_t i = 0; i < o->nsource; i++) {
		const struct sym_source *s = &o->source[i];
		c->source[i] = *s;
		if ((uint64_t)s->first + s->len > SYM_MAX_INPUT)
			return err_set(err, EXIT_USAGE, "more than %u symbolic bytes",
				       SYM_MAX_INPUT);
		if (s->first + s->len > bytes)
			bytes = s->first + s->len;
		if (s->kind == SYM_SRC_SOCKET)
			e->talk = launch_talk_new(e);
		if (s->kind != SYM_SRC_STDIN)
			continue;
		e->file[i].fd = memfd_create("stdin", MFD_CLOEXEC);
		if (e->file[i].fd < 0)
			return err_errno(err, EXIT_INTERNAL, "cannot make a file for stdin");
	}
	c->nsources = (uint32_t)o->nsource;
	if (o->seed)
		memcpy(c->input, o->seed, bytes);
	if (o->fixed)
		memcpy(c->fixed_byte, o->fixed, bytes);
	return 0;
}

static int open_output(struct launch_explorer *e, struct err *err)
{
	if (!e->opts.output)
		return 0;
	e->output = open(e->opts.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return e->output < 0 ? err_errno(err, EXIT_USAGE, "cannot write %s", e->opts.output) : 0;
}

struct launch_explorer *launch_explorer_new(const struct launch_explorer_opts *opts,
					    trace_sink *event, trace_sink *sym, void *arg,
					    struct err *err)
{
	struct launch_explorer *e = xcalloc(1, sizeof *e);
	e->opts = *opts;
	e->event = event;
	e->sym = sym;
	e->arg = arg;
	e->output = e->control_fd = e->dial = e->guard = -1;
	e->fresh = opts->fresh;
	for (size_t i = 0; i < SYM_MAX_SOURCES; i++)
		e->file[i].fd = -1;
	char *path = launch_resolve(opts->run.argv[0], err);
	bool bad = !path || launch_check_program(path, err) ||
		   !(e->libexec = launch_find_libexec(err)) ||
		   !(e->valgrind = launch_find_valgrind(err)) || open_control(e, err) ||
		   set_sources(e, err) || open_output(e, err) ||
		   launch_explorer_view_choose(e, path, err) ||
		   !(e->live = trace_live_new(NULL, take_event, e, err));
	free(path);
	if (bad) {
		launch_explorer_free(e);
		return NULL;
	}
	trace_live_sym(e->live, take_sym);
	return e;
}

void launch_explorer_free(struct launch_explorer *e)
{
	if (!e)
		return;
	launch_explorer_kill(e);
	launch_explorer_view_close(e);
	launch_talk_free(e->talk);
	for (size_t i = 0; i < SYM_MAX_SOURCES; i++) {
		if (e->file[i].fd >= 0)
			close(e->file[i].fd);
		free(e->file[i].truth);
	}
	trace_live_free(e->live);
	if (e->control)
		munmap(e->control, sizeof *e->control);
	if (e->control_fd >= 0)
		close(e->control_fd);
	if (e->output >= 0)
		close(e->output);
	free(e->libexec);
	free(e->valgrind);
	free(e);
}

/* ---- up to the first use ---- */

/* Has the tracer ended? Its status is kept. */
static bool is_gone(struct launch_explorer *e)
{
	int status;
	if (e->pid && waitpid(e->pid, &status, WNOHANG) == e->pid) {
		e->status = status;
		e->pid = 0;
	}
	return !e->pid;
}

/* All that was said before now. */
static int drain(struct launch_explorer *e, struct err *err)
{
	int n;
	while ((n = trace_live_poll(e->live, 0, err)) > 0)
		;
	return n;
}

static double start_timeout(const struct launch_explorer *e)
{
	return e->opts.timeout > START_TIMEOUT ? e->opts.timeout : START_TIMEOUT;
}

/* Boots a tracer and waits until it stands before the first use, or has ended. */
static int reach(struct launch_explorer *e, struct err *err)
{
	double end = now_seconds() + start_timeout(e);
	trace_live_reset(e->live);
	e->story = 0;
	if (launch_explorer_boot(e, err))
		return -1;
	while (!e->ready) {
		bool gone = is_gone(e);
		if (gone ? drain(e, err) < 0 : trace_live_poll(e->live, 20, err) < 0)
			return -1;
		if (gone)
			break;
		if (now_seconds() > end) {
			launch_explorer_kill(e);
			return err_set(err, EXIT_PROGRAM,
				       "the program did not get to its input in %.0f seconds",
				       start_timeout(e));
		}
	}
	if (!trace_processes(trace_live_defs(e->live)))
		return err_set(err, EXIT_PROGRAM,
			       "the tracer did not start; valgrind ended with status %d",
			       WIFEXITED(e->status) ? WEXITSTATUS(e->status) : 0);
	return e->ready && !e->alone ? launch_explorer_truth(e, err) : 0;
}

static void become_fresh(struct launch_explorer *e, const char *why)
{
	launch_explorer_kill(e);
	e->fresh = true;
	e->quiet = false;
	e->prefix = 0;
	snprintf(e->why, sizeof e->why, "%s", why);
	trace_live_reset(e->live);
}

int launch_explorer_start(struct launch_explorer *e, bool *used, struct err *err)
{
	*used = true;
	e->started = true;
	if (e->fresh) {
		snprintf(
			e->why, sizeof e->why, "%s",
			e->opts.fresh
				? "each run is a process of its own, as wanted"
				: "a server that waits to be forked would keep the port, which runs "
				  "without the tracer need as well");
		return 0;
	}
	if (reach(e, err))
		return -1;
	*used = e->ready;
	e->prefix = trace_live_events(e->live);
	if (e->alone) {
		char why[sizeof e->control->text];
		memcpy(why, e->control->text, sizeof why);
		why[sizeof why - 1] = '\0';
		become_fresh(e, why);
	}
	return 0;
}

bool launch_explorer_forks(const struct launch_explorer *e, const char **why_not)
{
	if (why_not)
		*why_not = e->fresh ? e->why : NULL;
	return !e->fresh;
}

static int restart(struct launch_explorer *e, struct err *err)
{
	launch_explorer_kill(e);
	if (++e->restarts >= MAX_RESTARTS) {
		become_fresh(e, "its runs change what later ones would see");
		return 0;
	}
	uint64_t story = e->story;
	e->quiet = true;
	int bad = reach(e, err);
	e->quiet = false;
	if (!bad && (!e->ready || e->alone))
		become_fresh(e, "it does not always come to the same point");
	else if (!bad && (trace_live_events(e->live) != e->prefix || e->story != story))
		become_fresh(e, "it does not always do the same before it uses the input");
	return bad;
}

/* ---- a run ---- */

static void wake(uint32_t *at)
{
	syscall(SYS_futex, at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void start_talk(struct launch_explorer *e)
{
	for (size_t i = 0; i < e->opts.nsource; i++) {
		const struct sym_source *s = &e->control->source[i];
		if (s->kind == SYM_SRC_SOCKET)
			launch_talk_start(e->talk, e->control->input + s->first, s->now);
	}
}

int launch_explorer_go(struct launch_explorer *e, const uint8_t *input, const uint32_t *now,
		       struct err *err)
{
	struct sym_control *c = e->control;
	if (!e->fresh && (e->dirtied || is_gone(e)) && restart(e, err))
		return -1;
	if (launch_explorer_input(e, input, now, err))
		return -1;
	memset(c->cover, 0, c->nblocks < SYM_MAX_BLOCKS ? c->nblocks : SYM_MAX_BLOCKS);
	c->taken = c->idle = 0;
	e->hung = e->dirtied = e->over = false;
	e->killed = 0;
	e->began = now_seconds();
	if (e->fresh) {
		trace_live_reset(e->live);
		if (launch_explorer_boot(e, err))
			return -1;
	} else {
		if (e->ended) /* not before: who looks at the last run needs its files */
			trace_live_rewind(e->live, c->base);
		__atomic_add_fetch(&c->go, 1, __ATOMIC_RELEASE);
		wake(&c->go);
	}
	e->running = true;
	if (e->talk)
		start_talk(e);
	return 0;
}

static bool has_ended(struct launch_explorer *e)
{
	if (e->fresh)
		return is_gone(e);
	return __atomic_load_n(&e->control->ended, __ATOMIC_ACQUIRE) != e->ended;
}

/* Who is running: the server's child, or the tracer itself; 0: it has not begun. */
static pid_t runner(const struct launch_explorer *e)
{
	const struct sym_control *c = e->control;
	if (e->fresh)
		return e->pid;
	return __atomic_load_n(&c->started, __ATOMIC_ACQUIRE) > e->ended ? (pid_t)c->pid : 0;
}

static void enforce_limit(struct launch_explorer *e)
{
	double now = now_seconds();
	pid_t pid = runner(e);
	if (e->opts.timeout <= 0 || now < e->began + e->opts.timeout || !pid ||
	    now < e->killed + KILL_AGAIN)
		return;
	e->hung = true;
	e->killed = now;
	kill(pid, SIGKILL);
}

static int end_run(struct launch_explorer *e, struct launch_explorer_run *run, struct err *err)
{
	int bad = drain(e, err), status = e->fresh ? e->status : (int)e->control->status;
	e->running = false;
	if (!e->fresh)
		launch_explorer_view_ended(e, e->ended++);
	*run = (struct launch_explorer_run){ .hung = e->hung,
					     .dirtied = e->dirtied,
					     .seconds = now_seconds() - e->began };
	if (WIFSIGNALED(status)) {
		run->signal = WTERMSIG(status);
		run->status = 128 + run->signal;
	} else {
		run->status = WEXITSTATUS(status);
	}
	if (e->talk && run->signal && launch_talk_stopped(e->talk, run->signal))
		run->signal = run->status = 0;
	return bad < 0 ? -1 : 1;
}

/* The server has ended in the middle of a run: the tool itself failed, or memory is short. */
static int server_lost(struct launch_explorer *e, struct launch_explorer_run *run, struct err *err)
{
	int bad = drain(e, err);
	e->running = false;
	e->dirtied = true;
	*run = (struct launch_explorer_run){ .status = 128 + SIGKILL,
					     .signal = SIGKILL,
					     .hung = e->hung,
					     .dirtied = true,
					     .seconds = now_seconds() - e->began };
	return bad < 0 ? -1 : 1;
}

static int wait_ms(const struct launch_explorer *e, int ms)
{
	double left = e->opts.timeout > 0 ? e->began + e->opts.timeout - now_seconds() : 1000;
	int until = left <= 0 ? 10 : left > 1000 ? 1000000 : (int)(left * 1000) + 1;
	if (e->talk && launch_talk_wait(e->talk) < until)
		until = launch_talk_wait(e->talk);
	if (e->fresh && until > 2) /* nobody rings when a process has ended */
		until = 2;
	return ms < until ? ms : until;
}

int launch_explorer_poll(struct launch_explorer *e, int ms, struct launch_explorer_run *run,
			 struct err *err)
{
	double end = now_seconds() + ms / 1000.0;
	if (!e->running)
		return 0;
	for (;;) {
		uint32_t bell = trace_live_bell(e->live);
		if (has_ended(e))
			return end_run(e, run, err);
		if (!e->fresh && is_gone(e))
			return server_lost(e, run, err);
		if (e->talk)
			launch_talk_step(e->talk, e, runner(e));
		enforce_limit(e);
		int left = (int)((end - now_seconds()) * 1000);
		int wait = wait_ms(e, left > 0 ? left : 0);
		double before = now_seconds();
		int n = trace_live_step(e->live, bell, wait, err);
		if (n < 0)
			return -1;
		bool early = n == 0 && trace_live_bell(e->live) == bell && /* a signal came */
			     now_seconds() - before < wait / 1000.0;
		if (!has_ended(e) && (now_seconds() >= end || early))
			return 0;
	}
}

const struct trace_defs *launch_explorer_defs(const struct launch_explorer *e)
{
	return trace_live_defs(e->live);
}

int launch_explorer_status(const struct launch_explorer *e)
{
	return WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status) : WEXITSTATUS(e->status);
}

const char *launch_explorer_said(struct launch_explorer *e)
{
	const struct sym_control *c = e->control;
	uint32_t end = c->said, n = end < SYM_MAX_SAID ? end : SYM_MAX_SAID;
	for (uint32_t i = 0; i < n; i++) {
		char ch = c->said_text[(end - n + i) % SYM_MAX_SAID];
		bool control = (unsigned char)ch < ' ' || ch == 127;
		e->said[i] = control && ch != '\n' && ch != '\t' ? '?' : ch;
	}
	while (n && (e->said[n - 1] == '\n' || e->said[n - 1] == ' '))
		n--;
	e->said[n] = '\0';
	return e->said;
}

uint64_t launch_explorer_prefix(const struct launch_explorer *e)
{
	return e->prefix;
}

const uint64_t *launch_explorer_blocks(const struct launch_explorer *e, const uint8_t **cover,
				       size_t *n)
{
	*cover = e->control->cover;
	*n = e->control->nblocks < SYM_MAX_BLOCKS ? e->control->nblocks : SYM_MAX_BLOCKS;
	return e->control->block;
}

const struct sym_source *launch_explorer_sources(const struct launch_explorer *e, size_t *n,
						 const uint8_t **input)
{
	*n = e->control->nsources < SYM_MAX_SOURCES ? e->control->nsources : SYM_MAX_SOURCES;
	*input = e->control->input;
	return e->control->source;
}
