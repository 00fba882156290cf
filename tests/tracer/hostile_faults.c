/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that fault half way, pages that come from somewhere else, and rarer ways to a pool. */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)

/* ---- faults ---- */

static sigjmp_buf back;

static void unprotect(int sig)
{
	(void)sig;
	must(!mprotect(pm, BYTES, RW), "mprotect");
}

static void leap(int sig)
{
	siglongjmp(back, sig);
}

static void move(char *to, const char *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* What a string instruction has stored before its fault stays; it goes on, or it does not. */
static void half_moved(void)
{
	static char from[3 * PAGE];
	memset(from, 'm', sizeof from);
	signal(SIGSEGV, unprotect);
	must(!mprotect(pm + 5 * PAGE, PAGE, PROT_READ), "mprotect");
	move(pm + 4 * PAGE + 77, from, 2 * PAGE);
	must(!mprotect(pm + 11 * PAGE, PAGE, PROT_NONE), "mprotect");
	signal(SIGSEGV, leap);
	if (!sigsetjmp(back, 1))
		move(pm + 10 * PAGE + 99, from, 2 * PAGE);
	must(!munmap(from + PAGE - (uintptr_t)from % PAGE, PAGE), "munmap");
	if (!sigsetjmp(back, 1)) /* now it is the load that faults */
		move(pm + 20 * PAGE + 5, from, 2 * PAGE);
	__asm__ volatile("" : : "r"(from) : "memory");
}

/* Wide stores that reach into a page that cannot be written: all of it faults, or it is masked. */
static void at_page_ends(void)
{
	static const int mask[8] = { -1, 0, -1, -1, 0, 0, 0, 0 };
	if (!__builtin_cpu_supports("avx2"))
		exit(77);
	must(!mprotect(pm + 9 * PAGE, PAGE, PROT_NONE), "mprotect");
	__asm__ volatile("vmovdqu (%1), %%ymm1\n\tvpmaskmovd %%ymm1, %%ymm1, (%0)\n\t"
			 "vmaskmovpd %%xmm1, %%xmm1, -7(%0)"
			 :
			 : "r"(pm + 9 * PAGE - 16), "r"(mask)
			 : "xmm1", "memory");
	signal(SIGSEGV, leap);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\tvmovdqu %%ymm1, (%0)"
				 :
				 : "r"(pm + 9 * PAGE - 12)
				 : "xmm1", "memory");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("lock addq $1, (%0)" : : "r"(pm + 9 * PAGE - 3) : "memory");
}

/* The kernel, too, stops where it cannot write. */
static void short_reads(void)
{
	int other = open("/proc/self/exe", O_RDONLY), p[2];
	static char text[2 * PAGE];
	struct iovec v[2] = { { pm + 30 * PAGE, 100 }, { pm + 13 * PAGE - 60, 200 } };
	must(!mprotect(pm + 13 * PAGE, PAGE, PROT_NONE), "mprotect");
	must(pread(other, pm + 12 * PAGE + 50, 2 * PAGE, 0) > 0, "pread");
	must(preadv(other, v, 2, 64) > 0, "preadv");
	memset(text, 't', sizeof text);
	must(!pipe(p) && write(p[1], text, sizeof text) == sizeof text, "pipe");
	if (read(p[0], pm + 13 * PAGE - 200, 300) < 0) /* it may have written some */
		must(read(p[0], pm, 10) == 10, "read");
	must(syscall(SYS_getrandom, pm + 13 * PAGE - 9, 20, 0) != 20, "getrandom");
	char *longer = mmap(NULL, BYTES + PAGE, RW, MAP_SHARED, fd, 0); /* a page behind the end */
	must(longer != MAP_FAILED && syscall(SYS_getrandom, longer + BYTES - 9, 20, 0) != 20,
	     "getrandom");
}

/* ---- pages from somewhere else ---- */

