/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that serves: it does nothing until a client asks, and does not end by itself.
 *
 *   WAITING ──ready──▶ SERVING ──client ended──▶ STOPPING ──program ended──▶ OVER
 *      │                  └──────program ended, then the client──────────────▶┘
 *      └── the program ended, or took too long: an error
 *
 * Ready: something listens on --port, which the kernel tells without being connected to, and
 * a line of output has matched --ready; where only one is given, that one. The client runs in
 * a process group of its own, so that all of it can be ended.
 */
#include "launch/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT 60
#define LOOK_EVERY 0.05 /* seconds, at the table of sockets */
#define LAST_WORDS 1.0
#define TCP_LISTENING 0x0a

enum phase { WAITING, SERVING, STOPPING, OVER };

struct server {
	const struct launch_opts *o;
	struct relay *relay; /* NULL: without --ready */
	int signal;          /* that stops it; 0: the command does */
	enum phase phase;
	double deadline, looked;
	pid_t client, stopper; /* leaders of their process groups; 0: none, or ended */
	int client_status;
	unsigned images; /* the program's, when it was told to stop */
	bool listens, late, signalled;
};

static unsigned timeout(const struct server *s)
{
	return s->o->ready_timeout ? s->o->ready_timeout : DEFAULT_TIMEOUT;
}

/* "TERM", "SIGTERM" or "15"; 0: not a signal, so a command. */
int launch_server_signal_named(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end)
		return n > 0 && n < NSIG ? (int)n : 0;
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	for (int sig = 1; sig < NSIG; sig++) {
		const char *known = sigabbrev_np(sig);
		if (known && !strcmp(known, name))
			return sig;
	}
	return 0;
}

/* A line of /proc/net/tcp: "  0: 0100007F:1F90 00000000:0000 0A …", addresses may be longer. */
static bool line_listens(const char *line, unsigned port)
{
	unsigned local, state;
	return sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2 &&
	       local == port && state == TCP_LISTENING;
}

static bool table_listens(const char *path, unsigned port)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof line, f))
		found = line_listens(line, port);
	fclose(f);
	return found;
}

bool launch_server_port_listens(unsigned port)
{
	return table_listens("/proc/self/net/tcp", port) ||
	       table_listens("/proc/self/net/tcp6", port);
}

static int check(const struct launch_opts *o, struct err *err)
{
	if (!o->port && !o->ready)
		return err_set(
			err, EXIT_USAGE,
			"--client needs --port or --ready, to know when the program is ready");
	if (o->port > 65535)
		return err_set(err, EXIT_USAGE, "--port needs a number from 1 to 65535");
	if (o->port && launch_server_port_listens(o->port))
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
	s->signal = o->stop ? launch_server_signal_named(o->stop) : SIGTERM;
	if (o->ready && !(s->relay = launch_relay_new(o->ready, err))) {
		free(s);
		return NULL;
	}
	return s;
}

void launch_server_free(struct server *s)
{
	if (!s)
		return;
	launch_relay_free(s->relay);
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

static pid_t shell(const char *command)
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
	*pid = shell(command);
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

static bool is_ready(struct server *s)
{
	if (s->o->port && !s->listens) {
		if (now_seconds() < s->looked + LOOK_EVERY)
			return false;
		s->looked = now_seconds();
		s->listens = launch_server_port_listens(s->o->port);
	}
	return (!s->o->port || s->listens) && (!s->relay || launch_relay_seen(s->relay));
}

static int not_ready(const struct server *s, const char *what, struct err *err)
{
	if (s->o->port && !s->listens)
		return err_set(err, EXIT_PROGRAM, "%s: nothing listened on port %u", what,
			       s->o->port);
	return err_set(err, EXIT_PROGRAM, "%s: no line of its output matched '%s'", what,
		       s->o->ready);
}

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
	if (is_ready(s)) {
		s->phase = SERVING;
		s->late = false;
		return start_shell(s->o->client, &s->client, err);
	}
	if (p->ended && !said_all(s))
		return 0;
	if (p->ended) {
		snprintf(what, sizeof what, "the program ended with status %d before it was ready",
			 p->status);
		return not_ready(s, what, err);
	}
	if (now_seconds() < s->deadline)
		return 0;
	snprintf(what, sizeof what, "the program was not ready after %u second%s", timeout(s),
		 timeout(s) == 1 ? "" : "s");
	return not_ready(s, what, err);
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
