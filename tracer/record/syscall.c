/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls: mappings, files that back PM, child processes, exit; and what the kernel writes
 * into PM for the program.
 */
#include "record.h"

#define CLONE_THREAD 0x10000
#define CLONE_CHILD_CLEARTID 0x200000
#define MADV_REMOVE 9
#define O_TMPFILE 0x410000

static struct {
	Bool family; /* more than one process is recorded */
} calls;

/* Before and after a system call, the guest's IP is behind the two-byte instruction. */
UInt syscall_site(ThreadId tid)
{
	return emit_site(VG_(get_IP)(tid) - 2, TRACE_SITE_SYSCALL, 0);
}

void event_at_syscall(ThreadId tid, UInt kind, UInt flags, UInt nargs, const ULong *args,
		      const void *payload, UInt size)
{
	if (tid == VG_INVALID_THREADID) { /* before the program's first instruction */
		emit(kind, flags, 0, 0, nargs, args, payload, size);
		return;
	}
	ctx_switch(tid);
	emit(kind, flags, syscall_site(tid), ctx_node(), nargs, args, payload, size);
}

/*
 * The core tells of all that a call was asked to write; the kernel stops at the first page that it cannot write.
 * What can be written but not read (PROT_WRITE alone) is no business of process_vm_readv, but of the processor.
 */
static Bool can_be_written(Addr a)
{
	UChar byte;
	return region_peek(a, &byte, 1) == 1 ||
	       (!VG_(am_is_valid_for_client)(a, 1, VKI_PROT_READ) &&
		VG_(am_is_valid_for_client)(a, 1, VKI_PROT_WRITE));
}

/* One record per page, since a payload is limited. */
static void memory_written(Addr a, Addr end, UInt site)
{
	for (Addr stop; (a = region_next(a)) < end; a = stop) {
		stop = VG_PGROUNDDN(a) + VKI_PAGE_SIZE;
		if (stop > region_find(a)->hi)
			stop = region_find(a)->hi;
		if (stop > end)
			stop = end;
		if (can_be_written(a))
			emit_store(a, (UInt)(stop - a), TRACE_F_KERNEL, site, ctx_node());
	}
}

void kernel_wrote(CorePart part, ThreadId tid, Addr a, SizeT len)
{
	if (part != Vg_CoreSysCall || !record.on || region_next(a) >= a + len)
		return;
	ctx_switch(tid);
	memory_written(a, a + len, syscall_site(tid));
}

/* The frame of a signal handler, with the registers; and the core keeps something of its own behind it. */
void kernel_pushed(ThreadId tid, Addr lo, Addr hi)
{
	if (record.on && region_next(lo) < hi)
		memory_written(lo, hi, emit_site(VG_(get_IP)(tid), TRACE_SITE_OTHER, 0));
}

/* ---- reads of files that back PM, or might ---- */

/* `off` is -1 for the file's own position, already moved. */
static void was_read(ThreadId tid, Int fd, Long off, SizeT done)
{
	UInt file = done && opt.loads ? file_opened(fd) : NO_FILE;
	if (file == NO_FILE)
		return;
	if (off == -1)
		off = VG_(lseek)(fd, 0, VKI_SEEK_CUR) - (Long)done;
	ULong args[3] = { file, (ULong)off, done };
	event_at_syscall(tid, TRACE_FILE_READ, 0, 3, args, NULL, 0);
}

static void was_copied(ThreadId tid, Int fd, const ULong *off_after, SizeT done)
{
	was_read(tid, fd, off_after ? (Long)(*off_after - done) : -1, done);
}

static void reads_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	switch (no) {
	case __NR_read:
	case __NR_readv: was_read(tid, (Int)a[0], -1, r); break;
	case __NR_pread64:
	case __NR_preadv:
	case __NR_preadv2: was_read(tid, (Int)a[0], (Long)a[3], r); break;
	case __NR_sendfile: was_copied(tid, (Int)a[1], (const ULong *)a[2], r); break;
	case __NR_splice:
	case __NR_copy_file_range: was_copied(tid, (Int)a[0], (const ULong *)a[1], r); break;
	default: break;
	}
}

