/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program has the kernel write to disk: fsync and its kin, of files and of folders, and writes that
 * are synchronous by themselves. A call that fails promises nothing, and is not told.
 */
#include "record.h"

#define O_DSYNC_ 010000
#define O_SYNC_ 04010000
#define RWF_DSYNC 2
#define RWF_SYNC 4

static void tell(ThreadId tid, UInt node, enum trace_sync how, ULong off, ULong len)
{
	ULong args[4] = { node, how, off, len };
	event_at_syscall(tid, TRACE_NODE_SYNC, 0, 4, args, NULL, 0);
}

/* A folder is announced by that; a file that no process has changed is not. */
static UInt synced(ThreadId tid, Int fd)
{
	struct vg_stat st;
	UInt id = file_changed(fd);
	if (id != NO_FILE && (file_at(id)->pm || file_at(id)->node))
		return id;
	if (VG_(fstat)(fd, &st) == 0 && (st.mode & VKI_S_IFMT) == VKI_S_IFDIR)
		return node_there(tid, fd, False);
	return node_of_others(fd);
}

static void sync_file(ThreadId tid, Int fd, enum trace_sync how, ULong off, ULong len)
{
	UInt id = opt.files ? synced(tid, fd) : file_by_fd(fd);
	ULong args[4] = { id, how, off, len };
	if (id == NO_FILE)
		return;
	if (file_at(id)->pm)
		event_at_syscall(tid, TRACE_FILE_SYNC, 0, 4, args, NULL, 0);
	else if (file_at(id)->node)
		tell(tid, id, how, off, len);
}

/* The last bytes that were written to the file, at `off` (-1: at its position) or at its end. */
static void sync_written(ThreadId tid, Int fd, Long off, UWord rwf, SizeT done)
{
	UInt id = done && opt.files ? file_changed(fd) : NO_FILE;
	Int flags = id == NO_FILE ? 0 : VG_(fcntl)(fd, VKI_F_GETFL, 0);
	if (id == NO_FILE || file_at(id)->pm || !file_at(id)->node)
		return;
	Bool all = (flags & O_SYNC_) == O_SYNC_ || (rwf & RWF_SYNC);
	if (!all && !(flags & O_DSYNC_) && !(rwf & RWF_DSYNC))
		return;
	if (flags & VKI_O_APPEND)
		off = VG_(fsize)(fd) - (Long)done;
	else if (off == -1)
		off = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)done;
	tell(tid, id, all ? TRACE_SYNC_ALL : TRACE_SYNC_DATA, (ULong)off, done);
}

/* By their offset behind the write; NULL: at the file's position. */
static void sync_copied(ThreadId tid, Int fd, const ULong *off_after, SizeT done)
{
	sync_written(tid, fd, off_after ? (Long)(*off_after - done) : -1, 0, done);
}

/* Of asynchronous calls those that have been done: syncs, and writes that are synchronous. */
void syncs_completed(ThreadId tid, Int fd, UInt op, Long off, Long done)
{
	enum { PWRITE = 1, FSYNC = 2, FDSYNC = 3, PWRITEV = 8 };
	if (op == FSYNC || op == FDSYNC) {
		if (done == 0)
			sync_file(tid, fd, op == FSYNC ? TRACE_SYNC_ALL : TRACE_SYNC_DATA, 0, 0);
	} else if ((op == PWRITE || op == PWRITEV) && done > 0) {
		sync_written(tid, fd, off, 0, (SizeT)done);
	}
}

Bool syncs_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	switch (no) {
	case __NR_fsync: sync_file(tid, (Int)a[0], TRACE_SYNC_ALL, 0, 0); return True;
	case __NR_fdatasync: sync_file(tid, (Int)a[0], TRACE_SYNC_DATA, 0, 0); return True;
	case __NR_sync_file_range:
		sync_file(tid, (Int)a[0], TRACE_SYNC_RANGE, a[1], a[2]);
		return True;
	case __NR_syncfs:
	case __NR_sync:
		if (opt.files)
			tell(tid, NO_FILE, TRACE_SYNC_EVERYTHING, 0, 0);
		return True;
	case __NR_write:
	case __NR_writev: sync_written(tid, (Int)a[0], -1, 0, r); return False;
	case __NR_pwrite64:
	case __NR_pwritev: sync_written(tid, (Int)a[0], (Long)a[3], 0, r); return False;
	case __NR_pwritev2: sync_written(tid, (Int)a[0], (Long)a[3], a[5], r); return False;
	case __NR_sendfile: sync_copied(tid, (Int)a[0], NULL, r); return False;
	case __NR_splice:
	case __NR_copy_file_range:
		sync_copied(tid, (Int)a[2], (const ULong *)a[3], r);
		return False;
	default: return False;
	}
}
