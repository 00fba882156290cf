/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the recording tells: whether a store that a crash loses was flushed before the point that needs it, how
 * often each site stores in vain, and with which functions the program flushes and fences.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

#define PAGE 4096u /* what msync writes */

/* An instruction in its context. */
struct seen {
	struct finding_place place;
	struct fix_act act;
	bool wanted; /* a bug's store, or it is where one is */
};
struct scan {
	struct fix *x;
	struct trace_reader *reader;
	struct srcloc_trace *srcloc;
	struct finding_helpers *helpers;
	VEC(struct seen) seen;
	struct hmap by_site;
	VEC(size_t) open;           /* bugs whose store was made, and whose point has not come */
	VEC(size_t) unfenced;       /* … that no fence of their thread has followed */
	struct hmap bug_at;         /* event → first bug of it, plus 1 */
	uint64_t fences, run, last; /* so far; the line of the last store */
	size_t flushing;            /* which of `seen` flushes line after line; SIZE_MAX: none */
	uint64_t lines, next;       /* … how many so far, and the next of them */
	struct fix_transactions transactions;
};

/* What an event does for lines that are on their way. */
unsigned fix_acts_of(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_FLUSH:
	case TRACE_HINT_FLUSH: return REPAIR_FLUSH;
	case TRACE_FENCE:
	case TRACE_HINT_FENCE: return REPAIR_FENCE;
	case TRACE_SYNC: return FIX_BOTH;
	default: return 0;
	}
}

static bool covers(const struct trace_event *e, uint64_t addr)
{
	uint64_t line = e->arg[0] & ~(uint64_t)(TRACE_LINE - 1);
	if (e->kind == TRACE_FLUSH)
		return addr >= line && addr < line + TRACE_LINE;
	return addr >= e->arg[0] && addr - e->arg[0] < e->arg[1];
}

/* The lines that one call flushes, as far as that can be told: those that are side by side. */
static void end_run(struct scan *s)
{
	struct fix_act *a = s->flushing == SIZE_MAX ? NULL : &s->seen.p[s->flushing].act;
	if (a && (!a->lines || s->lines < a->lines))
		a->lines = s->lines;
	s->flushing = SIZE_MAX;
}

static void follow_run(struct scan *s, const struct trace_event *e, size_t seen)
{
	uint64_t line = e->arg[0] / TRACE_LINE;
	bool goes_on = e->kind == TRACE_FLUSH && s->flushing == seen && line == s->next;
	if (!goes_on)
		end_run(s);
	if (e->kind != TRACE_FLUSH)
		return;
	s->lines = goes_on ? s->lines + 1 : 1;
	s->flushing = seen;
	s->next = line + 1;
}

/* A finding may have come after its store: when others persisted the line. */
static bool is_wanted(const struct scan *s, const struct finding_place *p)
{
	for (size_t i = 0; i < s->x->bug.n; i++)
		if (s->x->with.p[i].path && finding_same_path(p, s->x->with.p[i].path, true))
			return true;
	return false;
}

/* Which of `seen`; SIZE_MAX: none. */
static size_t see(struct scan *s, const struct trace_event *e)
{
	uint64_t key = hash_mix(hash_mix(e->process, e->site), e->ctx), i;
	enum finding_act act;
	unsigned acts = fix_acts_of(e);
	if (e->kind != TRACE_STORE && !acts)
		return SIZE_MAX;
	if (hmap_get(&s->by_site, key, &i)) {
		s->seen.p[i].act.count++;
		follow_run(s, e, i);
		return i;
	}
	const struct trace_site_def *site = trace_site(trace_defs(s->reader), e->process, e->site);
	struct srcloc_where path = srcloc_path_to_main(s->srcloc, e->process, e->ip, e->ctx);
	if (site && finding_act_of(site->class, e->kind == TRACE_STORE, &act))
		finding_helpers_see(s->helpers, path, act);
	hmap_put(&s->by_site, key, s->seen.n);
	VEC_PUSH(&s->seen, ((struct seen){ finding_place_copy(path), { acts, 1, 0 }, false }));
	struct seen *new = &s->seen.p[s->seen.n - 1];
	new->wanted = e->kind == TRACE_STORE &&is_wanted(s, &new->place);
	follow_run(s, e, s->seen.n - 1);
	return s->seen.n - 1;
}

