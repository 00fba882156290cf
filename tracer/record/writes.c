/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes to files: those that back PM, and those beside it. Normally the bytes are taken from the
 * program's memory after the call. Where that need not be what was written, holdfast reads the file
 * (TRACE_DEF_RANGE):
 *
 *   the source is PM itself, which the call may have changed;
 *   calls of several threads on one file at a time: where and in which order they wrote, only
 *   the kernel knows, but it was behind where the file's position was before, and before where it is
 *   after;
 *   the kernel copied from file to file, or the write was asynchronous (io_submit).
 *
 * A store behind the end of a file is lost, but on most file systems what was stored in the file's
 * last page shows when the file grows. Then it is told, from the mapping.
 */
#include "record.h"

#define CHUNK 32768u /* payload of one record */
#define O_DIRECT 0x4000
#define RWF_APPEND 0x10
#define RWF_NOAPPEND 0x20

/* A call that is under way, by thread. */
struct writing {
	Bool on;      /* it writes to a file of which another thread may know */
	Bool crowded; /* … and so does another */
	ULong dev, ino;
	Long from; /* no byte before this is written */
	UInt file; /* PM, or NO_FILE */
	Long size; /* … before the call */
};
static struct writing *writings;

static struct writing *writing_of(ThreadId tid)
{
	if (writings == NULL)
		writings = VG_(calloc)("hf.writings", VG_N_THREADS, sizeof *writings);
	return &writings[tid];
}

/* The descriptor that a call may write to; -1: it writes to none. */
static Int target(UInt no, const UWord *a)
{
	switch (no) {
	case __NR_write:
	case __NR_writev:
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2:
	case __NR_ftruncate:
	case __NR_fallocate:
	case __NR_sendfile: return (Int)a[0];
	case __NR_splice:
	case __NR_copy_file_range: return (Int)a[2];
	default: return -1;
	}
}

static Bool appends(Int fd, UWord rwf)
{
	if (rwf & RWF_APPEND)
		return True;
	return !(rwf & RWF_NOAPPEND) && VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND;
}

/* Other calls on the same file are under way: neither knows what the other one does. */
static void crowd(ThreadId tid, struct writing *w)
{
	for (ThreadId i = 1; i < VG_N_THREADS; i++)
		if (i != tid && writings[i].on && writings[i].dev == w->dev &&
		    writings[i].ino == w->ino)
			writings[i].crowded = w->crowded = True;
}

struct iocb { /* linux/aio_abi.h */
	ULong data;
	UInt key, flags;
	UShort op;
	Short priority;
	UInt fd;
	ULong buf, bytes;
	Long off;
};
enum { AIO_PWRITE = 1, AIO_PWRITEV = 8 };

static Bool readable(const void *p, SizeT len)
{
	return VG_(am_is_valid_for_client)((Addr)p, len, VKI_PROT_READ);
}

/* What was in files before asynchronous writes. */
static void submitting(ThreadId tid, const struct iocb *const *cb, Word n)
{
	for (Word i = 0; i < n && readable(cb + i, sizeof *cb); i++)
		if (readable(cb[i], sizeof **cb) &&
		    (cb[i]->op == AIO_PWRITE || cb[i]->op == AIO_PWRITEV))
			node_touched(tid, (Int)cb[i]->fd);
}

void writes_pre(ThreadId tid, UInt no, const UWord *a)
{
	Int fd = target(no, a);
	struct writing *w = writing_of(tid);
	struct vg_stat st;
	*w = (struct writing){ .file = NO_FILE };
	if (no == __NR_io_submit)
		submitting(tid, (const struct iocb *const *)a[2], (Word)a[1]);
	if (fd < 0 || VG_(fstat)(fd, &st) != 0)
		return;
	node_touched(tid, fd);
	w->file = file_by_fd(fd);
	w->size = (Long)st.size;
	if (VG_(count_living_threads)() == 1)
		return;
	w->on = True;
	w->dev = st.dev;
	w->ino = st.ino;
	w->from = appends(fd, 0) ? (Long)st.size : VG_(lseek)(fd, 0, VKI_SEEK_CUR);
	crowd(tid, w);
}

/* ---- what was written ---- */

static void wrote_bytes(ThreadId tid, UInt file, ULong off, const UChar *p, SizeT len)
{
	Bool pm = file_at(file)->pm;
	if (!pm && !node_room(tid, file, len))
		return;
	while (len) {
		UInt n = len > CHUNK ? CHUNK : (UInt)len;
		ULong args[2] = { file, off };
		event_at_syscall(tid, pm ? TRACE_FILE_WRITE : TRACE_NODE_WRITE, 0, 2, args, p, n);
		off += n;
		p += n;
		len -= n;
	}
}

static void wrote_vector(ThreadId tid, UInt file, ULong off, const struct vki_iovec *v, UWord n,
			 SizeT len)
{
	for (UWord i = 0; i < n && len; i++) {
		SizeT k = v[i].iov_len < len ? v[i].iov_len : len;
		wrote_bytes(tid, file, off, v[i].iov_base, k);
		off += k;
		len -= k;
	}
}

