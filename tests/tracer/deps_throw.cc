// SPDX-License-Identifier: BSD-3-Clause
// Dependences across exceptions: deps_throw POOL.
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast.h"

static volatile uint64_t *pm;

__attribute__((noinline)) static void throws(uint64_t depth)
{
	if (depth)
		throws(depth - 1);
	if (pm[2])
		throw pm[3];
}

__attribute__((noinline)) static void catches()
{
	volatile uint64_t kept = pm[1];
	try {
		throws(3);
	} catch (uint64_t value) {
		pm[100] = value;
	}
	pm[101] = kept;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror("deps_throw");
		return 2;
	}
	pm = static_cast<uint64_t *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	for (uint64_t i = 0; i < 512; i++)
		pm[i] = i;
	HOLDFAST_OP_BEGIN(0);
	catches();
	HOLDFAST_OP_END(0);
	return 0;
}
