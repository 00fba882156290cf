/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One tracer process of the explorer, and the input that it finds.
 *
 *   holdfast ──fork──▶ namespaces, mounts ──exec──▶ valgrind ──exec──▶ the tool, the program
 *      ◀── a socket: what went wrong, or the symbolic files' descriptors
 *
 * The ring, the control block and the folder of mounts are descriptors with high numbers that are inherited:
 * in a user namespace, /proc of a process outside cannot be looked into.
 */
#include "launch/explorer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_FD 900 /* for descriptors that are inherited, out of the program's way */

static bool wants_file(const struct launch_explorer *e, size_t i)
{
	return e->opts.source[i].kind == SYM_SRC_FILE;
}

/* ---- in the new process ---- */

/* Room for the input: a string of full length in the program's arguments and environment. */
static char *padding(uint32_t len)
{
	char *s = xmalloc(len + 1);
	memset(s, 'x', len);
	s[len] = '\0';
	return s;
}

static const char *const *padded_argv(const struct launch_explorer *e)
{
	const char *const *old = e->opts.run.argv;
	size_t n = 0;
	while (old[n])
		n++;
	const char **argv = xcalloc(n + 1, sizeof *argv);
	memcpy(argv, old, n * sizeof *argv);
	for (size_t i = 0; i < e->opts.nsource; i++) {
		const struct sym_source *s = &e->opts.source[i];
		if (s->kind == SYM_SRC_ARG && s->index < n)
			argv[s->index] = padding(s->len);
		else if (s->kind == SYM_SRC_ENV)
			setenv(s->path, padding(s->len), 1);
	}
	return argv;
}

static int inherited(int fd)
{
	int high = fcntl(fd, F_DUPFD, FIRST_FD);
	return high < 0 ? fcntl(fd, F_DUPFD, 3) : high;
}

static int stdin_of(const struct launch_explorer *e)
{
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (e->opts.source[i].kind == SYM_SRC_STDIN)
			return e->file[i].fd;
	return -1;
}

static void plug_in(const struct launch_explorer *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), in = stdin_of(e);
	if (in < 0 && e->opts.run.stdin_path)
		in = open(e->opts.run.stdin_path, O_RDONLY | O_CLOEXEC);
	if (in >= 0)
		lseek(in, 0, SEEK_SET);
	dup2(in >= 0 ? in : null, STDIN_FILENO);
	dup2(e->output >= 0 ? e->output : null, STDOUT_FILENO);
	dup2(e->output >= 0 ? e->output : null, STDERR_FILENO);
}

static void run_tool(const struct launch_explorer *e)
{
	char *more[4];
	size_t n = 0;
	struct launch_opts o = e->opts.run;
	o.argv = padded_argv(e);
	more[n++] = xasprintf("--hf-ring=/proc/self/fd/%d", inherited(trace_live_fd(e->live)));
	more[n++] = xasprintf("--hf-sym=/proc/self/fd/%d", inherited(e->control_fd));
	if (!e->fresh) /* half as many as usual: each fork copies their records */
		more[n++] = xstrdup("--max-threads=250");
	if (e->opts.verify)
		more[n++] = xstrdup("--hf-sym-verify=yes");
	if (!o.no_pmem_force && !getenv(LAUNCH_FORCE))
		setenv(LAUNCH_FORCE, "1", 1);
	setenv("VALGRIND_LIB", e->libexec, 1);
	personality(ADDR_NO_RANDOMIZE); /* the same addresses in all servers */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	execv(e->valgrind, launch_arguments(e->valgrind, &o, (const char *const *)more, n));
}

static void learn_inode(struct sym_source *s, int fd)
{
	struct stat st;
	if (fd >= 0 && !fstat(fd, &st)) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
}

