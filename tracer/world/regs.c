/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic bytes in guest registers, for each thread, in cells as memory has them.
 *
 * Registers are in groups, one bit each in sym_summary.groups: the generated code tests the groups
 * that a block uses. The core also changes registers and memory: it writes registers after system
 * calls, saves and restores them around signal handlers, and changes mappings.
 */
#include "cell.h"

#define STATE_BYTES ((Int)sizeof(VexGuestAMD64State))
#define OFF(reg) ((Int)offsetof(VexGuestAMD64State, guest_##reg))
#define GROUPS 64
#define OTHERS 20 /* the group of registers that have none of their own */

struct regs {
	UInt count[GROUPS]; /* symbolic bytes of each group */
	ULong groups; /* those whose count is not 0; the current thread's are in sym_summary.groups */
	struct cell cell[STATE_BYTES];
	XArray *aside; /* struct regs, saved around signal handlers */
};

static struct {
	struct regs **of; /* by Valgrind's thread id */
	struct regs *cur;
	ThreadId cur_tid;
} threads;

/* -1: this part of the guest state is never symbolic. */
static Int group_of(Int offset)
{
	if (offset >= OFF(RAX) && offset < OFF(CC_OP))
		return (offset - OFF(RAX)) / 8;
	if (offset >= OFF(CC_OP) && offset < OFF(DFLAG))
		return 16 + (offset - OFF(CC_OP)) / 8;
	if (offset >= OFF(YMM0) && offset < OFF(YMM16))
		return 32 + (offset - OFF(YMM0)) / 32;
	if (offset < OFF(RAX) || (offset >= OFF(RIP) && offset < OFF(ACFLAG)) ||
	    (offset >= OFF(EMNOTE) && offset < OFF(GS_CONST)) || offset >= OFF(GS_CONST) + 8)
		return -1;
	return OTHERS;
}

ULong sym_group(Int offset, Int size)
{
	ULong bits = 0;
	for (Int i = 0; i < size; i++) {
		Int g = group_of(offset + i);
		if (g >= 0)
			bits |= (ULong)1 << g;
	}
	return bits;
}

static void set(Int offset, struct cell c)
{
	struct cell *to = &threads.cur->cell[offset];
	Int g = group_of(offset);
	if (!to->node != !c.node && g >= 0) {
		threads.cur->count[g] += c.node ? 1 : (UInt)-1;
		if (threads.cur->count[g])
			sym_summary.groups |= (ULong)1 << g;
		else
			sym_summary.groups &= ~((ULong)1 << g);
	}
	if (g >= 0)
		*to = c;
}

void sym_reg_get(Int offset, struct sym_value *r)
{
	UInt n = cell_bytes(r);
	for (UInt i = 0; i * 64 < r->bits; i++)
		r->node[i] = cell_join(&threads.cur->cell[offset + (Int)i * 8], n, r->v[i]);
}

void sym_reg_put(Int offset, const struct sym_value *x)
{
	UInt n = cell_bytes(x);
	for (UInt i = 0; i * 64 < x->bits; i++)
		for (UInt k = 0; k < n; k++)
			set(offset + (Int)(i * 8 + k), cell_of(x->node[i], k));
}

void sym_reg_clear(Int offset, Int size)
{
	for (Int i = 0; sym_summary.groups && i < size; i++)
		set(offset + i, (struct cell){ 0, 0 });
}

UInt sym_reg_node(Int offset)
{
	return threads.cur->cell[offset].node;
}

/* ---- threads ---- */

static struct regs *regs_of(ThreadId tid)
{
	if (!threads.of)
		threads.of = VG_(calloc)("hf.regs", VG_N_THREADS, sizeof *threads.of);
	if (!threads.of[tid])
		threads.of[tid] = VG_(calloc)("hf.regs", 1, sizeof **threads.of);
	return threads.of[tid];
}

void sym_switch(ThreadId tid)
{
	if (tid == threads.cur_tid)
		return;
	if (threads.cur)
		threads.cur->groups = sym_summary.groups;
	threads.cur_tid = tid;
	threads.cur = regs_of(tid);
	sym_summary.groups = threads.cur->groups;
}

/* A new thread's registers are its parent's. */
void sym_thread(ThreadId parent, ThreadId tid)
{
	struct regs *to = regs_of(tid);
	XArray *aside = to->aside;
	if (threads.cur)
		threads.cur->groups = sym_summary.groups;
	if (parent == VG_INVALID_THREADID)
		VG_(memset)(to, 0, sizeof *to);
	else
		*to = *regs_of(parent);
	to->aside = aside;
	if (aside)
		VG_(dropTailXA)(aside, VG_(sizeXA)(aside));
	if (to == threads.cur)
		sym_summary.groups = threads.cur->groups;
}

/* ---- what the core does ---- */

static void wrote_register(CorePart part, ThreadId tid, PtrdiffT offset, SizeT size)
{
	sym_switch(tid);
	sym_reg_clear((Int)offset, (Int)size);
}

/*
 * A handler starts with concrete registers; the saved ones are restored when it returns. Handlers
 * that never return leave their copy on the stack, which matters only if one below them returns.
 */
void sym_signal(ThreadId tid)
{
	sym_switch(tid);
	/* The address of a slow block must not become visible to the program. */
	VG_(set_IP)(tid, VG_(get_IP)(tid) & ~SYM_BLOCK_SLOW);
	if (!threads.cur->aside)
		threads.cur->aside =
			VG_(newXA)(VG_(malloc), "hf.aside", VG_(free), sizeof *threads.cur);
	threads.cur->groups = sym_summary.groups;
	VG_(addToXA)(threads.cur->aside, threads.cur);
	sym_reg_clear(0, STATE_BYTES);
}

static void handler_returned(ThreadId tid, Int sig)
{
	XArray *aside;
	Word n;
	sym_switch(tid);
	aside = threads.cur->aside;
	n = aside ? VG_(sizeXA)(aside) : 0;
	if (!n)
		return;
	*threads.cur = *(struct regs *)VG_(indexXA)(aside, n - 1);
	threads.cur->aside = aside;
	sym_summary.groups = threads.cur->groups;
	VG_(dropTailXA)(aside, 1);
}

static void mapped(Addr a, SizeT len, Bool r, Bool w, Bool x, ULong handle)
{
	sym_clear(a, len);
}

static void grown(Addr a, SizeT len, ThreadId tid)
{
	sym_clear(a, len);
}

void sym_track(void)
{
	VG_(track_post_reg_write)(wrote_register);
	VG_(track_post_deliver_signal)(handler_returned);
	VG_(track_new_mem_mmap)(mapped);
	VG_(track_new_mem_brk)(grown);
	VG_(track_die_mem_munmap)(sym_clear);
	VG_(track_die_mem_brk)(sym_clear);
	VG_(track_copy_mem_remap)(sym_move);
}
