/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of writing to the file behind PM that are easily missed. */
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "scenarios.h"

#define BYTES (64 * PAGE)

/* The source is what the call changes. */
static void from_itself(void)
{
	struct iovec v[2] = { { pm + 3000, 700 }, { pm + 3500, 900 } };
	for (int i = 0; i < 3000; i++)
		pm[i] = (char)i;
	must(pwrite(fd, pm, 2000, 64) == 2000, "pwrite");
	must(pwritev(fd, v, 2, 3100) == 1600, "pwritev");
	must(lseek(fd, 100, SEEK_SET) == 100 && write(fd, pm + 64, 500) == 500, "write");
}

static void *writer(void *arg)
{
	char text[64];
	for (int i = 0; i < 200; i++) {
		memset(text, *(char *)arg + i % 3, sizeof text);
		must(write(fd, text, 10 + (size_t)i % 50) > 0, "write");
	}
	return NULL;
}

static void many(void)
{
	pthread_t t[4];
	static char name[4] = { 'a', 'f', 'k', 'p' };
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&t[i], NULL, writer, &name[i]), "pthread_create");
	for (int i = 0; i < 4; i++)
		must(!pthread_join(t[i], NULL), "pthread_join");
}

static void shared_offset(void)
{
	many();
}

static void shared_append(void)
{
	fd = open(path, O_WRONLY | O_APPEND);
	must(fd >= 0, path);
	many();
}

static void rwf_append(void)
{
	char text[] = "appended";
	struct iovec v = { text, 8 };
	if (pwritev2(fd, &v, 1, 50, RWF_APPEND) != 8)
		exit(77);
	must(lseek(fd, 900, SEEK_SET) == 900 && pwritev2(fd, &v, 1, -1, 0) == 8, "pwritev2");
}

/* What was stored behind the end of the file, in its last page, when the file grows. */
static void behind_end(void)
{
	must(!ftruncate(fd, 3 * PAGE + 100), "ftruncate");
	strcpy(pm + 3 * PAGE + 90, "across the end of the file");
	strcpy(pm + 3 * PAGE + 2000, "behind it");
	must(!ftruncate(fd, 4 * PAGE), "ftruncate");
	must(!ftruncate(fd, 4 * PAGE + 100), "ftruncate");
	strcpy(pm + 4 * PAGE + 500, "behind it");
	must(pwrite(fd, "more", 4, 4 * PAGE + 700) == 4, "pwrite");
	must(!ftruncate(fd, 5 * PAGE + 100), "ftruncate");
	strcpy(pm + 5 * PAGE + 500, "behind it");
	must(!posix_fallocate(fd, 5 * PAGE, PAGE), "fallocate");
	must(!ftruncate(fd, 6 * PAGE + 100), "ftruncate");
	strcpy(pm + 6 * PAGE + 500, "behind it, for good");
}

static void tmpfile_linked(void)
{
	char name[64];
	unlink(path);
	fd = open(".", O_TMPFILE | O_RDWR, 0666);
	if (fd < 0)
		exit(77);
	must(!ftruncate(fd, BYTES), "ftruncate");
	pm = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(pm != MAP_FAILED, "mmap");
	strcpy(pm + 100, "stored before it had a name");
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	must(!linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW), "linkat");
	strcpy(pm + 5000, "stored when it had one");
}

static void aio(void)
{
	aio_context_t ctx = 0;
	static char text[] = "written asynchronously";
	struct iocb w = { .aio_fildes = (uint32_t)fd,
			  .aio_lio_opcode = IOCB_CMD_PWRITE,
			  .aio_buf = (uintptr_t)text,
			  .aio_nbytes = sizeof text,
			  .aio_offset = 7777 };
	struct iocb r = { .aio_fildes = (uint32_t)fd,
			  .aio_lio_opcode = IOCB_CMD_PREAD,
			  .aio_buf = (uintptr_t)(pm + 20000),
			  .aio_nbytes = 300,
			  .aio_offset = 0 };
	struct iocb *all[2] = { &w, &r };
	struct io_event done[2];
	if (syscall(SYS_io_setup, 4, &ctx))
		exit(77);
	must(syscall(SYS_io_submit, ctx, 2, all) == 2, "io_submit");
	must(syscall(SYS_io_getevents, ctx, 2, 2, done, NULL) == 2, "io_getevents");
}

/* A program that is executed, and writes to a file that it never maps. */
static void exec_writes(void)
{
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		execl(self[0], self[0], path, "child", NULL);
		_exit(9);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

static void child(void)
{
	fd = open(path, O_RDWR);
	must(fd >= 0 && pwrite(fd, "from the child", 14, 12345) == 14, "pwrite");
	must(!ftruncate(fd, BYTES + 100) && !fsync(fd), "ftruncate");
}

/* ---- what is not recorded: the self-check says so ---- */

static void uring(void)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 2, &p), from = open("/proc/self/exe", O_RDONLY);
	if (ring < 0)
		exit(77);
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
			ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE,
				      MAP_SHARED, ring, IORING_OFF_SQES);
	must(sq != MAP_FAILED && e != MAP_FAILED && from >= 0, "mmap");
	*e = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = from, .addr = (uintptr_t)(pm + 30000), .len = 64
	};
	*(uint32_t *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
	     "enter");
	must(!memcmp(pm + 30000, "\177ELF", 4), "the read");
}

static const struct scenario scenarios[] = {
	{ "from_itself", from_itself },
	{ "shared_offset", shared_offset },
	{ "shared_append", shared_append },
	{ "rwf_append", rwf_append },
	{ "behind_end", behind_end },
	{ "tmpfile_linked", tmpfile_linked },
	{ "aio", aio },
	{ "exec_writes", exec_writes },
	{ "uring", uring },
	{ "child", child, true },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios, BYTES);
}