static void user_faults(void)
{
	char name[] = "/dev/shm/holdfast-uffd-XXXXXX";
	int file = mkstemp(name), u = (int)syscall(SYS_userfaultfd, O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, file, 0), *from = aligned_alloc(PAGE, PAGE);
	must(file >= 0 && !unlink(name), name);
	must(!ftruncate(file, 4 * PAGE), "ftruncate");
	if (u < 0 || ioctl(u, UFFDIO_API, &api)) /* Valgrind does not know it, as an old kernel */
		return;
	struct uffdio_register r = { .range = { (uintptr_t)p, 4 * PAGE },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_copy c = { .dst = (uintptr_t)p, .src = (uintptr_t)from, .len = PAGE };
	memset(from, 'u', PAGE);
	must(!ioctl(u, UFFDIO_REGISTER, &r) && !ioctl(u, UFFDIO_COPY, &c), "UFFDIO_COPY");
	memcpy(pm + 3 * PAGE, p, 100);
	p[5] = 5;
}

/* The kernel keeps the buffer, and writes from it to the pool. */
static void fixed_buffers(void)
{
	struct io_uring_params par = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &par);
	char *buf = aligned_alloc(PAGE, 2 * PAGE);
	struct iovec v = { buf, 2 * PAGE };
	memset(buf, 'f', 2 * PAGE);
	if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &v, 1))
		exit(77);
	char *sq = mmap(NULL, par.sq_off.array + 16, RW, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, 4 * sizeof *e, RW, MAP_SHARED, ring, IORING_OFF_SQES);
	must(sq != MAP_FAILED && e != MAP_FAILED, "mmap");
	*e = (struct io_uring_sqe){ .opcode = IORING_OP_WRITE_FIXED,
				    .fd = fd,
				    .off = 2 * PAGE + 9,
				    .addr = (uintptr_t)buf,
				    .len = 999 };
	++*(unsigned *)(void *)(sq + par.sq_off.tail);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
	     "enter");
}

static void reflinked(void)
{
	int other = open("other", O_RDWR | O_CREAT, 0666);
	struct file_clone_range r = { other, 0, PAGE, 3 * PAGE };
	must(other >= 0 && pwrite(other, self[0], strlen(self[0]), 7) > 0, "other");
	must(!ftruncate(other, PAGE), "ftruncate");
	if (ioctl(fd, FICLONERANGE, &r))
		exit(77);
	pm[3 * PAGE + 1] = 'r';
}

static void memory_file(void)
{
	char name[64];
	int file = memfd_create("pool", 0);
	must(file >= 0 && !ftruncate(file, 4 * PAGE), "memfd_create");
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, file, 0);
	snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	int again = open(name, O_RDWR);
	must(again >= 0 && pwrite(again, name, 9, PAGE) == 9, "memfd");
	memcpy(p + 2 * PAGE, "stored", 6);
	loff_t at = 2 * PAGE, to = 6 * PAGE + 3;
	must(copy_file_range(again, &at, fd, &to, 6, 0) == 6 ||
		     pwrite(fd, p + 2 * PAGE, 6, to) == 6,
	     "copy_file_range");
	must(pwrite(fd, p + PAGE, 9, 9 * PAGE) == 9, "pwrite");
}

/* ---- mappings and descriptors ---- */

static void validated(void)
{
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED_VALIDATE | 0x80000 /* MAP_SYNC */, fd, 0);
	if (p == MAP_FAILED)
		p = mmap(NULL, 4 * PAGE, RW, MAP_SHARED_VALIDATE, fd, 0);
	must(p != MAP_FAILED, "MAP_SHARED_VALIDATE");
	memset(p + PAGE + 9, 'v', PAGE);
	char *q = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mremap(p, 4 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + PAGE);
	must(p == q + PAGE, "mremap");
	memset(p + 5 * PAGE, 'w', 100);
	/* over a part of another mapping of the pool */
	p = mremap(p + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pm + 20 * PAGE);
	must(p == pm + 20 * PAGE, "mremap");
	memset(p - 10, 'x', 20);            /* page 19, page 2 */
	memset(p + 2 * PAGE - 10, 'y', 20); /* page 3, page 22 */
}

