/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that serves: it does nothing until a client asks, and does not end by itself.
 *
 *   WAITING ──ready──▶ SERVING ──client ended──▶ STOPPING ──program ended──▶ OVER
 *      │                  └──────program ended, then the client──────────────▶┘
 *      └── the program ended, or took too long: an error
 *
 * The client runs in a process group of its own, so that all of it can be ended.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT 60
#define LOOK_EVERY 0.05 /* seconds, at the table of sockets */
#define LAST_WORDS 1.0

enum phase { WAITING, SERVING, STOPPING, OVER };

struct server {
	const struct launch_opts *o;
	struct sandbox_ready *ready;
	struct relay *relay; /* NULL: without --ready */
	int signal;          /* that stops it; 0: the command does */
	enum phase phase;
	double deadline;
	pid_t client, stopper; /* leaders of their process groups; 0: none, or ended */
	int client_status;
	unsigned images; /* the program's, when it was told to stop */
	bool late, signalled;
};

static unsigned timeout(const struct server *s)
{
	return s->o->ready_timeout ? s->o->ready_timeout : DEFAULT_TIMEOUT;
}

static int check(const struct launch_opts *o, struct err *err)
{
	if (!o->port && !o->ready)
		return err_set(
			err, EXIT_USAGE,
			"--client needs --port or --ready, to know when the program is ready");
	if (o->port > 65535)
		return err_set(err, EXIT_USAGE, "--port needs a number from 1 to 65535");
	if (o->port && sandbox_listens(0, o->port, NULL))
		return err_set(
			err, EXIT_PROGRAM,
			"something listens on port %u already, before the program has started",
			o->port);
	return 0;
}

struct server *launch_server_new(const struct launch_opts *o, struct err *err)
{
	if (check(o, err))
		return NULL;
	struct server *s = xcalloc(1, sizeof *s);
	s->o = o;
	s->signal = o->stop ? sandbox_signal_named(o->stop) : SIGTERM;
	s->ready = sandbox_ready_new(o->port, o->ready, LOOK_EVERY, err);
	if (!s->ready) {
		free(s);
		return NULL;
	}
	if (o->ready)
		s->relay = launch_relay_new(s->ready);
	return s;
}

void launch_server_free(struct server *s)
{
	if (!s)
		return;
	launch_relay_free(s->relay);
	sandbox_ready_free(s->ready);
	free(s);
}

int launch_server_open(struct server *s, struct err *err)
{
	s->deadline = now_seconds() + timeout(s);
	return s->relay ? launch_relay_open(s->relay, err) : 0;
}

void launch_server_become(const struct server *s)
{
	if (s->relay)
		launch_relay_become(s->relay);
}

int launch_server_started(struct server *s, struct err *err)
{
	return s->relay ? launch_relay_start(s->relay, err) : 0;
}

/* ---- the client, and the command that stops the program ---- */

pid_t launch_server_shell(const char *command)
{
	fflush(NULL);
	pid_t parent = getpid(), pid = fork();
	if (pid)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_INTERNAL);
	int null = open("/dev/null", O_RDONLY); /* the terminal, or --stdin, is the program's */
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int start_shell(const char *command, pid_t *pid, struct err *err)
{
	*pid = launch_server_shell(command);
	if (*pid < 0) {
		*pid = 0;
		return err_errno(err, EXIT_INTERNAL, "cannot start a process");
	}
	setpgid(*pid, *pid); /* whoever comes first */
	return 0;
}

pid_t launch_server_client(const struct server *s)
{
	return s->client ? s->client : s->stopper;
}

bool launch_server_reaped(struct server *s, pid_t pid, int shell_status)
{
	if (pid == s->client) {
		s->client = 0;
		s->client_status = shell_status;
		return true;
	}
	if (pid != s->stopper)
		return false;
	s->stopper = 0;
	if (shell_status)
		msg_warn("the command of --stop ended with status %d", shell_status);
	return true;
}

