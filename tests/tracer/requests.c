/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client requests, Holdfast's markers and pmemcheck's: requests POOL LOG own|pmemcheck|cpu|valgrind
 * The log has the events that should be recorded; for `cpu`, what CPUID says; for `valgrind`, whether it shows.
 */
#include <cpuid.h>
#include <immintrin.h>

#include "expect.h"
#include "holdfast.h"

#define PAGE 4096ul
#define BYTES (4 * PAGE)

/* pmemcheck's numbers, from its published interface */
enum {
	REGISTER_MAPPING = 0x50430000,
	REGISTER_FILE,
	REMOVE_MAPPING,
	CHECK_MAPPING,
	PRINT_MAPPINGS,
	DO_FLUSH,
	DO_FENCE,
	WRITE_STATS = REGISTER_MAPPING + 8,
	SET_CLEAN = REGISTER_MAPPING + 17,
	START_TX,
	START_TX_N,
	END_TX,
	END_TX_N,
	ADD_TO_TX,
	ADD_TO_TX_N,
	REMOVE_FROM_TX,
	REMOVE_FROM_TX_N,
	ADD_THREAD_TO_TX_N,
	REMOVE_THREAD_FROM_TX_N,
	ADD_TO_GLOBAL_TX_IGNORE,
	EMIT_LOG = REGISTER_MAPPING + 30,
	RUNNING_ON_VALGRIND = 0x1001, /* Valgrind's own */
};

static NOINLINE unsigned long request(unsigned long number, unsigned long a, unsigned long b,
				      unsigned long c, unsigned long d)
{
	volatile unsigned long args[6] = { number, a, b, c, d, 0 };
	unsigned long result = 12345;
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; "
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(&args[0])
			 : "cc", "memory");
	return result;
}

#define LOG(...) fprintf(expect_file, __VA_ARGS__)

static void put(volatile char *at, int seen)
{
	static uint64_t n = 1;
	*(volatile uint64_t *)at = n++;
	if (seen)
		expect_store(at, 8, "plain");
}

static int recording;

static void own(char *pm)
{
	char *heap = aligned_alloc(PAGE, 2 * PAGE);
	HOLDFAST_OP_BEGIN(7);
	LOG("op-begin 7\n");
	put(pm, 1);
	HOLDFAST_OP_END(7);
	LOG("op-end 7\n");
	HOLDFAST_OP_BEGIN(-1l);
	LOG("op-begin %lu\n", -1l);
	put(heap, 0);
	HOLDFAST_PM(heap + 64, 256);
	LOG("mark-pm %p 256\n", (void *)(heap + 64));
	put(heap + 64, 1);
	put(heap + 64 + 248, 1);
	put(heap + 64 + 256, 0);
	put(heap + 56, 0);
	_mm_clflush(heap + 100);
	LOG("flush %p clflush\n", (void *)(heap + 100));
	HOLDFAST_VOLATILE(pm + 128, 64);
	LOG("mark-volatile %p 64\n", (void *)(pm + 128));
	put(pm + 128, 1);
	HOLDFAST_PM(pm + 8, 8); /* is PM already */
	LOG("mark-pm %p 8\n", (void *)(pm + 8));
	put(pm + 8, 1);
	put(pm + 16, 1);
	HOLDFAST_OP_END(-1l);
	LOG("op-end %lu\n", -1l);
}

static void same(const char *what, unsigned long got, unsigned long recorded)
{
	unsigned long wanted = recording ? recorded : 12345;
	if (got == wanted)
		return;
	fprintf(stderr, "%s: %lu, not %lu\n", what, got, wanted);
	exit(97);
}

