/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse COMMAND…: runs it where namespaces and mounts are refused, as in a container with the usual
 * system-call filter.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPACES                                                                                     \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define NO(error) ANSWER(SECCOMP_RET_ERRNO | (error))
#define REFUSE(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), NO(EPERM)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		REFUSE(__NR_unshare),
		REFUSE(__NR_setns),
		REFUSE(__NR_mount),
		REFUSE(__NR_umount2),
		REFUSE(__NR_open_tree),
		REFUSE(__NR_move_mount),
		REFUSE(__NR_mount_setattr),
		REFUSE(__NR_fsopen),
		REFUSE(__NR_pivot_root),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0,
			 1), /* its flags cannot be seen */
		NO(ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SPACES, 0, 1),
		NO(EPERM),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("refuse");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