static void end_group(pid_t leader)
{
	if (leader > 0)
		kill(-leader, SIGKILL);
}

void launch_server_kill(const struct server *s)
{
	end_group(s->client);
	end_group(s->stopper);
}

/* ---- from one phase to the next ---- */

/* The program has ended; has all that it said been looked at? Its children may hold the pipe. */
static bool said_all(struct server *s)
{
	if (!s->relay || launch_relay_drained(s->relay))
		return true;
	if (!s->late) {
		s->late = true;
		s->deadline = now_seconds() + LAST_WORDS;
	}
	return now_seconds() > s->deadline;
}

static int wait_until_ready(struct server *s, const struct server_program *p, struct err *err)
{
	char what[128];
	if (p->ended && p->interrupted) {
		s->phase = OVER;
		return 0;
	}
	if (sandbox_ready_now(s->ready)) {
		s->phase = SERVING;
		s->late = false;
		return start_shell(s->o->client, &s->client, err);
	}
	if (p->ended && !said_all(s))
		return 0;
	if (p->ended) {
		snprintf(what, sizeof what, "the program ended with status %d before it was ready",
			 p->status);
		return sandbox_ready_lacks(s->ready, what, err);
	}
	if (now_seconds() < s->deadline)
		return 0;
	snprintf(what, sizeof what, "the program was not ready after %u second%s", timeout(s),
		 timeout(s) == 1 ? "" : "s");
	return sandbox_ready_lacks(s->ready, what, err);
}

static void tell(struct server *s, const struct server_program *p)
{
	s->signalled = true;
	s->images = p->images;
	launch_server_signal(p, s->signal ? s->signal : SIGTERM);
}

static int stop(struct server *s, const struct server_program *p, struct err *err)
{
	s->phase = p->ended ? OVER : STOPPING;
	s->deadline = now_seconds() + timeout(s);
	if (p->ended)
		return 0;
	if (!s->signal && !p->interrupted)
		return start_shell(s->o->stop, &s->stopper, err);
	tell(s, p);
	return 0;
}

/* The client goes on although there is nobody to serve it: it should notice. */
static void wait_for_client(struct server *s)
{
	if (!s->late) {
		s->late = true;
		s->deadline = now_seconds() + timeout(s);
	} else if (now_seconds() > s->deadline) {
		msg_warn("the client went on for %u seconds after the program had ended: killed",
			 timeout(s));
		end_group(s->client);
		s->deadline = now_seconds() + timeout(s);
	}
}

static void wait_for_end(struct server *s, const struct server_program *p)
{
	if (p->ended && !s->stopper) {
		s->phase = OVER;
	} else if (s->signalled && p->images != s->images) {
		tell(s, p); /* Valgrind loses signals that come in the middle of an exec */
	} else if (now_seconds() > s->deadline || p->interrupted > 1) {
		if (!p->interrupted)
			msg_warn("the program did not end within %u seconds after --stop: killed",
				 timeout(s));
		end_group(s->stopper);
		if (!p->ended)
			launch_server_signal(p, SIGKILL);
		s->deadline = now_seconds() + timeout(s);
	}
}

int launch_server_step(struct server *s, const struct server_program *p, struct err *err)
{
	switch (s->phase) {
	case WAITING: return wait_until_ready(s, p, err);
	case SERVING:
		if (!s->client)
			return stop(s, p, err);
		if (p->ended)
			wait_for_client(s);
		return 0;
	case STOPPING: wait_for_end(s, p); return 0;
	case OVER: return 0;
	}
	return 0;
}

bool launch_server_over(const struct server *s)
{
	return s->phase == OVER;
}

void launch_server_finish(struct server *s, struct launch_result *res)
{
	if (s->relay)
		launch_relay_finish(s->relay);
	res->client_status = s->client_status;
	if (s->signalled && res->signal == (s->signal ? s->signal : SIGTERM)) {
		res->signal = 0; /* as it was told to */
		res->status = 0;
	}
}
