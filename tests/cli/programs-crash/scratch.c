/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch PREFIX [keep]: writes the file "state" in order, and what it works with into PREFIX.work, which it removes in the
 * end; with keep it writes PREFIX.data and not "state".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	(void)!write(fd, text, strlen(text));
	fsync(fd);
	close(fd);
}

int main(int argc, char **argv)
{
	char work[4096], data[4096];
	snprintf(work, sizeof work, "%s.work", argv[1]);
	snprintf(data, sizeof data, "%s.data", argv[1]);
	int fd = open(work, O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 4; i++) {
		(void)!write(fd, "what is sorted", 14);
		put(argc > 2 ? data : "new", "state\n");
		if (argc <= 2)
			rename("new", "state");
	}
	close(fd);
	unlink(work);
	return 0;
}
