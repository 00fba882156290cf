/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the records of a tracer mean. Ids of sites, contexts, modules and strings stay as
 * the tracer gave them, since they belong to its process; a process gets an index, and a
 * file an id, that hold for the whole trace.
 *
 * A child that was forked or came from exec continues another process's story, so everything
 * that that one has published is taken in before its first record. That is how a fork finds
 * its parent's definitions, and its events get higher numbers than those before the fork.
 */
#include <stdlib.h>

#include "trace/ring.h"

typedef enum taken take_fn(struct trace_live *, struct slot *, struct trace_event *, struct err *);

char *trace_live_text(const struct trace_event *r)
{
	char *s = xmalloc((size_t)r->size + 1);
	if (r->size)
		memcpy(s, r->data, r->size);
	s[r->size] = '\0';
	return s;
}

enum taken trace_live_written(struct trace_live *l, int result)
{
	if (!result)
		return TAKEN;
	l->writer = NULL;
	return TAKEN_FAILED;
}

uint32_t trace_live_file_id(const struct trace_live *l, uint32_t process, uint64_t id)
{
	uint64_t file;
	return hmap_get(&l->process.p[process].file, id, &file) ? (uint32_t)file : TRACE_NO_FILE;
}

uint32_t trace_live_unfollowed(const struct trace_live *l)
{
	return (uint32_t)l->forked.n;
}

/* An instruction's address; most events come from few places. */
uint64_t trace_live_ip(struct trace_live *l, uint32_t process, uint32_t site)
{
	struct recent_site *r = &l->recent[site % RECENT_SITES];
	if (r->site != site || r->process != process) {
		const struct trace_site_def *def = trace_site(&l->defs, process, site);
		*r = (struct recent_site){ process, site, def ? def->ip : 0 };
	}
	return r->ip;
}

enum taken trace_live_event(struct trace_live *l, struct slot *s, struct trace_event *ev,
			    struct err *err)
{
	int bad = 0;
	ev->num = l->events++;
	ev->process = s->process;
	ev->thread = s->thread;
	ev->kept = s->kept;
	s->kept = 0;
	if (l->verify)
		trace_verify_event(l->verify, ev);
	if (l->sink) {
		ev->ip = trace_live_ip(l, ev->process, ev->site);
		bad = l->sink(l->arg, ev, err);
	}
	if (l->writer && trace_live_written(l, trace_put_event(l->writer, ev, err)))
		bad = -1;
	return bad ? TAKEN_FAILED : TAKEN;
}

/* Is that the child of a fork whose event comes only now? */
static bool has_appeared(const struct trace_live *l, uint32_t parent, uint64_t pid)
{
	uint64_t index;
	const struct trace_process_def *p = NULL;
	if (hmap_get(&l->newest, pid, &index))
		p = trace_process(&l->defs, (uint32_t)index);
	return p && !p->ended && p->birth == TRACE_BIRTH_FORK && p->parent_index == parent;
}

static enum taken take_event(struct trace_live *l, struct slot *s, struct trace_event *ev,
			     struct err *err)
{
	if (ev->kind <= TRACE_FENCE) /* nearly all are */
		return trace_live_event(l, s, ev, err);
	int file = trace_file_arg(ev->kind);
	if (file >= 0)
		ev->arg[file] = trace_live_file_id(l, s->process, ev->arg[file]);
	if (trace_node_arg(ev->kind))
		ev->arg[0] = trace_live_node_id(l, s->process, ev->arg[0]);
	if (trace_node_arg(ev->kind))
		trace_live_node_event(l, ev);
	if (ev->kind == TRACE_NODE_MOVE)
		ev->arg[1] = trace_live_node_id(l, s->process, ev->arg[1]);
	if (ev->kind == TRACE_FORK && !has_appeared(l, s->process, ev->arg[0]))
		hmap_put(&l->forked, ev->arg[0], s->process);
	if (ev->kind == TRACE_EXIT || ev->kind == TRACE_EXEC)
		trace_defs_ended(&l->defs, s->process);
	return trace_live_event(l, s, ev, err);
}

