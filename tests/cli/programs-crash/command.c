/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store that is asked by one command each:   command POOL set NAME VALUE | many N | dump
 * Built with HASTY, a record counts before it is complete; with FORGETS, nothing makes the number of records persistent.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct shop {
	uint64_t n;
	struct {
		char name[56];
		uint64_t value, taken;
		char more[56];
	} item[32];
};

static void keep(const void *p, size_t n)
{
	for (uintptr_t at = (uintptr_t)p & ~63ul; at < (uintptr_t)p + n; at += 64)
		_mm_clflushopt((void *)at);
	_mm_sfence();
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

static __attribute__((noinline)) void set(struct shop *s, const char *name, uint64_t value)
{
	uint64_t i = s->n;
	strncpy(s->item[i].name, name, sizeof s->item[i].name - 1);
#ifdef HASTY
	s->n = i + 1; /* @hasty half-operation */
	keep(&s->n, sizeof s->n);
#endif
	say("ok\n");
	s->item[i].value = value;
	keep(&s->item[i], sizeof s->item[i]);
	s->n = i + 1; /* @forgets lost-operation */
#ifndef FORGETS
	keep(&s->n, sizeof s->n);
#endif
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(struct shop)))
		return 2;
	struct shop *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return 2;
	if (!strcmp(argv[2], "set") && argc == 5)
		set(s, argv[3], strtoull(argv[4], NULL, 10));
	for (int i = 0; !strcmp(argv[2], "many") && i < atoi(argv[3]); i++)
		set(s, argv[2], (uint64_t)i);
	for (uint64_t i = 0; !strcmp(argv[2], "dump") && i < s->n; i++)
		printf("%s=%llu\n", s->item[i].name, (unsigned long long)s->item[i].value);
	return 0;
}
