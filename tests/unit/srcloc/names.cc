// SPDX-License-Identifier: BSD-3-Clause
// Fixture: names that need demangling; see prog.c.
#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop" ::: "memory")

namespace pm {
template <class T> struct Tree {
	T root;
	__attribute__((noinline)) explicit Tree(T);
	__attribute__((noinline)) void insert(T);
	__attribute__((always_inline)) void set(T v)
	{
		root = v;
		MARK(tree_set);
	}
};
template <class T> Tree<T>::Tree(T v) : root(v)
{
	MARK(tree_ctor);
}
template <class T> void Tree<T>::insert(T v)
{
	set(v); // CALL(tree_set)
}
} // namespace pm

namespace {
__attribute__((noinline)) int secret(int x)
{
	MARK(secret);
	return x + 1;
}
} // namespace

int main(int argc, char **)
{
	pm::Tree<long> tree(argc);
	tree.insert(argc);
	return secret(argc);
}
