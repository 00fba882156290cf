/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program is asked, and what it answers: the beginning of what it reads and writes, as far as that is
 * a conversation. Answers go to standard output, or to a socket, pipe or terminal. Questions come from
 * standard input, from one of these, or from a file that is open for reading only once there is PM: before
 * that, programs read what they need to start. What its threads say to each other, by an eventfd, or a pipe or pair of
 * sockets that the program has made itself, is neither.
 */
#include "record.h"

#define TALK_BYTES 4096u /* that are kept of each */
#define OWN 64u

/* Pipes and pairs of sockets that the program has made, the newest ones. */
static struct {
	ULong dev, ino;
} own[OWN];
static UInt owns;

static Bool is_a(UInt type, Int fd)
{
	struct vg_stat st;
	return VG_(fstat)(fd, &st) == 0 && (st.mode & VKI_S_IFMT) == type;
}

static void note_own(const Int *fd)
{
	struct vg_stat st;
	for (UInt i = 0; i < 2; i++)
		if (VG_(fstat)(fd[i], &st) == 0) {
			own[owns % OWN].dev = st.dev;
			own[owns++ % OWN].ino = st.ino;
		}
}

/* A way to others. */
static Bool leads_out(Int fd)
{
	struct vg_stat st;
	UInt type = VG_(fstat)(fd, &st) == 0 ? st.mode & VKI_S_IFMT : 0;
	if (type != VKI_S_IFSOCK && type != VKI_S_IFIFO && type != VKI_S_IFCHR)
		return False;
	for (UInt i = 0; i < OWN && i < owns; i++)
		if (own[i].dev == st.dev && own[i].ino == st.ino)
			return False;
	return True;
}

static Bool asks(Int fd)
{
	if (fd == 0 || leads_out(fd))
		return True;
	return is_a(VKI_S_IFREG, fd) && region_ever() &&
	       (VG_(fcntl)(fd, VKI_F_GETFL, 0) & VKI_O_ACCMODE) == VKI_O_RDONLY;
}

static ULong lines_in(const struct vki_iovec *v, UWord n, SizeT len)
{
	ULong lines = 0;
	for (UWord i = 0; i < n && len; i++) {
		const UChar *p = v[i].iov_base;
		SizeT k = v[i].iov_len < len ? v[i].iov_len : len;
		for (SizeT j = 0; j < k; j++)
			lines += p[j] == '\n';
		len -= k;
	}
	return lines;
}

static void talk(ThreadId tid, UInt kind, Int fd, const struct vki_iovec *v, UWord n, SizeT len)
{
	Bool reads = kind == TRACE_INPUT;
	ULong args[4] = { (ULong)fd, len, reads ? lines_in(v, n, len) : 0,
			  reads && is_a(VKI_S_IFSOCK, fd) };
	static UChar bytes[TALK_BYTES];
	UInt have = 0;
	for (UWord i = 0; i < n && have < TALK_BYTES && have < len; i++) {
		SizeT k = v[i].iov_len;
		k = k < len - have ? k : len - have;
		k = k < TALK_BYTES - have ? k : TALK_BYTES - have;
		VG_(memcpy)(bytes + have, v[i].iov_base, k);
		have += (UInt)k;
	}
	event_at_syscall(tid, kind, 0, reads ? 4 : 2, args, bytes, have);
}

void talk_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	struct vki_iovec one = { (void *)a[1], r };
	const struct vki_iovec *v = (const struct vki_iovec *)a[1];
	const struct vki_msghdr *m = (const struct vki_msghdr *)a[1];
	Int fd = (Int)a[0];
	UWord n = 1;
	Bool reads =
		no == __NR_read || no == __NR_readv || no == __NR_recvfrom || no == __NR_recvmsg;
	switch (no) {
	case __NR_read:
	case __NR_recvfrom:
	case __NR_write:
	case __NR_sendto: v = &one; break;
	case __NR_readv:
	case __NR_writev: n = a[2]; break;
	case __NR_recvmsg:
	case __NR_sendmsg:
		v = (const struct vki_iovec *)m->msg_iov;
		n = m->msg_iovlen;
		break;
	case __NR_pipe:
	case __NR_pipe2: note_own((const Int *)a[0]); return;
	case __NR_socketpair: note_own((const Int *)a[3]); return;
	default: return;
	}
	if (reads ? asks(fd) : fd == 1 || (fd != 2 && leads_out(fd)))
		talk(tid, reads ? TRACE_INPUT : TRACE_OUTPUT, fd, v, n, r);
}
