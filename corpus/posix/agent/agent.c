/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent that remembers a few things: POOL.lock keeps a second one out (flock, and the id of the process in
 * it, for people), POOL.a and POOL.b hold the state by turns. Each has a generation and a sum; the newer one that is
 * whole counts. So the one that counts is never written.
 */
#include "common/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ITEMS 64

struct state {
	uint64_t sum;
	uint64_t generation;
	uint64_t count;
	struct corpus_pair item[ITEMS];
	uint64_t again; /* the generation */
};

static struct agent {
	const char *path;
	int lock;
	int broken;
	struct state now;
} the_agent;

static void oops(const char *what)
{
	fprintf(stderr, "agent: %s: %s\n", what, strerror(errno));
	abort();
}

static uint64_t adler(const struct state *s)
{
	uint64_t a = 1, b = 0;
	const unsigned char *p = (const unsigned char *)&s->generation, *end = (const unsigned char *)(s + 1);

	for (; p < end; p++) {
		a = (a + *p) % 4294967291u;
		b = (b + a) % 4294967291u;
	}
	return b << 32 | a;
}

static int open_side(uint64_t generation, int flags)
{
	char name[4096];
#if defined(BUG_AGENT_ONE_FILE)
	generation = 0;
#endif
	snprintf(name, sizeof(name), "%s.%c", the_agent.path, generation % 2 ? 'b' : 'a');
	return open(name, flags, 0644); /* BUG(agent-names) */
}

static void sync_names(void)
{
	char *copy = strdup(the_agent.path);
	int fd = open(dirname(copy), O_RDONLY);

	if (fd < 0 || fsync(fd) < 0)
		oops("folder");
	close(fd);
	free(copy);
}

static void write_state(void)
{
	struct state *s = &the_agent.now;
	int fd, flags = O_WRONLY | O_CREAT, fresh;

#if defined(TRAP_AGENT_TRUNCATE) || defined(BUG_AGENT_CUT_FIRST)
	flags |= O_TRUNC;
#endif
	s->generation++;
#ifdef BUG_AGENT_CUT_FIRST
	s->generation++;
#endif
	s->again = s->generation;
	s->sum = adler(s);
	fresh = s->generation <= 2;
	if ((fd = open_side(s->generation, flags)) < 0) /* BUG(agent-cut-first) */ /* TRAP(agent-truncate) */
		oops("open");
#ifdef TRAP_AGENT_PARTS
	if (pwrite(fd, (const char *)s + 8, sizeof(*s) - 8, 8) < 0 || pwrite(fd, s, 8, 0) < 0) /* TRAP(agent-parts) */
		oops("write");
#else
	if (write(fd, s, sizeof(*s)) != sizeof(*s)) /* BUG(agent-unsynced) BUG(agent-one-file) BUG(agent-no-sum) */
		oops("write");
#endif
#ifndef BUG_AGENT_UNSYNCED
	if (fsync(fd) < 0)
		oops("fsync");
#endif
#ifdef BUG_AGENT_SYNC_LOCK
	if (fsync(the_agent.lock) < 0) /* BUG(agent-sync-lock) */
		oops("fsync");
#endif
	close(fd);
#ifdef TRAP_AGENT_PID
	if (dprintf(the_agent.lock, "%lu\n", s->generation) < 0) /* TRAP(agent-pid) */
		oops("lock");
#endif
#ifdef BUG_AGENT_NAMES
	fresh = 0;
#endif
	if (fresh)
		sync_names();
}

static void read_state(void)
{
	struct state s, *now = &the_agent.now;
	int sides = 0, whole = 0;

	for (uint64_t side = 0; side < 2; side++) {
		int fd = open_side(side, O_RDONLY);

		if (fd < 0)
			continue;
		memset(&s, 0, sizeof(s));
		sides++;
		if (read(fd, &s, sizeof(s)) == sizeof(s) && s.count <= ITEMS) {
#ifdef BUG_AGENT_NO_SUM
			if (s.generation)
#else
			if (s.sum == adler(&s))
#endif
			{
				whole++;
				if (s.generation > now->generation)
					*now = s;
			}
		}
		close(fd);
#ifdef BUG_AGENT_ONE_FILE
		break; /* there is no other side */
#endif
	}
	the_agent.broken = sides == 2 && whole == 0;
}

