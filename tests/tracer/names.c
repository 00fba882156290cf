/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that is hard on names and files. It works in the current folder, and copies that, by a
 * child that is not recorded, to SNAPSHOTS/N at moment N, which is where operation N begins:
 *
 *	names SNAPSHOTS SCENARIO [SEED]
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast.h"

#define POOL 8192u

static const char *snapshots;
static int moments;

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			perror(#x);                                                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void moment(void)
{
	char to[4096];
	int status;
	HOLDFAST_OP_BEGIN(moments);
	snprintf(to, sizeof to, "%s/%d", snapshots, moments);
	pid_t pid = fork();
	if (pid == 0) {
		execlp("cp", "cp", "-a", ".", to, (char *)NULL);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	HOLDFAST_OP_END(moments);
	moments++;
}

static int make(const char *path, const char *text)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static volatile uint8_t *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0 && !ftruncate(fd, POOL));
	volatile uint8_t *p = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	close(fd);
	return p;
}

/* ---- scenarios ---- */

static void log_beside(void)
{
	volatile uint8_t *p = map("pool");
	FILE *f = fopen("log", "a");
	for (int i = 1; i < 5; i++) {
		p[i * 64] = (uint8_t)i;
		fprintf(f, "did %d\n", i);
		fflush(f);
		moment();
	}
	fclose(f);
	truncate("log", 3);
	moment();
}

static void relative(void)
{
	volatile uint8_t *p = map("pool.tmp");
	int dir;
	p[0] = 1;
	moment();
	MUST(!rename("pool.tmp", "./sub/../pool2"));
	p[1] = 2;
	moment();
	MUST(!chdir("sub") && !rename("../pool2", "pool3") && !chdir(".."));
	p[2] = 3;
	moment();
	dir = open("sub", O_RDONLY);
	MUST(!renameat(dir, "pool3", AT_FDCWD, "pool4"));
	moment();
	MUST(!unlinkat(AT_FDCWD, "pool4", 0));
	p[3] = 4;
	moment();
}

static void replaced(void)
{
	volatile uint8_t *a = map("a"), *b = map("b"), *c = map("c");
	a[0] = 1;
	b[0] = 2;
	moment();
	MUST(!rename("a", "b")); /* both are mapped */
	a[1] = 3;
	b[1] = 4;
	moment();
	close(make("plain", "not PM"));
	MUST(!rename("plain", "c")); /* a plain file over a pool */
	c[0] = 5;
	moment();
	MUST(!rename("b", "old")); /* a pool over a plain file that was there */
	moment();
	MUST(!renameat2(AT_FDCWD, "old", AT_FDCWD, "c", RENAME_EXCHANGE));
	a[2] = 6;
	moment();
	MUST(!renameat2(AT_FDCWD, "c", AT_FDCWD, "new", RENAME_NOREPLACE));
	moment();
	MUST(renameat2(AT_FDCWD, "new", AT_FDCWD, "old", RENAME_NOREPLACE) == -1);
	moment();
}

static void folders(void)
{
	volatile uint8_t *p;
	MUST(!mkdir("made", 0755));
	p = map("made/pool");
	p[0] = 1;
	close(make("made/log", "one"));
	moment();
	MUST(!rename("made", "moved"));
	p[1] = 2;
	moment();
	close(make("moved/log", "twofold"));
	MUST(!mkdir("made", 0755)); /* another one of that name */
	close(make("made/other", "x"));
	moment();
	MUST(!renameat2(AT_FDCWD, "made", AT_FDCWD, "moved", RENAME_EXCHANGE));
	moment();
	MUST(!rename("sub", "gone")); /* which was there, with files in it */
	moment();
	close(make("gone/deep/file", "changed"));
	MUST(!unlink("moved/other") && !rmdir("moved"));
	moment();
	MUST(!rename("gone", "made/inside"));
	p[2] = 3;
	moment();
}

static void links(void)
{
	volatile uint8_t *p = map("pool");
	int fd = make("log", "1");
	MUST(!link("log", "log2") && !link("pool", "pool2"));
	p[0] = 1;
	moment();
	MUST(!unlink("log") && !unlink("pool") && write(fd, "2", 1) == 1);
	p[1] = 2;
	moment();
	MUST(!rename("log2", "log") && !symlink("log", "soft") && !symlink("nowhere", "dangling"));
	moment();
	close(make("soft", "through the link"));
	moment();
	MUST(!rename("soft", "softer") && !unlink("dangling"));
	moment();
	fd = open("twin", O_WRONLY); /* has another name, "twin2", since before */
	MUST(fd >= 0 && pwrite(fd, "X", 1, 1) == 1 && !close(fd));
	moment();
	fd = open("twin2", O_WRONLY | O_APPEND);
	MUST(fd >= 0 && write(fd, "Y", 1) == 1 && !close(fd));
	moment();
	MUST(!unlink("twin"));
	moment();
	MUST(!link("pool2", "pool3") && !rename("pool2", "pool3")); /* does nothing */
	moment();
}

