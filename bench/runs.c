/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the runner costs per state. Takes a pool as it is, and runs a recovery command on it in
 * turns: by itself (fork, exec, wait), in the runner, and in the runner with the fork server,
 * each time after a line of the image was changed.
 *
 * usage: runs N POOL COMMAND [ARGUMENTS]
 * Prints a line for each round: microseconds by itself, in the runner, in the fork server, and, if
 * the command prints a number, which is taken for its time from main on, that of the last two.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/runner.h"

#define PAGE 4096u
#define WARM 20u

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *why)
{
	fprintf(stderr, "runs: %s\n", why);
	exit(1);
}

static uint64_t fill(struct runner *r, const char *pool)
{
	int fd = open(pool, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct err err;
	static uint8_t page[PAGE], zero[PAGE];
	if (fd < 0 || fstat(fd, &st))
		die(pool);
	if (runner_size(r, 0, 0, (uint64_t)st.st_size, &err))
		die(err.text);
	for (off_t off = 0; off < st.st_size; off += PAGE)
		if (pread(fd, page, PAGE, off) == PAGE && memcmp(page, zero, PAGE) != 0 &&
		    runner_write(r, 0, 0, (uint64_t)off, page, PAGE, &err))
			die(err.text);
	close(fd);
	return (uint64_t)st.st_size;
}

static struct runner *new_runner(const char *pool, const char *command, bool fast)
{
	struct runner_file file = { .path = pool };
	struct runner_opts o = { .command = command,
				 .file = &file,
				 .nfile = 1,
				 .cells = 1,
				 .timeout_ms = 10000,
				 .output_cap = 1 << 20,
				 .fast = fast };
	struct err err;
	struct runner *r = runner_new(&o, &err);
	if (!r)
		die(err.text);
	fill(r, pool);
	return r;
}

static double plain(char **argv)
{
	double start = now();
	int status;
	pid_t pid = vfork();
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		die("the command failed by itself");
	return now() - start;
}

static double in_runner(struct runner *r, uint64_t off, uint64_t value, double *own)
{
	double start = now();
	struct runner_result result;
	struct err err;
	uint64_t tag;
	unsigned cell;
	if (runner_write(r, 0, 0, off, &value, sizeof value, &err) || runner_start(r, 0, 0, &err) ||
	    runner_wait(r, true, &tag, &cell, &result, &err) != 1)
		die(err.text);
	if (result.verdict != RUNNER_OK)
		die(result.verdict == RUNNER_BROKEN ? result.why : "the command failed");
	*own = result.output ? strtod(result.output, NULL) : 0;
	runner_result_free(&result);
	return now() - start;
}

static char *join(char **argv)
{
	struct buf b = { 0 };
	for (size_t i = 0; argv[i]; i++)
		buf_printf(&b, "%s%s", i ? " " : "", argv[i]);
	return b.p;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	size_t n = strtoull(argv[1], NULL, 10);
	char *command = join(argv + 3);
	struct runner *r = new_runner(argv[2], command, false);
	struct runner *fast = new_runner(argv[2], command, true);
	int out = dup(STDOUT_FILENO), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* In the last line, which should matter to nobody. */
	uint64_t off = fill(r, argv[2]) - 64;

	dup2(null, STDOUT_FILENO);
	for (size_t i = 0; i < n + WARM; i++) {
		double own, own_fast, alone = plain(argv + 3);
		double in = in_runner(r, off, i, &own), quick = in_runner(fast, off, i, &own_fast);
		if (i >= WARM)
			dprintf(out, "%.1f %.1f %.1f %.1f %.1f\n", alone, in, quick, own, own_fast);
	}
	if (!runner_fast(fast))
		die("the fork server does not work");
	runner_free(r);
	runner_free(fast);
	free(command);
	return 0;
}
