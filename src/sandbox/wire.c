/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes and descriptors over a socket, between processes that do not see the same files. */
#include "sandbox/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(SANDBOX_MAX_FDS * sizeof(int))];
};

int sandbox_send(int sock, const void *bytes, size_t len, const int *fd, size_t n)
{
	union control c = { 0 };
	struct iovec v = { (void *)bytes, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t sent;
	if (n) {
		m.msg_control = c.buf;
		m.msg_controllen = CMSG_SPACE(n * sizeof *fd);
		struct cmsghdr *part = CMSG_FIRSTHDR(&m);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(n * sizeof *fd);
		memcpy(CMSG_DATA(part), fd, n * sizeof *fd);
	}
	while ((sent = sendmsg(sock, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)len ? 0 : -1;
}

int sandbox_receive(int sock, void *bytes, size_t len, int fd[SANDBOX_MAX_FDS], size_t *n)
{
	union control c;
	struct iovec v = { bytes, len };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof c.buf
	};
	ssize_t got;
	while ((got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL)) < 0 && errno == EINTR)
		;
	*n = 0;
	struct cmsghdr *part = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (part && part->cmsg_type == SCM_RIGHTS) {
		*n = (part->cmsg_len - CMSG_LEN(0)) / sizeof *fd;
		memcpy(fd, CMSG_DATA(part), *n * sizeof *fd);
	}
	return got == 0 ? 0 : got == (ssize_t)len ? 1 : -1;
}
