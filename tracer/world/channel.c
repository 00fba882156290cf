/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channels: pipes, FIFOs, socket pairs and connected Unix sockets of which the program has both ends.
 *
 * A channel is a kernel object, known by device and inode, whatever its descriptors are called. It
 * is modelled as the kernel keeps it, a queue of what was written and not yet read:
 *
 *   write(w, "ab", 2)  write(w, &x, 1)  ──▶  [ 2 concrete ][ x ]  ──▶  read(r, p, 3): p[2] is x
 *
 * The two ends of a pipe are one object. Each end of a socket is an object of its own, with the queue
 * of what it will receive; socketpair(2) says which belong together, and for named sockets accept(2)
 * takes connections in the order in which connect(2) made them, which SO_PEERCRED confirms to be ours.
 *
 * A write enters the queue before the system call, as another thread may have read it when it returns.
 * Every byte that comes out is compared with what went in: where they differ another process writes to
 * the channel, and the queue says nothing about it any more.
 */
#include "channel.h"

#define MAX_FDS 1024
#define SO_PEERCRED 17
#define SOL_SOCKET 1
#define AF_UNIX 1
#define SOCK_TYPE 15
#define SOCK_STREAM 1
#define ADDRESS 110 /* bytes of a Unix socket's address */
#define NOBODY VG_INVALID_THREADID

/* In a queue. */
struct piece {
	struct carried it;
	SizeT taken;     /* bytes that were read */
	ThreadId writer; /* whose write is under way, NOBODY: it is over */
};

struct channel {
	ULong dev, ino;
	ULong to;      /* a socket: inode of the other end; 0: it is a pipe */
	Bool messages; /* keeps their boundaries */
	Bool lost;     /* another process takes part */
	XArray *queue; /* struct piece */
};

/* A connection that nobody has accepted yet. */
struct waiting {
	ULong dev, ino;
	ThreadId tid;
	UInt len;
	HChar address[ADDRESS];
};

static struct {
	XArray *all;     /* struct channel */
	XArray *outside; /* struct channel: what was open when the program began */
	XArray *waiting; /* struct waiting */
} channels;

static void *alloc(const HChar *why, SizeT n)
{
	return VG_(malloc)(why, n);
}

static XArray *list(SizeT size)
{
	return VG_(newXA)(alloc, "hf.channel", VG_(free), size);
}

static struct channel *channel(UInt i)
{
	return VG_(indexXA)(channels.all, (Word)i);
}

static Bool find(const XArray *in, ULong dev, ULong ino, UInt *at)
{
	for (Word i = VG_(sizeXA)(in) - 1; i >= 0; i--) {
		const struct channel *c = VG_(indexXA)(in, i);
		if (c->ino == ino && c->dev == dev) {
			*at = (UInt)i;
			return True;
		}
	}
	return False;
}

static UInt add(const struct vg_stat *st, ULong to, Bool messages)
{
	struct channel c = { st->dev, st->ino, to, messages, False, list(sizeof(struct piece)) };
	return (UInt)VG_(addToXA)(channels.all, &c);
}

void sym_channels_start(void)
{
	struct vg_stat st;
	channels.all = list(sizeof(struct channel));
	channels.outside = list(sizeof(struct channel));
	channels.waiting = list(sizeof(struct waiting));
	for (Int fd = 0; fd < MAX_FDS; fd++) {
		struct channel c = { 0 };
		if (VG_(fstat)(fd, &st) != 0)
			continue;
		c.dev = st.dev;
		c.ino = st.ino;
		VG_(addToXA)(channels.outside, &c);
	}
}

Bool sym_from_outside(Int fd)
{
	struct vg_stat st;
	UInt at;
	return VG_(fstat)(fd, &st) == 0 && find(channels.outside, st.dev, st.ino, &at);
}

/* ---- bytes that are passed on ---- */

static SizeT size_of(const struct vki_iovec *v, UWord n)
{
	SizeT sum = 0;
	for (UWord i = 0; i < n; i++)
		sum += v[i].iov_len;
	return sum;
}

