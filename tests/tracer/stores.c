/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores of every width and kind: stores POOL LOG POOL2
 *
 * Each line of the table is one instruction that writes at %rdi, from %rsi (a number that is
 * never the same) or from registers made of it. It is run aligned, unaligned, across a cache
 * line and across a page, where it may be; the bytes around it must not change.
 */
#include <cpuid.h>

#include "expect.h"

#define POOL_BYTES (1ul << 20)
#define AROUND 64

uint8_t stores_source[4096] __attribute__((aligned(64))); /* what rep movs copies */

/*
 * X(name, bytes written, from where on, flags, alignment it needs, what the CPU must have, asm)
 * 0 bytes: it writes nothing. Bit operations on a register count as the one byte they change.
 */
#define PLAIN(X)                                                                                   \
	X(mov8, 1, 0, "plain", 1, 0, "movb %%sil, (%%rdi)")                                        \
	X(mov16, 2, 0, "plain", 1, 0, "movw %%si, (%%rdi)")                                        \
	X(mov32, 4, 0, "plain", 1, 0, "movl %%esi, (%%rdi)")                                       \
	X(mov64, 8, 0, "plain", 1, 0, "movq %%rsi, (%%rdi)")                                       \
	X(mov8_high, 1, 0, "plain", 1, 0, "mov %%esi, %%eax; movb %%ah, (%%rdi)")                  \
	X(imm8, 1, 0, "plain", 1, 0, "movb $0x5a, (%%rdi)")                                        \
	X(imm16, 2, 0, "plain", 1, 0, "movw $0x5a5b, (%%rdi)")                                     \
	X(imm32, 4, 0, "plain", 1, 0, "movl $0x5a5b5c5d, (%%rdi)")                                 \
	X(imm64, 8, 0, "plain", 1, 0, "movq $-12345, (%%rdi)")                                     \
	X(movbe16, 2, 0, "plain", 1, HAS_MOVBE, "movbe %%si, (%%rdi)")                             \
	X(movbe32, 4, 0, "plain", 1, HAS_MOVBE, "movbe %%esi, (%%rdi)")                            \
	X(movbe64, 8, 0, "plain", 1, HAS_MOVBE, "movbe %%rsi, (%%rdi)")                            \
	X(setcc, 1, 0, "plain", 1, 0, "test %%esi, %%esi; setne (%%rdi)")                          \
	X(add8, 1, 0, "plain", 1, 0, "addb %%sil, (%%rdi)")                                        \
	X(add64, 8, 0, "plain", 1, 0, "addq %%rsi, (%%rdi)")                                       \
	X(adc32, 4, 0, "plain", 1, 0, "stc; adcl %%esi, (%%rdi)")                                  \
	X(sbb16, 2, 0, "plain", 1, 0, "stc; sbbw %%si, (%%rdi)")                                   \
	X(xor32, 4, 0, "plain", 1, 0, "xorl $0x7fffffff, (%%rdi)")                                 \
	X(inc16, 2, 0, "plain", 1, 0, "incw (%%rdi)")                                              \
	X(dec64, 8, 0, "plain", 1, 0, "decq (%%rdi)")                                              \
	X(neg32, 4, 0, "plain", 1, 0, "negl (%%rdi)")                                              \
	X(not8, 1, 0, "plain", 1, 0, "notb (%%rdi)")                                               \
	X(shl64, 8, 0, "plain", 1, 0, "shlq $3, (%%rdi)")                                          \
	X(rol16, 2, 0, "plain", 1, 0, "mov $5, %%ecx; rolw %%cl, (%%rdi)")                         \
	X(rcr32, 4, 0, "plain", 1, 0, "stc; rcrl $1, (%%rdi)")                                     \
	X(shld64, 8, 0, "plain", 1, 0, "shldq $9, %%rsi, (%%rdi)")                                 \
	X(bts_imm, 4, 0, "plain", 1, 0, "btsl $19, (%%rdi)")                                       \
	X(btr_imm, 8, 0, "plain", 1, 0, "btrq $41, (%%rdi)")                                       \
	X(btc_imm, 2, 0, "plain", 1, 0, "btcw $7, (%%rdi)")                                        \
	X(bts_reg, 1, 5, "plain", 1, 0, "mov $43, %%eax; btsl %%eax, (%%rdi)")                     \
	X(btc_reg, 1, -3, "plain", 1, 0, "mov $-17, %%rax; btcq %%rax, (%%rdi)")                   \
	X(xadd8, 1, 0, "plain", 1, 0, "xaddb %%sil, (%%rdi)")                                      \
	X(xadd64, 8, 0, "plain", 1, 0, "xaddq %%rsi, (%%rdi)")                                     \
	X(cmpxchg, 8, 0, "plain", 1, 0, "mov (%%rdi), %%rax; cmpxchgq %%rsi, (%%rdi)")             \
	X(cmpxchg_not, 4, 0, "plain", 1, 0,                                                        \
	  "mov (%%rdi), %%eax; not %%eax; cmpxchgl %%esi, (%%rdi)")                                \
	X(cmpxchg8b, 8, 0, "plain", 1, 0, DOUBLE "cmpxchg8b (%%rdi)")                              \
	X(cmpxchg16b, 16, 0, "plain", 16, HAS_CX16, DOUBLE16 "cmpxchg16b (%%rdi)")                 \
	X(pop64, 8, 0, "plain", 1, 0, "push %%rsi; pop (%%rdi)")                                   \
	X(stosb, 1, 0, "plain", 1, 0, "mov %%esi, %%eax; stosb")                                   \
	X(stosq, 8, 0, "plain", 1, 0, "mov %%rsi, %%rax; stosq")                                   \
	X(movsw, 2, 0, "plain", 1, 0, FROM_SOURCE "movsw")                                         \
	X(movsq, 8, 0, "plain", 1, 0, FROM_SOURCE "movsq")                                         \
	X(rep_stosb, 77, 0, "plain", 1, 0, "mov %%esi, %%eax; mov $77, %%ecx; rep stosb")          \
	X(rep_stosw, 66, 0, "plain", 1, 0, "mov %%esi, %%eax; mov $33, %%ecx; rep stosw")          \
	X(rep_stosl, 76, 0, "plain", 1, 0, "mov %%esi, %%eax; mov $19, %%ecx; rep stosl")          \
	X(rep_stosq, 88, 0, "plain", 1, 0, "mov %%rsi, %%rax; mov $11, %%ecx; rep stosq")          \
	X(rep_stosb_none, 0, 0, "plain", 1, 0, "xor %%ecx, %%ecx; rep stosb")                      \
	X(rep_movsb, 77, 0, "plain", 1, 0, FROM_SOURCE "mov $77, %%ecx; rep movsb")                \
	X(rep_movsw, 66, 0, "plain", 1, 0, FROM_SOURCE "mov $33, %%ecx; rep movsw")                \
	X(rep_movsl, 76, 0, "plain", 1, 0, FROM_SOURCE "mov $19, %%ecx; rep movsl")                \
	X(rep_movsq, 88, 0, "plain", 1, 0, FROM_SOURCE "mov $11, %%ecx; rep movsq")                \
	X(backwards, 30, -29, "plain", 1, 0,                                                       \
	  "lea 100+stores_source(%%rip), %%rsi; mov $30, %%ecx; std; rep movsb; cld")

