/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Would the dynamic loader put the library into a program? It does so for what is linked with
 * the same libc, unless the program gets rights that its user does not have. Programs made by
 * Go get it, but do their system calls themselves.
 */
#include "preload/preload.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOADER "ld-linux-x86-64.so.2"
#define MAX_HEADERS 64
#define MAX_SCRIPTS 4

static bool gains_rights(int fd, const struct stat *st)
{
	bool user = (st->st_mode & S_ISUID) && st->st_uid != getuid();
	bool group = (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		     st->st_gid != getgid();
	bool file = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
	return user || group || file;
}

static bool is_loader(int fd, const Elf64_Phdr *h)
{
	char name[256];
	size_t n = h->p_filesz < sizeof name ? h->p_filesz : sizeof name;
	if (!n || pread(fd, name, n, (off_t)h->p_offset) != (ssize_t)n)
		return false;
	name[n - 1] = '\0';
	const char *slash = strrchr(name, '/');
	return !strcmp(slash ? slash + 1 : name, LOADER);
}

static bool is_go(int fd, const Elf64_Phdr *h)
{
	char note[16];
	return pread(fd, note, sizeof note, (off_t)h->p_offset) == sizeof note &&
	       !memcmp(note + 12, "Go", 3);
}

static const char *check_elf(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr h[MAX_HEADERS];
	size_t n = e->e_phnum < MAX_HEADERS ? e->e_phnum : MAX_HEADERS;
	bool loader = false, interp = false;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64)
		return " is not a program for x86-64";
	if (pread(fd, h, n * sizeof *h, (off_t)e->e_phoff) != (ssize_t)(n * sizeof *h))
		return NULL; /* the kernel will say what is wrong */
	for (size_t i = 0; i < n; i++) {
		if (h[i].p_type == PT_NOTE && is_go(fd, &h[i]))
			return " is made by Go, and does its system calls without libc";
		interp = interp || h[i].p_type == PT_INTERP;
		loader = loader || (h[i].p_type == PT_INTERP && is_loader(fd, &h[i]));
	}
	if (!interp)
		return " is statically linked";
	return loader ? NULL : " is linked with another libc";
}

/* "#! /bin/sh -e": the program that runs a script; false: it is none. */
static bool interpreter(char *head, char **program)
{
	if (strncmp(head, "#!", 2) != 0)
		return false;
	head += 2 + strspn(head + 2, " \t");
	head[strcspn(head, " \t\n")] = '\0';
	*program = head;
	return *head == '/';
}

const char *preload_refuses(const char *program)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	char *by = NULL;
	const char *why = NULL;
	for (int i = 0; program && i < MAX_SCRIPTS; i++, program = by) {
		struct stat st;
		by = NULL;
		int fd = open(program, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 || fstat(fd, &st) ? -1 : read(fd, &head, sizeof head - 1);
		if (n >= 0)
			head.text[n] = '\0';
		if (n > 0 && gains_rights(fd, &st))
			why = " runs with rights of its own";
		else if (n >= (ssize_t)sizeof head.elf && !memcmp(head.text, ELFMAG, SELFMAG))
			why = check_elf(fd, &head.elf);
		else if (n > 0)
			interpreter(head.text, &by);
		if (fd >= 0)
			close(fd);
	}
	return why;
}
