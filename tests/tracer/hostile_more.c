/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipes, copies within a file, rarer results of system calls, signals in the middle of them, holes and ends of mappings. */
#include <asm/prctl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/sockios.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)

/* ---- pipes and copies ---- */

static void teed(void)
{
	int a[2], b[2];
	loff_t at = 3 * PAGE - 5;
	char *page = aligned_alloc(PAGE, PAGE);
	must(!pipe(a) && !pipe(b) && write(a[1], "twice", 5) == 5, "pipe");
	must(tee(a[0], b[1], 5, 0) == 5 && splice(a[0], NULL, fd, &at, 5, 0) == 5, "tee");
	must(lseek(fd, 9 * PAGE - 3, SEEK_SET) > 0 && splice(b[0], NULL, fd, NULL, 5, 0) == 5,
	     "splice");
	at = 7 * PAGE;
	must(splice(fd, &at, a[1], NULL, 3000, 0) == 3000, "splice");
	pm[7 * PAGE + 3] = 'q'; /* the pipe has the page of the file, not a copy */
	at = 11 * PAGE + 7;
	must(splice(a[0], NULL, fd, &at, 3000, 0) == 3000, "splice");
	memset(page, 'g', PAGE);
	struct iovec v = { page, PAGE };
	must(vmsplice(a[1], &v, 1, SPLICE_F_GIFT) == (ssize_t)PAGE, "vmsplice");
	must(read(a[0], pm + 20 * PAGE + 9, PAGE) == (ssize_t)PAGE, "read");
	v = (struct iovec){ pm + 25 * PAGE - 5, 15 }; /* out of the pipe, into the pool */
	must(write(a[1], "into the pool's", 15) == 15 && vmsplice(a[0], &v, 1, 0) == 15,
	     "vmsplice");
	free(page);
}

/* The offsets, too, lie in the file that is copied; the last copy makes it longer. */
static void self_copied(void)
{
	loff_t *from = (loff_t *)(void *)(pm + 40 * PAGE), *to = from + 1;
	*from = 0, *to = 100;
	must(copy_file_range(fd, from, fd, to, 3000, 0) < 0 && errno == EINVAL, "they overlap");
	*to = 3000;
	must(copy_file_range(fd, from, fd, to, 3000, 0) == 3000, "copy_file_range");
	*from = 0, *to = 40 * PAGE - 90;
	must(copy_file_range(fd, from, fd, to, 90, 0) == 90, "copy_file_range");
	*from = 10 * PAGE, *to = BYTES - 100;
	must(copy_file_range(fd, from, fd, to, 5000, 0) == 5000, "copy_file_range");
}

static void many_pieces(void)
{
	static struct iovec v[1024];
	struct iovec whole = { pm + 50 * PAGE, 3000 };
	int other = open("/proc/self/exe", O_RDONLY);
	for (size_t i = 0; i < 1024; i++) /* some are empty, some overlap */
		v[i] = (struct iovec){ pm + 2 * PAGE + i * 11, i % 19 };
	must(readv(other, v, 1024) > 0 && pwritev(fd, v, 1024, 40 * PAGE + 3) > 0, "readv");
	must(process_vm_writev(getpid(), v, 500, &whole, 1, 0) > 0, "process_vm_writev");
}

/* The ring knows the file by a number of its own. */
static void ring_files(void)
{
	struct io_uring_params par = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &par);
	if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1))
		exit(77);
	char *sq = mmap(NULL, par.sq_off.array + 16, RW, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, 4 * sizeof *e, RW, MAP_SHARED, ring, IORING_OFF_SQES);
	must(sq != MAP_FAILED && e != MAP_FAILED, "mmap");
	*e = (struct io_uring_sqe){ .opcode = IORING_OP_WRITE,
				    .flags = IOSQE_FIXED_FILE,
				    .off = 3 * PAGE,
				    .addr = (uintptr_t) "by number",
				    .len = 9 };
	++*(unsigned *)(void *)(sq + par.sq_off.tail);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
	     "enter");
}

/* ---- what system calls tell ---- */

