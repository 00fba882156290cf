/* SPDX-License-Identifier: BSD-3-Clause */
/* What every folder uses: errors, memory, vectors, hash tables, intervals, messages. */
#ifndef HOLDFAST_BASE_BASE_H
#define HOLDFAST_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/random.h"

/* Exit status, everywhere. */
enum exit_status {
	EXIT_NOTHING = 0, /* nothing found */
	EXIT_FINDINGS = 1,
	EXIT_USAGE = 2,
	EXIT_PROGRAM = 3, /* the program under test or its recovery could not be run */
	EXIT_INTERNAL = 4,
};

/* An error: what happened, in words for people. status is the exit status it asks for. */
struct err {
	int status;
	bool plain; /* the text says why; what the machine lacks has nothing to do with it */
	char text[1024];
};
int err_set(struct err *, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* always returns -1 */
int err_errno(struct err *, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* adds strerror(errno) */

/* Memory that never returns NULL: out of memory ends the process with a message, status 4. */
void *xmalloc(size_t) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *, size_t) __attribute__((returns_nonnull));
char *xstrdup(const char *) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* Growable array: VEC(int) v = {0}; VEC_PUSH(&v, 3); v.p[0]; v.n; VEC_FREE(&v); */
#define VEC(T)                                                                                     \
	struct {                                                                                   \
		T *p;                                                                              \
		size_t n, cap;                                                                     \
	}
void vec_grow(void **p, size_t *cap, size_t need, size_t elem);
#define VEC_RESERVE(v, need)                                                                       \
	((need) > (v)->cap ? vec_grow((void **)&(v)->p, &(v)->cap, (need), sizeof *(v)->p)         \
			   : (void)0)
#define VEC_PUSH(v, x) (VEC_RESERVE((v), (v)->n + 1), (v)->p[(v)->n++] = (x))
#define VEC_FREE(v) (free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

/* How many of n sorted things come before what is looked for: `before` asks that of number `i`. */
#define BISECT(i, n, before)                                                                       \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (before)                                                                \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

/* Hash table from 64-bit keys to 64-bit values. */
struct hmap {
	uint64_t *key, *val;
	uint8_t *used;
	size_t n, cap;
};
bool hmap_get(const struct hmap *, uint64_t key, uint64_t *val);
void hmap_put(struct hmap *, uint64_t key, uint64_t val);
bool hmap_del(struct hmap *, uint64_t key);
void hmap_free(struct hmap *);
uint64_t hash_bytes(const void *, size_t);                 /* xxHash, XXH3-64 */
uint64_t hash_seeded(const void *, size_t, uint64_t seed); /* the same, with a seed */
/* Of two numbers; here, for it is part of every look-up. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u ^ ((b << 31 | b >> 33) * 0xc2b2ae3d27d4eb4fu);
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 29;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 32;
}

/* Interval map: disjoint half-open ranges with a value; adding splits what it covers. */
struct imap_item {
	uint64_t lo, hi, val;
};
struct imap {
	struct imap_item *p;
	size_t n, cap;
};
void imap_set(struct imap *, uint64_t lo, uint64_t hi, uint64_t val);
void imap_clear(struct imap *, uint64_t lo, uint64_t hi);
const struct imap_item *imap_find(const struct imap *, uint64_t at); /* NULL: none */
void imap_free(struct imap *);

double now_seconds(void); /* of a clock that only goes on */
/* The first runnable file of that name on PATH, or the name itself if it has a slash and is
 * runnable; xmalloc'ed. NULL: there is none. */
char *find_program(const char *name);
/* The folder of the program that runs, as of the first call: inside a sandbox with other mounts the
 * kernel may tell another. "": it could not be told. */
const char *own_folder(void);

/* Times and sizes as people write them: "90", "90s", "1.5m", "2h", "200ms" are seconds, "4096", "64k",
 * "1.5G" bytes. False: it is neither. */
bool units_time(const char *, double *seconds);
bool units_has_unit(const char *); /* it ends with a letter */
bool units_size(const char *, uint64_t *bytes);

/*
 * A table that people choose from by name, as a function: the name of row i and what it means, NULL past the
 * last. The default is the first, where nothing else is said.
 */
typedef const char *name_at(size_t i, const char **about);
size_t name_find(name_at *, const char *name, size_t len); /* SIZE_MAX: there is none */
/* All that stands between the separators, of which there may be none, is in the table. */
bool names_known(name_at *, const char *names, const char *separator);

/* Growable string. */
struct buf {
	char *p;
	size_t n, cap;
};
void buf_add(struct buf *, const void *, size_t);
void buf_puts(struct buf *, const char *);
void buf_printf(struct buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_free(struct buf *);

/* All of it, however many calls that takes; 0, or -1 with errno. */
int write_all(int fd, const void *, size_t);
int write_all_at(int fd, const void *, size_t, uint64_t off);
int make_folders(const char *path, struct err *); /* with its parents; one that is there is fine */
/* *common, NULL at first, becomes the folder that it and an absolute path have in common, with a slash. */
void common_folder(char **common, const char *path);
/* Where a path below that folder is in another, whose folders it makes; malloc'ed. */
char *place_below(const char *dir, const char *common, const char *path);
int copy_sparse(int from, int to); /* a file into an empty one; zeros and holes become holes */
/* A word as a POSIX shell reads it, in single quotes if it needs any. */
void shell_quote(struct buf *, const char *word, size_t n);

/* Names that come from elsewhere may hold sequences that change what a terminal does: characters
 * that control it, but for newlines and tabs, become '?'. */
void printable(char *, size_t n);
void stdout_printable(bool on); /* for all that is printed from now on, or no longer */

/* Messages on stderr, prefixed with the tool's name. Progress only on a terminal. */
void msg_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern bool msg_quiet; /* --quiet: no msg_info */
extern bool msg_plain; /* --ci: no colour, no progress line */
bool color_wanted(FILE *);
void progress(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* overwrites itself */
void progress_end(void);

#endif
