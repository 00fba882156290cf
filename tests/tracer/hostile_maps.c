/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings and files that are moved, cut, copied and replaced under a pool. */
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)

static void fill(char *at, size_t n, int with)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)at)[i] = (char)(with + (int)i);
}

static char *view(size_t len, int prot, off_t off)
{
	char *p = mmap(NULL, len, prot, MAP_SHARED, fd, off);
	must(p != MAP_FAILED, "mmap");
	return p;
}

/* ---- mappings ---- */

/* Grows over a hole of the address space, shrinks, and grows elsewhere. */
static void grown(void)
{
	char *room = mmap(NULL, 32 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(!munmap(room, 32 * PAGE), "munmap");
	char *p = mmap(room, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 30 * PAGE);
	must(p == room && mremap(p, 2 * PAGE, 16 * PAGE, 0) == p, "mremap");
	fill(p + 15 * PAGE, 99, 4);
	must(mremap(p, 16 * PAGE, PAGE, 0) == p, "mremap");
	char *q = mmap(p + PAGE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	fill(q, 100, 5); /* not the file any more */
	p = mremap(p, PAGE, 12 * PAGE, MREMAP_MAYMOVE);
	must(p != MAP_FAILED, "mremap");
	fill(p + 11 * PAGE, 99, 6);
}

/* Other memory over a part of the pool, and other parts of the pool over that. */
static void patched(void)
{
	char *p = mmap(pm + 4 * PAGE, 2 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	fill(p, 2 * PAGE, 1); /* volatile */
	p = mmap(pm + 5 * PAGE, PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 40 * PAGE);
	must(p == pm + 5 * PAGE, "mmap");
	fill(p + 5, 100, 2);                 /* page 40 */
	memset(pm + 3 * PAGE + 4000, 7, 96); /* up to the volatile page */
	memset(pm + 6 * PAGE - 50, 8, 100);  /* page 40, then page 6 */
}

/* One store that begins in other memory, and one that ends there. */
static void straddling(void)
{
	char *p = mmap(NULL, 3 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mmap(p + PAGE, PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 9 * PAGE) == p + PAGE, "mmap");
	__asm__ volatile("movq %%rax, -4(%0)\n\tmovq %%rax, 4092(%0)\n\t"
			 "movups %%xmm0, -8(%0)\n\tmovnti %%rax, 4090(%0)\n\t"
			 "lock addq $1, 4093(%0)"
			 :
			 : "r"(p + PAGE), "a"(0x0807060504030201ul)
			 : "memory");
}

/* Pages of one file at two places, one of which is opened for writing later. */
static void two_views(void)
{
	char *ro = view(8 * PAGE, PROT_READ, 2 * PAGE), *rw = view(8 * PAGE, RW, 6 * PAGE);
	fill(rw, 64, 3);
	must(!mprotect(ro + 3 * PAGE, 2 * PAGE, RW), "mprotect");
	fill(ro + 3 * PAGE + 4090, 12, 4);
	must(!mprotect(rw, 8 * PAGE, PROT_READ), "mprotect");
	must(!munmap(ro, 4 * PAGE), "munmap");
	fill(ro + 4 * PAGE, 30, 5);
}

/* What a private mapping gets is nobody's. */
static void private_copy(void)
{
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 0);
	must(p != MAP_FAILED, "mmap");
	fill(p, 3000, 1);
	must(!madvise(p, 4 * PAGE, MADV_DONTNEED), "madvise");
	must(!madvise(pm, 4 * PAGE, MADV_DONTNEED), "madvise"); /* changes nothing */
	fill(p + PAGE, 300, 2);
	memcpy(pm + 2 * PAGE, p + PAGE, 300);
}

/* ---- faults ---- */

static sigjmp_buf back;

static volatile size_t next; /* the page that is stored to */

static void unprotect(int sig)
{
	(void)sig;
	must(!mprotect(pm + next * PAGE, PAGE, RW), "mprotect");
}

/* A store is tried again when its page can be written. */
static void write_barrier(void)
{
	signal(SIGSEGV, unprotect);
	must(!mprotect(pm, BYTES, PROT_READ), "mprotect");
	for (next = 1; next < 20; next++)
		fill(pm + next * PAGE + 5 * next, 100, 7);
}

static void enlarge(int sig)
{
	(void)sig;
	must(!ftruncate(fd, BYTES), "ftruncate");
}

static void leap(int sig)
{
	siglongjmp(back, sig);
}

/* Stores behind the end of the file: it grows in the handler; or they are left. */
static void behind_the_end(void)
{
	must(!ftruncate(fd, 10 * PAGE + 100), "ftruncate");
	signal(SIGBUS, leap);
	if (!sigsetjmp(back, 1))
		memset(pm + 10 * PAGE + 50, 6, 2 * PAGE);
	signal(SIGBUS, enlarge);
	fill(pm + 40 * PAGE, 100, 7);
}

/* ---- sizes ---- */

static void cut_and_grown(void)
{
	must(!ftruncate(fd, 5 * PAGE + 17), "ftruncate");
	fill(pm + 5 * PAGE, 17, 1);
	must(!truncate(path, BYTES), "truncate");
	fill(pm + 5 * PAGE + 30, 17, 2);
	int other = open(path, O_WRONLY | O_TRUNC);
	must(other >= 0 && !ftruncate(other, 9 * PAGE), "ftruncate");
	fill(pm + 8 * PAGE, 100, 3);
	must(!posix_fallocate(other, 20 * PAGE, PAGE + 5), "fallocate");
	fill(pm + 20 * PAGE, 100, 4);
}

static void ranges(void)
{
	const struct {
		int mode;
		off_t off, len;
	} all[] = { { FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * PAGE + 100, 2 * PAGE },
		    { FALLOC_FL_ZERO_RANGE, 9 * PAGE + 7, PAGE },
		    { FALLOC_FL_COLLAPSE_RANGE, 16 * PAGE, 4 * PAGE },
		    { FALLOC_FL_INSERT_RANGE, 8 * PAGE, 8 * PAGE },
		    { FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 66 * PAGE, 9 * PAGE },
		    { FALLOC_FL_KEEP_SIZE, 80 * PAGE, 9 * PAGE },
		    { FALLOC_FL_ZERO_RANGE, 67 * PAGE, 3 * PAGE + 9 } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (fallocate(fd, all[i].mode, all[i].off, all[i].len))
			exit(77);
		fill(pm + all[i].off % BYTES, 20, (int)i);
	}
	off_t data = lseek(fd, 8 * PAGE, SEEK_DATA);
	must(data > 0 && write(fd, "found", 5) == 5, "SEEK_DATA");
}

/* ---- copies ---- */

static void copied(void)
{
	int p[2], other = open("other", O_RDWR | O_CREAT, 0666);
	off_t from = 0, to = 9 * PAGE + 1;
	must(other >= 0 && !pipe(p) && write(other, pm, 5000) == 5000, "other");
	must(copy_file_range(fd, &from, fd, &to, 3000, 0) == 3000, "copy_file_range");
	must(lseek(fd, 20 * PAGE, SEEK_SET) > 0 && !lseek(other, 0, SEEK_SET), "lseek");
	must(sendfile(fd, other, NULL, 4000) == 4000, "sendfile");
	struct iovec v = { pm + 20 * PAGE, 700 };
	must(vmsplice(p[1], &v, 1, 0) == 700, "vmsplice");
	fill(pm + 20 * PAGE, 10, 5); /* the pipe has the page, not a copy */
	loff_t at = 30 * PAGE;
	must(splice(p[0], NULL, fd, &at, 700, 0) == 700, "splice");
	fill(pm + 30 * PAGE + 3, 5, 6);
}

static void direct(void)
{
	int d = open(path, O_RDWR | O_DIRECT);
	char *buf = aligned_alloc(PAGE, 4 * PAGE);
	if (d < 0)
		exit(77);
	memset(buf, 'd', 4 * PAGE);
	must(pwrite(d, buf, 2 * PAGE, 7 * PAGE) == 2 * PAGE, "O_DIRECT");
	must(pwrite(d, pm, PAGE, 12 * PAGE) == PAGE, "O_DIRECT"); /* from the pool itself */
	must(pread(d, pm + 20 * PAGE, 2 * PAGE, 6 * PAGE) == 2 * PAGE, "O_DIRECT"); /* into it */
	free(buf);
}

static void read_into(void)
{
	struct iovec v[2] = { { pm + PAGE - 10, 100 }, { pm + 9 * PAGE, 3000 } };
	struct iovec w[1] = { { pm + 40 * PAGE - 1, 5000 } };
	int other = open("/proc/self/exe", O_RDONLY);
	must(readv(other, v, 2) == 3100 && preadv2(other, w, 1, 64, 0) == 5000, "readv");
	must(pread(fd, pm + 50 * PAGE, 3000, 40 * PAGE) == 3000, "pread");
	must(pread(fd, pm + 51 * PAGE, 3000, 51 * PAGE - 100) == 3000, "pread"); /* overlaps */
	must(syscall(SYS_getrandom, pm + 60 * PAGE + 7, 300, 0) == 300, "getrandom");
}

/* ---- descriptors ---- */

static int passed(int what)
{
	int s[2], got = -1;
	char text = 'x';
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c = { 0 };
	struct iovec v = { &text, 1 };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c
	};
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &what, sizeof(int));
	must(sendmsg(s[0], &m, 0) == 1 && recvmsg(s[1], &m, 0) == 1, "sendmsg");
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return got;
}

