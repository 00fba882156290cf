/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of checks, and going through it. */
#include <stdlib.h>

#include "doctor/internal.h"

static const struct doctor_row rows[] = {
	{
		.name = "valgrind",
		.what = "Valgrind, in the version that the tracer was built for",
		.running = true,
		.needed = true,
		.test = doctor_valgrind,
		.cost = "no program can be run",
		.mend = "install that version (Debian: apt install valgrind) or name it in "
			"HOLDFAST_VALGRIND; or build holdfast again, with the one that is there",
	},
	{
		.name = "tracer",
		.what = "the tracer",
		.running = true,
		.needed = true,
		.test = doctor_tracer,
		.cost = "no program can be run",
		.mend = "make install puts it beside holdfast; HOLDFAST_LIBEXEC can name its folder",
	},
	{
		.name = "proc",
		.what = "/proc",
		.running = true,
		.needed = true,
		.test = doctor_proc,
		.cost = "neither Valgrind nor sandboxes work",
		.mend = "mount -t proc proc /proc, in the chroot or container",
	},
	{
		.name = "record",
		.what = "a program runs under the tracer",
		.needed = true,
		.test = doctor_record,
		.cost = "no program can be run",
		.mend = "see the rows above, and what the message says; ulimit -v must be unlimited",
	},
	{
		.name = "sandbox",
		.what = "a sandbox for recovery and for exploring",
		.running = true,
		.needed = true,
		.test = doctor_sandbox,
		.cost = "crash, test, explore and replay only work with {pool} in the commands (--view subst)",
		.mend = "allow namespaces (see the next rows), or make room in /dev/shm or /tmp",
	},
	{
		.name = "user-namespaces",
		.what = "user namespaces",
		.running = true,
		.test = doctor_user_namespaces,
		.cost = "recovery is shown its files by a preloaded library: no statically linked or "
			"set-user-id programs, servers one at a time",
		.mend = "Debian: sysctl kernel.unprivileged_userns_clone=1; Ubuntu: sysctl "
			"kernel.apparmor_restrict_unprivileged_userns=0; elsewhere: sysctl "
			"user.max_user_namespaces=10000. In a container: --security-opt "
			"seccomp=unconfined, or --cap-add SYS_ADMIN. In a chroot: as root, or use a container "
			"instead",
	},
	{
		.name = "mount-namespaces",
		.what = "mount namespaces",
		.running = true,
		.test = doctor_mount_namespaces,
		.cost = "the same as without user namespaces",
		.mend = "as user-namespaces",
	},
	{
		.name = "overlay",
		.what = "overlay mounts",
		.running = true,
		.test = doctor_overlay,
		.cost = "the same as without mount namespaces",
		.mend = "Linux 5.11 or newer for ordinary users, and the module: modprobe overlay",
	},
	{
		.name = "network-namespaces",
		.what = "network namespaces",
		.test = doctor_network,
		.cost = "servers have the machine's network: they are run one at a time, and their port must "
			"be free",
		.mend = "as user-namespaces",
	},
	{
		.name = "ptrace",
		.what = "one process may trace another",
		.test = doctor_ptrace,
		.cost = "no backtraces of what crashes, no replay --gdb",
		.mend = "sysctl kernel.yama.ptrace_scope=1 or 0; in a container: --cap-add SYS_PTRACE",
	},
	{
		.name = "gdb",
		.what = "gdb",
		.test = doctor_gdb,
		.cost = "no backtraces of what crashes, no replay --gdb",
		.mend = "install gdb",
	},
	{
		.name = "core-dumps",
		.what = "core dumps go to a file, not to a program",
		.test = doctor_core_dumps,
		.cost = "each recovery that crashes starts that program, which takes time and keeps the core: "
			"a limit of 0 does not keep the kernel from that",
		.mend = "sysctl kernel.core_pattern=core, while it is tested",
	},
	{
		.name = "shm",
		.what = "room in /dev/shm",
		.test = doctor_shm,
		.cost = "pools that do not fit there are kept in /tmp where namespaces are refused, which is "
			"slow; programs whose pools are there may fail",
		.mend = "mount -o remount,size=2G /dev/shm; in a container: --shm-size 2g",
	},
	{
		.name = "processors",
		.what = "two processors or more",
		.test = doctor_processors,
		.cost = "the program and its analysis take turns, and recoveries run one by one",
		.mend = "allow more (taskset, cgroup, --cpus)",
	},
	{
		.name = "libclang",
		.what = "libclang",
		.test = doctor_libclang,
		.cost = "fix cannot read sources: no patches",
		.mend = "install it (Debian: apt install libclang-dev), and build holdfast with it",
	},
	{
		.name = "program",
		.what = "the program is one that the tracer can run",
		.needed = true,
		.program = true,
		.test = doctor_program,
		.cost = "it cannot be recorded",
		.mend = "name an x86-64 ELF program that you may execute, or a script for one",
	},
	{
		.name = "program-sandbox",
		.what = "the sandbox takes the program",
		.program = true,
		.test = doctor_program_sandbox,
		.cost = "it cannot be a recovery command here",
		.mend = "link it dynamically, or allow namespaces",
	},
	{
		.name = "debug-information",
		.what = "debug information of the program",
		.program = true,
		.test = doctor_debug,
		.cost = "findings have addresses, not source lines, and fix cannot repair them",
		.mend = "compile with -g; or install its -dbgsym package; or name the folder of its debug "
			"files in HOLDFAST_DEBUG_PATH",
	},
	{
		.name = "sources",
		.what = "sources of the program",
		.program = true,
		.test = doctor_sources,
		.cost = "findings show no source text, and their ids depend on the order in the machine code",
		.mend = "keep them where they were when the program was compiled",
	},
};
#define NROWS (sizeof rows / sizeof *rows)

const struct doctor_row *doctor_row_at(size_t i)
{
	return i < NROWS ? &rows[i] : NULL;
}

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = { "ok", "less", "missing" };
	return names[state];
}

static enum doctor_state look(const struct doctor_row *row, const char *program, doctor_each *each,
			      void *arg)
{
	char *found = NULL;
	enum doctor_state state = row->test(program, &found) ? DOCTOR_OK
				  : row->needed              ? DOCTOR_MISSING
							     : DOCTOR_LESS;
	if (each)
		each(arg, &(struct doctor_result){ row, state, found ? found : "" });
	free(found);
	return state;
}

bool doctor_look(const char *program, doctor_each *each, void *arg)
{
	bool works = true;
	for (size_t i = 0; i < NROWS; i++)
		if (program || !rows[i].program)
			works &= look(&rows[i], program, each, arg) != DOCTOR_MISSING;
	return works;
}

struct lacking {
	doctor_each *each;
	void *arg;
};

static void only_lacking(void *arg, const struct doctor_result *r)
{
	struct lacking *l = arg;
	if (r->state != DOCTOR_OK)
		l->each(l->arg, r);
}

void doctor_brief(doctor_each *each, void *arg)
{
	struct lacking l = { each, arg };
	for (size_t i = 0; i < NROWS; i++)
		if (rows[i].running)
			look(&rows[i], NULL, only_lacking, &l);
}
