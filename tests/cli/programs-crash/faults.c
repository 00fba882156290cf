/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A log of numbers, 4096 bytes each, that is synced after each, and what the program does when its disk fails:
 *
 *    stop     it ends, and says so
 *    ignore   it goes on
 *    retry    it syncs again, which succeeds and brings nothing to disk
 *    rewrite  it writes again, and syncs again
 *    once     it writes with one call to write, and does not look how much was written
 *
 * Each number that it prints is acknowledged. `check FILE` fails if one of those in FILE is not in the log.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 4096
#define NUMBERS 3

static const char *way;

static int is(const char *what)
{
	return !strcmp(way, what);
}

static int put(int fd, const char *block, off_t off)
{
	if (is("once"))
		return write(fd, block, SIZE) < 0;
	for (int done = 0; done < SIZE;) {
		ssize_t n = pwrite(fd, block + done, (size_t)(SIZE - done), off + done);
		if (n < 0)
			return 1;
		done += (int)n;
	}
	return 0;
}

static int save(int fd, int number)
{
	char block[SIZE];
	memset(block, 'a' + number, sizeof block);
	if (put(fd, block, (off_t)number * SIZE))
		return 1;
	if (!fsync(fd) || is("ignore")) /* @sync */
		return 0;
	if (is("retry"))
		return fsync(fd);
	if (is("rewrite"))
		return put(fd, block, (off_t)number * SIZE) || fsync(fd);
	return 1;
}

static int run(void)
{
	int fd = open("log", O_CREAT | O_RDWR, 0644), dir = open(".", O_RDONLY | O_DIRECTORY);
	FILE *done = fopen("acknowledged", "w");
	if (fd < 0 || dir < 0 || !done || fsync(dir))
		return 1;
	for (int i = 0; i < NUMBERS; i++) {
		if (save(fd, i))
			return fprintf(stderr, "the disk fails\n"), 2;
		fprintf(done, "%d\n", i);
		fflush(done);
		fsync(fileno(done));
	}
	return 0;
}

static int check(void)
{
	FILE *done = fopen("acknowledged", "r");
	int fd = open("log", O_RDONLY), number;
	char block[SIZE];
	while (done && fscanf(done, "%d", &number) == 1)
		if (pread(fd, block, SIZE, (off_t)number * SIZE) != SIZE ||
		    block[0] != 'a' + number || memcmp(block, block + 1, SIZE - 1) != 0)
			return printf("number %d is not in the log\n", number), 1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 3;
	way = argv[1];
	return strcmp(argv[2], "run") ? check() : run();
}
