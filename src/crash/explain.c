/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Causes in words: findings.
 *
 * The kind follows from the cause. If either of the two stores without the other one fails, they
 * belong together: atomicity. If only one way fails, it is an ordering: the program makes them
 * in the wrong order, or nothing keeps the earlier one from persisting later. But if nothing
 * makes the lost store persistent by the end of its operation, its flush or fence is missing.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/explain.h"

#define MOST_RELATED 8u

/* ---- what became of a lost store ---- */

struct fate {
	uint64_t flush, fence; /* event + 1 of the first by its own thread, in its operation */
	uint64_t covered;      /* event + 1 from which on it is guaranteed */
	uint64_t end;          /* of its operation; UINT64_MAX: no such thing */
};

/* The first flush, mark or raise after an event. */
#define FIRST_AFTER(kind, h, number)                                                               \
	BISECT(k, (h)->kind.n, crash_##kind##_at((h), k).event <= (number))

uint64_t crash_operation_end(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p;
	if (!h->operations)
		return UINT64_MAX;
	p = crash_piece_at(h, piece);
	for (size_t i = FIRST_AFTER(mark, h, p.event); i < h->mark.n; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.thread == p.thread && (m.kind == TRACE_OP_END || m.kind == TRACE_TX_END))
			return m.event;
	}
	return UINT64_MAX;
}

/* The first flush of its line after a piece, before `end`. */
static bool flush_after(const struct crash_history *h, const struct crash_piece *p, uint64_t end,
			struct crash_flush *out)
{
	for (size_t i = FIRST_AFTER(flush, h, p->event); i < h->flush.n; i++) {
		*out = crash_flush_at(h, i);
		if (out->event >= end || out->line == p->line)
			return out->event < end;
	}
	return false;
}

uint32_t crash_flush_of(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	struct crash_flush f;
	return flush_after(h, &p, crash_operation_end(h, piece), &f) ? f.place : UINT32_MAX;
}

static struct fate fate_of(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	uint32_t number = crash_number_of(h, piece);
	struct fate f = { .end = crash_operation_end(h, piece) };
	struct crash_flush flush;
	f.flush = flush_after(h, &p, f.end, &flush) ? flush.event + 1 : 0;
	for (size_t i = FIRST_AFTER(mark, h, p.event); i < h->mark.n && !f.fence; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.event >= f.end)
			break;
		if (m.thread == p.thread && m.kind == TRACE_FENCE)
			f.fence = m.event + 1;
	}
	for (size_t i = FIRST_AFTER(raise, h, p.event); i < h->raise.n && !f.covered; i++) {
		struct crash_raise r = crash_raise_at(h, i);
		if (r.event >= f.end)
			break;
		if (r.line == p.line && r.lo >= number)
			f.covered = r.event + 1;
	}
	return f;
}

static bool is_barrier(const struct crash_mark *m, const struct crash_piece *p)
{
	return m->thread == p->thread && (m->kind == TRACE_FENCE || m->kind == TRACE_SYNC ||
					  m->kind == TRACE_FILE_SYNC || m->kind == TRACE_NODE_SYNC);
}

uint64_t crash_cover_of(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	uint32_t number = crash_number_of(h, piece);
	size_t i = BISECT(k, h->raise.n, crash_raise_at(h, k).event < p.event);
	for (; i < h->raise.n; i++) {
		struct crash_raise r = crash_raise_at(h, i);
		if (r.line == p.line && r.lo >= number)
			return r.event;
	}
	return h->events;
}

bool crash_is_abandoned(const struct crash_history *h, uint32_t piece, uint64_t cover)
{
	struct crash_piece p = crash_piece_at(h, piece);
	size_t i = FIRST_AFTER(mark, h, p.event);
	if (cover == h->events || cover >= crash_operation_end(h, piece))
		return true;
	for (; i < h->mark.n; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (m.event > cover)
			break;
		if (is_barrier(&m, &p))
			return m.event != cover;
	}
	i = BISECT(k, h->flush.n, crash_flush_at(h, k).event < cover);
	for (; i < h->flush.n && crash_flush_at(h, i).event == cover; i++)
		if (crash_flush_at(h, i).thread == p.thread) /* it needs no fence */
			return false;
	return p.event != cover; /* nor does a store that is persistent at once */
}