/* ---- sizes, opening, syncing ---- */

static void file_event(ThreadId tid, UInt kind, UInt file, UInt nargs, ULong b, ULong c, ULong d)
{
	ULong args[4] = { file, b, c, d };
	if (file != NO_FILE)
		event_at_syscall(tid, kind, 0, nargs, args, NULL, 0);
}

/* The same for what changes a file, be it PM or not. */
static void change_event(ThreadId tid, Bool allocate, UInt file, ULong b, ULong c, ULong d)
{
	if (file == NO_FILE || file_at(file)->lost)
		return;
	if (file_at(file)->pm)
		file_event(tid, allocate ? TRACE_FILE_ALLOCATE : TRACE_FILE_TRUNCATE, file,
			   allocate ? 4 : 2, b, c, d);
	else
		file_event(tid, allocate ? TRACE_NODE_ALLOCATE : TRACE_NODE_TRUNCATE, file,
			   allocate ? 4 : 2, b, c, d);
}

static void opened(ThreadId tid, Int fd, UWord flags)
{
	UInt file = file_opened(fd);
	file_event(tid, TRACE_FILE_OPEN, file, 2, flags, 0, 0);
	if ((flags & O_TMPFILE) == O_TMPFILE && !(flags & VKI_O_EXCL))
		file_may_get_name(fd);
	if (flags & VKI_O_TRUNC)
		change_event(tid, False, file_changed(fd), 0, 0, 0);
}

static Bool files_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	switch (no) {
	case __NR_open: opened(tid, (Int)r, a[1]); break;
	case __NR_openat:
	case __NR_open_by_handle_at: opened(tid, (Int)r, a[2]); break;
	case __NR_creat: opened(tid, (Int)r, VKI_O_TRUNC); break;
	case __NR_truncate:
		change_event(tid, False, file_by_path((const HChar *)a[0]), a[1], 0, 0);
		break;
	case __NR_ftruncate: change_event(tid, False, file_changed((Int)a[0]), a[1], 0, 0); break;
	case __NR_fallocate:
		change_event(tid, True, file_changed((Int)a[0]), a[1], a[2], a[3]);
		break;
	default: return syncs_post(tid, no, a, r);
	}
	return True;
}

/* ---- mappings ---- */

/* SHM_REMAP puts it over what was there. */
static void segment_attached(ThreadId tid, Addr a)
{
	NSegment const *seg = VG_(am_find_nsegment)(a);
	if (seg)
		region_munmap(tid, a, seg->end + 1 - a);
}

static Bool maps_post(ThreadId tid, UInt no, const UWord *a, UWord r)
{
	ULong sync[3] = { a[0], a[1], a[2] };
	switch (no) {
	case __NR_mmap:
		region_mmap(tid, r, a[1], (UInt)a[2], (UInt)a[3], (Int)a[4], a[5], a[0]);
		return True;
	case __NR_munmap: region_munmap(tid, a[0], a[1]); return True;
	case __NR_shmat: segment_attached(tid, r); return True;
	case __NR_mprotect:
	case __NR_pkey_mprotect: region_mprotect(tid, a[0], a[1], (UInt)a[2]); return True;
	case __NR_madvise:
		if (a[2] == MADV_REMOVE)
			region_removed(tid, a[0], a[1]);
		return True;
	case __NR_mremap: region_mremap(tid, a[0], a[1], r, a[2]); return True;
	case __NR_msync:
		if (region_ever())
			event_at_syscall(tid, TRACE_SYNC, 0, 3, sync, NULL, 0);
		return True;
	default: return False;
	}
}

/* ---- all of them ---- */