static Bool any(const struct vki_iovec *v, UWord n)
{
	for (UWord i = 0; i < n; i++)
		if (v[i].iov_len && sym_any((Addr)v[i].iov_base, v[i].iov_len))
			return True;
	return False;
}

struct carried carried_copy(ThreadId tid, const struct vki_iovec *v, UWord n)
{
	struct carried c = { .len = size_of(v, n) };
	SizeT at = 0;
	if (!any(v, n))
		return c;
	c.cell = alloc("hf.carried", c.len * sizeof *c.cell);
	c.byte = alloc("hf.carried", c.len);
	c.site = emit_site(VG_(get_IP)(tid) - 2, TRACE_SITE_SYSCALL, 0);
	c.ctx = ctx_node();
	for (UWord i = 0; i < n; i++)
		for (SizeT k = 0; k < v[i].iov_len; k++, at++) {
			c.cell[at] = cell_at((Addr)v[i].iov_base + k);
			c.byte[at] = ((const UChar *)v[i].iov_base)[k];
		}
	return c;
}

void carried_free(struct carried *c)
{
	if (c->cell) {
		VG_(free)(c->cell);
		VG_(free)(c->byte);
	}
	c->cell = NULL;
	c->byte = NULL;
}

Bool carried_symbolic(const struct carried *c, SizeT from)
{
	for (; c->cell && from < c->len; from++)
		if (c->cell[from].node)
			return True;
	return False;
}

Bool carried_arrive(const struct carried *c, SizeT i, Addr a)
{
	if (!c->cell || !c->cell[i].node)
		return True;
	if (c->byte[i] != *(const UChar *)a)
		return False;
	cell_set(a, c->cell[i]);
	return True;
}

/* ---- the queue ---- */

void channel_lose(UInt at)
{
	struct channel *c = channel(at);
	c->lost = True;
	for (Word i = 0; i < VG_(sizeXA)(c->queue); i++)
		carried_free(&((struct piece *)VG_(indexXA)(c->queue, i))->it);
	VG_(dropTailXA)(c->queue, VG_(sizeXA)(c->queue));
}

void channel_write(UInt to, ThreadId tid, struct carried it)
{
	struct channel *c = channel(to);
	struct piece p = { it, 0, tid };
	if (c->lost)
		carried_free(&p.it);
	else
		VG_(addToXA)(c->queue, &p);
}

/* Concrete bytes need no piece of their own: a stream has one for those that follow each other. */
static Bool joins(const struct channel *c, Word i)
{
	struct piece *before = i > 0 ? VG_(indexXA)(c->queue, i - 1) : NULL;
	const struct piece *p = VG_(indexXA)(c->queue, i);
	if (c->messages || !before || before->it.cell || p->it.cell || before->writer != NOBODY ||
	    p->taken)
		return False;
	before->it.len += p->it.len;
	return True;
}

/* The write under way in this queue, if there is one, is over. */
static void settle(struct channel *c, ThreadId tid, SizeT n)
{
	for (Word i = VG_(sizeXA)(c->queue) - 1; i >= 0; i--) {
		struct piece *p = VG_(indexXA)(c->queue, i);
		if (p->writer != tid)
			continue;
		p->writer = NOBODY;
		if (n < p->it.len)
			p->it.len = n;
		if (p->taken < p->it.len || (c->messages && !p->taken && n)) {
			if (!joins(c, i))
				continue;
		}
		carried_free(&p->it);
		VG_(removeIndexXA)(c->queue, i);
	}
}

void channel_written(ThreadId tid, SizeT n)
{
	for (Word i = 0; i < VG_(sizeXA)(channels.all); i++)
		settle(channel((UInt)i), tid, n);
}

/* What comes out, byte by byte: into the places of a vector, or nowhere. */
struct sink {
	const struct vki_iovec *v;
	UWord n;
	SizeT at; /* in *v */
};

