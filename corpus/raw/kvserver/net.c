/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What was received and not yet used. */
struct buffer {
	int fd;
	size_t length;
	char bytes[NET_LINE];
};

static int failed(const char *what)
{
	fprintf(stderr, "kvserver: %s: %s\n", what, strerror(errno));
	return 2;
}

static int parse_port(const char *text, struct sockaddr_in *address)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address->sin_port = htons((unsigned short)port);
	errno = EINVAL;
	return *text && !*end && port <= 65535;
}

/* Takes one line, without its end ("\n" or "\r\n"), from a connection. 0 at its end, or when the line is
 * too long. */
static int take_line(struct buffer *in, char line[NET_LINE])
{
	char *end;
	size_t length;
	ssize_t n;

	while (!(end = memchr(in->bytes, '\n', in->length))) {
		if (in->length == sizeof(in->bytes))
			return 0;
		n = read(in->fd, in->bytes + in->length, sizeof(in->bytes) - in->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		in->length += (size_t)n;
	}
	length = (size_t)(end - in->bytes);
	memcpy(line, in->bytes, length);
	line[length] = '\0';
	if (length && line[length - 1] == '\r')
		line[length - 1] = '\0';
	in->length -= length + 1;
	memmove(in->bytes, end + 1, in->length);
	return 1;
}

static int give_line(int fd, const char *line)
{
	char bytes[NET_LINE + 1];
	size_t length = (size_t)snprintf(bytes, sizeof(bytes), "%s\n", line);
	ssize_t n;

	for (size_t at = 0; at < length; at += (size_t)n) {
		n = send(fd, bytes + at, length - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return 0;
	}
	return 1;
}

static enum net_verdict converse(int fd, net_handler handler, void *state)
{
	struct buffer in = {.fd = fd};
	char request[NET_LINE], reply[NET_LINE];
	enum net_verdict verdict = NET_GO_ON;

	while (verdict == NET_GO_ON && take_line(&in, request)) {
		verdict = handler(state, request, reply);
		if (!give_line(fd, reply) && verdict == NET_GO_ON)
			verdict = NET_CLOSE;
	}
	return verdict;
}

static int start(const char *port)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	if (!parse_port(port, &address) || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 8) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		close(fd);
		return -1;
	}
	printf("listening %u\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

int net_serve(const char *port, net_handler handler, void *state)
{
	enum net_verdict verdict = NET_GO_ON;
	int fd = start(port), connection;

	if (fd < 0)
		return failed(port);
	while (verdict != NET_STOP) {
		connection = accept(fd, NULL, NULL);
		if (connection < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			break;
		}
		verdict = converse(connection, handler, state);
		close(connection);
	}
	close(fd);
	return verdict == NET_STOP ? 0 : failed("accept");
}

static int send_ops(int fd, FILE *ops)
{
	struct buffer in = {.fd = fd};
	char line[NET_LINE], reply[NET_LINE];

	while (fgets(line, sizeof(line), ops)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		if (!give_line(fd, line) || !take_line(&in, reply))
			return failed("connection lost");
		puts(reply);
		fflush(stdout);
	}
	return 0;
}

int net_client(const char *port, const char *path)
{
	FILE *ops = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	struct sockaddr_in address;
	int fd, status;

	if (!ops)
		return failed(path);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !parse_port(port, &address) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		status = failed(port);
	else
		status = send_ops(fd, ops);
	if (fd >= 0)
		close(fd);
	if (ops != stdin)
		fclose(ops);
	return status;
}