/* ---- the lock ---- */

static void take_lock(void)
{
	char name[4096], line[32];

	snprintf(name, sizeof(name), "%s.lock", the_agent.path);
#ifdef BUG_AGENT_STALE_LOCK
	the_agent.lock = open(name, O_RDWR | O_CREAT | O_EXCL, 0644); /* BUG(agent-stale-lock) */
	if (the_agent.lock < 0)
		exit(1);
#else
	the_agent.lock = open(name, O_RDWR | O_CREAT, 0644);
	if (the_agent.lock < 0 || flock(the_agent.lock, LOCK_EX | LOCK_NB) < 0 || ftruncate(the_agent.lock, 0) < 0)
		oops(name);
#endif
	if (pwrite(the_agent.lock, line, (size_t)sprintf(line, "%d\n", (int)getpid()), 0) < 0)
		oops(name);
}

static void drop_lock(void)
{
#ifdef BUG_AGENT_STALE_LOCK
	char name[4096];

	snprintf(name, sizeof(name), "%s.lock", the_agent.path);
	unlink(name);
#endif
	close(the_agent.lock);
}

/* ---- operations ---- */

static struct corpus_pair *item_of(uint64_t key)
{
	for (uint64_t i = 0; i < the_agent.now.count; i++)
		if (the_agent.now.item[i].key == key)
			return &the_agent.now.item[i];
	return NULL;
}

static enum corpus_result get(void *store, uint64_t key, uint64_t *out)
{
	struct corpus_pair *item = item_of(key);

	(void)store;
	if (!item)
		return CORPUS_NONE;
	*out = item->value;
	return CORPUS_VALUE;
}

static enum corpus_result upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	if (get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	item_of(key)->value = value;
	write_state();
	return CORPUS_OLD;
}

static enum corpus_result put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	struct state *s = &the_agent.now;

	if (item_of(key))
		return upd(store, key, value, out);
	if (s->count == ITEMS)
		return CORPUS_FULL;
	s->item[s->count++] = (struct corpus_pair){ key, value };
	write_state();
	return CORPUS_NEW;
}

static enum corpus_result del(void *store, uint64_t key, uint64_t *out)
{
	struct state *s = &the_agent.now;

	if (get(store, key, out) == CORPUS_NONE)
		return CORPUS_NONE;
	*item_of(key) = s->item[s->count - 1];
	s->item[--s->count] = (struct corpus_pair){ 0, 0 };
	write_state();
	return CORPUS_OLD;
}

static size_t scan(void *store, uint64_t key, size_t n, struct corpus_pair *out)
{
	size_t found = 0;

	(void)store;
	while (found < n) {
		const struct corpus_pair *best = NULL;

		for (uint64_t i = 0; i < the_agent.now.count; i++) {
			const struct corpus_pair *p = &the_agent.now.item[i];

			if (p->key >= key && (!best || p->key < best->key))
				best = p;
		}
		if (!best)
			break;
		out[found++] = *best;
		key = best->key + 1;
	}
	return found;
}

static void *begin(const char *path)
{
	the_agent.path = path;
	take_lock();
	read_state();
	return &the_agent;
}

static void end(void *store)
{
	(void)store;
	drop_lock();
}

static void check(void *store)
{
	const struct agent *a = store;

	if (a->broken)
		corpus_wrong("both files are damaged");
	if (a->now.generation && a->now.sum != adler(&a->now))
		corpus_wrong("the state is not one");
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = { "agent", begin, end, check, put, get, del, upd, scan };

	return corpus_main(&program, argc, argv);
}
