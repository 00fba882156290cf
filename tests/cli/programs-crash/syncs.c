/* SPDX-License-Identifier: BSD-3-Clause */
/* Every way to have something on disk; nothing is mapped. */
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void)
{
	struct iovec two = { "xx", 2 };
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	int file = open("tmp", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int all = open("all", O_WRONLY | O_CREAT | O_APPEND | O_SYNC, 0644);
	int data = open("data", O_WRONLY | O_CREAT | O_DSYNC, 0644);
	int bad = 0;
	bad |= write(file, "hello", 5) != 5 || fsync(file) || fdatasync(file);
	bad |= sync_file_range(file, 0, 4096, 0) || rename("tmp", "db") || fsync(dir);
	bad |= write(all, "abc", 3) != 3 || write(all, "def", 3) != 3;
	bad |= pwrite(data, "abc", 3, 100) != 3 || pwritev2(file, &two, 1, 7, RWF_DSYNC) != 2;
	bad |= fsync(-1) == 0 || syncfs(dir);
	sync();
	return bad;
}
