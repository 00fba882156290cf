/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests that become another user: can that user come to what was built, below /root, say? */
#ifndef HOLDFAST_TESTS_OTHERS_H
#define HOLDFAST_TESTS_OTHERS_H

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

static inline bool others_reach(uid_t uid)
{
	int status = 1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(setgroups(0, NULL) || setgid(uid) || setuid(uid) ||
		      access(own_folder(), X_OK));
	return waitpid(pid, &status, 0) == pid && !status;
}

#endif
