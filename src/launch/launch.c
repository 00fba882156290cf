/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start the program under Valgrind with our tool, and drain its events until it ends.
 *
 *   holdfast ──fork, exec──▶ valgrind ──exec──▶ holdfast-amd64-linux, running the program
 *      ▲                                              │
 *      └───────── ring, opened as /proc/PID/fd/N ◀────┘
 *
 * The program keeps our stdin, stdout, stderr, working directory and environment. A signal
 * from the terminal reaches the whole process group, so we only outlive it; one that was
 * sent to us alone is passed on to the program.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/preload.h"

#define POLL_MS 20 /* a child that ends, ends the wait too, but for a race */
#define SILENT_POLLS 50

struct launch {
	const struct launch_opts *opts;
	char *libexec, *valgrind;
	char *lines;  /* the library for launch_opts.lines, or NULL */
	int stdin_fd; /* -1: ours */
	pid_t pid;    /* 0 once it has ended */
	int status;   /* from waitpid */
	int silent;   /* polls since a process was last heard of, when the first had ended */
	struct server *server;  /* NULL: it is none */
	struct children before; /* ours, but not the program's */
};

static const int caught[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGXFSZ };
#define NCAUGHT (sizeof caught / sizeof *caught)

static volatile sig_atomic_t target;    /* the program's pid, 0: none */
static volatile sig_atomic_t client;    /* the client's process group, 0: none */
static volatile sig_atomic_t asked_end; /* a signal came when the program had ended */
static volatile sig_atomic_t asked;     /* how many came */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	int saved = errno;
	if (sig == SIGCHLD || sig == SIGXFSZ) /* ends a wait; makes a write fail, not us */
		return;
	asked = asked + 1;
	if (client)
		kill(-client, sig);
	if (!target)
		asked_end = 1;
	else if (info->si_code != SI_KERNEL) /* the terminal told the program itself */
		kill(target, sig);
	errno = saved;
}

static void catch_signals(struct sigaction old[NCAUGHT])
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigemptyset(&sa.sa_mask);
	asked_end = asked = 0;
	for (size_t i = 0; i < NCAUGHT; i++)
		sigaction(caught[i], &sa, &old[i]);
}

static void restore_signals(const struct sigaction old[NCAUGHT])
{
	for (size_t i = 0; i < NCAUGHT; i++)
		sigaction(caught[i], &old[i], NULL);
}

/* --line-buffered: the library that does it; NULL: it cannot be, which is said. */
static char *find_lines(const char *program)
{
	struct err err = { 0 };
	const char *why = preload_refuses(program);
	char *library = why ? NULL : preload_find(PRELOAD_LINES, &err);
	if (!library)
		msg_warn("the program's output cannot be made line-buffered: %s",
			 why ? why : err.text);
	return library;
}

struct launch *launch_new(const struct launch_opts *opts, struct err *err)
{
	struct launch *l = xcalloc(1, sizeof *l);
	l->opts = opts;
	l->stdin_fd = -1;
	char *path = launch_resolve(opts->argv[0], err);
	int bad = !path || launch_check_program(path, err);
	if (!bad && opts->lines)
		l->lines = find_lines(path);
	free(path);
	if (!bad)
		bad = !(l->libexec = launch_find_libexec(err)) ||
		      !(l->valgrind = launch_find_valgrind(err));
	if (!bad && opts->stdin_path) {
		l->stdin_fd = open(opts->stdin_path, O_RDONLY | O_CLOEXEC);
		if (l->stdin_fd < 0)
			bad = err_errno(err, EXIT_USAGE, "cannot read %s", opts->stdin_path);
	}
	if (!bad && opts->client)
		bad = !(l->server = launch_server_new(opts, err));
	if (!bad)
		return l;
	launch_free(l);
	return NULL;
}

void launch_free(struct launch *l)
{
	if (!l)
		return;
	if (l->stdin_fd >= 0)
		close(l->stdin_fd);
	launch_server_free(l->server);
	VEC_FREE(&l->before);
	free(l->lines);
	free(l->libexec);
	free(l->valgrind);
	free(l);
}

typedef VEC(char *) args;

static void add_globs(args *v, const char *option, const char *const *glob, size_t n)
{
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(v, xasprintf("%s=%s", option, glob[i]));
}

const char *launch_cpu_at(size_t i, const char **about)
{
	static const char *const table[][2] = {
#define X(NAME, name, what) { name, what },
		TRACE_CPUS(X)
#undef X
	};
	bool there = i < sizeof table / sizeof *table;
	*about = there ? table[i][1] : NULL;
	return there ? table[i][0] : NULL;
}

/*
 * In a view that a preloaded library shows, that library alone knows the current folder: Valgrind, a static
 * program, is told the whole path.
 */
