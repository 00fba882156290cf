/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that are not followed: counted by name, and recorded at the end of the run. */
#include "slow.h"

struct unfollowed {
	const HChar *name;
	ULong count;
};
static XArray *all;

void sym_concrete(const HChar *name)
{
	struct unfollowed u = { name, 1 };
	if (!all)
		all = VG_(newXA)(VG_(malloc), "hf.concrete", VG_(free), sizeof u);
	for (Word i = 0; i < VG_(sizeXA)(all); i++) {
		struct unfollowed *old = VG_(indexXA)(all, i);
		if (old->name == name || VG_(strcmp)(old->name, name) == 0) {
			old->count++;
			return;
		}
	}
	u.name = VG_(strdup)("hf.concrete", name);
	VG_(addToXA)(all, &u);
}

/* VEX can only print the names of its operations: its output is captured. */
extern void (*vex_log_bytes)(const HChar *, SizeT);
static struct {
	HChar text[64];
	SizeT n;
} caught;

static void catch (const HChar *text, SizeT n)
{
	for (SizeT i = 0; i < n && caught.n + 1 < sizeof caught.text; i++)
		caught.text[caught.n++] = text[i];
	caught.text[caught.n] = 0;
}

void sym_concrete_op(IROp op)
{
	void (*print)(const HChar *, SizeT) = vex_log_bytes;
	caught.n = 0;
	caught.text[0] = 0;
	vex_log_bytes = catch;
	ppIROp(op);
	vex_log_bytes = print;
	sym_concrete(caught.text);
}

void exec_end(void)
{
	for (Word i = 0; all && i < VG_(sizeXA)(all); i++) {
		const struct unfollowed *u = VG_(indexXA)(all, i);
		emit(TRACE_SYM_CONCRETE, 0, 0, 0, 1, &u->count, u->name,
		     (UInt)VG_(strlen)(u->name));
	}
}
