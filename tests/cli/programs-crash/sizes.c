/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file whose first block, written last, says that all is there. sizes run|check
 * It takes a size that lags behind for that to be wrong: each block that is there is right.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 4

static int run(void)
{
	char bytes[BLOCK];
	int f = open("file", O_RDWR | O_CREAT, 0644);
	for (int i = 1; i < BLOCKS; i++) {
		memset(bytes, '0' + i, sizeof bytes);
		if (pwrite(f, bytes, sizeof bytes, i * BLOCK) != sizeof bytes)
			return 1;
	}
	return pwrite(f, "ready", 5, 0) != 5 || fsync(f);
}

static int check(void)
{
	char word[6] = "";
	struct stat st;
	int f = open("file", O_RDONLY);
	if (f < 0 || fstat(f, &st) || pread(f, word, 5, 0) != 5 || strcmp(word, "ready") != 0)
		return 0;
	return st.st_size != BLOCKS * BLOCK;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "run") ? run() : check();
}
