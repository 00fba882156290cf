/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --fault: a system call that fails, or does only part of its work, as on a disk that is broken or full.
 *
 * Generated code calls us at the end of each block that ends in a system call, before the core sees it, with
 * the call still in the registers. A call that is to fail becomes one that does nothing, and gets its error when that
 * is done; one that is to be short gets a smaller length. So the kernel, the program, and what is recorded agree.
 *
 * Calls are counted over all recorded processes, in the ring's header.
 */
#include "record.h"
#include "trace/format.h"

#define O_DIRECT_ 0x4000
#define KEEP_SIZE 1
#define MOVES_OR_FREES 0x2a /* punch, collapse, insert */

/* What is to happen to a call that has been made, by thread. */
struct pending {
	Bool on;
	UInt no, node;
	ULong error, bytes;
};
static struct pending *pending;
static struct {
	enum trace_fault what;
	UInt call;   /* enum trace_fault_call */
	ULong n;     /* the first that is hit, from 1; bytes */
	ULong later; /* … and all that follow it */
} rule;
static Bool is_on;

enum { NO, A0, A1, A2, A3, A4, A5, REGS };
static const Int reg[REGS] = {
	offsetof(VexGuestAMD64State, guest_RAX), offsetof(VexGuestAMD64State, guest_RDI),
	offsetof(VexGuestAMD64State, guest_RSI), offsetof(VexGuestAMD64State, guest_RDX),
	offsetof(VexGuestAMD64State, guest_R10), offsetof(VexGuestAMD64State, guest_R8),
	offsetof(VexGuestAMD64State, guest_R9),
};

/* "WHAT,CALL,N,LATER" as numbers. */
Bool fault_take(const HChar *text)
{
	ULong v[4];
	for (UInt i = 0; i < 4; i++) {
		HChar *end;
		v[i] = VG_(strtoull10)(text, &end);
		if (end == text || *end != (i < 3 ? ',' : 0))
			return False;
		text = end + 1;
	}
	rule.what = (enum trace_fault)v[0];
	rule.call = (UInt)v[1];
	rule.n = v[2];
	rule.later = v[3];
	is_on = True;
	return True;
}

/* ---- which calls ---- */

static Bool is_write(UInt no)
{
	return no == __NR_write || no == __NR_writev || no == __NR_pwrite64 || no == __NR_pwritev ||
	       no == __NR_pwritev2;
}

static Bool is_call(UInt no)
{
	switch (no) {
	case __NR_fsync:
	case __NR_fdatasync: return rule.call == TRACE_FAULT_FSYNC;
	case __NR_rename:
	case __NR_renameat:
	case __NR_renameat2: return rule.call == TRACE_FAULT_RENAME;
	case __NR_ftruncate: return rule.call == TRACE_FAULT_TRUNCATE;
	case __NR_fallocate:
		return rule.call == TRACE_FAULT_ALLOCATE || rule.what == TRACE_FAULT_FULL;
	default: return is_write(no) && rule.call == TRACE_FAULT_WRITE;
	}
}

static Bool is_vector(UInt no)
{
	return no == __NR_writev || no == __NR_pwritev || no == __NR_pwritev2;
}

static SizeT length(UInt no, const UWord *a)
{
	const struct vki_iovec *v = (const struct vki_iovec *)a[A1];
	SizeT sum = 0;
	if (!is_vector(no))
		return a[A2];
	if (!VG_(am_is_valid_for_client)(a[A1], a[A2] * sizeof *v, VKI_PROT_READ))
		return 0;
	for (UWord i = 0; i < a[A2]; i++)
		sum += v[i].iov_len;
	return sum;
}

/* ---- what happens ---- */

static void set(ThreadId tid, UInt i, UWord value)
{
	VG_(set_shadow_regs_area)(tid, 0, reg[i], sizeof value, (const UChar *)&value);
}

static void fail(ThreadId tid, UInt no, UInt node, UInt error)
{
	set(tid, NO, __NR_getpid);
	pending[tid] = (struct pending){ True, no, node, error, 0 };
}

/* Fewer buffers, or the beginning of the first. */
static Bool shorten_vector(ThreadId tid, UInt no, const UWord *a, SizeT to)
{
	const struct vki_iovec *v = (const struct vki_iovec *)a[A1];
	SizeT sum = 0;
	UWord n = 0, first = 0;
	while (!v[first].iov_len)
		first++;
	while (n < a[A2] && sum + v[n].iov_len <= to)
		sum += v[n++].iov_len;
	if (sum) {
		set(tid, A2, n);
		return True;
	}
	if (no == __NR_pwritev2 && a[A5])
		return False;
	Bool own = no == __NR_writev || (no == __NR_pwritev2 && (Long)a[A3] == -1);
	set(tid, NO, own ? __NR_write : __NR_pwrite64);
	set(tid, A1, (UWord)v[first].iov_base);
	set(tid, A2, to);
	return True;
}

