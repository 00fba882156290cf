/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls all of whose results, lengths and structures are in PM: each call gets its own place, filled
 * with something else before.
 */
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "scenarios.h"

#define BYTES (1ul << 20)

static char *next; /* room in the pool; NULL: nothing is used yet */

/* A new place in PM with these bytes. */
static void *at(const void *bytes, size_t n)
{
	char *p = next ? next : pm;
	next = p + (n + 511) / 512 * 512;
	must(next <= pm + BYTES, "room");
	for (size_t i = 0; i < n; i++)
		p[i] = bytes ? ((const char *)bytes)[i] : (char)(0x55 + i);
	return p;
}
#define ROOM(n) at(NULL, n)
#define VALUE(type, ...) ((type *)at(&(type){ __VA_ARGS__ }, sizeof(type)))

static void addresses(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), got;
	must(!bind(s, (struct sockaddr *)&a, sizeof a) && !listen(s, 1), "listen");
	struct sockaddr *name = ROOM(128);
	must(!getsockname(s, name, VALUE(socklen_t, 120)), "getsockname");
	must(!connect(c, name, sizeof a), "connect");
	got = accept(s, ROOM(128), VALUE(socklen_t, 100));
	must(got >= 0 && !getpeername(got, ROOM(128), VALUE(socklen_t, 100)), "getpeername");
	must(!getsockopt(got, SOL_SOCKET, SO_TYPE, ROOM(8), VALUE(socklen_t, 8)), "getsockopt");
	must(send(c, "data", 4, 0) == 4, "send");
	must(recvfrom(got, ROOM(16), 16, 0, ROOM(128), VALUE(socklen_t, 100)) == 4, "recvfrom");
}

static void messages(void)
{
	int s[2], pair[2];
	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, s) && !pipe(pair), "socketpair");
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	char text[] = "message";
	struct iovec out = { text, 7 };
	struct msghdr m = { .msg_iov = &out,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof control };
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &pair[0], sizeof(int));
	must(sendmsg(s[0], &m, 0) == 7 && sendmsg(s[0], &m, 0) == 7, "sendmsg");
	struct iovec *in = VALUE(struct iovec, ROOM(64), 4);
	struct msghdr *r = VALUE(struct msghdr, .msg_name = ROOM(64), .msg_namelen = 60,
				 .msg_iov = in, .msg_iovlen = 1, .msg_control = ROOM(256),
				 .msg_controllen = 200, .msg_flags = -1);
	must(recvmsg(s[1], r, 0) == 4 && r->msg_flags & MSG_TRUNC, "recvmsg");
	struct mmsghdr *mm = VALUE(struct mmsghdr, .msg_hdr = { .msg_iov = in,
								.msg_iovlen = 1,
								.msg_control = ROOM(256),
								.msg_controllen = 200 });
	must(recvmmsg(s[1], mm, 1, 0, VALUE(struct timespec, 5, 0)) == 1, "recvmmsg");
}

static void waiting(void)
{
	int p[2], e = epoll_create1(0);
	fd_set set;
	must(!pipe(p) && write(p[1], "x", 1) == 1 && e >= 0, "pipe");
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	FD_SET(p[1], &set);
	must(syscall(SYS_select, p[1] + 1, at(&set, sizeof set), NULL, NULL,
		     VALUE(struct timeval, 3, 500)) == 1,
	     "select");
	must(syscall(SYS_pselect6, p[1] + 1, at(&set, sizeof set), at(&set, sizeof set), NULL,
		     VALUE(struct timespec, 3, 500), NULL) == 2,
	     "pselect6");
	must(poll(VALUE(struct pollfd, p[0], POLLIN, -1), 1, 100) == 1, "poll");
	must(syscall(SYS_ppoll, VALUE(struct pollfd, p[0], POLLIN, -1), 1,
		     VALUE(struct timespec, 2, 77), NULL, 8) == 1,
	     "ppoll");
	must(!epoll_ctl(e, EPOLL_CTL_ADD, p[0],
			VALUE(struct epoll_event, .events = EPOLLIN, .data.u64 = 7)),
	     "epoll_ctl");
	must(epoll_wait(e, ROOM(64), 3, 100) == 1, "epoll_wait");
	must(!ioctl(p[0], FIONREAD, ROOM(8)), "ioctl");
}

