/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the snippets of gen_deps.py, each as an operation: deps POOL. The pool holds the area in PM, and each snippet finds
 * both areas as it expects them.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast.h"

#define AREA 256

typedef void snippet(uint8_t *pm, uint8_t *other);
extern snippet *const deps_snippets[];
extern const uint64_t deps_count;

static uint8_t begin[AREA], other[AREA];

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror("deps");
		return 2;
	}
	uint8_t *pm = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pm == MAP_FAILED) {
		perror("deps: mmap");
		return 2;
	}
	for (unsigned i = 0; i < AREA; i++)
		begin[i] = (uint8_t)(i * 37 + 11);
	for (uint64_t i = 0; i < deps_count; i++) {
		memcpy(pm, begin, AREA);
		memcpy(other, begin, AREA);
		HOLDFAST_OP_BEGIN(i);
		deps_snippets[i](pm, other);
		HOLDFAST_OP_END(i);
	}
	return 0;
}
