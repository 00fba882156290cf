/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer: a Valgrind tool that records what a program does to persistent memory, and, with
 * --hf-sym, also executes it symbolically. `holdfast` starts it; people do not.
 *
 *   core/     Valgrind's core, as the tracer sees it
 *   record/   recording: stores, flushes, fences, files, threads -> records in the ring
 *   deps/     dependences between accesses to PM
 *   expr/     expressions over input bytes
 *   world/    which bytes are symbolic, where they come from, what keeps runs apart
 *   exec/     symbolic execution: the two translations of each block
 *
 * Each uses only those above it (scripts/layers.txt). Recording does not know of symbolic
 * execution: here the core's callbacks are passed to both, one after the other.
 */
#include "deps/deps.h"
#include "exec/exec.h"

#define SYSCALL_ARGS 8 /* as many as the core hands over */

static const HChar *sym_path; /* of the control block */

/* ---- options ---- */

static Bool option(const HChar *arg)
{
	if (VG_STR_CLO(arg, "--hf-sym", sym_path)) {
		sym_on = opt.baseline = True;
		record.hooks = &exec_hooks;
		return True;
	}
	if (VG_BOOL_CLO(arg, "--hf-deps", deps_on)) {
		record.hooks = deps_on ? &deps_hooks : NULL;
		return True;
	}
	return VG_BOOL_CLO(arg, "--hf-sym-verify", exec_verify) || options_take(arg);
}

static void usage(void)
{
	options_usage();
	VG_(printf)
	("    --hf-sym=PATH            symbolic execution: shared memory that controls it\n"
	 "    --hf-deps=yes|no         record dependences between accesses to PM\n"
	 "    --hf-sym-verify=yes|no   say what each expression should be\n");
}

static void debug_usage(void)
{
	VG_(printf)("    (none)\n");
}

/* ---- callbacks of the core, with --hf-sym ---- */

static void sym_wrote(CorePart part, ThreadId tid, Addr a, SizeT len)
{
	sym_clear(a, len);
	kernel_wrote(part, tid, a, len);
}

static void sym_run(ThreadId tid, ULong blocks)
{
	ctx_run(tid, blocks);
	sym_switch(tid);
}

static void sym_thread_create(ThreadId parent, ThreadId tid)
{
	sym_thread(parent, tid);
	ctx_thread_create(parent, tid);
}

static void sym_deliver(ThreadId tid, Int sig, Bool alt)
{
	sym_signal(tid);
	ctx_signal(tid, sig, alt);
}

static void sym_setup(void)
{
	sym_init(sym_path);
	exec_setup();
	sym_track();
	VG_(track_pre_mem_read)(sym_kernel_reads);
	VG_(track_pre_mem_read_asciiz)(sym_kernel_reads_string);
	VG_(track_post_mem_write)(sym_wrote);
	VG_(track_start_client_code)(sym_run);
	VG_(track_pre_thread_ll_create)(sym_thread_create);
	VG_(track_pre_deliver_signal)(sym_deliver);
}

/* ---- … with --hf-deps ---- */

static void deps_wrote(CorePart part, ThreadId tid, Addr a, SizeT len)
{
	deps_clear(a, len);
	kernel_wrote(part, tid, a, len);
}

static void deps_goes_on(ThreadId tid, ULong blocks)
{
	ctx_run(tid, blocks);
	deps_run();
}

static void deps_start(void)
{
	deps_setup();
	VG_(track_post_mem_write)(deps_wrote);
	VG_(track_start_client_code)(deps_goes_on);
}

/* ---- … with and without ---- */

/*
 * openat2, which Valgrind knows since 3.21, is openat with flags and mode behind a pointer, and all below
 * take it as that. `plain` has room for the arguments.
 */
static UInt as_openat(UInt no, UWord **args, UWord plain[SYSCALL_ARGS])
{
	enum { OPENAT2 = 437, RESOLVE_IN_ROOT_ = 0x10 };
	const struct {
		ULong flags, mode, resolve;
	} *how = (void *)(*args)[2];
	if (no != OPENAT2 || (*args)[3] < sizeof *how ||
	    !VG_(am_is_valid_for_client)((Addr)how, sizeof *how, VKI_PROT_READ))
		return no;
	VG_(memcpy)(plain, *args, SYSCALL_ARGS * sizeof *plain);
	plain[2] = how->flags;
	plain[3] = how->mode;
	const HChar *path = (const HChar *)plain[1];
	if (how->resolve & RESOLVE_IN_ROOT_ &&
	    VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ))
		while (path[0] == '/' && path[1])
			path++;
	plain[1] = (UWord)path;
	*args = plain;
	return __NR_openat;
}

