/* SPDX-License-Identifier: BSD-3-Clause */
/* The producer's side of the ring, as a tracer has it: for tests, in a forked child. */
#ifndef HOLDFAST_TESTS_TRACE_PRODUCER_H
#define HOLDFAST_TESTS_TRACE_PRODUCER_H

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace_util.h"

struct producer {
	struct ring_header *ring;
	struct ring_slot *slot;
	uint8_t *data;
	uint64_t head;
	uint32_t requests;
	uint64_t full; /* how often it had to wait for room */
};

static inline void futex(uint32_t *at, int op, uint32_t v)
{
	struct timespec t = { 1, 0 };
	syscall(SYS_futex, at, op, v, op == FUTEX_WAIT ? &t : NULL, NULL, 0);
}

static inline void ring_bell(struct producer *p)
{
	__atomic_fetch_add(&p->ring->doorbell, 1, __ATOMIC_RELEASE);
	futex(&p->ring->doorbell, FUTEX_WAKE, 1);
}

/* Opens the ring by its descriptor in the consumer, as a tracer does; inherited here. */
static inline void claim(struct producer *p, int fd)
{
	char *m = mmap(NULL, RING_TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		_exit(100);
	*p = (struct producer){ .ring = (struct ring_header *)m };
	if (p->ring->magic != RING_MAGIC || p->ring->version != RING_VERSION)
		_exit(101);
	for (unsigned i = 0; i < RING_SLOTS; i++) {
		uint32_t expect = RING_FREE;
		struct ring_slot *s = &p->ring->slot[i];
		if (!__atomic_compare_exchange_n(&s->state, &expect, RING_CLAIMED, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		p->slot = s;
		p->data = (uint8_t *)m + RING_HEADER_BYTES + (size_t)i * RING_BYTES;
		s->pid = (uint32_t)getpid();
		s->head = s->tail = 0;
		__atomic_store_n(&s->state, RING_LIVE, __ATOMIC_RELEASE);
		return;
	}
	_exit(102);
}

static inline void publish(struct producer *p)
{
	__atomic_store_n(&p->slot->head, p->head, __ATOMIC_RELEASE);
}

/* False: holdfast wants nothing more. */
static inline bool wait_for_room(struct producer *p, uint64_t bytes)
{
	for (;;) {
		uint32_t room = __atomic_load_n(&p->slot->room, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&p->ring->stop, __ATOMIC_ACQUIRE))
			return false;
		if (p->head + bytes - __atomic_load_n(&p->slot->tail, __ATOMIC_ACQUIRE) <=
		    RING_BYTES)
			return true;
		p->full++;
		publish(p);
		ring_bell(p);
		futex(&p->slot->room, FUTEX_WAIT, room);
	}
}

static inline void put_words(struct producer *p, const uint64_t *w, uint64_t n)
{
	uint64_t bytes = n * 8, to_end = RING_BYTES - p->head % RING_BYTES;
	if (bytes > to_end) {
		if (!wait_for_room(p, to_end))
			return;
		*(uint64_t *)(void *)(p->data + p->head % RING_BYTES) = TRACE_PAD;
		p->head += to_end;
	}
	if (!wait_for_room(p, bytes))
		return;
	memcpy(p->data + p->head % RING_BYTES, w, bytes);
	p->head += bytes;
	publish(p);
}

struct rec {
	uint8_t kind, flags;
	uint32_t site, ctx, size;
	unsigned nargs;
	uint64_t arg[TRACE_MAX_ARGS];
	const void *data;
};

static inline void put_rec(struct producer *p, struct rec r)
{
	uint64_t w[2 + TRACE_MAX_ARGS + TRACE_MAX_PAYLOAD / 8], n;
	n = 2 + r.nargs + (r.size + 7) / 8;
	w[n - 1] = 0;
	w[0] = r.kind | (uint64_t)r.flags << 8 | n << 16 | (uint64_t)r.site << 32;
	w[1] = r.ctx | (uint64_t)r.size << 32;
	memcpy(w + 2, r.arg, r.nargs * 8);
	if (r.size)
		memcpy(w + 2 + r.nargs, r.data, r.size);
	put_words(p, w, n);
}

/* Writes a request and waits for its answer. */
static inline uint32_t ask(struct producer *p, struct rec r)
{
	put_rec(p, r);
	p->requests++;
	ring_bell(p);
	for (;;) {
		uint32_t room = __atomic_load_n(&p->slot->room, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&p->slot->answered, __ATOMIC_ACQUIRE) >= p->requests)
			return p->slot->answer;
		if (__atomic_load_n(&p->ring->stop, __ATOMIC_ACQUIRE))
			return 0;
		futex(&p->slot->room, FUTEX_WAIT, room);
	}
}

static inline void announce(struct producer *p, uint32_t parent, uint8_t birth)
{
	put_rec(p, (struct rec){ .kind = TRACE_DEF_PROCESS,
				 .nargs = 3,
				 .size = 5,
				 .data = "prog",
				 .arg = { (uint32_t)getpid(), parent, birth } });
}

static inline void put_exit(struct producer *p)
{
	put_rec(p, (struct rec){ .kind = TRACE_EXIT, .nargs = 2 });
	put_rec(p, (struct rec){ .kind = TRACE_DEF_END, .nargs = 1 });
	__atomic_store_n(&p->slot->state, RING_DONE, __ATOMIC_RELEASE);
	ring_bell(p);
}

static inline uint32_t ask_file(struct producer *p, uint64_t id, int fd, const char *path)
{
	struct stat st;
	if (stat(path, &st))
		_exit(103);
	return ask(p, (struct rec){ .kind = TRACE_DEF_FILE,
				    .nargs = 4,
				    .size = (uint32_t)strlen(path),
				    .data = path,
				    .arg = { id, st.st_dev, st.st_ino, (uint64_t)fd } });
}

#endif
