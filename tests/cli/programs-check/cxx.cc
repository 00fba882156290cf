// SPDX-License-Identifier: BSD-3-Clause
// A C++ program that forgets to flush, in a member of a template.
#include <cstdint>
#include <fcntl.h>
#include <immintrin.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace store
{
template <typename T> class cell
{
	T value;

      public:
	void set(T v, bool persist)
	{
		value = v; // @cxx missing-flush-and-fence
		if (persist) {
			asm volatile("clflushopt %0; sfence" : "+m"(value));
		}
	}
};

// Flushes at its end what it was given: the flush is its user's.
class guard
{
	void *at;

      public:
	explicit guard(void *p) : at(p) {}
	~guard() { asm volatile("clflush %0" : "+m"(*static_cast<volatile char *>(at))); }
};
}

int main(int, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, 4096))
		return 99;
	void *p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	auto *c = static_cast<store::cell<std::uint64_t> *>(p);
	try {
		c->set(1, true);
		throw std::runtime_error("unwinding is no end");
	} catch (const std::exception &) {
		c->set(2, false);
	}
	auto *word = static_cast<volatile std::uint64_t *>(p) + 64;
	{
		store::guard first(const_cast<std::uint64_t *>(word));
		*word = 7;
	}
	{
		store::guard again(const_cast<std::uint64_t *>(word));
	} // @cxx redundant-flush
	munmap(p, 4096);
}
