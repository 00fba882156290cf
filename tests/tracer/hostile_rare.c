/* SPDX-License-Identifier: BSD-3-Clause */
/* Rare instructions, arguments of system calls that lie where their results go, and descriptors that others move. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <ucontext.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)

/* ---- instructions ---- */

/* Bits far from the address that the instruction names, and results that are written back though nothing changes. */
static void bits(void)
{
	char *p = pm + 8 * PAGE;
	__asm__ volatile("btsq %1, (%0)\n\tlock btcq %2, (%0)\n\tbtrl %k2, (%0)\n\t"
			 "lock btsw %w3, 7(%0)\n\tbtcl $17, 61(%0)"
			 :
			 : "r"(p), "r"(8 * 3000l + 3), "r"(-8 * 2500l - 9), "r"(300)
			 : "memory", "cc");
	__asm__ volatile(
		"movl $5, %%ecx\n\tshldq %%cl, %1, 130(%0)\n\tshrdw $3, %w1, 191(%0)\n\t"
		"rclq $9, 253(%0)\n\trcrb %%cl, 260(%0)\n\tsarw $1, 319(%0)\n\t"
		"stc\n\tadcq %1, 400(%0)\n\tsbbb %b1, 410(%0)\n\tsetc 411(%0)\n\tnegq 443(%0)\n\t"
		"notw 447(%0)\n\tincb 500(%0)\n\tdecq 507(%0)\n\tmovbe %1, 571(%0)"
		:
		: "r"(p), "r"(0x1234567890abcdeful)
		: "rcx", "memory", "cc");
}

static void exchanges(void)
{
	char *p = pm + 9 * PAGE;
	unsigned long a = 1, d = 2;
	__asm__ volatile(
		"lock cmpxchg16b (%0)\n\tmovq $77, %%rbx\n\tmovq $88, %%rcx\n\t"
		"lock cmpxchg16b (%0)\n\tcmpxchg8b 64(%0)\n\tcmpxchg8b 64(%0)\n\t"
		"lock xaddq %%rbx, 125(%0)\n\txaddb %%bl, 200(%0)\n\txchgb %%bh, 201(%0)\n\t"
		"xchgw %%bx, 255(%0)\n\tlock cmpxchgb %%bl, 300(%0)\n\tcmpxchgq %%rbx, 381(%0)\n\t"
		"lock negl 400(%0)\n\tlock notb 404(%0)\n\tlock orw $3, 447(%0)"
		: "+r"(p), "+a"(a), "+d"(d)
		:
		: "rbx", "rcx", "memory", "cc");
}

/* The stack pointer and the segments lead to the pool only now and then. */
static void stack_words(void)
{
	char *p = pm + 10 * PAGE;
	__asm__ volatile(
		"movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tpushq $77\n\tpushw $7\n\tpushfq\n\t"
		"pushq -8(%0)\n\tpopq 64(%0)\n\tcall 1f\n1:\n\tenter $32, $0\n\t"
		"movq %%rbx, -8(%%rbp)\n\tmovq -8(%%rbp), %%rsp"
		:
		: "r"(p)
		: "rbx", "rbp", "memory", "cc");
	for (int i = 0; i < 3; i++)
		p[1000 + i * 64] = (char)i;
}

static void floats(void)
{
	char *p = pm + 11 * PAGE;
	__asm__ volatile(
		"fldpi\n\tfstpt 59(%0)\n\tfldpi\n\tfsts 100(%0)\n\tfstl 125(%0)\n\tfistps 189(%0)\n\tfldpi\n\t"
		"fistpll 253(%0)\n\tfldpi\n\tfisttpl 318(%0)\n\tfnstcw 383(%0)\n\tfnstsw 447(%0)\n\t"
		"fnstenv 500(%0)\n\tfldenv 500(%0)\n\tfnsave 601(%0)\n\tfrstor 601(%0)\n\tstmxcsr 830(%0)\n\t"
		"sidt 893(%0)\n\tsgdt 1021(%0)"
		:
		: "r"(p)
		: "memory");
}

