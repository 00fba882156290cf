/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's code: which files are mapped executable, and where. */
#include "record.h"

struct module {
	Addr lo, hi;
};
static struct {
	XArray *paths;  /* HChar *, the id is the index */
	XArray *mapped; /* struct module: executable file mappings */
} modules;

void module_mapped(ThreadId tid, Addr a, SizeT len, ULong off, const HChar *path)
{
	ULong id, args[4];
	for (id = 0; id < (ULong)VG_(sizeXA)(modules.paths); id++)
		if (VG_(strcmp)(*(HChar **)VG_(indexXA)(modules.paths, (Word)id), path) == 0)
			break;
	if (id == (ULong)VG_(sizeXA)(modules.paths)) {
		HChar *copy = VG_(strdup)("hf.module", path);
		ULong def[2] = { id, 0 };
		VG_(addToXA)(modules.paths, &copy);
		emit(TRACE_DEF_MODULE, 0, 0, 0, 2, def, path, (UInt)VG_(strlen)(path));
	}
	struct module m = { a, a + len };
	VG_(addToXA)(modules.mapped, &m);
	args[0] = a, args[1] = len, args[2] = off, args[3] = id;
	event_at_syscall(tid, TRACE_MODULE_LOAD, 0, 4, args, NULL, 0);
}

/* What is mapped before the program runs: the program itself and the dynamic linker. */
void module_scan(void)
{
	Addr starts[1024];
	Int n = VG_(am_get_segment_starts)(SkFileC, starts, 1024);
	modules.paths = VG_(newXA)(VG_(malloc), "hf.modules", VG_(free), sizeof(HChar *));
	modules.mapped = VG_(newXA)(VG_(malloc), "hf.modules", VG_(free), sizeof(struct module));
	for (Int i = 0; i < n; i++) {
		NSegment const *seg = VG_(am_find_nsegment)(starts[i]);
		const HChar *path = seg && seg->hasX ? VG_(am_get_filename)(seg) : NULL;
		/* the page with Valgrind's trampolines is not part of the program */
		if (path && VG_(strstr)(path, "/holdfast-amd64-linux") == NULL)
			module_mapped(VG_INVALID_THREADID, seg->start, seg->end - seg->start + 1,
				      (ULong)seg->offset, path);
	}
}

/* Code at [lo, hi) goes away: addresses there may mean something else from now on. */
void module_unmapped(ThreadId tid, Addr lo, Addr hi)
{
	for (Word i = VG_(sizeXA)(modules.mapped) - 1; i >= 0; i--) {
		struct module *m = VG_(indexXA)(modules.mapped, i);
		if (m->hi <= lo || m->lo >= hi)
			continue;
		ULong args[2] = { m->lo, m->hi - m->lo };
		event_at_syscall(tid, TRACE_MODULE_UNLOAD, 0, 2, args, NULL, 0);
		VG_(removeIndexXA)(modules.mapped, i);
		emit_sites_stale();
	}
}
