/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs in the view of a preloaded library (preload/preload.h), where there are no mounts: the
 * library keeps what the program changes in a folder, and each child of the fork server gets a
 * folder of its own, over the server's. It is made with the first change in it, and holdfast
 * removes it.
 */
#include "internal.h"

static UWord copy_text(HChar *to, const HChar *from)
{
	SizeT n;
	if (!VG_(am_is_valid_for_client)((Addr)from, 1, VKI_PROT_READ))
		return PRELOAD_TEXT_MAX;
	sym_kernel_reads_string(Vg_CoreClientReq, 0, NULL, (Addr)from);
	n = VG_(strlen)(from); /* now: it is this run's */
	if (n >= PRELOAD_TEXT_MAX)
		return PRELOAD_TEXT_MAX;
	VG_(memcpy)(to, from, n + 1);
	sym_clear((Addr)to, n + 1);
	return n;
}

Bool sym_preload_request(const UWord *args, UWord *ret)
{
	switch (args[0]) {
	case PRELOAD_REQUEST_VIEW:
		outside_learn(args[1]);
		if (sym_process.role == SYM_CHILD) /* the input was used before the library began */
			sym_preload_child();
		*ret = 1;
		return True;
	case PRELOAD_REQUEST_TEXT:
		*ret = copy_text((HChar *)args[1], (const HChar *)args[2]);
		return True;
	case PRELOAD_REQUEST_INPUT: *ret = sym_source_at((const HChar *)args[1]) >= 0; return True;
	default: return False;
	}
}

void sym_preload_child(void)
{
	struct preload_view *v = outside_view();
	struct preload_bases *b = v ? &v->base : NULL;
	if (!b || b->n != 1 || VG_(strlen)(b->path[0]) + 16 > sizeof b->path[0])
		return;
	VG_(strcpy)(b->path[1], b->path[0]);
	VG_(sprintf)(b->path[0], "%s/c%u", b->path[1], sym_control->ended);
	b->n = 2;
}
