/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that are ours: what we started, and what has lost its parent since. */
#include "launch/internal.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parent in /proc/PID/stat: "PID (NAME) STATE PARENT …"; the name may hold anything. */
static pid_t parent_of(const char *pid)
{
	char path[300], text[1024];
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	const char *behind = strrchr(text, ')');
	return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

void launch_children_list(struct children *list)
{
	struct dirent *e;
	DIR *dir = opendir("/proc");
	list->n = 0;
	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == getpid())
			VEC_PUSH(list, atoi(e->d_name));
	closedir(dir);
}

static bool holds(const struct children *list, pid_t pid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->p[i] == pid)
			return true;
	return false;
}

void launch_children_signal(const struct children *except, int sig)
{
	struct children now = { 0 };
	launch_children_list(&now);
	for (size_t i = 0; i < now.n; i++)
		if (!holds(except, now.p[i]))
			kill(now.p[i], sig);
	VEC_FREE(&now);
}

/* What a killed process leaves behind becomes ours in turn. */
void launch_children_end(const struct children *except)
{
	struct children now = { 0 };
	for (bool more = true; more;) {
		more = false;
		launch_children_list(&now);
		for (size_t i = 0; i < now.n; i++) {
			if (holds(except, now.p[i]))
				continue;
			kill(now.p[i], SIGKILL);
			while (waitpid(now.p[i], NULL, 0) < 0 && errno == EINTR)
				;
			more = true;
		}
	}
	VEC_FREE(&now);
}
