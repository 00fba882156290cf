/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judging by what the program says: operations are atomic and, once they have ended, durable.
 *
 * What a probe prints on a crash image must be what it prints with everything persistent at the begin
 * of the operation in flight, or at its end:
 *
 *	operation 7            begin ─────────── crash ──────── end
 *	                        ▲ not happened                   ▲ happened
 *
 * Between two operations there is nothing in flight: the end of the one and the begin of the next. What
 * it prints there is looked up like the verdict on any other image: once for each.
 *
 * With --continue, what is said includes what later operations print (suffix.c): the same ones on all three
 * images. Where operations of several threads overlap, an image with one of them and without the other is fine as
 * well, and cannot be made from the history; overlap.c makes it where it can. With --probe alone narrow.c makes them shorter, so
 * that fewer overlap.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/internal.h"
#include "crash/leader.h"
#include "crash/shuffled.h"
#include "crash/span.h"

#define SHOWN_LINE 80 /* bytes of an operation's line */
#define FAR                                                                                        \
	64 /* operations that are looked at for the one that is gone, if that decides whether it may be … */
#define MOST_ORDERS 32 /* operations that are looked at to see whether the order is kept */
#define FAR_RUN 8      /* … where each takes a run of its own */
#define FAR_NAMED 16   /* … and if it only tells which they are */

static const struct row {
	const char *name, *about;
} rows[] = {
	{ "status", "by recovery's exit status" },
	{ "output",
	  "also by what it, or --probe and --continue, print: an operation happens as a whole or not at "
	  "all, and stays" },
};

const char *crash_judge_at(size_t i, const char **about)
{
	*about = i < sizeof rows / sizeof *rows ? rows[i].about : NULL;
	return i < sizeof rows / sizeof *rows ? rows[i].name : NULL;
}

uint64_t crash_judge_key(const struct crash *c, const struct crash_state *s, uint64_t hash)
{
	struct crash_span span;
	if (!c->opts.listen)
		return hash;
	if (!crash_span_of(c->h, s->event, &span))
		return hash_mix(hash, crash_overlap_key(c->h, s->event));
	uint64_t due = crash_span_due(c->h, &span, FAR), key = hash_mix(hash, span.from + 1);
	return due ? hash_mix(key, due) : key;
}

/* ---- what is said ---- */

int crash_said_at(struct crash *c, size_t op, uint64_t event, bool run, uint64_t *said,
		  struct err *err)
{
	struct crash_state s = { .event = event };
	struct crash_verdict v;
	crash_cursor_move(&c->judging, event);
	uint64_t key = crash_suffix_key(c, crash_state_hash(&s, &c->judging), op);
	if (!crash_known(c, key, &v)) {
		if (!run)
			return 0;
		if (crash_run_state(c, &s, op, false, &v, NULL, err))
			return -1;
	}
	*said = v.said;
	return v.verdict == RUNNER_OK;
}

/* The first of the operations that ended before the span without which the program would say this; from 1,
 * 0: there is none, -1. */
static long gone_since(struct crash *c, const struct crash_span *s, bool run, uint64_t said,
		       struct err *err)
{
	/* the last must not be gone */
	bool kept = s->ended && crash_op_owed(&c->h->op.p[s->ended - 1], s->event);
	size_t far = c->suffix ? FAR_RUN : kept ? FAR_NAMED : FAR;
	for (size_t i = s->ended, back = 0; i > 0 && back < far; i--, back++) {
		const struct crash_op *op = &c->h->op.p[i - 1];
		uint64_t before;
		if (op->solid >= op->begin)
			return 0; /* it overlaps with another */
		int known = crash_said_at(c, s->op, op->begin, run, &before, err);
		if (known < 0)
			return -1;
		if (known && before == said)
			return (long)i;
	}
	return 0;
}

/* What is said at both ends of a span. */
struct said {
	char *before, *after;
};

static void forget(struct said *s)
{
	free(s->before);
	free(s->after);
}

static int look_up(struct crash *c, const struct crash_span *span, struct said *out,
		   struct err *err)
{
	struct crash_state from = { .event = span->from }, to = { .event = span->to };
	uint64_t before = 0, after = 0;
	*out = (struct said){ 0 };
	if (crash_said_at(c, span->op, from.event, true, &before, err) < 0 ||
	    crash_said_at(c, span->op, to.event, true, &after, err) < 0)
		return -1;
	out->before = crash_said(c, &from, span->op, before, err);
	out->after = out->before ? crash_said(c, &to, span->op, after, err) : NULL;
	if (out->after)
		return 0;
	forget(out);
	return -1;
}

