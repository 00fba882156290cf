/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel writes when a thread has ended, and nobody can look any more: the word where its
 * number was becomes 0 (set_tid_address), and locks that it still has are marked (set_robust_list).
 * What they will be is told just before.
 */
#include "record.h"

#define MOST_LOCKS 2048u /* as in the kernel */
#define TID_MASK 0x3fffffffu
#define OWNER_DIED 0x40000000u
#define WAITERS 0x80000000u

struct ending {
	UInt lwp;  /* its number, as the kernel knows it */
	Addr word; /* to be cleared, or 0 */
	Addr list; /* head of the robust list, or 0 */
};
static struct ending *endings; /* by thread */

static struct ending *of(ThreadId tid)
{
	if (endings == NULL)
		endings = VG_(calloc)("hf.endings", VG_N_THREADS, sizeof *endings);
	return &endings[tid];
}

void exits_clear_word(ThreadId tid, Addr word)
{
	of(tid)->word = word;
}

void exits_robust_list(ThreadId tid, Addr head)
{
	of(tid)->lwp = (UInt)VG_(gettid)();
	of(tid)->list = head;
}

static void will_be(ThreadId tid, Addr a, UInt value)
{
	ULong arg = a;
	if (region_covers(a, sizeof value))
		event_at_syscall(tid, TRACE_STORE, TRACE_F_KERNEL, 1, &arg, &value, sizeof value);
}

static Bool readable(Addr a, SizeT len)
{
	return VG_(am_is_valid_for_client)(a, len, VKI_PROT_READ);
}

static void lock_dies(ThreadId tid, UInt lwp, Addr word)
{
	UInt v;
	if (word % sizeof v || !region_covers(word, sizeof v))
		return;
	v = *(UInt *)word;
	if ((v & TID_MASK) == lwp)
		will_be(tid, word, (v & WAITERS) | OWNER_DIED);
}

/* struct robust_list_head: next, offset of the futex in an entry, the entry that is being locked. */
static void locks_die(ThreadId tid, UInt lwp, Addr head)
{
	if (!readable(head, 3 * sizeof(UWord)))
		return;
	UWord off = ((UWord *)head)[1], pending = ((UWord *)head)[2] & ~(UWord)1;
	Addr entry = ((UWord *)head)[0] & ~(UWord)1;
	for (UInt n = 0; n < MOST_LOCKS && entry != head && readable(entry, sizeof(UWord)); n++) {
		if (entry != pending)
			lock_dies(tid, lwp, entry + off);
		entry = *(UWord *)entry & ~(UWord)1;
	}
	if (pending)
		lock_dies(tid, lwp, pending + off);
}

/* `alone`: no other thread is left, and its word stays. */
static void ends(ThreadId tid, ThreadId who, Bool alone)
{
	struct ending e = endings[tid];
	endings[tid] = (struct ending){ 0 };
	if (e.list)
		locks_die(who, e.lwp, e.list);
	if (e.word && !alone)
		will_be(who, e.word, 0);
}

void exits_thread(ThreadId tid)
{
	if (endings && region_ever())
		ends(tid, tid, False);
}

/* The core has all others end before the one that asked for it. */
void exits_process(ThreadId tid)
{
	for (ThreadId i = 1; endings && region_ever() && i < VG_N_THREADS; i++)
		ends(i, tid, i == tid);
}

/* Another process: its numbers are new, and the list of the one thread that it has. */
void exits_forked(void)
{
	for (ThreadId i = 1; endings && i < VG_N_THREADS; i++)
		endings[i] = (struct ending){ 0 };
}
