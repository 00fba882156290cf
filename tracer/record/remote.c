/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is written as another process's is: process_vm_writev, and /proc/PID/mem as a file. What
 * a program writes into its own is recorded. What goes into that of others is not, nor are what ptrace
 * pokes and what io_uring does; that they were used is said (enum trace_unseen).
 */
#include "record.h"

#define MOST 16u

static struct {
	UInt said; /* bits by enum trace_unseen */
	struct {
		ULong dev, ino;
		Bool own; /* this process's */
	} mem[MOST];      /* files /proc/PID/mem that were opened */
	UInt n;
} remote;

static void unseen(enum trace_unseen what)
{
	ULong arg = what;
	if (!(remote.said & 1u << what))
		emit(TRACE_DEF_UNSEEN, 0, 0, 0, 1, &arg, NULL, 0);
	remote.said |= 1u << what;
}

static void vm_written(ThreadId tid, Int pid, Addr iov, UWord n, SizeT len)
{
	const struct vki_iovec *v = (const struct vki_iovec *)iov;
	if (pid != VG_(getpid)()) {
		unseen(TRACE_UNSEEN_MEMORY);
		return;
	}
	for (UWord i = 0; i < n && len; i++) {
		SizeT k = v[i].iov_len < len ? v[i].iov_len : len;
		kernel_wrote(Vg_CoreSysCall, tid, (Addr)v[i].iov_base, k);
		len -= k;
	}
}

/* "/proc/self/mem", "/proc/12/task/12/mem" and the like. */
static void opened(Int fd, Addr path)
{
	struct vg_stat st;
	const HChar *name = (const HChar *)path;
	SizeT len = VG_(strlen)(name);
	if (len < 4 || VG_(strcmp)(name + len - 4, "/mem") != 0 || remote.n == MOST ||
	    !VG_(resolve_filename)(fd, &name) || VG_(strncmp)(name, "/proc/", 6) != 0 ||
	    VG_(fstat)(fd, &st) != 0)
		return;
	remote.mem[remote.n].dev = st.dev;
	remote.mem[remote.n].ino = st.ino;
	remote.mem[remote.n++].own = VG_(strtoll10)(name + 6, NULL) == VG_(getpid)();
}

/* `off` is -1 for the file's own position, already moved. */
static void wrote(ThreadId tid, Int fd, Long off, SizeT len)
{
	struct vg_stat st;
	if (!remote.n || VG_(fstat)(fd, &st) != 0)
		return;
	for (UInt i = 0; i < remote.n; i++) {
		if (remote.mem[i].dev != st.dev || remote.mem[i].ino != st.ino)
			continue;
		if (!remote.mem[i].own) {
			unseen(TRACE_UNSEEN_MEMORY);
			return;
		}
		if (off == -1)
			off = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)len;
		kernel_wrote(Vg_CoreSysCall, tid, (Addr)off, len);
		return;
	}
}

void remote_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	enum { POKETEXT = 4, POKEDATA = 5 };
	switch (no) {
	case __NR_process_vm_writev: vm_written(tid, (Int)a[0], a[3], a[4], r); break;
	case __NR_open: opened((Int)r, a[0]); break;
	case __NR_openat: opened((Int)r, a[1]); break;
	case __NR_write:
	case __NR_writev: wrote(tid, (Int)a[0], -1, r); break;
	case __NR_pwrite64:
	case __NR_pwritev: wrote(tid, (Int)a[0], (Long)a[3], r); break;
	case __NR_ptrace:
		if (a[0] == POKETEXT || a[0] == POKEDATA)
			unseen(TRACE_UNSEEN_MEMORY);
		break;
	case __NR_io_uring_setup: unseen(TRACE_UNSEEN_IO_URING); break;
	default: break;
	}
}
