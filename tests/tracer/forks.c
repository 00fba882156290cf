/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes: forks POOL LOG SCENARIO
 * Stores are MARKs (mark.h); the log is shared, so it is written unbuffered.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "mark.h"

extern char **environ;
static char **self; /* argv */

static volatile uint64_t *word(int i)
{
	return mark_pm + 4096 + i * 8;
}

static NOINLINE void in_child(void)
{
	MARK("in_child<child<parent<main");
}

static NOINLINE void child(void)
{
	MARK("child<parent<main");
	in_child();
}

static int wait_for(pid_t pid)
{
	int status = 0;
	must(pid > 0 && waitpid(pid, &status, 0) == pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static NOINLINE void parent(void)
{
	*word(0) = 1;
	pid_t pid = fork();
	if (pid == 0) {
		*word(1) = 2;
		child();
		exit(3);
	}
	must(wait_for(pid) == 3, "the child");
	*word(2) = 3;
}

/* A child's child, which maps a pool of its own. */
static void family(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		*word(1) = 1;
		pid = fork();
		if (pid == 0) {
			volatile uint64_t *own = pool_map("second", 8192, NULL);
			own[5] = 5;
			*word(2) = 2;
			raise(SIGTERM);
		}
		must(wait_for(pid) == 128 + SIGTERM, "the grandchild");
		*word(3) = 3;
		_exit(0);
	}
	must(wait_for(pid) == 0, "the child");
	*word(4) = 4;
}

static void *forking_thread(void *arg)
{
	*word(6) = 6;
	pid_t pid = fork();
	if (pid == 0) {
		*word(7) = 7;
		_exit(0);
	}
	wait_for(pid);
	*word(8) = 8;
	return arg;
}

static void *busy_thread(void *stop)
{
	while (!*(volatile int *)stop)
		sched_yield();
	return NULL;
}

static void from_thread(void)
{
	pthread_t busy, t;
	int stop = 0;
	pthread_create(&busy, NULL, busy_thread, &stop);
	pthread_create(&t, NULL, forking_thread, NULL);
	pthread_join(t, NULL);
	*word(9) = 9;
	stop = 1;
	pthread_join(busy, NULL);
}

/* Who stores after whom is known: a child has ended before its parent goes on. */
static void turns(void)
{
	for (uint64_t i = 0; i < 100; i++) {
		*word(0) = 2 * i + 1;
		pid_t pid = fork();
		if (pid == 0) {
			*word(0) = 2 * i + 2;
			_exit(0);
		}
		wait_for(pid);
	}
	*word(0) = 201;
}

/* Two that live side by side and talk through pipes. */
static void talk(void)
{
	int to[2], back[2];
	char c = 0;
	must(!pipe(to) && !pipe(back), "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		for (uint64_t i = 0; i < 100 && read(to[0], &c, 1) == 1; i++) {
			*word(0) = 2 * i + 2;
			must(write(back[1], &c, 1) == 1, "write");
		}
		_exit(0);
	}
	for (uint64_t i = 0; i < 100; i++) {
		*word(0) = 2 * i + 1;
		must(write(to[1], &c, 1) == 1 && read(back[0], &c, 1) == 1, "talk");
	}
	*word(0) = 201;
	wait_for(pid);
}

/* More than a few at once; each has a word. */
static void crowd(void)
{
	pid_t pid[40];
	for (int i = 0; i < 40; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			for (int k = 0; k < 50; k++)
				*word(i) = (uint64_t)(i * 100 + k);
			_exit(0);
		}
	}
	for (int i = 0; i < 40; i++)
		wait_for(pid[i]);
}

/* More than can be recorded at once: they wait for each other. */
static void too_many(void)
{
	int go[2];
	char c;
	must(!pipe(go), "pipe");
	for (int i = 0; i < 70; i++)
		if (fork() == 0) {
			close(go[1]);
			if (read(go[0], &c, 1) == 0)
				*word(i) = (uint64_t)i + 1;
			_exit(0);
		}
	close(go[0]);
	close(go[1]);
	while (wait(NULL) > 0)
		;
	*word(70) = 71;
}

static void orphan(void)
{
	int go[2];
	must(!pipe(go), "pipe");
	if (fork() == 0) {
		char c;
		close(go[1]);
		while (read(go[0], &c, 1) > 0) /* until the parent is gone */
			;
		*word(2) = 2;
		_exit(0);
	}
	*word(1) = 1;
}

/* ---- exec ---- */

static void again(const char *scenario)
{
	char *args[] = { self[0], self[1], self[2], (char *)(uintptr_t)scenario, NULL };
	execv(self[0], args);
	must(0, "exec");
}

static void replaced(void)
{
	*word(3) = 33;
}

static void replace(void)
{
	*word(1) = 11;
	must(execl("/no/such/program", "x", NULL) == -1, "exec must fail");
	must(execl(self[2], "x", NULL) == -1, "exec must fail"); /* the log is no program */
	*word(2) = 22;
	again("replaced");
}

static void replace_by_fd(void)
{
	char *args[] = { self[0], self[1], self[2], (char *)(uintptr_t) "replaced", NULL };
	int fd = open(self[0], O_RDONLY);
	*word(1) = 11;
	fexecve(fd, args, environ);
	must(0, "fexecve");
}

static void spawned(const char *how)
{
	char *args[] = { self[0], self[1], self[2], (char *)(uintptr_t) "replaced", NULL };
	pid_t pid;
	*word(1) = 11;
	if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (pid == 0) {
			execv(self[0], args);
			_exit(99);
		}
	} else {
		must(!posix_spawn(&pid, self[0], NULL, NULL, args, environ), "posix_spawn");
	}
	must(wait_for(pid) == 0, "the child");
	*word(2) = 22;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const char *s = argv[3];
	self = argv;
	mark_pm = pool_map(argv[1], MARK_BYTES, NULL);
	expect_file = fopen(argv[2], "a");
	must(expect_file != NULL, argv[2]);
	setvbuf(expect_file, NULL, _IONBF, 0);
	if (!strcmp(s, "vfork") || !strcmp(s, "spawn"))
		spawned(s);
	else if (!strcmp(s, "parent"))
		parent();
	else if (!strcmp(s, "family"))
		family();
	else if (!strcmp(s, "thread"))
		from_thread();
	else if (!strcmp(s, "turns"))
		turns();
	else if (!strcmp(s, "talk"))
		talk();
	else if (!strcmp(s, "crowd"))
		crowd();
	else if (!strcmp(s, "too_many"))
		too_many();
	else if (!strcmp(s, "orphan"))
		orphan();
	else if (!strcmp(s, "replace"))
		replace();
	else if (!strcmp(s, "replace_by_fd"))
		replace_by_fd();
	else if (!strcmp(s, "replaced"))
		replaced();
	else
		return 2;
	return 0;
}
