/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of holdfast ci, in a process of its own: it leaves its findings in a JSON report, from which they are read
 * back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ci.h"

/* 2 and 4 before 1 before 3 before 0. */
static int worse(int a, int b)
{
	static const int rank[] = { [EXIT_NOTHING] = 0,
				    [EXIT_PROGRAM] = 1,
				    [EXIT_FINDINGS] = 2,
				    [EXIT_USAGE] = 3,
				    [EXIT_INTERNAL] = 4 };
	return rank[b] > rank[a] ? b : a;
}

static int run_child(struct project_line *line)
{
	int status;
	fflush(NULL);
	pid_t pid = ci_fork();
	if (pid == 0) {
		status = project_line_run(line);
		_exit(fflush(stdout) ? EXIT_INTERNAL : status);
	}
	bool known = pid > 0 && ci_wait(pid, &status) && WIFEXITED(status) &&
		     WEXITSTATUS(status) <= EXIT_INTERNAL;
	if (!known)
		return ci_stopped() ? EXIT_PROGRAM
				    : EXIT_INTERNAL; /* ended by a signal, as we were to be */
	return WEXITSTATUS(status);
}

/* The same statement may be found by several runs: it is one finding, and counts if it does in one of them. */
static void take(struct ci *ci, struct finding *f)
{
	for (size_t i = 0; i < ci->set.v.n; i++) {
		struct finding *known = ci->set.v.p[i];
		if (!strcmp(known->id, f->id)) {
			known->count += f->count;
			known->suppressed &= f->suppressed;
			finding_free(f);
			return;
		}
	}
	VEC_PUSH(&ci->set.v, f);
}

static void take_all(struct ci *ci, struct finding_set *from)
{
	for (size_t i = 0; i < from->v.n; i++)
		take(ci, from->v.p[i]);
	from->v.n = 0;
}

static void merge(struct ci *ci, const char *name, const char *json, int status)
{
	struct report_read r = { 0 };
	struct err ignored; /* a run that failed before it could report anything has said why */
	size_t n = 0;
	if (!report_read(json, &r, &ignored)) {
		n = r.findings.v.n;
		take_all(ci, &r.findings);
		take_all(ci, &r.hidden);
		if (r.incomplete)
			buf_printf(&ci->incomplete, "%s%s: %s", ci->incomplete.n ? "; " : "", name,
				   r.incomplete);
		report_read_free(&r);
	} else {
		buf_printf(&ci->incomplete, "%s%s: it could not be done",
			   ci->incomplete.n ? "; " : "", name);
	}
	VEC_PUSH(&ci->note,
		 xasprintf("%s: %zu finding%s, status %d", name, n, n == 1 ? "" : "s", status));
	msg_info("%s", ci->note.p[ci->note.n - 1]);
}

int ci_run(struct ci *ci, const struct project_table *run, struct err *err)
{
	struct project_line line;
	struct cli_option o;
	const struct project_key *own = project_key(run, "json");
	char *json = own ? xstrdup(own->value.text.p[0])
			 : xasprintf("%s/%zu.json", ci->folder, ci->note.n);
	int bad = project_line(ci->p, run, &ci->more, &line, err);
	if (!bad) {
		if (!own)
			VEC_PUSH(&line.words, xasprintf("--json=%s", json));
		if (!ci->o->budget && !project_key(run, "budget") &&
		    !project_key(&ci->p->table.p[0], "budget") &&
		    cli_find_option(line.verb, "budget", 6, &o))
			VEC_PUSH(&line.words, xstrdup("--budget=" OUTPUT_CI_BUDGET));
		char *text = project_line_text(&line);
		msg_info("run %s: %s %s", project_run_name(run), line.verb->name, text);
		free(text);
		int status = run_child(&line);
		ci->worst = worse(ci->worst, status);
		merge(ci, project_run_name(run), json, status);
	}
	if (!own)
		unlink(json);
	project_line_free(&line);
	free(json);
	return bad;
}
