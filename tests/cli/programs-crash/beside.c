/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A counter in persistent memory, and what it keeps in other files, in the current folder.
 *
 *   beside run WAY     counts to 3
 *   beside check WAY   does all fit together? "wrong: …" and status 1 if not
 *
 * Ways, all correct as long as a file that is not PM is durable at once:
 *
 *   log       appends a line to a log before it counts: the log may be ahead by one, never behind
 *   late      … after it counts, which is wrong the other way round; the log may be behind by one
 *   replace   writes a new pool aside and renames it over the old one
 *   exchange  … and changes places with the old one
 *   plain     publishes the count by renaming a plain file, which says which pool to open
 *   folder    makes each version in a new folder, which is renamed to "current"
 *   link      names the new version by a hard link, after the old name has gone
 *   many      "plain", with 300 other files
 *   forget    "plain", but points to the new pool before it is complete: a bug
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <immintrin.h>

#define BYTES 4096u

struct pool {
	volatile uint64_t count;
	char pad[56];
	volatile uint64_t twice; /* of count, made first */
};

static void persist(volatile void *p)
{
	_mm_clflush((const void *)p);
	_mm_sfence();
}

static struct pool *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	struct pool *p;
	if (fd < 0 || ftruncate(fd, BYTES))
		exit(3);
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void set(struct pool *p, uint64_t n)
{
	p->twice = 2 * n;
	persist(&p->twice);
	p->count = n;
	persist(&p->count);
}

static void put(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0666);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		exit(3);
	close(fd);
}

static void version(const char *way, int n)
{
	char name[64];
	snprintf(name, sizeof name, "pool.%d", n);
	if (!strcmp(way, "folder")) {
		char aside[64];
		snprintf(aside, sizeof aside, "next.%d", n);
		snprintf(name, sizeof name, "next.%d/pool", n);
		mkdir(aside, 0777);
		set(map(name), (uint64_t)n);
		rename("current", "old");
		rename(aside, "current");
		unlink("old/pool");
		rmdir("old");
		return;
	}
	if (strcmp(way, "forget") != 0)
		set(map(name), (uint64_t)n);
	if (!strcmp(way, "replace")) {
		rename(name, "./pool");
	} else if (!strcmp(way, "exchange")) {
		renameat2(AT_FDCWD, name, AT_FDCWD, "pool", RENAME_EXCHANGE);
		unlink(name);
	} else if (!strcmp(way, "link")) {
		unlink("pool");
		link(name, "pool");
	} else {
		put("name.new", O_TRUNC, name);
		rename("name.new", "name");
	}
	if (!strcmp(way, "forget"))
		set(map(name), (uint64_t)n);
}

static void run(const char *way)
{
	int after = !strcmp(way, "late"), logs = after || !strcmp(way, "log");
	struct pool *p = map(logs ? "pool" : "pool.0");
	set(p, 0);
	if (!strcmp(way, "folder"))
		mkdir("current", 0777);
	if (!strcmp(way, "folder"))
		set(map("current/pool"), 0);
	else if (!logs)
		put("name", O_TRUNC, "pool.0");
	if (!strcmp(way, "exchange") || !strcmp(way, "replace") || !strcmp(way, "link"))
		rename("pool.0", "pool");
	for (int i = 0; i < 300 && !strcmp(way, "many"); i++) {
		char name[64];
		snprintf(name, sizeof name, "other.%d", i);
		put(name, O_TRUNC, "x");
	}
	for (int i = 1; i <= 3; i++) {
		if (!logs) {
			version(way, i);
			continue;
		}
		if (!after)
			put("log", O_APPEND, "counted\n");
		set(p, (uint64_t)i);
		if (after)
			put("log", O_APPEND, "counted\n");
	}
}

/* ---- recovery ---- */

static int wrong(const char *what)
{
	printf("wrong: %s\n", what);
	return 1;
}

static long size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (long)st.st_size;
}

static int check(const char *way)
{
	char name[64] = "pool";
	FILE *f = fopen("name", "r");
	if (!strcmp(way, "folder"))
		strcpy(name, access("current", F_OK) ? "old/pool" : "current/pool");
	else if (f && strcmp(way, "replace") != 0 && strcmp(way, "exchange") != 0 &&
		 strcmp(way, "link") != 0)
		if (!fgets(name, sizeof name, f))
			return wrong("no name");
	if (!strcmp(way, "link") && access(name, F_OK))
		return 0; /* between unlink and link */
	int fd = open(name, O_RDONLY);
	struct pool *p = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return access("pool.0", F_OK) ? wrong("no pool") : 0;
	if (size_of(name) != BYTES)
		return wrong("a pool that is not complete");
	if (p->count && p->twice < 2 * p->count)
		return wrong("count and twice");
	long lines = size_of("log") / 8, count = (long)p->count;
	if (!strcmp(way, "log") && count && (lines < count || lines > count + 1))
		return wrong("the log does not fit");
	if (!strcmp(way, "late") && count && (lines > count || lines < count - 1))
		return wrong("the log does not fit");
	if (!strcmp(way, "forget") && strcmp(name, "pool.0") != 0 && !p->count)
		return wrong("the name of a pool that is empty");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "check"))
		return check(argv[2]);
	run(argv[2]);
	return 0;
}
