/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that deliver symbolic bytes, and those of a run that others could notice.
 *
 * A file is known by device and inode, so it does not matter how it was opened or what its
 * descriptor is called by now. A connection is known by its inode, too; its bytes have numbers
 * in the order in which they are received, on whatever connection.
 */
#include "internal.h"

#define MSG_PEEK 2
#define CLONE_THREAD 0x10000
#define NR_EPOLL_PWAIT2 441
#define NR_PREADV2 327
#define NR_FCHMODAT2 452
#define NR_SETXATTRAT 463
#define NR_REMOVEXATTRAT 466
#define NR_FILE_SETATTR 469

static struct {
	XArray *connections; /* ULong: inodes */
	ULong received;      /* bytes of the sockets' source */
} sockets;

static const Int arg_regs[6] = {
	offsetof(VexGuestAMD64State, guest_RDI), offsetof(VexGuestAMD64State, guest_RSI),
	offsetof(VexGuestAMD64State, guest_RDX), offsetof(VexGuestAMD64State, guest_R10),
	offsetof(VexGuestAMD64State, guest_R8),  offsetof(VexGuestAMD64State, guest_R9),
};

/* ---- what is behind a descriptor ---- */

static Int file_source(Int fd)
{
	struct vg_stat st;
	if (VG_(fstat)(fd, &st) != 0)
		return -1;
	return sym_source_of(st.dev, st.ino);
}

static Int socket_source(void)
{
	for (UInt i = 0; i < sym_control->nsources; i++)
		if (sym_control->source[i].kind == SYM_SRC_SOCKET)
			return (Int)i;
	return -1;
}

Bool sym_is_source(Int fd)
{
	return file_source(fd) >= 0;
}

Bool sym_is_connection(Int fd)
{
	struct vg_stat st;
	if (sockets.connections == NULL || VG_(fstat)(fd, &st) != 0 ||
	    (st.mode & VKI_S_IFMT) != VKI_S_IFSOCK)
		return False;
	for (Word i = 0; i < VG_(sizeXA)(sockets.connections); i++)
		if (*(ULong *)VG_(indexXA)(sockets.connections, i) == st.ino)
			return True;
	return False;
}

static void accepted(Int listener, Int fd)
{
	struct vg_stat st;
	if (sym_accepted(listener, fd) || socket_source() < 0 || VG_(fstat)(fd, &st) != 0)
		return;
	if (sockets.connections == NULL)
		sockets.connections = VG_(newXA)(VG_(malloc), "hf.sym", VG_(free), sizeof(ULong));
	ULong ino = st.ino;
	VG_(addToXA)(sockets.connections, &ino);
}

/* ---- bytes arrive ---- */

static void arrived_vector(UInt s, ULong off, const struct vki_iovec *v, UWord n, SizeT len,
			   Bool end)
{
	for (UWord i = 0; i < n; i++) {
		SizeT k = v[i].iov_len < len ? v[i].iov_len : len;
		len -= k;
		if (k)
			sym_arrived(s, off, (Addr)v[i].iov_base, k, False);
		off += k;
	}
	if (end)
		sym_arrived(s, off, 0, 0, True);
}

static SizeT vector_size(const struct vki_iovec *v, UWord n)
{
	SizeT sum = 0;
	for (UWord i = 0; i < n; i++)
		sum += v[i].iov_len;
	return sum;
}

/* From a connection; `peek`: they will come again. */
static void got_socket(const struct vki_iovec *v, UWord n, SizeT len, Bool peek)
{
	Int s = socket_source();
	if (s < 0)
		return;
	arrived_vector((UInt)s, sockets.received, v, n, len, len == 0);
	if (peek)
		return;
	sockets.received += len;
	sym_control->taken = (UInt)sockets.received;
}

/* From a file; off -1: its position, which has moved on. */
static void got_file(UInt s, Int fd, const struct vki_iovec *v, UWord n, Long off, SizeT len)
{
	if (off == -1)
		off = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)len;
	arrived_vector(s, (ULong)off, v, n, len, len < vector_size(v, n));
}

static void got(ThreadId tid, UInt no, const UWord *a, const struct vki_iovec *v, UWord n,
		SizeT len)
{
	Int fd = (Int)a[0], s = file_source(fd);
	Bool at = no == __NR_pread64 || no == __NR_preadv || no == NR_PREADV2;
	Bool peek =
		(no == __NR_recvfrom && a[3] & MSG_PEEK) || (no == __NR_recvmsg && a[2] & MSG_PEEK);
	if (s >= 0)
		got_file((UInt)s, fd, v, n, at ? (Long)a[3] : -1, len);
	else if (sym_is_connection(fd))
		got_socket(v, n, len, peek);
	else
		sym_carry_got(tid, no, a, v, n, len);
}

static void mapped(const UWord *a, Addr at)
{
	Int fd = (Int)a[4], s;
	sym_unmapped(at, a[1]);
	if (a[3] & VKI_MAP_ANONYMOUS || (s = file_source(fd)) < 0)
		return;
	if ((a[3] & 3) != VKI_MAP_PRIVATE && a[2] & VKI_PROT_WRITE)
		sym_control->source[s].written = 1;
	sym_mapped((UInt)s, a[5], at, a[1]);
}