static void exec_pre(ThreadId tid, const HChar *path)
{
	struct vg_stat st;
	if (sr_isError(VG_(stat)(path, &st)) || !(st.mode & 0111))
		return;
	profile_tell();
	event_at_syscall(tid, TRACE_EXEC, 0, 0, NULL, path, (UInt)VG_(strlen)(path));
}

/* Stacks that are PM: a thread's, a signal handler's. */
static void stack_given(Addr lo, SizeT len)
{
	if (region_next(lo) < lo + len)
		stacks_are_pm();
}

static void exit_pre(ThreadId tid, UInt no, Int status)
{
	if (no == __NR_exit && VG_(count_living_threads)() > 1) {
		exits_thread(tid);
		return;
	}
	record.exit_seen = True;
	record.exit_tid = tid;
	record.exit_status = status & 0xff;
	exits_process(tid);
}

static void handler_given(Int sig, const vki_sigaction_toK_t *act)
{
	if (act && (sig == VKI_SIGSEGV || sig == VKI_SIGBUS) && act->ksa_handler != VKI_SIG_DFL &&
	    act->ksa_handler != VKI_SIG_IGN)
		faults_are_handled();
}

static void threads_post(ThreadId tid, UInt no, const UWord *a)
{
	const vki_stack_t *st = (const vki_stack_t *)a[0];
	switch (no) {
	case __NR_sigaltstack:
		if (st && region_ever())
			stack_given((Addr)st->ss_sp, st->ss_size);
		break;
	case __NR_rt_sigaction: handler_given((Int)a[0], (const vki_sigaction_toK_t *)a[1]); break;
	case __NR_set_robust_list: exits_robust_list(tid, a[0]); break;
	case __NR_set_tid_address: exits_clear_word(tid, a[0]); break;
	default: break;
	}
}

static Bool is_fork(UInt no, const UWord *a)
{
	return no == __NR_fork || no == __NR_vfork || (no == __NR_clone && !(a[0] & CLONE_THREAD));
}

void syscall_pre(ThreadId tid, UInt no, UWord *a, UInt nargs)
{
	if (!record.on)
		return;
	if (is_fork(no, a))
		pointers_shared();
	if (opt.follow_forks && is_fork(no, a))
		calls.family = True;
	if (calls.family)
		emit_sync();
	if (region_ever()) {
		pointers_pre(tid, no, a, nargs);
		vectors_pre(tid, no, a);
	}
	if (no == __NR_clone && !is_fork(no, a)) {
		record.clears = a[0] & CLONE_CHILD_CLEARTID ? a[3] : 0;
		stack_given(a[1] - 1, 1);
	} else if (no == __NR_exit_group || no == __NR_exit) {
		exit_pre(tid, no, (Int)a[0]);
	} else if (no == __NR_execve) {
		exec_pre(tid, (const HChar *)a[0]);
	} else {
		writes_pre(tid, no, a);
		names_pre(tid, no, a);
	}
}

static void tell_post(ThreadId tid, UInt no, const UWord *a, SysRes res)
{
	ULong child = sr_Res(res);
	threads_post(tid, no, a);
	remote_post(tid, no, a, sr_Res(res));
	vectors_post(tid, no, a, sr_Res(res));
	if (opt.loads)
		reads_post(tid, no, a, sr_Res(res));
	if (opt.files)
		talk_post(tid, no, a, sr_Res(res));
	names_post(tid, no, a, sr_Res(res));
	writes_post(tid, no, a, sr_Res(res));
	if (maps_post(tid, no, a, sr_Res(res)) || files_post(tid, no, a, sr_Res(res)))
		return;
	if (child && is_fork(no, a))
		event_at_syscall(tid, TRACE_FORK, 0, 1, &child, NULL, 0);
}

void syscall_post(ThreadId tid, UInt no, UWord *a, UInt nargs, SysRes res)
{
	if (!record.on)
		return;
	fault_after(tid);
	if (!sr_isError(res))
		tell_post(tid, no, a, res);
	vectors_drop(tid);
	writes_done(tid, no, a);
	pointers_post(tid);
}
