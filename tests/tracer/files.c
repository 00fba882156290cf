/* SPDX-License-Identifier: BSD-3-Clause */
/* Things done to a file that backs PM, and to its mappings: files POOL SCENARIO */
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "expect.h"

#define PAGE 4096ul
#define BYTES (16 * PAGE)

static const char *path;
static int fd;
static char *pm;

/* A store that can be told from every other. */
static void put(char *at)
{
	static uint64_t n = 0x1111111111111111;
	*(volatile uint64_t *)at = n;
	n += 0x0101010101010101;
}

static void fill(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 512)
		put(at + i);
}

static void *map(void *at, size_t bytes, int prot, int flags, int file, off_t offset)
{
	void *p = mmap(at, bytes, prot, flags, file, offset);
	must(p != MAP_FAILED, "mmap");
	return p;
}

static void *map_rw(size_t bytes, int file, off_t offset)
{
	return map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
}

/* A file of `bytes` that is open; its contents are not all zero. */
static int make(const char *name, size_t bytes)
{
	int f = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
	must(f >= 0 && !ftruncate(f, (off_t)bytes), name);
	must(pwrite(f, "made before it was mapped", 25, 1000) == 25, "pwrite");
	return f;
}

static void begin(void)
{
	fd = make(path, BYTES);
	pm = map_rw(BYTES, fd, 0);
	fill(pm, BYTES);
}

static void writes(void)
{
	char first[] = "first part", second[] = "second";
	struct iovec v[2] = { { first, 10 }, { second, 6 } };
	static char big[100000];
	begin();
	must(pwrite(fd, "pwrite", 6, 100) == 6, "pwrite");
	must(lseek(fd, 5000, SEEK_SET) == 5000 && write(fd, "write", 5) == 5, "write");
	must(write(fd, "again", 5) == 5, "write");
	must(writev(fd, v, 2) == 16, "writev");
	must(pwritev(fd, v, 2, 8190) == 16, "pwritev");
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)(i * 13 + i / 300);
	must(pwrite(fd, big, sizeof big, 3) == sizeof big, "pwrite"); /* and the file grows */
	int other = open(path, O_WRONLY | O_APPEND);
	must(write(other, "appended", 8) == 8, "append");
	must(pwrite(other, "appended too", 12, 0) == 12, "pwrite"); /* O_APPEND wins on Linux */
	must(pwrite(1, "", 0, 0) <= 0, "not a pool");
}

static void sizes(void)
{
	begin();
	must(!ftruncate(fd, (off_t)(BYTES + 3 * PAGE)), "grow");
	must(!ftruncate(fd, (off_t)(3 * PAGE + 100)), "shrink");
	put(pm + 3 * PAGE);
	must(!truncate(path, (off_t)BYTES), "grow by name");
	put(pm + 5 * PAGE);
	must(!ftruncate(fd, (off_t)(BYTES - 50)), "shrink inside a page");
	must(!ftruncate(fd, (off_t)BYTES), "and back: zeroes");
	char *far = map_rw(2 * BYTES, fd, 0); /* beyond the end, which comes later */
	must(!ftruncate(fd, (off_t)(2 * BYTES)), "grow");
	put(far + BYTES + 8);
	must(!close(open(path, O_RDWR)), "open");
	must(!close(open(path, O_RDWR | O_TRUNC)), "open and truncate");
	must(!ftruncate(fd, (off_t)BYTES), "grow");
	put(pm);
}

static void allocate(int mode, unsigned long from, unsigned long len)
{
	if (fallocate(fd, mode, (off_t)from, (off_t)len)) {
		must(errno == EOPNOTSUPP, "fallocate");
		printf("no fallocate mode %#x\n", mode);
		exit(77);
	}
}

static void holes(void)
{
	begin();
	allocate(0, BYTES - 100, 2000);
	allocate(FALLOC_FL_KEEP_SIZE, BYTES, 20 * PAGE);
	allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE + 300, 2 * PAGE + 77);
	put(pm + 2 * PAGE);
}

static void rare_holes(void)
{
	begin();
	allocate(FALLOC_FL_ZERO_RANGE, 5 * PAGE + 10, 500);
	allocate(FALLOC_FL_ZERO_RANGE, BYTES - 10, PAGE);
	must(!ftruncate(fd, (off_t)BYTES), "shrink");
	allocate(FALLOC_FL_COLLAPSE_RANGE, 2 * PAGE, PAGE);
	allocate(FALLOC_FL_INSERT_RANGE, 4 * PAGE, 2 * PAGE);
	put(pm + 4 * PAGE);
}

static void syncs(void)
{
	begin();
	must(!msync(pm, PAGE, MS_SYNC), "msync");
	must(!msync(pm + PAGE, 2 * PAGE, MS_ASYNC), "msync");
	must(!fsync(fd), "fsync");
	must(!fdatasync(fd), "fdatasync");
	must(!sync_file_range(fd, 4096, 8192, SYNC_FILE_RANGE_WRITE), "sync_file_range");
	int other = open("/dev/null", O_WRONLY);
	fsync(other);
}

static void renames(void)
{
	begin();
	must(!symlink(path, "link"), "symlink");
	must(!unlink("link"), "unlink"); /* not the pool */
	must(!rename(path, "second"), "rename");
	put(pm);
	must(!renameat(AT_FDCWD, "second", AT_FDCWD, "third"), "renameat");
	put(pm + 8);
	must(!rename("third", path), "rename");
	must(!link(path, "other-name"), "link");
	must(!unlink("other-name"), "unlink"); /* one of two names */
	put(pm + 16);
	close(open("bystander", O_CREAT | O_WRONLY, 0666));
	must(!unlink("bystander"), "unlink");
}

