/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops SEED COUNT [plain]: does things to the files below the working directory, at random, and says how
 * each went; in the end, what is there. Run with and without the library it must say the same.
 *
 * Names are few, so that things meet. Those that begin with n are never there at the start: only
 * these folders are renamed, as one that was there cannot be. "plain": none is renamed, and there
 * are no hard links.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;
static char root[4096];
static int plain;

static unsigned any(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static const char *word(void)
{
	static const char *const words[] = { "a", "b", "c", "d", "link", "n1", "n2", "..", "." };
	return words[any(any(8) ? 7 : 9)];
}

/* One of a few paths; two may be in use at a time. */
static char *path(void)
{
	static char buf[2][256];
	static int turn;
	char *p = buf[turn ^= 1];
	*p = '\0';
	for (unsigned i = 0, n = 1 + any(3); i < n; i++) {
		strcat(p, i ? "/" : "");
		strcat(p, word());
	}
	strcat(p, any(12) ? "" : "/");
	return p;
}

static void say(const char *what, const char *p, const char *q, long r)
{
	printf("%s %s %s: %s\n", what, p, q ? q : "", r < 0 ? strerrorname_np(errno) : "done");
}

static void say_content(int fd)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof buf);
	unsigned sum = 0;
	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)buf[i];
	printf("  %zd bytes, %u\n", n, sum);
}

/* With a slash at the end, which of several errors it is depends on the kernel. */
static void strip(char *p)
{
	size_t n = strlen(p);
	if (n && p[n - 1] == '/')
		p[n - 1] = '\0';
}

static void do_write(char *p)
{
	static const int ways[] = { O_CREAT, O_CREAT | O_EXCL, O_CREAT | O_TRUNC,
				    0,       O_APPEND,         O_TRUNC };
	strip(p);
	int how = ways[any(6)], fd = open(p, O_WRONLY | how | (any(4) ? 0 : O_NOFOLLOW), 0644);
	char text[64];
	say("write", p, NULL, fd);
	if (fd < 0)
		return;
	int n = snprintf(text, sizeof text, "text %u\n", any(1000));
	printf("  %d\n", write(fd, text, (size_t)n) == n);
	close(fd);
}

static void do_read(const char *p)
{
	int fd = open(p, O_RDONLY | (any(4) ? 0 : O_NOFOLLOW));
	say("read", p, NULL, fd);
	if (fd >= 0)
		say_content(fd);
	if (fd >= 0)
		close(fd);
}

static void do_stream(char *p)
{
	static const char *const modes[] = { "r", "r+", "w", "a", "wx", "a+" };
	const char *mode = modes[any(6)];
	strip(p);
	FILE *f = fopen(p, mode);
	say("fopen", p, mode, f ? 0 : -1);
	if (f && *mode != 'r')
		fprintf(f, "stream %u\n", any(1000));
	if (f)
		fclose(f);
}

static void do_look(const char *p)
{
	struct stat st;
	int r = any(2) ? stat(p, &st) : lstat(p, &st);
	say("stat", p, NULL, r);
	if (!r)
		printf("  %o %ld %lu\n", st.st_mode, S_ISREG(st.st_mode) ? (long)st.st_size : 0,
		       S_ISREG(st.st_mode) ? (unsigned long)st.st_nlink : 0);
	say("access", p, NULL, access(p, any(8)));
}

static void do_link(const char *p)
{
	char buf[256];
	ssize_t n = readlink(p, buf, sizeof buf - 1);
	say("readlink", p, NULL, n);
	if (n >= 0)
		printf("  %.*s\n", (int)n, buf);
}

static void do_real(const char *p)
{
	char buf[4096], *r = realpath(p, buf);
	say("realpath", p, NULL, r ? 0 : -1);
	if (r)
		printf("  %s\n", strncmp(buf, root, strlen(root)) ? "outside" : buf + strlen(root));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void do_list(const char *p)
{
	char *name[256];
	int n = 0;
	DIR *dir = opendir(p);
	say("list", p, NULL, dir ? 0 : -1);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir)) && n < 256;)
		name[n++] = strdup(e->d_name);
	closedir(dir);
	qsort(name, (size_t)n, sizeof *name, by_name);
	for (int i = 0; i < n; i++) {
		printf("  %s\n", name[i]);
		free(name[i]);
	}
}

