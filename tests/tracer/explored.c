/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What explorer.c explores: one purpose for each first argument. A run says what it found by its
 * exit status; 90 and above: it saw what another run had done.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "holdfast.h"

static int take(char in[4])
{
	return read(0, in, 4) == 4 ? 0 : 80;
}

/* The status is the first byte's low bits; PM is written before and after. */
static int pool(char **argv)
{
	char in[4] = "";
	int fd = open(argv[0], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 8192))
		return 70;
	volatile char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	p[0] = 1;
	if (take(in))
		return 80;
	if (p[64])
		return 90;
	p[64] = 1;
	if (in[0] == 'q')
		p[128] = 1;
	return in[0] & 7;
}

/* Files, folders and names changed by each run. */
static int changes(char **argv)
{
	char in[4], text[8] = "";
	int fd = open("before", O_WRONLY | O_CREAT, 0644);
	(void)argv;
	if (fd < 0 || write(fd, "old", 3) != 3 || close(fd) || take(in))
		return 70;
	if (!access("made", F_OK) || access("kept", F_OK))
		return 90;
	fd = open("before", O_RDWR);
	if (read(fd, text, 8) != 3 || strcmp(text, "old") != 0)
		return 91;
	if (pwrite(fd, "new", 3, 0) != 3 || close(fd) || mkdir("made", 0755) || unlink("kept") ||
	    rename("before", "made/after"))
		return 71;
	return access("before", F_OK) && !access("made/after", F_OK) ? 0 : 72;
}

/* A file that was open before: made longer, or changed. */
static int logs(char **argv)
{
	char in[4];
	struct stat st;
	int fd = open("log", O_RDWR | O_CREAT, 0644);
	if (fd < 0 || write(fd, "12345678", 8) != 8 || take(in) || fstat(fd, &st))
		return 70;
	if (st.st_size != 8 || lseek(fd, 0, SEEK_CUR) != 8)
		return 90;
	if (!strcmp(argv[0], "append"))
		return write(fd, "more", 4) != 4;
	char c;
	if (pread(fd, &c, 1, 2) != 1 || c != '3')
		return 91;
	return pwrite(fd, "x", 1, 2) != 1;
}

static int crash(char **argv)
{
	char in[4];
	(void)argv;
	if (take(in))
		return 80;
	if (in[0] == 's')
		raise(SIGSEGV);
	if (in[0] == 'a')
		abort();
	while (in[0] == 'h')
		usleep(1000);
	return 0;
}

static int arguments(char **argv)
{
	const char *e = getenv("HOLDFAST_TEST");
	return !strcmp(argv[0], "ab") ? 1 : e && !strcmp(e, "cd") ? 2 : 0;
}

/* A file, mapped and read; the bytes around the input are not touched. */
static int file(char **argv)
{
	char c[6] = "";
	struct stat st;
	int fd = open(argv[0], O_RDWR);
	if (fd < 0 || fstat(fd, &st) || st.st_size != 6)
		return 70;
	char *p = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p[0] != '<' || p[5] != '>')
		return 90;
	if (pread(fd, c, 6, 0) != 6 || memcmp(c, p, 6) != 0)
		return 91;
	p[0] = 'x';
	return pwrite(fd, "y", 1, 5) != 1 ? 71 : p[1] == 'f';
}

static int size(char **argv)
{
	struct stat st;
	return stat(argv[0], &st) || open(argv[0], O_RDONLY) != 3 || read(3, &st, 1) < 0
		       ? 70
		       : (int)st.st_size;
}

