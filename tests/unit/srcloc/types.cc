// SPDX-License-Identifier: BSD-3-Clause
// Fixture: members of classes.
#include <cstdint>

#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop" ::: "memory")

namespace pm {

struct Base {
	uint64_t id;
};

template <typename T>
struct Node : Base {
	static int count;
	T key;
	Node *next;

	__attribute__((noinline)) void set(Node &other, T k)
	{
		key = k;
		next = &other;
		other.key = k;
		MARK(set);
	}
};

} // namespace pm

int main(int argc, char **)
{
	static pm::Node<int16_t> a, b;
	a.set(b, (int16_t)argc);
	return b.key == 7;
}
