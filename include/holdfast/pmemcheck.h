/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmemcheck's macros, for programs that are annotated for it, where its header is not installed: Debian's Valgrind has
 * none. Under Holdfast they mean what they mean there; under pmemcheck, too, since the numbers of the requests are its
 * published interface; outside both they cost a few instructions. Include it instead of <valgrind/pmemcheck.h>:
 *
 *	#if __has_include(<valgrind/pmemcheck.h>)
 *	#include <valgrind/pmemcheck.h>
 *	#else
 *	#include <holdfast/pmemcheck.h>
 *	#endif
 *
 * DO_FLUSH and DO_FENCE are recorded, but persist nothing: Holdfast sees the instructions themselves.
 * It needs nothing of Valgrind's. VALGRIND_PMC_PRINT_PMEM_MAPPINGS, _WRITE_STATS and _EMIT_LOG, which are about
 * pmemcheck's own output, do nothing under Holdfast. With HOLDFAST_DISABLE all are nothing, as those of holdfast.h.
 */
#ifndef HOLDFAST_PMEMCHECK_H
#define HOLDFAST_PMEMCHECK_H

#include "../holdfast.h"

#define HOLDFAST_PMC_BASE 0x50430000ul /* "PC" */

#if !defined(HOLDFAST_DISABLE) && defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#define HOLDFAST_PMC(number, a, b, c)                                                              \
	holdfast_request_3(HOLDFAST_PMC_BASE + (number), (unsigned long)(a), (unsigned long)(b),   \
			   (unsigned long)(c))
#else
static __inline__ __attribute__((__unused__)) unsigned long holdfast_nothing(void)
{
	return 0;
}
#define HOLDFAST_PMC(number, a, b, c)                                                              \
	((void)sizeof(a), (void)sizeof(b), (void)sizeof(c), holdfast_nothing())
#endif

#define VALGRIND_PMC_REGISTER_PMEM_MAPPING(addr, len) HOLDFAST_PMC(0, addr, len, 0)
#define VALGRIND_PMC_REGISTER_PMEM_FILE(fd, addr, len, offset)                                     \
	((void)sizeof(offset), HOLDFAST_PMC(1, fd, addr, len))
#define VALGRIND_PMC_REMOVE_PMEM_MAPPING(addr, len) HOLDFAST_PMC(2, addr, len, 0)
/* 0: it is not registered, 1: all of it is, 2: a part of it */
#define VALGRIND_PMC_CHECK_IS_PMEM_MAPPING(addr, len) HOLDFAST_PMC(3, addr, len, 0)
#define VALGRIND_PMC_PRINT_PMEM_MAPPINGS ((void)HOLDFAST_PMC(4, 0, 0, 0))
#define VALGRIND_PMC_DO_FLUSH(addr, len) ((void)HOLDFAST_PMC(5, addr, len, 0))
#define VALGRIND_PMC_DO_FENCE ((void)HOLDFAST_PMC(6, 0, 0, 0))
#define VALGRIND_PMC_WRITE_STATS ((void)HOLDFAST_PMC(8, 0, 0, 0))
#define VALGRIND_PMC_SET_CLEAN(addr, len) HOLDFAST_PMC(17, addr, len, 0)
#define VALGRIND_PMC_START_TX ((void)HOLDFAST_PMC(18, 0, 0, 0))
#define VALGRIND_PMC_START_TX_N(tx) ((void)HOLDFAST_PMC(19, tx, 0, 0))
#define VALGRIND_PMC_END_TX HOLDFAST_PMC(20, 0, 0, 0)
#define VALGRIND_PMC_END_TX_N(tx) HOLDFAST_PMC(21, tx, 0, 0)
#define VALGRIND_PMC_ADD_TO_TX(addr, len) HOLDFAST_PMC(22, addr, len, 0)
#define VALGRIND_PMC_ADD_TO_TX_N(tx, addr, len) HOLDFAST_PMC(23, tx, addr, len)
#define VALGRIND_PMC_REMOVE_FROM_TX(addr, len) HOLDFAST_PMC(24, addr, len, 0)
#define VALGRIND_PMC_REMOVE_FROM_TX_N(tx, addr, len) HOLDFAST_PMC(25, tx, addr, len)
#define VALGRIND_PMC_ADD_THREAD_TX_N(tx) HOLDFAST_PMC(26, tx, 0, 0)
#define VALGRIND_PMC_REMOVE_THREAD_FROM_TX_N(tx) HOLDFAST_PMC(27, tx, 0, 0)
#define VALGRIND_PMC_ADD_TO_GLOBAL_TX_IGNORE(addr, len) HOLDFAST_PMC(28, addr, len, 0)
#define VALGRIND_PMC_EMIT_LOG(text) ((void)HOLDFAST_PMC(30, text, 0, 0))

#endif