#define VECTOR(X)                                                                                  \
	X(movd, 4, 0, "plain", 1, 0, XMM "movd %%xmm0, (%%rdi)")                                   \
	X(movq_xmm, 8, 0, "plain", 1, 0, XMM "movq %%xmm0, (%%rdi)")                               \
	X(movss, 4, 0, "plain", 1, 0, XMM "movss %%xmm0, (%%rdi)")                                 \
	X(movsd, 8, 0, "plain", 1, 0, XMM "movsd %%xmm0, (%%rdi)")                                 \
	X(movlps, 8, 0, "plain", 1, 0, XMM "movlps %%xmm0, (%%rdi)")                               \
	X(movhps, 8, 0, "plain", 1, 0, XMM "movhps %%xmm0, (%%rdi)")                               \
	X(movaps, 16, 0, "plain", 16, 0, XMM "movaps %%xmm0, (%%rdi)")                             \
	X(movups, 16, 0, "plain", 1, 0, XMM "movups %%xmm0, (%%rdi)")                              \
	X(movupd, 16, 0, "plain", 1, 0, XMM "movupd %%xmm0, (%%rdi)")                              \
	X(movdqa, 16, 0, "plain", 16, 0, XMM "movdqa %%xmm0, (%%rdi)")                             \
	X(movdqu, 16, 0, "plain", 1, 0, XMM "movdqu %%xmm0, (%%rdi)")                              \
	X(movq_mmx, 8, 0, "plain", 1, 0, "movq %%rsi, %%mm0; movq %%mm0, (%%rdi); emms")           \
	X(pextrb, 1, 0, "plain", 1, 0, XMM "pextrb $3, %%xmm0, (%%rdi)")                           \
	X(pextrw, 2, 0, "plain", 1, 0, XMM "pextrw $3, %%xmm0, (%%rdi)")                           \
	X(pextrd, 4, 0, "plain", 1, 0, XMM "pextrd $2, %%xmm0, (%%rdi)")                           \
	X(pextrq, 8, 0, "plain", 1, 0, XMM "pextrq $1, %%xmm0, (%%rdi)")                           \
	X(extractps, 4, 0, "plain", 1, 0, XMM "extractps $1, %%xmm0, (%%rdi)")                     \
	X(vmovups, 16, 0, "plain", 1, HAS_AVX2, XMM "vmovups %%xmm0, (%%rdi)")                     \
	X(vmovaps, 16, 0, "plain", 16, HAS_AVX2, XMM "vmovaps %%xmm0, (%%rdi)")                    \
	X(vmovss, 4, 0, "plain", 1, HAS_AVX2, XMM "vmovss %%xmm0, (%%rdi)")                        \
	X(vmovhpd, 8, 0, "plain", 1, HAS_AVX2, XMM "vmovhpd %%xmm0, (%%rdi)")                      \
	X(vmovdqu_ymm, 32, 0, "plain", 1, HAS_AVX2, YMM "vmovdqu %%ymm0, (%%rdi)")                 \
	X(vmovdqa_ymm, 32, 0, "plain", 32, HAS_AVX2, YMM "vmovdqa %%ymm0, (%%rdi)")                \
	X(vmovupd_ymm, 32, 0, "plain", 1, HAS_AVX2, YMM "vmovupd %%ymm0, (%%rdi)")                 \
	X(vextracti128, 16, 0, "plain", 1, HAS_AVX2, YMM "vextracti128 $1, %%ymm0, (%%rdi)")       \
	X(vextractf128, 16, 0, "plain", 1, HAS_AVX2, YMM "vextractf128 $0, %%ymm0, (%%rdi)")       \
	X(vpextrw, 2, 0, "plain", 1, HAS_AVX2, XMM "vpextrw $5, %%xmm0, (%%rdi)")                  \
	X(vcvtps2ph, 8, 0, "plain", 1, HAS_F16C, XMM "vcvtps2ph $0, %%xmm0, (%%rdi)")              \
	X(stmxcsr, 4, 0, "plain", 1, 0,                                                            \
	  "movl $0x1f80, -8(%%rsp); ldmxcsr -8(%%rsp); stmxcsr (%%rdi)")                           \
	X(fstp32, 4, 0, "plain", 1, 0, X87 "fstps (%%rdi)")                                        \
	X(fstp64, 8, 0, "plain", 1, 0, X87 "fstpl (%%rdi)")                                        \
	X(fstp80, 10, 0, "plain", 1, 0, X87 "fstpt (%%rdi)")                                       \
	X(fist16, 2, 0, "plain", 1, 0, X87 "fistps (%%rdi)")                                       \
	X(fist32, 4, 0, "plain", 1, 0, X87 "fistpl (%%rdi)")                                       \
	X(fist64, 8, 0, "plain", 1, 0, X87 "fistpll (%%rdi)")                                      \
	X(fisttp64, 8, 0, "plain", 1, 0, X87 "fisttpll (%%rdi)")                                   \
	X(fnstcw, 2, 0, "plain", 1, 0, "fnstcw (%%rdi)")                                           \
	X(fnstsw, 2, 0, "plain", 1, 0, "fnstsw (%%rdi)")

