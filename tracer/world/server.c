/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fork server. When a symbolic byte is about to be used for the first time, the process stops
 * there and forks a child for every input that holdfast wants to run. Nothing before this point
 * depends on the input, so it is executed only once.
 *
 *   server   ──first use──┬──────────┬──────────┬──  waits here
 *                         └─ run 1   └─ run 2   └─ run 3 …
 *
 * A child uses the server's slot of the ring, as the same process of the same trace. Its changes
 * must not be visible to the next child: view.c. Blocks that children had to translate are
 * translated in the server before the next fork, so that later children inherit the translations.
 */
#include "internal.h"

#define WAIT_MS 500u
#define WARM_AT_ONCE 20000u /* blocks translated before one fork */
#define WARM_TOTAL 100000u  /* … in total: far below the number at which Valgrind discards some */
#define PR_SET_PDEATHSIG 1

/* Parts of the core that are not in the tool headers. */
extern void VG_(do_atfork_pre)(ThreadId tid);
extern void VG_(do_atfork_parent)(ThreadId tid);
extern void VG_(do_atfork_child)(ThreadId tid);
extern Int VG_(waitpid)(Int pid, Int *status, Int options);
extern Bool VG_(translate)(ThreadId tid, Addr orig_addr, Bool debugging_translation,
			   Int debugging_verbosity, ULong bbs_done, Bool allow_redirection);

struct sym_process sym_process = { .role = SYM_BEFORE };

static struct {
	UInt seen;  /* entries of block[] that were considered */
	UInt count; /* translated here */
} warmed;

static void set_text(const HChar *text)
{
	VG_(strncpy)(sym_control->text, text, sizeof sym_control->text - 1);
}

static void be_alone(const HChar *why)
{
	sym_process.role = SYM_ALONE;
	if (!sym_control->alone) { /* else holdfast has asked for it */
		set_text(why);
		sym_control->alone = 1;
	}
	emit(TRACE_SYM_READY, SYM_READY_ALONE, 0, 0, 0, NULL, NULL, 0);
	sym_say_filled();
	emit_bell();
}

/* ---- ready translations ---- */

/* Only code from files, which is mapped alike in server and children. */
static Bool can_warm(Addr a)
{
	const NSegment *seg = VG_(am_find_nsegment)(a);
	return seg && seg->kind == SkFileC && seg->hasR && seg->hasX && !seg->hasW;
}

static void warm_up(ThreadId tid)
{
	UInt n = __atomic_load_n(&sym_control->nblocks, __ATOMIC_ACQUIRE), done = 0;
	if (n > SYM_MAX_BLOCKS)
		n = SYM_MAX_BLOCKS;
	for (; warmed.seen < n && done < WARM_AT_ONCE && warmed.count < WARM_TOTAL; warmed.seen++) {
		Addr a = sym_control->block[warmed.seen];
		if (!can_warm(a & ~SYM_BLOCK_SLOW))
			continue;
		VG_(translate)(tid, a, False, 0, 0, True);
		done++;
		warmed.count++;
	}
}

/* ---- the server ---- */

static Bool wait_for_go(UInt served)
{
	for (;;) {
		UInt go = __atomic_load_n(&sym_control->go, __ATOMIC_ACQUIRE);
		if (sym_control->quit || emit_nobody())
			return False;
		if (go != served)
			return True;
		emit_futex_wait(&sym_control->go, go, WAIT_MS);
	}
}

static void quit(void)
{
	VG_(do_syscall)(__NR_exit_group, 0, 0, 0, 0, 0, 0, 0, 0);
}

/* The core would reset the records of all possible threads, which are many pages; only those up to
 * this one were ever used. */
static void clean_up(ThreadId tid)
{
	UInt all = VG_N_THREADS;
	VG_N_THREADS = tid + 1;
	VG_(do_atfork_child)(tid);
	VG_N_THREADS = all;
}

