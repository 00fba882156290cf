/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calling context of every thread, in O(1) per event.
 *
 * Each thread has a shadow stack of frames. Generated code (instrument.c) pushes one at a
 * call and pops one at a return; both are a handful of inline instructions. What the frame
 * means, a node of the calling-context tree, is only looked up when an event needs it, and
 * is then kept in the frame:
 *
 *      bottom   main        insert      persist   <- record.top
 *      [node 0] [node 7]    [node 9]    [    ?  ]    an event here: look up (9, call, target)
 *
 * A frame remembers the stack pointer at the callee's entry. A return that does not fit the
 * topmost frame (longjmp, exceptions, hand-made jumps) goes through ctx_return(), which drops
 * every frame below the new stack pointer; so does an indirect jump that raises it. Signal
 * handlers push a frame of their own; on an alternate stack, whose addresses compare with
 * nothing else, the frame knows the stack's bounds. A tail call leaves the frame as it is:
 * its `target` still names the function that was called.
 *
 * Programs that switch stacks by hand (coroutines) get shallow contexts, never wrong memory.
 */
#include "record.h"

#define FIRST_FRAMES 4096u
#define MAX_DEPTH 1024u /* deeper paths are cut: TRACE_CTX_CUT stands for what is left out */
#define RECURSION 4u    /* calls from one function to another that a path tells apart */

struct watch {
	struct frame *frame;
	ULong what; /* WATCHED() */
};

struct thread {
	UInt id; /* never reused, unlike Valgrind's */
	struct frame *base, *top, *limit;
	UInt told;           /* node of the last event */
	UInt alt_frames;     /* FRAME_ALT frames on the stack */
	Bool signal_pending; /* a handler's frame waits for its stack pointer */
	Addr alt_lo, alt_hi;
	Addr signal_top; /* … and ends here */
	Bool fence_needed;
	XArray *watches; /* struct watch: watched functions that are running */
};

static struct {
	struct thread *all; /* by Valgrind's thread id */
	struct thread *cur;
	ThreadId cur_tid;
	UInt last; /* the number that was given last */
} threads = { .cur_tid = VG_INVALID_THREADID };

/* ---- the tree's nodes ---- */

struct node {
	UInt parent, depth;
	Addr target;
};

static struct {
	struct intern id; /* (parent, call, target) -> node */
	UInt n;           /* ids below it are used */
	struct node *node;
	UInt cap;
} tree = { .n = TRACE_CTX_FIRST };

static UInt node_new(const ULong key[3])
{
	UInt id = tree.n++, parent = (UInt)key[0];
	if (id >= tree.cap) {
		tree.cap = tree.cap ? tree.cap * 2 : 8192;
		tree.node = VG_(realloc)("hf.nodes", tree.node, tree.cap * sizeof *tree.node);
		tree.node[TRACE_CTX_ROOT] = tree.node[TRACE_CTX_CUT] = (struct node){ 0, 0, 0 };
	}
	tree.node[id] = (struct node){ parent, tree.node[parent].depth + 1, key[2] };
	emit(TRACE_DEF_CTX, 0, 0, id, 3, key, NULL, 0);
	return id;
}

/*
 * Recursion is folded: a walk over a tree of a million nodes would make as many contexts otherwise. Where the
 * function of context `parent` has called this target RECURSION times already on the path, the call counts
 * as one that the last such caller made:
 *
 *      main > walk > walk > walk > walk > walk    left or right at each level, exactly
 *                                    └─▶ walk    … and so all deeper calls, as if made there
 *
 * Returns the context that the call is made from.
 */
static UInt folded(UInt parent, Addr target)
{
	Addr caller = tree.node ? tree.node[parent].target : 0;
	UInt calls = 0, last = parent;
	if (!target || !caller)
		return parent;
	for (UInt at = parent; at >= TRACE_CTX_FIRST; at = tree.node[at].parent) {
		UInt from = tree.node[at].parent;
		if (tree.node[at].target != target || tree.node[from].target != caller)
			continue;
		last = calls++ ? last : from;
		if (calls == RECURSION)
			return last;
	}
	return parent;
}