static void become(const struct launch_explorer *e, pid_t holdfast, int sock)
{
	struct err err = { 0 };
	struct explorer_files files;
	int give[SYM_MAX_SOURCES + 1];
	size_t n = 0;
	setpgid(0, 0); /* what the terminal says is for us */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != holdfast)
		_exit(EXIT_INTERNAL);
	int base = e->cell ? -1 : launch_explorer_view_enter(e, &files, &err);
	bool ok = e->cell || base >= 0;
	if (e->cell)
		launch_explorer_view_use(e);
	e->control->mounts_fd = e->cell ? -1 : inherited(base);
	for (size_t i = 0; ok && i < e->opts.nsource; i++) {
		bool new = wants_file(e, i) && !e->cell;
		if (new)
			give[n++] = files.fd[i];
		learn_inode(&e->control->source[i], new ? files.fd[i] : e->file[i].fd);
	}
	if (ok && e->talk)
		give[n++] = launch_talk_dialer();
	/* What there is to be said, once; then silence, or exec has failed. Status 0: all is well. */
	if (sandbox_send(sock, &err, sizeof err, give, n) || !ok)
		_exit(EXIT_PROGRAM);
	char go;
	if (read(sock, &go, 1) != 1) /* the input is in the files */
		_exit(EXIT_INTERNAL);
	plug_in(e);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	run_tool(e);
	err_errno(&err, EXIT_PROGRAM, "cannot run %s", e->valgrind);
	sandbox_send(sock, &err, sizeof err, NULL, 0);
	_exit(EXIT_PROGRAM);
}

/* ---- the input ---- */

