/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What file systems keep in order, and what they do not. order WAY run|check
 *
 *   names     two files are made; only the second one is synced
 *   replace   a file that is not synced takes the place of one that is
 *   children  a child appends each record, and syncs it; its parent answers
 *   workers   … the child answers by itself; `early`: before it syncs
 *   save      the same file is replaced again and again by one function; `removes`: the old one is removed first
 *   data      … and nothing is synced after the rename but the file's data; `own`: the file itself
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(const char *name, int flags, char c, int sync)
{
	char text[3000];
	int fd = open(name, O_CREAT | O_WRONLY | flags, 0600), bad;
	memset(text, c, sizeof text);
	bad = write(fd, text, sizeof text) != sizeof text || (sync && fsync(fd));
	return close(fd) || bad;
}

static int sync_folder(void)
{
	int fd = open(".", O_RDONLY), bad = fsync(fd);
	return close(fd) || bad;
}

static int answer(int i)
{
	return printf("record %d\n", i) < 0 || fflush(stdout);
}

static int work(const char *way, int i)
{
	int early = !strcmp(way, "early");
	int bad = put("log", O_APPEND, (char)('a' + i), !early) || (i == 0 && sync_folder());
	return bad || (strcmp(way, "children") && answer(i));
}

static int append_all(const char *way)
{
	for (int i = 0; i < 4; i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(work(way, i));
		if (waitpid(child, &status, 0) != child || status)
			return 1;
		if (!strcmp(way, "children"))
			answer(i);
	}
	return 0;
}

static int save_all(const char *way)
{
	char text[1000];
	int bad = 0;
	for (int i = 0; i < 4; i++) {
		int fd = open("tmp", O_CREAT | O_WRONLY | O_TRUNC, 0600);
		memset(text, 'a' + i, sizeof text);
		bad |= write(fd, text, sizeof text) != sizeof text || fsync(fd);
		if (!strcmp(way, "removes") && i)
			bad |= unlink("conf"); /* @removes */
		bad |= rename("tmp", "conf");
		if (!strcmp(way, "data"))
			bad |= fdatasync(fd);
		else
			bad |= strcmp(way, "own") ? sync_folder() : fsync(fd);
		bad |= close(fd) || answer(i);
	}
	return bad;
}

static int show_saved(void)
{
	char text[1000] = "none";
	int fd = open("conf", O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof text) != sizeof text)
		return 1;
	printf("%.4s\n", text);
	return 0;
}

static int show(void)
{
	char text[3000];
	int fd = open("log", O_RDONLY), n = 0;
	while (read(fd, text, sizeof text) == sizeof text && text[0] == 'a' + n &&
	       text[2999] == 'a' + n && !memcmp(text, text + 1, 2999))
		n++;
	printf("%d records\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	int check = argc > 2 && !strcmp(argv[2], "check");
	struct stat st;
	if (!strcmp(way, "names") && check)
		return access("second", F_OK) == 0 && access("first", F_OK) != 0;
	if (!strcmp(way, "names"))
		return put("first", 0, 'a', 0) || put("second", 0, 'b', 1) ||
		       put("third", 0, 'c', 1);
	if (!strcmp(way, "replace") && check)
		return stat("db", &st) || st.st_size != 3000;
	if (!strcmp(way, "replace"))
		return put("tmp", 0, 'n', 0) || rename("tmp", "db"); /* @replace */
	if (!strcmp(way, "children") || !strcmp(way, "workers") || !strcmp(way, "early"))
		return check ? show() : append_all(way);
	return check ? show_saved() : save_all(way);
}
