/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixture: a shared object with an exported and a hidden function; see prog.c. */
#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop" ::: "memory")

static __attribute__((noinline, noclone)) int lib_hidden(int x)
{
	MARK(lib_hidden);
	return x * 2;
}

int lib_public(int x)
{
	MARK(lib_public);
	return lib_hidden(x) + 1;
}