/* LOCK and XCHG. What fails or finds what it would write stores nothing that matters. */
#define ATOMIC(X)                                                                                  \
	X(xchg8, 1, 0, "atomic", 1, 0, "xchgb %%sil, (%%rdi)")                                     \
	X(xchg16, 2, 0, "atomic", 1, 0, "xchgw %%si, (%%rdi)")                                     \
	X(xchg32, 4, 0, "atomic", 1, 0, "xchgl %%esi, (%%rdi)")                                    \
	X(xchg64, 8, 0, "atomic", 1, 0, "xchgq %%rsi, (%%rdi)")                                    \
	X(lock_inc, 8, 0, "atomic", 1, 0, "lock incq (%%rdi)")                                     \
	X(lock_dec, 1, 0, "atomic", 1, 0, "lock decb (%%rdi)")                                     \
	X(lock_neg, 4, 0, "atomic", 1, 0, "lock negl (%%rdi)")                                     \
	X(lock_not, 2, 0, "atomic", 1, 0, "lock notw (%%rdi)")                                     \
	X(lock_add, 4, 0, "atomic", 1, 0, "lock addl %%esi, (%%rdi)")                              \
	X(lock_add_imm, 2, 0, "atomic", 1, 0, "lock addw $999, (%%rdi)")                           \
	X(lock_sub, 8, 0, "atomic", 1, 0, "lock subq %%rsi, (%%rdi)")                              \
	X(lock_adc, 8, 0, "atomic", 1, 0, "stc; lock adcq %%rsi, (%%rdi)")                         \
	X(lock_sbb, 4, 0, "atomic", 1, 0, "stc; lock sbbl %%esi, (%%rdi)")                         \
	X(lock_and, 1, 0, "atomic", 1, 0, "lock andb $0x3c, (%%rdi)")                              \
	X(lock_or, 4, 0, "atomic", 1, 0, "lock orl %%esi, (%%rdi)")                                \
	X(lock_xor, 8, 0, "atomic", 1, 0, "lock xorq %%rsi, (%%rdi)")                              \
	X(lock_xadd8, 1, 0, "atomic", 1, 0, "lock xaddb %%sil, (%%rdi)")                           \
	X(lock_xadd16, 2, 0, "atomic", 1, 0, "lock xaddw %%si, (%%rdi)")                           \
	X(lock_xadd64, 8, 0, "atomic", 1, 0, "lock xaddq %%rsi, (%%rdi)")                          \
	X(lock_bts, 1, 2, "atomic", 1, 0, "mov $19, %%eax; lock btsl %%eax, (%%rdi)")              \
	X(lock_btr, 8, 0, "atomic", 1, 0, "lock btrq $40, (%%rdi)")                                \
	X(lock_btc, 4, 0, "atomic", 1, 0, "lock btcl $9, (%%rdi)")                                 \
	X(cas8, 1, 0, "atomic", 1, 0, "movb (%%rdi), %%al; lock cmpxchgb %%sil, (%%rdi)")          \
	X(cas16, 2, 0, "atomic", 1, 0, "movw (%%rdi), %%ax; lock cmpxchgw %%si, (%%rdi)")          \
	X(cas32, 4, 0, "atomic", 1, 0, "movl (%%rdi), %%eax; lock cmpxchgl %%esi, (%%rdi)")        \
	X(cas64, 8, 0, "atomic", 1, 0, "movq (%%rdi), %%rax; lock cmpxchgq %%rsi, (%%rdi)")        \
	X(cas64_not, 0, 0, "atomic", 1, 0,                                                         \
	  "movq (%%rdi), %%rax; not %%rax; lock cmpxchgq %%rsi, (%%rdi)")                          \
	X(cas8_not, 0, 0, "atomic", 1, 0,                                                          \
	  "movb (%%rdi), %%al; inc %%al; lock cmpxchgb %%sil, (%%rdi)")                            \
	X(lock_cmpxchg8b, 8, 0, "atomic", 1, 0, DOUBLE "lock cmpxchg8b (%%rdi)")                   \
	X(lock_cmpxchg8b_not, 0, 0, "atomic", 1, 0, DOUBLE "inc %%edx; lock cmpxchg8b (%%rdi)")    \
	X(lock_cmpxchg16b, 16, 0, "atomic", 16, HAS_CX16, DOUBLE16 "lock cmpxchg16b (%%rdi)")      \
	X(lock_cmpxchg16b_not_low, 0, 0, "atomic", 16, HAS_CX16,                                   \
	  DOUBLE16 "inc %%rax; lock cmpxchg16b (%%rdi)")                                           \
	X(lock_cmpxchg16b_not_high, 0, 0, "atomic", 16, HAS_CX16,                                  \
	  DOUBLE16 "inc %%rdx; lock cmpxchg16b (%%rdi)")