/* The pool by descriptors that nobody has opened, and numbers that were the pool's. */
static void descriptors(void)
{
	char name[64];
	int got = passed(fd), other = open("other", O_RDWR | O_CREAT, 0666);
	must(got >= 0 && got != fd && other >= 0, "passed");
	must(dup3(other, fd, 0) == fd, "dup3");
	must(write(fd, "not the pool", 12) == 12, "write");
	must(pwrite(got, "the pool", 8, 3 * PAGE) == 8, "pwrite");
	snprintf(name, sizeof name, "/proc/self/fd/%d", got);
	int again = open(name, O_RDWR | O_APPEND);
	close(got);
	must(again >= 0 && write(again, "at the end", 10) == 10, "write");
	must(!fcntl(again, F_SETFL, 0) && write(again, "past it", 7) == 7, "F_SETFL");
}

static void by_proc(void)
{
	char name[64];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	int again = open(name, O_RDWR);
	must(again >= 0 && !munmap(pm, BYTES), "open");
	close(fd);
	pm = mmap(NULL, BYTES + PAGE, RW, MAP_SHARED, again, 0);
	fill(pm + 7, 5000, 3);
	must(!fcntl(again, F_SETFL, O_APPEND) && pwrite(again, "end", 3, 100) == 3, "pwrite");
	fill(pm + BYTES + 1, 5, 4); /* behind the end, until it grew */
}

