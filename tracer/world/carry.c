/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Input bytes that the program hands to the kernel, and gets back later: through channels (channel.c)
 * and through files, which are followed; and through all else, which is not. What is not followed is
 * said, with the place, as nothing that depends on it can be explored.
 *
 * Output is no input: what goes to a descriptor that the program was started with, to a device, or
 * back over a connection that its packets come from has left for good.
 *
 * A file keeps the symbolic bytes that were written to it, by offset, until something is written over
 * them; a byte that is read there and has the same value is taken to be that byte.
 */
#include "channel.h"

#define MSG_PEEK 2
#define CLONE_THREAD 0x10000

/* Symbolic bytes in a file. */
struct extent {
	ULong dev, ino, off;
	struct carried it;
};

/* Memory that a child shares with this process. */
struct shared {
	Addr lo, hi;
	Bool forked; /* there was a fork since */
};

static struct {
	XArray *extents;
	XArray *shared;
	UInt fork_site, fork_ctx; /* where a child was made first */
} carry;

/* ---- saying so ---- */

void sym_left(enum sym_left how, UInt site, UInt ctx)
{
	emit(TRACE_SYM_LEFT, how, site, ctx, 0, NULL, NULL, 0);
}

static void left_here(ThreadId tid, enum sym_left how)
{
	sym_left(how, emit_site(VG_(get_IP)(tid) - 2, TRACE_SITE_SYSCALL, 0), ctx_node());
}

/* ---- what a system call writes or reads ---- */

struct bytes {
	Int fd;
	const struct vki_iovec *v;
	UWord n;
	struct vki_iovec one;
};

/* Does it write bytes of its own memory to a descriptor? */
static Bool writes(UInt no, const UWord *a, struct bytes *b)
{
	const struct vki_msghdr *m = (const struct vki_msghdr *)a[1];
	b->fd = (Int)a[0];
	b->one = (struct vki_iovec){ (void *)a[1], a[2] };
	b->v = &b->one;
	b->n = 1;
	switch (no) {
	case __NR_write:
	case __NR_pwrite64:
	case __NR_sendto: return True;
	case __NR_writev:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_vmsplice:
		b->v = (const struct vki_iovec *)a[1];
		b->n = a[2];
		break;
	case __NR_sendmsg:
		if (!VG_(am_is_valid_for_client)((Addr)m, sizeof *m, VKI_PROT_READ))
			return False;
		b->v = m->msg_iov;
		b->n = m->msg_iovlen;
		break;
	default: return False;
	}
	return VG_(am_is_valid_for_client)((Addr)b->v, b->n * sizeof *b->v, VKI_PROT_READ);
}

/* The kernel takes bytes from one descriptor to another. */
static Bool moves(UInt no, const UWord *a, Int *from, Int *to)
{
	switch (no) {
	case __NR_splice:
	case __NR_copy_file_range:
		*from = (Int)a[0];
		*to = (Int)a[2];
		return True;
	case __NR_tee:
		*from = (Int)a[0];
		*to = (Int)a[1];
		return True;
	case __NR_sendfile:
		*from = (Int)a[1];
		*to = (Int)a[0];
		return True;
	default: return False;
	}
}

/* ---- files ---- */

static void copy_over(const struct extent *e, ULong off, SizeT len)
{
	ULong lo = off > e->off ? off : e->off;
	ULong hi = off + len < e->off + e->it.len ? off + len : e->off + e->it.len;
	for (ULong at = lo; at < hi; at++)
		e->it.cell[at - e->off].node = 0;
}

/* Where a call that has moved n bytes began. */
static ULong offset(UInt no, const UWord *a, SizeT n)
{
	switch (no) {
	case __NR_pread64:
	case __NR_preadv:
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2: return a[3];
	default: return (ULong)VG_(lseek)((Int)a[0], 0, VKI_SEEK_CUR) - n;
	}
}

static void file_written(ThreadId tid, const struct vg_stat *st, ULong off, const struct bytes *b,
			 SizeT n)
{
	struct extent new = { st->dev, st->ino, off, carried_copy(tid, b->v, b->n) };
	for (Word i = 0; i < VG_(sizeXA)(carry.extents); i++) {
		const struct extent *e = VG_(indexXA)(carry.extents, i);
		if (e->ino == st->ino && e->dev == st->dev)
			copy_over(e, off, n);
	}
	if (new.it.len > n)
		new.it.len = n;
	if (carried_symbolic(&new.it, 0))
		VG_(addToXA)(carry.extents, &new);
	else
		carried_free(&new.it);
}

static void arrive(const struct extent *e, ULong off, Addr a, SizeT len)
{
	ULong lo = off > e->off ? off : e->off;
	ULong hi = off + len < e->off + e->it.len ? off + len : e->off + e->it.len;
	for (ULong at = lo; at < hi; at++)
		carried_arrive(&e->it, at - e->off, a + (at - off));
}

static Bool same_file(const struct extent *e, const struct vg_stat *st)
{
	return e->ino == st->ino && e->dev == st->dev;
}

