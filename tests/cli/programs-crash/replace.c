/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of equal bytes that is replaced three times. replace WAY run|check|print
 *   good      written to another file, synced, renamed, and the folder synced
 *   new-name  likewise, but each time by another name; no file is ever replaced
 *   no-fsync, no-dir, late (the file is synced after the rename), over (in place, synced), cut (cut to nothing, written, synced)
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIZE 3000
static const char *way;

static int is(const char *name)
{
	return !strcmp(way, name);
}

static int put(const char *name, int flags, int n)
{
	char bytes[SIZE];
	int f = open(name, O_WRONLY | O_CREAT | flags, 0644);
	memset(bytes, '0' + n, SIZE);
	return f < 0 || write(f, bytes, SIZE) != SIZE ? -1 : f; /* @write */
}

static int save(int n)
{
	int in_place = is("over") || is("cut");
	int f = in_place ? put("db", is("cut") ? O_TRUNC : 0, n) : put("tmp", O_TRUNC, n);
	int folder = open(".", O_RDONLY);
	char name[16];
	snprintf(name, sizeof name, is("new-name") ? "db%d" : "db", n);
	if (f < 0 || (!is("no-fsync") && !is("late") && fsync(f)))
		return 1;
	if (!in_place && rename("tmp", name)) /* @rename */
		return 1;
	if ((is("late") && fsync(f)) || (!is("no-dir") && fsync(folder)))
		return 1;
	close(f);
	close(folder);
	printf("saved %d\n", n);
	return fflush(stdout) != 0;
}

static int look(const char *name, char *found)
{
	char bytes[SIZE + 1];
	int f = open(name, O_RDONLY);
	ssize_t n = f < 0 ? 0 : read(f, bytes, sizeof bytes);
	if (f < 0)
		return 0;
	close(f);
	if (n != SIZE)
		return printf("%s has %zd bytes\n", name, n), 1;
	for (int i = 0; i < SIZE; i++)
		if (bytes[i] != bytes[0] || bytes[i] < '1')
			return printf("%s is damaged\n", name), 1;
	*found = bytes[0];
	return 0;
}

int main(int argc, char **argv)
{
	char found = '0', name[16];
	way = argc > 2 ? argv[1] : "";
	if (argc > 2 && !strcmp(argv[2], "run"))
		return save(1) || save(2) || save(3);
	for (int i = 0; i <= 3; i++) {
		snprintf(name, sizeof name, i ? "db%d" : "db", i);
		if (look(name, &found))
			return 1;
	}
	return argc > 2 && !strcmp(argv[2], "print") ? printf("%c\n", found) < 0 : 0;
}
