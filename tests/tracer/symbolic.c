/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs snippets of code over 64 bytes of input: those of gen_symbolic.py.
 *
 * usage: symbolic FIRST COUNT       which snippets, of all of them in a row; 0 0: how many there are
 *
 * Each is one operation in the trace, so that one who looks at the expressions knows whose they
 * are.
 */
#include "holdfast.h"
#include "symbolic.h"
#include <stdio.h>
#include <unistd.h>

static struct area area;
static volatile uint64_t sum;
uint8_t table[256];

const char *text(const uint8_t *in, int at)
{
	static char copy[17];
	memcpy(copy, in + at, 16);
	return copy;
}

/* The snippet may use any register but %rdi, %rsp and %rbp, and %r12 and up. */
static void run_assembly(asm_snippet *snippet)
{
	__asm__ volatile("subq $128, %%rsp\n\t"
			 "pushfq\n\t"
			 "call *%[snippet]\n\t"
			 "popfq\n\t"
			 "addq $128, %%rsp"
			 :
			 : [snippet] "r"(snippet), "D"(&area)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "xmm3", "memory", "cc");
}

static uint64_t length(c_snippet *const *list)
{
	uint64_t n = 0;
	while (list[n])
		n++;
	return n;
}

static void run(uint64_t i)
{
	uint64_t n = length(c_plain);
	memset(area.scratch, 0, sizeof area.scratch);
	HOLDFAST_OP_BEGIN(i);
	if (i < nsnippets)
		run_assembly(snippets[i]);
	else if (i < nsnippets + n)
		sum = c_plain[i - nsnippets](area.in);
	else
		sum = c_optimised[i - nsnippets - n](area.in);
	HOLDFAST_OP_END(i);
}

int main(int argc, char **argv)
{
	uint64_t all = nsnippets + length(c_plain) + length(c_optimised), first, end, i;
	if (argc < 3)
		return 2;
	first = strtoull(argv[1], NULL, 10);
	end = first + strtoull(argv[2], NULL, 10);
	if (end == 0)
		return printf("%llu\n", (unsigned long long)all) < 0;
	for (i = 0; i < sizeof area.table; i++)
		area.table[i] = (uint8_t)(i * 167 + 13);
	for (i = 0; i < sizeof table; i++)
		table[i] = (uint8_t)(i * i + 3 * i);
	if (read(0, area.in, sizeof area.in) != sizeof area.in)
		return 1;
	for (i = first; i < end && i < all; i++)
		run(i);
	return 0;
}