static void contents(void)
{
	char abc[] = "abc", defgh[] = "defgh";
	struct iovec v[2] = { { abc, 3 }, { defgh, 5 } };
	int fd = open("old", O_RDWR), from = open("big", O_RDONLY), to;
	off_t at = 5, in = 0;
	map("pool")[0] = 1;
	MUST(pwrite(fd, "12", 2, 1) == 2);
	moment();
	MUST(!ftruncate(fd, 3) && pwritev(fd, v, 2, 10) == 8);
	moment();
	MUST(!fallocate(fd, 0, 0, 9000) &&
	     !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 11));
	moment();
	to = make("copy", "");
	MUST(sendfile(to, from, &in, 5000) == 5000);
	moment();
	MUST(copy_file_range(from, &in, to, &at, 777, 0) == 777);
	moment();
	close(open("big", O_WRONLY | O_TRUNC));
	moment();
	MUST(write(to, "tail", 4) == 4 && !truncate("copy", 100));
	moment();
	/* unlinked while it is open: nobody sees what is written now; the name is another file's */
	MUST(!unlink("copy") && write(to, "unseen", 6) == 6);
	close(make("copy", "seen"));
	moment();
	fd = open(".", O_TMPFILE | O_RDWR, 0644);
	if (fd >= 0) {
		char path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		MUST(write(fd, "tmpfile", 7) == 7 &&
		     !linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
		moment();
		MUST(write(fd, "more", 4) == 4);
		moment();
	}
}

/* A file that is written first, then mapped, then written again. */
static void then_mapped(void)
{
	int fd = make("pool", "header");
	moment();
	MUST(!ftruncate(fd, POOL) && pwrite(fd, "end", 3, POOL - 3) == 3);
	moment();
	volatile uint8_t *p = mmap(NULL, POOL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	p[100] = 1;
	moment();
	MUST(pwrite(fd, "again", 5, 200) == 5);
	moment();
	munmap((void *)p, POOL);
	MUST(!ftruncate(fd, 4000) && !rename("pool", "old"));
	moment();
}

/* Holes, ranges that are zeroed, cut out and put in; nothing is mapped. */
static void ranges(void)
{
	int fd = open("big", O_RDWR), far = make("far", "near");
	MUST(fd >= 0 && pwrite(far, "end", 3, 3000000) == 3);
	moment();
	MUST(!ftruncate(far, 4000000) && !ftruncate(far, 2000000) && !ftruncate(far, 2500000));
	moment();
	MUST(!fallocate(far, FALLOC_FL_KEEP_SIZE, 2400000, 500000));
	MUST(pwrite(far, "x", 1, 2499999) == 1);
	moment();
	if (!fallocate(fd, FALLOC_FL_ZERO_RANGE, 100, 5000))
		moment();
	if (!fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 18000, 5000))
		moment();
	if (!fallocate(fd, FALLOC_FL_ZERO_RANGE, 18000, 5000))
		moment();
	if (!fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 4096, 4096))
		moment();
	if (!fallocate(fd, FALLOC_FL_INSERT_RANGE, 8192, 4096))
		moment();
	MUST(pwrite(fd, "after", 5, 8190) == 5);
	moment();
}

