/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the test programs share: a pool, and a log of the events that should be recorded.
 * harness.py reads the log. Everything is in the header, so that no program depends on another.
 */
#ifndef TESTS_TRACER_EXPECT_H
#define TESTS_TRACER_EXPECT_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define NOINLINE __attribute__((noinline, noclone))

UNUSED static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(99);
}

/* Creates the file if need be and maps it; at `hint`, and nowhere else, if that is given. */
UNUSED static void *pool_map(const char *path, size_t bytes, void *hint)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	must(fd >= 0, path);
	must(!ftruncate(fd, (off_t)bytes), "ftruncate");
	void *p = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(p != MAP_FAILED, "mmap");
	if (hint && p != hint) {
		fprintf(stderr, "%s: mapped at %p, not %p\n", path, p, hint);
		exit(98);
	}
	close(fd);
	return p;
}

static FILE *expect_file;
static __thread int expect_thread; /* a number of the program's own, 0: leave it out */

UNUSED static void expect_open(const char *path)
{
	expect_file = fopen(path, "w");
	must(expect_file != NULL, path);
}

static void expect_end(FILE *f)
{
	if (expect_thread)
		fprintf(f, " %d", expect_thread);
	fputc('\n', f);
}

/* The bytes are taken from memory: call it right after the store. flags: plain, nt, … */
UNUSED static void expect_store(const volatile void *at, size_t size, const char *flags)
{
	const unsigned char *p = (const unsigned char *)(uintptr_t)at;
	flockfile(expect_file);
	fprintf(expect_file, "store %p %zu ", (const void *)p, size);
	for (size_t i = 0; i < size; i++)
		fprintf(expect_file, "%02x", p[i]);
	fprintf(expect_file, " %s", flags);
	expect_end(expect_file);
	funlockfile(expect_file);
}

UNUSED static void expect_flush(const volatile void *at, const char *kind)
{
	flockfile(expect_file);
	fprintf(expect_file, "flush %p %s", (const void *)(uintptr_t)at, kind);
	expect_end(expect_file);
	funlockfile(expect_file);
}

UNUSED static void expect_fence(const char *kind)
{
	flockfile(expect_file);
	fprintf(expect_file, "fence %s", kind);
	expect_end(expect_file);
	funlockfile(expect_file);
}

#endif
