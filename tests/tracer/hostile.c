/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of writing to PM that are easily missed. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "scenarios.h"

#define BYTES (256 * PAGE)

/* ---- stacks ---- */

static ucontext_t home, away;

static NOINLINE int deep(int n)
{
	volatile int local[16];
	local[n % 16] = n;
	return n ? deep(n - 1) + local[n % 16] : 0;
}

static void on_stack(void)
{
	deep(20);
	swapcontext(&away, &home);
	deep(10);
}

static void context(void)
{
	must(!getcontext(&away), "getcontext");
	away.uc_stack = (stack_t){ .ss_sp = pm + 8 * PAGE, .ss_size = 16 * PAGE };
	away.uc_link = &home;
	makecontext(&away, on_stack, 0);
	must(!swapcontext(&home, &away), "swapcontext");
	deep(3);
	must(!swapcontext(&home, &away), "swapcontext");
}

/* No library: the stack pointer is moved, and moved back, inside one block. */
static void pushes(void)
{
	char *top = pm + 64 * PAGE;
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %0, %%rsp\n\t"
			 "push $77\n\t"
			 "movl $88, -16(%%rsp)\n\t"
			 "lock incl -24(%%rsp)\n\t"
			 "call 1f\n"
			 "1:\tpop %%rax\n\t"
			 "mov %%rbx, %%rsp"
			 :
			 : "r"(top)
			 : "rax", "rbx", "memory");
}

static void *thread(void *arg)
{
	deep(30);
	return arg;
}

static void thread_stack(void)
{
	pthread_attr_t attr;
	pthread_t t;
	pthread_attr_init(&attr);
	must(!pthread_attr_setstack(&attr, pm + 64 * PAGE, 64 * PAGE), "setstack");
	must(!pthread_create(&t, &attr, thread, NULL), "pthread_create");
	must(!pthread_join(t, NULL), "pthread_join");
}

static void handler(int sig)
{
	deep(sig);
}

static void signal_stack(void)
{
	stack_t st = { .ss_sp = pm + 64 * PAGE, .ss_size = 32 * PAGE };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	must(!sigaltstack(&st, NULL) && !sigaction(SIGUSR1, &sa, NULL), "sigaltstack");
	must(!raise(SIGUSR1) && !raise(SIGUSR1), "raise");
}

/* ---- futexes ---- */

static long futex(uint32_t *a, int op, uint32_t v, unsigned long v2, uint32_t *b, uint32_t v3)
{
	return syscall(SYS_futex, a, op, v, v2, b, v3);
}

static void wake_op(void)
{
	uint32_t *a = (uint32_t *)(pm + 100), *b = (uint32_t *)(pm + 5000);
	*b = 7;
	must(futex(a, FUTEX_WAKE_OP, 1, 1, b, FUTEX_OP(FUTEX_OP_ADD, 35, FUTEX_OP_CMP_EQ, 7)) == 0,
	     "futex");
	must(*b == 42, "the word");
}

static void lock_pi(void)
{
	uint32_t *a = (uint32_t *)(pm + 100);
	*a = 0;
	must(futex(a, FUTEX_LOCK_PI, 0, 0, NULL, 0) == 0 && *a, "futex");
	a = (uint32_t *)(pm + 200);
	*a = 0;
	must(futex(a, FUTEX_LOCK_PI, 0, 0, NULL, 0) == 0, "futex");
	must(futex(a, FUTEX_UNLOCK_PI, 0, 0, NULL, 0) == 0 && !*a, "futex");
}

static void *dies_with_lock(void *arg)
{
	must(!pthread_mutex_lock(arg), "lock");
	return NULL;
}

static pthread_mutex_t *robust_mutex(char *at)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *m = (pthread_mutex_t *)at;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	must(!pthread_mutex_init(m, &attr), "mutex");
	return m;
}

static void owner_died(void)
{
	pthread_mutex_t *m = robust_mutex(pm + 1000), *held = robust_mutex(pm + 2000);
	pthread_t t;
	must(!pthread_create(&t, NULL, dies_with_lock, m), "pthread_create");
	must(!pthread_join(t, NULL), "pthread_join");
	must(pthread_mutex_lock(m) == EOWNERDEAD, "the owner died");
	must(!pthread_mutex_lock(held), "lock"); /* and is, at the end */
}

/* ---- memory by other ways ---- */

static void vm_writev(void)
{
	char text[] = "from another address space", more[] = "and more";
	struct iovec from[2] = { { text, sizeof text }, { more, sizeof more } };
	struct iovec to[2] = { { pm + PAGE - 5, 20 }, { pm + 7 * PAGE, 100 } };
	must(process_vm_writev(getpid(), from, 2, to, 2, 0) == sizeof text + sizeof more,
	     "process_vm_writev");
}

static void proc_mem(void)
{
	int mem = open("/proc/self/mem", O_RDWR);
	must(mem >= 0, "/proc/self/mem");
	must(pwrite(mem, "poked", 5, (off_t)(uintptr_t)(pm + PAGE - 2)) == 5, "pwrite");
	must(lseek(mem, (off_t)(uintptr_t)(pm + 9000), SEEK_SET) > 0 && write(mem, "again", 5) == 5,
	     "write");
}

static void pkey(void)
{
	char *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 3 * PAGE);
	must(p != MAP_FAILED, "mmap");
	if (syscall(SYS_pkey_mprotect, p, PAGE, PROT_READ | PROT_WRITE, -1))
		exit(77);
	strcpy(p + 77, "writable now");
}

static void madv_remove(void)
{
	if (madvise(pm + 3 * PAGE, 5 * PAGE, MADV_REMOVE))
		exit(77);
	pm[4 * PAGE] = 5;
	pm[200 * PAGE] = 5;
}

static const struct scenario scenarios[] = {
	{ "context", context },           { "pushes", pushes },
	{ "thread_stack", thread_stack }, { "signal_stack", signal_stack },
	{ "wake_op", wake_op },           { "lock_pi", lock_pi },
	{ "owner_died", owner_died },     { "vm_writev", vm_writev },
	{ "proc_mem", proc_mem },         { "pkey", pkey },
	{ "madv_remove", madv_remove },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