static UInt node_intern(UInt parent, Addr call_ip, Addr target)
{
	ULong key[3] = { parent, call_ip, target };
	UInt *id = intern_at(&tree.id, key);
	if (*id)
		return *id;
	key[0] = folded(parent, target);
	if (tree.node && tree.node[key[0]].depth >= MAX_DEPTH)
		key[0] = TRACE_CTX_CUT;
	UInt known = key[0] == parent ? 0 : *intern_at(&tree.id, key);
	if (!known)
		known = node_new(key);
	*intern_at(&tree.id, key) = known;
	key[0] = parent;
	*intern_at(&tree.id, key) = known;
	return known;
}

static void watched_returned(ULong what, UInt flags, const struct frame *f, UInt node,
			     const UWord result[2])
{
	ULong args[3] = { WATCHED_NAME(what), result[0], result[1] };
	UInt site = emit_site(f->target, TRACE_SITE_OTHER, 0);
	if (WATCHED_RECORDED(what))
		emit(TRACE_RETURN, flags, site, node, 3, args, NULL, 0);
	library_returned(WATCHED_ACT(what), site, node);
}

/* The watched functions of this frame will not return. */
static void watched_left(const struct frame *f)
{
	static const UWord none[2];
	for (Word n = VG_(sizeXA)(threads.cur->watches); n > 0; n--) {
		struct watch *w = VG_(indexXA)(threads.cur->watches, n - 1);
		if (w->frame != f)
			break;
		watched_returned(w->what, TRACE_F_UNWOUND, f, f->node & ~FRAME_UNSEEN, none);
		VG_(dropTailXA)(threads.cur->watches, 1);
	}
}

static void watched_moved(const struct frame *from, struct frame *to)
{
	for (Word i = 0; i < VG_(sizeXA)(threads.cur->watches); i++) {
		struct watch *w = VG_(indexXA)(threads.cur->watches, i);
		if (w->frame == from)
			w->frame = to;
	}
}

/* Is this frame on the alternate stack, or the handler's that runs there? */
static Bool on_alternate(const struct frame *f)
{
	Addr sp = f->sp & ~(Addr)1;
	return f->flags & FRAME_ALT ||
	       (f > threads.cur->base && sp >= threads.cur->alt_lo && sp < threads.cur->alt_hi);
}

/* Drops the frames of a signal handler that was left by siglongjmp from an alternate stack. */
static void drop_left_handlers(void)
{
	Addr sp = VG_(get_SP)(threads.cur_tid);
	if (sp >= threads.cur->alt_lo && sp < threads.cur->alt_hi)
		return;
	struct frame *to = threads.cur->base, *f;
	for (f = record.top; f > threads.cur->base; f--)
		if (f->flags & FRAME_WATCHED && on_alternate(f))
			watched_left(f);
	for (f = threads.cur->base; f <= record.top; f++) {
		if (on_alternate(f))
			continue;
		if (to != f) {
			*to = *f;
			to->node = 0;
			if (f->flags & FRAME_WATCHED)
				watched_moved(f, to);
		}
		to++;
	}
	record.top = to - 1;
	threads.cur->alt_frames = 0;
}

struct frame *ctx_base(void)
{
	return threads.cur->base;
}

/*
 * A path alone does not tell two calls from one place apart:
 *
 *      main > put > persist      an event
 *      main > put                another: in the same call of put, or in the next?
 *
 * The frames that no event has seen, which are those without a node, are new ones. Where the path of the last
 * event has the outermost of these, `first`, as well, holdfast is told up to where the frames are still the same.
 */
static void tell_again(UInt kept, UInt first)
{
	UInt at = record.told;
	while (tree.node[at].depth > tree.node[first].depth)
		at = tree.node[at].parent;
	if (at == first)
		emit_kept(threads.cur->id, kept);
}

UInt ctx_node(void)
{
	if (UNLIKELY(threads.cur->alt_frames))
		drop_left_handlers();
	struct frame *f = record.top;
	if (LIKELY((Int)f->node > 0))
		return f->node;
	while ((Int)f->node <= 0 && f > threads.cur->base)
		f--;
	UInt node = f == threads.cur->base ? TRACE_CTX_ROOT : f->node, kept = node, first = 0;
	while (f < record.top) {
		f++;
		node = f->node = f->node ? f->node & ~FRAME_UNSEEN
					 : node_intern(node, f->call_ip, f->target);
		first = first ? first : node;
	}
	if (first)
		tell_again(kept, first);
	return node;
}