static uint64_t thread_of(const struct trace_event *e)
{
	return (uint64_t)e->process << 32 | e->thread;
}

/* Where the object was that the call filled in, of which this store is to a part. */
static void note_object(struct fix *x, size_t k)
{
	const struct fix_bug *w = &x->with.p[k];
	struct repair_bug *b = &x->bug.p[k];
	uint64_t bytes = b->n > 1 && w->frames > 1 ? w->range[1].bytes : 0;
	if (!bytes || w->store.owner.offset == UINT64_MAX)
		return;
	b->site[1].from = w->addr - w->store.owner.offset;
	b->site[1].to = b->site[1].from + bytes;
}

/* The store of a bug: from here on its line is looked after. */
static void open_bug(struct scan *s, const struct trace_event *e, size_t k)
{
	struct fix_bug *w = &s->x->with.p[k];
	const struct trace_site_def *site = trace_site(trace_defs(s->reader), e->process, e->site);
	uint64_t unit = fix_syncs(s->x) ? PAGE : TRACE_LINE;
	w->bytes = e->size;
	w->addr = s->x->bug.p[k].stored = e->arg[0];
	note_object(s->x, k);
	w->thread = thread_of(e);
	w->fences = s->fences;
	w->run = s->run;
	w->fenced = UINT64_MAX;
	w->stored = e->num;
	w->logs = fix_in_transaction(&s->transactions, e);
	s->x->bug.p[k].line = hash_mix(e->process, e->arg[0] / unit) | 1;
	if (site && site->class == TRACE_SITE_NT_STORE) {
		s->x->bug.p[k].lacks &= ~(unsigned)REPAIR_FLUSH;
		s->x->bug.p[k].flush = s->x->bug.p[k].site[0].at;
	}
	if (w->until != UINT64_MAX)
		VEC_PUSH(&s->open, k);
	for (size_t i = 0; i < s->unfenced.n; i++)
		if (s->unfenced.p[i] == k)
			return;
	VEC_PUSH(&s->unfenced, k);
}

static void open_bugs(struct scan *s, const struct trace_event *e, size_t seen)
{
	uint64_t i;
	if (e->kind != TRACE_STORE)
		return;
	bool here = hmap_get(&s->bug_at, e->num, &i);
	if (!here && !s->seen.p[seen].wanted)
		return;
	for (size_t k = here ? i - 1 : 0; k < s->x->bug.n; k++) {
		const struct fix_bug *w = &s->x->with.p[k];
		bool before = s->seen.p[seen].wanted && w->path && e->num < w->event &&
			      (w->offset == UINT64_MAX || e->arg[0] % PAGE == w->offset % PAGE) &&
			      finding_same_path(&s->seen.p[seen].place, w->path, true);
		if (w->event == e->num || before)
			open_bug(s, e, k);
	}
}

static void pass(struct scan *s, const struct trace_event *e)
{
	s->fences += (fix_acts_of(e) & REPAIR_FENCE) != 0;
	if (e->kind != TRACE_STORE)
		return;
	s->run += e->arg[0] / TRACE_LINE != s->last;
	s->last = e->arg[0] / TRACE_LINE;
}

static void note_fence(struct scan *s, const struct trace_event *e)
{
	for (size_t i = 0; fix_acts_of(e) & REPAIR_FENCE && i < s->unfenced.n; i++) {
		struct fix_bug *w = &s->x->with.p[s->unfenced.p[i]];
		if (thread_of(e) != w->thread)
			continue;
		w->fenced = e->num;
		s->unfenced.p[i--] = s->unfenced.p[--s->unfenced.n];
	}
}

/* A flush before the point: the fence alone is missing, after it. */
static void close_bugs(struct scan *s, const struct trace_event *e)
{
	for (size_t i = 0; i < s->open.n; i++) {
		struct fix_bug *w = &s->x->with.p[s->open.p[i]];
		struct repair_bug *b = &s->x->bug.p[s->open.p[i]];
		if (e->num >= w->until) {
			if (thread_of(e) != w->thread) /* whose fences are no use */
				b->until = (struct repair_place){ 0 };
			s->open.p[i--] = s->open.p[--s->open.n];
			continue;
		}
		if (!(fix_acts_of(e) & REPAIR_FLUSH) || !covers(e, w->addr))
			continue;
		b->lacks &= ~(unsigned)REPAIR_FLUSH;
		w->flush = finding_place_copy(
			srcloc_path_to_main(s->srcloc, e->process, e->ip, e->ctx));
	}
}

