/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions, signals, threads and processes that make stores hard to see. */
#include <cpuid.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)
#define REPT(n, code) ".set at, 0\n\t.rept " #n "\n\t" code "\n\t.set at, at + 64\n\t.endr"

/* ---- instructions ---- */

/*
 * Sixty instructions in a row, each of which is many stores to the tracer. Masks and bytes come from the
 * standard input if there is any: explore makes them symbolic.
 */
static void wide(void)
{
	unsigned masks[8] = { ~0u, 0, ~0u, ~0u, 0, 0, ~0u, 1u << 31 };
	if (!__builtin_cpu_supports("avx2"))
		exit(77);
	if (read(0, masks, 16) == 16)
		masks[0] |= 1u << 31;
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\t" REPT(60, "vpmaskmovd %%ymm1, %%ymm1, at(%0)")
			 :
			 : "r"(pm + 3), "r"(masks)
			 : "xmm1", "memory");
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\t" REPT(60, "fxsave 8 * at(%0)")
			 :
			 : "r"(pm + 2 * PAGE), "r"(masks)
			 : "xmm1", "memory");
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\t" REPT(60, "xsave 16 * at(%0)")
			 :
			 : "r"(pm + 32 * PAGE), "r"(masks), "a"(7), "d"(0)
			 : "xmm1", "memory");
}

/* Gathers from the pool, and what was gathered stored into it. */
static void gathers(void)
{
	static const int index[8] = { 0, 9, 3, 77, 5, 2, 1, 400 };
	if (!__builtin_cpu_supports("avx2"))
		exit(77);
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\t" REPT(
				 60, "vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n\t"
				     "vpgatherdd %%ymm2, at(%0, %%ymm1, 4), %%ymm3\n\t"
				     "vmovdqu %%ymm3, at + 1(%0)")
			 :
			 : "r"(pm), "r"(index)
			 : "xmm1", "xmm2", "xmm3", "memory");
}

/* Downwards, over page borders and onto itself. */
static void backwards(void)
{
	char *to = pm + 3 * PAGE + 100, *from = pm + 3 * PAGE + 40;
	size_t n = 5000;
	for (int i = 0; i < 5000; i++)
		pm[2 * PAGE + i] = (char)(i * 7);
	__asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	n = 600, to = pm + 9 * PAGE - 8;
	__asm__ volatile("std\n\trep stosq\n\tcld" : "+D"(to), "+c"(n) : "a"(0x1234567) : "memory");
	n = 3, to = pm + 12 * PAGE - 2, from = pm + PAGE;
	__asm__ volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void odd_stores(void)
{
	char *p = pm + 5 * PAGE - 5;
	uint64_t lo = 1, hi = 2;
	__asm__ volatile("fldpi\n\tfstpt (%0)\n\tfnstenv 64(%0)\n\t"
			 "fnsave 128(%0)\n\tfnstcw 256(%0)\n\tstmxcsr 260(%0)\n\t"
			 "btsq %1, 300(%0)\n\tlock btcl $3, 301(%0)\n\txaddw %w1, 303(%0)\n\t"
			 "shldq $9, %1, 311(%0)\n\tsetb 330(%0)\n\tpushfq\n\tpopq 340(%0)\n\t"
			 "movq %%fs, %%rax\n\tmovw %%ss, 350(%0)\n\tfninit"
			 :
			 : "r"(p), "r"(9000ul)
			 : "rax", "memory", "cc");
	char *aligned = pm + 8 * PAGE - 16;
	memset(aligned, 0, 32);
	for (int i = 0; i < 2; i++) /* fails, then succeeds */
		__asm__ volatile("lock cmpxchg16b (%2)"
				 : "+a"(lo), "+d"(hi)
				 : "r"(aligned), "b"(77ul), "c"(88ul)
				 : "memory", "cc");
}

/* Only some bytes, past the caches; the rest of the line is somebody else's. */
static void partial_nt(void)
{
	static const char mask[16] = { -128, 0, 0, -128, 0, -128, -128, -128,
				       0,    0, 0, 0,    0, 0,    0,    -1 };
	for (int i = 0; i < 50; i++)
		__asm__ volatile("movdqu (%1), %%xmm1\n\tmaskmovdqu %%xmm1, %%xmm1"
				 :
				 : "D"(pm + PAGE - 300 + i * 13), "r"(mask)
				 : "xmm1", "memory");
	for (int i = 0; i < 50; i++)
		__asm__ volatile("movnti %k1, (%0)"
				 :
				 : "r"(pm + 2 * PAGE - 99 + 4 * i), "r"(i)
				 : "memory");
	__asm__ volatile("sfence" : : : "memory");
}

/* Code in the pool, which stores into the pool, and beside itself. */
static void code_in_pm(void)
{
	/* mov %rdi,(%rdi); incl 1(%rip); mov word,%eax; ret */
	static const unsigned char code[] = { 0x48, 0x89, 0x3f, 0xff, 0x05, 7,    0, 0, 0, 0x8b,
					      0x05, 1,    0,    0,    0,    0xc3, 0, 0, 0, 0 };
	char *p = mmap(NULL, PAGE, RW | PROT_EXEC, MAP_SHARED, fd, 20 * PAGE);
	int (*f)(void *) = (int (*)(void *))(void *)(p + 64);
	if (p == MAP_FAILED)
		exit(77);
	memcpy(p + 64, code, sizeof code);
	int last = 0;
	for (int i = 0; i < 300; i++)
		last = f(pm + 30 * PAGE + 16 * i);
	must(last == 300, "the code");
}

/* ---- signals and threads ---- */

static sigjmp_buf back;
static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	if (ticks < 5) /* one more, later: time may pass quickly */
		setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 700 } }, NULL);
	pm[40 * PAGE + ticks % 1000] = (char)(sig + ticks);
	if (++ticks % 2 == 0)
		siglongjmp(back, 1);
}

