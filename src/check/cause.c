/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes: what oracles count while events go by, and the findings that come of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/internal.h"

struct cause *check_cause_hit(struct oracle_state *o, enum finding_kind kind, model_where where,
			      bool *fresh)
{
	struct causes *cs = &o->causes;
	uint64_t key = (uint64_t)kind << 32 | where, i;
	struct cause *cause;
	*fresh = !hmap_get(&cs->index, key, &i);
	if (*fresh) {
		cause = xcalloc(1, sizeof *cause);
		cause->kind = kind;
		cause->where = where;
		hmap_put(&cs->index, key, cs->v.n);
		VEC_PUSH(&cs->v, cause);
		VEC_PUSH(&o->check->wanted, where);
	} else {
		cause = cs->v.p[i];
	}
	cause->count++;
	return cause;
}

void check_causes_free(struct causes *cs)
{
	for (size_t i = 0; i < cs->v.n; i++)
		free(cs->v.p[i]);
	VEC_FREE(&cs->v);
	hmap_free(&cs->index);
}

/* The last word of the line that was stored to: where a flush of the line points back to. */
static int newest_word(const struct model_line *l)
{
	return (l->open | l->ever) >> (l->last * 8) & 0xff ? (int)l->last : -1;
}

void check_cause_example(struct check *c, struct cause *cause, const struct model_step *s, int word)
{
	const struct model_line *l = s->line;
	const struct model_thread *t = s->thread;
	uint64_t now = s->ev->num;
	cause->event = now;
	cause->thread = s->ev->thread;
	if (l) {
		int w = word >= 0 ? word : newest_word(l);
		uint64_t mask = word >= 0 ? s->mask & 0xffull << (word * 8) : 0;
		t = model_thread(c->model, l->storer);
		cause->key = l->key;
		cause->byte = mask ? (uint8_t)__builtin_ctzll(mask) : w >= 0 ? (uint8_t)(w * 8) : 0;
		cause->len = mask ? (uint8_t)__builtin_popcountll(mask) : 0;
		if (w >= 0) {
			cause->store = model_when(l->when[w], now) + 1;
			cause->store_where = l->store[w];
		}
		if (l->flush_when) {
			cause->flush = model_when(l->flush_when, now) + 1;
			cause->flush_where = l->flush;
		}
	}
	cause->fence = t->fence_num;
	cause->fence_where = t->fence;
	if (cause->store)
		VEC_PUSH(&c->wanted, cause->store_where);
	if (cause->flush)
		VEC_PUSH(&c->wanted, cause->flush_where);
	if (cause->fence)
		VEC_PUSH(&c->wanted, cause->fence_where);
}

/* The guilty event is the store; the step is where its life ends. */
void check_cause_ends(struct check *c, struct cause *cause, const struct model_step *s)
{
	cause->event = cause->store - 1;
	cause->end = s->ev->num + 1;
	cause->end_where = s->where;
	cause->end_kind = s->ev->kind;
	VEC_PUSH(&c->wanted, s->where);
}

/* ---- findings ---- */

static const char *short_place(struct check *c, model_where w, char *buf, size_t size)
{
	const struct srcloc_frame *f = finding_main_frame(check_place(c, w));
	return srcloc_text(f, buf, size);
}

static void add_step(struct check *c, struct finding *f, const char *what, uint64_t num1,
		     uint32_t thread, model_where w)
{
	char buf[512];
	struct finding_step s = { num1 - 1, thread, what, NULL };
	if (!num1)
		return;
	s.text = xstrdup(model_place(c->model, w)->ip ? short_place(c, w, buf, sizeof buf)
						      : "the program ends");
	VEC_PUSH(&f->steps, s);
}

static void add_related(struct check *c, struct finding *f, const char *role, const char *what,
			uint64_t num1, model_where w)
{
	const struct finding_place *p;
	struct finding_related r = { role, NULL, num1 - 1, { 0 } };
	if (!num1 || !model_place(c->model, w)->ip) /* a program's end has no place */
		return;
	p = check_place(c, w);
	r.message = xstrdup(what);
	r.place = finding_place_clone(p);
	VEC_PUSH(&f->related, r);
}

void check_cause_relate(struct check *c, struct finding *f, const char *role, const char *what,
			uint64_t where1)
{
	if (where1)
		add_related(c, f, role, what, f->event + 1, (model_where)(where1 - 1));
}

static int by_event(const void *a, const void *b)
{
	const struct finding_step *x = a, *y = b;
	return (x->event > y->event) - (x->event < y->event);
}

static void add_history(struct check *c, struct finding *f, const struct cause *k)
{
	bool at_store = k->store && k->store_where == k->where;
	if (k->store && !at_store)
		add_related(c, f, "last-store", "the newest store to the line", k->store,
			    k->store_where);
	if (k->flush && !(k->flush_where == k->where && k->flush - 1 == k->event))
		add_related(c, f, "last-flush", "the newest flush of the line", k->flush,
			    k->flush_where);
	if (k->fence && !(k->fence_where == k->where && k->fence - 1 == k->event))
		add_related(c, f, "last-fence", "the thread's newest fence", k->fence,
			    k->fence_where);
	if (k->end)
		add_related(c, f, "end", "where its life ends", k->end, k->end_where);
	add_step(c, f, "store", k->store, k->thread, k->store_where);
	add_step(c, f, "flush", k->flush, k->thread, k->flush_where);
	add_step(c, f, "fence", k->fence, k->thread, k->fence_where);
	add_step(c, f, "end", k->end, k->thread, k->end_where);
	if (f->steps.n)
		qsort(f->steps.p, f->steps.n, sizeof *f->steps.p, by_event);
}

struct finding *check_cause_finding(struct check *c, const struct cause *k, const char *fmt, ...)
{
	const struct finding_kind_info *info = k->custom ? k->custom : finding_kind_info(k->kind);
	struct finding *f = finding_new(info);
	const struct finding_place *p = check_place(c, k->where);
	struct buf b = { 0 };
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	f->message = xstrdup(text);
	f->count = k->count;
	f->event = k->event;
	f->place = finding_place_clone(p);
	if (k->key) {
		buf_puts(&b, model_key_text(c->model, k->key, k->byte, text, sizeof text));
		if (k->len)
			buf_printf(&b, ", %u byte%s", k->len, k->len == 1 ? "" : "s");
		f->data = xstrdup(b.p);
	}
	add_history(c, f, k);
	f->witness = "trace";
	if (c->replay)
		f->replay = xasprintf("%s --events %" PRIu64 "..%" PRIu64, c->replay,
				      f->event > 20 ? f->event - 20 : 0, f->event);
	buf_free(&b);
	return f;
}

static bool is_lost_store(const struct finding *f)
{
	return f->kind == finding_kind_info(FINDING_MISSING_FLUSH) ||
	       f->kind == finding_kind_info(FINDING_MISSING_FENCE) ||
	       f->kind == finding_kind_info(FINDING_MISSING_FLUSH_AND_FENCE) ||
	       f->kind == finding_kind_info(FINDING_LATE_PERSIST) ||
	       f->kind == finding_kind_info(FINDING_TRANSIENT_DATA);
}

bool check_is_reported(struct check *c, model_where store, const struct finding_set *found)
{
	const struct srcloc_frame *at = finding_main_frame(check_place(c, store));
	for (size_t i = 0; at && i < found->v.n; i++) {
		const struct srcloc_frame *x = finding_main_frame(&found->v.p[i]->place);
		if (is_lost_store(found->v.p[i]) && x && x->file == at->file &&
		    x->line == at->line && (at->file || x->offset == at->offset))
			return true;
	}
	return false;
}
