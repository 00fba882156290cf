/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What system calls write through their pointers without a word from the core, which tells tools of
 * memory that becomes defined: a length or a structure that was defined before is changed silently
 * (accept, recvmsg, select, …).
 *
 *   before   each argument that points into PM: a copy of what is there
 *   stores   by other threads meanwhile, and what the core does tell: into the copies, too
 *   after    what differs from the copy was stored by the kernel
 *
 * Other processes may change shared memory at any time, so this is for programs of one process.
 */
#include "record.h"

#define BYTES 256u /* more than any such structure; arrays of them are cut */
#define MOST 64u

struct pointer {
	ThreadId tid; /* VG_INVALID_THREADID: free */
	Addr a;
	UInt len;
	UChar was[BYTES];
};
static struct {
	struct pointer all[MOST];
	UInt used; /* entries that may be in use */
	Bool off;  /* there is, or was, another process */
} pointers;

static void listen(void)
{
	while (pointers.used && pointers.all[pointers.used - 1].tid == VG_INVALID_THREADID)
		pointers.used--;
	record.tell_stores = opt.loads || pointers.used;
}

static void add(ThreadId tid, Addr a, UInt len)
{
	const struct region *r = region_find(a);
	UInt i = 0;
	while (i < pointers.used && pointers.all[i].tid != VG_INVALID_THREADID)
		i++;
	if (r == NULL || i == MOST)
		return;
	struct pointer *p = &pointers.all[i];
	p->len = region_peek(a, p->was, len < r->hi - a ? len : (UInt)(r->hi - a));
	if (!p->len)
		return;
	p->a = a;
	p->tid = tid;
	if (i == pointers.used)
		pointers.used++;
}

/* FUTEX_WAIT and the like only read. */
static void add_futex(ThreadId tid, const UWord *a)
{
	enum {
		WAKE_OP = 5,
		LOCK_PI = 6,
		UNLOCK_PI,
		TRYLOCK_PI,
		WAIT_REQUEUE_PI = 11,
		CMP_REQUEUE_PI,
		LOCK_PI2
	};
	UInt op = (UInt)a[1] & 0x7f;
	if (op >= LOCK_PI && op != 9 && op != 10 && op <= LOCK_PI2)
		add(tid, a[0], 4);
	if (op == WAKE_OP || op == WAIT_REQUEUE_PI || op == CMP_REQUEUE_PI)
		add(tid, a[4], 4);
}

/* Calls whose pointers are only read, or whose effect on PM is told in other ways. */
static Bool is_told(UInt no)
{
	switch (no) {
	case __NR_write:
	case __NR_writev:
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_process_vm_writev:
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_mremap:
	case __NR_msync:
	case __NR_madvise:
	case __NR_mincore:
	case __NR_clone:
	case __NR_execve:
	case __NR_rt_sigreturn: return True;
	default: return False;
	}
}

void pointers_pre(ThreadId tid, UInt no, const UWord *a, UInt nargs)
{
	pointers_drop(tid);
	if (pointers.off || is_told(no))
		return;
	if (no == __NR_futex)
		add_futex(tid, a);
	for (UInt i = 0; no != __NR_futex && i < nargs && i < 6; i++)
		if (region_granule[(a[i] >> GRANULE_BITS) % GRANULES])
			add(tid, a[i], BYTES);
	listen();
}

static void compare(struct pointer *p, UInt site, UInt ctx)
{
	UChar now[BYTES];
	UInt len = region_peek(p->a, now, p->len);
	for (UInt i = 0, n; i < len; i += n ? n : 1) {
		for (n = 0; i + n < len && now[i + n] != p->was[i + n]; n++)
			;
		if (n && region_covers(p->a + i, n))
			emit_store(p->a + i, n, TRACE_F_KERNEL, site, ctx);
	}
}

void pointers_post(ThreadId tid)
{
	for (UInt i = 0; i < pointers.used; i++)
		if (pointers.all[i].tid == tid) {
			ctx_switch(tid);
			compare(&pointers.all[i], syscall_site(tid), ctx_node());
		}
	pointers_drop(tid);
}

void pointers_drop(ThreadId tid)
{
	if (!pointers.used)
		return;
	for (UInt i = 0; i < pointers.used; i++)
		if (pointers.all[i].tid == tid)
			pointers.all[i].tid = VG_INVALID_THREADID;
	listen();
}

void pointers_shared(void)
{
	pointers.off = True;
	pointers.used = 0;
	listen();
}

void pointers_stored(Addr a, SizeT size)
{
	for (UInt i = 0; i < pointers.used; i++) {
		struct pointer *p = &pointers.all[i];
		Addr lo = a > p->a ? a : p->a, hi = a + size;
		if (hi > p->a + p->len)
			hi = p->a + p->len;
		if (p->tid != VG_INVALID_THREADID && lo < hi)
			VG_(memcpy)(p->was + (lo - p->a), (void *)lo, hi - lo);
	}
}

/* A thread has written to a file, which may be mapped where others wait. */
void pointers_refresh(ThreadId tid)
{
	for (UInt i = 0; i < pointers.used; i++)
		if (pointers.all[i].tid != VG_INVALID_THREADID && pointers.all[i].tid != tid)
			region_peek(pointers.all[i].a, pointers.all[i].was, pointers.all[i].len);
}
