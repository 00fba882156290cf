// SPDX-License-Identifier: BSD-3-Clause
// A class whose static method persists, and what several units store with.
#ifndef SCOPE_H
#define SCOPE_H
#include <cstddef>
#include <cstdint>

namespace pm
{

struct Device {
	static void persist(const void *at, std::size_t n);
};

} // namespace pm

namespace data
{

struct Header {
	std::uint64_t version, gap[7], last;

	void set(std::uint64_t v)
	{
		version = v;
	}
	Header &operator+=(std::uint64_t n)
	{
		last += n;
		return *this;
	}
};

void format(Header &h);

} // namespace data
#endif
