/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths, mounts and networks, for those who give a program a view of its own. */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

const char *path_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	if (strncmp(path, dir, n) != 0)
		return NULL;
	return path[n] == '/' ? path + n + 1 : path[n] ? NULL : path + n;
}

/* mountinfo writes blanks as \040. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

void mount_points_read(struct mount_points *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *where;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		if (sscanf(line, "%*d %*d %*s %*s %ms", &where) == 1) {
			unescape(where);
			VEC_PUSH(out, where);
		}
	free(line);
	if (f)
		fclose(f);
}

void loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (!ioctl(fd, SIOCGIFFLAGS, &req)) {
		req.ifr_flags |= IFF_UP | IFF_RUNNING;
		ioctl(fd, SIOCSIFFLAGS, &req);
	}
	close(fd);
}