UInt ctx_peek(void)
{
	if (UNLIKELY(threads.cur->alt_frames))
		drop_left_handlers();
	struct frame *f = record.top;
	while (f->node == 0 && f > threads.cur->base)
		f--;
	UInt node = f == threads.cur->base ? TRACE_CTX_ROOT : f->node & ~FRAME_UNSEEN;
	while (f < record.top) {
		f++;
		node = node_intern(node, f->call_ip, f->target);
		f->node = node | FRAME_UNSEEN;
	}
	return node;
}

Addr ctx_target(UInt node)
{
	return tree.node ? tree.node[node].target : 0;
}

/* ---- watched functions ---- */

void ctx_watch(ULong what)
{
	struct watch w = { record.top, what };
	if (record.top == threads.cur->base)
		return; /* entered without a call: there will be no return */
	record.top->flags |= FRAME_WATCHED;
	record.top->sp |= 1;
	VG_(addToXA)(threads.cur->watches, &w);
}

/* The watched functions whose frame is the topmost return now. */
static void watched_return(Bool normal)
{
	UWord result[2] = { 0, 0 }; /* a structure of two words comes back in RAX and RDX */
	if (normal) {
		VG_(get_shadow_regs_area)
		(threads.cur_tid, (UChar *)&result[0], 0, offsetof(VexGuestAMD64State, guest_RAX),
		 8);
		VG_(get_shadow_regs_area)
		(threads.cur_tid, (UChar *)&result[1], 0, offsetof(VexGuestAMD64State, guest_RDX),
		 8);
	}
	for (Word n = VG_(sizeXA)(threads.cur->watches); n > 0; n--) {
		struct watch *w = VG_(indexXA)(threads.cur->watches, n - 1);
		if (w->frame < record.top)
			break;
		watched_returned(w->what, normal ? 0 : TRACE_F_UNWOUND, record.top, ctx_node(),
				 result);
		VG_(dropTailXA)(threads.cur->watches, 1);
	}
}

/* ---- returns, jumps and signals ---- */

static void pop(Bool normal)
{
	if (record.top->flags & FRAME_WATCHED)
		watched_return(normal);
	if (record.top->flags & FRAME_ALT)
		threads.cur->alt_frames--;
	record.top--;
}

/* Drops every frame that the stack pointer has left behind. */
VG_REGPARM(1) void ctx_resync(Addr sp)
{
	if (threads.cur->alt_frames)
		drop_left_handlers();
	while (record.top > threads.cur->base && (record.top->sp & ~(Addr)1) < sp) {
		Bool alt = (record.top->flags & FRAME_ALT) != 0;
		pop(False);
		if (alt)
			break;
	}
}

/* A return after which the inline code found the frame and the stack pointer at odds. */
VG_REGPARM(1) void ctx_return(Addr sp)
{
	record.top++; /* the inline code has popped it already */
	if (record.top > threads.cur->base && (record.top->sp & ~(Addr)1) + 8 == sp) {
		pop(True);
		return;
	}
	ctx_resync(sp);
}

void ctx_signal(ThreadId tid, Int sig, Bool alt)
{
	ULong arg = (ULong)sig;
	ctx_switch(tid);
	emit(TRACE_SIGNAL, 0, 0, ctx_node(), 1, &arg, NULL, 0);
	if (record.top + 1 >= record.limit)
		ctx_grow();
	*++record.top = (struct frame){ (Addr)sig, 0, 0, 0, FRAME_SIGNAL | (alt ? FRAME_ALT : 0) };
	if (!threads.cur->signal_pending)
		threads.cur->signal_top = VG_(get_SP)(tid);
	if (alt) {
		threads.cur->alt_frames++;
		threads.cur->alt_lo = VG_(thread_get_altstack_min)(tid);
		threads.cur->alt_hi = threads.cur->alt_lo + VG_(thread_get_altstack_size)(tid);
		if (VG_(get_SP)(tid) < threads.cur->alt_lo ||
		    VG_(get_SP)(tid) >= threads.cur->alt_hi)
			threads.cur->signal_top = threads.cur->alt_hi;
	}
	threads.cur->signal_pending = True;
}

