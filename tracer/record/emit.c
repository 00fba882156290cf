/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes records into the ring (src/trace/format.h shows the layout), and assigns the ids in them.
 *
 * The writer owns `head` and need not look at `tail` until `safe`: the point where the ring is
 * full, where its end is reached, or where a quarter of it has been written, whichever comes first.
 * So a record normally costs a few plain stores.
 */
#include "record.h"

struct record record = { .exit_tid = VG_INVALID_THREADID };

static struct {
	struct ring_header *shm;
	volatile struct ring_slot *slot;
	UChar *data;
	ULong head, safe;
	UInt requests; /* answered so far */
	Bool borrowed; /* the slot is that of the process that this one was forked from */
	UInt thread;   /* whose events follow, as told to holdfast */
} ring;

#define MASK ((ULong)RING_BYTES - 1)
#define QUARTER ((ULong)RING_BYTES / 4)
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

static void futex_wait(volatile UInt *word, UInt seen, UInt ms)
{
	struct vki_timespec ts = { ms / 1000, (ms % 1000) * 1000000L };
	VG_(do_syscall)(__NR_futex, (UWord)word, FUTEX_WAIT, seen, (UWord)&ts, 0, 0, 0, 0);
}

static void ring_doorbell(void)
{
	__atomic_add_fetch(&ring.shm->doorbell, 1, __ATOMIC_SEQ_CST);
	VG_(do_syscall)(__NR_futex, (UWord)&ring.shm->doorbell, FUTEX_WAKE, 1, 0, 0, 0, 0, 0);
}

static Bool consumer_gone(void)
{
	return ring.shm->stop || VG_(kill)((Int)ring.shm->consumer, 0) != 0;
}

static void give_up(void)
{
	record.on = False;
	ring.slot->state = RING_DONE;
	region_forget_all();
}

/* Makes room for `bytes` in one piece. False: holdfast does not read the ring any more. */
static Bool reserve_slow(ULong bytes)
{
	ULong left = RING_BYTES - (ring.head & MASK), tail;
	if (bytes > left) { /* does not fit before the end: pad, nwords 0 = to the end */
		if (!reserve_slow(left))
			return False;
		*(ULong *)(ring.data + (ring.head & MASK)) = TRACE_PAD;
		ring.head += left;
		__atomic_store_n(&ring.slot->head, ring.head, __ATOMIC_RELEASE);
		left = RING_BYTES;
	}
	while ((tail = __atomic_load_n(&ring.slot->tail, __ATOMIC_ACQUIRE)) + RING_BYTES <
	       ring.head + bytes) {
		UInt seen = ring.slot->room;
		ring_doorbell();
		if (__atomic_load_n(&ring.slot->tail, __ATOMIC_ACQUIRE) == tail)
			futex_wait(&ring.slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return False;
		}
	}
	if (ring.shm->stop) {
		give_up();
		return False;
	}
	ring_doorbell();
	ring.safe = tail + RING_BYTES;
	if (ring.safe > ring.head + left)
		ring.safe = ring.head + left;
	if (ring.safe > ring.head + bytes + QUARTER)
		ring.safe = ring.head + bytes + QUARTER;
	return True;
}

static inline ULong *reserve(UInt words)
{
	ULong bytes = (ULong)words * 8;
	if (UNLIKELY(ring.head + bytes > ring.safe) && !reserve_slow(bytes))
		return NULL;
	return (ULong *)(ring.data + (ring.head & MASK));
}

static inline void commit(UInt words)
{
	ring.head += (ULong)words * 8;
	__atomic_store_n(&ring.slot->head, ring.head, __ATOMIC_RELEASE);
}

static inline ULong word0(UInt kind, UInt flags, UInt words, UInt site)
{
	return (ULong)kind | (ULong)flags << 8 | (ULong)words << 16 | (ULong)site << 32;
}

void emit(UInt kind, UInt flags, UInt site, UInt ctx, UInt nargs, const ULong *args,
	  const void *payload, UInt size)
{
	UInt words = 2 + nargs + (size + 7) / 8;
	ULong *w;
	if (!record.on || (w = reserve(words)) == NULL)
		return;
	if (ctx && (kind < TRACE_KINDS || kind == TRACE_DEF_RANGE))
		record.told = ctx;
	w[0] = word0(kind, flags, words, site);
	w[1] = (ULong)ctx | (ULong)size << 32;
	for (UInt i = 0; i < nargs; i++)
		w[2 + i] = args[i];
	if (size) {
		w[words - 1] = 0;
		VG_(memcpy)(w + 2 + nargs, payload, size);
	}
	commit(words);
}

