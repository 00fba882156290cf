/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run may leave behind besides files, and how the next one is kept from seeing it. All its
 * processes have been killed. To have a thing new for each run, or to look whether it has changed and
 * put it right only then: what that costs decides. Roughly, on a run that does nothing (0.8 ms of CPU):
 *
 *    what                     new each time   looked at   here
 *    System V IPC, queues     x 1.05          x 1.01      new for each run
 *    host name                x 1.01                      set for each run
 *    process numbers          x 1.01                      begin at the same number for each run
 *    network                  x 6             x 1.03      looked at; renewed if anything is left
 *    mounts                   x 1.1, and an   x 1.01      looked at; undone if anything is left; if
 *                             overlay twice               that fails, the cell is worn
 *
 * All together, measured in CPU: 1.09 times what it was without; 1.04 for a run that also makes a file.
 * The fork server lives from run to run in one IPC namespace, so there that is looked at, too.
 * "Looked at" costs a few system calls: the kernel reports changes of the mount table and of
 * interfaces, addresses and routes to those who ask, and counts sockets and IPC objects. What it
 * does not report is not noticed: packet filters, and settings below /proc/sys.
 */
#include "sandbox/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

struct sandbox_leaks {
	struct sandbox_space space;
	struct sandbox_cell *cell;
	int queues; /* the folder of message queues; this and the next ones are -1 if not looked at */
	int table;     /* the mount table: polling it tells of changes */
	int config;    /* a socket that hears of changes of the network */
	int sockets;   /* how many there are, as text */
	int number;    /* the last process number */
	char host[65]; /* its name */
	char *bare;    /* the mount table without what the cell shows */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- IPC ---- */

static int open_queues(void)
{
	int fs = fsopen("mqueue", FSOPEN_CLOEXEC), fd = -1;
	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fd;
}

static bool has_queue(int queues)
{
	int fd = queues < 0 ? -1 : openat(queues, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;
	for (const struct dirent *e; dir && !found && (e = readdir(dir));)
		found = *e->d_name != '.';
	if (dir)
		closedir(dir);
	return found;
}

static bool has_ipc(const struct sandbox_leaks *l)
{
	union { /* as semctl wants it */
		int val;
		struct seminfo *info;
	} sem;
	struct shm_info shm = { 0 };
	struct seminfo sems = { 0 };
	struct msginfo msg = { 0 };
	sem.info = &sems;
	return (shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&shm) >= 0 && shm.used_ids) ||
	       (semctl(0, 0, SEM_INFO, sem) >= 0 && sems.semusz) ||
	       (msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&msg) >= 0 && msg.msgpool) ||
	       has_queue(l->queues);
}

/* Where no more namespaces are allowed, it is enough that nothing is left. */
static int renew_ipc(struct sandbox_leaks *l, struct err *err)
{
	if (unshare(CLONE_NEWIPC))
		return has_ipc(l) ? err_errno(err, EXIT_PROGRAM,
					      "cannot have IPC of its own for a run")
				  : 0;
	close_fd(&l->queues);
	return 0;
}

/* ---- the network ---- */

static int open_config(void)
{
	struct sockaddr_nl a = { .nl_family = AF_NETLINK,
				 .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
					      RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
					      RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a))
		close_fd(&fd);
	return fd;
}

static void watch_network(struct sandbox_leaks *l)
{
	l->config = open_config();
	l->sockets = open("/proc/thread-self/net/sockstat", O_RDONLY | O_CLOEXEC);
}

static bool heard(int config)
{
	char text[1 << 13];
	ssize_t n = config < 0 ? -1 : recv(config, text, sizeof text, MSG_DONTWAIT);
	return n >= 0 || (config >= 0 && errno == ENOBUFS);
}

