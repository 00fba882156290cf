/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has a name of its own kind, in no folder: System V IPC, message queues, abstract addresses of
 * sockets. Where the cell wants to hear of them (PRELOAD_IPC), each cell has names of its own, made
 * from the program's and the base's, and all that may stay is written down, for the cell to remove.
 */
#include "preload/internal.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>

static long open_list(void)
{
	char path[VIEW_PATH];
	if (!preload_on() || preload_beside(path, preload_state.base.path[0], PRELOAD_IPC))
		return -1;
	return preload_sys(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
}

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

uint32_t preload_apart(void)
{
	long fd = open_list();
	if (fd < 0)
		return 0;
	preload_sys(SYS_close, fd);
	uint32_t h = hash(preload_state.base.path[0]);
	return h ? h : 1;
}

static void write_down(const struct preload_ipc *what)
{
	long fd = open_list();
	if (fd < 0)
		return;
	preload_sys(SYS_write, fd, what, sizeof *what);
	preload_sys(SYS_close, fd);
}

/* ---- System V ---- */

/* In a cell, what has a key is found by its own processes only. */
static key_t own_key(key_t key)
{
	uint32_t apart = key == IPC_PRIVATE ? 0 : preload_apart();
	key_t own = (key_t)((uint32_t)key ^ apart);
	return own == IPC_PRIVATE ? key : own;
}

static int got(long id, uint32_t kind, key_t key)
{
	if (id >= 0)
		write_down(&(struct preload_ipc){
			.kind = kind, .id = (int32_t)id, .key = (uint32_t)key });
	return (int)preload_result(id);
}

EXPORT int shmget(key_t key, size_t size, int flags)
{
	key = own_key(key);
	return got(preload_sys(SYS_shmget, key, size, flags), PRELOAD_SHM, key);
}

EXPORT int semget(key_t key, int n, int flags)
{
	key = own_key(key);
	return got(preload_sys(SYS_semget, key, n, flags), PRELOAD_SEM, key);
}

EXPORT int msgget(key_t key, int flags)
{
	key = own_key(key);
	return got(preload_sys(SYS_msgget, key, flags), PRELOAD_MSG, key);
}

/* ---- message queues ---- */

/* "/name" as the kernel wants it: "name", and something that no other cell has; 0, or -1 and errno. */
static int own_queue(char out[PRELOAD_QUEUE], const char *name)
{
	uint32_t apart = preload_apart();
	char digits[PRELOAD_DIGITS];
	size_t n = *name == '/' ? strlen(name + 1) : 0;
	if (!n || n + PRELOAD_DIGITS >= PRELOAD_QUEUE) {
		errno = n ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	strcpy(out, name + 1);
	if (apart) {
		strcat(out, ".");
		strcat(out, preload_digits(digits, apart));
	}
	return 0;
}

EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
	struct preload_ipc what = { .kind = PRELOAD_MQ };
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	struct mq_attr *attr = flags & O_CREAT ? va_arg(ap, struct mq_attr *) : NULL;
	va_end(ap);
	if (own_queue(what.name, name))
		return -1;
	if (flags & O_CREAT)
		write_down(&what);
	return (mqd_t)preload_result(preload_sys(SYS_mq_open, what.name, flags, mode, attr));
}

EXPORT mqd_t __mq_open_2(const char *name, int flags);
EXPORT mqd_t __mq_open_2(const char *name, int flags)
{
	return mq_open(name, flags);
}

EXPORT int mq_unlink(const char *name)
{
	char own[PRELOAD_QUEUE];
	if (own_queue(own, name))
		return -1;
	long r = preload_sys(SYS_mq_unlink, own);
	return (int)preload_result(r == -EPERM ? -EACCES : r);
}

/* ---- abstract addresses ---- */

/* The name, which begins with a zero byte, with an end of our own; its length, the same if there is no
 * room. */
size_t preload_own_abstract(char *name, size_t n, size_t room)
{
	uint32_t apart = preload_apart();
	char digits[PRELOAD_DIGITS];
	const char *d = preload_digits(digits, apart);
	size_t more = strlen(d) + 1;
	if (!apart || n + more > room)
		return n;
	name[n] = '\0';
	memcpy(name + n + 1, d, more - 1);
	return n + more;
}

size_t preload_outer_abstract(const char *name, size_t n)
{
	uint32_t apart = preload_apart();
	char digits[PRELOAD_DIGITS];
	const char *d = preload_digits(digits, apart);
	size_t more = strlen(d) + 1;
	bool ours =
		apart && n > more && !name[n - more] && !memcmp(name + n - more + 1, d, more - 1);
	return ours ? n - more : n;
}
