/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmem's copies: copies POOL run, or copies POOL step LOG.
 *
 * `step` runs it natively in a child, executes each copy one instruction at a time, and logs what the
 * copies write to the pool: after each instruction, the bytes that are new there. `run` just copies.
 */
#include <libpmem.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "expect.h"

#define BYTES 4096u
#define ROOM 256u /* for each copy */

static const size_t sizes[] = { 1, 2, 3, 7, 8, 12, 15, 16, 24, 31, 32, 33, 48, 63, 64, 100 };
#define SIZES (sizeof sizes / sizeof *sizes)

static void copy_all(char *pm, int traced)
{
	char from[ROOM];
	memset(from, 0x5a, sizeof from);
	for (size_t i = 0; i < SIZES; i++) {
		if (traced)
			__asm__ volatile("int3");
		pmem_memcpy_persist(pm + i * ROOM, from, sizes[i]);
		if (traced)
			__asm__ volatile("int3");
	}
}

/* What has changed since `old`: one run of bytes, as a store makes it; "offset size". */
static void log_change(const char *pm, char *old, size_t at)
{
	size_t lo = 0, hi = ROOM;
	while (lo < ROOM && pm[at + lo] == old[at + lo])
		lo++;
	while (hi > lo && pm[at + hi - 1] == old[at + hi - 1])
		hi--;
	if (lo < hi)
		fprintf(expect_file, "%zu %zu\n", at + lo, hi - lo);
	memcpy(old + at, pm + at, ROOM);
}

static int step(const char *path, const char *pm)
{
	static char old[BYTES];
	int status;
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		copy_all(pool_map(path, BYTES, NULL), 1);
		_exit(0);
	}
	for (size_t i = 0; i < SIZES; i++) {
		long ip;
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			return 3;
		do {
			ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
			waitpid(child, &status, 0);
			log_change(pm, old, i * ROOM);
			ip = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user, regs.rip), NULL);
		} while (WIFSTOPPED(status) &&
			 (ptrace(PTRACE_PEEKTEXT, child, ip, NULL) & 0xff) != 0xcc);
		ptrace(PTRACE_CONT, child, NULL, NULL); /* to the second int3 */
		waitpid(child, &status, 0);
		ptrace(PTRACE_CONT, child, NULL, NULL);
	}
	waitpid(child, &status, 0);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	char *pm = pool_map(argv[1], BYTES, NULL);
	memset(pm, 0, BYTES);
	if (argc == 3) {
		copy_all(pm, 0);
		return 0;
	}
	expect_open(argv[3]);
	return step(argv[1], pm);
}
