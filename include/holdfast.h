/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markers for programs under test. Nothing needs them; they tell Holdfast what it cannot see.
 *
 *	HOLDFAST_OP_BEGIN(id);   an operation of the program begins (a request, an insert …)
 *	HOLDFAST_OP_END(id);     and is complete, which usually promises that it is durable
 *	HOLDFAST_PM(addr, len);        this memory is persistent, though it does not look so
 *	HOLDFAST_VOLATILE(addr, len);  this persistent memory holds data that need not survive
 *	HOLDFAST_RECORDING()     1 under Holdfast, else 0
 *	HOLDFAST_SYMBOLIC(addr, len)   `holdfast explore` tries all values for these bytes;
 *	                         1 if it does, 0 elsewhere
 *
 * For C and C++, GCC and Clang; includes nothing and needs no library. Outside Holdfast a
 * marker costs a few instructions that do nothing. Define HOLDFAST_DISABLE before including
 * this to compile them to nothing; their arguments are not evaluated then, as on machines
 * other than x86-64.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#define HOLDFAST_REQUEST_BASE 0x48460000ul /* "HF" */
#define HOLDFAST_REQUEST_OP_BEGIN (HOLDFAST_REQUEST_BASE + 0)
#define HOLDFAST_REQUEST_OP_END (HOLDFAST_REQUEST_BASE + 1)
#define HOLDFAST_REQUEST_PM (HOLDFAST_REQUEST_BASE + 2)
#define HOLDFAST_REQUEST_VOLATILE (HOLDFAST_REQUEST_BASE + 3)
#define HOLDFAST_REQUEST_RECORDING (HOLDFAST_REQUEST_BASE + 4)
#define HOLDFAST_REQUEST_SYMBOLIC (HOLDFAST_REQUEST_BASE + 5)

#if !defined(HOLDFAST_DISABLE) && defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)

/*
 * A Valgrind client request: rdi rotated by 3+13+61+51 = 128 bits is rdi again, and rbx is
 * exchanged with itself, so a processor does nothing and rdx stays 0. Valgrind knows the
 * sequence, reads the request and its arguments at rax, and answers in rdx.
 */
static __inline__ __attribute__((__always_inline__, __unused__)) unsigned long holdfast_request_3(
	unsigned long request, unsigned long a, unsigned long b, unsigned long c)
{
	volatile unsigned long args[6];
	unsigned long result;
	args[0] = request;
	args[1] = a;
	args[2] = b;
	args[3] = c;
	args[4] = args[5] = 0;
	__asm__ volatile("rolq $3, %%rdi\n\t"
			 "rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\t"
			 "rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "=d"(result)
			 : "a"(&args[0]), "0"(0ul)
			 : "cc", "memory");
	return result;
}

static __inline__ __attribute__((__always_inline__, __unused__)) unsigned long holdfast_request(
	unsigned long request, unsigned long a, unsigned long b)
{
	return holdfast_request_3(request, a, b, 0);
}

#define HOLDFAST_OP_BEGIN(id)                                                                      \
	((void)holdfast_request(HOLDFAST_REQUEST_OP_BEGIN, (unsigned long)(id), 0))
#define HOLDFAST_OP_END(id)                                                                        \
	((void)holdfast_request(HOLDFAST_REQUEST_OP_END, (unsigned long)(id), 0))
#define HOLDFAST_PM(addr, len)                                                                     \
	((void)holdfast_request(HOLDFAST_REQUEST_PM, (unsigned long)(addr), (unsigned long)(len)))
#define HOLDFAST_VOLATILE(addr, len)                                                               \
	((void)holdfast_request(HOLDFAST_REQUEST_VOLATILE, (unsigned long)(addr),                  \
				(unsigned long)(len)))
#define HOLDFAST_RECORDING() ((int)holdfast_request(HOLDFAST_REQUEST_RECORDING, 0, 0))
#define HOLDFAST_SYMBOLIC(addr, len)                                                               \
	((int)holdfast_request(HOLDFAST_REQUEST_SYMBOLIC, (unsigned long)(addr),                   \
			       (unsigned long)(len)))

#else

#define HOLDFAST_OP_BEGIN(id) ((void)sizeof(id))
#define HOLDFAST_OP_END(id) ((void)sizeof(id))
#define HOLDFAST_PM(addr, len) ((void)sizeof(addr), (void)sizeof(len))
#define HOLDFAST_VOLATILE(addr, len) ((void)sizeof(addr), (void)sizeof(len))
#define HOLDFAST_RECORDING() (0)
#define HOLDFAST_SYMBOLIC(addr, len) ((void)sizeof(addr), (void)sizeof(len), 0)

#endif

#endif
