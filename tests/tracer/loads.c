/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is read from PM: loads POOL LOG SCENARIO. The pool has its size already.
 *
 * `insns` runs each instruction of the table, a function of its own, at %rdi, aligned and not;
 * %rsi is memory that is not PM. Each is an operation; the log says what it should read:
 *	load ID NAME ADDR SIZE
 * In the other scenarios a step is an operation, and the test knows what it reads.
 */
#include <cpuid.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "expect.h"
#include "holdfast.h"

#define POOL_BYTES (4ul << 20)
#define HINT ((void *)0x10000000000ul)
#define STEP 256

/* X(name, bytes read, from where on, alignment it needs, what the CPU must have, asm) */
#define LOADS(X)                                                                                   \
	X(mov8, 1, 0, 1, 0, "movb (%rdi), %al")                                                    \
	X(mov16, 2, 0, 1, 0, "movw (%rdi), %ax")                                                   \
	X(mov32, 4, 0, 1, 0, "movl (%rdi), %eax")                                                  \
	X(mov64, 8, 0, 1, 0, "movq (%rdi), %rax")                                                  \
	X(movzx, 1, 0, 1, 0, "movzbl (%rdi), %eax")                                                \
	X(movsx, 2, 0, 1, 0, "movswq (%rdi), %rax")                                                \
	X(movbe, 8, 0, 1, HAS_MOVBE, "movbe (%rdi), %rax")                                         \
	X(add_reg, 4, 0, 1, 0, "addl (%rdi), %eax")                                                \
	X(cmp, 8, 0, 1, 0, "cmpq %rax, (%rdi)")                                                    \
	X(test, 1, 0, 1, 0, "testb $7, (%rdi)")                                                    \
	X(imul, 8, 0, 1, 0, "imulq $3, (%rdi), %rax")                                              \
	X(div, 4, 0, 1, 0, "xor %edx, %edx; divl (%rdi)")                                          \
	X(cmov, 8, 0, 1, 0, "test %rdi, %rdi; cmovneq (%rdi), %rax")                               \
	X(popcnt, 8, 0, 1, 0, "popcntq (%rdi), %rax")                                              \
	X(bt_imm, 4, 0, 1, 0, "btl $3, (%rdi)")                                                    \
	X(bt_reg, 1, 5, 1, 0, "mov $43, %eax; btl %eax, (%rdi)")                                   \
	X(push, 8, 0, 1, 0, "pushq (%rdi); pop %rax")                                              \
	X(lods, 8, 0, 1, 0, "xchg %rsi, %rdi; lodsq")                                              \
	X(movsb, 1, 0, 1, 0, "xchg %rsi, %rdi; movsb")                                             \
	X(rep_movsb, 77, 0, 1, 0, "xchg %rsi, %rdi; mov $77, %ecx; rep movsb")                     \
	X(rep_movsq, 88, 0, 1, 0, "xchg %rsi, %rdi; mov $11, %ecx; rep movsq")                     \
	X(scasb, 1, 0, 1, 0, "scasb")                                                              \
	X(repne_scasb, 70, 0, 1, 0, "xor %eax, %eax; mov $70, %ecx; repne scasb")                  \
	X(repe_cmpsb, 1, 0, 1, 0, "mov $5, %ecx; repe cmpsb")                                      \
	X(add_mem, 8, 0, 1, 0, "addq %rax, (%rdi)")                                                \
	X(not_mem, 4, 0, 1, 0, "notl (%rdi)")                                                      \
	X(xchg, 8, 0, 1, 0, "xchgq %rax, (%rdi)")                                                  \
	X(lock_inc, 8, 0, 1, 0, "lock incq (%rdi)")                                                \
	X(lock_xadd, 4, 0, 1, 0, "lock xaddl %eax, (%rdi)")                                        \
	X(cas, 8, 0, 1, 0, "mov $1, %eax; lock cmpxchgq %rdx, (%rdi)")                             \
	X(cas_plain, 8, 0, 1, 0, "mov $1, %eax; cmpxchgq %rdx, (%rdi)")                            \
	X(cas16b, 16, 0, 16, HAS_CX16, "push %rbx; lock cmpxchg16b (%rdi); pop %rbx")              \
	X(movss, 4, 0, 1, 0, "movss (%rdi), %xmm0")                                                \
	X(movhps, 8, 0, 1, 0, "movhps (%rdi), %xmm0")                                              \
	X(movups, 16, 0, 1, 0, "movups (%rdi), %xmm0")                                             \
	X(movdqa, 16, 0, 16, 0, "movdqa (%rdi), %xmm0")                                            \
	X(movntdqa, 16, 0, 16, 0, "movntdqa (%rdi), %xmm0")                                        \
	X(paddd, 16, 0, 16, 0, "paddd (%rdi), %xmm0")                                              \
	X(pinsrw, 2, 0, 1, 0, "pinsrw $3, (%rdi), %xmm0")                                          \
	X(pmovzxbw, 8, 0, 1, 0, "pmovzxbw (%rdi), %xmm0")                                          \
	X(cvtsi2sd, 8, 0, 1, 0, "cvtsi2sdq (%rdi), %xmm0")                                         \
	X(vmovdqu, 32, 0, 1, HAS_AVX2, "vmovdqu (%rdi), %ymm0")                                    \
	X(vbroadcastss, 4, 0, 1, HAS_AVX2, "vbroadcastss (%rdi), %ymm0")                           \
	X(vmaskmov, 8, 8, 1, HAS_AVX2, LANES "vmaskmovps (%rdi), %xmm1, %xmm0")                    \
	X(vpmaskmov, 8, 8, 1, HAS_AVX2, LANES "vpmaskmovd (%rdi), %xmm1, %xmm0")                   \
	X(vgather, 4, 24, 1, HAS_AVX2, GATHER "vpgatherdd %xmm1, (%rdi, %xmm2, 4), %xmm0")         \
	X(fld32, 4, 0, 1, 0, "flds (%rdi); fstp %st(0)")                                           \
	X(fld64, 8, 0, 1, 0, "fldl (%rdi); fstpl (%rsi)")                                          \
	X(fld80, 10, 0, 1, 0, "fldt (%rdi); fstpt (%rsi)")                                         \
	X(fild16, 2, 0, 1, 0, "filds (%rdi); fstpl (%rsi)")                                        \
	X(fxrstor, 416, 0, 64, 0, "fxsave (%rdi); fxrstor (%rdi)")                                 \
	X(jump, 8, 0, 1, 0, "lea 1f(%rip), %rax; mov %rax, (%rdi); jmp *(%rdi); 1:")               \
	X(none, 0, 0, 1, 0,                                                                        \
	  "movq $7, (%rdi); movups %xmm0, (%rdi); prefetcht0 (%rdi); "                             \
	  "clflush (%rdi); lea (%rdi), %rax")                                                      \
	X(maskmovdqu, 0, 0, 1, 0, "maskmovdqu %xmm0, %xmm1")

