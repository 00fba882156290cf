/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conversation with a program that is a server: connect, send the packets one by one, say
 * that no more will come, wait, stop the program.
 *
 * The next step is due when the program waits for us and has taken what it was sent (the tool
 * tells), or when nothing has happened for a while. The program has a network of its own, so that
 * its port is free; a process that stays there makes the sockets for us.
 */
#include "launch/explorer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENCE 0.5 /* seconds after which we go on anyway */

enum phase { NOTHING, CONNECT, SEND, SHUT, STOP, STOPPED };

struct talk {
	enum phase phase;
	int fd;
	int signal;    /* 0: `stop` is a command */
	unsigned port; /* 0: not found out yet */
	bool six;      /* IPv6 */
	const uint8_t *input;
	uint32_t now, sent;
	size_t packet;
	uint32_t idle; /* the program's count when we did the last step */
	double last;   /* when something happened */
	pid_t stopper;
};

struct talk *launch_talk_new(const struct launch_explorer *e)
{
	struct talk *t = xcalloc(1, sizeof *t);
	t->fd = -1;
	t->port = e->opts.port;
	t->signal = e->opts.stop ? sandbox_signal_named(e->opts.stop) : SIGTERM;
	return t;
}

static void hang_up(struct talk *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void launch_talk_free(struct talk *t)
{
	if (!t)
		return;
	hang_up(t);
	free(t);
}

void launch_talk_start(struct talk *t, const uint8_t *input, uint32_t now)
{
	hang_up(t);
	t->phase = CONNECT;
	t->input = input;
	t->now = now;
	t->sent = t->idle = 0;
	t->packet = 0;
	t->last = now_seconds();
}

bool launch_talk_stopped(const struct talk *t, int signal)
{
	return t->phase == STOPPED && signal == (t->signal ? t->signal : SIGTERM);
}

int launch_talk_wait(const struct talk *t)
{
	if (t->phase == NOTHING || t->phase == STOPPED)
		return 1000;
	if (t->phase == CONNECT)
		return 2;
	double left = t->last + SILENCE - now_seconds();
	return left <= 0 ? 0 : (int)(left * 1000) + 1;
}

/* ---- sockets in the program's network ---- */

/* Ends when holdfast's end is closed. */
static void dialer(int sock)
{
	char six;
	signal(SIGINT, SIG_IGN);
	while (read(sock, &six, 1) == 1) {
		int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || sandbox_send(sock, &six, 1, &fd, 1))
			break;
		close(fd);
	}
	_exit(0);
}

int launch_talk_dialer(void)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid_t pid = fork();
	if (pid == 0) { /* twice, so that it is no child of the program's */
		close(pair[0]);
		if (fork() == 0) {
			for (int fd = 0; fd < 1024; fd++)
				if (fd != pair[1])
					close(fd);
			dialer(pair[1]);
		}
		_exit(0);
	}
	close(pair[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return pair[0];
}

static int new_socket(int dial, bool six)
{
	char byte = six;
	int fd[SANDBOX_MAX_FDS];
	size_t n;
	if (dial < 0 || sandbox_send(dial, &byte, 1, NULL, 0) ||
	    sandbox_receive(dial, &byte, 1, fd, &n) <= 0 || !n)
		return -1;
	return fd[0];
}

static bool dial_up(struct talk *t, const struct launch_explorer *e)
{
	unsigned port = sandbox_listens(e->pid, e->opts.port, &t->six);
	if (!port || (t->fd = new_socket(e->dial, t->six)) < 0)
		return false;
	t->port = port;
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	six.sin6_addr = in6addr_loopback;
	int on = 1;
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (t->six ? connect(t->fd, (struct sockaddr *)&six, sizeof six)
		   : connect(t->fd, (struct sockaddr *)&four, sizeof four)) {
		hang_up(t);
		return false;
	}
	fcntl(t->fd, F_SETFL, O_NONBLOCK);
	return true;
}

/* ---- step by step ---- */

/* To be said before something is done: the program may be through with it at once. */
static void now_comes(struct talk *t, enum phase next, const struct launch_explorer *e)
{
	t->phase = next;
	t->idle = __atomic_load_n(&e->control->idle, __ATOMIC_ACQUIRE);
	t->last = now_seconds();
}

/* Answers are read and forgotten; that there are some shows that the program is busy. */
static void listen_to(struct talk *t)
{
	char buf[4096];
	while (t->fd >= 0) {
		ssize_t n = recv(t->fd, buf, sizeof buf, 0);
		if (n <= 0)
			return;
		t->last = now_seconds();
	}
}

static bool is_due(const struct talk *t, const struct launch_explorer *e)
{
	const struct sym_control *c = e->control;
	return (__atomic_load_n(&c->idle, __ATOMIC_ACQUIRE) != t->idle && c->taken >= t->sent) ||
	       now_seconds() > t->last + SILENCE;
}

static void send_packet(struct talk *t, const struct launch_explorer *e)
{
	uint32_t n = t->packet < e->opts.npacket ? e->opts.packet[t->packet] : t->now - t->sent;
	if (n > t->now - t->sent)
		n = t->now - t->sent;
	t->packet++;
	now_comes(t, SEND, e);
	if (n && send(t->fd, t->input + t->sent, n, MSG_NOSIGNAL) > 0)
		t->sent += n;
	else
		t->now = t->sent; /* nobody wants it */
	if (t->sent == t->now)
		t->phase = SHUT;
}

static void stop(struct talk *t, const struct launch_explorer *e, pid_t pid)
{
	if (!pid)
		return;
	now_comes(t, STOPPED, e);
	if (t->signal || !e->opts.stop)
		kill(pid, t->signal ? t->signal : SIGTERM);
	else
		t->stopper = launch_server_shell(e->opts.stop);
	hang_up(t);
}

void launch_talk_step(struct talk *t, const struct launch_explorer *e, pid_t pid)
{
	listen_to(t);
	switch (t->phase) {
	case CONNECT:
		if (pid && dial_up(t, e))  /* before it runs, the server turns us away */
			send_packet(t, e); /* it may wait in the backlog */
		break;
	case SEND:
		if (is_due(t, e))
			send_packet(t, e);
		break;
	case SHUT:
		if (is_due(t, e)) {
			now_comes(t, STOP, e);
			shutdown(t->fd, SHUT_WR);
		}
		break;
	case STOP:
		if (is_due(t, e))
			stop(t, e, pid);
		break;
	case STOPPED:
		if (t->stopper > 0 && waitpid(t->stopper, NULL, WNOHANG) == t->stopper)
			t->stopper = 0;
		break;
	case NOTHING: break;
	}
}