static void file_read(const struct vg_stat *st, ULong off, const struct vki_iovec *v, UWord n,
		      SizeT len)
{
	for (UWord i = 0; i < n && len; i++) {
		SizeT part = v[i].iov_len < len ? v[i].iov_len : len;
		for (Word k = 0; k < VG_(sizeXA)(carry.extents); k++) {
			const struct extent *e = VG_(indexXA)(carry.extents, k);
			if (same_file(e, st))
				arrive(e, off, (Addr)v[i].iov_base, part);
		}
		off += part;
		len -= part;
	}
}

/* Are there any in this file, from `off` on? */
static const struct extent *in_file(Int fd, ULong off, SizeT len)
{
	struct vg_stat st;
	if (VG_(sizeXA)(carry.extents) == 0 || VG_(fstat)(fd, &st) != 0)
		return NULL;
	for (Word i = 0; i < VG_(sizeXA)(carry.extents); i++) {
		const struct extent *e = VG_(indexXA)(carry.extents, i);
		if (same_file(e, &st) && off < e->off + e->it.len && e->off < off + len &&
		    carried_symbolic(&e->it, 0))
			return e;
	}
	return NULL;
}

/* ---- before a system call ---- */

static void before_write(ThreadId tid, const struct bytes *b)
{
	UInt to;
	if (b->fd < 0 || !channel_of_writer(b->fd, &to))
		return;
	for (UWord i = 0; sym_process.role == SYM_BEFORE && i < b->n; i++)
		sym_kernel_reads(Vg_CoreSysCall, tid, "", (Addr)b->v[i].iov_base, b->v[i].iov_len);
	channel_write(to, tid, carried_copy(tid, b->v, b->n));
}

/* A program that cannot be run leaves this one as it is. */
static void takes_over(ThreadId tid, const HChar *path)
{
	struct vg_stat st;
	if (sym_process.forked)
		__atomic_sub_fetch(&sym_control->sharing, 1, __ATOMIC_ACQ_REL);
	else if (sym_process.role == SYM_CHILD &&
		 VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) &&
		 !sr_isError(VG_(stat)(path, &st)))
		left_here(tid, SYM_LEFT_EXEC);
}

void sym_carry_pre(ThreadId tid, UInt no, const UWord *a)
{
	struct bytes b;
	if (writes(no, a, &b))
		before_write(tid, &b);
	else if (no == __NR_connect)
		sym_connects(tid, (Int)a[0], (const HChar *)a[1], a[2]);
	else if (no == __NR_execve)
		takes_over(tid, (const HChar *)a[0]);
}

void sym_carry_forks(ThreadId tid)
{
	__atomic_add_fetch(&sym_control->sharing, 1, __ATOMIC_ACQ_REL);
	for (Word i = 0; i < VG_(sizeXA)(carry.shared); i++)
		((struct shared *)VG_(indexXA)(carry.shared, i))->forked = True;
	if (carry.fork_site)
		return;
	carry.fork_site = emit_site(VG_(get_IP)(tid) - 2, TRACE_SITE_SYSCALL, 0);
	carry.fork_ctx = ctx_node();
}

/* ---- after it ---- */

/* Bytes went to something that is no channel of this process. */
static void went(ThreadId tid, UInt no, const UWord *a, const struct bytes *b, SizeT n)
{
	struct vg_stat st;
	struct carried it;
	UInt to;
	if (VG_(fstat)(b->fd, &st) != 0 || sym_from_outside(b->fd) || sym_is_connection(b->fd))
		return;
	if ((st.mode & VKI_S_IFMT) == VKI_S_IFREG) {
		file_written(tid, &st, offset(no, a, n), b, n);
		return;
	}
	it = carried_copy(tid, b->v, b->n);
	if (carried_symbolic(&it, 0) && !(channel_of_writer(b->fd, &to) && channel_inside(to)))
		switch (st.mode & VKI_S_IFMT) {
		case VKI_S_IFCHR: break;
		case VKI_S_IFIFO: sym_left(SYM_LEFT_PIPE, it.site, it.ctx); break;
		case VKI_S_IFSOCK: sym_left(SYM_LEFT_SOCKET, it.site, it.ctx); break;
		default: sym_left(SYM_LEFT_KERNEL, it.site, it.ctx); break;
		}
	carried_free(&it);
}

void sym_carry_got(ThreadId tid, UInt no, const UWord *a, const struct vki_iovec *v, UWord n,
		   SizeT len)
{
	struct vg_stat st;
	UInt from;
	Bool peek =
		(no == __NR_recvfrom && a[3] & MSG_PEEK) || (no == __NR_recvmsg && a[2] & MSG_PEEK);
	if (channel_of_reader((Int)a[0], &from)) {
		if (!channel_read(from, v, n, len, peek))
			left_here(tid, SYM_LEFT_PIPE);
		return;
	}
	if (VG_(sizeXA)(carry.extents) && VG_(fstat)((Int)a[0], &st) == 0 &&
	    (st.mode & VKI_S_IFMT) == VKI_S_IFREG)
		file_read(&st, offset(no, a, len), v, n, len);
}