uint64_t crash_forgotten_at(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	if (!crash_is_abandoned(h, piece, crash_cover_of(h, piece)))
		return UINT64_MAX;
	for (size_t i = FIRST_AFTER(mark, h, p.event); i < h->mark.n; i++) {
		struct crash_mark m = crash_mark_at(h, i);
		if (is_barrier(&m, &p))
			return m.event;
	}
	return UINT64_MAX;
}

static enum finding_kind kind_of(const struct crash_cause *cause, const struct fate *f)
{
	if (cause->flaky)
		return FINDING_RECOVERY_FLAKY;
	if (cause->prefix)
		return cause->wrong_order ? FINDING_ORDERING : FINDING_ATOMICITY;
	if (f->covered && cause->neither)
		return FINDING_ATOMICITY;
	if (f->covered)
		return FINDING_ORDERING;
	if (f->flush)
		return FINDING_MISSING_FENCE;
	return f->fence ? FINDING_MISSING_FLUSH : FINDING_MISSING_FLUSH_AND_FENCE;
}

/* What was said tells more than which stores make the difference. */
static enum finding_kind shown_kind(const struct crash_cause *cause, enum finding_kind kind)
{
	if (cause->flaky || cause->verdict.verdict != RUNNER_DIFFERS)
		return kind;
	return cause->verdict.status == CRASH_LOST ? FINDING_LOST_OPERATION
						   : FINDING_HALF_OPERATION;
}

/* ---- words ---- */

char *crash_place_words(struct crash *c, uint32_t place)
{
	const struct srcloc_frame *f = finding_main_frame(crash_path(c, place));
	char text[512];
	return xstrdup(f ? srcloc_text(f, text, sizeof text) : "?");
}

static char *short_place(struct crash *c, uint32_t piece)
{
	return crash_place_words(c, crash_piece_at(c->h, piece).place);
}

/* The instruction itself, and when: for two stores that the statement does not tell apart. */
static char *exact_place(struct crash *c, uint32_t piece)
{
	const struct finding_place *path = crash_path(c, crash_piece_at(c->h, piece).place);
	struct srcloc_frame f = path->n ? path->frame[0] : (struct srcloc_frame){ 0 };
	char text[512];
	f.file = NULL;
	return xasprintf("%s, event %" PRIu64, srcloc_text(&f, text, sizeof text),
			 crash_piece_at(c->h, piece).event);
}

/* Of a write to a file, a part. */
static bool one_write(const struct crash *c, const struct crash_cause *cause)
{
	return c->h->meta != CRASH_NO_FILE && crash_piece_at(c->h, cause->persisted).event ==
						      crash_piece_at(c->h, cause->lost.p[0]).event;
}

/* The two stores of a cause in words; either may be NULL. */
static void name_stores(struct crash *c, const struct crash_cause *cause, char **a, char **b)
{
	*a = cause->persisted != UINT32_MAX ? short_place(c, cause->persisted) : NULL;
	*b = cause->lost.n ? short_place(c, cause->lost.p[0]) : NULL;
	if (!*a || !*b || strcmp(*a, *b) || one_write(c, cause))
		return;
	free(*a);
	free(*b);
	*a = exact_place(c, cause->persisted);
	*b = exact_place(c, cause->lost.p[0]);
}