static int memory(char **argv)
{
	char a[3] = { 1, 2, 3 }, b[2] = { 7, 7 };
	(void)argv;
	if (!HOLDFAST_SYMBOLIC(a, sizeof a))
		return 70;
	if (a[0] == 9 && HOLDFAST_SYMBOLIC(b, sizeof b) && b[1] == 8)
		return 2;
	return a[0] == 9;
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

static int threads(char **argv)
{
	pthread_t t;
	char in[4];
	(void)argv;
	return pthread_create(&t, NULL, idle, NULL) || take(in) ? 70 : in[0] & 7;
}

static int never(char **argv)
{
	(void)argv;
	return 3;
}

/* Two answers' difference, which a clock or random numbers would change. */
static int clocks(char **argv)
{
	char in[4];
	struct timespec t;
	unsigned r, drawn = 0;
	if (argv[0]) /* the processor can do it */
		__asm__ volatile("rdrand %0" : "=r"(drawn) : : "cc");
	if (take(in) || clock_gettime(CLOCK_REALTIME, &t) || getrandom(&r, sizeof r, 0) != sizeof r)
		return 70;
	unsigned long mixed = (unsigned long)t.tv_nsec / 1000 + r + drawn + __builtin_ia32_rdtsc() +
			      (unsigned long)time(NULL);
	return (int)(mixed * 0x9E3779B97F4A7C15ul >> 58);
}

static int echo(char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(7) };
	char b[16];
	int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	(void)argv;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(27182);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 4))
		return 70;
	for (;;) {
		int c = accept(s, NULL, NULL);
		ssize_t n;
		unsigned packets = 0;
		if (c < 0)
			return 71;
		while ((n = recv(c, b, sizeof b, 0)) > 0) {
			if (++packets == 2 && b[0] == '!')
				return 5;
			if (send(c, b, (size_t)n, 0) != n)
				return 72;
		}
		close(c);
	}
}

/* Another program takes the run over; or cannot. */
static int becomes(char **argv)
{
	char in[4];
	(void)argv;
	if (take(in))
		return 80;
	if (in[0] == 'e')
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	if (in[0] == 'n')
		execl("/no/such/program", "x", (char *)NULL);
	return in[0] & 7;
}

/* A child of the run's, which changes memory that they share. */
static int children(char **argv)
{
	char in[4];
	int status;
	int fd = open(argv[0], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4096))
		return 70;
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	volatile char *q =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	p[0] = q[0] = 1;
	if (take(in))
		return 80;
	if (p[0] != 1 || q[0] != 1 || p[1] || q[1])
		return 90;
	p[1] = q[1] = 1;
	pid_t pid = fork();
	if (pid == 0) {
		if (p[1] != 1 || q[1] != 1)
			_exit(91);
		p[0] = q[0] = in[0];
		_exit(in[1] & 7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 71;
	if (p[0] != in[0] || q[0] != in[0])
		return 72;
	return WEXITSTATUS(status);
}

static int look(const char *path, char want)
{
	char c = 0;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, &c, 1) != 1 || close(fd))
		return 70;
	return c == want;
}

/* The symbolic file is renamed, removed, made anew and replaced. */
static int removes(char **argv)
{
	if (!access("other", F_OK) || access(argv[0], F_OK))
		return 90;
	if (rename(argv[0], "other") || !access(argv[0], F_OK))
		return 71;
	int is = look("other", 'f');
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || write(fd, "new", 3) != 3 || close(fd) || rename("other", argv[0]) ||
	    unlink(argv[0]) || !access(argv[0], F_OK))
		return 72;
	return is;
}

/* Cut, and nothing else: the next run has it whole. */
static int cut(char **argv)
{
	char c[6];
	int fd = open(argv[0], O_RDONLY);
	if (fd < 0 || read(fd, c, 6) != 6 || c[0] != '<' || c[5] != '>')
		return 90;
	return open(argv[0], O_WRONLY | O_TRUNC) < 0 ? 71 : c[1] == 'f';
}

static int says(char **argv)
{
	char in[4];
	printf("before\n");
	fflush(stdout);
	if (!strcmp(argv[0], "early")) {
		fprintf(stderr, "no pool\n");
		return 4;
	}
	if (take(in))
		return 80;
	printf("got %.4s\n", in);
	return 0;
}

/* Another number of stores in each process; each run must be followed by a new one. */
static int differs(char **argv)
{
	char in[4];
	int fd = open(argv[0], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4096))
		return 70;
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = getpid() & 1023; i >= 0; i--)
		p[i] = 1;
	return take(in) || pwrite(fd, "x", 1, 0) != 1;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} purposes[] = {
	{ "pool", pool },       { "changes", changes },   { "logs", logs },
	{ "crash", crash },     { "file", file },         { "arguments", arguments },
	{ "size", size },       { "never", never },       { "memory", memory },
	{ "threads", threads }, { "clocks", clocks },     { "echo", echo },
	{ "becomes", becomes }, { "children", children }, { "removes", removes },
	{ "cut", cut },         { "says", says },         { "differs", differs },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof purposes / sizeof *purposes; i++)
		if (!strcmp(argv[1], purposes[i].name))
			return purposes[i].run(argv + 2);
	return 100;
}
