/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of whose files only some matter: data/state, which is written as out/stage and replaced in order, and a
 * log beside that, which is never synced. With a word, it gets its name by a link.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void append(const char *path, const char *text, int sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)!write(fd, text, strlen(text));
	if (sync)
		fsync(fd);
	close(fd);
}

static void sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	fsync(fd);
	close(fd);
}

int main(int argc, char **argv)
{
	(void)argv;
	mkdir("data", 0700);
	mkdir("logs", 0700);
	sync_folder(".");
	append("logs/log", "begun\n", 0);
	append("logs/stage", "a state that is whole\n", 1);
	if (argc > 1)
		(void)!link("logs/stage", "data/state");
	else
		rename("logs/stage", "data/state");
	sync_folder("data");
	return 0;
}
