/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring, as holdfast sees it: a memfd with one slot per traced process (format.h has the
 * layout and the producer's side).
 *
 * A round looks at every slot and takes in what its producer has published, at most a
 * budget's worth, so that one busy process does not keep the others waiting. Room is given
 * back, and the producer woken, while draining goes on. When a round finds nothing, holdfast
 * sleeps on the doorbell: 1 ms at first, twice as long each time, since producers ring only
 * when they cannot go on. Every 100 ms or so it looks whether producers are still alive.
 *
 * The ring's contents are not trusted: a traced program can write anywhere. Words are read
 * once, and lengths are checked against what is published and against the ring's end.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace/ring.h"

#define BUDGET (RING_BYTES / 2)    /* bytes from one slot in a round */
#define GIVE_BACK (RING_BYTES / 4) /* bytes taken before the producer hears of it */
#define ALIVE_MS 100u
#define CLAIM_MS 5000u /* a slot claimed, with no number in it, for longer: its owner died */
#define NAP_MAX 100u

static void futex_wake(uint32_t *at)
{
	syscall(SYS_futex, at, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint8_t *slot_data(const struct trace_live *l, unsigned i)
{
	return (uint8_t *)l->ring + RING_HEADER_BYTES + (size_t)i * RING_BYTES;
}

static unsigned slot_number(const struct trace_live *l, const struct slot *s)
{
	return (unsigned)(s - l->slot);
}

struct trace_live *trace_live_new(struct trace_writer *w, trace_sink *sink, void *arg,
				  struct err *err)
{
	struct trace_live *l = xcalloc(1, sizeof *l);
	struct stat st;
	void *m = MAP_FAILED;
	_Static_assert(sizeof(struct ring_header) <= RING_HEADER_BYTES, "the header fits");
	l->writer = w;
	l->sink = sink;
	l->arg = arg;
	l->nap = 1;
	l->fd = memfd_create("holdfast-ring", MFD_CLOEXEC);
	if (l->fd >= 0 && !ftruncate(l->fd, (off_t)RING_TOTAL_BYTES))
		m = mmap(NULL, RING_TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (m == MAP_FAILED) {
		err_errno(err, EXIT_INTERNAL, "cannot set up shared memory for the tracer");
		trace_live_free(l);
		return NULL;
	}
	l->ring = m;
	l->ring->version = RING_VERSION;
	l->ring->consumer = (uint32_t)getpid();
	for (int i = 0; i < 2; i++)
		if (!fstat(STDOUT_FILENO + i, &st)) {
			l->ring->output[i].dev = st.st_dev;
			l->ring->output[i].ino = st.st_ino;
		}
	__atomic_store_n(&l->ring->magic, RING_MAGIC, __ATOMIC_RELEASE);
	return l;
}

void trace_live_free(struct trace_live *l)
{
	if (!l)
		return;
	if (l->ring) {
		trace_live_stop(l);
		munmap(l->ring, RING_TOTAL_BYTES);
	}
	if (l->fd >= 0)
		close(l->fd);
	trace_verify_free(l->verify);
	trace_defs_free(&l->defs);
	for (size_t i = 0; i < l->process.n; i++) {
		hmap_free(&l->process.p[i].file);
		hmap_free(&l->process.p[i].node);
	}
	VEC_FREE(&l->process);
	VEC_FREE(&l->file);
	VEC_FREE(&l->node);
	hmap_free(&l->file_of);
	hmap_free(&l->node_of);
	hmap_free(&l->forked);
	hmap_free(&l->newest);
	free(l);
}

int trace_live_fd(const struct trace_live *l)
{
	return l->fd;
}

const struct trace_defs *trace_live_defs(const struct trace_live *l)
{
	return &l->defs;
}

uint64_t trace_live_events(const struct trace_live *l)
{
	return l->events;
}

unsigned trace_live_running(const struct trace_live *l)
{
	unsigned n = 0;
	for (unsigned i = 0; i < RING_SLOTS; i++)
		n += __atomic_load_n(&l->ring->slot[i].state, __ATOMIC_ACQUIRE) != RING_FREE;
	return n;
}

static void wake_producer(struct ring_slot *shared)
{
	__atomic_fetch_add(&shared->room, 1, __ATOMIC_RELEASE);
	futex_wake(&shared->room);
}

void trace_live_stop(struct trace_live *l)
{
	__atomic_store_n(&l->ring->stop, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < RING_SLOTS; i++)
		if (__atomic_load_n(&l->ring->slot[i].state, __ATOMIC_RELAXED) != RING_FREE)
			wake_producer(&l->ring->slot[i]);
}

/* --- one slot --- */

static void give_back(struct trace_live *l, struct slot *s)
{
	struct ring_slot *shared = &l->ring->slot[slot_number(l, s)];
	s->published = s->tail;
	__atomic_store_n(&shared->tail, s->tail, __ATOMIC_RELEASE);
	wake_producer(shared);
}

void trace_live_answer(struct trace_live *l, struct slot *s, enum ring_answer answer)
{
	struct ring_slot *shared = &l->ring->slot[slot_number(l, s)];
	__atomic_store_n(&shared->answer, answer, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->answered, 1, __ATOMIC_RELEASE);
	give_back(l, s);
}

/*
 * Takes one record apart. Returns its length in bytes, 0 if it is malformed. The payload
 * stays in the ring: whoever overwrites it only spoils bytes, not lengths.
 */
static uint64_t parse(const struct trace_live *l, const struct slot *s, uint64_t published,
		      struct trace_event *r)
{
	uint64_t pos = s->tail & (RING_BYTES - 1), room = RING_BYTES - pos, length;
	const volatile uint64_t *w =
		(const volatile uint64_t *)(slot_data(l, slot_number(l, s)) + pos);
	uint64_t w0 = w[0], w1;
	unsigned had = r->nargs;
	int nargs = trace_live_args(w0 & 0xff);
	length = (w0 >> 16 & 0xffff) * 8;
	if (published < room)
		room = published;
	r->kind = (uint8_t)w0;
	if (r->kind == TRACE_PAD) {
		if (!length)
			length = RING_BYTES - pos;
		return length <= room ? length : 0;
	}
	if (nargs < 0 || length < 16 || length > room)
		return 0;
	w1 = w[1];
	r->flags = (uint8_t)(w0 >> 8);
	r->nargs = (uint8_t)nargs;
	r->site = (uint32_t)(w0 >> 32);
	r->ctx = (uint32_t)w1;
	r->size = (uint32_t)(w1 >> 32);
	if (r->size > TRACE_MAX_PAYLOAD || (r->kind == TRACE_DEF_END && r->size))
		return 0;
	if (r->kind == TRACE_DEF_END && length == 16)
		r->nargs = 0; /* its argument says nothing and may be left out */
	if (length != 16 + 8u * r->nargs + (r->size + 7u) / 8 * 8)
		return 0;
	for (unsigned i = 0; i < r->nargs; i++)
		r->arg[i] = w[2 + i];
	for (unsigned i = r->nargs; i < had; i++) /* of the last record; the others are zero */
		r->arg[i] = 0;
	r->data = r->size ? (const uint8_t *)(uintptr_t)(w + 2 + r->nargs) : NULL;
	return length;
}

static int malformed(struct trace_live *l, struct slot *s, struct err *err)
{
	uint64_t pos = s->tail & (RING_BYTES - 1), word;
	memcpy(&word, slot_data(l, slot_number(l, s)) + (pos & ~7ull), 8);
	s->bad = true;
	return err_set(err, EXIT_INTERNAL,
		       "process %u: the tracer wrote a record that makes no sense "
		       "(byte %llu of its ring, first word %016llx); its events end here",
		       s->pid, (unsigned long long)s->tail, (unsigned long long)word);
}

/* Up to `head` or the budget. 1: took some, 0, or -1: stop, something failed. */
static int take_records(struct trace_live *l, struct slot *s, uint64_t head, uint64_t budget,
			struct err *err)
{
	struct trace_event r = { 0 };
	uint64_t start = s->tail;
	while (s->tail != head && s->tail - start < budget) {
		uint64_t n = parse(l, s, head - s->tail, &r);
		enum taken taken = TAKEN;
		if (n && r.kind != TRACE_PAD)
			taken = trace_live_take(l, s, &r, err);
		if (!n || taken == TAKEN_BAD)
			return malformed(l, s, err);
		if (taken == TAKEN_LATER)
			return s->tail != start;
		s->tail += n;
		if (s->tail - s->published >= GIVE_BACK)
			give_back(l, s);
		if (taken != TAKEN)
			return -1;
	}
	return 1;
}

static void start_time(uint32_t pid, uint64_t *born, bool *dead);

static void activate(struct trace_live *l, struct slot *s)
{
	const struct ring_slot *shared = &l->ring->slot[slot_number(l, s)];
	bool dead;
	*s = (struct slot){ .active = true,
			    .pid = shared->pid,
			    .process = TRACE_NO_PROCESS,
			    .thread = 1,
			    .tail = shared->tail };
	s->published = s->tail;
	s->bad = s->tail % 8 != 0;
	start_time(s->pid, &s->born, &dead);
}

/* A producer that is not listened to must still not wait for ever. */
static int discard(struct trace_live *l, struct slot *s, uint64_t head)
{
	int work = s->tail != head;
	s->tail = head;
	trace_live_answer(l, s, RING_ANSWER_FAILED);
	return work;
}

int trace_live_drain(struct trace_live *l, unsigned i, uint64_t budget, struct err *err)
{
	struct ring_slot *shared = &l->ring->slot[i];
	struct slot *s = &l->slot[i];
	uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
	uint64_t head;
	int work;
	if (s->draining || (state != RING_LIVE && state != RING_DONE))
		return 0;
	if (!s->active)
		activate(l, s);
	head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
	if (s->bad)
		return discard(l, s, head);
	if (head == s->tail)
		return 0;
	if (head % 8 || head - s->tail > RING_BYTES)
		return malformed(l, s, err);
	s->draining = true;
	work = take_records(l, s, head, budget, err);
	s->draining = false;
	give_back(l, s);
	return work;
}

int trace_live_release(struct trace_live *l, unsigned i, struct err *err)
{
	struct ring_slot *shared = &l->ring->slot[i];
	struct slot *s = &l->slot[i];
	const struct trace_process_def *p = trace_process(&l->defs, s->process);
	int bad = 0;
	if (s->active && p && (s->ended || p->ended)) {
		trace_defs_ended(&l->defs, s->process);
		if (l->writer)
			bad = trace_live_written(l, trace_put_ended(l->writer, s->process, err));
	}
	madvise(slot_data(l, i), RING_BYTES, MADV_REMOVE);
	memset(s, 0, sizeof *s);
	shared->pid = shared->answer = shared->answered = 0;
	shared->head = shared->tail = 0;
	__atomic_store_n(&shared->state, RING_FREE, __ATOMIC_RELEASE);
	return bad ? -1 : 1;
}

/* --- all slots --- */

/* Start time and state from /proc/PID/stat: fields 3, 20 and 22, after the name in brackets. */
static void start_time(uint32_t pid, uint64_t *born, bool *dead)
{
	char path[32], text[1024], state = 0, *p;
	unsigned long long start = 0;
	long threads = 0;
	FILE *f;
	size_t n;
	*born = 0;
	*dead = kill((pid_t)pid, 0) && errno == ESRCH;
	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
		   &state, &threads, &start) != 3)
		return;
	*born = start;
	/* A main thread that has ended is a zombie while the others go on. */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		*dead = true;
}

static bool is_dead(uint32_t pid, uint64_t born)
{
	uint64_t now_born;
	bool dead;
	start_time(pid, &now_born, &dead);
	return dead || (born && now_born && now_born != born);
}

static bool claim_died(struct slot *s, const struct ring_slot *shared, uint64_t now)
{
	if (!s->claimed)
		s->claimed = now;
	return shared->pid ? is_dead(shared->pid, 0) : now - s->claimed > CLAIM_MS;
}

/* Frees the slots of producers that are gone, after taking in what they had published. */
static int bury_dead(struct trace_live *l, uint64_t now, struct err *err)
{
	int work = 0;
	for (unsigned i = 0; i < RING_SLOTS; i++) {
		struct ring_slot *shared = &l->ring->slot[i];
		uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
		struct slot *s = &l->slot[i];
		if (state == RING_FREE)
			continue;
		if (state == RING_CLAIMED ? !claim_died(s, shared, now)
					  : !s->active || !is_dead(s->pid, s->born))
			continue;
		while (state != RING_CLAIMED) {
			int more = trace_live_drain(l, i, UINT64_MAX, err);
			if (more < 0 && !s->bad)
				return -1;
			if (more <= 0 || s->bad)
				break;
		}
		work |= trace_live_release(l, i, err);
	}
	return work;
}

static int round_of_all(struct trace_live *l, struct err *err)
{
	int work = 0;
	l->turn = (l->turn + 1) % RING_SLOTS;
	for (unsigned k = 0; k < RING_SLOTS; k++) {
		unsigned i = (l->turn + k) % RING_SLOTS;
		struct ring_slot *shared = &l->ring->slot[i];
		struct slot *s = &l->slot[i];
		bool done = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) == RING_DONE;
		int got = trace_live_drain(l, i, BUDGET, err);
		if (got < 0)
			return -1;
		if (done && s->active &&
		    s->tail == __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE))
			got = trace_live_release(l, i, err);
		if (got < 0)
			return -1;
		work |= got;
	}
	return work;
}