/* The same where they overlap, if none of those in flight had happened, or all. */
static int look_up_overlap(struct crash *c, const struct crash_state *s, struct said *out,
			   struct err *err)
{
	*out = (struct said){ .before = crash_overlap_said(c, s->event, false, err) };
	out->after = out->before ? crash_overlap_said(c, s->event, true, err) : NULL;
	if (out->after)
		return 0;
	forget(out);
	return -1;
}

/* In which line it differs, and in which way. */
static int say_how(struct crash *c, const struct crash_state *s, const struct crash_span *span,
		   struct crash_verdict *v, struct err *err)
{
	struct said all;
	char *was = crash_said(c, s, span->op, v->said, err);
	int bad = !was || look_up(c, span, &all, err);
	if (!bad) {
		crash_said_differ(was, all.before, all.after, v);
		forget(&all);
	}
	free(was);
	return bad;
}

/* Does the program list its entries in another order now and then, when it adds or removes some? */
static int is_unsteady(struct crash *c, struct err *err)
{
	for (size_t i = 1; !c->order && i <= c->h->op.n && i <= MOST_ORDERS; i++) {
		const struct crash_op *op = &c->h->op.p[i - 1];
		struct crash_span span = { .from = op->begin, .to = op->end + 1, .op = i };
		struct said all;
		if (op->end == UINT64_MAX || op->latest >= op->begin)
			continue;
		if (look_up(c, &span, &all, err))
			return -1;
		if (crash_reorders(all.before, all.after))
			c->order = 1;
		forget(&all);
	}
	c->order = c->order ? c->order : 2;
	return c->order == 1;
}

/* Is the order all that the operation in flight changes, or the one that has ended last? */
static int is_sorting(struct crash *c, const struct crash_span *span, struct err *err)
{
	const struct crash_op *op = &c->h->op.p[span->op - 1];
	struct crash_span last = { .from = op->begin,
				   .to = span->flying ? span->to : span->from,
				   .op = span->op };
	struct said all;
	if (op->latest >= op->begin)
		return 0;
	if (look_up(c, &last, &all, err))
		return -1;
	bool sorting =
		strcmp(all.before, all.after) != 0 && crash_same_but_order(all.before, all.after);
	forget(&all);
	return sorting;
}

/* 1: the same entries in another order, which nobody was promised; 0: not, as far as is known; -1. `old`: so it was before. */
static int is_shuffled(struct crash *c, const struct crash_state *s, const struct crash_span *span,
		       bool run, uint64_t said, bool old, struct err *err)
{
	uint64_t key = hash_mix(said, span->from + old), known = 0;
	struct said all;
	if (hmap_get(&c->shuffled, key, &known) || !run)
		return known == 1;
	char *was = crash_said(c, s, span->op, said, err);
	if (!was || look_up(c, span, &all, err))
		return free(was), -1;
	int same = crash_shuffled(was, all.before, all.after, c->suffix != NULL);
	forget(&all);
	free(was);
	int strict = !same ? 0 : old ? 1 : is_sorting(c, span, err);
	if (strict > 0)
		same = is_unsteady(c, err);
	if (strict < 0 || same < 0)
		return -1;
	hmap_put(&c->shuffled, key, same ? 1 : 2);
	c->counts.shuffled += (uint64_t)same;
	return same;
}

/* 1: it is fine when asked again, and the first time had only messages more; 0: not, as far as is known; -1. */
static int is_calm(struct crash *c, const struct crash_state *s, const struct crash_span *span,
		   bool run, uint64_t said, const uint64_t fine[2], struct err *err)
{
	crash_cursor_move(&c->judging, s->event);
	uint64_t key = crash_judge_key(c, s, crash_state_hash(s, &c->judging)), known = 0, again;
	struct said all;
	if (hmap_get(&c->calm, key, &known) || !run)
		return known == 1;
	char *was = crash_said(c, s, span->op, said, err);
	if (!was || look_up(c, span, &all, err))
		return free(was), -1;
	int calm = crash_chatter(c, s, span->op, was, all.before, all.after, &again, err);
	forget(&all);
	free(was);
	if (calm && again != fine[0] && again != fine[1])
		calm = is_shuffled(c, s, span, run, again, false, err);
	if (calm < 0)
		return -1;
	hmap_put(&c->calm, key, calm ? 1 : 2);
	c->counts.chatter += (uint64_t)calm;
	return calm;
}

/*
 * A request that was answered once and does the same thing again and again, as a rehash does: is it a batch, whose parts leave alone
 * what they are not about? 1: yes, as far as is known; 0: entries are missing that are there before and after; -1.
 */
