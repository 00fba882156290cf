/* SPDX-License-Identifier: BSD-3-Clause */
/* Is this a program that the tracer can run? Clear words where it is not. */
#include "launch/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SCRIPTS 4 /* scripts may have scripts as interpreters, as in Linux */

char *launch_resolve(const char *name, struct err *err)
{
	if (!*name) {
		err_set(err, EXIT_PROGRAM, "the program's name is empty");
		return NULL;
	}
	if (strchr(name, '/'))
		return xstrdup(name);
	char *path = find_program(name);
	if (!path)
		err_set(err, EXIT_PROGRAM, "no program '%s' on PATH", name);
	err->plain = !path;
	return path;
}

static int check_mode(const char *path, struct err *err)
{
	struct stat st;
	if (stat(path, &st))
		return errno == ENOENT ? err_set(err, EXIT_PROGRAM, "no such program: %s", path)
				       : err_errno(err, EXIT_PROGRAM, "cannot run %s", path);
	if (S_ISDIR(st.st_mode))
		return err_set(err, EXIT_PROGRAM, "cannot run %s: it is a folder", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EXIT_PROGRAM, "cannot run %s: not a regular file", path);
	if (access(path, X_OK))
		return err_set(err, EXIT_PROGRAM, "cannot run %s: it is not executable", path);
	if (st.st_mode & (S_ISUID | S_ISGID))
		return err_set(
			err, EXIT_PROGRAM,
			"cannot record %s: Valgrind runs no set-user-ID or set-group-ID programs",
			path);
	return 0;
}

static int check_elf(const char *path, const Elf64_Ehdr *h, size_t len, struct err *err)
{
	if (len > EI_CLASS && h->e_ident[EI_CLASS] == ELFCLASS32)
		return err_set(err, EXIT_PROGRAM,
			       "cannot record %s: it is a 32-bit program, only x86-64 is supported",
			       path);
	if (len < sizeof *h || h->e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, EXIT_PROGRAM, "cannot run %s: its ELF header is damaged", path);
	if (h->e_machine != EM_X86_64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(
			err, EXIT_PROGRAM,
			"cannot record %s: it is for another machine, only x86-64 is supported",
			path);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return err_set(err, EXIT_PROGRAM,
			       "cannot run %s: it is an ELF file but not a program", path);
	return 0;
}

/* The interpreter named in "#! /path/to/interpreter argument", cut off in place. */
static const char *interpreter(char *line)
{
	char *name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\r\n")] = '\0';
	return *name ? name : NULL;
}

static int check(const char *path, unsigned scripts, struct err *err)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	if (check_mode(path, err))
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot read %s", path);
	ssize_t n = read(fd, &head, sizeof head - 1);
	close(fd);
	if (n < 0)
		return err_errno(err, EXIT_PROGRAM, "cannot read %s", path);
	head.text[n] = '\0';

	if (n >= SELFMAG && !memcmp(head.text, ELFMAG, SELFMAG))
		return check_elf(path, &head.elf, (size_t)n, err);
	if (n < 2 || memcmp(head.text, "#!", 2) != 0)
		return err_set(
			err, EXIT_PROGRAM,
			"cannot run %s: neither an ELF program nor a script that starts with #!",
			path);
	const char *next = interpreter(head.text);
	if (!next || scripts >= MAX_SCRIPTS)
		return err_set(err, EXIT_PROGRAM, "cannot run %s: bad interpreter line", path);
	if (check(next, scripts + 1, err)) {
		char why[sizeof err->text];
		memcpy(why, err->text, sizeof why);
		return err_set(err, EXIT_PROGRAM, "%.200s is a script: %.700s", path, why);
	}
	return 0;
}

int launch_check_program(const char *path, struct err *err)
{
	int bad = check(path, 0, err);
	err->plain = bad != 0;
	return bad;
}