/* One file through several descriptors, in several ways, and while it has no name. */
static void descriptors(void)
{
	int one = make("log", "begin"), two = open("log", O_WRONLY | O_APPEND), copy = dup(one),
	    ends[2];
	struct iovec v = { (char[]){ "vector" }, 6 };
	MUST(write(two, "-two", 4) == 4 && write(copy, "-copy", 5) == 5 &&
	     write(one, "-one", 4) == 4);
	moment();
	MUST(pwrite(two, "appended", 8, 0) == 8); /* Linux appends, whatever the offset */
	moment();
	if (pwritev2(one, &v, 1, 0, RWF_APPEND) == 6)
		moment();
	MUST(!pipe(ends) && write(ends[1], "spliced", 7) == 7);
	MUST(splice(ends[0], NULL, one, NULL, 7, 0) == 7);
	moment();
	MUST(!rename("old", "log") && write(one, "unseen", 6) == 6); /* what it was is gone */
	moment();
	close(make("log", "another"));
	MUST(write(two, "unseen", 6) == 6);
	moment();
	int three = open("twin", O_RDWR | O_TRUNC), four = open("twin2", O_RDWR);
	MUST(three >= 0 && four >= 0 && pwrite(four, "by its other name", 17, 3) == 17);
	MUST(!ftruncate(three, 8) && !unlink("twin") && pwrite(three, "Z", 1, 9) == 1);
	moment();
	int nameless = open("sub", O_TMPFILE | O_RDWR, 0644);
	if (nameless >= 0 && write(nameless, "first", 5) == 5) {
		moment();
		if (!linkat(nameless, "", AT_FDCWD, "sub/named", AT_EMPTY_PATH))
			moment();
	}
	void *page = NULL;
	MUST(!posix_memalign(&page, 4096, 8192) && memset(page, 'd', 8192));
	int direct = open("direct", O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (direct >= 0 && pwrite(direct, page, 8192, 4096) == 8192)
		moment();
}

/* What a second process does in its turns, to files of which both have descriptors. */
static void by_child(int i, int shared)
{
	int own = open("shared", O_RDWR);
	switch (i) {
	case 0: MUST(write(shared, "child", 5) == 5); break; /* at the position of both */
	case 1: MUST(pwrite(own, "at 100", 6, 100) == 6); break;
	case 2: MUST(!rename("log", "log2")); break;
	case 3: MUST(!ftruncate(own, 30) && write(own, "start", 5) == 5); break;
	case 4:
		MUST(!unlink("old"));
		close(make("old", "by the child"));
		break;
	default: MUST(!rename("shared", "log")); break;
	}
	close(own);
}

static void processes(void)
{
	int shared = make("shared", "begin"),
	    log = open("log", O_WRONLY | O_APPEND | O_CREAT, 0644);
	int go[2], done[2];
	char c = 0;
	MUST(log >= 0 && !pipe(go) && !pipe(done));
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		for (int i = 0; read(go[0], &c, 1) == 1; i++) {
			by_child(i, shared);
			MUST(write(done[1], &c, 1) == 1);
		}
		_exit(0);
	}
	for (int i = 0; i < 6; i++) {
		MUST(write(shared, "parent", 6) == 6 && write(log, "parent", 6) == 6);
		MUST(write(go[1], &c, 1) == 1 && read(done[0], &c, 1) == 1);
		moment();
	}
	close(go[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
}

/* Files that are written elsewhere, and come in; and one that leaves. */
static void outside(void)
{
	int fd = make("../outside", "elsewhere"), in = make("in", "here");
	moment();
	MUST(!rename("../outside", "came") && write(fd, " and then here", 14) == 14);
	moment();
	MUST(!link("in", "../left") && write(in, " and there", 10) == 10 && !unlink("in"));
	close(make("../other", "never here"));
	moment();
}

/* ---- all of that at random ---- */

static uint64_t seed;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static const char *name(void)
{
	static const char *const names[] = { "a",     "b",     "c",     "old",     "twin",
					     "twin2", "sub/a", "sub/b", "sub/old", "sub/deep",
					     "d",     "d/a",   "d/b",   "sub",     "link" };
	return names[any(sizeof names / sizeof *names)];
}

static void write_somewhere(const char *path, int flags)
{
	char text[64];
	int fd = open(path, O_WRONLY | O_NONBLOCK | flags, 0644);
	snprintf(text, sizeof text, "%u.%u", any(1000000), any(1000000));
	if (fd < 0)
		return;
	if (any(2) && pwrite(fd, text, strlen(text), any(6000)) < 0)
		exit(1);
	if (any(2) && write(fd, text, strlen(text)) < 0)
		exit(1);
	if (!any(4) && ftruncate(fd, any(5000)))
		exit(1);
	close(fd);
}

static void store_somewhere(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= 64) {
		uint8_t *p =
			mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		MUST(p != MAP_FAILED);
		for (int i = 0; i < 5; i++)
			p[any((unsigned)st.st_size)] = (uint8_t)any(256);
		if (any(2))
			munmap(p, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
}

static void at_random(void)
{
	static const int flags[] = { 0, O_CREAT, O_CREAT | O_TRUNC, O_TRUNC, O_APPEND | O_CREAT };
	for (int i = 0; i < 400; i++) {
		const char *path = name(), *to = name();
		int bad = 0;
		switch (any(13)) {
		case 0: bad = unlink(path); break;
		case 1: bad = rename(path, to); break;
		case 2: bad = renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_EXCHANGE); break;
		case 3: bad = link(path, to); break;
		case 4: bad = symlink(to, path); break;
		case 5: bad = mkdir(path, 0755); break;
		case 6: bad = rmdir(path); break;
		case 7: store_somewhere(path); break;
		default: write_somewhere(path, flags[any(5)]); break;
		}
		(void)bad; /* most of it is not possible */
		if (i % 20 == 19)
			moment();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenario[] = {
		{ "log", log_beside },
		{ "relative", relative },
		{ "replaced", replaced },
		{ "folders", folders },
		{ "links", links },
		{ "contents", contents },
		{ "mapped", then_mapped },
		{ "ranges", ranges },
		{ "descriptors", descriptors },
		{ "processes", processes },
		{ "outside", outside },
		{ "random", at_random },
	};
	if (argc < 3)
		return 2;
	snapshots = argv[1];
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	if (!strcmp(argv[2], "quiet")) { /* no moments: what others do matters */
		map("pool")[0] = 1;
		return 0;
	}
	moment();
	for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++)
		if (!strcmp(scenario[i].name, argv[2]))
			scenario[i].run();
	moment();
	return 0;
}