static int is_batch(struct crash *c, const struct crash_state *s, const struct crash_span *span,
		    bool run, uint64_t said, struct err *err)
{
	uint64_t key = hash_mix(said, span->from), known = 0;
	struct said all;
	if (!c->h->op.p[span->op - 1].input)
		return 1;
	if (hmap_get(&c->dropped, key, &known) || !run)
		return known != 1;
	char *was = crash_said(c, s, span->op, said, err);
	if (!was || look_up(c, span, &all, err))
		return free(was), -1;
	bool drops = crash_said_drops(was, all.before, all.after);
	forget(&all);
	free(was);
	hmap_put(&c->dropped, key, drops ? 1 : 2);
	return !drops;
}

/* May it be there in part, as the work of several threads that one has done? 1: yes; 0: not, as far as is known; -1. */
static int is_led(struct crash *c, const struct crash_state *s, const struct crash_span *span,
		  bool run, uint64_t said, struct err *err)
{
	uint64_t key = hash_mix(said, span->from), known = 0;
	struct said all;
	if (!span->flying || !crash_leads(c, span->op))
		return 0;
	if (hmap_get(crash_leaders_said(c), key, &known) || !run)
		return known == 1;
	char *was = crash_said(c, s, span->op, said, err);
	if (!was || look_up(c, span, &all, err))
		return free(was), -1;
	bool fine = crash_said_between(was, all.before, all.after);
	forget(&all);
	free(was);
	hmap_put(crash_leaders_said(c), key, fine ? 1 : 2);
	return fine;
}

int crash_judge(struct crash *c, const struct crash_state *s, bool run, struct crash_verdict *v,
		struct err *err)
{
	uint64_t at[2]; /* what is said before, and after */
	struct crash_span span;
	if (!c->opts.listen || v->verdict != RUNNER_OK || crash_has_failed(c->h, s->event))
		return 0;
	if (!crash_span_of(c->h, s->event, &span))
		return crash_overlap_judge(c, s, run, v, err);
	int a = crash_said_at(c, span.op, span.from, run, &at[0], err);
	int b = a < 0 ? -1 : crash_said_at(c, span.op, span.to, run, &at[1], err);
	if (a < 0 || b < 0)
		return -1;
	if (!a || !b || v->said == at[0] || v->said == at[1])
		return 0;
	long gone = gone_since(c, &span, run, v->said, err);
	if (gone >= 0 && !crash_span_promised(c->h, &span, gone, c->suffix ? FAR_RUN : FAR))
		return 0;
	int fine = gone == 0 ? crash_unborn(c, span.op, span.ended, run, v->said, err) : 0;
	if (fine)
		return fine < 0 ? -1 : 0;
	fine = gone >= 0 ? crash_coarse(c, span.op, s->event, run, v->said, err) : 0;
	if (fine > 0)
		fine = is_batch(c, s, &span, run, v->said, err);
	if (!fine && gone == 0)
		fine = is_led(c, s, &span, run, v->said, err);
	if (!fine && gone >= 0)
		fine = is_shuffled(c, s, &span, run, v->said, gone > 0, err);
	if (!fine && gone == 0)
		fine = is_calm(c, s, &span, run, v->said, at, err);
	if (fine)
		return fine < 0 ? -1 : 0;
	v->verdict = RUNNER_DIFFERS;
	v->status = gone > 0 ? CRASH_LOST : CRASH_HALF;
	v->where = span.from + 1;
	return gone < 0 || (run && say_how(c, s, &span, v, err)) ? -1 : 0;
}

/* ---- in words ---- */

/* Its function, or the first word that it was asked; malloc'ed, NULL: it has none. Operations are numbered from 1. */
static char *op_name(const struct crash *c, size_t op)
{
	const char *name = c->h->op.p[op - 1].name;
	return *name ? xstrdup(name) : NULL;
}

/* Its line in the operations file, or what it was asked, likewise. */
static char *op_input(const struct crash *c, size_t op)
{
	const char *asked = c->h->op.p[op - 1].input;
	char *line = crash_suffix_line(c->suffix, op - 1);
	return line || !asked ? line : xstrdup(asked);
}

/* "7 (id 7, 'put 3 4')", "7 (put)" */
static char *name_of(const struct crash *c, size_t op)
{
	char *name = op_name(c, op), *asked = op_input(c, op);
	if (!name)
		name = xasprintf("id %" PRIu64, c->h->op.p[op - 1].id);
	char *text =
		xasprintf("%zu (%s%s%.*s%s)", c->h->op.p[op - 1].number, name, asked ? ", '" : "",
			  SHOWN_LINE, asked ? asked : "", asked ? "'" : "");
	free(asked);
	free(name);
	return text;
}