/* -1: interrupted by a signal. */
static int wait_for_bell(struct trace_live *l, uint32_t bell, unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
	if (syscall(SYS_futex, &l->ring->doorbell, FUTEX_WAIT, bell, &t, NULL, 0) && errno == EINTR)
		return -1;
	return 0;
}

static unsigned least(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t m = a < b ? a : b;
	return (unsigned)(m < c ? m : c);
}

/* One look: records, then, at times, the dead, and what has waited too long in the writer. */
static int look(struct trace_live *l, uint64_t now, struct err *err)
{
	int work = round_of_all(l, err);
	if (work == 0 && now - l->checked >= ALIVE_MS) {
		l->checked = now;
		work = bury_dead(l, now, err);
	}
	if (work < 0)
		return -1;
	if (l->writer && trace_live_written(l, trace_writer_idle(l->writer, err)))
		return -1;
	return work;
}

uint32_t trace_live_bell(const struct trace_live *l)
{
	return __atomic_load_n(&l->ring->doorbell, __ATOMIC_ACQUIRE);
}

int trace_live_step(struct trace_live *l, uint32_t bell, int ms, struct err *err)
{
	int work = look(l, trace_now_ms(), err);
	if (work || ms <= 0)
		return work;
	wait_for_bell(l, bell, (unsigned)ms);
	return look(l, trace_now_ms(), err);
}

int trace_live_poll(struct trace_live *l, int ms, struct err *err)
{
	uint64_t now = trace_now_ms(), end = now + (ms > 0 ? (uint64_t)ms : 0);
	for (;;) {
		uint32_t bell = __atomic_load_n(&l->ring->doorbell, __ATOMIC_ACQUIRE);
		int work = look(l, now, err);
		if (work) {
			l->nap = 1;
			return work;
		}
		now = trace_now_ms();
		if (now >= end)
			return 0;
		if (wait_for_bell(l, bell, least(l->nap, end - now, NAP_MAX)))
			return 0;
		if (l->nap < NAP_MAX)
			l->nap *= 2;
		now = trace_now_ms();
	}
}
