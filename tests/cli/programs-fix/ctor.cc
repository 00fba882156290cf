// SPDX-License-Identifier: BSD-3-Clause
// An object in a pool, whose constructor initialises its members before its body, and flushes none.
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

static void persist(const void *at, std::size_t n)
{
	std::uintptr_t line = reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{63};
	for (; line < reinterpret_cast<std::uintptr_t>(at) + n; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*reinterpret_cast<volatile char *>(line)) : : "memory");
	__asm__ volatile("sfence" : : : "memory");
}

struct node {
	std::uint64_t key;
	std::uint64_t gap[8];
	std::uint64_t value;

	__attribute__((noinline)) node(std::uint64_t key, std::uint64_t v)
		: key(key),
		  value(v)
	{
	}
};

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	char *pool = static_cast<char *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	node *n = new (pool) node(1, 2);
	persist(n, sizeof(*n));
	n = new (pool) node(3, 4);
	std::printf("%llu\n", static_cast<unsigned long long>(n->key));
	munmap(pool, 4096);
	return 0;
}
