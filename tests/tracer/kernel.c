/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that the kernel makes into PM: kernel POOL LOG */
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

#define POOL_BYTES (1ul << 20)

static char text[10000];

/* A file with the text, to read from. */
static int text_file(void)
{
	FILE *f = tmpfile();
	must(f != NULL, "tmpfile");
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 7 + i / 256 + 1);
	must(fwrite(text, 1, sizeof text, f) == sizeof text && !fflush(f), "fwrite");
	return fileno(f);
}

static void expect_kernel(const void *at, ssize_t size)
{
	must(size >= 0, "system call");
	if (size)
		expect_store(at, (size_t)size, "kernel");
}

static void reads(char *pm, int fd)
{
	struct iovec v[3] = { { pm + 30000, 10 }, { text, 5 }, { pm + 32760, 20 } };
	char away[100];
	must(!lseek(fd, 0, SEEK_SET), "lseek");
	expect_kernel(pm + 100, read(fd, pm + 100, 77));
	expect_kernel(pm + 4000, read(fd, pm + 4000, 9000));   /* several pages */
	expect_kernel(pm + 20000, read(fd, pm + 20000, 5000)); /* the rest: less than asked for */
	expect_kernel(pm + 20000, read(fd, pm + 20000, 5000)); /* nothing */
	expect_kernel(pm + 25000, pread(fd, pm + 25000, 500, 123));
	must(read(fd, away, 0) == 0, "read");
	must(pread(fd, away, sizeof away, 0) == sizeof away, "pread"); /* not into PM */
	must(preadv(fd, v, 3, 50) == 35, "preadv");
	expect_kernel(v[0].iov_base, 10);
	expect_kernel(v[2].iov_base, 20);
	must(lseek(fd, 9990, SEEK_SET) == 9990, "lseek");
	must(readv(fd, v, 3) == 10, "readv"); /* ends in the first part */
	expect_kernel(v[0].iov_base, 10);
}

static void sockets(char *pm)
{
	int s[2];
	char aside[8];
	struct iovec v[2] = { { pm + 50000, 6 }, { pm + 60000, 1000 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	must(send(s[0], text, 300, 0) == 300, "send");
	expect_kernel(pm + 40000, recv(s[1], pm + 40000, 100, 0));
	expect_kernel(pm + 41000, recv(s[1], pm + 41000, 50, MSG_PEEK));
	expect_kernel(pm + 42000, recvfrom(s[1], pm + 42000, 50, 0, NULL, NULL));
	expect_kernel(pm + 43000, read(s[1], pm + 43000, 50));
	must(recvmsg(s[1], &m, 0) == 100, "recvmsg");
	expect_kernel(pm + 50000, 6);
	expect_kernel(pm + 60000, 94);
	must(send(s[0], text, 8, 0) == 8 && recv(s[1], aside, 8, 0) == 8, "recv");
	must(!pipe(s) && write(s[1], text, 20) == 20, "pipe");
	expect_kernel(pm + 44000, read(s[0], pm + 44000, 100));
}

/* Structures that system calls fill in. */
static void others(char *pm, int fd)
{
	struct stat *st = (struct stat *)(pm + 70000);
	struct timespec *ts = (struct timespec *)(pm + 71000);
	int *status = (int *)(pm + 72000), *pair = (int *)(pm + 73000);
	pid_t pid;
	expect_kernel(pm + 45000, getrandom(pm + 45000, 64, 0));
	must(!syscall(SYS_fstat, fd, st), "fstat");
	expect_kernel(st, sizeof *st);
	must(!syscall(SYS_clock_getres, CLOCK_MONOTONIC, ts), "clock_getres");
	expect_kernel(ts, sizeof *ts);
	must(!syscall(SYS_pipe, pair), "pipe");
	expect_kernel(pair, 2 * sizeof *pair);
	must(syscall(SYS_getcwd, pm + 74000, 4096) > 0, "getcwd");
	expect_kernel(pm + 74000, (ssize_t)strlen(pm + 74000) + 1);
	pid = fork();
	if (pid == 0)
		_exit(5);
	must(syscall(SYS_wait4, pid, status, 0, NULL) == pid, "wait4");
	expect_kernel(status, sizeof *status);
	must(syscall(SYS_pread64, fd, pm + POOL_BYTES + 8192, 10, 0) == -1,
	     "a read that must fail");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	char *pm = pool_map(argv[1], POOL_BYTES, (void *)0x10000000000ul);
	int fd = text_file();
	expect_open(argv[2]);
	reads(pm, fd);
	sockets(pm);
	others(pm, fd);
	return 0;
}
