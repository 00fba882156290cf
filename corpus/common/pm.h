/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent-memory primitives for the corpus programs.
 *
 * Everything here is `static inline` and does exactly what its name says, so that what a program
 * does to persistent memory is visible in the program's own source. The instructions are written
 * as inline assembly: no -march flag is needed, and gcc and clang accept them at any level.
 *
 * pm_flush() uses clwb; build with -DPM_USE_CLFLUSHOPT or -DPM_USE_CLFLUSH for the other two.
 */
#ifndef CORPUS_PM_H
#define CORPUS_PM_H

#include <stddef.h>
#include <stdint.h>

#define PM_LINE 64u
#define PM_ALIGNED __attribute__((aligned(PM_LINE)))

static inline void pm_clwb(const void *addr)
{
	__asm__ volatile("clwb %0"
			 : "+m"(*(volatile char *)(uintptr_t)addr)
			 :
			 : "memory");
}

static inline void pm_clflushopt(const void *addr)
{
	__asm__ volatile("clflushopt %0"
			 : "+m"(*(volatile char *)(uintptr_t)addr)
			 :
			 : "memory");
}

static inline void pm_clflush(const void *addr)
{
	__asm__ volatile("clflush %0"
			 : "+m"(*(volatile char *)(uintptr_t)addr)
			 :
			 : "memory");
}

static inline void pm_sfence(void)
{
	__asm__ volatile("sfence"
			 :
			 :
			 : "memory");
}

static inline void pm_mfence(void)
{
	__asm__ volatile("mfence"
			 :
			 :
			 : "memory");
}

/* Keeps the compiler (not the processor) from moving stores across this point. Two stores to the
 * same cache line reach the medium in program order, so this is all that ordering them takes. */
static inline void pm_compiler_order(void)
{
	__asm__ volatile(""
			 :
			 :
			 : "memory");
}

/*
 * The two stores are macros, so that debug information places them on the program's own line.
 *
 * pm_store64(dst, value): one store instruction of eight bytes, never torn, merged or dropped.
 * pm_nt_store64(dst, value): the same, non-temporal; needs a fence to be persistent, but no flush.
 */
#define pm_store64(dst, value)                           \
	do {                                             \
		uint64_t *pm_dst_ = (dst);               \
		*(volatile uint64_t *)pm_dst_ = (value); \
	} while (0)

#define pm_nt_store64(dst, value)                               \
	do {                                                    \
		uint64_t *pm_dst_ = (dst), pm_value_ = (value); \
		__asm__ volatile("movnti %1, %0"                \
				 : "=m"(*pm_dst_)               \
				 : "r"(pm_value_)               \
				 : "memory");                   \
	} while (0)

static inline void pm_flush_line(const void *addr)
{
#if defined(PM_USE_CLFLUSH)
	pm_clflush(addr);
#elif defined(PM_USE_CLFLUSHOPT)
	pm_clflushopt(addr);
#else
	pm_clwb(addr);
#endif
}

/* Flushes every line that [addr, addr + len) touches. */
static inline void pm_flush(const void *addr, size_t len)
{
	uintptr_t line = (uintptr_t)addr & ~(uintptr_t)(PM_LINE - 1);

	for (; line < (uintptr_t)addr + len; line += PM_LINE)
		pm_flush_line((const void *)line);
}

static inline void pm_fence(void)
{
	pm_sfence();
}

static inline void pm_persist(const void *addr, size_t len)
{
	pm_flush(addr, len);
	pm_fence();
}

#endif