/* ---- threads ---- */

static void stack_alloc(struct thread *t, UInt frames)
{
	SizeT size = frames * sizeof(struct frame);
	struct frame *f = core_pages_alloc(size, "holdfast: shadow stack");
	t->base = f;
	t->limit = f + frames;
}

void ctx_grow(void)
{
	struct thread old = *threads.cur;
	SizeT used = (SizeT)(record.top - threads.cur->base) + 1,
	      frames = (SizeT)(threads.cur->limit - threads.cur->base);
	stack_alloc(threads.cur, (UInt)(frames * 2));
	VG_(memcpy)(threads.cur->base, old.base, used * sizeof(struct frame));
	for (Word i = 0; i < VG_(sizeXA)(threads.cur->watches); i++) {
		struct watch *w = VG_(indexXA)(threads.cur->watches, i);
		w->frame = threads.cur->base + (w->frame - old.base);
	}
	record.top = threads.cur->base + (used - 1);
	record.limit = threads.cur->limit - 1;
	VG_(am_munmap_valgrind)((Addr)old.base, frames * sizeof(struct frame));
}

void ctx_thread_create(ThreadId parent, ThreadId tid)
{
	if (threads.all == NULL)
		threads.all = VG_(calloc)("hf.threads", VG_N_THREADS, sizeof *threads.all);
	struct thread *t = &threads.all[tid];
	if (t->base == NULL) {
		stack_alloc(t, FIRST_FRAMES);
		t->watches = VG_(newXA)(VG_(malloc), "hf.watches", VG_(free), sizeof(struct watch));
	}
	/* Whoever had the place before may have ended inside a watched function. */
	VG_(dropTailXA)(t->watches, VG_(sizeXA)(t->watches));
	/* The bottom frame never fits a return and is never dropped. */
	*t->base = (struct frame){ 0, ~(Addr)0xff, 0, 0, 0 };
	t->top = t->base;
	t->id = ++threads.last;
	exits_clear_word(tid, record.clears);
	record.clears = 0;
	t->alt_frames = t->told = 0;
	t->signal_pending = t->fence_needed = False;
	ULong args[2] = { t->id, parent == VG_INVALID_THREADID ? 0 : threads.all[parent].id };
	if (parent != VG_INVALID_THREADID)
		ctx_switch(parent);
	emit(TRACE_THREAD_START, 0, 0, parent == VG_INVALID_THREADID ? 0 : ctx_node(), 2, args,
	     NULL, 0);
}

void ctx_thread_exit(ThreadId tid)
{
	ULong arg = threads.all[tid].id;
	Bool cut = record.exit_seen && tid != record.exit_tid;
	ctx_switch(tid);
	emit(TRACE_THREAD_EXIT, cut ? TRACE_F_UNWOUND : 0, 0, 0, 1, &arg, NULL, 0);
}

void ctx_switch(ThreadId tid)
{
	if (tid != threads.cur_tid) {
		if (threads.cur) {
			threads.cur->top = record.top;
			threads.cur->fence_needed = record.fence_needed;
			threads.cur->told = record.told;
		}
		threads.cur_tid = tid;
		threads.cur = &threads.all[tid];
		record.top = threads.cur->top;
		record.limit = threads.cur->limit - 1;
		record.fence_needed = threads.cur->fence_needed;
		record.told = threads.cur->told;
	}
	emit_thread(threads.cur->id);
}

/* The scheduler is about to run tid's code: a handler's stack pointer is known by now. */
void ctx_run(ThreadId tid, ULong blocks)
{
	Bool pending = tid == threads.cur_tid ? threads.cur->signal_pending
					      : threads.all[tid].signal_pending;
	ctx_switch(tid);
	if (UNLIKELY(pending)) {
		for (struct frame *f = record.top; f > threads.cur->base && f->sp == 0; f--)
			f->sp = VG_(get_SP)(tid) | (f->flags & FRAME_ALT ? 1 : 0);
		threads.cur->signal_pending = False;
		if (threads.cur->signal_top > VG_(get_SP)(tid))
			kernel_pushed(tid, VG_(get_SP)(tid), threads.cur->signal_top);
	}
}

UInt ctx_thread_id(ThreadId tid)
{
	return threads.all[tid].id;
}
