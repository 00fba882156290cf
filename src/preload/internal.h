/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of src/preload/ share.
 *
 *   start.c    the fork server        map.c      mappings at fixed addresses
 *   view.c     which folders          resolve.c  from a path to the layers that have it
 *   upper.c    copies, signs          see.c      from a path to the one that the kernel gets
 *   call_*.c   the functions of libc, by what they do
 *
 * The functions run in programs that know nothing of them, between fork and exec, in signal
 * handlers and in threads with small stacks: they make system calls of their own, allocate
 * nothing (folders that are listed are the exception) and keep errno where all went well.
 */
#ifndef HOLDFAST_PRELOAD_INTERNAL_H
#define HOLDFAST_PRELOAD_INTERNAL_H

#include "preload/preload.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
/* Another name for a function of this file: on x86-64, open64 is open. */
#define ALSO(name, function)                                                                       \
	__asm__(".globl " #name "\n\t.type " #name ", @function\n\t.set " #name ", " #function)
/* The function of that name that the program would have got without us. */
#define NEXT(function)                                                                             \
	__extension__({                                                                            \
		static __typeof__(function) *next_;                                                \
		if (!next_)                                                                        \
			next_ = (__typeof__(function) *)preload_next(#function);                   \
		next_;                                                                             \
	})

/* sys.c: a system call; -errno if it fails. */
long preload_sys(long number, ...);
long preload_result(long); /* … as libc returns it: -1 and errno */
void *preload_next(const char *name);
#define PRELOAD_DIGITS 12
char *preload_digits(char buf[PRELOAD_DIGITS], unsigned); /* somewhere in buf */

/* view.c */
#define VIEW_PATH PRELOAD_TEXT_MAX /* longer paths are refused */
extern struct preload_view preload_state;
/* How many of our own; the tracer may add one during any system call. */
unsigned preload_layers(void);
bool preload_on(void);
size_t preload_copy(char to[VIEW_PATH], const char *from); /* its length; VIEW_PATH: too long */
bool preload_is_input(const char *path); /* of an exploration; it is shared by all runs */
void preload_start(void);
const struct preload_folder *preload_folder_at(const char *path, size_t n); /* exactly there */
const struct preload_folder *preload_folder_over(const char *path);         /* the innermost */
/* The path below a base that the program knows as another; false: it is not one. */
bool preload_outside(const char *inside, char out[VIEW_PATH]);
bool preload_in_base(const char *path);
bool preload_is_cell(const char *dir, const char *name); /* the base, or that of a cell beside us */
size_t preload_text(char *out, size_t room);             /* HOLDFAST_VIEW for another program */

/* resolve.c: where a path leads to. Layer 0 is our own, layer base.n is what is real. */
struct place {
	char path[VIEW_PATH]; /* absolute, without links; "/" is "" */
	size_t n;
	const struct preload_folder *folder; /* NULL: not one of ours */
	unsigned layers;                     /* bit i: layer i has it; the lowest one is seen */
	unsigned above;                      /* … has the folder that it is in */
	bool gone;                           /* layer 0 says that it is not to be seen */
	bool slash;                          /* it is to be a folder */
	unsigned dots;                       /* it ended in "." or ".." */
	bool moved; /* a way through covered folders led out of them: only `path` is right */
};
/* 1: filled in; 0: none of ours (but filled in if `moved`); -1 and errno. */
enum {
	FOLLOW_NOT,
	FOLLOW,
	FOLLOW_NEVER
}; /* the last one, if it is a link; not even with a slash */
int preload_resolve(struct place *, int dirfd, const char *path, int follow);
int preload_fd_path(int fd, char out[VIEW_PATH]); /* as the kernel knows it; 0, or -1 and errno */
/* Its path in one layer; 0, or -1 and errno. */
int preload_in_layer(const struct place *, unsigned layer, char out[VIEW_PATH]);
unsigned preload_layer(const struct place *); /* that is seen */
bool preload_is_folder(const struct place *);
bool preload_is_below(const struct place *); /* would be seen if layer 0 had nothing */

/* upper.c: our own layer. All return 0, or -1 and errno. */
int preload_make_way(const struct place *);      /* the folders above it */
int preload_bring(struct place *, bool content); /* a copy of it, if it is below; 1: it is neither
                                                  * file nor folder nor link, and stays */
int preload_hide(struct place *);                /* leaves the sign, instead of anything there */
int preload_unhide(const struct place *);        /* takes the sign away */
int preload_may_change(const struct place *);    /* the folder that it is in */
bool preload_is_sign(const char *path);

/* list.c: what is in folders. */
struct dirent64;
typedef int preload_entry(void *arg, const struct dirent64 *); /* not 0: that is enough */
/* All but "." and ".."; what the last call returned, or -1 and errno. */
int preload_list(const char *dir, preload_entry *, void *arg);
int preload_beside(char out[VIEW_PATH], const char *dir, const char *name); /* "dir/name" */
/* Is the entry that a layer has of folder p a sign, or is something in a layer above instead? */
bool preload_is_hidden(const struct place *p, unsigned layer, const struct dirent64 *);
int preload_is_empty(const struct place *);      /* 1, 0; -1 and errno */
int preload_remove_folder(const struct place *); /* our own; it may have signs in it */
int preload_hide_lower(const struct place *);    /* signs in our own for all that is below */

/* see.c: what the kernel is to get instead of a path. */
enum {
	SEE_LINK = 1,   /* the last component is not followed */
	SEE_CHANGE = 2, /* it is to be changed */
	SEE_CREATE = 4, /* it may be made */
	SEE_EMPTY = 8,  /* its contents do not matter */
	SEE_NEW = 16,   /* with SEE_CREATE: it must not be there */
	SEE_ANY = 32,   /* the caller does all that is to be done, if it is ours */
	SEE_NAME = 64,  /* it is about the name, not about what has it */
	SEE_FILE = 128, /* with SEE_CREATE: what is made is no folder */
};
struct way {
	int dirfd;
	const char *path;
	struct place place; /* if ours */
	bool ours;
	bool unhidden;
	char buf[VIEW_PATH];
};
int preload_see(struct way *, int dirfd, const char *path, unsigned how);
/* The end of what began with preload_see; `result` as from preload_sys. Returns -1 and errno. */
long preload_seen(struct way *, long result);
/* The file behind a descriptor is to be changed by its attributes or locked: makes it our own. */
int preload_own_fd(int fd);

/* call_*.c: for each other. */
uint32_t preload_apart(void); /* a number of our base; 0: names without a path are everybody's */
/* Abstract addresses of sockets: the length of our own name, or of the program's. */
size_t preload_own_abstract(char *name, size_t n, size_t room);
size_t preload_outer_abstract(const char *name, size_t n);
int preload_open(int dirfd, const char *path, int flags, mode_t mode);

#endif
