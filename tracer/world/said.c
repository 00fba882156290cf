/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last bytes that the program printed, for a message that says why it ended. They are kept in
 * the control block, since its output may be discarded.
 */
#include "internal.h"

static struct {
	ULong dev[3], ino[3];       /* of descriptors 1 and 2 at the start */
	HChar before[SYM_MAX_SAID]; /* as it was at the snapshot */
	UInt before_len;
} output;

void sym_said_init(void)
{
	struct vg_stat st;
	for (Int fd = 1; fd <= 2; fd++)
		if (VG_(fstat)(fd, &st) == 0) {
			output.dev[fd] = st.dev;
			output.ino[fd] = st.ino;
		}
	sym_control->said = 0;
}

void sym_said_snapshot(void)
{
	output.before_len = sym_control->said;
	VG_(memcpy)(output.before, sym_control->said_text, sizeof output.before);
}

void sym_said_restore(void)
{
	if (sym_control->said == output.before_len)
		return;
	sym_control->said = output.before_len;
	VG_(memcpy)(sym_control->said_text, output.before, sizeof output.before);
}

static void add(const HChar *p, SizeT n)
{
	UInt at = sym_control->said;
	if (n > SYM_MAX_SAID) {
		p += n - SYM_MAX_SAID;
		n = SYM_MAX_SAID;
	}
	for (SizeT i = 0; i < n; i++)
		sym_control->said_text[at++ % SYM_MAX_SAID] = p[i];
	sym_control->said = at;
}

static Bool is_output(Int fd)
{
	struct vg_stat st;
	return (fd == 1 || fd == 2) && VG_(fstat)(fd, &st) == 0 && st.dev == output.dev[fd] &&
	       st.ino == output.ino[fd];
}

void sym_said(UInt no, const UWord *a, UWord written)
{
	struct vki_iovec one = { (void *)a[1], a[2] };
	const struct vki_iovec *v = no == __NR_writev ? (const struct vki_iovec *)a[1] : &one;
	if ((no != __NR_write && no != __NR_writev) || !is_output((Int)a[0]))
		return;
	for (; written; v++) {
		SizeT n = v->iov_len < written ? v->iov_len : written;
		add(v->iov_base, n);
		written -= n;
	}
}