static int walk(struct scan *s, struct err *err)
{
	struct trace_event e;
	int more;
	for (size_t i = s->x->bug.n; i-- > 0;)
		hmap_put(&s->bug_at, s->x->with.p[i].event, i + 1);
	if (trace_seek(s->reader, 0, err))
		return -1;
	s->flushing = SIZE_MAX;
	while ((more = trace_next(s->reader, &e, err)) == 1) {
		srcloc_trace_feed(s->srcloc, &e);
		fix_see_call(&s->transactions, trace_defs(s->reader), &e);
		size_t seen = see(s, &e);
		pass(s, &e);
		open_bugs(s, &e, seen);
		close_bugs(s, &e);
		note_fence(s, &e);
	}
	end_run(s);
	return more;
}

/* ---- what was seen ---- */

static void set_flush(struct repair_bug *b, const struct finding_place *p)
{
	const struct srcloc_frame *m = finding_main_frame(p);
	if (m && m->file)
		b->flush = (struct repair_place){ finding_intern(m->file),
						  finding_intern(m->function), m->line, m->column };
}

static void note_persists(struct fix *x, const struct finding_place *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->frame[i].file)
			VEC_PUSH(&x->persists, ((struct fix_at){ finding_intern(p->frame[i].file),
								 p->frame[i].line }));
}

/* The finding's fence is that of another path: no fence of the thread follows here. */
static void note_unfenced(struct fix *x)
{
	for (size_t i = 0; i < x->bug.n; i++)
		if (x->bug.p[i].lacks == REPAIR_FLUSH && x->with.p[i].stored &&
		    x->with.p[i].offset == UINT64_MAX && x->with.p[i].fenced == UINT64_MAX)
			x->bug.p[i].lacks = FIX_BOTH;
}

static void conclude(struct scan *s)
{
	note_unfenced(s->x);
	finding_helpers_decide(s->helpers);
	for (size_t i = 0; i < s->seen.n; i++) {
		struct seen *e = &s->seen.p[i];
		finding_helpers_mark(s->helpers, e->place.frame, e->place.n);
		if (!e->act.acts)
			continue;
		note_persists(s->x, &e->place);
		fix_add_means(s->x, &e->place, &e->act);
	}
	for (size_t i = 0; i < s->seen.n; i++)
		if (!s->seen.p[i].act.acts)
			fix_drop_means(s->x, &s->seen.p[i].place);
	fix_decide_means(s->x);
	fix_log_rather(s->x);
	for (size_t i = 0; i < s->x->bug.n; i++) {
		struct fix_bug *w = &s->x->with.p[i];
		if (!w->flush.n)
			continue;
		finding_helpers_mark(s->helpers, w->flush.frame, w->flush.n);
		set_flush(&s->x->bug.p[i], &w->flush);
	}
}

int fix_read_trace(struct fix *x, struct err *err)
{
	struct scan s = { .x = x };
	int bad = -1;
	if (!x->o.dir)
		return 0;
	if ((s.reader = trace_open(x->o.dir, err))) {
		fix_count_sites(x, s.reader);
		s.srcloc = srcloc_trace_new(trace_defs(s.reader));
		s.helpers = finding_helpers_new();
		bad = walk(&s, err);
		if (!bad)
			conclude(&s);
		bad = bad || fix_find_late(x, s.reader, err) ? -1 : 0;
		finding_helpers_free(s.helpers);
		srcloc_trace_free(s.srcloc);
		trace_close(s.reader);
	}
	for (size_t i = 0; i < s.seen.n; i++)
		free(s.seen.p[i].place.frame);
	VEC_FREE(&s.seen);
	VEC_FREE(&s.open);
	VEC_FREE(&s.unfenced);
	hmap_free(&s.by_site);
	hmap_free(&s.bug_at);
	VEC_FREE(&s.transactions.thread);
	return bad;
}