static void pieces(void)
{
	char *p = pm + 12 * PAGE;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("sse4.1"))
		exit(77);
	__asm__ volatile(
		"movq %1, %%xmm1\n\tpinsrq $1, %1, %%xmm1\n\tmovlps %%xmm1, 60(%0)\n\tmovhpd %%xmm1, 124(%0)\n\t"
		"movss %%xmm1, 190(%0)\n\tmovsd %%xmm1, 253(%0)\n\textractps $2, %%xmm1, 318(%0)\n\t"
		"pextrb $9, %%xmm1, 380(%0)\n\tpextrw $3, %%xmm1, 383(%0)\n\tpextrq $1, %%xmm1, 445(%0)\n\t"
		"vinsertf128 $1, %%xmm1, %%ymm1, %%ymm1\n\tvextracti128 $1, %%ymm1, 500(%0)\n\t"
		"vmovlhps %%xmm1, %%xmm1, %%xmm2\n\tvmovhps %%xmm2, 572(%0)\n\tvzeroupper\n\t"
		"movdqu %%xmm2, 633(%0)\n\tmovups %%xmm2, 4090(%0)\n\tmovnti %1, 4092(%0)"
		:
		: "r"(p), "r"(0x8182838485868788ul)
		: "xmm1", "xmm2", "memory");
	if (__builtin_cpu_supports("f16c"))
		__asm__ volatile("vcvtps2ph $0, %%xmm1, 700(%0)\n\tvcvtps2ph $0, %%ymm1, 764(%0)"
				 :
				 : "r"(p)
				 : "memory");
}

/* Code that is made, used, changed in place and used again. */
static void rewritten_code(void)
{
	/* mov %esi, (%rdi); clflush (%rdi); ret */
	static const unsigned char code[] = { 0x89, 0x77, 0x00, 0x0f, 0xae, 0x7f, 0x00, 0xc3 };
	unsigned char *x = mmap(NULL, PAGE, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(x != MAP_FAILED, "mmap");
	for (unsigned i = 0; i < 40; i++) {
		memcpy(x, code, sizeof code);
		x[2] = (unsigned char)(i * 3); /* where it stores */
		if (i % 3 == 0)
			x[0] = 0x88; /* a byte only */
		((void (*)(char *, int))(uintptr_t)x)(pm + 13 * PAGE + i * 5,
						      (int)(i * 0x01010101));
	}
}

static ucontext_t *back_to;
static void coroutine(void)
{
	char *p = pm + 14 * PAGE;
	for (int i = 0; i < 20; i++) {
		p[i * 70] = (char)i;
		swapcontext(back_to + 1, back_to);
	}
}

/* Contexts and their stacks in the pool, and jumps out of them. */
static void coroutines(void)
{
	static jmp_buf *j;
	back_to = (ucontext_t *)(void *)(pm + 15 * PAGE);
	must(!getcontext(back_to + 1), "getcontext");
	back_to[1].uc_stack.ss_sp = pm + 20 * PAGE;
	back_to[1].uc_stack.ss_size = 4 * PAGE;
	back_to[1].uc_link = back_to;
	makecontext(back_to + 1, coroutine, 0);
	for (int i = 0; i < 10; i++)
		swapcontext(back_to, back_to + 1);
	j = (jmp_buf *)(void *)(pm + 30 * PAGE);
	volatile int n = 0;
	if (_setjmp(*j) < 5) {
		pm[31 * PAGE + 64 * n] = 'j';
		longjmp(*j, ++n);
	}
}

/* ---- mappings ---- */

/* Every page is made ready, cooled, taken out and forgotten: the file keeps what it has. */
static void advised(void)
{
	static const int advice[] = { MADV_DONTNEED,           20 /* COLD */,
				      21 /* PAGEOUT */,        MADV_WILLNEED,
				      23 /* POPULATE_WRITE */, MADV_DONTFORK,
				      MADV_DONTDUMP,           MADV_FREE,
				      MADV_HUGEPAGE,           4 };
	for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
		memset(pm + (3 + i) * PAGE - 9, 'a' + (int)i, 40);
		madvise(pm + 2 * PAGE, 12 * PAGE, advice[i]);
	}
	must(!msync(pm, BYTES, MS_SYNC | MS_INVALIDATE) || !msync(pm, BYTES, MS_SYNC), "msync");
	mlock(pm, PAGE);
	memset(pm + 7 * PAGE, 'z', 9);
}