static void of_processes(char *p)
{
	syscall(SYS_arch_prctl, ARCH_GET_FS, p);
	syscall(SYS_arch_prctl, ARCH_GET_GS, p + 16);
	prctl(PR_GET_CHILD_SUBREAPER, p + 32);
	prctl(PR_GET_TSC, p + 48);
	syscall(SYS_adjtimex, memset(p + 128, 0, 208));
	syscall(SYS_sysinfo, p + 1024);
	syscall(SYS_uname, p + 2048);
	syscall(SYS_getresgid, p + 2500, p + 2504, p + 2508);
	int tfd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec far = { { 900, 0 }, { 900, 0 } };
	timerfd_settime(tfd, 0, &far, (void *)(p + 2600));
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	mqd_t q = mq_open("/holdfast-told", O_RDWR | O_CREAT, 0600, &a);
	if (q == (mqd_t)-1)
		return;
	mq_unlink("/holdfast-told");
	must(!mq_send(q, "hello", 5, 3), "mq_send");
	must(syscall(SYS_mq_timedreceive, q, p + 3200, 64, p + 3300, NULL) == 5, "receive");
	syscall(SYS_mq_getsetattr, q, NULL, p + 3400);
}

static void of_descriptors(char *p)
{
	struct flock *l = (struct flock *)(void *)(p + 100);
	*l = (struct flock){ .l_type = F_WRLCK };
	fcntl(fd, F_OFD_GETLK, l);
	fcntl(fd, F_GETOWN_EX, p + 200);
	ioctl(fd, FIONREAD, p + 300);
	ioctl(fd, FS_IOC_GETFLAGS, p + 400);
	ioctl(fd, FIGETBSZ, p + 620);
	int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (terminal < 0)
		return;
	ioctl(terminal, TIOCGPTN, p + 700);
	ioctl(terminal, TCGETS, p + 800);
	ioctl(terminal, TIOCGWINSZ, p + 900);
	ioctl(terminal, TIOCOUTQ, p + 1000);
}

static void of_sockets(char *p)
{
	socklen_t *len = (socklen_t *)(void *)p;
	int pair[2], s = socket(AF_INET, SOCK_STREAM, 0), e = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 77 };
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
	ioctl(pair[0], SIOCOUTQ, p + 50);
	getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, p + 100, (*len = 12, len));
	getsockopt(s, IPPROTO_TCP, TCP_INFO, p + 400, (*len = 256, len));
	getsockopt(s, IPPROTO_TCP, TCP_CONGESTION, p + 700, (*len = 16, len));
	must(!epoll_ctl(e, EPOLL_CTL_ADD, pair[0], &ev) && write(pair[1], "x", 1) == 1, "epoll");
	must(syscall(SYS_epoll_pwait, e, p + 800, 3, 0, NULL, 8) == 1, "epoll_pwait");
}

static void rarely_told(void)
{
	of_processes(pm + 16 * PAGE);
	of_descriptors(pm + 18 * PAGE);
	of_sockets(pm + 20 * PAGE);
}

static int handled[2];

static void answer(int sig)
{
	memset(pm + 21 * PAGE + 10, sig, 30);
	must(write(handled[1], "from the handler", 16) == 16, "write");
}

static void in_a_while(int flags)
{
	struct sigaction act = { .sa_handler = answer, .sa_flags = flags };
	must(!sigaction(SIGALRM, &act, NULL) &&
		     !setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 20000 } }, NULL),
	     "setitimer");
}

/* A handler stores where the call that it interrupts is about to write; or the call has done a part of its work. */
static void meanwhile(void)
{
	int pair[2];
	must(!pipe(handled) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "pipe");
	in_a_while(SA_RESTART);
	must(read(handled[0], pm + 21 * PAGE, 100) == 16 && write(pair[1], "abc", 3) == 3, "read");
	in_a_while(0);
	must(recv(pair[0], pm + 22 * PAGE - 1, 100, MSG_WAITALL) == 3, "recv");
	fd_set *set = (fd_set *)(void *)(pm + 23 * PAGE);
	FD_ZERO(set);
	FD_SET(pair[0], set);
	in_a_while(0);
	must(select(pair[0] + 1, set, NULL, NULL, NULL) < 0, "select");
	struct pollfd *f = (struct pollfd *)(void *)(pm + 24 * PAGE);
	*f = (struct pollfd){ pair[0], POLLIN, 77 };
	in_a_while(0);
	must(poll(f, 1, -1) < 0, "poll");
}

/* ---- mappings and names ---- */

/* What lies behind the end in the last page becomes part of the file as it grows, or not. */
static void last_page(void)
{
	must(!ftruncate(fd, 10 * PAGE + 123), "ftruncate");
	memset(pm + 10 * PAGE, 't', PAGE);
	must(!ftruncate(fd, 10 * PAGE + 1000), "ftruncate");
	pm[10 * PAGE + 1500] = 9;
	must(pwrite(fd, "x", 1, 10 * PAGE + 2000) == 1 && !msync(pm, 11 * PAGE, MS_SYNC), "pwrite");
	must(!ftruncate(fd, 10 * PAGE + 2500) && !ftruncate(fd, BYTES), "ftruncate");
}