/* Holdfast reads it. */
static void read_back(ThreadId tid, UInt file, Int fd, Long off, SizeT len)
{
	Bool pm = file_at(file)->pm;
	if (off < 0 || !len || (!pm && !node_room(tid, file, len)))
		return;
	ULong args[4] = { file | (pm ? 0 : TRACE_RANGE_NODE), (ULong)fd, (ULong)off, len };
	ctx_switch(tid);
	emit_request(TRACE_DEF_RANGE, syscall_site(tid), ctx_node(), 4, args, NULL, 0);
}

static Bool from_pm(const struct vki_iovec *v, UWord n)
{
	for (UWord i = 0; i < n; i++)
		if (region_next((Addr)v[i].iov_base) < (Addr)v[i].iov_base + v[i].iov_len)
			return True;
	return False;
}

/* `off` is -1 for the file's own position, already moved. */
static void wrote(ThreadId tid, Int fd, const struct vki_iovec *v, UWord n, Long off, UWord rwf,
		  SizeT done)
{
	const struct writing *w = writing_of(tid);
	UInt file = done ? file_changed(fd) : NO_FILE;
	Bool own = off == -1;
	if (file == NO_FILE)
		return;
	if (own)
		off = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)done;
	else if (appends(fd, rwf))
		off = VG_(fsize)(fd) - (Long)done; /* Linux appends even in pwrite() */
	if (w->crowded && (own || appends(fd, rwf)) && w->from <= off)
		read_back(tid, file, fd, w->from, (SizeT)(off - w->from) + done);
	else if (w->crowded || from_pm(v, n))
		read_back(tid, file, fd, off, done);
	else
		wrote_vector(tid, file, (ULong)off, v, n, done);
}

/* Bytes that went from file to file inside the kernel. */
static void copied(ThreadId tid, Int fd, const ULong *off_after, SizeT done)
{
	UInt file = done ? file_changed(fd) : NO_FILE;
	if (file == NO_FILE)
		return;
	ULong end = off_after ? *off_after : (ULong)VG_(lseek)(fd, 0, VKI_SEEK_CUR);
	read_back(tid, file, fd, (Long)(end - done), done);
}

/* ---- asynchronous writes ---- */

struct io_event {
	ULong data;
	const struct iocb *cb;
	Long done, more;
};

static void completed(ThreadId tid, const struct iocb *cb, Long done)
{
	UInt file = NO_FILE;
	if (done > 0 && (cb->op == AIO_PWRITE || cb->op == AIO_PWRITEV))
		file = file_changed((Int)cb->fd);
	if (file != NO_FILE)
		read_back(tid, file, (Int)cb->fd, cb->off, (SizeT)done);
}

/* The program hears of it. */
static void settled(ThreadId tid, const struct iocb *cb, Long done)
{
	completed(tid, cb, done);
	syncs_completed(tid, (Int)cb->fd, cb->op, cb->off, done);
}

/* Through the page cache, a write is done when it was submitted. */
static void submitted(ThreadId tid, const struct iocb *const *cb, UWord n)
{
	for (UWord i = 0; i < n; i++)
		if (!(VG_(fcntl)((Int)cb[i]->fd, VKI_F_GETFL, 0) & O_DIRECT))
			completed(tid, cb[i], (Long)cb[i]->bytes);
}

/* ---- all of them ---- */

void writes_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	struct vki_iovec one = { (void *)a[1], r };
	const struct vki_iovec *v = (const struct vki_iovec *)a[1];
	const struct io_event *e = (const struct io_event *)a[3];
	switch (no) {
	case __NR_write: wrote(tid, (Int)a[0], &one, 1, -1, 0, r); break;
	case __NR_writev: wrote(tid, (Int)a[0], v, a[2], -1, 0, r); break;
	case __NR_pwrite64: wrote(tid, (Int)a[0], &one, 1, (Long)a[3], 0, r); break;
	case __NR_pwritev: wrote(tid, (Int)a[0], v, a[2], (Long)a[3], 0, r); break;
	case __NR_pwritev2: wrote(tid, (Int)a[0], v, a[2], (Long)a[3], a[5], r); break;
	case __NR_sendfile: copied(tid, (Int)a[0], NULL, r); break;
	case __NR_splice:
	case __NR_copy_file_range: copied(tid, (Int)a[2], (const ULong *)a[3], r); break;
	case __NR_io_submit: submitted(tid, (const struct iocb *const *)a[2], r); break;
	case __NR_io_getevents:
		for (UWord i = 0; i < r; i++)
			settled(tid, e[i].cb, e[i].done);
		break;
	default: return;
	}
	pointers_refresh(tid);
}

/* The file's last page, as far as it was behind the end before. */
static void grown(ThreadId tid, UInt file, ULong from, ULong to)
{
	ULong end = VG_PGROUNDUP(from);
	const UChar *p = (const UChar *)region_mapped(file, from);
	if (to < end)
		end = to;
	for (ULong i = from; p && i < end; i++)
		if (p[i - from]) {
			wrote_bytes(tid, file, from, p, end - from);
			return;
		}
}

void writes_done(ThreadId tid, UInt no, const UWord *a)
{
	struct writing *w = writing_of(tid);
	struct vg_stat st;
	Int fd = w->file != NO_FILE ? target(no, a) : -1;
	w->on = False;
	if (fd >= 0 && VG_(fstat)(fd, &st) == 0 && (Long)st.size > w->size)
		grown(tid, w->file, (ULong)w->size, (ULong)st.size);
	w->file = NO_FILE;
}