/* The one that is persistent came before all that are lost: no order of the two is missing. */
static void forget_older(struct crash *c, const struct crash_cause *cause, char **a, char **b)
{
	uint64_t event = *a ? crash_piece_at(c->h, cause->persisted).event : UINT64_MAX;
	bool older = *a && !cause->prefix && cause->lost.n && c->h->meta == CRASH_NO_FILE;
	for (size_t i = 0; older && i < cause->lost.n; i++)
		older = event < crash_piece_at(c->h, cause->lost.p[i]).event;
	if (!older)
		return;
	free(*a);
	free(*b);
	*a = NULL;
	*b = short_place(c, cause->lost.p[0]);
}

static char *what_recovery_does(struct crash *c, const struct crash_cause *cause)
{
	switch (cause->verdict.verdict) {
	case RUNNER_CRASHED:
		return xasprintf("recovery crashes (signal %d, %s)", cause->verdict.status,
				 strsignal(cause->verdict.status));
	case RUNNER_HUNG: return xstrdup("recovery does not end");
	case RUNNER_FLOODED: return xstrdup("recovery writes without end");
	case RUNNER_DIFFERS: return crash_judge_what(c, &cause->state, cause->verdict);
	default: return xasprintf("recovery fails with status %d", cause->verdict.status);
	}
}

static char *data_of(const struct crash *c, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(c->h, piece);
	const struct crash_line *l = &c->h->line.p[p.line];
	const char *path = c->h->file.p[l->file].path, *base = strrchr(path, '/');
	if (crash_is_meta(c->h, p.line))
		return crash_change_words(c->h, piece);
	return xasprintf("%s+0x%" PRIx64 ", %u bytes", base ? base + 1 : path, l->off + p.off,
			 p.len);
}

static void add_related(struct crash *c, struct finding *f, const char *role, uint32_t piece,
			char *message)
{
	struct crash_piece p = crash_piece_at(c->h, piece);
	struct finding_related r = { .role = role, .message = message, .event = p.event };
	r.place = finding_place_clone(crash_path(c, p.place));
	VEC_PUSH(&f->related, r);
}

/* "this store is lost", or "rename(tmp, db) is not on disk". */
static char *said_of(struct crash *c, uint32_t piece, const char *store, const char *change)
{
	if (c->h->meta == CRASH_NO_FILE)
		return xasprintf("this store is %s", store);
	char *words = crash_change_words(c->h, piece), *text = xasprintf("%s is %s", words, change);
	free(words);
	return text;
}

static void add_step(struct crash *c, struct finding *f, const char *what, uint32_t piece)
{
	char *text = short_place(c, piece);
	VEC_PUSH(&f->steps,
		 ((struct finding_step){
			 .event = crash_piece_at(c->h, piece).event, .what = what, .text = text }));
}

static char *message(struct crash *c, const struct crash_cause *cause)
{
	char *does = what_recovery_does(c, cause), *a, *b, *text;
	name_stores(c, cause, &a, &b);
	forget_older(c, cause, &a, &b);
	if (c->h->meta != CRASH_NO_FILE)
		text = crash_files_message(c->h, cause, a, b, does);
	else if (cause->prefix && a && b)
		text = xasprintf(
			"if a crash comes after the store at %s and before the one at %s, %s", a, b,
			does);
	else if (cause->prefix && a)
		text = xasprintf("if a crash comes after the store at %s, %s", a, does);
	else if (a && b)
		text = xasprintf("if the store at %s is persistent while the %s at %s %s not, %s",
				 a, cause->lost.n > 1 ? "stores" : "earlier store", b,
				 cause->lost.n > 1 ? "and others are" : "is", does);
	else if (b)
		text = xasprintf("if the store%s at %s %s lost, %s", cause->lost.n > 1 ? "s" : "",
				 b, cause->lost.n > 1 ? "and others are" : "is", does);
	else
		text = xasprintf("%s on a crash state", does);
	free(does);
	free(a);
	free(b);
	return text;
}