/* The name goes, the file stays while it is mapped; then a new file takes the name. */
static void recreated(void)
{
	begin();
	must(!unlink(path), "unlink");
	put(pm + 32);
	must(pwrite(fd, "nameless", 8, 5000) == 8, "pwrite");
	must(!munmap(pm, BYTES) && !close(fd), "munmap");
	for (int i = 0; i < 3; i++) { /* the inode's number may well come back */
		fd = make(path, BYTES / 2);
		pm = map_rw(BYTES / 2, fd, 0);
		put(pm + i * 64);
		if (i == 1)
			must(!close(make("replacement", PAGE)) && !rename("replacement", path),
			     "rename over it");
		else if (i == 0)
			must(!unlinkat(AT_FDCWD, path, 0), "unlinkat");
		must(!munmap(pm, BYTES / 2) && !close(fd), "munmap");
	}
}

static void remaps(void)
{
	begin();
	must(!ftruncate(fd, (off_t)(4 * BYTES)), "grow");
	char *grown = mremap(pm, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	must(grown != MAP_FAILED, "mremap");
	put(grown + BYTES + 64);
	put(grown + 64);
	char *target = map(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *moved = mremap(grown, 2 * BYTES, 2 * BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	must(moved == target, "mremap");
	put(moved + BYTES + 72);
	/* a part of it moves away */
	char *elsewhere = map(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mremap(moved + 2 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) ==
		     elsewhere,
	     "mremap");
	put(elsewhere + 80);
	put(moved + 3 * PAGE + 80);
	put(moved + PAGE + 80);
	must(mremap(moved + 3 * PAGE, BYTES, PAGE, 0) == moved + 3 * PAGE, "mremap");
	put(moved + 3 * PAGE + 88);
}

static void protections(void)
{
	fd = make(path, BYTES);
	pm = map(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	char *none = map(NULL, BYTES, PROT_NONE, MAP_SHARED, fd, 0);
	must(!mprotect(pm, BYTES, PROT_READ | PROT_WRITE), "mprotect");
	put(pm + 8);
	must(!mprotect(pm + PAGE, PAGE, PROT_READ), "mprotect");
	put(pm + 2 * PAGE);
	must(!mprotect(pm + PAGE, PAGE, PROT_READ | PROT_WRITE), "mprotect");
	put(pm + PAGE + 16);
	must(!mprotect(none + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE), "mprotect");
	put(none + 3 * PAGE + 24);
}

static void executable(void)
{
	fd = make(path, BYTES);
	pm = map(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0);
	put(pm + 8);
	must(!mprotect(pm, BYTES, PROT_READ | PROT_WRITE), "mprotect");
	put(pm + 16);
}

static void pieces(void)
{
	begin();
	char *alias = map_rw(4 * PAGE, fd, (off_t)(2 * PAGE)); /* the same bytes, elsewhere */
	put(alias + 24);
	put(pm + 2 * PAGE + 32);
	must(!munmap(pm + 5 * PAGE, 2 * PAGE), "a hole in the middle");
	put(pm + 4 * PAGE + 40);
	put(pm + 7 * PAGE + 40);
	char *covered = map(pm + 9 * PAGE, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	put(covered + 48); /* not PM any more */
	put(pm + 8 * PAGE + 48);
	put(pm + 10 * PAGE + 48);
	char *back = map(pm + 9 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 (off_t)(12 * PAGE));
	put(back + 56);
	must(!munmap(alias, 4 * PAGE) && !munmap(pm, BYTES), "munmap");
	char *again = map_rw(BYTES, fd, 0);
	put(again + 64);
}

/* None of these is persistent. */
static void volatiles(void)
{
	fd = make(path, BYTES);
	put(map(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
	put(map(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	int memory = memfd_create("memory", 0), zero = open("/dev/zero", O_RDWR);
	must(memory >= 0 && !ftruncate(memory, BYTES), "memfd_create");
	put(map_rw(BYTES, memory, 0));
	put(map_rw(BYTES, zero, 0));
}

static void copies(void)
{
	begin();
	int from = make("from", BYTES), pair[2];
	off_t at = 990, to = 3000;
	must(pwrite(from, "to be copied around", 19, 1100) == 19, "pwrite");
	must(copy_file_range(from, &at, fd, &to, 500, 0) == 500, "copy_file_range");
	must(lseek(fd, 7000, SEEK_SET) == 7000, "lseek");
	at = 990;
	must(sendfile(fd, from, &at, 300) == 300, "sendfile");
	must(!pipe(pair) && write(pair[1], "through a pipe", 14) == 14, "pipe");
	to = 9000;
	must(splice(pair[0], NULL, fd, &to, 14, 0) == 14, "splice");
	put(pm + 3008);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenario[] = {
#define S(name) { #name, name }
		S(writes),  S(sizes),     S(holes),  S(rare_holes),  S(syncs),
		S(renames), S(recreated), S(remaps), S(protections), S(executable),
		S(pieces),  S(volatiles), S(copies),
	};
	path = argc == 3 ? argv[1] : "";
	for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
		if (argc == 3 && !strcmp(scenario[i].name, argv[2])) {
			scenario[i].run();
			return 0;
		}
	return 2;
}