static void before_syscall(ThreadId tid, UInt no, UWord *args, UInt nargs)
{
	UWord plain[SYSCALL_ARGS];
	no = as_openat(no, &args, plain);
	if (sym_on)
		sym_syscall_pre(tid, no, args, nargs);
	syscall_pre(tid, no, args, nargs);
	limits_before(no, args);
}

static void after_syscall(ThreadId tid, UInt no, UWord *args, UInt nargs, SysRes res)
{
	UWord plain[SYSCALL_ARGS];
	no = as_openat(no, &args, plain);
	limits_after(tid, no, args, res);
	syscall_post(tid, no, args, nargs, res);
	if (sym_on)
		sym_syscall_post(tid, no, args, res);
}

static Bool request(ThreadId tid, UWord *args, UWord *ret)
{
	if (sym_on && sym_preload_request(args, ret))
		return True;
	if (!sym_on || args[0] != HOLDFAST_REQUEST_SYMBOLIC)
		return request_handle(tid, args, ret);
	*ret = sym_request(args[1], args[2]);
	return True;
}

static void first_instruction(ThreadId tid)
{
	static Bool scanned = False;
	if (!scanned) {
		module_scan();
		if (sym_on)
			sym_start(tid);
	}
	scanned = True;
}

/* Children that are not followed run unrecorded, and programs that they execute outside Valgrind. */
static void fork_child(ThreadId tid)
{
	if (sym_process.forking)
		return;
	if (sym_on)
		sym_forked();
	if (opt.loads)
		loads_forget();
	if (deps_on)
		deps_forked();
	if (opt.profile)
		profile_forked();
	exits_forked();
	pointers_shared();
	if (opt.follow_forks) {
		emit_fork_child();
		return;
	}
	record.on = False;
	region_forget_all();
	VG_(clo_trace_children) = False;
}

/* ---- start and end ---- */

static void post_clo_init(void)
{
	if (opt.ring == NULL) {
		VG_(umsg)("holdfast: the tracer is started by `holdfast record`\n");
		VG_(exit)(1);
	}
	if (opt.loads) {
		VG_(track_pre_mem_read)(kernel_reads);
		VG_(track_pre_mem_read_asciiz)(kernel_reads_string);
	}
	if (opt.profile)
		profile_setup();
	if (sym_on)
		sym_setup();
	if (deps_on)
		deps_start();
	emit_init();
}

static void say_exit(ULong status, ULong sig)
{
	ULong args[2] = { status, sig };
	if (sig)
		exits_process(VG_(get_running_tid)());
	profile_tell();
	emit(TRACE_EXIT, 0, 0, 0, 2, args, NULL, 0);
	if (sym_on) {
		exec_end();
		sym_end();
	}
	emit_end();
}

static void fini(Int code)
{
	if (record.exit_seen)
		say_exit((ULong)record.exit_status, 0);
}

/*
 * The core does not tell tools which signal ended the program, but it finally kills itself with the
 * same signal by this function, which the linker's --wrap (meson.build) replaces.
 */
extern void __real_vgPlain_kill_self(Int sig);
extern void __wrap_vgPlain_kill_self(Int sig);

void __wrap_vgPlain_kill_self(Int sig)
{
	say_exit(0, (ULong)sig);
	__real_vgPlain_kill_self(sig);
}

static void pre_clo_init(void)
{
	VG_(details_name)("holdfast");
	VG_(details_version)(NULL);
	VG_(details_description)("a recorder of what programs do to persistent memory");
	VG_(details_copyright_author)("The Holdfast authors, GNU GPL'd.");
	VG_(details_bug_reports_to)("the Holdfast project");
	VG_(details_avg_translation_sizeB)(350);
	VG_(basic_tool_funcs)(post_clo_init, instrument, fini);
	VG_(needs_command_line_options)(option, usage, debug_usage);
	VG_(needs_client_requests)(request);
	VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
	VG_(track_post_mem_write)(kernel_wrote);
	VG_(track_start_client_code)(ctx_run);
	VG_(track_pre_thread_ll_create)(ctx_thread_create);
	VG_(track_pre_thread_first_insn)(first_instruction);
	VG_(track_pre_thread_ll_exit)(ctx_thread_exit);
	VG_(track_pre_deliver_signal)(ctx_signal);
	VG_(atfork)(NULL, NULL, fork_child);
	options_init();
	large_setup();
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