static char *advice(struct crash *c, const struct crash_cause *cause, enum finding_kind kind,
		    const struct fate *f)
{
	char *a, *b, *text = NULL;
	if (c->h->meta != CRASH_NO_FILE)
		return crash_files_advice(c->h, cause, kind);
	name_stores(c, cause, &a, &b);
	if (kind != FINDING_ATOMICITY)
		forget_older(c, cause, &a, &b);
	uint64_t before = a ? crash_piece_at(c->h, cause->persisted).event : 0;

	if (kind == FINDING_ATOMICITY)
		text = xasprintf("make the stores %s%s%s take effect together, or let recovery "
				 "handle the state between them",
				 a ? "from " : "", a ? a : "", b ? " on" : "");
	else if (kind == FINDING_ORDERING && cause->prefix && a && b)
		text = xasprintf("make the store at %s, and persist it, before the store at %s", b,
				 a);
	else if (kind == FINDING_ORDERING && a && b && f->flush && f->flush - 1 < before)
		text = xasprintf("a fence is missing before the store at %s: the flush of the one "
				 "at %s need not be complete",
				 a, b);
	else if (kind == FINDING_ORDERING && a && b)
		text = xasprintf("persist the store at %s (flush and fence) before the store at %s",
				 b, a);
	else if (kind == FINDING_MISSING_FENCE && b)
		text = xasprintf("add a fence after the flush of the store at %s", b);
	else if (b && kind != FINDING_RECOVERY_FLAKY)
		text = xasprintf("persist the store at %s (flush and fence)%s%s", b,
				 a ? " before the store at " : "", a ? a : "");
	free(a);
	free(b);
	return text;
}

/* ---- findings ---- */

static void add_crash(struct crash *c, struct finding *f, const struct crash_cause *cause,
		      enum finding_kind kind)
{
	struct finding_crash *w = finding_crash(f);
	w->because = finding_kind_info(kind);
	w->verdict = xstrdup(runner_verdict_name(cause->verdict.verdict));
	w->status = cause->verdict.status;
	w->output = cause->output ? xstrdup(cause->output) : NULL;
	w->backtrace = cause->backtrace ? xstrdup(cause->backtrace) : NULL;
	w->event = cause->state.event;
	w->lines_lost = cause->state.at.n;
	crash_cursor_move(&c->reporting, cause->state.event);
	w->lines_ahead =
		c->reporting.open.n > w->lines_lost ? c->reporting.open.n - w->lines_lost : 0;
	w->states = cause->count;
	w->recoveries = cause->recoveries;
	w->state = crash_state_text(c, &cause->state);
	if (cause->verdict.verdict == RUNNER_DIFFERS)
		crash_judge_operation(c, &cause->state, cause->verdict, &w->op);
	w->scene = crash_scene(c, cause, w->state);
}

static int by_event(const void *a, const void *b)
{
	const struct finding_step *x = a, *y = b;
	return (x->event > y->event) - (x->event < y->event);
}

static void add_steps(struct crash *c, struct finding *f, const struct crash_cause *cause)
{
	if (cause->persisted != UINT32_MAX)
		add_step(c, f, "persisted", cause->persisted);
	for (size_t i = 0; i < cause->lost.n; i++)
		add_step(c, f, "lost", cause->lost.p[i]);
	VEC_PUSH(&f->steps, ((struct finding_step){ .event = cause->state.event,
						    .what = "crash",
						    .text = xstrdup("the crash") }));
	qsort(f->steps.p, f->steps.n, sizeof *f->steps.p, by_event);
}

/* Stores that share the fate of the lost ones: a line for each statement. */
static void add_also(struct crash *c, struct finding *f, const struct crash_cause *cause)
{
	for (size_t i = 0; i < cause->also.n && f->related.n < MOST_RELATED; i++) {
		uint32_t place = crash_piece_at(c->h, cause->also.p[i]).place;
		bool said = false;
		for (size_t k = 0; k < cause->lost.n && !said; k++)
			said = crash_same_statement(c, place,
						    crash_piece_at(c->h, cause->lost.p[k]).place);
		for (size_t k = 0; k < i && !said; k++)
			said = crash_same_statement(c, place,
						    crash_piece_at(c->h, cause->also.p[k]).place);
		uint32_t line = crash_piece_at(c->h, cause->also.p[i]).line;
		bool beside = false;
		for (size_t k = 0; k < cause->lost.n && !beside; k++)
			beside = crash_piece_at(c->h, cause->lost.p[k]).line == line;
		if (!said)
			add_related(
				c, f, "also-lost", cause->also.p[i],
				xstrdup(beside ? "it is in the same line and may be lost as well"
					       : "recovery fails without this one, too"));
	}
}

