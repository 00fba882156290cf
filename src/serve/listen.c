/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: a process for each, and an end when a signal comes. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/internal.h"

#define MOST_CLIENTS 64u
#define SEND_SECONDS 30 /* a client that takes nothing for so long is gone */

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

struct server {
	const struct serve_opts *o;
	int fd;
	pid_t self;
	pid_t client[MOST_CLIENTS];
	size_t clients;
	char cache[64]; /* folder; "": none */
};

/* ---- the port ---- */

static int bind_to(int fd, unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	return bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, SOMAXCONN) ? -1 : 0;
}

static unsigned port_of(int fd)
{
	struct sockaddr_in at = { 0 };
	socklen_t n = sizeof at;
	return getsockname(fd, (struct sockaddr *)&at, &n) ? 0 : ntohs(at.sin_port);
}

static int open_port(struct server *s, struct err *err)
{
	int on = 1, bad;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_errno(err, EXIT_INTERNAL, "cannot serve");
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	bad = bind_to(s->fd, s->o->port);
	if (bad && errno == EADDRINUSE && !s->o->fixed)
		bad = bind_to(s->fd, 0);
	if (bad && errno == EADDRINUSE)
		return err_set(
			err, EXIT_USAGE,
			"port %u is in use by another program; --port 0 takes one that is free",
			s->o->port);
	if (bad)
		return err_errno(err, EXIT_USAGE, "cannot serve at port %u", s->o->port);
	return 0;
}

/* ---- clients ---- */

static void __attribute__((noreturn)) be_client(const struct server *s, int fd)
{
	struct timeval limit = { .tv_sec = SEND_SECONDS };
	struct serve_view view = { s->o, *s->cache ? s->cache : NULL };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != s->self)
		_exit(0);
	close(s->fd);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	msg_quiet = true; /* what check says while it reads */
	serve_answer(&(struct serve_client){ fd, &view });
	shutdown(fd, SHUT_WR);
	_exit(0);
}

static void reap(struct server *s)
{
	for (size_t i = 0; i < s->clients;)
		if (waitpid(s->client[i], NULL, WNOHANG))
			s->client[i] = s->client[--s->clients];
		else
			i++;
}

static void turn_away(int fd)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
				   "Content-Length: 0\r\nRetry-After: 2\r\n\r\n";
	(void)!send(fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void take_client(struct server *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	reap(s);
	pid_t child = s->clients < MOST_CLIENTS ? fork() : -1;
	if (!child)
		be_client(s, fd);
	if (child > 0)
		s->client[s->clients++] = child;
	else
		turn_away(fd);
	close(fd);
}

/* ---- the folder for what check found ---- */

static void make_cache(struct server *s)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(s->cache, sizeof s->cache, "%s/holdfast-serve-XXXXXX",
			 tmp && *tmp == '/' ? tmp : "/tmp");
	if (n >= (int)sizeof s->cache || !mkdtemp(s->cache))
		*s->cache = 0;
}

static void remove_cache(const struct server *s)
{
	DIR *d = *s->cache ? opendir(s->cache) : NULL;
	struct dirent *e;
	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (*s->cache)
		rmdir(s->cache);
}

/* ---- from start to end ---- */

static void until_signal(struct server *s)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t mask, before;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &before); /* they come while it waits, and only then */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	while (!ended) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		struct timespec second = { .tv_sec = 1 };
		if (ppoll(&p, 1, &second, &before) > 0) {
			sigprocmask(SIG_SETMASK, &before, NULL);
			take_client(s);
			sigprocmask(SIG_BLOCK, &mask, NULL);
		}
		reap(s);
	}
}

int serve_run(const struct serve_opts *o, struct err *err)
{
	struct server s = { .o = o, .fd = -1, .self = getpid() };
	struct stat st;
	if (stat(o->dir, &st))
		return err_errno(err, EXIT_USAGE, "cannot serve %s", o->dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, EXIT_USAGE, "cannot serve %s: it is no folder", o->dir);
	if (open_port(&s, err)) {
		if (s.fd >= 0)
			close(s.fd);
		return -1;
	}
	make_cache(&s);
	printf("http://127.0.0.1:%u/\n", port_of(s.fd));
	fflush(stdout);
	msg_info("%s is served to this machine until Ctrl-C", o->dir);
	until_signal(&s);
	for (size_t i = 0; i < s.clients; i++)
		kill(s.client[i], SIGTERM);
	for (size_t i = 0; i < s.clients; i++)
		waitpid(s.client[i], NULL, 0);
	close(s.fd);
	remove_cache(&s);
	return 0;
}