void sym_syscall_post(ThreadId tid, UInt no, UWord *a, SysRes res)
{
	UWord r = sr_Res(res);
	struct vki_iovec one = { (void *)a[1], a[2] };
	sym_carry_post(tid, no, a, res);
	if (sr_isError(res))
		return;
	switch (no) {
	case __NR_read:
	case __NR_pread64:
	case __NR_recvfrom: got(tid, no, a, &one, 1, r); break;
	case __NR_readv:
	case __NR_preadv:
	case NR_PREADV2: got(tid, no, a, (struct vki_iovec *)a[1], a[2], r); break;
	case __NR_recvmsg:
		got(tid, no, a, ((struct vki_msghdr *)a[1])->msg_iov,
		    ((struct vki_msghdr *)a[1])->msg_iovlen, r);
		break;
	case __NR_accept:
	case __NR_accept4: accepted((Int)a[0], (Int)r); break;
	case __NR_listen: sym_view_listens(); break;
	case __NR_mmap: mapped(a, r); break;
	case __NR_munmap: sym_unmapped(a[0], a[1]); break;
	case __NR_mremap: sym_unmapped(a[0], a[1]); break;
	default: sym_said(no, a, r); break;
	}
	if (sym_control->pin)
		sym_clock_syscall(tid, no, a, res);
}

/* ---- waiting for a connection, or for bytes from one ---- */

static Bool waits(UInt no)
{
	switch (no) {
	case __NR_accept:
	case __NR_accept4:
	case __NR_poll:
	case __NR_ppoll:
	case __NR_select:
	case __NR_pselect6:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case NR_EPOLL_PWAIT2: return True;
	default: return False;
	}
}

static Bool receives(UInt no)
{
	return no == __NR_read || no == __NR_readv || no == __NR_recvfrom || no == __NR_recvmsg;
}

/* Is there anything to read on a connection, or a new one? Descriptors are few. */
static Bool has_news(void)
{
	for (Int fd = 3; fd < 256; fd++) {
		struct vki_pollfd p = { fd, VKI_POLLIN, 0 };
		struct vg_stat st;
		if (VG_(fstat)(fd, &st) != 0 || (st.mode & VKI_S_IFMT) != VKI_S_IFSOCK)
			continue;
		SysRes r = VG_(do_syscall)(__NR_poll, (UWord)&p, 1, 0, 0, 0, 0, 0, 0);
		if (!sr_isError(r) && sr_Res(r) && p.revents & VKI_POLLIN)
			return True;
	}
	return False;
}

static void socket_pre(UInt no, const UWord *a)
{
	if (!sym_view_has_listener())
		return;
	if (waits(no))
		sym_first_use();
	else if (!receives(no) || !sym_is_connection((Int)a[0]))
		return;
	if (sym_process.role == SYM_BEFORE || has_news())
		return;
	__atomic_add_fetch(&sym_control->idle, 1, __ATOMIC_RELEASE);
	emit_bell();
}

/* ---- a child that changes something ---- */

static Bool opens_to_write(UWord flags)
{
	return (flags & 3) != VKI_O_RDONLY || flags & (VKI_O_CREAT | VKI_O_TRUNC);
}

static void folder(Int dirfd, const HChar *path)
{
	if (dirfd != VKI_AT_FDCWD && VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) &&
	    path[0] != '/' && sym_view_old_fd(dirfd))
		sym_dirtied("it changes files through a folder that it opened before");
}

static Bool changes_by_name(UInt no)
{
	static const UShort calls[] = {
		__NR_creat,       __NR_truncate,     __NR_unlink,    __NR_rename,
		__NR_mkdir,       __NR_rmdir,        __NR_link,      __NR_symlink,
		__NR_mknod,       __NR_chmod,        __NR_chown,     __NR_lchown,
		__NR_utime,       __NR_utimes,       __NR_setxattr,  __NR_lsetxattr,
		__NR_removexattr, __NR_lremovexattr, __NR_mount,     __NR_chroot,
		__NR_bind,        __NR_execve,       __NR_unlinkat,  __NR_mkdirat,
		__NR_mknodat,     __NR_fchmodat,     __NR_fchownat,  __NR_futimesat,
		__NR_utimensat,   __NR_renameat,     __NR_renameat2, __NR_linkat,
		__NR_symlinkat,   NR_FCHMODAT2,      NR_SETXATTRAT,  NR_REMOVEXATTRAT,
		NR_FILE_SETATTR,
	};
	for (UInt i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i] == no)
			return True;
	return False;
}