static enum taken take_site(struct trace_live *l, struct slot *s, struct trace_event *r,
			    struct err *err)
{
	struct trace_site_def def = { r->arg[0], (uint8_t)r->arg[1], (uint16_t)r->arg[2] };
	l->recent[r->site % RECENT_SITES] = (struct recent_site){ 0 };
	if (r->arg[1] >= TRACE_SITE_CLASSES ||
	    trace_defs_site(&l->defs, s->process, r->site, &def) == DEFS_BAD)
		return TAKEN_BAD;
	if (!l->writer)
		return TAKEN;
	return trace_live_written(l, trace_put_site(l->writer, s->process, r->site, &def, err));
}

static enum taken take_ctx(struct trace_live *l, struct slot *s, struct trace_event *r,
			   struct err *err)
{
	struct trace_ctx_def def = { (uint32_t)r->arg[0], r->arg[1], r->arg[2] };
	if (r->arg[0] > UINT32_MAX ||
	    trace_defs_ctx(&l->defs, s->process, r->ctx, &def) == DEFS_BAD)
		return TAKEN_BAD;
	if (!l->writer)
		return TAKEN;
	return trace_live_written(l, trace_put_ctx(l->writer, s->process, r->ctx, &def, err));
}

static enum taken take_module(struct trace_live *l, struct slot *s, struct trace_event *r,
			      struct err *err)
{
	uint32_t id = (uint32_t)r->arg[0];
	struct trace_module_def def = { .path = trace_live_text(r) };
	enum taken taken = TAKEN;
	def.build_id_len = trace_build_id(def.path, def.build_id);
	if (r->arg[0] > UINT32_MAX || trace_defs_module(&l->defs, s->process, id, &def) == DEFS_BAD)
		taken = TAKEN_BAD;
	else if (l->writer)
		taken = trace_live_written(l,
					   trace_put_module(l->writer, s->process, id, &def, err));
	free(def.path);
	return taken;
}

static enum taken take_string(struct trace_live *l, struct slot *s, struct trace_event *r,
			      struct err *err)
{
	uint32_t id = (uint32_t)r->arg[0];
	char *text = trace_live_text(r);
	enum taken taken = TAKEN;
	if (r->arg[0] > UINT32_MAX || trace_defs_string(&l->defs, s->process, id, text) == DEFS_BAD)
		taken = TAKEN_BAD;
	else if (l->writer)
		taken = trace_live_written(l,
					   trace_put_string(l->writer, s->process, id, text, err));
	free(text);
	return taken;
}

static enum taken take_switch(struct trace_live *l, struct slot *s, struct trace_event *r,
			      struct err *err)
{
	(void)err;
	uint32_t thread = (uint32_t)r->arg[0], kept = (uint32_t)(r->arg[0] >> 32);
	if (kept > TRACE_CTX_FIRST && !trace_ctx(&l->defs, s->process, kept - 1))
		return TAKEN_BAD;
	if (thread != s->thread || !s->kept || (kept && kept < s->kept))
		s->kept = kept; /* the outermost: its number is the lowest */
	s->thread = thread;
	return TAKEN;
}

static enum taken take_end(struct trace_live *l, struct slot *s, struct trace_event *r,
			   struct err *err)
{
	(void)l;
	(void)r;
	(void)err;
	s->ended = true;
	return TAKEN;
}

/* --- a process appears --- */

/*
 * Takes in what others have said so far: those whose process has that number, or, with 0, all.
 * A slot that is being drained further up the call chain is left alone.
 */
static int drain_others(struct trace_live *l, const struct slot *me, uint32_t pid, struct err *err)
{
	int bad = 0;
	for (unsigned i = 0; i < RING_SLOTS; i++) {
		uint32_t has = l->slot[i].active ? l->slot[i].pid : l->ring->slot[i].pid;
		if (&l->slot[i] != me && (!pid || has == pid))
			bad |= trace_live_drain(l, i, UINT64_MAX, err) < 0;
	}
	return bad ? -1 : 0;
}

/* Is a process of that number, or with 0 any, just about to appear further up the call chain? */
static bool is_appearing(const struct trace_live *l, const struct slot *me, uint32_t pid)
{
	for (unsigned i = 0; i < RING_SLOTS; i++) {
		const struct slot *s = &l->slot[i];
		if (s != me && s->draining && s->process == TRACE_NO_PROCESS &&
		    (!pid || s->pid == pid))
			return true;
	}
	return false;
}

