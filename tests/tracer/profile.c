/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One helper that writes mostly elsewhere and sometimes to PM. Arguments: pool, log, how often it writes elsewhere by
 * each way. Says nothing in the log: test_profile.py knows what it does.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void update(char *at, int i, char value)
{
	at[i] = value;
}

static void modify(char *at)
{
	update(at, 3, 7);
}

static void other(char *at)
{
	update(at, 4, 8);
}

static void never_pm(volatile int *at)
{
	*at = 1;
}

static void copy(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
}

static char *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		exit(3);
	char *pm = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return pm == MAP_FAILED ? NULL : pm;
}

int main(int argc, char **argv)
{
	int times = argc > 3 ? atoi(argv[3]) : 0;
	char *pm = map(argv[1]), *elsewhere = calloc(1, 4096), text[300];
	if (!pm || !elsewhere)
		return 3;
	memset(text, 'x', sizeof text);
	for (int i = 0; i < times; i++)
		modify(elsewhere);
	modify(pm);
	for (int i = 0; i < 2 * times; i++)
		other(elsewhere);
	for (int i = 0; i < times; i++)
		never_pm((int *)elsewhere);
	for (int i = 0; i < times; i++)
		copy(elsewhere, text, (size_t)(i % 3 ? 200 : 9));
	copy(pm + 64, text, 40);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 5; i++)
			modify(elsewhere);
		_exit(0);
	}
	return child < 0 || waitpid(child, NULL, 0) != child ? 3 : 0;
}
