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
	munmap(p, 4096);
}
