/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependences in code of all sorts, each kind an operation of its own: deps_more POOL SCENARIO. In the pool, word i is pm[i];
 * what is loaded, and what is stored from it, test_deps.py knows.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast.h"

static volatile uint64_t *pm, sink;

/* ---- values ---- */

static void copies(void)
{
	char local[200];
	memcpy(local, (char *)pm, sizeof local);
	memcpy((char *)pm + 1024, local, sizeof local);
}

static void vectors(void)
{
	static uint64_t other[4];
	__asm__ volatile("vmovdqu (%0), %%ymm1\n\t"
			 "vpaddq %%ymm1, %%ymm1, %%ymm2\n\t"
			 "vmovdqu %%ymm2, (%1)\n\t"
			 "movq 16(%1), %%rax\n\t"
			 "movq %%rax, 800(%0)\n\t"
			 "vzeroupper" ::"r"(pm),
			 "r"(other)
			 : "rax", "memory");
}

/* Words 1 and 3 are loaded, for the others the mask is not set. */
static void masked(void)
{
	static const uint64_t mask[4] = { 0, ~0ull, 0, ~0ull };
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\t"
			 "vpmaskmovq (%0), %%ymm1, %%ymm2\n\t"
			 "vmovdqu %%ymm2, 800(%0)\n\t"
			 "vzeroupper" ::"r"(pm),
			 "r"(mask)
			 : "memory");
}

static void floats(void)
{
	__asm__ volatile("fldl 8(%0)\n\tfldl 24(%0)\n\tfaddp\n\tfstpl 800(%0)" ::"r"(pm)
			 : "memory");
}

/* By helpers of VEX: of values, and of parts of the guest state. */
static void helpers(void)
{
	__asm__ volatile(
		"movq 8(%0), %%rax\n\tcrc32q 24(%0), %%rax\n\tmovq %%rax, 800(%0)\n\t"
		"movdqu 32(%0), %%xmm1\n\tmovdqu 64(%0), %%xmm2\n\taesenc %%xmm2, %%xmm1\n\t"
		"movdqu %%xmm1, 816(%0)" ::"r"(pm)
		: "rax", "memory");
}

static void many(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < 12; i++)
		sum += pm[i];
	pm[100] = sum;
}

/* As much of what loads most as fits into a block of code, and more. */
static void gathers(void)
{
	static char state[512] __attribute__((aligned(64)));
	__asm__ volatile(
		"vpxor %%ymm2, %%ymm2, %%ymm2\n\tvpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\t"
		".rept 60\n\tvmovdqa %%ymm1, %%ymm3\n\tvpgatherdd %%ymm3, (%0,%%ymm2,1), %%ymm4\n\t.endr\n\t"
		".rept 60\n\tvpmaskmovd (%0), %%ymm1, %%ymm5\n\tvpmaskmovd %%ymm5, %%ymm1, 96(%0)\n\t.endr\n\t"
		".rept 60\n\tfxsave (%1)\n\t.endr\n\t"
		"vmovdqu %%ymm4, 800(%0)\n\tvzeroupper" ::"r"(pm),
		"r"(state)
		: "memory");
}

/* More sets of labels than are kept: all are forgotten, and what is loaded later is known again. */
static void forgotten(void)
{
	static volatile uint64_t v[64];
	for (int i = 0; i < 64; i++)
		v[i] = pm[i];
	for (int a = 0; a < 64; a++)
		for (int b = 0; b < a; b++)
			for (int c = 0; c < b; c++) {
				uint64_t some = v[a] + v[b] + v[c];
				for (int d = 0; d < c; d++) {
					sink = some + v[d];
					sink = some + v[d] + v[(d + 7) % 64];
				}
			}
	pm[100] = v[1];
	pm[101] = pm[2];
}

/* ---- atomic instructions ---- */

static void adds(void)
{
	__atomic_fetch_add(&pm[100], pm[1], __ATOMIC_SEQ_CST);
}

static void exchanges(void)
{
	uint64_t expected = 7; /* known */
	__atomic_compare_exchange_n(&pm[7], &expected, pm[1], 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static void fails(void)
{
	uint64_t expected = 999;
	__atomic_compare_exchange_n(&pm[8], &expected, 5, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	pm[100] = expected;
}

/* ---- control ---- */

__attribute__((noinline)) static void stores(uint64_t at)
{
	pm[at] = 1;
}

static void calls(void)
{
	if (pm[1]) {
		stores(100);
		stores(101);
	}
	pm[102] = 1;
}

static void pointers(void)
{
	static void (*const table[2])(uint64_t) = { stores, stores };
	table[pm[1] & 1](100);
}

static jmp_buf back;

__attribute__((noinline)) static void jumps(void)
{
	if (pm[2])
		longjmp(back, 1);
}

static void jumped(void)
{
	volatile uint64_t kept = pm[1];
	if (!setjmp(back))
		jumps();
	pm[100] = kept;
}

/* The loop's own branch has no labels, but one in it has, so it is told from there on: once, for nothing happens between. */
static void loops(void)
{
	if (pm[1])
		pm[100] = 1;
	for (volatile int i = 0; i < 1000;)
		i++;
	pm[101] = 1;
}

/* ---- the kernel ---- */

static void overwritten(void)
{
	uint64_t local[2];
	int fd = open("/dev/zero", O_RDONLY);
	memcpy(local, (void *)pm, sizeof local);
	if (read(fd, local, 8) != 8)
		_exit(2);
	close(fd);
	pm[100] = ((volatile uint64_t *)local)[0];
	pm[101] = ((volatile uint64_t *)local)[1];
}

static void remapped(void)
{
	volatile uint64_t *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p[1] = pm[1];
	p = mremap((void *)p, 4096, 1 << 20, MREMAP_MAYMOVE);
	pm[100] = p[1];
	if (mmap((void *)p, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != p)
		_exit(2);
	pm[101] = p[1];
}

static void handler(int sig)
{
	(void)sig;
	pm[101] = pm[2];
}

static void interrupted(void)
{
	uint64_t kept = pm[1];
	signal(SIGUSR1, handler);
	__asm__ volatile("syscall" ::"a"(39 /* getpid */) : "rcx", "r11", "memory");
	raise(SIGUSR1);
	__asm__ volatile("movq %0, 800(%1)" ::"r"(kept), "r"(pm) : "memory");
}

static void operations(void)
{
	static void (*const all[])(void) = { copies,      vectors, masked,    floats,      helpers,
					     many,        adds,    exchanges, fails,       calls,
					     pointers,    jumped,  loops,     overwritten, remapped,
					     interrupted, gathers, forgotten };
	for (uint64_t i = 0; i < sizeof all / sizeof *all; i++) {
		HOLDFAST_OP_BEGIN(i);
		all[i]();
		HOLDFAST_OP_END(i);
	}
}

/* ---- threads and processes ---- */

static void *thread(void *arg)
{
	uint64_t me = (uint64_t)arg;
	for (int i = 0; i < 5000; i++)
		pm[200 + me] = pm[100 + me] + pm[104 + me];
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];
	for (uint64_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void child(void)
{
	volatile uint64_t kept = pm[1];
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		pm[100] = kept;
		pm[101] = pm[2];
		_exit(0);
	}
	waitpid(pid, &status, 0);
	pm[102] = kept;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror("deps_more");
		return 2;
	}
	pm = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (uint64_t i = 0; i < 512; i++)
		pm[i] = i;
	if (!strcmp(argv[2], "operations"))
		operations();
	else if (!strcmp(argv[2], "threads"))
		threads();
	else
		child();
	return 0;
}
