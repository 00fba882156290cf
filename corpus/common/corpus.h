/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame shared by all corpus programs: a program fills in one struct corpus_program and its
 * main() calls corpus_main(). README.md describes the command line and the result lines.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an operation went; decides the result line. */
enum corpus_result {
	CORPUS_NEW,   /* "new"      the key was not there and is now */
	CORPUS_OLD,   /* "old V"    there was a value V, now replaced or gone */
	CORPUS_VALUE, /* "V"        the value asked for */
	CORPUS_NONE,  /* "none"     no such key; nothing changed */
	CORPUS_FULL,  /* "full"     no room; nothing changed */
	CORPUS_OK,    /* "ok"       done, and there is no more to say */
	CORPUS_NA     /* "na"       the structure has no such operation */
};

struct corpus_pair {
	uint64_t key;
	uint64_t value;
};

/*
 * Keys are 1 .. 2^63-1, values 1 .. 2^63-1. `open` maps the pool (see corpus_pool_map), formats it
 * when it is new, otherwise runs the structure's own recovery, and returns the program's handle;
 * NULL with errno set when the file cannot be mapped. `check` verifies every invariant and calls
 * corpus_wrong() for each one that does not hold; it must survive any contents. An operation that
 * a structure does not have is a NULL pointer. `scan` fills in at most n pairs, returns how many.
 */
struct corpus_program {
	const char *name;
	void *(*open)(const char *path);
	void (*close)(void *store);
	void (*check)(void *store);
	enum corpus_result (*put)(void *store, uint64_t key, uint64_t value, uint64_t *out);
	enum corpus_result (*get)(void *store, uint64_t key, uint64_t *out);
	enum corpus_result (*del)(void *store, uint64_t key, uint64_t *out);
	enum corpus_result (*upd)(void *store, uint64_t key, uint64_t value, uint64_t *out);
	size_t (*scan)(void *store, uint64_t key, size_t n, struct corpus_pair *out);
};

#define CORPUS_SCAN_MAX 64

int corpus_main(const struct corpus_program *program, int argc, char **argv);

/* Reports a broken invariant. `recover` prints it and exits 1; `run` keeps silent. Only the first 20
 * are printed. */
void corpus_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Maps the pool file, MAP_SHARED, at `hint` if that is not NULL (and exactly there: only for
 * programs that store absolute pointers). The file is whole pages. A file that is missing, of
 * another size, or whose first eight bytes are not `magic` was never completely created: it is
 * emptied (all zero bytes) and *fresh set to 1; the caller formats it and stores `magic` at its
 * start last of all.
 */
void *corpus_pool_map(const char *path, size_t size, uint64_t magic, void *hint, int *fresh);
void corpus_pool_unmap(void *base, size_t size);

#ifdef __cplusplus
}
#endif

#endif