/* The slot that a process had before exec: nobody writes to it any more. */
static int release_old(struct trace_live *l, const struct slot *me, uint32_t pid, struct err *err)
{
	int bad = 0;
	for (unsigned i = 0; i < RING_SLOTS; i++) {
		struct slot *s = &l->slot[i];
		if (s != me && s->active && !s->draining && s->pid == pid &&
		    s->tail == l->ring->slot[i].head)
			bad |= trace_live_release(l, i, err) < 0;
	}
	return bad ? -1 : 0;
}

/*
 * The process that a new one continues. After exec it is the one with the same number. For
 * a fork, the FORK event names it for certain; if that is yet to come, it is the newest
 * process with the parent's number.
 */
static uint32_t find_parent(const struct trace_live *l, const struct trace_process_def *def)
{
	uint64_t index;
	if (def->birth == TRACE_BIRTH_FORK && hmap_get(&l->forked, def->pid, &index))
		return (uint32_t)index;
	if (hmap_get(&l->newest, def->birth == TRACE_BIRTH_EXEC ? def->pid : def->parent, &index))
		return (uint32_t)index;
	return TRACE_NO_PROCESS;
}

/*
 * Hears out whoever came before a new process, and finds whom it continues. A child whose
 * parent has ended sees another one as its parent: then everybody is heard, since the FORK
 * event must be somewhere. LATER: it is in a slot that is being drained right now.
 */
static enum taken hear_parent(struct trace_live *l, const struct slot *s,
			      struct trace_process_def *def, struct err *err)
{
	uint32_t before = def->birth == TRACE_BIRTH_FORK ? def->parent : def->pid;
	int bad;
	def->parent_index = TRACE_NO_PROCESS;
	if (def->birth == TRACE_BIRTH_START)
		return TAKEN;
	if (is_appearing(l, s, before))
		return TAKEN_LATER;
	bad = drain_others(l, s, before, err);
	if (def->birth == TRACE_BIRTH_EXEC)
		bad |= release_old(l, s, before, err);
	def->parent_index = find_parent(l, def);
	if (def->birth == TRACE_BIRTH_FORK && def->parent_index == TRACE_NO_PROCESS) {
		bad |= drain_others(l, s, 0, err);
		def->parent_index = find_parent(l, def);
		if (def->parent_index == TRACE_NO_PROCESS && is_appearing(l, s, 0))
			return TAKEN_LATER;
	}
	hmap_del(&l->forked, def->pid);
	return bad ? TAKEN_FAILED : TAKEN;
}

static void copy_map(struct hmap *to, const struct hmap *from)
{
	for (size_t i = 0; i < from->cap; i++)
		if (from->used[i])
			hmap_put(to, from->key[i], from->val[i]);
}

static void copy_names(struct live_process *to, const struct live_process *from)
{
	copy_map(&to->file, &from->file);
	copy_map(&to->node, &from->node);
}

static enum taken add_process(struct trace_live *l, struct slot *s, struct trace_process_def *def,
			      struct err *err)
{
	uint32_t index = trace_processes(&l->defs), written = index;
	struct live_process names = { 0 };
	int bad = 0;
	def->first_event = l->events;
	if (trace_defs_process(&l->defs, def) == DEFS_BAD)
		return TAKEN_BAD;
	if (def->birth == TRACE_BIRTH_FORK && def->parent_index != TRACE_NO_PROCESS)
		copy_names(&names, &l->process.p[def->parent_index]);
	VEC_PUSH(&l->process, names);
	hmap_put(&l->newest, def->pid, index);
	s->process = index;
	if (l->writer)
		bad = trace_put_process(l->writer, def, &written, err);
	if (!bad && written != index)
		bad = err_set(err, EXIT_INTERNAL, "the trace has processes from elsewhere");
	return trace_live_written(l, bad);
}

static enum taken take_process(struct trace_live *l, struct slot *s, struct trace_event *r,
			       struct err *err)
{
	struct trace_process_def def = { .pid = (uint32_t)r->arg[0],
					 .parent = (uint32_t)r->arg[1],
					 .birth = (uint8_t)r->arg[2],
					 .command_len = r->size };
	enum taken heard, taken;
	if (s->process != TRACE_NO_PROCESS || r->arg[2] > TRACE_BIRTH_EXEC ||
	    r->arg[0] > UINT32_MAX || r->arg[1] > UINT32_MAX)
		return TAKEN_BAD;
	heard = hear_parent(l, s, &def, err);
	if (heard == TAKEN_LATER)
		return heard;
	def.command = trace_live_text(r);
	taken = add_process(l, s, &def, err);
	free(def.command);
	return taken == TAKEN ? heard : taken;
}