/* A mapping that shrinks, whose rest becomes something else, and that grows again over it. */
static void resized(void)
{
	char *p = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 16 * PAGE);
	must(p != MAP_FAILED && mremap(p, 16 * PAGE, 8 * PAGE, 0) == p, "mremap");
	char *q = mmap(p + 8 * PAGE, 4 * PAGE, RW,
		       MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* NOREPLACE */, -1, 0);
	must(q == p + 8 * PAGE, "MAP_FIXED_NOREPLACE");
	memset(q - 20, 'n', 40);
	char *r = mremap(p + 2 * PAGE, 3 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
	must(r != MAP_FAILED && r != p + 2 * PAGE, "mremap");
	memset(r + 4 * PAGE - 100, 'r', 2 * PAGE);
	memset(p + 2 * PAGE - 10, 's', 10);
	char *hole = mmap(p + 2 * PAGE, 3 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	must(hole == p + 2 * PAGE, "mmap");
	memset(hole, 'h', 3 * PAGE);
	must(mprotect(p, 8 * PAGE, PROT_READ) == 0 && mprotect(p + PAGE, PAGE, RW) == 0,
	     "mprotect");
	memset(p + PAGE, 'w', PAGE);
}

/* Read-only, private and shared views of the same pages, by several descriptors. */
static void many_views(void)
{
	char name[64];
	int ro = open(path, O_RDONLY), any = open(path, O_PATH);
	snprintf(name, sizeof name, "/proc/self/fd/%d", any);
	int again = open(name, O_RDWR);
	char *a = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, ro, 0);
	char *b = mmap(NULL, BYTES, RW, MAP_PRIVATE, ro, 0);
	char *c = mmap(NULL, BYTES - PAGE, RW, MAP_SHARED, again, PAGE);
	must(a != MAP_FAILED && b != MAP_FAILED && c != MAP_FAILED, "mmap");
	must(mprotect(a, PAGE, RW) && errno == EACCES, "mprotect");
	memcpy(b + 4 * PAGE, "mine", 4);
	memcpy(c + 4 * PAGE, a + 5 * PAGE, 11);
	memcpy(c + 6 * PAGE, b + 4 * PAGE, 4);
	must(pwrite(again, b + 4 * PAGE, 100, 9 * PAGE) == 100, "pwrite");
	must(dup2(again, ro) == ro && write(ro, a + PAGE, 600) == 600 && write(again, "on", 2) == 2,
	     "write");
	must(!munmap(c + 10 * PAGE, PAGE), "munmap");
	memset(c + 11 * PAGE, 'c', 70);
}

/* Unlinked, made anew under its name, and both go on. */
static void made_anew(void)
{
	must(!unlink(path), "unlink");
	memset(pm + 3 * PAGE, 'd', 100);
	int other = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
	must(other >= 0 && !ftruncate(other, BYTES) && write(other, pm, 5000) == 5000, "write");
	char *q = mmap(NULL, BYTES, RW, MAP_SHARED, other, 0);
	must(q != MAP_FAILED, "mmap");
	memcpy(q + 7 * PAGE, pm, PAGE);
	memset(pm + 9 * PAGE, 'x', 10);
	must(!link(path, "second") && !unlink(path) && !rename("second", path), "rename");
	memset(q + 9 * PAGE, 'y', 10);
}

/* ---- descriptors ---- */

/* pwrite to a descriptor that appends writes to the end, whatever the offset. */
static void appended(void)
{
	int a = open(path, O_RDWR | O_APPEND);
	char one[] = "one", three[] = "three";
	struct iovec v[2] = { { one, 3 }, { three, 5 } };
	must(a >= 0 && pwrite(a, "appended", 8, 100) == 8 && pwritev(a, v, 2, 0) == 8, "pwrite");
	must(pwritev2(a, v, 2, 200, 0x20 /* RWF_NOAPPEND, of Linux 6.9 */) == 8 ||
		     errno == EOPNOTSUPP,
	     "pwritev2");
	must(pwritev2(fd, v, 2, -1, RWF_DSYNC) == 8 && pwritev2(fd, v, 1, 300, RWF_HIPRI) == 3,
	     "pwritev2");
	must(!fcntl(a, F_SETFL, 0) && pwrite(a, "there", 5, 400) == 5, "pwrite");
	must(!fcntl(fd, F_SETFL, O_APPEND) && write(fd, "end", 3) == 3 &&
		     pwrite(fd, "end", 3, 7) == 3,
	     "write");
	off_t to = 0, from = 0;
	int other = open("other", O_RDWR | O_CREAT, 0666);
	must(other >= 0 && write(other, "a file of its own", 17) == 17, "other");
	if (copy_file_range(other, &from, a, &to, 9, 0) != 9)
		must(pwrite(a, "a file", 6, 0) == 6, "pwrite");
}

