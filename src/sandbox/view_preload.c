/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view that needs no namespace: a preloaded library shows the upper folders over the real
 * ones (preload/preload.h). The plan is that of the mounts, but nothing is mounted.
 */
#include "sandbox/internal.h"

#include "preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static int probe(const struct sandbox_view *view, struct err *err)
{
	(void)view;
	char *library = preload_find(PRELOAD_LIBRARY, err);
	if (!library)
		return -1;
	free(library);
	return 0;
}

static int open_ipc(const struct sandbox_cell *c)
{
	return openat(c->base, PRELOAD_IPC, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* Its name in the private folder can be written in LD_PRELOAD, wherever the library is. */
static int make(struct sandbox_cell *c, struct err *err)
{
	if (sandbox_make_folder(c, err))
		return -1;
	char *library = preload_find(PRELOAD_LIBRARY, err);
	if (!library)
		return -1;
	int bad = symlinkat(library, c->base, PRELOAD_LIBRARY), ipc = open_ipc(c);
	free(library);
	if (ipc >= 0)
		close(ipc);
	return bad ? err_errno(err, EXIT_PROGRAM, "cannot make a link in %s", c->home) : 0;
}

/* ---- what has no path ---- */

/* Numbers are used again: only one that still has the key is what it was. */
static void remove_object(const struct preload_ipc *what)
{
	struct shmid_ds shm;
	struct semid_ds sem;
	struct msqid_ds msg;
	key_t key = (key_t)what->key;
	if (what->kind == PRELOAD_SHM && !shmctl(what->id, IPC_STAT, &shm) &&
	    shm.shm_perm.__key == key)
		shmctl(what->id, IPC_RMID, NULL);
	if (what->kind == PRELOAD_SEM && !semctl(what->id, 0, IPC_STAT, &sem) &&
	    sem.sem_perm.__key == key)
		semctl(what->id, 0, IPC_RMID);
	if (what->kind == PRELOAD_MSG && !msgctl(what->id, IPC_STAT, &msg) &&
	    msg.msg_perm.__key == key)
		msgctl(what->id, IPC_RMID, NULL);
	if (what->kind == PRELOAD_MQ)
		syscall(SYS_mq_unlink, what->name);
}

static void clean(const struct sandbox_cell *c)
{
	struct preload_ipc what;
	int fd = open_ipc(c);
	if (fd < 0)
		return;
	bool any = false;
	while (read(fd, &what, sizeof what) == sizeof what) {
		any = true;
		what.name[sizeof what.name - 1] = '\0';
		remove_object(&what);
	}
	if (any && ftruncate(fd, 0)) /* the next time they are not found */
		unlinkat(c->base, PRELOAD_IPC, 0);
	close(fd);
}

static int make_sign(int dirfd, const char *name)
{
	return symlinkat(PRELOAD_GONE, dirfd, name);
}

static void env(const struct sandbox_cell *c, struct sandbox_strings *out)
{
	struct buf b = { 0 };
	buf_printf(&b, PRELOAD_VIEW "=%s", c->home);
	for (size_t i = 0; i < c->row.n; i++)
		buf_printf(&b, "\n%zu%c %s", i, c->row.p[i].singly ? '=' : '+', c->row.p[i].path);
	buf_add(&b, "", 1);
	VEC_PUSH(out, b.p);
	VEC_PUSH(out, xasprintf("LD_PRELOAD=%s/" PRELOAD_LIBRARY, c->home));
}

static char *refuses(const char *program)
{
	const char *why = preload_refuses(program);
	return why ? xasprintf("%s%s", program, why) : NULL;
}

/* A program that the command wanted to run, and that the library did not let it run. */
static char *refused(const struct sandbox_cell *c)
{
	char text[200];
	int fd = openat(c->base, PRELOAD_REFUSED, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	unlinkat(c->base, PRELOAD_REFUSED, 0);
	text[n > 0 ? n : 0] = '\0';
	return xstrdup(text);
}

const struct sandbox_ops sandbox_ops_preload = {
	.probe = probe,
	.make = make,
	.plan = sandbox_plan,
	.sign = make_sign,
	.clean = clean,
	.env = env,
	.refuses = refuses,
	.refused = refused,
};