/* ---- names ---- */

static void renamed(void)
{
	must(!mkdir("a", 0777) && !mkdir("a/b", 0777) && !symlink("a/b/pool2", "link"), "mkdir");
	must(!rename(path, "a/b/pool2") && !rename("a", "c"), "rename");
	fill(pm + 100, 10, 1);
	must(!rename("c/b", "b") && !link("b/pool2", "hard") && !unlink("b/pool2"), "rename");
	int other = open("hard", O_RDWR);
	must(other >= 0 && pwrite(other, "by the other name", 17, PAGE) == 17, "pwrite");
	must(!rename("hard", path) && !truncate(path, BYTES - PAGE), "rename");
	fill(pm + 200, 10, 2);
}

static void by_link(void)
{
	must(!symlink(path, "link") && !symlink("link", "link2"), "symlink");
	char *p = pool_map("link2", BYTES, NULL);
	fill(p + 3 * PAGE, 99, 3);
	must(!truncate("link", 50 * PAGE) && !unlink("link"), "truncate");
	fill(p + 49 * PAGE, 99, 4);
}

/* Twelve gigabytes, nearly all of it holes. */
static void far(void)
{
	const off_t at[] = { 4ll << 30, (5ll << 30) - 4096, 11ll << 30 };
	must(!ftruncate(fd, 12ll << 30), "ftruncate");
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		fill(view(2 * PAGE, RW, at[i]) + PAGE - 50, 100, (int)i);
	must(pwrite(fd, "far", 3, (7ll << 30) - 1) == 3, "pwrite");
	must(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (4ll << 30) - PAGE,
			2 * PAGE),
	     "fallocate");
}

static const struct scenario scenarios[] = {
	{ "grown", grown },
	{ "patched", patched },
	{ "straddling", straddling },
	{ "two_views", two_views },
	{ "private_copy", private_copy },
	{ "write_barrier", write_barrier },
	{ "behind_the_end", behind_the_end },
	{ "cut_and_grown", cut_and_grown },
	{ "ranges", ranges },
	{ "copied", copied },
	{ "direct", direct },
	{ "read_into", read_into },
	{ "descriptors", descriptors },
	{ "by_proc", by_proc },
	{ "renamed", renamed },
	{ "by_link", by_link },
	{ "far", far },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