#define FROM_SOURCE "lea stores_source(%%rip), %%rsi; "
#define XMM "movq %%rsi, %%xmm0; imul $-77, %%rsi, %%rax; pinsrq $1, %%rax, %%xmm0; "
#define YMM                                                                                        \
	XMM "vpermq $0x4e, %%ymm0, %%ymm1; vpaddb %%xmm0, %%xmm0, %%xmm2; "                        \
	    "vinserti128 $1, %%xmm2, %%ymm0, %%ymm0; "
#define X87 "movl %%esi, -8(%%rsp); andl $0x7fff, -8(%%rsp); fildl -8(%%rsp); "
#define DOUBLE "movl (%%rdi), %%eax; movl 4(%%rdi), %%edx; mov %%esi, %%ebx; lea 1(%%rsi), %%ecx; "
#define DOUBLE16                                                                                   \
	"movq (%%rdi), %%rax; movq 8(%%rdi), %%rdx; mov %%rsi, %%rbx; lea 1(%%rsi), %%rcx; "

enum { HAS_MOVBE = 1, HAS_CX16 = 2, HAS_AVX2 = 4, HAS_F16C = 8, HAS_XSAVE = 16, HAS_CLWB = 32 };

static unsigned features(void)
{
	unsigned a, b, c, d, has = 0;
	__cpuid(1, a, b, c, d);
	has |= (c & bit_MOVBE ? HAS_MOVBE : 0) | (c & bit_CMPXCHG16B ? HAS_CX16 : 0) |
	       (c & bit_F16C ? HAS_F16C : 0) | (c & bit_OSXSAVE ? HAS_XSAVE : 0);
	__cpuid_count(7, 0, a, b, c, d);
	return has | (b & bit_AVX2 ? HAS_AVX2 : 0) | (b & bit_CLWB ? HAS_CLWB : 0);
}

