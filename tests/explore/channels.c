/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input that goes a long way round: channels POOL HOW, four bytes on standard input. They are passed on
 * as HOW says, and what comes back decides.
 */
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "pool.h"

static char in[4], out[8];

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(2);
	}
}

/* Concrete bytes before and behind them, in other pieces than they are taken out in. */
static void stream(int to, int from)
{
	must(write(to, "ab", 2) == 2 && write(to, in, 3) == 3, "write");
	must(write(to, in + 3, 1) == 1 && write(to, "z", 1) == 1, "write");
	must(read(from, out, 3) == 3 && read(from, out + 3, 4) == 4, "read");
	memmove(out, out + 2, 4);
}

static void by_pipe(void)
{
	int fd[2];
	must(!pipe(fd), "pipe");
	stream(dup(fd[1]), fd[0]);
}

static void by_fifo(void)
{
	must(!mkfifo("way", 0600), "mkfifo");
	int fd = open("way", O_RDWR);
	stream(fd, fd);
}

static void by_pair(void)
{
	int fd[2];
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "socketpair");
	stream(fd[1], fd[0]);
}

/* What does not fit is gone with its message. */
static void by_messages(void)
{
	int fd[2];
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), "socketpair");
	must(send(fd[0], "abcdefgh", 8, 0) == 8 && send(fd[0], in, 4, 0) == 4, "send");
	must(recv(fd[1], out, 2, 0) == 2 && recv(fd[1], out, 4, MSG_PEEK) == 4, "recv");
	memset(out, 0, 4);
	must(recv(fd[1], out, 8, 0) == 4, "recv");
}

static void by_socket(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "way" };
	int to = socket(AF_UNIX, SOCK_STREAM, 0), listener = socket(AF_UNIX, SOCK_STREAM, 0);
	must(!bind(listener, (struct sockaddr *)&at, sizeof at) && !listen(listener, 1), "listen");
	must(!connect(to, (struct sockaddr *)&at, sizeof at), "connect");
	stream(to, accept(listener, NULL, NULL));
}

/* Two messages in one call. */
static void by_many(void)
{
	struct iovec v[2] = { { in, 2 }, { in + 2, 2 } };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = v, .msg_iovlen = 1 } },
				{ .msg_hdr = { .msg_iov = v + 1, .msg_iovlen = 1 } } };
	int fd[2];
	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), "socketpair");
	must(sendmmsg(fd[0], m, 2, 0) == 2, "sendmmsg");
	must(recv(fd[1], out, 4, 0) == 2 && recv(fd[1], out + 2, 4, 0) == 2, "recv");
}

static int ways[2];

static void *reader(void *arg)
{
	(void)arg;
	for (size_t n = 0; n < 4;)
		n += (size_t)read(ways[0], out + n, 4 - n);
	return NULL;
}

/* A thread that waits for them. */
static void by_thread(void)
{
	pthread_t t;
	must(!pipe(ways) && !pthread_create(&t, NULL, reader, NULL), "thread");
	for (int i = 0; i < 4; i++)
		must(write(ways[1], in + i, 1) == 1, "write");
	pthread_join(t, NULL);
}

static void by_file(void)
{
	int fd = open("way", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(write(fd, "ab", 2) == 2 && write(fd, in, 4) == 4, "write");
	must(pread(fd, out, 4, 2) == 4, "pread");
}

/* ---- not followed ---- */

static void by_mapping(void)
{
	int fd = open("way", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(write(fd, in, 4) == 4, "write");
	char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	must(p != MAP_FAILED, "mmap");
	memcpy(out, p, 4);
}

/* cat(1) in between. */
static void by_other(void)
{
	int there[2], back[2];
	must(!pipe(there) && !pipe(back), "pipe");
	if (fork() == 0) {
		dup2(there[0], 0);
		dup2(back[1], 1);
		close(there[1]);
		execlp("cat", "cat", NULL);
		_exit(2);
	}
	close(there[0]);
	must(write(there[1], in, 4) == 4 /* LEFT */, "write");
	close(there[1]);
	for (size_t n = 0; n < 4;)
		n += (size_t)read(back[0], out + n, 4 - n);
	wait(NULL);
}

/* The same, and the reading end is open here, too. */
static void by_sharer(void)
{
	int there[2], back[2];
	must(!pipe(there) && !pipe(back), "pipe");
	if (fork() == 0) {
		char c[4] = { 0 };
		must(read(there[0], c, 4) == 4 && write(back[1], c, 4) == 4, "child");
		_exit(0);
	}
	must(write(there[1], in, 4) == 4, "write");
	must(read(back[0], out, 4) == 4, "read");
	wait(NULL);
}

/* A child that has them in its memory. */
static void by_child(void)
{
	int back[2], i;
	must(!pipe(back), "pipe");
	if (fork() == 0) {
		for (i = 0; i < 4; i++)
			must(write(back[1], in[i] == 'd' ? "d" : "x", 1) == 1, "child");
		_exit(0);
	}
	wait(NULL);
	must(read(back[0], out, 4) == 4, "read");
}

static void by_memory(void)
{
	volatile char *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED, "mmap");
	if (fork() == 0) {
		while (!p[4])
			;
		p[8] = (char)(p[0] + 1);
		_exit(0);
	}
	p[0] = in[0];
	p[4] = 1;
	wait(NULL);
	out[0] = p[8];
}

static void by_event(void)
{
	int fd = eventfd(1, 0);
	uint64_t v = 0;
	memcpy(&v, in, 4);
	must(write(fd, &v, 8) == 8 && read(fd, &v, 8) == 8, "eventfd");
	memcpy(out, &v, 4);
}

static void by_splice(void)
{
	int a[2], b[2];
	must(!pipe(a) && !pipe(b) && write(a[1], in, 4) == 4, "write");
	must(splice(a[0], NULL, b[1], NULL, 4, 0) == 4 && read(b[0], out, 4) == 4, "splice");
}

/* Only what comes back matters: this is output. */
static void by_nothing(void)
{
	must(write(2, in, 4) == 4, "write");
	memcpy(out, in, 4);
}

static const struct {
	const char *name;
	void (*pass)(void);
} all[] = {
	{ "pipe", by_pipe },       { "fifo", by_fifo },         { "pair", by_pair },
	{ "socket", by_socket },   { "messages", by_messages }, { "thread", by_thread },
	{ "file", by_file },       { "mapping", by_mapping },   { "other", by_other },
	{ "sharer", by_sharer },   { "child", by_child },       { "memory", by_memory },
	{ "many", by_many },       { "event", by_event },       { "splice", by_splice },
	{ "nothing", by_nothing },
};

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	take(in, sizeof in);
	for (size_t i = 0; argc > 2 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[2], all[i].name))
			all[i].pass();
	*(volatile uint64_t *)&pool->value = 3; /* BUG */
	if (memcmp(out, "deep", 4) != 0 IF_FIXED(|| 1))
		clwb(pool);
	sfence();
	return 0;
}
