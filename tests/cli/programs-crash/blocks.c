/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of blocks, each with a sum; block 0 is the head, and block 1 its copy. blocks WAY run|check
 *
 *   good      blocks are synced before the head that counts them
 *   early     … together with it; @head and @blocks
 *   aio       one block is written by io_submit, without a sync; `splice`: from a pipe
 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 4096

struct block {
	uint64_t sum, number;
	unsigned char body[SIZE - 16];
};

static uint64_t sum(const struct block *b)
{
	const unsigned char *p = (const unsigned char *)&b->number;
	uint64_t sum = 7;
	for (unsigned i = 0; i < SIZE - 8; i++)
		sum = sum * 31 + p[i];
	return sum;
}

static struct block make(uint64_t number)
{
	struct block b = { .number = number };
	memset(b.body, (int)(number + 1), sizeof b.body);
	b.sum = sum(&b);
	return b;
}

static int run(int fd, int early)
{
	int bad = 0;
	for (uint64_t i = 1; i <= 4; i++) {
		struct block two[2] = { make(2 * i), make(2 * i + 1) }, head = make(i);
		bad |= pwrite(fd, two, sizeof two, (off_t)i * 2 * SIZE) != sizeof two; /* @blocks */
		bad |= !early && fdatasync(fd);
		bad |= pwrite(fd, &head, SIZE, 0) != SIZE || fdatasync(fd); /* @head */
		bad |= pwrite(fd, &head, SIZE, SIZE) != SIZE || fdatasync(fd);
	}
	return bad;
}

static int check(int fd)
{
	struct block b = { 0 };
	for (int copy = 0; copy < 2; copy++)
		if (pread(fd, &b, SIZE, copy * SIZE) == SIZE && b.sum == sum(&b))
			break;
	if (b.sum != sum(&b))
		return 0; /* there was none yet */
	for (uint64_t i = 2, n = 2 * b.number + 2; i < n; i++)
		if (pread(fd, &b, SIZE, (off_t)i * SIZE) != SIZE || b.sum != sum(&b) ||
		    b.number != i)
			return 1;
	return 0;
}

static int by_aio(int fd)
{
	struct block b = make(1);
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PWRITE,
			   .aio_fildes = (uint32_t)fd,
			   .aio_buf = (uintptr_t)&b,
			   .aio_nbytes = SIZE,
			   .aio_offset = SIZE },
		    *list = &cb;
	struct io_event done;
	aio_context_t context = 0;
	return syscall(SYS_io_setup, 1, &context) ||
	       syscall(SYS_io_submit, context, 1, &list) != 1 ||
	       syscall(SYS_io_getevents, context, 1, 1, &done, NULL) != 1 || done.res != SIZE;
}

static int by_splice(int fd)
{
	struct block b = make(1);
	off_t at = SIZE;
	int ends[2];
	return pipe(ends) || write(ends[1], &b, SIZE) != SIZE ||
	       splice(ends[0], NULL, fd, &at, SIZE, 0) != SIZE;
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	int fd = open("blocks", O_RDWR);
	if (argc > 2 && !strcmp(argv[2], "check"))
		return check(fd);
	if (!strcmp(way, "aio"))
		return by_aio(fd);
	return strcmp(way, "splice") ? run(fd, !strcmp(way, "early")) : by_splice(fd);
}
