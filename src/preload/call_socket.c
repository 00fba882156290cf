/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets that have a name in a folder. */
#include "preload/internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	struct way way;
	struct sockaddr_un un;
	const struct sockaddr *use;
	socklen_t n;
	long folder; /* a descriptor; -1: none */
};

/* A path that is too long for an address is given by a descriptor of its folder. */
static int shorten(struct address *a)
{
	char *slash = strrchr(a->way.buf, '/'), digits[PRELOAD_DIGITS];
	if (strlen(a->way.path) < sizeof a->un.sun_path) {
		strcpy(a->un.sun_path, a->way.path);
		return 0;
	}
	*slash = '\0';
	a->folder = preload_sys(SYS_openat, AT_FDCWD, a->way.buf, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (a->folder < 0)
		return (int)preload_result(a->folder);
	strcpy(a->un.sun_path, "/proc/self/fd/");
	strcat(a->un.sun_path, preload_digits(digits, (unsigned)a->folder));
	if (strlen(a->un.sun_path) + strlen(slash) >= sizeof a->un.sun_path) {
		preload_sys(SYS_close, a->folder);
		errno = ENAMETOOLONG;
		return -1;
	}
	strcat(a->un.sun_path, slash);
	return 0;
}

static int translate(struct address *a, const struct sockaddr *given, socklen_t n, unsigned how)
{
	char path[sizeof a->un.sun_path + 1] = "";
	size_t head = offsetof(struct sockaddr_un, sun_path);
	a->use = given;
	a->n = n;
	a->folder = -1;
	a->way.unhidden = false;
	if (!given || n <= head || n > sizeof a->un || given->sa_family != AF_UNIX || !preload_on())
		return 0;
	memcpy(path, (const char *)given + head, n - head);
	if (!*path) {
		memcpy(&a->un, given, n);
		a->use = (const struct sockaddr *)&a->un;
		a->n = (socklen_t)(head + preload_own_abstract(a->un.sun_path, n - head,
							       sizeof a->un.sun_path));
		return 0;
	}
	if (preload_see(&a->way, AT_FDCWD, path, how))
		return -1;
	if (a->way.path == path)
		return 0;
	a->un.sun_family = AF_UNIX;
	if (shorten(a))
		return -1;
	a->use = (const struct sockaddr *)&a->un;
	a->n = (socklen_t)(head + strlen(a->un.sun_path) + 1);
	return 0;
}

static long finish(struct address *a, long r)
{
	if (a->folder >= 0)
		preload_sys(SYS_close, a->folder);
	return preload_seen(&a->way, r);
}

/*
 * The port of a closed connection stays taken for a minute, unless both it and who wants it say that it
 * may be used again. So all say so: the next run finds it free. Two cannot listen there.
 */
static void may_be_used_again(int fd, const struct sockaddr *a)
{
	int one = 1;
	if (a && (a->sa_family == AF_INET || a->sa_family == AF_INET6) && preload_apart())
		preload_sys(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t n)
{
	struct address a;
	if (translate(&a, address, n, SEE_NAME | SEE_CREATE | SEE_NEW | SEE_FILE)) {
		errno = errno == EEXIST ? EADDRINUSE : errno;
		return -1;
	}
	may_be_used_again(fd, a.use);
	return (int)finish(&a, preload_sys(SYS_bind, fd, a.use, a.n));
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t n)
{
	struct address a;
	if (translate(&a, address, n, 0))
		return -1;
	return (int)finish(&a, preload_sys(SYS_connect, fd, a.use, a.n));
}

EXPORT ssize_t sendto(int fd, const void *data, size_t len, int flags,
		      const struct sockaddr *address, socklen_t n)
{
	struct address a;
	if (translate(&a, address, n, 0))
		return -1;
	return finish(&a, preload_sys(SYS_sendto, fd, data, len, flags, a.use, a.n));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct address a;
	struct msghdr other = *m;
	if (translate(&a, m->msg_name, m->msg_namelen, 0))
		return -1;
	other.msg_name = (void *)a.use;
	other.msg_namelen = a.n;
	return finish(&a, preload_sys(SYS_sendmsg, fd, &other, flags));
}

/* The name that the program gave, in place of ours. */
static int give_name(long number, int fd, struct sockaddr *out, socklen_t *room)
{
	struct sockaddr_un un;
	char outside[VIEW_PATH];
	size_t head = offsetof(struct sockaddr_un, sun_path);
	socklen_t n = sizeof un - 1;
	if (preload_on() && preload_sys(number, fd, &un, &n) == 0 && un.sun_family == AF_UNIX &&
	    n > head && n < sizeof un) {
		if (!*un.sun_path) {
			n = (socklen_t)(head + preload_outer_abstract(un.sun_path, n - head));
			memcpy(out, &un, n < *room ? n : *room);
			*room = n;
			return 0;
		}
		((char *)&un)[n] = '\0';
		if (preload_outside(un.sun_path, outside) && strlen(outside) < sizeof un.sun_path) {
			strcpy(un.sun_path, outside);
			n = (socklen_t)(head + strlen(outside) + 1);
			memcpy(out, &un, n < *room ? n : *room);
			*room = n;
			return 0;
		}
	}
	return (int)preload_result(preload_sys(number, fd, out, room));
}

EXPORT int getsockname(int fd, struct sockaddr *out, socklen_t *room)
{
	return give_name(SYS_getsockname, fd, out, room);
}

EXPORT int getpeername(int fd, struct sockaddr *out, socklen_t *room)
{
	return give_name(SYS_getpeername, fd, out, room);
}