static Bool put(struct sink *s, const struct carried *c, SizeT i)
{
	while (s->n && s->at >= s->v->iov_len) {
		s->v++;
		s->n--;
		s->at = 0;
	}
	if (!s->n)
		return True;
	return carried_arrive(c, i, (Addr)s->v->iov_base + s->at++);
}

Bool channel_read(UInt from, const struct vki_iovec *v, UWord n, SizeT len, Bool peek)
{
	struct channel *c = channel(from);
	struct sink s = { v, n, 0 };
	Bool ours = True;
	for (Word i = 0; len && i < VG_(sizeXA)(c->queue); i++) {
		struct piece *p = VG_(indexXA)(c->queue, i);
		SizeT end = p->it.len - p->taken < len ? p->it.len : p->taken + len;
		for (SizeT k = p->taken; k < end && ours; k++)
			ours = put(&s, &p->it, k);
		len -= end - p->taken;
		if (c->messages)
			len = 0;
		if (peek)
			continue;
		p->taken = c->messages ? p->it.len : end;
		if (p->taken == p->it.len && p->writer == NOBODY) {
			carried_free(&p->it);
			VG_(removeIndexXA)(c->queue, i--);
		}
	}
	if (ours)
		return True;
	channel_lose(from);
	return False;
}

Bool channel_symbolic(UInt i)
{
	const struct channel *c = channel(i);
	for (Word k = 0; k < VG_(sizeXA)(c->queue); k++) {
		const struct piece *p = VG_(indexXA)(c->queue, k);
		if (carried_symbolic(&p->it, p->taken))
			return True;
	}
	return False;
}

/* ---- which channel a descriptor leads to ---- */

/* A descriptor of this process that bytes of the channel can be read from; -1: none. */
static Int reader_of(const struct channel *c)
{
	struct vg_stat st;
	for (Int fd = 0; fd < MAX_FDS; fd++)
		if (VG_(fstat)(fd, &st) == 0 && st.ino == c->ino && st.dev == c->dev &&
		    (VG_(fcntl)(fd, VKI_F_GETFL, 0) & 3) != VKI_O_WRONLY)
			return fd;
	return -1;
}

/* The channel that the descriptor itself is; a pipe or FIFO becomes one when it is first used. */
static Bool own_channel(Int fd, UInt *at)
{
	struct vg_stat st;
	if (VG_(fstat)(fd, &st) != 0)
		return False;
	if (find(channels.all, st.dev, st.ino, at))
		return True;
	if ((st.mode & VKI_S_IFMT) != VKI_S_IFIFO || find(channels.outside, st.dev, st.ino, at))
		return False;
	*at = add(&st, 0, False);
	return True;
}

Bool channel_of_writer(Int fd, UInt *to)
{
	UInt own;
	if (!own_channel(fd, &own))
		return False;
	*to = own;
	return !channel(own)->to || find(channels.all, channel(own)->dev, channel(own)->to, to);
}

Bool channel_inside(UInt i)
{
	return reader_of(channel(i)) >= 0;
}

Bool channel_of_reader(Int fd, UInt *from)
{
	return own_channel(fd, from) && !channel(*from)->lost;
}

/* ---- sockets find each other ---- */

static void pair(Int a, Int b, Bool messages)
{
	struct vg_stat sa, sb;
	if (VG_(fstat)(a, &sa) != 0 || VG_(fstat)(b, &sb) != 0)
		return;
	add(&sa, sb.ino, messages);
	add(&sb, sa.ino, messages);
}

void sym_socketpair(UWord domain, UWord type, const Int *fd)
{
	if (domain == AF_UNIX)
		pair(fd[0], fd[1], (type & SOCK_TYPE) != SOCK_STREAM);
}