static void become_child(ThreadId tid, Int server)
{
	VG_(do_syscall)(__NR_prctl, PR_SET_PDEATHSIG, VKI_SIGKILL, 0, 0, 0, 0, 0, 0);
	if (VG_(getppid)() != server)
		quit();
	clean_up(tid);
	sym_process.forking = False;
	sym_process.role = SYM_CHILD;
	VG_(clo_trace_children) = False; /* programs that a run executes are not traced */
	if (sym_process.tid_at)
		*(Int *)sym_process.tid_at = VG_(gettid)();
	emit_borrow();
	sym_view_memory();
	sym_preload_child();
	sym_fill();
	sym_say_filled();
}

static Int fork_child(ThreadId tid)
{
	sym_process.forking = True;
	VG_(do_atfork_pre)(tid);
	SysRes r = VG_(do_syscall)(__NR_fork, 0, 0, 0, 0, 0, 0, 0, 0);
	if (!sr_isError(r) && sr_Res(r) == 0)
		return 0;
	VG_(do_atfork_parent)(tid);
	sym_process.forking = False;
	return sr_isError(r) ? -1 : (Int)sr_Res(r);
}

static Int wait_for(Int pid)
{
	Int status = 0;
	while (VG_(waitpid)(pid, &status, 0) != pid)
		if (emit_nobody())
			quit();
	return status;
}

/* Returns in a child. */
static void serve(ThreadId tid)
{
	Int server = VG_(getpid)();
	warmed.seen = sym_control->nblocks;
	sym_said_snapshot();
	sym_node_prepare();
	for (UInt served = 0; wait_for_go(served);) {
		sym_view_restore();
		sym_said_restore();
		warm_up(tid);
		sym_control->base = emit_position();
		Int pid = fork_child(tid);
		if (pid == 0) {
			become_child(tid, server);
			return;
		}
		if (pid > 0) {
			sym_control->pid = (UInt)pid;
			__atomic_add_fetch(&sym_control->started, 1, __ATOMIC_RELEASE);
			sym_control->status = (UInt)wait_for(pid);
		} else {
			set_text("the fork server could not fork");
			sym_control->status = VKI_SIGKILL;
			__atomic_add_fetch(&sym_control->started, 1, __ATOMIC_RELEASE);
		}
		served++;
		__atomic_add_fetch(&sym_control->ended, 1, __ATOMIC_RELEASE);
		emit_bell();
	}
	quit();
}

void sym_first_use(void)
{
	ThreadId tid = VG_(get_running_tid)();
	const HChar *why = NULL;
	if (sym_process.role != SYM_BEFORE || !record.on)
		return;
	if (sym_control->alone)
		why = "";
	else if (VG_(count_living_threads)() > 1)
		why = "it has more than one thread when the input is first used";
	else if (sym_process.children)
		why = "it has started other processes before the input is first used";
	else if (!sym_view_snapshot(&why) && !why)
		why = "its memory cannot be kept apart";
	if (why) {
		be_alone(why);
		return;
	}
	emit_thread(ctx_thread_id(tid));
	emit(TRACE_SYM_READY, SYM_READY_FORKS, 0, 0, 0, NULL, NULL, 0);
	sym_control->base = emit_position();
	emit_bell();
	serve(tid);
}

void sym_dirtied(const HChar *what)
{
	static Bool said = False;
	if (sym_process.role == SYM_CHILD && !said)
		emit(TRACE_SYM_DIRTIED, 0, 0, 0, 0, NULL, what, (UInt)VG_(strlen)(what));
	said = True;
}

/* A process that the program has forked is killed when its parent ends. */
void sym_forked(void)
{
	sym_process.forked = True;
	VG_(do_syscall)(__NR_prctl, PR_SET_PDEATHSIG, VKI_SIGKILL, 0, 0, 0, 0, 0, 0);
}

void sym_end(void)
{
	sym_carry_end();
	emit(TRACE_SYM_END, 0, 0, 0, 0, NULL, NULL, 0);
}