/* --- all kinds --- */

static enum taken take_file(struct trace_live *l, struct slot *s, struct trace_event *r,
			    struct err *err)
{
	return trace_live_file(l, s, r, err);
}

static enum taken take_node(struct trace_live *l, struct slot *s, struct trace_event *r,
			    struct err *err)
{
	return trace_live_node(l, s, r, err);
}

static enum taken take_range(struct trace_live *l, struct slot *s, struct trace_event *r,
			     struct err *err)
{
	return trace_live_range(l, s, r, err);
}

static enum taken take_unseen(struct trace_live *l, struct slot *s, struct trace_event *r,
			      struct err *err)
{
	(void)s;
	(void)err;
	if (r->arg[0] >= TRACE_UNSEEN_COUNT)
		return TAKEN_BAD;
	l->unseen |= 1u << r->arg[0];
	return TAKEN;
}

bool trace_live_unseen(const struct trace_live *l, enum trace_unseen what)
{
	return l->unseen & 1u << what;
}

static const struct {
	take_fn *take;
	int nargs;
} definitions[] = {
	[TRACE_DEF_SITE - TRACE_DEF_SITE] = { take_site, 3 },
	[TRACE_DEF_CTX - TRACE_DEF_SITE] = { take_ctx, 3 },
	[TRACE_DEF_MODULE - TRACE_DEF_SITE] = { take_module, 2 },
	[TRACE_DEF_FILE - TRACE_DEF_SITE] = { take_file, 4 },
	[TRACE_DEF_STRING - TRACE_DEF_SITE] = { take_string, 1 },
	[TRACE_DEF_SWITCH - TRACE_DEF_SITE] = { take_switch, 1 },
	[TRACE_DEF_PROCESS - TRACE_DEF_SITE] = { take_process, 3 },
	[TRACE_DEF_RANGE - TRACE_DEF_SITE] = { take_range, 4 },
	[TRACE_DEF_END - TRACE_DEF_SITE] = { take_end, 1 },
	[TRACE_DEF_NODE - TRACE_DEF_SITE] = { take_node, 5 },
	[TRACE_DEF_UNSEEN - TRACE_DEF_SITE] = { take_unseen, 1 },
};

/* Records of symbolic execution: how many arguments each has. */
static const int symbolic[] = {
	[TRACE_SYM_NODE - TRACE_SYM_FIRST] = 5,     [TRACE_SYM_BRANCH - TRACE_SYM_FIRST] = 4,
	[TRACE_SYM_VERIFY - TRACE_SYM_FIRST] = 2,   [TRACE_SYM_READ - TRACE_SYM_FIRST] = 3,
	[TRACE_SYM_CONCRETE - TRACE_SYM_FIRST] = 1, [TRACE_SYM_READY - TRACE_SYM_FIRST] = 0,
	[TRACE_SYM_DIRTIED - TRACE_SYM_FIRST] = 0,  [TRACE_SYM_END - TRACE_SYM_FIRST] = 0,
	[TRACE_SYM_LEFT - TRACE_SYM_FIRST] = 0,
};

static bool is_symbolic(unsigned kind)
{
	return kind >= TRACE_SYM_FIRST && kind <= TRACE_SYM_LAST;
}

int trace_live_args(unsigned kind)
{
	if (kind < TRACE_KINDS)
		return (int)trace_kind_args(kind);
	if (is_symbolic(kind))
		return symbolic[kind - TRACE_SYM_FIRST];
	if (kind < TRACE_DEF_SITE || kind > TRACE_DEF_LAST)
		return -1;
	return definitions[kind - TRACE_DEF_SITE].nargs;
}

enum taken trace_live_take(struct trace_live *l, struct slot *s, struct trace_event *r,
			   struct err *err)
{
	if (s->ended || (s->process == TRACE_NO_PROCESS && r->kind != TRACE_DEF_PROCESS))
		return TAKEN_BAD;
	if (r->kind < TRACE_KINDS)
		return take_event(l, s, r, err);
	if (is_symbolic(r->kind))
		return trace_live_take_sym(l, s, r, err);
	return definitions[r->kind - TRACE_DEF_SITE].take(l, s, r, err);
}