static char *program_word(const char *name)
{
	bool told = getenv(PRELOAD_VIEW) && strchr(name, '/') && *name != '/';
	char *here = told ? getcwd(NULL, 0) : NULL;
	char *word = here ? xasprintf("%s/%s", here, name) : xstrdup(name);
	free(here);
	return word;
}

/* The command line of valgrind; its strings live until exec or exit. */
char **launch_arguments(const char *valgrind, const struct launch_opts *o, const char *const *more,
			size_t nmore)
{
	static const char *const fixed[] = {
		"--tool=holdfast",
		"--command-line-only=yes", /* no .valgrindrc, no VALGRIND_OPTS */
		"-q",
		"--vgdb=no",
		"--sigill-diagnostics=no", /* clwb and clflushopt are unknown to it, not to us */
		"--trace-children=yes",
		"--run-libc-freeres=no",
		"--run-cxx-freeres=no",
	};
	args v = { 0 };
	VEC_PUSH(&v, xstrdup(valgrind));
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		VEC_PUSH(&v, xstrdup(fixed[i]));
	for (size_t i = 0; i < nmore; i++)
		VEC_PUSH(&v, xstrdup(more[i]));
	VEC_PUSH(&v, xasprintf("--hf-follow-forks=%s", o->follow_forks ? "yes" : "no"));
	if (o->files || o->follow_forks) /* a process may write to what is PM for another */
		VEC_PUSH(&v, xstrdup("--hf-files=yes"));
	if (o->pmemcheck)
		VEC_PUSH(&v, xstrdup("--hf-pmemcheck=yes"));
	if (o->loads)
		VEC_PUSH(&v, xstrdup("--hf-loads=yes"));
	if (o->deps)
		VEC_PUSH(&v, xstrdup("--hf-deps=yes"));
	if (o->profile)
		VEC_PUSH(&v, xstrdup("--hf-profile=yes"));
	char *fault = o->fault ? launch_fault(o->fault, &(struct err){ 0 }) : NULL;
	if (fault)
		VEC_PUSH(&v, xasprintf("--hf-fault=%s", fault));
	free(fault);
	if (o->load_bytes)
		VEC_PUSH(&v, xstrdup("--hf-load-bytes=yes"));
	if (o->cpu)
		VEC_PUSH(&v, xasprintf("--hf-cpu=%s", o->cpu));
	add_globs(&v, "--hf-pm", o->pm, o->npm);
	add_globs(&v, "--hf-persist", o->persist, o->npersist);
	add_globs(&v, "--hf-watch", o->watch, o->nwatch);
	VEC_PUSH(&v, xstrdup("--"));
	VEC_PUSH(&v, program_word(o->argv[0]));
	for (const char *const *word = o->argv + 1; *word; word++)
		VEC_PUSH(&v, xstrdup(*word));
	VEC_PUSH(&v, NULL);
	return v.p;
}

static bool force_pmem(const struct launch *l)
{
	return !l->opts->no_pmem_force && !getenv(LAUNCH_FORCE);
}

static void preload_lines(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	bool more = old && *old;
	char *all = xasprintf("%s%s%s", library, more ? ":" : "", more ? old : "");
	setenv("LD_PRELOAD", all, 1);
	free(all);
}

/* In the child: become the program. Comes back only through the pipe, as an errno. */
static void become(const struct launch *l, const struct trace_live *live, pid_t holdfast,
		   int report)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != holdfast)
		_exit(EXIT_INTERNAL);
	if (l->stdin_fd >= 0)
		dup2(l->stdin_fd, STDIN_FILENO);
	if (l->server)
		launch_server_become(l->server);
	if (force_pmem(l))
		setenv(LAUNCH_FORCE, "1", 1);
	setenv("VALGRIND_LIB", l->libexec, 1);
	if (l->lines)
		preload_lines(l->lines);
	const char *ring =
		xasprintf("--hf-ring=/proc/%d/fd/%d", (int)holdfast, trace_live_fd(live));
	execv(l->valgrind, launch_arguments(l->valgrind, l->opts, &ring, 1));
	int code = errno;
	if (write(report, &code, sizeof code) != sizeof code)
		_exit(EXIT_INTERNAL);
	_exit(EXIT_PROGRAM);
}

static int start(struct launch *l, struct trace_live *live, const struct sigaction *old,
		 struct err *err)
{
	int report[2], code = 0;
	if (pipe2(report, O_CLOEXEC))
		return err_errno(err, EXIT_INTERNAL, "cannot make a pipe");
	pid_t holdfast = getpid();
	fflush(NULL);
	l->pid = fork();
	if (l->pid == 0) {
		restore_signals(old);
		become(l, live, holdfast, report[1]);
	}
	close(report[1]);
	if (l->pid < 0) {
		close(report[0]);
		return err_errno(err, EXIT_INTERNAL, "cannot start a process");
	}
	target = l->pid;
	ssize_t n;
	while ((n = read(report[0], &code, sizeof code)) < 0 && errno == EINTR)
		;
	close(report[0]);
	if (n <= 0)
		return 0;
	target = 0;
	waitpid(l->pid, NULL, 0);
	errno = code;
	return err_errno(err, EXIT_PROGRAM, "cannot run %s", l->valgrind);
}

