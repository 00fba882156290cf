/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixes eight bytes of standard input N times, for expressions that get long: nodes POOL N. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned char byte[8] = { 0 };
	uint64_t h = 1;
	long n = argc > 2 ? atol(argv[2]) : 0;
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	uint64_t *pm = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pm == MAP_FAILED || read(0, byte, sizeof byte) < 0)
		return 2;
	for (long i = 0; i < n; i++)
		h = (h ^ byte[i % 8]) * 0x100000001b3u + (h >> 29);
	*pm = h & 1 ? 1 : 2;
	msync(pm, 4096, MS_SYNC);
	return 0;
}