#define LANES "vpcmpeqd %xmm1, %xmm1, %xmm1; vpslldq $8, %xmm1, %xmm1; "
#define GATHER                                                                                     \
	"vpcmpeqd %xmm1, %xmm1, %xmm1; vpsrldq $12, %xmm1, %xmm1; mov $6, %eax; "                  \
	"vmovd %eax, %xmm2; "

enum { HAS_MOVBE = 1, HAS_CX16 = 2, HAS_AVX2 = 4 };

#define DEFINE(name, size, delta, align, needs, code)                                              \
	extern uint64_t op_##name(volatile void *pm, void *aside);                                 \
	__asm__(".text; op_" #name ": " code "; ret");
LOADS(DEFINE)

static const struct op {
	const char *name;
	uint64_t (*run)(volatile void *, void *);
	size_t size;
	int delta;
	unsigned align, needs;
} ops[] = {
#define ENTRY(name, size, delta, align, needs, code)                                               \
	{ #name, op_##name, size, delta, align, needs },
	LOADS(ENTRY)
};

static unsigned features(void)
{
	unsigned a, b, c, d, has = 0;
	__cpuid(1, a, b, c, d);
	has |= (c & bit_MOVBE ? HAS_MOVBE : 0) | (c & bit_CMPXCHG16B ? HAS_CX16 : 0);
	__cpuid_count(7, 0, a, b, c, d);
	return has | (b & bit_AVX2 ? HAS_AVX2 : 0);
}

static const char *path;
static unsigned step;

/* One operation: its number goes up, so that the test can tell them apart. */
#define OP(...)                                                                                    \
	do {                                                                                       \
		HOLDFAST_OP_BEGIN(++step);                                                         \
		__VA_ARGS__;                                                                       \
		HOLDFAST_OP_END(step);                                                             \
	} while (0)

static uint64_t sink;
#define LOAD(p) (sink += *(volatile uint64_t *)(p))
#define STORE(p) (*(volatile uint64_t *)(p) = 5)

static const unsigned offset[] = { 0, 5, 61, 1024 - 3 };

/* Stores to all lines that the instructions read, and to one on either side, byte by byte. */
static void store_around(uint8_t *pm)
{
	uint8_t *p = pm;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (size_t k = 0; k < sizeof offset / sizeof *offset; k++, p += 2048) {
			uint8_t *from = p + offset[k] / 64 * 64;
			uint8_t *to = p + (offset[k] + (unsigned)ops[i].delta + ops[i].size + 127) /
						  64 * 64;
			for (from -= from > pm ? 64 : 0; from < to; from++)
				*(volatile uint8_t *)from = 0x41;
		}
}

static void insns(int stored)
{
	static uint8_t aside[1024] __attribute__((aligned(64)));
	unsigned has = features();
	uint8_t *pm = pool_map(path, POOL_BYTES, HINT), *p = pm;
	if (stored)
		store_around(pm);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (size_t k = 0; k < sizeof offset / sizeof *offset; k++, p += 2048) {
			if ((offset[k] & (ops[i].align - 1)) || (ops[i].needs & ~has))
				continue;
			uint64_t (*run)(volatile void *, void *) = ops[i].run;
			memset(aside, 0x77, sizeof aside);
			OP(run(p + offset[k], aside));
			fprintf(expect_file, "load %u %s %p %zu\n", step, ops[i].name,
				(void *)(p + offset[k] + ops[i].delta), ops[i].size);
		}
	must(p < pm + POOL_BYTES / 4, "the pool is too small");
}

/* What is known already is not said again. */
static void again(void)
{
	char *pm = pool_map(path, POOL_BYTES, HINT);
	OP(LOAD(pm); LOAD(pm); LOAD(pm + 16));
	OP(LOAD(pm + 56); LOAD(pm));
	OP(STORE(pm + 16); LOAD(pm); LOAD(pm + 24));
	OP(LOAD(pm + 16); LOAD(pm + 16));
	OP(STORE(pm + 0x1000));
	OP(LOAD(pm + 0x1008));
	OP(LOAD(pm + 0x1000); LOAD(pm + 0x1004));
	OP(LOAD(pm + 0x203c); LOAD(pm + 0x2000); LOAD(pm + 0x2040));
	OP(for (int i = 0; i < 40000; i++) LOAD(pm + i * 64));
	OP(must(read(open("/dev/zero", O_RDONLY), pm, 8) == 8, "read"));
	OP(LOAD(pm));
}

static void *map(int prot, int flags, int fd, void *at)
{
	void *p = mmap(at, POOL_BYTES, prot, flags | (at ? MAP_FIXED : 0), fd, 0);
	must(p != MAP_FAILED, "mmap");
	return p;
}

static void mappings(void)
{
	int fd = open(path, O_RDWR);
	must(fd >= 0, path);
	char *ro = map(PROT_READ, MAP_SHARED, fd, NULL);
	OP(LOAD(ro + 64));
	char *private = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, NULL);
	OP(LOAD(private + 128); STORE(private + 256); LOAD(private + 256));
	OP(must(!mprotect(ro, POOL_BYTES, PROT_READ | PROT_WRITE), "mprotect"); LOAD(ro + 64);
	   STORE(ro + 320); LOAD(ro + 320));
	OP(LOAD(private + 128));
	char *rw = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd, ro); /* the same address again */
	OP(LOAD(rw + 64));
	munmap(rw, POOL_BYTES);
	char *other = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, rw);
	OP(LOAD(other + 64));
	OP(other = mremap(private, POOL_BYTES, POOL_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other);
	   must(other != MAP_FAILED, "mremap"); LOAD(other + 128));
	static char marked[4096] __attribute__((aligned(4096)));
	HOLDFAST_PM(marked + 8, 100);
	OP(LOAD(marked + 4); LOAD(marked + 104); LOAD(marked + 112));
}

