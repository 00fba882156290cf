// SPDX-License-Identifier: BSD-3-Clause
// Uses what the other unit defines.
#include "scope.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	auto *h = static_cast<data::Header *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	data::format(*h);
	h->set(2);
	*h += 3;
	pm::Device::persist(&h->last, sizeof(h->last));
	*h += 4;
	h->gap[3] = 4;
	return 0;
}
