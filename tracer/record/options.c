/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of recording. */
#include "record.h"

struct options opt = { .cpu = TRACE_CPU_CLWB };

void options_init(void)
{
	opt.pm = VG_(newXA)(VG_(malloc), "hf.opt", VG_(free), sizeof(HChar *));
	opt.persist = VG_(newXA)(VG_(malloc), "hf.opt", VG_(free), sizeof(HChar *));
	opt.watch = VG_(newXA)(VG_(malloc), "hf.opt", VG_(free), sizeof(HChar *));
}

static Bool take_cpu(const HChar *text)
{
	static const HChar *const names[] = {
#define X(NAME, name, about) name,
		TRACE_CPUS(X)
#undef X
	};
	for (UInt i = 0; i < sizeof names / sizeof *names; i++)
		if (VG_(strcmp)(text, names[i]) == 0) {
			opt.cpu = (enum trace_cpu)i;
			return True;
		}
	return False;
}

Bool options_take(const HChar *arg)
{
	const HChar *text;
	if (VG_STR_CLO(arg, "--hf-ring", opt.ring)) {
	} else if (VG_STR_CLO(arg, "--hf-pm", text)) {
		VG_(addToXA)(opt.pm, &text);
	} else if (VG_STR_CLO(arg, "--hf-persist", text)) {
		VG_(addToXA)(opt.persist, &text);
	} else if (VG_STR_CLO(arg, "--hf-watch", text)) {
		VG_(addToXA)(opt.watch, &text);
	} else if (VG_STR_CLO(arg, "--hf-cpu", text)) {
		return take_cpu(text);
	} else if (VG_BOOL_CLO(arg, "--hf-follow-forks", opt.follow_forks)) {
	} else if (VG_BOOL_CLO(arg, "--hf-pmemcheck", opt.pmemcheck)) {
	} else if (VG_BOOL_CLO(arg, "--hf-loads", opt.loads)) {
	} else if (VG_BOOL_CLO(arg, "--hf-load-bytes", opt.load_bytes)) {
	} else if (VG_BOOL_CLO(arg, "--hf-files", opt.files)) {
	} else if (VG_BOOL_CLO(arg, "--hf-profile", opt.profile)) {
	} else if (VG_STR_CLO(arg, "--hf-fault", text)) {
		return fault_take(text);
	} else {
		return False;
	}
	return True;
}

void options_usage(void)
{
	VG_(printf)
	("    --hf-ring=PATH           shared memory to record into\n"
	 "    --hf-pm=GLOB             files whose shared mappings are PM (repeatable)\n"
	 "    --hf-persist=GLOB        the only files that are recorded, or folders of them (repeatable)\n"
	 "    --hf-watch=GLOB          functions whose calls are recorded (repeatable)\n"
	 "    --hf-cpu=NAME            the best flush instruction in CPUID\n"
	 "    --hf-follow-forks=yes|no record children too\n"
	 "    --hf-pmemcheck=yes|no    have PMDK make pmemcheck's client requests\n"
	 "    --hf-loads=yes|no        record loads too\n"
	 "    --hf-load-bytes=yes|no   … as the bytes that were loaded, never as whole lines\n"
	 "    --hf-files=yes|no        record names, what is written beside PM, and what is said, too\n"
	 "    --hf-fault=W,C,N,L       system calls that fail (format.h: enum trace_fault)\n"
	 "    --hf-profile=yes|no      count stores to other memory at the places that store to PM, too\n");
}

/* A pattern without a slash is about the last part of a path. */
Bool glob_any(XArray *globs, const HChar *text)
{
	const HChar *base = VG_(strrchr)(text, '/');
	base = base ? base + 1 : text;
	for (Word i = 0; i < VG_(sizeXA)(globs); i++) {
		const HChar *g = *(const HChar **)VG_(indexXA)(globs, i);
		if (VG_(string_match)(g, VG_(strchr)(g, '/') ? text : base))
			return True;
	}
	return False;
}

/* Is the file recorded, by its own name or that of a folder above it? */
Bool options_persist(const HChar *path)
{
	Bool fits = VG_(sizeXA)(opt.persist) == 0;
	HChar *up = fits ? NULL : VG_(strdup)("hf.persist", path);
	for (HChar *end = up; end && !fits;) {
		fits = glob_any(opt.persist, up);
		end = VG_(strrchr)(up, '/');
		if (end)
			*end = 0;
	}
	if (up)
		VG_(free)(up);
	return fits;
}