/* A child, of which nothing else is to be seen, moves the position that both have. */
static void moved_by_child(void)
{
	pid_t child = fork();
	if (!child) {
		lseek(fd, 6 * PAGE + 1, SEEK_SET);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child && write(fd, "where the child is", 18) == 18,
	     "write");
	must(lseek(fd, -77, SEEK_END) > 0 &&
		     write(fd,
			   "over the end of the file, and so longer than it was, by some bytes at least",
			   76) == 76,
	     "write");
	must(lseek(fd, 0, SEEK_DATA) == 0 && write(fd, "data", 4) == 4, "SEEK_DATA");
}

/* The list of buffers lies where the data go. */
static void buffers_in_the_way(void)
{
	static char text[4 * PAGE];
	int s[2], other = open("other", O_RDWR | O_CREAT, 0666);
	memset(text, 'b', sizeof text);
	must(other >= 0 && write(other, text, sizeof text) == (ssize_t)sizeof text, "other");
	struct iovec *v = (struct iovec *)(void *)(pm + 3 * PAGE + 64);
	v[0] = (struct iovec){ pm + 3 * PAGE, 200 };
	v[1] = (struct iovec){ pm + 5 * PAGE - 100, 300 };
	must(preadv(other, v, 2, 0) == 500, "preadv");
	v = (struct iovec *)(void *)(pm + 7 * PAGE + 64);
	v[0] = (struct iovec){ pm + 7 * PAGE, 200 };
	v[1] = (struct iovec){ pm + 9 * PAGE - 100, 300 };
	must(lseek(other, 0, SEEK_SET) == 0 && readv(other, v, 2) == 500, "readv");
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && write(s[0], text, 500) == 500,
	     "socketpair");
	struct msghdr *m = (struct msghdr *)(void *)(pm + 11 * PAGE);
	v = (struct iovec *)(void *)(pm + 11 * PAGE + 256);
	v[0] = (struct iovec){ pm + 11 * PAGE + 200, 200 };
	v[1] = (struct iovec){ pm + 13 * PAGE - 100, 300 };
	*m = (struct msghdr){ .msg_iov = v, .msg_iovlen = 2 };
	must(recvmsg(s[1], m, 0) == 500, "recvmsg");
	v = (struct iovec *)(void *)(pm + 15 * PAGE);
	v[0] = (struct iovec){ pm + 15 * PAGE, 100 };
	struct iovec from = { text, 100 };
	must(process_vm_readv(getpid(), v, 1, &from, 1, 0) == 100, "process_vm_readv");
}

/* ---- what system calls tell ---- */

struct semaphores {
	unsigned short of[4];
};
static void told(void)
{
	char *p = pm + 16 * PAGE;
	int id = semget(IPC_PRIVATE, 4, 0600), q = msgget(IPC_PRIVATE, 0600), status;
	struct {
		long type;
		char text[40];
	} msg = { 5, "a message of some length" };
	must(id >= 0 && q >= 0 && !msgsnd(q, &msg, 40, 0), "ipc");
	must(msgrcv(q, p, 40, 0, 0) == 40 && !msgctl(q, IPC_STAT, (void *)(p + 100)), "msgrcv");
	must(!semctl(id, 0, GETALL, p + 300) && !semctl(id, 0, IPC_STAT, p + 400), "semctl");
	must(!semctl(id, 0, IPC_RMID) && !msgctl(q, IPC_RMID, NULL), "IPC_RMID");
	pid_t child = fork();
	if (!child)
		_exit(7);
	must(!syscall(SYS_waitid, P_PID, child, p + 600, WEXITED | WNOWAIT, p + 800), "waitid");
	must(syscall(SYS_wait4, child, p + 1000, 0, p + 1100) == child, "wait4");
	(void)status;
	must(!prctl(PR_GET_NAME, p + 1300) && !prctl(PR_GET_PDEATHSIG, p + 1350), "prctl");
	must(!mincore(pm, 8 * PAGE, (unsigned char *)p + 1400), "mincore");
	if (!setxattr(path, "user.of", "value", 5, 0))
		must(getxattr(path, "user.of", p + 1500, 100) == 5 &&
			     listxattr(path, p + 1600, 200) > 0,
		     "getxattr");
	must(!syscall(SYS_getrlimit, RLIMIT_CORE, p + 1900), "getrlimit");
	must(syscall(SYS_getcwd, p + 2000, 200) > 0, "getcwd");
	must(!syscall(SYS_sched_rr_get_interval, 0, p + 2300), "sched_rr_get_interval");
	must(!syscall(SYS_clock_getres, 0, p + 2400), "clock_getres");
	must(!syscall(SYS_rt_sigaction, SIGUSR1, NULL, p + 2500, 8), "sigaction");
	must(!syscall(SYS_rt_sigpending, p + 2700, 8), "sigpending");
	syscall(SYS_sched_getattr, 0, p + 2800, 48, 0);
	syscall(SYS_get_robust_list, 0, p + 2900, p + 2908);
	syscall(SYS_getpriority, 0, 0);
}