static int read_all(int fd, uint8_t *p, uint64_t n)
{
	for (uint64_t at = 0; at < n;) {
		ssize_t got = pread(fd, p + at, n - at, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		at += (uint64_t)got;
	}
	return 0;
}

static int keep_truth(struct launch_explorer *e, size_t i, struct err *err)
{
	const struct sym_source *s = &e->opts.source[i];
	struct input_file *f = &e->file[i];
	struct stat st;
	if (fstat(f->fd, &st))
		return err_errno(err, EXIT_INTERNAL, "cannot look at %s", s->path);
	f->size = (uint64_t)st.st_size;
	f->to_end = s->off + s->len >= f->size;
	f->truth = xrealloc(f->truth, f->size + 1);
	if (read_all(f->fd, f->truth, f->size))
		return err_errno(err, EXIT_PROGRAM, "cannot read %s", s->path);
	e->control->source[i].written = 0;
	return 0;
}

int launch_explorer_truth(struct launch_explorer *e, struct err *err)
{
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (wants_file(e, i) && e->control->source[i].written && keep_truth(e, i, err))
			return -1;
	return 0;
}

static int put_file(struct launch_explorer *e, size_t i, struct err *err)
{
	struct sym_source *s = &e->control->source[i];
	struct input_file *f = &e->file[i];
	uint64_t size = f->to_end || s->kind == SYM_SRC_STDIN ? s->off + s->now : f->size;
	uint64_t n = s->now;
	if (s->written && f->truth) {
		if (ftruncate(f->fd, 0) || write_all_at(f->fd, f->truth, f->size, 0))
			return err_errno(err, EXIT_PROGRAM, "cannot write the input");
	}
	s->written = 0;
	if (s->off + n > size)
		n = size > s->off ? size - s->off : 0;
	if (ftruncate(f->fd, (off_t)size) ||
	    write_all_at(f->fd, e->control->input + s->first, n, s->off))
		return err_errno(err, EXIT_PROGRAM, "cannot write the input");
	return 0;
}

int launch_explorer_input(struct launch_explorer *e, const uint8_t *input, const uint32_t *now,
			  struct err *err)
{
	struct sym_control *c = e->control;
	for (uint32_t i = 0; i < c->nsources; i++) {
		struct sym_source *s = &c->source[i];
		s->now = now[i] < s->len ? now[i] : s->len;
		if (s->len)
			memcpy(c->input + s->first, input + s->first, s->len);
	}
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (e->file[i].fd >= 0 && put_file(e, i, err))
			return -1;
	return 0;
}

/* ---- start and end ---- */

static void close_files(struct launch_explorer *e)
{
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (wants_file(e, i) && e->file[i].fd >= 0) {
			close(e->file[i].fd);
			e->file[i].fd = -1;
		}
}

/* The process stands ready to become the tracer: gets its input, and may go. */
static int hand_over(struct launch_explorer *e, int sock, const int *fd, size_t n, struct err *err)
{
	size_t k = 0;
	for (size_t i = 0; i < e->opts.nsource; i++) {
		if (!wants_file(e, i))
			continue;
		if (!e->cell && k >= n)
			return err_set(err, EXIT_INTERNAL, "a symbolic file is missing");
		if (!e->cell)
			e->file[i].fd = fd[k++];
		if (keep_truth(e, i, err))
			return -1;
	}
	if (e->talk && k < n)
		e->dial = fd[k];
	uint8_t *input = xmalloc(SYM_MAX_INPUT);
	uint32_t now[SYM_MAX_SOURCES];
	memcpy(input, e->control->input, SYM_MAX_INPUT);
	for (uint32_t i = 0; i < e->control->nsources; i++)
		now[i] = e->control->source[i].now;
	int bad = launch_explorer_input(e, input, now, err);
	free(input);
	if (!bad && send(sock, "g", 1, MSG_NOSIGNAL) != 1)
		bad = err_errno(err, EXIT_INTERNAL, "the tracer did not start");
	return bad;
}

static int shake_hands(struct launch_explorer *e, int sock, struct err *err)
{
	struct err said;
	int fd[SANDBOX_MAX_FDS];
	size_t n;
	if (sandbox_receive(sock, &said, sizeof said, fd, &n) <= 0)
		return err_set(err, EXIT_INTERNAL, "the tracer did not start");
	if (said.status) {
		*err = said;
		return -1;
	}
	if (hand_over(e, sock, fd, n, err))
		return -1;
	int got = sandbox_receive(sock, &said, sizeof said, fd, &n); /* nothing, if exec is well */
	if (got > 0)
		*err = said;
	return got > 0 ? -1 : 0;
}

int launch_explorer_boot(struct launch_explorer *e, struct err *err)
{
	int pair[2];
	close_files(e);
	if (launch_explorer_view_open(e, err))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_errno(err, EXIT_INTERNAL, "cannot make a socket");
	struct sym_control *c = e->control;
	c->go = c->quit = c->started = c->ended = c->pid = c->status = c->taken = c->idle = 0;
	c->alone = e->fresh;
	e->ready = e->alone = e->over = false;
	e->ended = 0;
	pid_t holdfast = getpid();
	fflush(NULL);
	e->pid = fork();
	if (e->pid == 0) {
		close(pair[0]);
		become(e, holdfast, pair[1]);
	}
	close(pair[1]);
	int bad = e->pid < 0 ? err_errno(err, EXIT_INTERNAL, "cannot start a process")
			     : shake_hands(e, pair[0], err);
	close(pair[0]);
	if (e->pid < 0)
		e->pid = 0;
	if (bad)
		launch_explorer_kill(e);
	return bad;
}

void launch_explorer_kill(struct launch_explorer *e)
{
	if (!e->pid)
		return;
	int child = e->control->started > e->control->ended && e->control->pid
			    ? pidfd_open((pid_t)e->control->pid, 0)
			    : -1;
	kill(e->pid, SIGKILL); /* its children go with it */
	if (child >= 0) {      /* … and write to the ring no more */
		poll(&(struct pollfd){ child, POLLIN, 0 }, 1, 2000);
		close(child);
	}
	while (waitpid(e->pid, &e->status, 0) < 0 && errno == EINTR)
		;
	e->pid = 0;
	if (e->dial >= 0)
		close(e->dial);
	e->dial = -1;
}
