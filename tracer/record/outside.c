/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of files for a program that is in the view of a preloaded library (preload/preload.h):
 * the kernel knows them by the paths of copies, the program and the trace by those of the
 * originals.
 */
#include "record.h"

static struct preload_view *view;

struct preload_view *outside_view(void)
{
	return view;
}

void outside_learn(Addr a)
{
	if (VG_(am_is_valid_for_client)(a, sizeof *view, VKI_PROT_READ | VKI_PROT_WRITE))
		view = (struct preload_view *)a;
}

/* "/u12/rest" → the folder's path, and the rest. */
static const struct preload_folder *folder_of(const HChar *s, const HChar **rest)
{
	HChar *end;
	if (s[0] != '/' || s[1] != 'u')
		return NULL;
	ULong id = (ULong)VG_(strtoull10)(s + 2, &end);
	*rest = end;
	for (UInt i = 0; i < view->nfolder && i < PRELOAD_FOLDERS; i++)
		if (view->folder[i].id == id && (*end == '/' || !*end))
			return &view->folder[i];
	return NULL;
}

const HChar *outside_name(const HChar *path)
{
	static HChar buf[VKI_PATH_MAX];
	for (UInt i = 0; view && i < view->base.n && i < PRELOAD_BASES; i++) {
		const HChar *base = view->base.path[i], *rest;
		SizeT n = VG_(strlen)(base);
		const struct preload_folder *f = NULL;
		if (VG_(strncmp)(path, base, n) == 0)
			f = folder_of(path + n, &rest);
		if (f && f->n + VG_(strlen)(rest) < sizeof buf) {
			VG_(strcpy)(buf, f->dir);
			VG_(strcat)(buf, rest);
			return buf;
		}
	}
	return path;
}
