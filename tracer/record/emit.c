/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records into the ring (src/trace/format.h draws them), and the ids that go with them.
 *
 * The writer owns `head`; it may run ahead freely until `safe`, the nearest of: the ring is
 * full, the ring's end is reached, a quarter is done. Only then does it look at the other
 * side, so that a record costs a few plain stores.
 */
#include "record.h"

Bool emit_on = False;

static struct ring_header *shm;
static volatile struct ring_slot *slot;
static UChar *ring;
static ULong head, safe;
static UInt requests;       /* answered so far */
static Bool borrowed;       /* the slot is that of the process that this one was forked from */
static UInt current_thread; /* whose events follow, as told to holdfast */

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
	__atomic_add_fetch(&shm->doorbell, 1, __ATOMIC_SEQ_CST);
	VG_(do_syscall)(__NR_futex, (UWord)&shm->doorbell, FUTEX_WAKE, 1, 0, 0, 0, 0, 0);
}

static Bool consumer_gone(void)
{
	return shm->stop || VG_(kill)((Int)shm->consumer, 0) != 0;
}

static void give_up(void)
{
	emit_on = False;
	slot->state = RING_DONE;
	region_forget_all();
}

/* Makes room for `bytes` in one piece. False: nobody listens any more. */
static Bool reserve_slow(ULong bytes)
{
	ULong left = RING_BYTES - (head & MASK), tail;
	if (bytes > left) { /* does not fit before the end: pad, nwords 0 = to the end */
		if (!reserve_slow(left))
			return False;
		*(ULong *)(ring + (head & MASK)) = TRACE_PAD;
		head += left;
		__atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
		left = RING_BYTES;
	}
	while ((tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE)) + RING_BYTES <
	       head + bytes) {
		UInt seen = slot->room;
		ring_doorbell();
		if (__atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE) == tail)
			futex_wait(&slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return False;
		}
	}
	if (shm->stop) {
		give_up();
		return False;
	}
	ring_doorbell();
	safe = tail + RING_BYTES;
	if (safe > head + left)
		safe = head + left;
	if (safe > head + bytes + QUARTER)
		safe = head + bytes + QUARTER;
	return True;
}

static inline ULong *reserve(UInt words)
{
	ULong bytes = (ULong)words * 8;
	if (UNLIKELY(head + bytes > safe) && !reserve_slow(bytes))
		return NULL;
	return (ULong *)(ring + (head & MASK));
}

static inline void commit(UInt words)
{
	head += (ULong)words * 8;
	__atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
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
	if (!emit_on || (w = reserve(words)) == NULL)
		return;
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
	if (!emit_on || (w = reserve(words)) == NULL)
		return;
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
	if (UNLIKELY(opt.loads))
		loads_stored(a, size);
}

/* Sends a record and waits until holdfast has dealt with it. */
Bool emit_and_wait(UInt kind, UInt nargs, const ULong *args, const void *payload, UInt size)
{
	emit(kind, 0, 0, 0, nargs, args, payload, size);
	if (!emit_on)
		return False;
	requests++;
	ring_doorbell();
	while ((Int)(slot->answered - requests) < 0) {
		UInt seen = slot->room;
		if ((Int)(slot->answered - requests) >= 0)
			break;
		futex_wait(&slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return False;
		}
	}
	return slot->answer == RING_ANSWER_OK;
}

/*
 * Waits until holdfast has taken all that this process has said. Each process has a ring of
 * its own, and nothing else orders them: what others do after hearing from this process, by
 * whatever system call, must be read after what it did before.
 */
void emit_sync(void)
{
	if (!emit_on || slot->tail == head)
		return;
	ring_doorbell();
	for (UInt seen = slot->room; slot->tail != head; seen = slot->room) {
		futex_wait(&slot->room, seen, 100);
		if (consumer_gone()) {
			give_up();
			return;
		}
	}
}

void emit_thread(UInt thread)
{
	ULong arg = thread;
	if (thread == current_thread)
		return;
	current_thread = thread;
	emit(TRACE_DEF_SWITCH, 0, 0, 0, 1, &arg, NULL, 0);
}

/* ---- for processes that share a slot ---- */

void emit_bell(void)
{
	ring_doorbell();
}

ULong emit_position(void)
{
	return head;
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
	borrowed = True;
	slot->pid = (UInt)VG_(getpid)();
}

/* ---- interned instructions and strings ---- */

struct site {
	Addr ip;
	UInt class, size, generation;
	UInt id;
};
static struct site *sites; /* open addressing, power of two */
static UInt nsites, sites_cap, site_generation;
static XArray *strings; /* const HChar *, the id is the index */

