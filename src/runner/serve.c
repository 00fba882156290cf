/* SPDX-License-Identifier: BSD-3-Clause */
/* A server as recovery: start it, wait until it is up, let the client judge, stop it. */
#include "runner/internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_S 0.05 /* for a server whose client has failed to end too */

static bool is_up(struct cell *c, struct proc *server)
{
	const struct buf *text = &server->text;
	if (text->n > server->looked)
		sandbox_ready_saw(c->ready, 0, text->p + server->looked, text->n - server->looked);
	server->looked = text->n;
	return sandbox_ready_now(c->ready);
}

static void stop(struct cell *c, struct proc *server)
{
	struct proc p, *list[] = { server, &p };
	double deadline = runner_deadline_after(c->opts->timeout_ms);
	if (server->ended)
		return;
	if (c->stop_signal) {
		kill(server->pid, c->stop_signal);
		runner_proc_pump(c, list, 1, deadline, NULL);
		return;
	}
	if (runner_cell_start(c, &p, &c->stop, -1, NULL))
		return;
	runner_proc_pump(c, list, 2, deadline, NULL);
	runner_proc_close(&p);
}

/* Both their outputs, the server's first. */
static void join_output(struct runner_result *r, const struct buf *server)
{
	struct buf b = { 0 };
	size_t n = server->n < OUTPUT_KEPT / 2 ? server->n : OUTPUT_KEPT / 2;
	buf_add(&b, server->p + server->n - n, n);
	size_t rest = r->noutput < OUTPUT_KEPT - n ? r->noutput : OUTPUT_KEPT - n;
	buf_add(&b, r->output, rest);
	free(r->output);
	r->output = b.p;
	r->noutput = b.n;
}

static void judge_client(struct cell *c, struct proc *server, struct runner_result *r)
{
	struct proc p, *list[] = { &p, server };
	struct runner_result early = { 0 };
	struct err err;
	if (runner_cell_start(c, &p, &c->client, -1, &err)) {
		runner_broken(r, "%s", err.text);
		return;
	}
	enum pump how = runner_proc_pump(c, list, 2, runner_deadline_after(c->patience), NULL);
	runner_cell_judge(c, &c->client, &p, how, r);
	runner_cell_listen(c, server, r);
	if (r->verdict != RUNNER_OK && !server->ended) /* perhaps it is just about to crash */
		runner_proc_pump(c, &server, 1, now_seconds() + GRACE_S, NULL);
	if (r->verdict != RUNNER_OK || !c->opts->listen)
		join_output(r, &server->text);
	if (server->ended)
		runner_cell_judge(c, &c->command, server, PUMP_ENDED, &early);
	if (early.verdict != RUNNER_OK) { /* the cause of whatever the client said */
		r->verdict = early.verdict;
		r->status = early.status;
	}
	runner_result_free(&early);
	runner_proc_close(&p);
}

void runner_serve_run(struct cell *c, struct runner_result *r)
{
	struct proc server, *list[] = { &server };
	struct err err;
	double start = now_seconds();
	sandbox_ready_reset(c->ready);
	if (runner_cell_start(c, &server, &c->command, -1, &err)) {
		runner_broken(r, "%s", err.text);
		return;
	}
	enum pump how = runner_proc_pump(c, list, 1, runner_deadline_after(c->patience), is_up);
	if (how == PUMP_DONE) {
		judge_client(c, &server, r);
		stop(c, &server);
	} else {
		runner_cell_judge(c, &c->command, &server, how, r);
		if (r->verdict == RUNNER_OK) /* it ended before it was up */
			r->verdict = RUNNER_FAILED;
	}
	r->spent = now_seconds() - start;
	runner_proc_kill_all(c);
	runner_proc_close(&server);
}
