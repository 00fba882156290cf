// SPDX-License-Identifier: BSD-3-Clause
// A class template that persists with a function of its own, and a copy whose length is known only once.
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace pm {

inline void persist(const void *at, std::size_t n)
{
	auto line = reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{63};
	for (; line < reinterpret_cast<std::uintptr_t>(at) + n; line += 64)
		__asm__ volatile("clwb %0" : "+m"(*reinterpret_cast<volatile char *>(line)) : : "memory");
	__asm__ volatile("sfence" : : : "memory");
}

} // namespace pm

template <typename T> struct list {
	std::uint64_t used, gap[7];
	T item[8];

	void reset()
	{
		used = 0;
		pm::persist(this, sizeof(*this));
	}
	void push(const T &t)
	{
		item[used] = t;
		pm::persist(&item[used], sizeof(T));
		used++;
	}
};

struct name {
	char text[64];

	void set(const std::string &s)
	{
		std::memcpy(text, s.c_str(), s.size() + 1);
	}
};

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	auto *all = static_cast<list<name> *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	all->reset();
	for (int i = 0; i < 4; i++)
		all->push(name{"one"});
	all->item[1].set("two");
	all->push(name{"three"});
	return 0;
}
