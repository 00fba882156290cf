// SPDX-License-Identifier: BSD-3-Clause
// Words in a pool that change places, and one that is taken out: the C++ library stores for the program.
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

static void persist(const void *at, std::size_t n)
{
	std::uintptr_t line = reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{63};
	for (; line < reinterpret_cast<std::uintptr_t>(at) + n; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*reinterpret_cast<volatile char *>(line)) : : "memory");
	__asm__ volatile("sfence" : : : "memory");
}

struct words {
	std::uint64_t word[32];
};

static __attribute__((noinline)) void turn(words *w, unsigned a, unsigned b)
{
	std::swap(w->word[a], w->word[b]);
}

static __attribute__((noinline)) std::uint64_t take(words *w, unsigned a)
{
	std::uint64_t old = std::exchange(w->word[a], 0);
	return old;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	words *w = static_cast<words *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	for (unsigned i = 0; i < 32; i++)
		w->word[i] = i + 1;
	persist(w, sizeof(*w));
	turn(w, 1, 17);
	std::printf("%llu\n", static_cast<unsigned long long>(take(w, 9)));
	munmap(w, 4096);
	return 0;
}
