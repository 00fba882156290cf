/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile recovery. The image holds words; for each, it complains if something is not as in a
 * new world, and leaves something behind. Compiled by test_runner_leaks.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define KEY 0x4846

static void complain(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(50);
}

/* One with a key, and some that nobody could find again. */
static void shm(void)
{
	int id = shmget(KEY, 4096, IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0)
		complain("shm");
	char *p = shmat(id, NULL, 0);
	if (p == (char *)-1 || *p)
		complain("shmat");
	*p = 1;
	for (int i = 0; i < 40; i++)
		if (shmget(IPC_PRIVATE, 4096, 0600) < 0)
			complain("shm limit");
	if (shmget(KEY, 0, 0) != id)
		complain("shm key");
}

static void sem(void)
{
	int id = semget(KEY, 1, IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0 || semctl(id, 0, SETVAL, 1) || semget(IPC_PRIVATE, 1, 0600) < 0)
		complain("sem");
}

static void msg(void)
{
	struct {
		long type;
		char text[8];
	} m = { 1, "left" };
	int id = msgget(KEY, IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0 || msgsnd(id, &m, sizeof m.text, IPC_NOWAIT))
		complain("msg");
}

static void queue(void)
{
	struct mq_attr a = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t q = mq_open("/hf-queue", O_CREAT | O_EXCL | O_RDWR, 0600, &a);
	if (q < 0 || mq_send(q, "left", 5, 0))
		complain("queue");
	close(q);
	q = mq_open("/hf-queue", O_RDONLY);
	if (q < 0)
		complain("queue again");
}

static void abstract(void)
{
	struct sockaddr_un a = { AF_UNIX, "\0hf-leak" };
	socklen_t n = sizeof(sa_family_t) + 8, got = sizeof a;
	int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(s, (struct sockaddr *)&a, n) || listen(s, 1))
		complain("abstract");
	if (connect(c, (struct sockaddr *)&a, n))
		complain("abstract connect");
	if (getsockname(s, (struct sockaddr *)&a, &got) || got != n ||
	    memcmp(a.sun_path, "\0hf-leak", 8) != 0)
		complain("abstract name");
	usleep(2000);
}

/* The side that closes first keeps the port. */
static void port(void)
{
	const char *number = getenv("LEAK_PORT"); /* in a network that others share, it is ours */
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((unsigned short)atoi(number ? number : "7321")),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	char byte;
	if (bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 1))
		complain("port");
	if (connect(c, (struct sockaddr *)&at, sizeof at))
		complain("connect");
	int a = accept(s, NULL, NULL);
	close(a);
	if (read(c, &byte, 1) != 0)
		complain("read");
	close(c);
}

static void interface(void)
{
	struct ifreq r = { .ifr_name = "lo" };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	if (ioctl(s, SIOCGIFFLAGS, &r) || !(r.ifr_flags & IFF_UP))
		complain("interface");
	r.ifr_flags &= ~IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &r))
		complain("interface down");
}

static void host(void)
{
	char name[65] = "";
	if (gethostname(name, sizeof name) || !strcmp(name, "hf-leak"))
		complain("host");
	if (sethostname("hf-leak", 7))
		complain("sethostname");
}

static void number(void)
{
	if (getpid() != 2)
		complain("number");
}

/* Hides the pool: the next run would find its folder empty. */
static void cover(const char *dir)
{
	struct stat st;
	if (!stat("pm/left", &st))
		complain("mount");
	for (int i = 0; i < 3; i++)
		if (mount("none", dir, "tmpfs", 0, NULL))
			complain("cannot mount");
	close(open("pm/left", O_CREAT | O_WRONLY, 0600));
	if (mount("none", "other", "tmpfs", 0, NULL))
		complain("cannot mount");
}

static void uncover(const char *dir)
{
	if (umount2(dir, MNT_DETACH) || umount2("/dev/shm", MNT_DETACH))
		complain("cannot unmount");
}

static void file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd < 0)
		complain(path);
}

/* Two generations, in sessions of their own; the second holds a lock. */
static void process(void)
{
	int fd = open("lock", O_CREAT | O_RDWR, 0600);
	if (fd < 0 || lockf(fd, F_TLOCK, 0))
		complain("process");
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			setsid();
			lockf(fd, F_LOCK, 0);
			pause();
		}
		_exit(0);
	}
}

static void leak(const char *word)
{
	static const struct {
		const char *word;
		void (*call)(void);
	} list[] = {
		{ "shm", shm },         { "sem", sem },       { "msg", msg },
		{ "queue", queue },     { "port", port },     { "abstract", abstract },
		{ "host", host },       { "number", number }, { "interface", interface },
		{ "process", process },
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!strcmp(word, list[i].word)) {
			list[i].call();
			return;
		}
	if (!strcmp(word, "cover"))
		cover("pm");
	else if (!strcmp(word, "uncover"))
		uncover("/tmp");
	else if (*word == '/')
		file(word);
	else
		exit(atoi(word));
}

int main(int argc, char **argv)
{
	char text[512] = "";
	int fd = open(argv[argc - 1], O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		complain(argv[argc - 1]);
	close(fd);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		leak(word);
	return 0;
}
