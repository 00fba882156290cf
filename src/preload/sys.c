/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls without libc, whose functions are replaced here. */
#include "preload/internal.h"

#include <dlfcn.h>

/* Arguments go from the registers of a call to those of a system call. */
__asm__(".text\n\t"
	".globl preload_sys\n\t"
	".hidden preload_sys\n\t"
	".type preload_sys, @function\n"
	"preload_sys:\n\t"
	".cfi_startproc\n\t"
	"mov %rdi, %rax\n\t"
	"mov %rsi, %rdi\n\t"
	"mov %rdx, %rsi\n\t"
	"mov %rcx, %rdx\n\t"
	"mov %r8, %r10\n\t"
	"mov %r9, %r8\n\t"
	"mov 8(%rsp), %r9\n\t"
	"syscall\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size preload_sys, . - preload_sys");

long preload_result(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

void *preload_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* No printf: this may be between vfork and exec. */
char *preload_digits(char buf[PRELOAD_DIGITS], unsigned v)
{
	char *at = buf + PRELOAD_DIGITS - 1;
	*at = '\0';
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	return at;
}