struct finding *crash_cause_finding(struct crash *c, const struct crash_cause *cause)
{
	struct fate fate = { 0 };
	uint32_t main_piece = cause->persisted;
	enum finding_kind kind;
	struct finding *f;
	if (!cause->prefix && cause->lost.n)
		fate = fate_of(c->h, cause->lost.p[0]);
	kind = c->h->meta == CRASH_NO_FILE ? kind_of(cause, &fate)
					   : crash_files_kind(c->h, cause, fate.covered != 0);
	if (cause->lost.n &&
	    ((kind != FINDING_ATOMICITY && kind != FINDING_ORDERING) || main_piece == UINT32_MAX))
		main_piece = cause->lost.p[0];
	const struct crash_fault *fault = crash_fault_behind(c->h, cause);
	f = finding_new(
		finding_kind_info(shown_kind(cause, fault ? FINDING_UNHANDLED_FAULT : kind)));
	f->message = message(c, cause);
	f->advice = advice(c, cause, kind, &fate);
	if (fault)
		crash_fault_say(c, fault, f);
	f->count = cause->count;
	f->event = cause->state.event;
	if (main_piece != UINT32_MAX) {
		f->place =
			finding_place_clone(crash_path(c, crash_piece_at(c->h, main_piece).place));
		f->data = data_of(c, main_piece);
	}
	if (cause->persisted != UINT32_MAX)
		add_related(c, f, "persisted", cause->persisted,
			    said_of(c, cause->persisted, "persistent", "on disk"));
	for (size_t i = 0; i < cause->with.n; i++)
		if (cause->with.p[i] != cause->persisted)
			add_related(c, f, "also-persisted", cause->with.p[i],
				    xstrdup("so is this store to the line of the lost one"));
	for (size_t i = 0; i < cause->lost.n; i++)
		add_related(c, f, "lost", cause->lost.p[i],
			    cause->prefix
				    ? said_of(c, cause->lost.p[i], "not made yet", "not made yet")
				    : said_of(c, cause->lost.p[i], "lost", "not on disk"));
	if (cause->apart)
		add_related(c, f, "also-lost", (uint32_t)(cause->apart - 1),
			    xstrdup("so is this one, with which recovery fails in any case"));
	add_also(c, f, cause);
	f->cause = xasprintf("%s %d", runner_verdict_name(cause->verdict.verdict),
			     cause->verdict.status);
	f->witness = "crash";
	add_crash(c, f, cause, kind);
	add_steps(c, f, cause);
	return f;
}

void crash_report(struct crash *c, const char *dir, struct finding_set *set)
{
	size_t n = c->cause.n, *best = xcalloc(n + 1, sizeof *best);
	struct finding **f = xcalloc(n + 1, sizeof *f);
	c->told.n = 0;
	for (size_t i = 0; i < n; i++)
		f[i] = crash_cause_finding(c, &c->cause.p[i]);
	crash_join(c, f, best);
	for (size_t i = 0; i < n; i++)
		if (best[i] == i)
			f[i] = finding_add(set, f[i]);
		else
			finding_free(f[i]);
	for (size_t i = 0; i < n; i++)
		VEC_PUSH(&c->told, f[best[i]]);
	for (size_t i = 0; dir && i < c->told.n; i++) {
		struct finding *t = c->told.p[i];
		free(t->replay);
		t->replay = xasprintf("holdfast replay %s %s", t->id, dir);
	}
	free(best);
	free(f);
}