/* Stores are interrupted, and given up, wherever they are. */
static void interrupted(void)
{
	signal(SIGALRM, tick);
	if (!sigsetjmp(back, 1))
		raise(SIGALRM);
	while (ticks <= 5) {
		memset(pm + 10 * PAGE + 1, (int)ticks, 100);
		usleep(100);
	}
}

static atomic_int running;

static void *endless(void *arg)
{
	atomic_fetch_add(&running, 1);
	for (uint64_t i = 0;; sched_yield(), i++)
		((volatile uint64_t *)arg)[i % 1000] = i;
	return NULL;
}

/* They store until the very end of the process. */
static void never_joined(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t[i], NULL, endless, pm + (10 + 5 * i) * PAGE), "thread");
	while (atomic_load(&running) < 3)
		sched_yield();
}

static void *sleeper(void *arg)
{
	syscall(SYS_set_tid_address, arg); /* the kernel writes 0 there when the thread ends */
	syscall(SYS_exit, 0);
	return NULL;
}

static void tid_in_pm(void)
{
	volatile int *word = (volatile int *)(pm + 3 * PAGE);
	pthread_t t;
	*word = 7;
	must(!pthread_create(&t, NULL, sleeper, (void *)word), "thread");
	while (*word)
		sched_yield();
}

/* ---- what the kernel writes ---- */

static void nested(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0), n = inotify_init(), other;
	struct ifconf c = { .ifc_len = 400, .ifc_buf = pm + 100 };
	must(s >= 0 && !ioctl(s, SIOCGIFCONF, &c) && c.ifc_len > 0, "SIOCGIFCONF");
	struct ifreq *r = (struct ifreq *)(pm + PAGE + 8);
	strcpy(r->ifr_name, "lo");
	must(!ioctl(s, SIOCGIFFLAGS, r), "SIOCGIFFLAGS");
	must(n >= 0 && inotify_add_watch(n, ".", IN_CREATE) > 0, "inotify");
	must((other = open("made", O_CREAT | O_WRONLY, 0666)) >= 0, "open");
	must(read(n, pm + 2 * PAGE - 9, 300) > 0, "inotify");
	must(!mincore(pm, BYTES, (unsigned char *)pm + 3 * PAGE - 3), "mincore");
	if (!fsetxattr(other, "user.key", "the value", 9, 0)) {
		must(fgetxattr(other, "user.key", pm + 5 * PAGE, 100) == 9, "getxattr");
		must(flistxattr(other, pm + 6 * PAGE - 4, 100) >= 9, "listxattr");
	}
	pid_t child = fork();
	if (!child)
		_exit(5);
	must(syscall(SYS_wait4, child, pm + 7 * PAGE + 4, 0, pm + 8 * PAGE - 8) == child, "wait4");
	child = fork();
	if (!child)
		_exit(6);
	must(!waitid(P_PID, (id_t)child, (siginfo_t *)(pm + 9 * PAGE - 20), WEXITED), "waitid");
}