static void mappings(char *pm, int fd)
{
	char *heap = aligned_alloc(PAGE, 4 * PAGE);
	unsigned long a = (unsigned long)pm, h = (unsigned long)heap;
	same("the pool", request(CHECK_MAPPING, a, BYTES, 0, 0), 1);
	same("a byte of it", request(CHECK_MAPPING, a + 77, 1, 0, 0), 1);
	same("the heap", request(CHECK_MAPPING, h, PAGE, 0, 0), 0);
	same("past its end", request(CHECK_MAPPING, a + BYTES - 8, 16, 0, 0), 2);
	same("before its begin", request(CHECK_MAPPING, a - 4, 5, 0, 0), 2);
	same("much more", request(CHECK_MAPPING, a - 64, 1ul << 40, 0, 0), 2);
	request(REGISTER_MAPPING, h, PAGE, 0, 0);
	LOG("hint-map %p %lu\n", (void *)heap, PAGE);
	same("registered", request(CHECK_MAPPING, h, PAGE, 0, 0), 1);
	same("and a bit more", request(CHECK_MAPPING, h, PAGE + 1, 0, 0), 2);
	put(heap + 8, 1);
	request(REGISTER_FILE, (unsigned long)fd, h + 2 * PAGE, PAGE, 0);
	LOG("hint-map %p %lu\n", (void *)(heap + 2 * PAGE), PAGE);
	put(heap + 2 * PAGE, 1);
	put(heap + PAGE, 0);
	request(REMOVE_MAPPING, h, PAGE, 0, 0);
	LOG("hint-unmap %p %lu\n", (void *)heap, PAGE);
	same("removed", request(CHECK_MAPPING, h, PAGE, 0, 0), 0);
	put(heap + 16, 0);
	request(REMOVE_MAPPING, a, BYTES, 0, 0); /* the pool is PM whatever it says */
	LOG("hint-unmap %p %lu\n", (void *)pm, BYTES);
	put(pm + 24, 1);
}

static void pmemcheck(char *pm, int fd)
{
	unsigned long a = (unsigned long)pm;
	mappings(pm, fd);
	same("flush", request(DO_FLUSH, a + 64, 128, 0, 0), 0);
	LOG("hint-flush %p 128\n", (void *)(pm + 64));
	request(DO_FENCE, 0, 0, 0, 0);
	LOG("hint-fence\n");
	request(SET_CLEAN, a + 256, 64, 0, 0);
	LOG("hint-clean %p 64\n", (void *)(pm + 256));
	request(START_TX, 0, 0, 0, 0);
	LOG("tx-begin own\n");
	request(ADD_TO_TX, a, 64, 0, 0);
	LOG("tx-add own %p 64\n", (void *)pm);
	request(REMOVE_FROM_TX, a + 32, 32, 0, 0);
	LOG("tx-remove own %p 32\n", (void *)(pm + 32));
	request(START_TX_N, 9, 0, 0, 0);
	LOG("tx-begin 9\n");
	request(ADD_TO_TX_N, 9, a + 128, 8, 0);
	LOG("tx-add 9 %p 8\n", (void *)(pm + 128));
	request(ADD_THREAD_TO_TX_N, 9, 0, 0, 0);
	request(REMOVE_THREAD_FROM_TX_N, 9, 0, 0, 0);
	request(REMOVE_FROM_TX_N, 9, a + 128, 4, 0);
	LOG("tx-remove 9 %p 4\n", (void *)(pm + 128));
	request(END_TX_N, 9, 0, 0, 0);
	LOG("tx-end 9\n");
	request(ADD_TO_GLOBAL_TX_IGNORE, a + 512, 64, 0, 0);
	LOG("tx-ignore %p 64\n", (void *)(pm + 512));
	request(END_TX, 0, 0, 0, 0);
	LOG("tx-end own\n");
	request(PRINT_MAPPINGS, 0, 0, 0, 0);
	request(WRITE_STATS, 0, 0, 0, 0);
	request(EMIT_LOG, (unsigned long)"a message", 0, 0, 0);
	same("an unknown request", request(REGISTER_MAPPING + 1000, 1, 2, 3, 4), 12345);
	put(pm, 1);
}

static void cpu(void)
{
	unsigned a, b, c, d;
	__cpuid(1, a, b, c, d);
	LOG("clflush %d\n", d >> 19 & 1);
	__cpuid_count(7, 0, a, b, c, d);
	LOG("clflushopt %d clwb %d avx2 %d\n", b >> 23 & 1, b >> 24 & 1, b >> 5 & 1);
	__cpuid_count(7, 1, a, b, c, d);
	LOG("leaf 7.1 %x\n", b);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	char *pm = pool_map(argv[1], BYTES, NULL);
	int fd = open(argv[1], O_RDONLY);
	expect_open(argv[2]);
	recording = HOLDFAST_RECORDING();
	LOG("recording %d\n", recording);
	if (!strcmp(argv[3], "own"))
		own(pm);
	else if (!strcmp(argv[3], "pmemcheck"))
		pmemcheck(pm, fd);
	else if (!strcmp(argv[3], "valgrind"))
		LOG("valgrind %lu\n", request(RUNNING_ON_VALGRIND, 0, 0, 0, 0) % 12345);
	else
		cpu();
	return 0;
}