/* Bytes of a channel or file that the kernel moves on are not followed. */
static void moved(ThreadId tid, Int from, Int to, SizeT n)
{
	UInt in, out;
	Bool symbolic = sym_is_source(from) || in_file(from, 0, ~(SizeT)0 >> 1);
	if (channel_of_reader(from, &in) && channel_symbolic(in))
		symbolic = True;
	if (channel_of_reader(from, &in))
		channel_read(in, NULL, 0, n, False);
	if (channel_of_writer(to, &out)) {
		channel_write(out, tid, (struct carried){ .len = n });
		channel_written(tid, n);
	}
	if (symbolic && !sym_from_outside(to) && !sym_is_connection(to))
		left_here(tid, SYM_LEFT_KERNEL);
}

/* Several messages in one call: sendmmsg, recvmmsg. */
static void many(ThreadId tid, UInt no, const UWord *a, UWord n)
{
	const struct {
		struct vki_msghdr m;
		UInt len;
	} *v = (const void *)a[1];
	UInt at;
	Bool symbolic = False;
	if (no == __NR_recvmmsg && channel_of_reader((Int)a[0], &at)) {
		symbolic = channel_symbolic(at);
		channel_lose(at);
	}
	for (UWord i = 0; no == __NR_sendmmsg && i < n; i++)
		for (UWord k = 0; k < v[i].m.msg_iovlen; k++)
			symbolic |= sym_any((Addr)v[i].m.msg_iov[k].iov_base,
					    v[i].m.msg_iov[k].iov_len);
	if (no == __NR_sendmmsg && channel_of_writer((Int)a[0], &at))
		channel_lose(at);
	if (symbolic && !sym_is_connection((Int)a[0]))
		left_here(tid, SYM_LEFT_KERNEL);
}

/* Message queues: the core says what the kernel reads, and here it is known that it did. */
static void sent(ThreadId tid, UInt no, const UWord *a)
{
	Addr at = no == __NR_msgsnd ? a[1] + sizeof(Word) : a[1];
	if (sym_any(at, a[2]))
		left_here(tid, SYM_LEFT_KERNEL);
}

static void unmapped(Addr a, SizeT len)
{
	for (Word i = VG_(sizeXA)(carry.shared) - 1; i >= 0; i--) {
		const struct shared *s = VG_(indexXA)(carry.shared, i);
		if (a <= s->lo && s->hi <= a + VG_PGROUNDUP(len))
			VG_(removeIndexXA)(carry.shared, i);
	}
}

static void mapped(ThreadId tid, const UWord *a, Addr at)
{
	struct shared s = { at, at + VG_PGROUNDUP(a[1]), False };
	if (!(a[3] & VKI_MAP_ANONYMOUS) && in_file((Int)a[4], a[5], a[1]))
		left_here(tid, SYM_LEFT_FILE);
	unmapped(at, a[1]);
	if ((a[3] & 3) != VKI_MAP_PRIVATE)
		VG_(addToXA)(carry.shared, &s);
}

void sym_carry_post(ThreadId tid, UInt no, const UWord *a, SysRes res)
{
	SizeT n = sr_isError(res) ? 0 : sr_Res(res);
	struct bytes b;
	Int from, to;
	if (no == __NR_connect)
		sym_connected(tid, sr_isError(res));
	if (writes(no, a, &b)) {
		channel_written(tid, n);
		if (n)
			went(tid, no, a, &b, n);
		return;
	}
	if (sr_isError(res))
		return;
	if (moves(no, a, &from, &to)) {
		if (n)
			moved(tid, from, to, n);
		return;
	}
	switch (no) {
	case __NR_socketpair: sym_socketpair(a[0], a[1], (const Int *)a[3]); break;
	case __NR_sendmmsg:
	case __NR_recvmmsg: many(tid, no, a, n); break;
	case __NR_msgsnd:
	case __NR_mq_timedsend: sent(tid, no, a); break;
	case __NR_mmap: mapped(tid, a, n); break;
	case __NR_munmap: unmapped(a[0], a[1]); break;
	default: break;
	}
}

/* ---- start and end ---- */

void sym_carry_start(void)
{
	carry.extents = VG_(newXA)(VG_(malloc), "hf.carry", VG_(free), sizeof(struct extent));
	carry.shared = VG_(newXA)(VG_(malloc), "hf.carry", VG_(free), sizeof(struct shared));
	sym_channels_start();
}

/* A child that did not become another program has what was shared when it was made. */
static void shared_end(void)
{
	UInt children = __atomic_exchange_n(&sym_control->sharing, 0, __ATOMIC_ACQ_REL);
	for (Word i = 0; children && i < VG_(sizeXA)(carry.shared); i++) {
		const struct shared *s = VG_(indexXA)(carry.shared, i);
		if (s->forked && sym_any(s->lo, s->hi - s->lo)) {
			sym_left(SYM_LEFT_SHARED, carry.fork_site, carry.fork_ctx);
			return;
		}
	}
}

void sym_carry_end(void)
{
	shared_end();
	sym_channels_end();
	if (__atomic_exchange_n(&sym_control->child_used, 0, __ATOMIC_ACQ_REL))
		sym_left(SYM_LEFT_CHILD, carry.fork_site, carry.fork_ctx);
}