/* A ring that reads into the pool. */
static void ring_reads(void)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring < 0)
		exit(77);
	size_t sq = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	char *q = mmap(NULL, sq, RW, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, 4 * sizeof *e, RW, MAP_SHARED, ring, IORING_OFF_SQES);
	int exe = open("/proc/self/exe", O_RDONLY);
	*e = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = exe, .addr = (uintptr_t)pm + PAGE + 10, .len = 1000
	};
	((unsigned *)(q + p.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(q + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
	     "enter");
}

/* ---- processes ---- */

static void vforked(void)
{
	pid_t child = vfork();
	if (!child) {
		pm[PAGE + 5] = 77;
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child && pm[PAGE + 5] == 77, "vfork");
}

/* What is read decides what a child, which is not recorded, stores. */
static void child_writes(void)
{
	char c = 0;
	must(read(0, &c, 1) >= 0, "read");
	pm[0] = c > 5;
	pid_t child = fork();
	if (!child) {
		pm[PAGE + 5] = 77;
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child, "fork");
}

/* The pool is another program's standard output. */
static void spawned(void)
{
	posix_spawn_file_actions_t acts;
	char name[] = "echo", text[] = "from another program";
	char *argv[] = { name, text, NULL }, *env[] = { NULL };
	pid_t child;
	must(!posix_spawn_file_actions_init(&acts) &&
		     !posix_spawn_file_actions_addopen(&acts, 1, path, O_WRONLY, 0),
	     "spawn");
	must(!posix_spawn(&child, "/bin/echo", &acts, NULL, argv, env), "spawn");
	must(waitpid(child, NULL, 0) == child && pm[0] == 'f', "spawn");
}

/* The program goes on as another one, with the descriptor that it had. */
static void executed(void)
{
	char number[16];
	snprintf(number, sizeof number, "%d", fd);
	execl(self[0], self[0], path, "again", number, NULL);
	must(0, "exec");
}

static void again(void)
{
	int with = atoi(self[3]);
	must(pwrite(with, "before it is mapped", 19, 5 * PAGE) == 19, "pwrite");
	pm = mmap(NULL, BYTES, RW, MAP_SHARED, with, 0);
	must(pm != MAP_FAILED, "mmap");
	pm[7] = 7;
}

/* Both write through mappings that they had before, and one through a new one. */
static void forked(void)
{
	pid_t child = fork();
	if (!child) {
		char *p = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 9 * PAGE);
		for (int i = 0; i < 100; i++)
			p[i] = pm[PAGE + i] = (char)i;
		must(pwrite(fd, "child", 5, 11 * PAGE) == 5 && !ftruncate(fd, BYTES + 5), "child");
		_exit(0);
	}
	for (int i = 0; i < 100; i++)
		pm[2 * PAGE + i] = (char)i;
	must(waitpid(child, NULL, 0) == child, "fork");
	pm[9 * PAGE + 5] = 1;
}

static const struct scenario scenarios[] = {
	{ "wide", wide },
	{ "gathers", gathers },
	{ "backwards", backwards },
	{ "odd_stores", odd_stores },
	{ "partial_nt", partial_nt },
	{ "code_in_pm", code_in_pm },
	{ "interrupted", interrupted },
	{ "never_joined", never_joined },
	{ "tid_in_pm", tid_in_pm },
	{ "nested", nested },
	{ "ring_reads", ring_reads },
	{ "vforked", vforked },
	{ "child_writes", child_writes },
	{ "spawned", spawned },
	{ "executed", executed },
	{ "forked", forked },
	{ "again", again, true },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