static UInt site_slot(const struct site *tab, UInt cap, const struct site *key)
{
	ULong h = (key->ip ^ (ULong)key->class << 56 ^ (ULong)key->size << 40) *
		  0x9E3779B97F4A7C15ull;
	UInt i = (UInt)(h >> 32) & (cap - 1);
	while (tab[i].id && !(tab[i].ip == key->ip && tab[i].class == key->class &&
			      tab[i].size == key->size && tab[i].generation == key->generation))
		i = (i + 1) & (cap - 1);
	return i;
}

static void sites_grow(void)
{
	UInt cap = sites_cap ? sites_cap * 2 : 4096;
	struct site *tab = VG_(calloc)("hf.sites", cap, sizeof *tab);
	for (UInt i = 0; i < sites_cap; i++)
		if (sites[i].id)
			tab[site_slot(tab, cap, &sites[i])] = sites[i];
	if (sites)
		VG_(free)(sites);
	sites = tab;
	sites_cap = cap;
}

UInt emit_site(Addr ip, enum trace_site class, UInt size)
{
	struct site key = { ip, class, size, site_generation, 0 };
	if (nsites * 2 >= sites_cap)
		sites_grow();
	UInt i = site_slot(sites, sites_cap, &key);
	if (sites[i].id == 0) {
		ULong args[3] = { ip, class, size };
		key.id = ++nsites;
		sites[i] = key;
		emit(TRACE_DEF_SITE, 0, key.id, 0, 3, args, NULL, 0);
	}
	return sites[i].id;
}

void emit_sites_stale(void)
{
	site_generation++;
}

UInt emit_string(const HChar *s)
{
	for (Word i = 0; i < VG_(sizeXA)(strings); i++)
		if (VG_(strcmp)(*(HChar **)VG_(indexXA)(strings, i), s) == 0)
			return (UInt)i;
	HChar *copy = VG_(strdup)("hf.string", s);
	ULong id = (ULong)VG_(addToXA)(strings, &copy);
	emit(TRACE_DEF_STRING, 0, 0, 0, 1, &id, s, (UInt)VG_(strlen)(s));
	return (UInt)id;
}

/* ---- start and end ---- */

/* Takes a free slot; the previous image of an exec'd process has left its own behind. */
static Bool claim_slot(enum trace_birth *birth)
{
	UInt pid = (UInt)VG_(getpid)();
	for (UInt i = 0; i < RING_SLOTS; i++)
		if (shm->slot[i].pid == pid && shm->slot[i].state == RING_LIVE) {
			shm->slot[i].state = RING_DONE;
			*birth = TRACE_BIRTH_EXEC;
		}
	for (UInt i = 0; i < RING_SLOTS; i++) {
		UInt want = RING_FREE;
		struct ring_slot *s = &shm->slot[i];
		if (!__atomic_compare_exchange_n(&s->state, &want, RING_CLAIMED, False,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		s->pid = pid;
		s->head = s->tail = 0;
		s->answered = 0;
		slot = s;
		ring = (UChar *)shm + RING_HEADER_BYTES + (ULong)i * RING_BYTES;
		head = safe = 0;
		requests = 0;
		current_thread = 0;
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
	shm = (struct ring_header *)sr_Res(m);
	return shm->magic == RING_MAGIC && shm->version == RING_VERSION;
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
	strings = VG_(newXA)(VG_(malloc), "hf.strings", VG_(free), sizeof(HChar *));
	if (!map_ring()) {
		VG_(umsg)
		("holdfast: the tracer cannot open %s: start it with `holdfast record`\n",
		 opt.ring);
		VG_(exit)(1);
	}
	if (shm->stop)
		return; /* recording has ended: run on untraced */
	if (!claim_slot(&birth)) {
		say_no_slot();
		return;
	}
	emit_on = True;
	announce_process(birth, (UInt)VG_(getppid)());
}

/* After fork, in a child that is followed: the same ids go on, in a ring of its own. */
void emit_fork_child(void)
{
	enum trace_birth birth = TRACE_BIRTH_FORK;
	UInt thread = current_thread, parent = slot ? slot->pid : 0; /* it may be gone by now */
	if (!emit_on)
		return;
	if (!claim_slot(&birth)) {
		say_no_slot();
		emit_on = False;
		region_forget_all();
		return;
	}
	announce_process(TRACE_BIRTH_FORK, parent);
	emit_thread(thread);
}

void emit_end(void)
{
	ULong arg = 0;
	if (!emit_on)
		return;
	if (borrowed) {
		emit_on = False;
		ring_doorbell();
		return;
	}
	emit(TRACE_DEF_END, 0, 0, 0, 1, &arg, NULL, 0);
	if (opt.follow_forks)
		emit_sync(); /* before whoever waits for this process goes on */
	emit_on = False;
	slot->state = RING_DONE;
	ring_doorbell();
}