char *crash_judge_what(struct crash *c, const struct crash_state *s, struct crash_verdict v)
{
	struct crash_span span;
	if (!crash_span_of(c->h, s->event, &span))
		return crash_overlap_what(c->h, s->event);
	long gone = v.status == CRASH_LOST ? gone_since(c, &span, false, v.said, NULL) : 0;
	if (gone > 0 && (size_t)gone < span.ended &&
	    crash_ops_follow(c->h, (size_t)gone, span.ended))
		return xasprintf("operations %zu to %zu, which had ended, are gone",
				 c->h->op.p[gone - 1].number, c->h->op.p[span.ended - 1].number);
	char *op = name_of(c, gone > 0 ? (size_t)gone : span.op);
	char *text = gone > 0 ? xasprintf("operation %s, which had ended, is gone", op)
		     : span.flying
			     ? xasprintf("operation %s has neither happened nor not happened", op)
			     : xasprintf("what the operations up to %s had left is damaged", op);
	free(op);
	return text;
}

void crash_judge_operation(struct crash *c, const struct crash_state *s, struct crash_verdict v,
			   struct finding_operation *out)
{
	struct crash_span span;
	size_t first, last;
	if (!crash_span_of(c->h, s->event, &span)) {
		if (crash_overlap_which(c->h, s->event, &first, &last))
			*out = (struct finding_operation){ .index = first,
							   .id = c->h->op.p[first - 1].id,
							   .last = last,
							   .name = op_name(c, first),
							   .input = op_input(c, first),
							   .fate = "overlap" };
		return;
	}
	if (!span.op)
		return;
	long gone = v.status == CRASH_LOST ? gone_since(c, &span, false, v.said, NULL) : 0;
	size_t op = gone > 0 ? (size_t)gone : span.op;
	*out = (struct finding_operation){ .index = c->h->op.p[op - 1].number,
					   .id = c->h->op.p[op - 1].id,
					   .name = op_name(c, op),
					   .input = op_input(c, op),
					   .fate = gone > 0      ? "gone"
						   : span.flying ? "in flight"
								 : "ended" };
}

bool crash_judge_can(const struct crash *c, const struct crash_state *s)
{
	struct crash_span span;
	return !c->opts.listen || !crash_ops_begun(c->h, s->event) ||
	       crash_span_of(c->h, s->event, &span) || crash_overlap_can(c, s->event);
}

int crash_judge_explain(struct crash *c, const struct crash_state *s, char **output,
			struct err *err)
{
	struct said all;
	struct crash_span span;
	bool one = crash_span_of(c->h, s->event, &span);
	if (one ? look_up(c, &span, &all, err) : look_up_overlap(c, s, &all, err))
		return -1;
	char *text = crash_said_compare(*output ? *output : "", all.before, all.after,
					!one || span.flying);
	free(*output);
	*output = text;
	forget(&all);
	return 0;
}

/* What is said with everything persistent before an event, and the operations after number op, if that is known. */
static bool heard_at(struct crash *c, size_t op, uint64_t event, uint64_t *hash, uint64_t *said)
{
	struct crash_state s = { .event = event };
	crash_cursor_move(&c->judging, event);
	*hash = crash_state_hash(&s, &c->judging);
	return hmap_get(&c->said, crash_suffix_key(c, *hash, op), said);
}

void crash_judge_hears(struct crash *c)
{
	size_t same = 0;
	for (size_t i = 1; c->opts.listen && i <= c->h->op.n; i++) {
		const struct crash_op *o = &c->h->op.p[i - 1];
		uint64_t from, to, before, after;
		if (o->end == UINT64_MAX || o->latest >= o->begin ||
		    !heard_at(c, i, o->begin, &from, &before) ||
		    !heard_at(c, i, o->end + 1, &to, &after) || from == to)
			continue;
		if (before != after)
			return;
		same++;
	}
	c->deaf = same;
}

size_t crash_deaf(const struct crash *c)
{
	return c->deaf;
}

int crash_replay(struct crash *c, struct runner *r, const char *witness, struct runner_result *out,
		 struct err *err)
{
	static const struct crash_hooks none;
	struct crash_state s = { 0 };
	struct crash_verdict v;
	crash_use(c, r);
	c->hooks = &none;
	int bad = crash_state_parse(c, witness, &s, err) ||
		  crash_try(c, &s, true, &v, &out->output, err);
	if (!bad && v.verdict == RUNNER_DIFFERS)
		bad = crash_judge_explain(c, &s, &out->output, err);
	if (!bad) {
		out->verdict = v.verdict;
		out->status = v.status;
		out->noutput = out->output ? strlen(out->output) : 0;
	}
	crash_state_free(&s);
	return bad ? -1 : 0;
}