static void system_info(void)
{
	struct __user_cap_header_struct *h = VALUE(struct __user_cap_header_struct, 0x12345678, 0);
	syscall(SYS_capget, h, NULL); /* says the version that it knows */
	must(!syscall(SYS_capget, h, ROOM(64)), "capget");
	must(!uname(ROOM(sizeof(struct utsname))) && !sysinfo(ROOM(sizeof(struct sysinfo))),
	     "uname");
	must(!getrusage(RUSAGE_SELF, ROOM(sizeof(struct rusage))), "getrusage");
	must(syscall(SYS_times, ROOM(sizeof(struct tms))) != -1, "times");
	must(!syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, ROOM(16)), "prlimit64");
	must(syscall(SYS_sched_getaffinity, 0, 128, ROOM(128)) > 0, "sched_getaffinity");
	must(!syscall(SYS_getcpu, ROOM(4), ROOM(4), NULL), "getcpu");
	must(syscall(SYS_getgroups, 64, ROOM(256)) >= 0, "getgroups");
	must(!syscall(SYS_getresuid, ROOM(4), ROOM(4), ROOM(4)), "getresuid");
	must(!statfs(".", ROOM(sizeof(struct statfs))), "statfs");
	must(!syscall(SYS_statx, AT_FDCWD, ".", 0, 0xfff, ROOM(256)), "statx");
	must(readlink("/proc/self/exe", ROOM(256), 200) > 0, "readlink");
	must(syscall(SYS_getdents64, open("/proc/self", O_RDONLY), ROOM(512), 500) > 0, "getdents");
	must(!syscall(SYS_sched_getparam, 0, ROOM(8)), "sched_getparam");
}

static void times_and_timers(void)
{
	struct timespec *left = ROOM(16);
	timer_t *timer = ROOM(8);
	int t = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec soon = { .it_value.tv_sec = 100 };
	must(!syscall(SYS_clock_gettime, CLOCK_REALTIME, ROOM(16)), "clock_gettime");
	must(!syscall(SYS_gettimeofday, ROOM(16), ROOM(8)), "gettimeofday");
	must(syscall(SYS_time, ROOM(8)) > 0, "time");
	must(!syscall(SYS_nanosleep, VALUE(struct timespec, 0, 1000), left), "nanosleep");
	must(!syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, timer), "timer_create");
	must(!timerfd_settime(t, 0, &soon, ROOM(32)) && !timerfd_gettime(t, ROOM(32)), "timerfd");
	must(!syscall(SYS_getitimer, ITIMER_REAL, ROOM(32)), "getitimer");
	must(!syscall(SYS_rt_sigprocmask, 0, NULL, ROOM(8), 8), "sigprocmask");
	must(!syscall(SYS_sigaltstack, NULL, ROOM(24)), "sigaltstack");
}

/* Offsets that a copy moves on. */
static void offsets(void)
{
	int a = open("/proc/self/exe", O_RDONLY), b = fileno(tmpfile()), p[2];
	must(a >= 0 && !pipe(p), "open");
	must(sendfile(p[1], a, VALUE(off_t, 100), 50) == 50, "sendfile");
	must(splice(p[0], NULL, b, VALUE(off_t, 1000), 50, 0) == 50, "splice");
	must(splice(a, VALUE(off_t, 64), p[1], NULL, 20, 0) == 20, "splice");
	must(!syscall(SYS_pipe2, ROOM(8), 0), "pipe2");
	must(!syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ROOM(8)), "socketpair");
	must(!fcntl(b, F_GETLK, VALUE(struct flock, .l_type = F_WRLCK)), "F_GETLK");
	must(!syscall(SYS_fstat, b, ROOM(144)), "fstat");
}

static const struct scenario scenarios[] = {
	{ "addresses", addresses },     { "messages", messages },      { "waiting", waiting },
	{ "system_info", system_info }, { "times", times_and_timers }, { "offsets", offsets },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
