/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small recovery program: maps a pool, reads all of it, changes a few of its pages, and prints
 * the microseconds that it took from main on. usage: smallrec POOL
 *
 * smallrec POOL N: does so N times in a child of its own, and prints the microseconds from fork to
 * the child's end for each: what a fork server cannot do without.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHANGED 16

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int recover(const char *path)
{
	int fd = open(path, O_RDWR);
	struct stat st;
	uint64_t *p, sum = 0;
	if (fd < 0 || fstat(fd, &st))
		return 1;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 1;
	for (off_t i = 0; i < st.st_size / 8; i++)
		sum += p[i];
	for (off_t i = 0; i < CHANGED; i++)
		p[i * (st.st_size / 8 / CHANGED)] += sum;
	return 0;
}

int main(int argc, char **argv)
{
	double start = now();
	if (argc < 2)
		return 2;
	for (int n = argc > 2 ? atoi(argv[2]) : 0; n > 0; n--) {
		start = now();
		pid_t pid = fork();
		if (pid == 0)
			_exit(recover(argv[1]));
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
		printf("%.1f\n", now() - start);
	}
	if (argc > 2)
		return 0;
	if (recover(argv[1]))
		return 1;
	printf("%.1f\n", now() - start);
	return 0;
}
