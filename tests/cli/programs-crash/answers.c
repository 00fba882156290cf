/* SPDX-License-Identifier: BSD-3-Clause */
/* A log that is synced before each answer, but for one (`late`); `twice` syncs again, `scratch` has a file that is never synced. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int append(int log, int n, int sync)
{
	char line[16];
	int len = snprintf(line, sizeof line, "entry %d\n", n);
	if (write(log, line, (size_t)len) != len || (sync && fdatasync(log)))
		return 1;
	printf("done %d\n", n);
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
	int scratch = open("scratch", O_WRONLY | O_CREAT, 0644), bad = log < 0 || scratch < 0;
	for (int i = 0; i < 5; i++) {
		bad |= append(log, i, i != 3 || strcmp(way, "late"));
		if (!strcmp(way, "twice"))
			bad |= fsync(log); /* @twice */
		if (!strcmp(way, "scratch"))
			bad |= write(scratch, "x", 1) != 1;
	}
	return bad || fsync(log);
}