void sym_connects(ThreadId tid, Int fd, const HChar *address, UWord len)
{
	struct waiting w = { .tid = tid };
	struct vg_stat st;
	if (len <= 2 || !VG_(am_is_valid_for_client)((Addr)address, len, VKI_PROT_READ) ||
	    *(const UShort *)address != AF_UNIX || VG_(fstat)(fd, &st) != 0)
		return;
	w.dev = st.dev;
	w.ino = st.ino;
	w.len = (UInt)(len < ADDRESS ? len : ADDRESS);
	VG_(memcpy)(w.address, address, w.len);
	VG_(addToXA)(channels.waiting, &w);
}

void sym_connected(ThreadId tid, Bool failed)
{
	for (Word i = VG_(sizeXA)(channels.waiting) - 1; i >= 0; i--) {
		struct waiting *w = VG_(indexXA)(channels.waiting, i);
		if (w->tid != tid)
			continue;
		w->tid = NOBODY;
		if (failed)
			VG_(removeIndexXA)(channels.waiting, i);
	}
}

/* Did this process make the connection, or the one that it was forked from? */
static Bool made_here(Int fd)
{
	UInt cred[3] = { 0 }, len = sizeof cred;
	SysRes r = VG_(do_syscall)(__NR_getsockopt, (UWord)fd, SOL_SOCKET, SO_PEERCRED, (UWord)cred,
				   (UWord)&len, 0, 0, 0);
	return !sr_isError(r) &&
	       ((Int)cred[0] == VG_(getpid)() ||
		(sym_process.role == SYM_CHILD && (Int)cred[0] == VG_(getppid)()));
}

static Bool same_address(Int listener, const struct waiting *w)
{
	HChar own[ADDRESS] = { 0 };
	UInt len = sizeof own;
	SysRes r = VG_(do_syscall)(__NR_getsockname, (UWord)listener, (UWord)own, (UWord)&len, 0, 0,
				   0, 0, 0);
	/* a path is ended by a zero byte, which need not be counted */
	UInt n = len < w->len ? len : w->len;
	return !sr_isError(r) && VG_(memcmp)(own, w->address, n) == 0;
}

Bool sym_accepted(Int listener, Int fd)
{
	struct vg_stat st;
	if (VG_(fstat)(fd, &st) != 0 || !made_here(fd))
		return False;
	for (Word i = 0; i < VG_(sizeXA)(channels.waiting); i++) {
		struct waiting *w = VG_(indexXA)(channels.waiting, i);
		struct vg_stat other = { .dev = w->dev, .ino = w->ino };
		if (!same_address(listener, w))
			continue;
		add(&st, w->ino, False);
		add(&other, st.ino, False);
		VG_(removeIndexXA)(channels.waiting, i);
		return True;
	}
	return False;
}

/* ---- the end ---- */

/* Fewer bytes wait in the kernel than were written and not read: another process has taken some. */
static Bool taken_elsewhere(const struct channel *c)
{
	Int fd = reader_of(c), there = 0;
	SizeT ours = 0;
	for (Word i = 0; i < VG_(sizeXA)(c->queue); i++) {
		const struct piece *p = VG_(indexXA)(c->queue, i);
		ours += p->it.len - p->taken;
		if (c->messages)
			break;
	}
	if (fd < 0)
		return True;
	SysRes r =
		VG_(do_syscall)(__NR_ioctl, (UWord)fd, VKI_FIONREAD, (UWord)&there, 0, 0, 0, 0, 0);
	return !sr_isError(r) && (SizeT)there < ours;
}

void sym_channels_end(void)
{
	for (Word i = 0; sym_process.children && i < VG_(sizeXA)(channels.all); i++) {
		const struct channel *c = channel((UInt)i);
		for (Word k = 0; k < VG_(sizeXA)(c->queue); k++) {
			const struct piece *p = VG_(indexXA)(c->queue, k);
			if (!carried_symbolic(&p->it, p->taken) || !taken_elsewhere(c))
				continue;
			sym_left(c->to ? SYM_LEFT_SOCKET : SYM_LEFT_PIPE, p->it.site, p->it.ctx);
			break;
		}
	}
}
