/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options, start and end of the tracer. `holdfast` starts it; people do not. */
#include "world/world.h"

struct options opt = { NULL, NULL, NULL, CPU_CLWB, False, True, False, NULL, False };
Bool sym_on = False;

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

static Bool option(const HChar *arg)
{
	const HChar *text;
	if (VG_STR_CLO(arg, "--hf-ring", opt.ring)) {
	} else if (VG_STR_CLO(arg, "--hf-pm", text)) {
		VG_(addToXA)(opt.pm, &text);
	} else if (VG_STR_CLO(arg, "--hf-watch", text)) {
		VG_(addToXA)(opt.watch, &text);
	} else if (VG_XACT_CLO(arg, "--hf-cpu=clwb", opt.cpu, CPU_CLWB)) {
	} else if (VG_XACT_CLO(arg, "--hf-cpu=clflushopt", opt.cpu, CPU_CLFLUSHOPT)) {
	} else if (VG_XACT_CLO(arg, "--hf-cpu=clflush", opt.cpu, CPU_CLFLUSH)) {
	} else if (VG_BOOL_CLO(arg, "--hf-follow-forks", opt.follow_forks)) {
	} else if (VG_BOOL_CLO(arg, "--hf-pmemcheck", opt.pmemcheck)) {
	} else if (VG_BOOL_CLO(arg, "--hf-loads", opt.loads)) {
	} else if (VG_STR_CLO(arg, "--hf-sym", opt.sym)) {
		sym_on = True;
	} else if (VG_BOOL_CLO(arg, "--hf-sym-verify", opt.sym_verify)) {
	} else {
		return False;
	}
	return True;
}

static void usage(void)
{
	VG_(printf)
	("    --hf-ring=PATH           shared memory to record into\n"
	 "    --hf-pm=GLOB             files whose shared mappings are PM (repeatable)\n"
	 "    --hf-watch=GLOB          functions whose calls are recorded (repeatable)\n"
	 "    --hf-cpu=clwb|clflushopt|clflush   what CPUID shows\n"
	 "    --hf-follow-forks=yes|no record children too\n"
	 "    --hf-pmemcheck=yes|no    answer pmemcheck's client requests\n"
	 "    --hf-loads=yes|no        record loads too\n"
	 "    --hf-sym=PATH            symbolic execution: shared memory that controls it\n"
	 "    --hf-sym-verify=yes|no   say what each expression should be\n");
}

static void debug_usage(void)
{
	VG_(printf)("    (none)\n");
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

/* Unfollowed children run on, unrecorded, and what they start runs outside Valgrind. */
static void fork_child(ThreadId tid)
{
	if (sym_forking)
		return;
	if (sym_on)
		sym_forked();
	if (opt.loads)
		loads_forget();
	if (opt.follow_forks) {
		emit_fork_child();
		return;
	}
	emit_on = False;
	region_forget_all();
	VG_(clo_trace_children) = False;
}

static void post_clo_init(void)
{
	if (opt.ring == NULL) {
		VG_(umsg)("holdfast: the tracer is started by `holdfast record`\n");
		VG_(exit)(1);
	}
	/* A call must end its block for the callee's first instruction to begin one. */
	if (VG_(sizeXA)(opt.watch) > 0)
		VG_(clo_vex_control).guest_chase = False;
	if (opt.loads) {
		VG_(track_pre_mem_read)(kernel_reads);
		VG_(track_pre_mem_read_asciiz)(kernel_reads_string);
	}
	if (sym_on) {
		sym_init();
		sym_setup();
		sym_track();
		VG_(track_pre_mem_read)(sym_kernel_reads);
		VG_(track_pre_mem_read_asciiz)(sym_kernel_reads_string);
	}
	emit_init();
}

static void say_exit(ULong status, ULong sig)
{
	ULong args[2] = { status, sig };
	emit(TRACE_EXIT, 0, 0, 0, 2, args, NULL, 0);
	emit_end();
}

static void fini(Int code)
{
	if (exit_seen)
		say_exit((ULong)exit_status, 0);
}

/*
 * The core does not tell tools which signal ended the program, but calls this with it, last
 * of all, to die of the same: the linker's --wrap (meson.build) puts us in between.
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
	VG_(needs_client_requests)(request_handle);
	VG_(needs_syscall_wrapper)(syscall_pre, syscall_post);
	VG_(track_post_mem_write)(kernel_wrote);
	VG_(track_start_client_code)(ctx_run);
	VG_(track_pre_thread_ll_create)(ctx_thread_create);
	VG_(track_pre_thread_first_insn)(first_instruction);
	VG_(track_pre_thread_ll_exit)(ctx_thread_exit);
	VG_(track_pre_deliver_signal)(ctx_signal);
	VG_(atfork)(NULL, NULL, fork_child);
	opt.pm = VG_(newXA)(VG_(malloc), "hf.opt", VG_(free), sizeof(HChar *));
	opt.watch = VG_(newXA)(VG_(malloc), "hf.opt", VG_(free), sizeof(HChar *));
}

VG_DETERMINE_INTERFACE_VERSION(pre_clo_init)
