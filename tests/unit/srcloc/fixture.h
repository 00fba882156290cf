/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of src/srcloc share: compile a fixture into a temporary folder, find the
 * addresses of its labels and the lines of its marks, and map it as a loader would.
 */
#ifndef HOLDFAST_TESTS_SRCLOC_FIXTURE_H
#define HOLDFAST_TESTS_SRCLOC_FIXTURE_H

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "srcloc/srcloc.h"

#define UNUSED __attribute__((unused)) /* by some of the tests */

static char fixture_src[PATH_MAX]; /* the folder of this file */
static char fixture_dir[] = "/tmp/holdfast-srcloc-XXXXXX";

/* __FILE__ is relative to the build folder, which is somewhere above this program. */
static void fixture_find_source(void)
{
	char up[PATH_MAX] = ".", exe[PATH_MAX], tried[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	for (const char *file = __FILE__;;) {
		snprintf(tried, sizeof tried, "%s%s%s", *file == '/' ? "" : up,
			 *file == '/' ? "" : "/", file);
		if (realpath(tried, fixture_src))
			break;
		char *slash = strrchr(exe, '/');
		assert_non_null(slash);
		*slash = '\0';
		snprintf(up, sizeof up, "%s", exe);
	}
	*strrchr(fixture_src, '/') = '\0';
}

static int fixture_setup(void **state)
{
	(void)state;
	fixture_find_source();
	unsetenv("DEBUGINFOD_URLS");
	return mkdtemp(fixture_dir) ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
	char cmd[3 * PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	int n = snprintf(cmd, sizeof cmd, "cd %s && S=%s && ", fixture_dir, fixture_src);
	vsnprintf(cmd + n, sizeof cmd - (size_t)n, fmt, ap);
	va_end(ap);
	int status = system(cmd);
	if (status)
		fail_msg("status %d: %s", status, cmd);
}

static int fixture_teardown(void **state)
{
	(void)state;
	run("rm -rf %s", fixture_dir);
	return 0;
}

/* The line of `file` that holds the text. */
UNUSED static uint32_t line_of(const char *file, const char *text)
{
	char path[2 * PATH_MAX], line[512];
	uint32_t n = 0;
	snprintf(path, sizeof path, "%s/%s", fixture_src, file);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	do {
		n++;
		assert_non_null(fgets(line, sizeof line, f));
	} while (!strstr(line, text) || strstr(line, "#define"));
	fclose(f);
	return n;
}

struct elf {
	int fd;
	Elf *elf;
	char path[PATH_MAX];
};

static struct elf elf_file(const char *name)
{
	struct elf e;
	snprintf(e.path, sizeof e.path, "%s/%s", fixture_dir, name);
	elf_version(EV_CURRENT);
	e.fd = open(e.path, O_RDONLY);
	assert_true(e.fd >= 0);
	e.elf = elf_begin(e.fd, ELF_C_READ, NULL);
	assert_non_null(e.elf);
	return e;
}

static void elf_close(struct elf *e)
{
	elf_end(e->elf);
	close(e->fd);
}

/* The address of a symbol in an unstripped fixture. */
static uint64_t symbol(const char *name, const char *wanted)
{
	struct elf e = elf_file(name);
	uint64_t value = 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e.elf, scn));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		gelf_getshdr(scn, &sh);
		for (int i = 0;
		     sh.sh_type == SHT_SYMTAB && gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++)
			if (!strcmp(elf_strptr(e.elf, sh.sh_link, sym.st_name), wanted))
				value = sym.st_value;
	}
	elf_close(&e);
	assert_int_not_equal(value, 0);
	return value;
}

/* The build-id, or length 0. */
UNUSED static size_t build_id(const char *name, uint8_t id[32])
{
	struct elf e = elf_file(name);
	size_t len = 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e.elf, scn));) {
		GElf_Shdr sh;
		GElf_Nhdr nh;
		size_t at_name, at;
		gelf_getshdr(scn, &sh);
		Elf_Data *data = sh.sh_type == SHT_NOTE ? elf_getdata(scn, NULL) : NULL;
		if (data && gelf_getnote(data, 0, &nh, &at_name, &at) &&
		    nh.n_type == NT_GNU_BUILD_ID) {
			len = nh.n_descsz < 32 ? nh.n_descsz : 32;
			memcpy(id, (char *)data->d_buf + at, len);
		}
	}
	elf_close(&e);
	return len;
}

/* The executable part of a fixture as a loader maps it, with the object at `bias`. */
static void mapped_part(const char *name, uint64_t bias, uint64_t *addr, uint64_t *len,
			uint64_t *off)
{
	struct elf e = elf_file(name);
	GElf_Phdr ph = { 0 };
	int i = 0;
	while (gelf_getphdr(e.elf, i++, &ph) && !(ph.p_type == PT_LOAD && (ph.p_flags & PF_X)))
		;
	*off = ph.p_offset & ~4095ull;
	*addr = bias + ph.p_vaddr - (ph.p_offset - *off);
	*len = (ph.p_filesz + (ph.p_offset - *off) + 4095) & ~4095ull;
	elf_close(&e);
}

#endif