void emit_store(Addr a, UInt size, UInt flags, UInt site, UInt ctx)
{
	UInt words = 3 + (size + 7) / 8;
	ULong *w;
	if (!record.on || (w = reserve(words)) == NULL)
		return;
	record.told = ctx;
	w[0] = word0(TRACE_STORE, flags, words, site);
	w[1] = (ULong)ctx | (ULong)size << 32;
	w[2] = a;
	if (LIKELY(size == 8)) {
		w[3] = *(ULong *)a;
	} else {
		w[words - 1] = 0;
		VG_(memcpy)(w + 3, (void *)a, size);
	}
	commit(words);
	if (UNLIKELY(record.tell_stores)) {
		pointers_stored(a, size);
		if (opt.loads)
			loads_stored(a, size);
	}
}

enum ring_answer emit_and_wait(UInt kind, UInt nargs, const ULong *args, const void *payload,
			       UInt size)
{
	return emit_request(kind, 0, 0, nargs, args, payload, size);
}

/* Sends a record and waits until holdfast has answered it. */
enum ring_answer emit_request(UInt kind, UInt site, UInt ctx, UInt nargs, const ULong *args,
			      const void *payload, UInt size)
{
	emit(kind, 0, site, ctx, nargs, args, payload, size);
	if (!record.on)
		return RING_ANSWER_FAILED;
	ring.requests++;
	ring_doorbell();
	while ((Int)(ring.slot->answered - ring.requests) < 0) {
		UInt seen = ring.slot->room;
		if ((Int)(ring.slot->answered - ring.requests) >= 0)
			break;
		futex_wait(&ring.slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return RING_ANSWER_FAILED;
		}
	}
	return (enum ring_answer)ring.slot->answer;
}

/*
 * Waits until holdfast has read all records of this process. Each process has a ring of its own,
 * and nothing else orders them: what another process does after this one has communicated with
 * it, by any system call, must be read after what this one did before.
 */
void emit_sync(void)
{
	if (!record.on || ring.slot->tail == ring.head)
		return;
	ring_doorbell();
	for (UInt seen = ring.slot->room; ring.slot->tail != ring.head; seen = ring.slot->room) {
		futex_wait(&ring.slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return;
		}
	}
}

void emit_thread(UInt thread)
{
	ULong arg = thread;
	if (thread == ring.thread)
		return;
	ring.thread = thread;
	emit(TRACE_DEF_SWITCH, 0, 0, 0, 1, &arg, NULL, 0);
}

void emit_kept(UInt thread, UInt kept)
{
	ULong arg = thread | ((ULong)kept + 1) << 32;
	emit(TRACE_DEF_SWITCH, 0, 0, 0, 1, &arg, NULL, 0);
}

/* ---- for processes that share a slot ---- */

void emit_bell(void)
{
	ring_doorbell();
}

ULong emit_position(void)
{
	return ring.head;
}

ULong emit_faults(ULong more)
{
	return __atomic_add_fetch(&ring.shm->faults, more, __ATOMIC_SEQ_CST);
}

Bool emit_is_output(ULong dev, ULong ino)
{
	for (UInt i = 0; i < 2; i++)
		if (ring.shm->output[i].dev == dev && ring.shm->output[i].ino == ino)
			return True;
	return False;
}

Bool emit_nobody(void)
{
	return consumer_gone();
}

void emit_futex_wait(volatile UInt *word, UInt seen, UInt ms)
{
	futex_wait(word, seen, ms);
}

/* File descriptors in records are this process's own from now on. */
void emit_borrow(void)
{
	ring.borrowed = True;
	ring.slot->pid = (UInt)VG_(getpid)();
}

/* ---- interned instructions and strings ---- */

static struct {
	struct intern sites;
	UInt nsites, generation;
	XArray *strings; /* const HChar *, the id is the index */
} known;

UInt emit_site(Addr ip, enum trace_site class, UInt size)
{
	ULong key[3] = { (ULong) class << 32 | size, ip, known.generation };
	UInt *id = intern_at(&known.sites, key);
	if (!*id) {
		ULong args[3] = { ip, class, size };
		*id = ++known.nsites;
		emit(TRACE_DEF_SITE, 0, *id, 0, 3, args, NULL, 0);
	}
	return *id;
}

void emit_sites_stale(void)
{
	known.generation++;
}

UInt emit_string(const HChar *s)
{
	for (Word i = 0; i < VG_(sizeXA)(known.strings); i++)
		if (VG_(strcmp)(*(HChar **)VG_(indexXA)(known.strings, i), s) == 0)
			return (UInt)i;
	HChar *copy = VG_(strdup)("hf.string", s);
	ULong id = (ULong)VG_(addToXA)(known.strings, &copy);
	emit(TRACE_DEF_STRING, 0, 0, 0, 1, &id, s, (UInt)VG_(strlen)(s));
	return (UInt)id;
}

