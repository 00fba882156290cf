/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fork server: the command's program, stopped before main by the preloaded library, which
 * forks for each run. So loading and linking are paid for once.
 *
 * A program that does not greet (it is static, or refuses the library) simply runs: then that
 * was an ordinary run, and there will be only such.
 */
#include "runner/internal.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool greeted(struct cell *c, struct proc *p)
{
	(void)c;
	return p->hello;
}

void runner_fast_stop(struct cell *c)
{
	if (!c->server)
		return;
	runner_proc_kill_all(c);
	runner_proc_close(c->server);
	free(c->server);
	c->server = NULL;
}

static int start_server(struct cell *c, struct err *err)
{
	int sv[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return err_errno(err, EXIT_INTERNAL, "cannot make a socket");
	c->server = xcalloc(1, sizeof *c->server);
	int bad = runner_cell_start(c, c->server, &c->command, sv[1], err);
	close(sv[1]);
	if (!bad) {
		c->server->report = sv[0];
		return 0;
	}
	close(sv[0]);
	free(c->server);
	c->server = NULL;
	return -1;
}

static bool begin(struct cell *c)
{
	struct proc *p = c->server;
	p->ended = p->flooded = false;
	p->text.n = 0;
	p->child = 0;
	return p->report >= 0 && send(p->report, "r", 1, MSG_NOSIGNAL) == 1;
}

/* A server whose child has to be killed goes too: its pipe may still hold that one's output. */
static void finish(struct cell *c, enum pump how, struct runner_result *r)
{
	runner_cell_judge(c, &c->command, c->server, how, r);
	if (how == PUMP_ENDED && runner_proc_alone())
		return;
	r->strays = how == PUMP_ENDED;
	runner_fast_stop(c);
}

/* The program went past main without a word. */
static void was_ordinary(struct cell *c, enum pump how, struct runner_result *r)
{
	c->fast = false;
	runner_cell_judge(c, &c->command, c->server, how, r);
	r->strays = runner_proc_kill_all(c) && how == PUMP_ENDED;
	runner_fast_stop(c);
}

bool runner_fast_run(struct cell *c, struct runner_result *r)
{
	struct err err;
	double start = now_seconds();
	if (!c->server && start_server(c, &err)) {
		runner_broken(r, "%s", err.text);
		return true;
	}
	struct proc *p = c->server;
	if (!p->hello) {
		double deadline = runner_deadline_after(c->opts->timeout_ms);
		enum pump how = runner_proc_pump(c, &p, 1, deadline, greeted);
		if (how != PUMP_DONE) {
			r->spent = now_seconds() - start;
			was_ordinary(c, how, r);
			return true;
		}
	}
	start = now_seconds();
	enum pump how = PUMP_ENDED;
	p->lost = !begin(c);
	if (!p->lost)
		how = runner_proc_pump(c, &p, 1, runner_deadline_after(c->patience), NULL);
	r->spent = now_seconds() - start;
	if (!p->lost) {
		finish(c, how, r);
		return true;
	}
	/* The command ended its server too. Whatever it did so far is undone, and it starts over. */
	runner_fast_stop(c);
	c->fast = false;
	if (runner_cell_restore(c, r, &err) || runner_cell_show(c, &err)) {
		runner_broken(r, "%s", err.text);
		return true;
	}
	return false;
}