/* The red zone is in use by X87 only; the compiler keeps out of it for us. */
#define DEFINE(name, size, delta, flags, align, needs, code)                                       \
	static void op_##name(uint8_t *p, uint64_t v)                                              \
	{                                                                                          \
		__asm__ volatile("sub $128, %%rsp; " code "; add $128, %%rsp"                      \
				 : "+D"(p), "+S"(v)                                                \
				 :                                                                 \
				 : "rax", "rbx", "rcx", "rdx", "xmm0", "xmm1", "xmm2", "cc",       \
				   "memory");                                                      \
	}
PLAIN(DEFINE)
VECTOR(DEFINE)
ATOMIC(DEFINE)

static const struct op {
	const char *name;
	void (*run)(uint8_t *, uint64_t);
	int size, delta;
	const char *flags;
	unsigned align, needs;
} ops[] = {
#define ENTRY(name, size, delta, flags, align, needs, code)                                        \
	{ #name, op_##name, size, delta, flags, align, needs },
	PLAIN(ENTRY) VECTOR(ENTRY) ATOMIC(ENTRY)
};

static uint64_t next_value(void)
{
	static uint64_t x = 88172645463325252ull;
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

static void run(const struct op *op, uint8_t *p)
{
	uint8_t before[512];
	size_t span = AROUND + 128 + AROUND;
	memcpy(before, p - AROUND, span);
	op->run(p, next_value());
	fprintf(expect_file, "group %s\n", op->name);
	if (op->size)
		expect_store(p + op->delta, (size_t)op->size, op->flags);
	for (size_t i = 0; i < span; i++) {
		long at = (long)i - AROUND - op->delta;
		if ((at < 0 || at >= op->size) && before[i] != p[(long)i - AROUND]) {
			fprintf(stderr, "%s: byte %ld changed\n", op->name, at);
			exit(97);
		}
	}
}

static void run_table(uint8_t *pm)
{
	static const long places[] = { 4096, 4096 * 2 + 24 + 1, 4096 * 3 + 64 - 1, 4096 * 5 - 3,
				       4096 * 7 - 16 };
	unsigned has = features();
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (size_t k = 0; k < sizeof places / sizeof *places; k++)
			if (!(ops[i].needs & ~has) && (unsigned long)places[k] % ops[i].align == 0)
				run(&ops[i], pm + places[k]);
}

/* ---- masked stores: one expected store for each run of lanes ---- */

#define MASKED(name, lanes, width, insn, reg)                                                      \
	static void mask_##name(uint8_t *p, const void *mask, const void *data)                    \
	{                                                                                          \
		__asm__ volatile("vmovdqu (%1), %%" reg "1; vmovdqu (%2), %%" reg "2; " insn       \
				 " %%" reg "2, %%" reg "1, (%0)"                                   \
				 :                                                                 \
				 : "r"(p), "r"(mask), "r"(data)                                    \
				 : "xmm1", "xmm2", "memory");                                      \
	}
#define MASKS(X)                                                                                   \
	X(ps128, 4, 4, "vmaskmovps", "xmm")                                                        \
	X(ps256, 8, 4, "vmaskmovps", "ymm")                                                        \
	X(pd128, 2, 8, "vmaskmovpd", "xmm")                                                        \
	X(pd256, 4, 8, "vmaskmovpd", "ymm")                                                        \
	X(d128, 4, 4, "vpmaskmovd", "xmm")                                                         \
	X(d256, 8, 4, "vpmaskmovd", "ymm")                                                         \
	X(q128, 2, 8, "vpmaskmovq", "xmm")                                                         \
	X(q256, 4, 8, "vpmaskmovq", "ymm")
MASKS(MASKED)

static void run_mask(void (*op)(uint8_t *, const void *, const void *), uint8_t *p, unsigned lanes,
		     unsigned width, unsigned bits)
{
	uint8_t mask[32] = { 0 }, data[32];
	for (unsigned i = 0; i < 32; i++)
		data[i] = (uint8_t)next_value();
	for (unsigned i = 0; i < lanes; i++)
		mask[i * width + width - 1] = bits >> i & 1 ? 0x80 : 0x7f;
	op(p, mask, data);
	for (unsigned i = 0, n; i < lanes; i += n ? n : 1) {
		for (n = 0; i + n < lanes && bits >> (i + n) & 1;)
			n++;
		if (n)
			expect_store(p + i * width, n * width, "plain");
	}
}

static void run_masks(uint8_t *pm)
{
	if (!(features() & HAS_AVX2))
		return;
#define RUN(name, lanes, width, insn, reg)                                                         \
	fprintf(expect_file, "group %s\n", insn " " reg);                                          \
	for (unsigned bits = 0; bits < 1u << lanes; bits += lanes == 8 ? 7 : 1)                    \
		run_mask(mask_##name, pm + 4096 - 13 + bits, lanes, width, bits);
	MASKS(RUN)
	/* The masked-out part may even lie where nothing is mapped. */
	run_mask(mask_ps256, pm + POOL_BYTES - 12, 8, 4, 7);
}

/* ---- the processor's state: what exactly is written is the processor's own business ---- */

static void expect_area(const uint8_t *p, const uint8_t *before, size_t size)
{
	fprintf(expect_file, "area %p %zu ", (const void *)p, size);
	for (size_t i = 0; i < size; i++)
		fprintf(expect_file, "%02x", p[i]);
	fputs(" plain ", expect_file);
	for (size_t i = 0; i < size; i++)
		fprintf(expect_file, "%02x", before[i]);
	fputc('\n', expect_file);
}

#define AREA(name, bytes, code)                                                                    \
	do {                                                                                       \
		uint8_t before[bytes];                                                             \
		memset(before, 0xa5, sizeof before);                                               \
		fprintf(expect_file, "group fill\n");                                              \
		for (unsigned i = 0; i < sizeof before; i += 8) {                                  \
			*(volatile uint64_t *)(p + i) = 0xa5a5a5a5a5a5a5a5;                        \
			expect_store(p + i, 8, "plain");                                           \
		}                                                                                  \
		__asm__ volatile(XMM "fninit; fldpi; fldln2; " code "; fninit"                     \
				 :                                                                 \
				 : "D"(p), "S"(next_value())                                       \
				 : "rax", "rdx", "xmm0", "memory");                                \
		fprintf(expect_file, "group %s\n", name);                                          \
		expect_area(p, before, sizeof before);                                             \
		p += 4096;                                                                         \
	} while (0)

static void run_areas(uint8_t *p)
{
	AREA("fnstenv", 32, "fnstenv (%%rdi)");
	AREA("fnsave", 128, "fnsave (%%rdi)");
	AREA("fxsave", 512, "fxsave (%%rdi)");
	AREA("fxsave64", 512, "fxsave64 (%%rdi)");
	if (!(features() & HAS_XSAVE))
		return;
	AREA("xsave of x87 and SSE", 576, "mov $3, %%eax; xor %%edx, %%edx; xsave (%%rdi)");
	AREA("xsave of SSE", 576, "mov $2, %%eax; xor %%edx, %%edx; xsave64 (%%rdi)");
	if (features() & HAS_AVX2)
		AREA("xsave with AVX", 832, "mov $7, %%eax; xor %%edx, %%edx; xsave64 (%%rdi)");
}

/* ---- atomics as fences: recorded where something is pending, before the store ---- */

static void clwb(void *p)
{
	__asm__ volatile("clwb (%0)" ::"r"(p) : "memory");
}

static void clflushopt(void *p)
{
	__asm__ volatile("clflushopt (%0)" ::"r"(p) : "memory");
}

static void movnti(void *p)
{
	__asm__ volatile("movnti %0, (%1)" ::"r"(next_value()), "r"(p) : "memory");
}

/* Logging locks, too: nothing may be pending then, so act first and log afterwards. */
static void run_fences(uint8_t *p)
{
	uint8_t *other = p + 64;
	uint8_t *heap = mmap((void *)0xf000000000ul, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	fprintf(expect_file, "group a flush, then an atomic\n");
	clwb(p), op_lock_inc(other, 0);
	expect_flush(p, "clwb"), expect_fence("atomic"), expect_store(other, 8, "atomic");
	clflushopt(p), op_xchg32(other, next_value()), op_lock_inc(other + 8, 0);
	expect_flush(p, "clflushopt"), expect_fence("atomic"), expect_store(other, 4, "atomic");
	expect_store(other + 8, 8, "atomic");
	fprintf(expect_file, "group a non-temporal store, then an atomic elsewhere\n");
	movnti(p), op_lock_xadd64(heap, 1);
	expect_store(p, 8, "nt"), expect_fence("atomic");
	fprintf(expect_file, "group a compare-and-swap that fails\n");
	clwb(p), op_cas64_not(other, next_value());
	expect_flush(p, "clwb"), expect_fence("atomic");
	fprintf(expect_file, "group not a fence without LOCK\n");
	clwb(p), op_xadd64(other, 5), op_cmpxchg8b(other + 16, 7), op_mov64(other + 24, 8);
	__asm__ volatile("sfence" ::: "memory");
	expect_flush(p, "clwb"), expect_store(other, 8, "plain");
	expect_store(other + 16, 8, "plain"), expect_store(other + 24, 8, "plain");
	expect_fence("sfence");
	fprintf(expect_file, "group nothing pending\n");
	op_lock_inc(other, 0);
	expect_store(other, 8, "atomic");
	__asm__ volatile("clflush (%0)" ::"r"(p) : "memory"); /* orders itself */
	op_lock_inc(other, 0);
	expect_flush(p, "clflush"), expect_store(other, 8, "atomic");
	clwb(heap), op_lock_inc(other, 0); /* of no PM */
	expect_flush(heap, "clwb"), expect_store(other, 8, "atomic");
}

/* ---- at the edges of PM: only what is in it counts, and two mappings are two stores ---- */

static void run_edges(uint8_t *pm, const char *second)
{
	void *before = mmap(pm - 4096, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	uint8_t *next = pool_map(second, 4096, pm + POOL_BYTES);
	uint8_t *last = mmap(next + 4096, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	must(before != MAP_FAILED && last != MAP_FAILED, "mmap");
	fprintf(expect_file, "group edges\n");
	for (int i = 1; i < 8; i++) {
		op_mov64(pm - i, next_value());
		expect_store(pm, (size_t)(8 - i), "plain");
		op_mov64(next - i, next_value());
		expect_store(next - i, (size_t)i, "plain");
		expect_store(next, (size_t)(8 - i), "plain");
		op_mov64(last - i, next_value());
		expect_store(last - i, (size_t)i, "plain");
		op_movups(last - i * 2, next_value());
		expect_store(last - i * 2, (size_t)i * 2, "plain");
		op_lock_xadd64(pm - i, next_value());
		expect_store(pm, (size_t)(8 - i), "atomic");
	}
	op_mov64(pm - 8, next_value());
	op_mov64(last, next_value());
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	uint8_t *pm = pool_map(argv[1], POOL_BYTES, (void *)0x10000000000ul);
	for (size_t i = 0; i < sizeof stores_source; i++)
		stores_source[i] = (uint8_t)next_value();
	expect_open(argv[2]);
	run_table(pm);
	run_masks(pm);
	run_areas(pm + 65536);
	if (features() & HAS_CLWB)
		run_fences(pm + 131072);
	run_edges(pm, argv[3]);
	return 0;
}