/* The kernel reads PM that the program hands to it. */
static void kernel(void)
{
	char *pm = pool_map(path, POOL_BYTES, HINT);
	int out = open("/dev/null", O_WRONLY), s[2];
	struct iovec v[2] = { { pm + 0x3000, 5 }, { pm + 0x4000, 70 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	must(out >= 0 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, s), "sockets");
	OP(must(write(out, pm + 0x1010, 100) == 100, "write"));
	OP(must(write(out, pm + 0x1010, 100) == 100, "write"));
	OP(must(pwrite(out, pm + 0x2000, 4096, 0) == 4096, "pwrite"));
	OP(must(writev(out, v, 2) == 75, "writev"));
	OP(must(send(s[0], pm + 0x5000, 10, 0) == 10, "send"));
	OP(v[1].iov_base = pm + 0x6000; must(sendmsg(s[0], &m, 0) == 75, "sendmsg"));
	OP(must(open(pm + 0x7000, O_RDONLY) < 0, "open of a name in PM"));
	OP(must(write(out, &m, sizeof m) > 0, "write"));
}

/* The file is read by system calls. */
static void reads(void)
{
	char buf[100];
	struct iovec v[2] = { { buf, 5 }, { buf + 5, 20 } };
	int fd = open(path, O_RDONLY), other = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0666), p[2];
	off_t off = 700;
	must(fd >= 0 && other >= 0 && !pipe(p), "open");
	OP(must(read(fd, buf, 10) == 10, "read"));
	OP(must(read(fd, buf, 100) == 100, "read"));
	OP(must(pread(fd, buf, 50, 1000) == 50, "pread"));
	OP(must(readv(fd, v, 2) == 25, "readv"));
	OP(must(preadv(fd, v, 2, 2000) == 25, "preadv"));
	OP(must(pread(fd, buf, 50, POOL_BYTES) == 0, "pread at the end"));
	OP(must(sendfile(other, fd, &off, 60) == 60, "sendfile"));
	OP(must(sendfile(other, fd, NULL, 60) == 60, "sendfile"));
	OP(off = 900; must(splice(fd, &off, p[1], NULL, 33, 0) == 33, "splice"));
	OP(off = 1100; must(copy_file_range(fd, &off, other, NULL, 44, 0) == 44, "copy"));
	OP(must(pread(other, buf, 50, 0) == 50, "pread of another file"));
	OP(must(lseek(fd, 0, SEEK_END) == POOL_BYTES, "lseek"));
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	path = argv[1];
	expect_open(argv[2]);
	if (!strcmp(argv[3], "insns") || !strcmp(argv[3], "stored"))
		insns(argv[3][0] == 's');
	else if (!strcmp(argv[3], "again"))
		again();
	else if (!strcmp(argv[3], "mappings"))
		mappings();
	else if (!strcmp(argv[3], "kernel"))
		kernel();
	else if (!strcmp(argv[3], "reads"))
		reads();
	else
		return 2;
	return 0;
}