static sigjmp_buf back;

static void leap(int sig)
{
	siglongjmp(back, sig);
}

static void fill(char *to, int with, size_t n)
{
	if (!sigsetjmp(back, 1))
		memset(to, with, n);
}

static void cover(char *at, size_t n, off_t off)
{
	must(mmap(at, n, RW, MAP_SHARED | MAP_FIXED, fd, off) == at, "mmap");
}

/* Parts are unmapped, stored to, and mapped anew from elsewhere in the file. */
static void holes(void)
{
	must(!munmap(pm + 4 * PAGE, 3 * PAGE), "munmap");
	signal(SIGSEGV, leap);
	fill(pm + 3 * PAGE + 100, 'h', 2 * PAGE);
	cover(pm + 5 * PAGE, PAGE, 30 * PAGE);
	fill(pm + 5 * PAGE, 'i', 2 * PAGE);
	cover(pm + 4 * PAGE, 3 * PAGE, 4 * PAGE);
	memset(pm + 4 * PAGE, 'j', 3 * PAGE);
	must(!mprotect(pm + 8 * PAGE, PAGE, PROT_NONE) && !munmap(pm + 8 * PAGE, PAGE), "munmap");
	pm[9 * PAGE] = 3;
}

/* Two pools change their names, from folder to folder, below folders that are descriptors. */
static void exchanged(void)
{
	must(!mkdir("d", 0777) && !mkdir("d/e", 0777), "mkdir");
	int d = open("d", O_RDONLY | O_DIRECTORY), top = open(".", O_RDONLY | O_DIRECTORY);
	must(!renameat(top, path, d, "e/p") && !fchdir(d) && !chdir("e"), "renameat");
	must(!renameat2(AT_FDCWD, "p", AT_FDCWD, "../p2", RENAME_NOREPLACE), "renameat2");
	int other = openat(d, "p3", O_RDWR | O_CREAT, 0666);
	must(other >= 0 && !ftruncate(other, BYTES), "p3");
	char *q = mmap(NULL, BYTES, RW, MAP_SHARED, other, 0);
	must(q != MAP_FAILED && !renameat2(d, "p2", d, "p3", RENAME_EXCHANGE), "exchange");
	memset(q + 6 * PAGE, '4', 100);
	memset(pm + 6 * PAGE, '5', 100);
	must(!truncate("../p2", BYTES - PAGE), "truncate"); /* the new one */
	must(!linkat(d, "p3", top, "hard", 0) && !symlinkat("d/p3", top, "soft"), "linkat");
	must(!fchdir(top), "fchdir");
	int again = open("soft", O_RDWR);
	must(again >= 0 && pwrite(again, "soft", 4, 9 * PAGE) == 4, "pwrite");
	must(!unlink("d/p3") && !rename("hard", path), "rename");
}

/* Limits that are told are those without Valgrind, which keeps some descriptors for itself. After a fork others may write, so
 * pages are not compared any more. */
static void limits_told(void)
{
	const struct rlimit few = { 100, 200 };
	pid_t child = fork();
	if (!child)
		_exit(0);
	must(waitpid(child, NULL, 0) == child, "waitpid");
	struct rlimit *told = (struct rlimit *)(void *)(pm + 9 * PAGE + 8);
	must(!getrlimit(RLIMIT_NOFILE, told), "getrlimit");
	must(!setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
	must(!getrlimit(RLIMIT_NOFILE, told + 1) && told[1].rlim_max == 200, "getrlimit");
}

/* Memory without a file is put over a part of the mapping: what is stored there is not in the pool. */
static void segment_over_it(void)
{
	int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600);
	must(id >= 0, "shmget");
	char *segment = shmat(id, pm + 20 * PAGE, SHM_REMAP);
	shmctl(id, IPC_RMID, NULL);
	must(segment == pm + 20 * PAGE, "shmat");
	memset(segment - 8, 's', 100);
	memset(segment + 2 * PAGE - 8, 't', 100);
}

static const struct scenario scenarios[] = {
	{ "teed", teed },
	{ "self_copied", self_copied },
	{ "many_pieces", many_pieces },
	{ "ring_files", ring_files },
	{ "rarely_told", rarely_told },
	{ "meanwhile", meanwhile },
	{ "last_page", last_page },
	{ "holes", holes },
	{ "exchanged", exchanged },
	{ "limits_told", limits_told },
	{ "segment_over_it", segment_over_it },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
