/* SPDX-License-Identifier: BSD-3-Clause */
/* anything run SEED: writes, cuts, renames, removes and syncs five files at random; anything check: refuses some contents. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned seed;

static unsigned below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static const char *name(char buf[8], unsigned i)
{
	snprintf(buf, 8, "f%u", i);
	return buf;
}

static int check(void)
{
	unsigned long hash = 5381;
	char buf[8];
	for (unsigned i = 0; i < 5; i++) {
		FILE *f = fopen(name(buf, i), "r");
		int c = 0;
		for (hash = hash * 33 + i * !!f; f && (c = fgetc(f)) != EOF;)
			hash = hash * 33 + (unsigned)c;
		if (f)
			fclose(f);
	}
	return hash % 9 == 0;
}

static void write_some(const char *path, int flags)
{
	char bytes[4000];
	int f = open(path, O_RDWR | flags, 0644);
	if (f < 0)
		return;
	memset(bytes, 'a' + (int)below(26), sizeof bytes);
	if (pwrite(f, bytes, 1 + below(sizeof bytes), below(2) * below(3000)) < 0)
		exit(2);
	if (!below(3) && fsync(f))
		exit(2);
	close(f);
}

static int step(int folder)
{
	char a[8], b[8];
	name(a, below(5));
	name(b, below(5));
	switch (below(7)) {
	case 0: write_some(a, O_CREAT); return 0;
	case 1: write_some(a, 0); return 0;
	case 2: write_some(a, O_CREAT | O_TRUNC); return 0;
	case 3: return truncate(a, below(5000));
	case 4: return rename(a, b);
	case 5: return below(2) ? unlink(a) : 0;
	default: return below(2) ? fsync(folder) : 0;
	}
}

int main(int argc, char **argv)
{
	int folder = open(".", O_RDONLY);
	if (argc < 3)
		return check();
	seed = (unsigned)atoi(argv[2]);
	for (int i = 0; i < 60; i++)
		step(folder);
	return 0;
}
