/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture: MARK(x) puts a label `mark_x` on an instruction; the test finds the line by the
 * text "MARK(x)" in this file and the address by the label.
 */
#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop" ::: "memory")
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, noclone))

int lib_public(int);

INLINE void set(int *p, int v)
{
	*p = v;
	MARK(set);
}

INLINE void insert(int *p, int v)
{
	if (v > 3)
		set(p, v + 1); /* CALL(set) */
	MARK(insert);
}

NOINLINE void work(int *p, int v)
{
	MARK(work);
	insert(p, v); /* CALL(insert) */
}

/* Entered by a call, left by a jump: its frame is on no stack. */
NOINLINE void tail(int *p, int v)
{
	MARK(tail);
	work(p, v * 3); /* CALL(work) */
}

int main(int argc, char **argv)
{
	int x = 0;
	(void)argv;
	MARK(main);
	tail(&x, argc);
	return lib_public(x) == 42;
}
