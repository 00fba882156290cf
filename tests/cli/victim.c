/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to be recorded: victim FILE VERB…, each verb a thing a program may do. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <immintrin.h>

#define BYTES 65536ul

static volatile uint64_t *pm;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(99);
}

static void map(const char *path, unsigned long bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	must(fd >= 0, path);
	must(!ftruncate(fd, (off_t)bytes), "ftruncate");
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED, "mmap");
	close(fd);
	pm = p;
}

static void put(unsigned long i, uint64_t value)
{
	pm[i] = value;
	_mm_clflush((void *)(uintptr_t)&pm[i]);
	_mm_sfence();
}

static void store(const char *n)
{
	for (unsigned long i = 0; i < strtoul(n, NULL, 10); i++)
		put(i * 8 % (BYTES / 8), i + 1);
}

/* Varied contents, so that compression cannot make them vanish. */
static void flood(const char *n)
{
	uint64_t x = 88172645463325252ull;
	for (unsigned long i = 0; i < strtoul(n, NULL, 10); i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		pm[x % (BYTES / 8)] = x;
	}
}

static void copy_stdin(void)
{
	for (int c; (c = getchar()) != EOF;)
		putchar(c);
}

static void in_child(const char *n)
{
	fflush(stdout);
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		store(n);
		exit(0);
	}
	must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static void leave_daemon(const char *seconds)
{
	if (fork() == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		sleep((unsigned)atoi(seconds));
		_exit(0);
	}
}

static void on_term(int sig)
{
	_exit(sig);
}

/* One verb and its argument. */
static void step(const char *verb, const char *arg)
{
	if (!strcmp(verb, "store"))
		store(arg);
	else if (!strcmp(verb, "flood"))
		flood(arg);
	else if (!strcmp(verb, "say"))
		puts(arg);
	else if (!strcmp(verb, "warn"))
		fprintf(stderr, "%s\n", arg);
	else if (!strcmp(verb, "exit"))
		exit(atoi(arg));
	else if (!strcmp(verb, "raise"))
		raise(atoi(arg));
	else if (!strcmp(verb, "trap"))
		signal(atoi(arg), on_term);
	else if (!strcmp(verb, "wait"))
		pause();
	else if (!strcmp(verb, "cat"))
		copy_stdin();
	else if (!strcmp(verb, "fork"))
		in_child(arg);
	else if (!strcmp(verb, "daemon"))
		leave_daemon(arg);
	else if (!strcmp(verb, "unmap"))
		munmap((void *)(uintptr_t)pm, BYTES);
	else if (!strcmp(verb, "touch"))
		close(open(arg, O_CREAT | O_WRONLY, 0666));
	else if (!strcmp(verb, "exec"))
		execlp(arg, arg, (char *)NULL);
	else
		exit(98);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *big = getenv("VICTIM_BYTES");
	if (strcmp(argv[1], "-") != 0)
		map(argv[1], big ? strtoul(big, NULL, 10) : BYTES);
	for (int i = 2; i + 1 < argc; i += 2)
		step(argv[i], argv[i + 1]);
	return 0;
}
