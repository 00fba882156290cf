/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of src/binary share: build a fixture in a temporary folder, find its labels. */
#ifndef HOLDFAST_TESTS_BINARY_FIXTURE_H
#define HOLDFAST_TESTS_BINARY_FIXTURE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "binary/binary.h"

#define UNUSED __attribute__((unused)) /* by some of the tests */

static char fixture_dir[] = "/tmp/holdfast-binary-XXXXXX";

/* A label that nm shows, in the middle of C code. */
#define MARKS                                                                                      \
	"#define MARK(x) __asm__ volatile(\".globl m_\" #x \"\\nm_\" #x \":\" ::: \"memory\")\n"
#define FLUSH "#define CLWB(p) __asm__ volatile(\"clwb %0\" : \"+m\"(*(char *)(p)))\n"

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
	char cmd[4096];
	va_list ap;
	int n = snprintf(cmd, sizeof cmd, "cd %s && ", fixture_dir);
	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof cmd - (size_t)n, fmt, ap);
	va_end(ap);
	int status = system(cmd);
	if (status)
		fail_msg("status %d: %s", status, cmd);
}

static int fixture_setup(void **state)
{
	(void)state;
	return mkdtemp(fixture_dir) ? 0 : -1;
}

static int fixture_teardown(void **state)
{
	(void)state;
	run("rm -rf %s", fixture_dir);
	return 0;
}

/* In a ring: only for use at once. */
static const char *in_dir(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned next;
	next = (next + 1) % 4;
	snprintf(path[next], sizeof path[next], "%s/%s", fixture_dir, name);
	return path[next];
}

UNUSED static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

UNUSED static struct binary *opened(const char *name)
{
	struct err err = { 0 };
	struct binary *b = binary_open(in_dir(name), NULL, &err);
	if (!b)
		fail_msg("%s: %s", name, err.text);
	return b;
}

/* The file's own address of a symbol; 0: it has none. */
UNUSED static uint64_t find_symbol(const char *name, const char *symbol)
{
	char cmd[PATH_MAX + 64], line[512], what[400];
	unsigned long long addr, found = 0;
	char type;
	snprintf(cmd, sizeof cmd, "nm %s", in_dir(name));
	FILE *f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%llx %c %399s", &addr, &type, what) == 3 && !strcmp(what, symbol))
			found = addr;
	pclose(f);
	return found;
}

UNUSED static uint64_t symbol(const char *name, const char *of)
{
	uint64_t addr = find_symbol(name, of);
	if (!addr)
		fail_msg("%s has no symbol %s", name, of);
	return addr;
}

/* What a loader would map of the file: each part of the program headers, in whole pages. */
UNUSED static void each_part(const char *name,
			     void (*part)(void *, uint64_t addr, uint64_t size, uint64_t off),
			     void *arg)
{
	char cmd[PATH_MAX + 64], line[512];
	unsigned long long off, addr, phys, filesz, memsz;
	snprintf(cmd, sizeof cmd, "readelf -lW %s", in_dir(name));
	FILE *f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, " LOAD %llx %llx %llx %llx %llx", &off, &addr, &phys, &filesz,
			   &memsz) == 5) {
			uint64_t skew = addr & 0xfff;
			part(arg, addr - skew, (filesz + skew + 0xfff) & ~0xfffull, off - skew);
		}
	pclose(f);
}

struct loading {
	struct binary_view *view;
	const char *name;
	uint64_t bias;
};

static void load_part(void *arg, uint64_t addr, uint64_t size, uint64_t off)
{
	const struct loading *l = arg;
	binary_view_load(l->view, in_dir(l->name), l->bias + addr, size, off);
}

/* Maps the file, `bias` further up. */
UNUSED static void load(struct binary_view *v, const char *name, uint64_t bias)
{
	each_part(name, load_part, &(struct loading){ v, name, bias });
}

#endif
