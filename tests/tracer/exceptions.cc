/* SPDX-License-Identifier: BSD-3-Clause */
/* C++ exceptions through frames with and without cleanups: exceptions POOL LOG */
#include <stdexcept>
#include <string>

extern "C" {
#include "mark.h"
}

namespace shop
{
struct Guard {
	NOINLINE ~Guard()
	{
		MARK("shop::Guard::~Guard()<shop::…");
	}
};

NOINLINE void thrower(int n)
{
	MARK("shop::thrower(int)<shop::middle(int)<shop::outer(int)<…");
	if (n % 2)
		throw std::runtime_error("thrown on purpose");
	MARK("shop::thrower(int)<shop::middle(int)<shop::outer(int)<…");
}

NOINLINE void middle(int n)
{
	Guard guard;
	thrower(n);
	MARK("shop::middle(int)<shop::outer(int)<…");
}

NOINLINE void outer(int n)
{
	Guard guard;
	middle(n);
	MARK("shop::outer(int)<…");
}

NOINLINE int rethrow(int n)
{
	try {
		outer(n);
		MARK("shop::rethrow(int)<shop::catcher(int)<main");
	} catch (...) {
		MARK("shop::rethrow(int)<shop::catcher(int)<main");
		throw;
	}
	return n;
}

NOINLINE int catcher(int n)
{
	try {
		rethrow(n);
	} catch (const std::exception &e) {
		MARK("shop::catcher(int)<main");
		return static_cast<int>(std::string(e.what()).size());
	}
	MARK("shop::catcher(int)<main");
	return 0;
}
}

int main(int argc, char **argv)
{
	int sum = 0;
	if (argc != 3)
		return 2;
	mark_open(argv[1], argv[2]);
	for (int i = 0; i < 10; i++) {
		sum += shop::catcher(i);
		MARK("main");
	}
	return sum == 0;
}