/* ---- start and end ---- */

/* Claims a free slot. After exec, the slot of the previous image is still there: it is closed. */
static Bool claim_slot(enum trace_birth *birth)
{
	UInt pid = (UInt)VG_(getpid)();
	for (UInt i = 0; i < RING_SLOTS; i++)
		if (ring.shm->slot[i].pid == pid && ring.shm->slot[i].state == RING_LIVE) {
			ring.shm->slot[i].state = RING_DONE;
			*birth = TRACE_BIRTH_EXEC;
		}
	for (UInt i = 0; i < RING_SLOTS; i++) {
		UInt want = RING_FREE;
		struct ring_slot *s = &ring.shm->slot[i];
		if (!__atomic_compare_exchange_n(&s->state, &want, RING_CLAIMED, False,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		s->pid = pid;
		s->head = s->tail = 0;
		s->answered = 0;
		ring.slot = s;
		ring.data = (UChar *)ring.shm + RING_HEADER_BYTES + (ULong)i * RING_BYTES;
		ring.head = ring.safe = 0;
		ring.requests = 0;
		ring.thread = 0;
		__atomic_store_n(&s->state, RING_LIVE, __ATOMIC_SEQ_CST);
		return True;
	}
	return False;
}

static void announce_process(enum trace_birth birth, UInt parent)
{
	ULong args[3] = { (ULong)VG_(getpid)(), parent, birth };
	HChar command[4096];
	UInt n = 0;
	for (Word i = -1; i < VG_(sizeXA)(VG_(args_for_client)); i++) {
		const HChar *a = i < 0 ? VG_(args_the_exename)
				       : *(HChar **)VG_(indexXA)(VG_(args_for_client), i);
		UInt len = (UInt)VG_(strlen)(a) + 1;
		if (n + len > sizeof command)
			break;
		VG_(memcpy)(command + n, a, len);
		n += len;
	}
	emit(TRACE_DEF_PROCESS, 0, 0, 0, 3, args, command, n);
}

static Bool map_ring(void)
{
	SysRes fd = VG_(open)(opt.ring, VKI_O_RDWR, 0), m;
	if (sr_isError(fd))
		return False;
	m = VG_(am_shared_mmap_file_float_valgrind)(
		RING_TOTAL_BYTES, VKI_PROT_READ | VKI_PROT_WRITE, (Int)sr_Res(fd), 0);
	VG_(close)((Int)sr_Res(fd));
	if (sr_isError(m))
		return False;
	ring.shm = (struct ring_header *)sr_Res(m);
	return ring.shm->magic == RING_MAGIC && ring.shm->version == RING_VERSION;
}

static void say_no_slot(void)
{
	VG_(umsg)
	("holdfast: more than %u processes at once: process %d (%s) is not recorded\n", RING_SLOTS,
	 VG_(getpid)(), VG_(args_the_exename));
}

void emit_init(void)
{
	enum trace_birth birth = TRACE_BIRTH_START;
	known.strings = VG_(newXA)(VG_(malloc), "hf.strings", VG_(free), sizeof(HChar *));
	if (!map_ring()) {
		VG_(umsg)
		("holdfast: the tracer cannot open %s: start it with `holdfast record`\n",
		 opt.ring);
		VG_(exit)(1);
	}
	if (ring.shm->stop)
		return; /* recording has ended: the program runs untraced */
	if (!claim_slot(&birth)) {
		say_no_slot();
		return;
	}
	record.on = True;
	announce_process(birth, (UInt)VG_(getppid)());
}

/* After fork, in a child that is recorded: ids stay valid, but it has a ring of its own. */
void emit_fork_child(void)
{
	enum trace_birth birth = TRACE_BIRTH_FORK;
	UInt thread = ring.thread,
	     parent = ring.slot ? ring.slot->pid : 0; /* it may be gone by now */
	if (!record.on)
		return;
	if (!claim_slot(&birth)) {
		say_no_slot();
		record.on = False;
		region_forget_all();
		return;
	}
	announce_process(TRACE_BIRTH_FORK, parent);
	emit_thread(thread);
}

void emit_end(void)
{
	ULong arg = 0;
	if (!record.on)
		return;
	if (ring.borrowed) {
		record.on = False;
		ring_doorbell();
		return;
	}
	emit(TRACE_DEF_END, 0, 0, 0, 1, &arg, NULL, 0);
	if (opt.follow_forks)
		emit_sync(); /* before a process that waits for this one continues */
	record.on = False;
	ring.slot->state = RING_DONE;
	ring_doorbell();
}