static void ignore(int sig)
{
	(void)sig;
}

/* Signals that are waited for, queued, and handled in the middle of a read. */
static void signals(void)
{
	char *p = pm + 18 * PAGE;
	int e = eventfd(5, 0), pair[2];
	sigset_t *set = (sigset_t *)(void *)p;
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	must(!sigprocmask(SIG_BLOCK, set, (sigset_t *)(void *)(p + 200)), "sigprocmask");
	must(!raise(SIGUSR1) && sigwaitinfo(set, (siginfo_t *)(void *)(p + 400)) == SIGUSR1,
	     "sigwaitinfo");
	union sigval value = { .sival_int = 9 };
	int s = signalfd(-1, set, 0);
	must(!sigqueue(getpid(), SIGUSR1, value) && read(s, p + 600, 128) == 128, "signalfd");
	must(read(e, p + 800, 8) == 8, "eventfd");
	struct sigaction act = { .sa_handler = ignore };
	struct itimerval soon = { { 0 }, { 0, 20000 } };
	must(!sigaction(SIGALRM, &act, (struct sigaction *)(void *)(p + 900)), "sigaction");
	must(!pipe(pair) && !setitimer(ITIMER_REAL, &soon, (struct itimerval *)(void *)(p + 1200)),
	     "setitimer");
	must(read(pair[0], p + 1300, 100) < 0 && errno == EINTR, "read");
	struct timespec *t = (struct timespec *)(void *)(p + 1500);
	*t = (struct timespec){ 5, 0 };
	must(!setitimer(ITIMER_REAL, &soon, NULL), "setitimer");
	must(syscall(SYS_nanosleep, t, t) && errno == EINTR, "nanosleep");
}

/* ---- others ---- */

static void *storing(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (volatile unsigned i = 0; i < 5000; i++)
		*(volatile unsigned *)(void *)((char *)arg + 64 * (i % 64)) = i;
	for (;;)
		pause(); /* on a slow machine, too, the recording has an end */
	return NULL;
}

static void *leaving(void *arg)
{
	memset(arg, 'l', 300);
	syscall(SYS_exit, 0);
	return NULL;
}

/* Threads that are cancelled while they store, and that leave without the library. */
static void cancelled(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t[i], NULL, storing, pm + (20 + i) * PAGE), "pthread_create");
	pthread_t l;
	must(!pthread_create(&l, NULL, leaving, pm + 25 * PAGE) && !pthread_join(l, NULL),
	     "leaving");
	usleep(20000);
	for (int i = 0; i < 3; i++)
		must(!pthread_cancel(t[i]) && !pthread_join(t[i], NULL), "pthread_cancel");
}

/* The file is cut and grown by another process, below what is mapped. */
static void cut_by_child(void)
{
	pid_t child = fork();
	if (!child)
		_exit(truncate(path, 20 * PAGE + 100) || truncate(path, BYTES));
	must(waitpid(child, NULL, 0) == child, "waitpid");
	memset(pm + 30 * PAGE, 'g', 2 * PAGE);
}

/* A child writes into the memory of its parent. */
static void poked(void)
{
	char text[100];
	struct iovec from = { text, sizeof text }, to = { pm + 33 * PAGE - 50, sizeof text };
	memset(text, 'k', sizeof text);
	pid_t child = fork();
	if (!child)
		_exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) != 100);
	int status;
	must(waitpid(child, &status, 0) == child, "waitpid");
	if (status)
		exit(77);
}

static const struct scenario scenarios[] = {
	{ "bits", bits },
	{ "exchanges", exchanges },
	{ "stack_words", stack_words },
	{ "floats", floats },
	{ "pieces", pieces },
	{ "rewritten_code", rewritten_code },
	{ "coroutines", coroutines },
	{ "advised", advised },
	{ "resized", resized },
	{ "many_views", many_views },
	{ "made_anew", made_anew },
	{ "appended", appended },
	{ "moved_by_child", moved_by_child },
	{ "buffers_in_the_way", buffers_in_the_way },
	{ "told", told },
	{ "signals", signals },
	{ "cancelled", cancelled },
	{ "cut_by_child", cut_by_child },
	{ "poked", poked },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