static void shorten(ThreadId tid, UInt no, const UWord *a, UInt node, SizeT to)
{
	if (VG_(fcntl)((Int)a[A0], VKI_F_GETFL, 0) & O_DIRECT_)
		to &= ~(SizeT)4095;
	if (!to || (is_vector(no) && !shorten_vector(tid, no, a, to)))
		return;
	if (!is_vector(no))
		set(tid, A2, to);
	pending[tid] = (struct pending){ True, no, node, 0, to };
}

/* ---- when ---- */

/* By how many bytes the call makes the file longer. */
static ULong growth(UInt no, const UWord *a, SizeT len)
{
	Int fd = (Int)a[A0];
	ULong size = (ULong)VG_(fsize)(fd), off, end;
	if (no == __NR_fallocate) {
		off = a[A2];
		end = a[A1] & (KEEP_SIZE | MOVES_OR_FREES) ? 0 : off + a[A3];
	} else if (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND) {
		off = size;
		end = size + len;
	} else {
		Bool own = no == __NR_write || no == __NR_writev ||
			   (no == __NR_pwritev2 && (Long)a[A3] == -1);
		off = own ? (ULong)VG_(lseek)(fd, 0, VKI_SEEK_CUR) : a[A3];
		end = off + len;
	}
	return end > size ? end - (off > size ? off : size) : 0;
}

/* A disk with room for so many more bytes. */
static void run_full(ThreadId tid, UInt no, const UWord *a, UInt node)
{
	SizeT len = no == __NR_fallocate ? a[A3] : length(no, a);
	ULong more = growth(no, a, len), used = emit_faults(more), over;
	if (!more || used <= rule.n)
		return;
	over = used - rule.n;
	if (no == __NR_fallocate || over >= more) {
		emit_faults(-more);
		fail(tid, no, node, VKI_ENOSPC);
	} else {
		emit_faults(-over);
		shorten(tid, no, a, node, len - over);
	}
}

static void meet(ThreadId tid, UInt no, const UWord *a)
{
	UInt node = NO_FILE;
	if (rule.call != TRACE_FAULT_RENAME) {
		struct vg_stat st;
		if (VG_(fstat)((Int)a[A0], &st) != 0 || !node_is_data((Int)a[A0]))
			return;
		node_touched(tid, (Int)a[A0]);
		node = file_find(&st, (Int)a[A0]);
	}
	if (rule.what == TRACE_FAULT_FULL) {
		run_full(tid, no, a, node);
		return;
	}
	if (rule.what == TRACE_FAULT_SHORT && length(no, a) < 2)
		return;
	ULong count = emit_faults(1);
	if (count < rule.n || (count > rule.n && !rule.later))
		return;
	if (rule.what == TRACE_FAULT_SHORT)
		shorten(tid, no, a, node, length(no, a) / 2);
	else
		fail(tid, no, node, VKI_EIO);
}

static void before_call(void *state)
{
	ThreadId tid = VG_(get_running_tid)();
	UWord a[REGS];
	(void)state; /* VEX passes it to whoever changes it */
	if (!record.on || tid == VG_INVALID_THREADID)
		return;
	for (UInt i = 0; i < REGS; i++)
		VG_(get_shadow_regs_area)(tid, (UChar *)&a[i], 0, reg[i], sizeof a[i]);
	if (!is_call((UInt)a[NO]))
		return;
	if (pending == NULL)
		pending = VG_(calloc)("hf.fault", VG_N_THREADS, sizeof *pending);
	meet(tid, (UInt)a[NO], a);
}

void fault_instrument(IRSB *sb)
{
	if (!is_on || sb->jumpkind != Ijk_Sys_syscall)
		return;
	IRDirty *d = unsafeIRDirty_0_N(0, "before_call", VG_(fnptr_to_fnentry)(before_call),
				       mkIRExprVec_1(IRExpr_GSPTR()));
	VG_(memset)(d->fxState, 0, sizeof d->fxState);
	for (UInt i = 0; i < REGS; i++) {
		d->fxState[i].fx = Ifx_Modify;
		d->fxState[i].offset = (UShort)reg[i];
		d->fxState[i].size = 8;
	}
	d->nFxState = REGS;
	addStmtToIRSB(sb, IRStmt_Dirty(d));
}

void fault_after(ThreadId tid)
{
	struct pending *p = pending ? &pending[tid] : NULL;
	if (!p || !p->on)
		return;
	ULong args[4] = { p->node == NO_FILE ? ~(ULong)0 : p->node, p->no, p->error, p->bytes };
	p->on = False;
	event_at_syscall(tid, TRACE_FAULT, 0, 4, args, NULL, 0);
	if (p->error)
		set(tid, NO, (UWord) - (Word)p->error);
}