static int shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Takes in whoever has ended; with --follow-forks orphans of the program are ours too. */
static void reap(struct launch *l, int flags)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, flags)) > 0) {
		if (pid == l->pid) {
			target = 0;
			l->pid = 0;
			l->status = status;
			return;
		}
		if (l->server)
			launch_server_reaped(l->server, pid, shell_status(status));
	}
}

/* To the program; if its first process has ended, to those that it left. */
void launch_server_signal(const struct server_program *p, int sig)
{
	if (p->pid)
		kill(p->pid, sig);
	else
		launch_children_signal(p->before, sig);
}

static unsigned images(const struct launch *l, const struct trace_defs *defs)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < trace_processes(defs); i++)
		n += trace_process(defs, i)->pid == (uint32_t)l->pid;
	return n;
}

/* What there is to do for a server; -1: there is nothing more to expect. */
static int serve(struct launch *l, const struct trace_live *live, bool ended, struct err *err)
{
	struct server_program p = { l->pid, &l->before,
				    ended,  shell_status(l->status),
				    asked,  images(l, trace_live_defs(live)) };
	int bad = launch_server_step(l->server, &p, err);
	client = launch_server_client(l->server);
	return bad;
}

static bool has_children(void)
{
	siginfo_t info;
	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

/*
 * The program's first process has ended; have those that are followed? One that was just forked
 * may not have said anything yet.
 */
static bool all_ended(struct launch *l, const struct trace_live *live)
{
	if (!l->opts->follow_forks || asked_end)
		return true;
	if (trace_live_running(live))
		l->silent = 0;
	else if (!has_children() || ++l->silent > SILENT_POLLS)
		return true;
	return false;
}

/* -1: a server was never ready. */
static int drain(struct launch *l, struct trace_live *live, struct launch_result *res,
		 struct err *err)
{
	for (;;) {
		reap(l, WNOHANG);
		bool last = l->pid == 0 && all_ended(l, live);
		if (l->server) {
			if (serve(l, live, last, err))
				return -1;
			last = launch_server_over(l->server);
		}
		struct err again;
		int n = trace_live_poll(live, last ? 0 : POLL_MS,
					res->stopped ? &again : &res->why);
		if (n < 0 && !res->stopped) {
			res->stopped = true;
			trace_live_stop(live);
			if (!l->server)
				return 0;
		}
		if (last && n <= 0)
			return 0;
	}
}

/* Nothing of a server and its client is left behind. */
static void clear_up(struct launch *l)
{
	target = client = 0;
	launch_server_kill(l->server);
	if (l->pid)
		kill(l->pid, SIGKILL);
	while (l->pid)
		reap(l, 0);
	launch_children_end(&l->before);
}

static void wait_end(struct launch *l)
{
	errno = 0;
	while (l->pid && errno != ECHILD)
		reap(l, 0);
}

/* Starts it, with what a server needs. */
static int begin(struct launch *l, struct trace_live *live, const struct sigaction *old,
		 struct err *err)
{
	if (l->server) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		launch_children_list(&l->before);
		if (launch_server_open(l->server, err))
			return -1;
	}
	if (start(l, live, old, err))
		return -1;
	if (!l->server || !launch_server_started(l->server, err))
		return 0;
	clear_up(l);
	return -1;
}

static int run(struct launch *l, struct trace_live *live, struct launch_result *res,
	       const struct sigaction *old, struct err *err)
{
	if (begin(l, live, old, err))
		return -1;
	int bad = drain(l, live, res, err);
	if (l->server)
		clear_up(l);
	else
		wait_end(l);
	res->signal = WIFSIGNALED(l->status) ? WTERMSIG(l->status) : 0;
	res->status = shell_status(l->status);
	res->interrupted = asked != 0;
	if (l->server)
		launch_server_finish(l->server, res);
	return bad;
}

int launch_run(struct launch *l, struct trace_live *live, struct launch_result *res,
	       struct err *err)
{
	struct sigaction old[NCAUGHT];
	*res = (struct launch_result){ .pmem_forced = force_pmem(l) };
	if (l->opts->follow_forks)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	catch_signals(old);
	int bad = run(l, live, res, old, err);
	restore_signals(old);
	if (bad)
		return -1;
	launch_compare(live, res);
	if (!trace_processes(trace_live_defs(live)) && !res->stopped)
		return err_set(err, EXIT_PROGRAM,
			       "the tracer did not start; valgrind ended with status %d",
			       res->status);
	return 0;
}