static void do_rename(const char *p, const char *q)
{
	struct stat st;
	const char *slash = strrchr(p, '/');
	const char *last = slash ? slash + 1 : p;
	if (!lstat(p, &st) && S_ISDIR(st.st_mode) && (*last != 'n' || plain))
		return;
	say("rename", p, q, rename(p, q));
}

/* The same through a descriptor of a folder. */
static void do_at(const char *p, const char *q)
{
	int dir = open(p, O_RDONLY | O_DIRECTORY);
	struct stat st;
	say("open", p, NULL, dir);
	if (dir < 0)
		return;
	int fd = openat(dir, q, O_RDWR | O_CREAT, 0600);
	say("openat", p, q, fd);
	if (fd >= 0) {
		say("write", p, q, write(fd, "at\n", 3));
		close(fd);
	}
	say("fstatat", p, q, fstatat(dir, q, &st, AT_SYMLINK_NOFOLLOW));
	say("unlinkat", p, q, any(2) ? unlinkat(dir, q, 0) : 0);
	close(dir);
}

/* A file that is open for reading only. */
static void do_fd(const char *p)
{
	struct stat st;
	int fd = open(p, O_RDONLY);
	if (fd < 0)
		return;
	say("fchmod", p, NULL, fchmod(fd, any(2) ? 0700 : 0755));
	say("futimens", p, NULL,
	    futimens(fd, (const struct timespec[2]){ { 5, 0 }, { any(9), 0 } }));
	if (!fstat(fd, &st))
		printf("  %o %ld\n", st.st_mode, (long)st.st_mtime);
	say_content(fd);
	close(fd);
}

static void do_enter(const char *p)
{
	char buf[4096];
	say("chdir", p, NULL, chdir(p));
	if (getcwd(buf, sizeof buf))
		printf("  %s\n", strncmp(buf, root, strlen(root)) ? "outside" : buf + strlen(root));
	if (strncmp(buf, root, strlen(root)) != 0 || !any(3))
		if (chdir(root))
			exit(1);
}

static void one(void)
{
	static const char *const targets[] = { "a", "b/c", "../d", "n1", "c/../b", "../a/b" };
	char *p = path();
	const char *q = path();
	switch (any(20)) {
	case 0:
	case 1: do_write(p); break;
	case 2:
	case 3: do_read(p); break;
	case 4: do_stream(p); break;
	case 5: do_look(p); break;
	case 6: do_link(p); break;
	case 7: do_real(p); break;
	case 8: do_list(p); break;
	case 9:
	case 10: do_rename(p, q); break;
	case 11: do_at(p, word()); break;
	case 12: do_fd(p); break;
	case 13: do_enter(p); break;
	case 14: say("unlink", p, NULL, unlink(p)); break;
	case 15: say("mkdir", p, NULL, mkdir(p, 0755)); break;
	case 16: say("rmdir", p, NULL, rmdir(p)); break;
	case 17:
		if (!plain)
			say("link", p, q, link(p, q));
		break;
	case 18: say("symlink", targets[state % 6], p, symlink(targets[state % 6], p)); break;
	case 19: say("truncate", p, NULL, truncate(p, any(20))); break;
	}
}

static void show(const char *p, int depth)
{
	struct stat st;
	char name[4096];
	if (lstat(p, &st))
		return;
	printf("%s %o\n", p, st.st_mode);
	if (S_ISLNK(st.st_mode))
		do_link(p);
	if (S_ISREG(st.st_mode))
		do_read(p);
	if (!S_ISDIR(st.st_mode) || depth > 8)
		return;
	do_list(p);
	static const char *const words[] = { "a", "b", "c", "d", "link", "n1", "n2" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		snprintf(name, sizeof name, "%s/%s", p, words[i]);
		show(name, depth + 1);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3 || !getcwd(root, sizeof root))
		return 2;
	plain = argc > 3;
	state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u;
	for (int i = atoi(argv[2]); i > 0; i--)
		one();
	if (chdir(root))
		return 1;
	show(".", 0);
	return 0;
}
