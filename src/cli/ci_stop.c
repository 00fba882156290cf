/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals to holdfast ci. What earlier runs found is reported, whatever ends a later one: the run under way gets the
 * signal, too, and says itself what it knows by then; those that follow are not begun.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ci.h"

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
#define NCAUGHT (sizeof caught / sizeof *caught)

static struct sigaction before[NCAUGHT];
static volatile sig_atomic_t child; /* pid; 0: none */
static volatile sig_atomic_t stopped;

/* The second signal ends a run at once. One that is sent to us and to our group reaches the run twice, so what comes
 * within a second of another is taken for the same. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	static struct timespec last;
	struct timespec now;
	int saved = errno;
	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &now);
	bool again = stopped && now.tv_sec - last.tv_sec < 2;
	last = now;
	stopped = 1;
	if (child && !again && info->si_code != SI_KERNEL) /* the terminal told it itself */
		kill(child, sig);
	errno = saved;
}

void ci_catch_signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < NCAUGHT; i++) {
		sigaction(caught[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(caught[i], &sa, NULL);
	}
}

pid_t ci_fork(void)
{
	sigset_t block, old;
	sigemptyset(&block);
	for (size_t i = 0; i < NCAUGHT; i++)
		sigaddset(&block, caught[i]);
	sigprocmask(SIG_BLOCK, &block, &old); /* until we know whom to tell */
	pid_t pid = fork();
	for (size_t i = 0; pid == 0 && i < NCAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
	if (pid > 0)
		child = pid;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

bool ci_wait(pid_t pid, int *status)
{
	pid_t got;
	while ((got = waitpid(pid, status, 0)) < 0 && errno == EINTR)
		;
	child = 0;
	return got == pid;
}

bool ci_stopped(void)
{
	return stopped != 0;
}