static void other_file_over_it(void)
{
	int other = open("other", O_RDWR | O_CREAT, 0666);
	must(other >= 0 && !ftruncate(other, 4 * PAGE), "other");
	char *p = mmap(pm + 2 * PAGE, 4 * PAGE, RW, MAP_SHARED | MAP_FIXED, other, 0);
	must(p == pm + 2 * PAGE, "mmap");
	memset(p - 8, 'o', 16);
	must(!munmap(p + PAGE, PAGE), "munmap");
	memset(p + 3 * PAGE, 'o', PAGE + 8);
	must(!ftruncate(fd, PAGE), "ftruncate"); /* the other one keeps its size */
	memset(p + 9, 'p', 9);
	must(!ftruncate(fd, BYTES), "ftruncate");
}

static void by_handle(void)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + 128];
	} u = { .h.handle_bytes = 128 };
	struct open_how how = { .flags = O_RDWR | O_TRUNC };
	int mount, again = -1, pid = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (!name_to_handle_at(AT_FDCWD, path, &u.h, &mount, 0))
		again = open_by_handle_at(AT_FDCWD, &u.h, O_RDWR);
	if (again >= 0)
		must(pwrite(again, "by its handle", 13, 3 * PAGE) == 13, "pwrite");
	int got = pid < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pid, fd, 0);
	if (got >= 0)
		must(pwrite(got, "from a process", 14, 4 * PAGE) == 14, "pwrite");
	int third = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	must(third < 0 || !ftruncate(third, 10 * PAGE), "ftruncate");
	pm[9 * PAGE] = 'h';
}

/* ---- stores ---- */

/* Past the caches, in all sizes that there are. */
static void streamed(void)
{
	char *p = pm + 3 * PAGE - 64;
	if (!__builtin_cpu_supports("avx"))
		exit(77);
	__asm__ volatile(
		"movnti %k1, 1(%0)\n\tmovnti %1, 9(%0)\n\tmovq %1, %%xmm1\n\t"
		"movntdq %%xmm1, 32(%0)\n\tmovntps %%xmm1, 48(%0)\n\tmovntpd %%xmm1, 64(%0)\n\t"
		"vinsertf128 $1, %%xmm1, %%ymm1, %%ymm1\n\tvmovntdq %%ymm1, 96(%0)\n\t"
		"vmovntps %%ymm1, 128(%0)\n\tvmovntpd %%ymm1, 160(%0)\n\t"
		"movq %1, %%mm1\n\tmovntq %%mm1, 200(%0)\n\tmaskmovq %%mm1, %%mm1\n\t"
		"emms\n\tsfence"
		:
		: "r"(p), "r"(0x8182838485868788ul), "D"(p + 215)
		: "xmm1", "mm1", "memory");
}

/* As vfork does it, by hand: the child must not return, since it has its parent's stack. */
static void cloned(void)
{
	long pid = SYS_clone;
	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\t"
			 "movq %%rsp, (%[to])\n\tmovntiq %%rdi, 8(%[to])\n\tsfence\n\t"
			 "movl %[leave], %%eax\n\txorl %%edi, %%edi\n\tsyscall\n1:"
			 : "+a"(pid)
			 : "D"((long)(CLONE_VM | CLONE_VFORK | SIGCHLD)), "S"(0l),
			   "d"(0l), [to] "r"(pm + 7 * PAGE), [leave] "i"(SYS_exit)
			 : "rcx", "r11", "r10", "r8", "memory", "cc");
	must(pid > 0 && waitpid((pid_t)pid, NULL, 0) == pid, "clone");
	memset(pm + 8 * PAGE, 'p', 100);
}

static const struct scenario scenarios[] = {
	{ "half_moved", half_moved },
	{ "at_page_ends", at_page_ends },
	{ "short_reads", short_reads },
	{ "user_faults", user_faults },
	{ "fixed_buffers", fixed_buffers },
	{ "reflinked", reflinked },
	{ "memory_file", memory_file },
	{ "validated", validated },
	{ "other_file_over_it", other_file_over_it },
	{ "by_handle", by_handle },
	{ "streamed", streamed },
	{ "cloned", cloned },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
