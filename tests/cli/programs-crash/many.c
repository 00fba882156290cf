/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several hundred files, each made and synced, and all but the first removed again in the end: what is missing
 * after a crash is missing because it was not there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 260

static void name(char out[32], int i)
{
	snprintf(out, 32, "many/%d", i);
}

static int run(void)
{
	char path[32];
	mkdir("many", 0755);
	int dir = open("many", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < FILES; i++) {
		name(path, i);
		int fd = open(path, O_CREAT | O_WRONLY, 0644);
		if (write(fd, "content", 7) != 7 || fsync(fd) || fsync(dir))
			return 1;
		close(fd);
	}
	for (int i = FILES - 1; i > 0; i--) {
		name(path, i);
		if (unlink(path) || fsync(dir))
			return 1;
	}
	return 0;
}

/* There are files 0 to n, none of them empty but perhaps the newest. */
static int check(void)
{
	char path[32], text[8];
	int n = 0, gap = 0;
	for (int i = 0; i < FILES; i++) {
		name(path, i);
		int fd = open(path, O_RDONLY);
		if (fd < 0) {
			gap = 1;
			continue;
		}
		n += read(fd, text, 8) != 7;
		if (gap || n > 1)
			return printf("many/%d is there after a gap, or is not the only empty one\n",
				      i),
			       1;
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "check") ? check() : run();
}
