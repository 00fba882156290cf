/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of buffers (readv, recvmsg and the like) that lie in PM themselves: what is read may overwrite the very list
 * that says where it goes, and the core, which walks it after the call, then tells of other places. So
 * such a list is kept before the call, and told of after it.
 */
#include "record.h"

#define MOST 1024u /* buffers of a call, as for the kernel */

struct vector {
	struct vki_iovec *v; /* NULL: none */
	UInt n, lists;       /* buffers; those of a message's name and control data come last */
};
static struct vector *vectors;

static void keep(struct vector *k, Addr list, UWord n, Bool always)
{
	SizeT len = n * sizeof *k->v;
	if (!n || n > MOST || !(always || region_next(list) < list + len))
		return;
	k->v = VG_(calloc)("hf.vector", n + 2, sizeof *k->v);
	k->n = k->lists = region_peek(list, (UChar *)k->v, (UInt)len) / (UInt)sizeof *k->v;
}

/* The message may say where names and control data go, too. */
static void keep_message(struct vector *k, Addr message, Bool always)
{
	struct vki_msghdr m;
	if (region_peek(message, (UChar *)&m, sizeof m) != sizeof m)
		return;
	keep(k, (Addr)m.msg_iov, m.msg_iovlen, always || region_next(message) < message + sizeof m);
	if (!k->v)
		return;
	k->v[k->n++] = (struct vki_iovec){ m.msg_name, m.msg_name ? (SizeT)m.msg_namelen : 0 };
	k->v[k->n++] = (struct vki_iovec){ m.msg_control, m.msg_control ? m.msg_controllen : 0 };
}

static struct vector kept(UInt no, const UWord *a, Bool always)
{
	struct vector k = { NULL, 0, 0 };
	switch (no) {
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_process_vm_readv: keep(&k, a[1], a[2], always); break;
	case __NR_recvmsg: keep_message(&k, a[1], always); break;
	default: break;
	}
	return k;
}

void vectors_pre(ThreadId tid, UInt no, const UWord *a)
{
	if (vectors == NULL)
		vectors = VG_(calloc)("hf.vectors", VG_N_THREADS, sizeof *vectors);
	vectors_drop(tid);
	vectors[tid] = kept(no, a, False);
}

/* Where a message's own lengths are all that has changed, the core has told of all. */
static Bool is_overwritten(const struct vector *k, UInt no, const UWord *a)
{
	struct vector now = kept(no, a, True);
	Bool same = now.v && now.lists == k->lists &&
		    !VG_(memcmp)(now.v, k->v, k->lists * sizeof *k->v);
	if (now.v)
		VG_(free)(now.v);
	return !same;
}

void vectors_post(ThreadId tid, UInt no, const UWord *a, UWord done)
{
	const struct vector *k = vectors ? &vectors[tid] : NULL;
	if (!k || !k->v)
		return;
	for (UInt i = 0; i < k->n && is_overwritten(k, no, a); i++) {
		SizeT n = k->v[i].iov_len;
		if (i < k->lists && n > done)
			n = done;
		kernel_wrote(Vg_CoreSysCall, tid, (Addr)k->v[i].iov_base, n);
		done -= i < k->lists ? n : 0;
	}
	vectors_drop(tid);
}

void vectors_drop(ThreadId tid)
{
	if (!vectors || !vectors[tid].v)
		return;
	VG_(free)(vectors[tid].v);
	vectors[tid].v = NULL;
}
