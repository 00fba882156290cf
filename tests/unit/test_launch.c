/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files can be run under the tracer; running them is tested in tests/cli/. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launch.h"

static char dir[] = "/tmp/holdfast-launch-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink("file");
	return chdir("/") || rmdir(dir);
}

static void make(const void *bytes, size_t len)
{
	FILE *f = fopen("file", "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod("file", 0755), 0);
}

static void expect_bad(const char *why)
{
	struct err err = { 0 };
	assert_int_equal(launch_check_program("./file", &err), -1);
	assert_int_equal(err.status, EXIT_PROGRAM);
	if (!strstr(err.text, why))
		fail_msg("expected '%s' in '%s'", why, err.text);
}

static Elf64_Ehdr good_header(void)
{
	Elf64_Ehdr h = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT };
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	return h;
}

static void good_programs(void **state)
{
	(void)state;
	struct err err = { 0 };
	Elf64_Ehdr h = good_header();
	make(&h, sizeof h);
	assert_int_equal(launch_check_program("./file", &err), 0);
	h.e_type = ET_EXEC;
	make(&h, sizeof h);
	assert_int_equal(launch_check_program("./file", &err), 0);
	make("#! /bin/sh -e\n", 14);
	assert_int_equal(launch_check_program("./file", &err), 0);
	make("#!/bin/sh", 9);
	assert_int_equal(launch_check_program("./file", &err), 0);
}

/* A header that ends anywhere is never taken for a whole one. */
static void short_headers(void **state)
{
	(void)state;
	Elf64_Ehdr h = good_header();
	for (size_t len = 0; len < sizeof h; len++) {
		make(&h, len);
		expect_bad(len < SELFMAG ? "neither" : "damaged");
	}
}

static void other_machines(void **state)
{
	(void)state;
	Elf64_Ehdr h = good_header();
	h.e_ident[EI_CLASS] = ELFCLASS32;
	make(&h, sizeof h);
	expect_bad("32-bit");
	h = good_header();
	h.e_machine = EM_AARCH64;
	make(&h, sizeof h);
	expect_bad("another machine");
	h = good_header();
	h.e_type = ET_CORE;
	make(&h, sizeof h);
	expect_bad("not a program");
}

static void bad_scripts(void **state)
{
	(void)state;
	make("#!", 2);
	expect_bad("bad interpreter line");
	make("#!  \n/bin/sh", 11);
	expect_bad("bad interpreter line");
	make("#!/no/such\n", 11);
	expect_bad("no such program: /no/such");
	make("#!./file\n", 9);
	expect_bad("bad interpreter line");
}

static void resolve(void **state)
{
	(void)state;
	struct err err = { 0 };
	Elf64_Ehdr h = good_header();
	char *old = xstrdup(getenv("PATH"));
	make(&h, sizeof h);
	static const char *const here[] = { "/nowhere:.", "", "/nowhere:", ":/nowhere" };
	for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
		setenv("PATH", here[i], 1);
		char *path = launch_resolve("file", &err);
		assert_non_null(path);
		assert_string_equal(path, "./file");
		free(path);
	}
	setenv("PATH", "/nowhere", 1);
	assert_null(launch_resolve("file", &err));
	assert_int_equal(err.status, EXIT_PROGRAM);
	char *path = launch_resolve("./file", &err);
	assert_string_equal(path, "./file");
	free(path);
	assert_null(launch_resolve("", &err));
	setenv("PATH", old, 1);
	free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_programs),  cmocka_unit_test(short_headers),
		cmocka_unit_test(other_machines), cmocka_unit_test(bad_scripts),
		cmocka_unit_test(resolve),
	};
	return cmocka_run_group_tests_name("launch", tests, setup, teardown);
}
