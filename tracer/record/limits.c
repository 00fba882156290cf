/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * setrlimit and getrlimit: the program gets the limits that it would have without us.
 *
 * The core refuses to lower the hard limit of descriptors, and keeps some of them for itself; memory and
 * time that Valgrind needs besides count as the program's. So what the program sets is kept here, and is
 * what it reads again. The system call is made with values that change nothing, but for the soft limit
 * of descriptors, which the core goes by.
 */
#include "record.h"

extern Int VG_(fd_soft_limit), VG_(fd_hard_limit);

enum { FILES, MEMORY, TIME, KINDS };
#define RLIMIT_OF_TIME 0 /* RLIMIT_CPU and RLIMIT_AS, which the core has no names for */
#define RLIMIT_OF_MEMORY 9
static const UWord resource[KINDS] = { VKI_RLIMIT_NOFILE, RLIMIT_OF_MEMORY, RLIMIT_OF_TIME };

struct limit {
	ULong cur, max;
};
static struct limit own[KINDS];
static Bool known[KINDS];

/* A system call that is under way: what it was to set, and where that is. */
static struct limit *setting, wanted;

#define NR_SETRLIMIT 160
#define NR_GETRLIMIT 97
#define NR_PRLIMIT 302

static Int kind_of(UInt no, const UWord *args)
{
	UWord what = no == NR_PRLIMIT ? args[1] : args[0];
	if (no != NR_SETRLIMIT && no != NR_GETRLIMIT && no != NR_PRLIMIT)
		return -1;
	if (no == NR_PRLIMIT && args[0] != 0 && args[0] != (UWord)VG_(getpid)())
		return -1;
	for (Int k = 0; k < KINDS; k++)
		if (resource[k] == what)
			return k;
	return -1;
}

static struct limit real_limit(Int kind)
{
	struct limit r = { ~0ull, ~0ull };
	VG_(do_syscall)(NR_GETRLIMIT, resource[kind], (UWord)&r, 0, 0, 0, 0, 0, 0);
	return r;
}

/* As it was when the program began. */
static void know(Int kind)
{
	if (known[kind])
		return;
	known[kind] = True;
	own[kind] = real_limit(kind);
	/* The core has raised the soft limit by what it keeps, if there was room. */
	if (kind == FILES && own[kind].cur < own[kind].max)
		own[kind].cur = (ULong)VG_(fd_soft_limit);
}

/* Beyond the hard limit: whoever may, may. */
static Bool may_raise(Int kind, ULong max)
{
	struct limit r = real_limit(kind);
	if (max <= r.max) /* it was the program that lowered it */
		return False;
	r.max = max;
	SysRes res = VG_(do_syscall)(NR_SETRLIMIT, resource[kind], (UWord)&r, 0, 0, 0, 0, 0, 0);
	return !sr_isError(res);
}

void limits_before(UInt no, const UWord *args)
{
	Int kind = kind_of(no, args);
	setting = NULL;
	if (kind < 0 || no == NR_GETRLIMIT)
		return;
	struct limit *p = (struct limit *)(no == NR_PRLIMIT ? args[2] : args[1]);
	if (!p || !VG_(am_is_valid_for_client)((Addr)p, sizeof *p, VKI_PROT_READ | VKI_PROT_WRITE))
		return;
	know(kind);
	/* What is refused without us, is refused; of the others no limit is really set. */
	if (p->cur > p->max ||
	    (kind == FILES && p->max > own[kind].max && !may_raise(kind, p->max)))
		return;
	setting = p;
	wanted = *p;
	*p = real_limit(kind);
	if (kind == FILES) {
		p->max = (ULong)VG_(fd_hard_limit);
		p->cur = wanted.cur < p->max ? wanted.cur : p->max;
	}
}

void limits_after(ThreadId tid, UInt no, const UWord *args, SysRes res)
{
	Int kind = kind_of(no, args);
	if (kind < 0)
		return;
	struct limit *out = (struct limit *)(no == NR_GETRLIMIT ? args[1]
					     : no == NR_PRLIMIT ? args[3]
								: 0);
	know(kind);
	if (out && !sr_isError(res)) {
		*out = own[kind];
		kernel_wrote(Vg_CoreSysCall, tid, (Addr)out, sizeof *out);
	}
	if (!setting)
		return;
	*setting = wanted;
	if (!sr_isError(res))
		own[kind] = wanted;
	setting = NULL;
}
