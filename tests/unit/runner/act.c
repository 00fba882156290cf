/* SPDX-License-Identifier: BSD-3-Clause */
/* A recovery program that does as it is told; see main. Compiled by test_runner.c. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char *map(const char *path, size_t *size)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(40);
	}
	char *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(41);
	}
	close(fd);
	if (size)
		*size = (size_t)st.st_size;
	return p;
}

/* The image holds the command for the shell. */
static int obey(const char *self, const char *path)
{
	char *text = strdup(map(path, NULL));
	setenv("ACT", self, 1);
	setenv("POOL", path, 1);
	if (!strncmp(text, "exec ", 5) || strpbrk(text, "|;&<>$ "))
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	if (!strcmp(text, "segv"))
		raise(SIGSEGV);
	if (!strcmp(text, "abort"))
		abort();
	if (!strcmp(text, "spin"))
		for (;;)
			;
	if (!strcmp(text, "flood"))
		for (;;)
			puts("all work and no play makes jack a dull boy");
	return atoi(text);
}

/* Every page; "add" changes it. */
static int touch(const char *path, int add)
{
	size_t size, sum = 0;
	char *p = map(path, &size);
	for (size_t i = 0; i < size; i += 4096) {
		sum += (unsigned char)p[i];
		p[i] = (char)(p[i] + add);
	}
	printf("%zu\n", sum);
	return 0;
}

static int daemonize(const char *mark)
{
	(void)mark; /* to be found by */
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			pause();
		_exit(0);
	}
	usleep(20000);
	return 0;
}

static struct sockaddr_in local(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((unsigned short)atoi(port)),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int serve(const char *port, const char *path)
{
	struct sockaddr_in at = local(port);
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	char *p = map(path, NULL);
	if (!strcmp(p, "segv"))
		raise(SIGSEGV);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 5)) {
		perror("listen");
		return 42;
	}
	puts("server is up");
	fflush(stdout);
	for (char byte = 0; byte != 'q';) {
		int c = accept(s, NULL, NULL);
		if (!strcmp(p, "die"))
			raise(SIGSEGV);
		if (write(c, p, strlen(p)) < 0)
			return 43;
		shutdown(c, SHUT_WR);
		if (read(c, &byte, 1) < 0)
			return 43;
		close(c);
	}
	return 0;
}

static int client(const char *port, const char *expected)
{
	struct sockaddr_in at = local(port);
	char answer[64] = "";
	int s = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s, (struct sockaddr *)&at, sizeof at)) {
		perror("connect");
		return 44;
	}
	if (!expected)
		return write(s, "q", 1) != 1;
	if (read(s, answer, sizeof answer - 1) < 0)
		perror("read");
	printf("client got '%s'\n", answer);
	return strcmp(answer, expected) ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *a = argc > 2 ? argv[2] : "";
	if (!strcmp(what, "obey"))
		return obey(argv[0], a);
	if (!strcmp(what, "sum"))
		return touch(a, 0);
	if (!strcmp(what, "add"))
		return touch(a, 1);
	if (!strcmp(what, "where"))
		return printf("%p\n", (void *)map(a, NULL)) < 0;
	if (!strcmp(what, "daemon"))
		return daemonize(a);
	if (!strcmp(what, "memory"))
		return memset(malloc(strtoul(a, NULL, 0)) ?: (exit(45), NULL), 1, 1) == NULL;
	if (!strcmp(what, "stdin"))
		return getchar() == EOF ? 0 : 46;
	if (!strcmp(what, "serve") && argc > 3)
		return serve(a, argv[3]);
	if (!strcmp(what, "client") && argc > 3)
		return client(a, argv[3]);
	if (!strcmp(what, "halt"))
		return client(a, NULL);
	return 99;
}
