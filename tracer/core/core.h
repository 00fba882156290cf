/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valgrind's core, as all rooms of the tracer see it. */
#ifndef HOLDFAST_TRACER_CORE_H
#define HOLDFAST_TRACER_CORE_H

#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_clreq.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_guest.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_libcsignal.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_seqmatch.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

/* Valgrind's version, as 319 or 327: its headers change a little from one to the next. */
#define CORE_VALGRIND (__VALGRIND_MAJOR__ * 100 + __VALGRIND_MINOR__)

/* Parts of the core that are not in the tool headers but that we link against. */
extern SysRes VG_(do_syscall)(UWord no, UWord, UWord, UWord, UWord, UWord, UWord, UWord, UWord);
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT len, UInt prot, Int fd, Off64T off);
extern Int VG_(safe_fd)(Int oldfd);
extern Int VG_(fcntl)(Int fd, Int cmd, Addr arg);
extern Long VG_(fsize)(Int fd);
extern void VG_(discard_translations)(Addr start, ULong len, const HChar *who);
extern Bool VG_(resolve_filename)(Int fd, const HChar **buf);
extern Bool VG_(clo_trace_children);
extern Int VG_(count_living_threads)(void);
extern Bool VG_(is_valid_tid)(ThreadId tid);
extern void VG_(set_IP)(ThreadId tid, Addr address);
extern Int VG_(kill)(Int pid, Int sig);
extern DiEpoch VG_(current_DiEpoch)(void);
extern Int VG_(DebugInfo_syms_howmany)(const DebugInfo *);
extern void VG_(DebugInfo_syms_getidx)(const DebugInfo *, Int i, void *address, UInt *size,
				       const HChar **name, const HChar ***more_names, Bool *text,
				       Bool *indirect, Bool *global);
extern VexRegisterUpdates VG_(clo_px_file_backed);
extern VexControl vex_control; /* what VEX goes by after its start */
extern XArray *VG_(args_for_client);
extern const HChar *VG_(args_the_exename);

/* Ends the process for want of memory; who: what it was for. */
#if CORE_VALGRIND >= 321
#define core_out_of_memory(who, size) VG_(out_of_memory_NORETURN)(who, size, 0)
#else
#define core_out_of_memory VG_(out_of_memory_NORETURN)
#endif

/* Zeroed pages, for tables; does not return without them. */
extern void *core_pages_alloc(SizeT size, const HChar *who);

/* Pages of memory about which something is known, by number: pages.c. What is known of a page begins with a
 * struct core_page. */
struct core_page {
	Addr number;
	UInt count; /* of what its owner counts; 0: nothing is known */
};
struct core_pages {
	struct core_page **page; /* open addressing, power of two */
	UInt n, cap;
	struct core_page *last;
};
/* `make`: its size if it is to be made where there is none, or 0. NULL: there is none. */
struct core_page *core_page_find(struct core_pages *, Addr number, SizeT make);
void core_pages_forget(struct core_pages *);

static inline struct core_page *core_page_at(struct core_pages *t, Addr a, SizeT make)
{
	Addr number = a / VKI_PAGE_SIZE;
	return LIKELY(t->last && t->last->number == number) ? t->last
							    : core_page_find(t, number, make);
}

#endif
