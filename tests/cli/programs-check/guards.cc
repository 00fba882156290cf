// SPDX-License-Identifier: BSD-3-Clause
// Guards that hold the address of an object of some type, and flush and fence for their user when they go.
#include <cstdint>
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

namespace deep
{
// For any type.
template <class T> class lid
{
	const T *at;
	unsigned long n;

      public:
	explicit lid(const T *p, unsigned long n = 1) : at(p), n(n) {}
	~lid()
	{
		for (auto a = reinterpret_cast<std::uintptr_t>(at) & ~63ul,
			  e = reinterpret_cast<std::uintptr_t>(at + n);
		     a < e; a += 64)
			_mm_clflushopt(reinterpret_cast<void *>(a));
		_mm_sfence();
	}
};

struct jar {
	std::uint64_t size, what[7];
};

// For one.
struct cork {
	jar &on;
	explicit cork(jar &j) : on(j) {}
	~cork()
	{
		_mm_clflushopt(&on);
		_mm_sfence();
	}
};

__attribute__((noinline)) void fill(jar &j, std::uint64_t n)
{
	{
		lid<jar> l(&j);
		j.what[n % 7] = n;
	}
	cork c(j);
	j.size = n;
}

__attribute__((noinline)) void shake(jar &j, std::uint64_t n)
{
	fill(j, n);
	lid<std::uint64_t> again(&j.size);
} // @guards redundant-flush @guards-fence redundant-fence

__attribute__((noinline)) void shut(jar &j, std::uint64_t n)
{
	fill(j, n);
	cork again(j);
} // @guards redundant-flush @guards-fence redundant-fence
}

int main(int, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, 1 << 16))
		return 99;
	auto *j = static_cast<deep::jar *>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	for (std::uint64_t i = 1; i < 9; i++) {
		deep::fill(j[i], i);
		deep::shake(j[i], i + 10);
		deep::shut(j[i], i + 20);
	}
}