/* Changes by name. */
static void names(UInt no, const UWord *a)
{
	if (changes_by_name(no) || (no == __NR_open && opens_to_write(a[1])) ||
	    ((no == __NR_openat || no == __NR_open_by_handle_at) && opens_to_write(a[2])))
		sym_view_files();
	else
		return;
	switch (no) {
	case __NR_openat:
	case __NR_unlinkat:
	case __NR_mkdirat:
	case __NR_mknodat:
	case __NR_fchmodat:
	case NR_FCHMODAT2:
	case NR_SETXATTRAT:
	case NR_REMOVEXATTRAT:
	case NR_FILE_SETATTR:
	case __NR_fchownat:
	case __NR_futimesat:
	case __NR_utimensat: folder((Int)a[0], (const HChar *)a[1]); break;
	case __NR_renameat:
	case __NR_renameat2:
	case __NR_linkat:
		folder((Int)a[0], (const HChar *)a[1]);
		folder((Int)a[2], (const HChar *)a[3]);
		break;
	case __NR_symlinkat: folder((Int)a[1], (const HChar *)a[2]); break;
	default: break;
	}
}

static void writes(Int fd, Long off)
{
	Int s = file_source(fd);
	if (s >= 0) {
		sym_control->source[s].written = 1;
		return;
	}
	if (off == -1)
		off = VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_APPEND
			      ? VG_(fsize)(fd)
			      : VG_(lseek)(fd, 0, VKI_SEEK_CUR);
	if (!sym_view_write_ok(fd, (ULong)off))
		sym_dirtied("it writes to what it opened before it used the input");
}

/* Changes through a descriptor. */
static void descriptors(UInt no, const UWord *a)
{
	switch (no) {
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendfile: writes((Int)a[0], -1); break;
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2: writes((Int)a[0], (Long)a[3]); break;
	case __NR_splice:
	case __NR_copy_file_range: writes((Int)a[2], -1); break;
	case __NR_ftruncate:
	case __NR_fallocate:
	case __NR_fchmod:
	case __NR_fchown:
	case __NR_fsetxattr: writes((Int)a[0], 0); break;
	case __NR_mmap:
		if (!(a[3] & VKI_MAP_ANONYMOUS) && (a[3] & 3) != VKI_MAP_PRIVATE &&
		    a[2] & VKI_PROT_WRITE)
			writes((Int)a[4], 0);
		break;
	default: break;
	}
}

static Bool forks(UInt no, const UWord *a)
{
	return no == __NR_fork || no == __NR_vfork || (no == __NR_clone && !(a[0] & CLONE_THREAD));
}

Int sym_source_at(const HChar *path)
{
	struct vg_stat st;
	if (!VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) ||
	    sr_isError(VG_(stat)(path, &st)))
		return -1;
	return sym_source_of(st.dev, st.ino);
}

/* All bytes of a file go at once. */
static void cuts(UInt no, const UWord *a)
{
	Bool at = no == __NR_openat;
	const HChar *path = (const HChar *)a[at];
	if (no == __NR_creat || no == __NR_truncate ||
	    ((at || no == __NR_open) && a[1 + at] & VKI_O_TRUNC)) {
		Int s = sym_source_at(path);
		if (s >= 0)
			sym_control->source[s].written = 1;
	}
}

/* A file's size is a part of the input, too. */
static Bool uses_file(UInt no, const UWord *a)
{
	switch (no) {
	case __NR_read:
	case __NR_readv:
	case __NR_pread64:
	case __NR_preadv:
	case NR_PREADV2:
	case __NR_lseek:
	case __NR_fstat:
	case __NR_ioctl: return file_source((Int)a[0]) >= 0;
	case __NR_sendfile: return file_source((Int)a[1]) >= 0;
	case __NR_splice:
	case __NR_copy_file_range: return file_source((Int)a[0]) >= 0;
	case __NR_stat:
	case __NR_lstat: return sym_source_at((const HChar *)a[0]) >= 0;
	case __NR_newfstatat:
	case __NR_statx:
		return file_source((Int)a[0]) >= 0 || sym_source_at((const HChar *)a[1]) >= 0;
	default: return False;
	}
}

void sym_syscall_pre(ThreadId tid, UInt no, UWord *a, UInt nargs)
{
	for (UInt i = 0; i < nargs && i < 6; i++)
		sym_reg_pin(tid, (UInt)arg_regs[i]);
	if (no == __NR_set_tid_address)
		sym_process.tid_at = a[0];
	if (sym_process.role == SYM_BEFORE && uses_file(no, a))
		sym_first_use();
	socket_pre(no, a);
	sym_names_go(no, a);
	cuts(no, a);
	sym_carry_pre(tid, no, a);
	if (forks(no, a)) {
		sym_process.children = True;
		sym_carry_forks(tid);
		sym_view_files();
		sym_view_share();
	}
	if (sym_process.role != SYM_CHILD)
		return;
	names(no, a);
	descriptors(no, a);
}

/* ---- the kernel reads what is symbolic ---- */

void sym_kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr a, SizeT len)
{
	if (!len || (sym_process.role != SYM_BEFORE && !sym_process.forked) || !sym_any(a, len))
		return;
	if (sym_process.forked)
		sym_control->child_used = 1;
	else
		sym_first_use();
}

void sym_kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr a)
{
	if (VG_(am_is_valid_for_client)(a, 1, VKI_PROT_READ))
		sym_kernel_reads(part, tid, what, a, VG_(strlen)((const HChar *)a) + 1);
}