/* A connection that was closed keeps its port for a minute. */
static bool has_sockets(int sockets)
{
	char text[1024];
	unsigned used = 0, waiting = 0;
	ssize_t n = sockets < 0 ? -1 : pread(sockets, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	const char *tcp = strstr(text, "TCP: inuse");
	return tcp && sscanf(tcp, "TCP: inuse %u orphan %*u tw %u", &used, &waiting) == 2 &&
	       (used || waiting);
}

static int renew_network(struct sandbox_leaks *l, struct err *err)
{
	close_fd(&l->config);
	close_fd(&l->sockets);
	if (unshare(CLONE_NEWNET))
		return err_errno(err, EXIT_PROGRAM, "cannot have a network of its own for a run");
	sandbox_space_loopback();
	watch_network(l);
	return 0;
}

/* ---- mounts ---- */

static char *read_table(int table)
{
	struct buf b = { 0 };
	char chunk[1 << 14];
	lseek(table, 0, SEEK_SET);
	for (ssize_t n; (n = read(table, chunk, sizeof chunk)) > 0;)
		buf_add(&b, chunk, (size_t)n);
	buf_add(&b, "", 1);
	return b.p;
}

static bool has_changed(int table)
{
	struct pollfd p = { .fd = table, .events = POLLPRI };
	return table >= 0 && poll(&p, 1, 0) > 0;
}

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);
	for (const char *at = text; (at = strstr(at, line)); at += n)
		if ((at == text || at[-1] == '\n') && (at[n] == '\n' || !at[n]))
			return true;
	return false;
}

/* Takes away all mounts that are not in the bare table, the latest first; how many there were. */
static size_t unmount_unknown(const struct sandbox_leaks *l, char *text)
{
	struct sandbox_strings where = { 0 };
	char *rest, *path;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!has_line(l->bare, line) && (path = sandbox_mount_path(line)))
			VEC_PUSH(&where, path);
	size_t n = where.n;
	for (size_t i = n; i-- > 0;)
		umount2(where.p[i], MNT_DETACH | UMOUNT_NOFOLLOW);
	sandbox_strings_free(&where);
	return n;
}

static int undo_mounts(const struct sandbox_leaks *l, struct err *err)
{
	for (size_t before = SIZE_MAX;;) {
		char *text = read_table(l->table);
		bool same = !strcmp(text, l->bare);
		size_t n = same ? 0 : unmount_unknown(l, text);
		free(text);
		if (same)
			return 0;
		if (!n || n >= before) /* something else has changed, or nothing helps */
			return err_set(err, EXIT_PROGRAM, "mounts of a run cannot be undone");
		before = n;
	}
}

/* ---- all of it ---- */

struct sandbox_leaks *sandbox_leaks_new(const struct sandbox_space *s, struct sandbox_cell *c)
{
	struct sandbox_leaks *l = xcalloc(1, sizeof *l);
	l->space = *s;
	l->cell = c;
	l->queues = l->table = l->config = l->sockets = l->number = -1;
	if (gethostname(l->host, sizeof l->host - 1))
		*l->host = '\0';
	if (s->view->ops->spaces & CLONE_NEWNS) {
		l->table = open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
		l->bare = l->table < 0 ? NULL : read_table(l->table);
	}
	if (s->pids)
		l->number = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	if (s->net)
		watch_network(l);
	return l;
}

int sandbox_leaks_begin(struct sandbox_leaks *l, bool alone, struct err *err)
{
	if (l->space.pids && alone) {
		if (renew_ipc(l, err))
			return -1;
		sethostname(l->host, strlen(l->host));
		if (l->number >= 0 && pwrite(l->number, "1", 1, 0) < 0)
			close_fd(&l->number);
	}
	has_changed(l->table); /* these were our own */
	while (heard(l->config))
		;
	return 0;
}

unsigned sandbox_leaks_look(struct sandbox_leaks *l, bool ipc)
{
	const struct sandbox_ops *ops = l->space.view->ops;
	if (ops->clean)
		ops->clean(l->cell);
	if (ipc && l->space.pids && l->queues < 0)
		l->queues = open_queues();
	return (ipc && l->space.pids && has_ipc(l) ? SANDBOX_LEFT_IPC : 0) |
	       (has_changed(l->table) ? SANDBOX_LEFT_MOUNTS : 0) |
	       (heard(l->config) || has_sockets(l->sockets) ? SANDBOX_LEFT_NETWORK : 0);
}

int sandbox_leaks_undo(struct sandbox_leaks *l, unsigned what, struct err *err)
{
	if (what & SANDBOX_LEFT_NETWORK && renew_network(l, err))
		return -1;
	if (what & SANDBOX_LEFT_MOUNTS) {
		sandbox_cell_unplan(l->cell);
		return undo_mounts(l, err);
	}
	return 0;
}

void sandbox_leaks_free(struct sandbox_leaks *l)
{
	if (!l)
		return;
	close_fd(&l->queues);
	close_fd(&l->table);
	close_fd(&l->config);
	close_fd(&l->sockets);
	close_fd(&l->number);
	free(l->bare);
	free(l);
}
