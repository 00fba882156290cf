/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the crash tests share: tales, which are small histories on a few lines of a file of their
 * own, by hand or at random; and batches, which are many tales in one trace. A tale has threads
 * of its own and ends with an fsync, so that tales do not disturb each other.
 */
#ifndef HOLDFAST_TESTS_CRASH_UTIL_H
#define HOLDFAST_TESTS_CRASH_UTIL_H

#include <sys/mman.h>

#include "crash/internal.h"
#include "trace_util.h"

#define MOST_LINES 40u
#define THREADS 3u
#define PAGE 4096u
#define WIDEST 64u
#define NO_LINE UINT32_MAX

enum { SITE_STORE = 1, SITE_NT, SITE_CLFLUSH, SITE_CLFLUSHOPT, SITE_CLWB, SITE_SFENCE, SITES };

/* Something that a program does. Offsets count from the tale's first line. */
struct act {
	uint8_t kind; /* enum trace_kind */
	uint8_t thread;
	uint8_t site;
	uint8_t how; /* SYNC's flags, FILE_SYNC's how */
	uint32_t off, len;
	uint8_t data[WIDEST];
};

struct tale {
	unsigned lines;
	uint32_t unit;
	uint64_t start; /* of the first line, in the file */
	uint64_t map;   /* offset of the mapping in the file */
	uint64_t size;
	uint8_t *initial;
	char *path;
	uint32_t file;
	uint64_t first; /* event of the first act */
	VEC(struct act) act;
	uint32_t id[MOST_LINES]; /* in the history, or NO_LINE: never stored to */
};

struct batch {
	const struct model_ops *model;
	char *dir;
	struct trace_reader *reader;
	struct crash_history *h;
	VEC(struct tale *) tale;
};

/* ---- tales by hand ---- */

static inline struct tale *add_tale(struct batch *b, unsigned lines)
{
	struct tale *t = xcalloc(1, sizeof *t);
	unsigned before = (unsigned)(rnd() % (lines + 1)); /* lines before the end of a page */
	t->lines = lines;
	t->unit = b->model->unit;
	t->start = t->unit == PAGE ? PAGE : 2 * PAGE - before * t->unit;
	t->map = rnd() % 2 ? PAGE : 0;
	t->size = (t->start + lines * t->unit + PAGE - 1) / PAGE * PAGE + PAGE;
	t->initial = xcalloc(1, t->size);
	t->path = xasprintf("/pm/%zu", b->tale.n);
	VEC_PUSH(&b->tale, t);
	return t;
}

static inline struct act *add_act(struct tale *t, unsigned kind, unsigned thread)
{
	VEC_PUSH(&t->act, ((struct act){ .kind = (uint8_t)kind, .thread = (uint8_t)thread }));
	return &t->act.p[t->act.n - 1];
}

static inline void add_store(struct tale *t, uint32_t off, uint32_t len, uint8_t value)
{
	struct act *a = add_act(t, TRACE_STORE, 0);
	a->site = SITE_STORE;
	a->off = off;
	a->len = len;
	memset(a->data, value, len);
}

static inline void add_persist(struct tale *t, uint32_t off)
{
	struct act *a = add_act(t, TRACE_FLUSH, 0);
	a->site = SITE_CLWB;
	a->off = off;
	add_act(t, TRACE_FENCE, 0)->site = SITE_SFENCE;
}

/* ---- tales at random ---- */

/* Under msync only the beginning and the end of a page are stored to. */
#define HEAD 96u
#define TAIL 32u

static inline uint32_t random_off(const struct tale *t)
{
	uint32_t line = (uint32_t)(rnd() % t->lines) * t->unit;
	uint32_t at = (uint32_t)(rnd() % (t->unit < TRACE_LINE ? t->unit : TRACE_LINE));
	if (rnd() % 2)
		at &= ~7u;
	return line + (t->unit == PAGE && at >= TAIL ? PAGE - TRACE_LINE + at : at);
}

static inline void random_bytes(const struct tale *t, struct act *a)
{
	uint32_t room;
	a->off = random_off(t);
	room = t->lines * t->unit - a->off;
	a->len = rnd() % 4 ? 1u << rnd() % 4 : 1 + (uint32_t)(rnd() % WIDEST);
	a->len = a->len < room ? a->len : room;
	for (uint32_t i = 0; i < a->len; i++)
		a->data[i] = (uint8_t)(rnd() % 3);
}

static inline void random_store(struct tale *t, bool nt)
{
	struct act *a = add_act(t, TRACE_STORE, (unsigned)(rnd() % THREADS));
	a->site = nt ? SITE_NT : SITE_STORE;
	random_bytes(t, a);
}

static inline void random_flush(struct tale *t)
{
	struct act *a = add_act(t, TRACE_FLUSH, (unsigned)(rnd() % THREADS));
	a->site = (uint8_t)(SITE_CLFLUSH + rnd() % 3);
	a->off = random_off(t);
}

static inline void random_sync(struct tale *t)
{
	struct act *a = add_act(t, rnd() % 3 ? TRACE_SYNC : TRACE_FILE_SYNC, 0);
	a->off = random_off(t);
	a->len = 1 + (uint32_t)(rnd() % t->unit);
	a->how = (uint8_t)(a->kind == TRACE_SYNC ? rnd() % 4 ? 4 : 1 : rnd() % 3);
}

static inline void random_file_act(struct tale *t)
{
	struct act *a;
	switch (rnd() % 3) {
	case 0: random_bytes(t, add_act(t, TRACE_FILE_WRITE, 0)); break;
	case 1:
		a = add_act(t, TRACE_FILE_RENAME, 0);
		a->len = 5;
		memcpy(a->data, "/AA/a",
		       5); /* in a folder of its own: no tale replaces another's file */
		a->data[1] += (uint8_t)(strtoul(t->path + 4, NULL, 10) / 26);
		a->data[2] += (uint8_t)(strtoul(t->path + 4, NULL, 10) % 26);
		a->data[4] += (uint8_t)(rnd() % 3);
		break;
	default: /* longer, by whole pages */
		a = add_act(t, TRACE_FILE_TRUNCATE, 0);
		a->off = (uint32_t)(rnd() % 3);
		break;
	}
}

/* `stores`: how many in a hundred acts are stores. */
static inline struct tale *random_tale(struct batch *b, unsigned lines, unsigned acts,
				       unsigned stores)
{
	struct tale *t = add_tale(b, lines);
	if (rnd() % 2)
		for (uint64_t i = 0; i < lines * t->unit; i++)
			t->initial[t->start + i] = (uint8_t)(rnd() % 3);
	while (t->act.n < acts) {
		unsigned what = (unsigned)(rnd() % 100);
		if (rnd() % 100 < stores)
			random_store(t, what < 20);
		else if (what < 50)
			random_flush(t);
		else if (what < 84)
			add_act(t, TRACE_FENCE, (unsigned)(rnd() % THREADS))->site = SITE_SFENCE;
		else if (what < 93)
			random_sync(t);
		else
			random_file_act(t);
	}
	return t;
}

/* ---- from tales to a history ---- */

static inline uint64_t tale_addr(size_t number)
{
	return PM + number * 0x1000000u;
}

static inline struct trace_event to_event(const struct tale *t, size_t number, const struct act *a)
{
	uint64_t addr = tale_addr(number) + t->start - t->map + a->off;
	struct trace_event e = { .kind = a->kind,
				 .nargs = (uint8_t)trace_kind_args(a->kind),
				 .thread = (uint32_t)number * THREADS + a->thread + 1,
				 .site = a->site };
	e.arg[0] = t->file;
	switch (a->kind) {
	case TRACE_STORE: e.flags = a->site == SITE_NT ? TRACE_F_NT : 0; /* fall through */
	case TRACE_FLUSH: e.arg[0] = addr; break;
	case TRACE_FENCE: e.arg[0] = 0; break;
	case TRACE_MARK_VOLATILE:
	case TRACE_HINT_UNMAP:
	case TRACE_HINT_MAP:
		e.arg[0] = addr;
		e.arg[1] = a->len;
		break;
	case TRACE_SYNC:
		e.arg[0] = addr;
		e.arg[1] = a->len;
		e.arg[2] = a->how;
		break;
	case TRACE_FILE_SYNC: e.arg[1] = a->how; break;
	case TRACE_FILE_TRUNCATE: e.arg[1] = t->size + a->off * PAGE; break;
	case TRACE_FILE_WRITE: e.arg[1] = t->start + a->off; break;
	default: break;
	}
	if (a->kind == TRACE_STORE || a->kind == TRACE_FILE_WRITE || a->kind == TRACE_FILE_RENAME) {
		e.size = a->len;
		e.data = a->data;
	}
	return e;
}

static inline void put_map(struct trace_writer *w, const struct tale *t, size_t number)
{
	struct err err = { 0 };
	struct trace_event e = { .kind = TRACE_MAP,
				 .flags = TRACE_F_PM,
				 .nargs = (uint8_t)trace_kind_args(TRACE_MAP),
				 .thread = 1 };
	const uint64_t arg[] = { tale_addr(number), t->size - t->map, t->file, t->map, 3, 1 };
	memcpy(e.arg, arg, sizeof arg);
	assert_ok(trace_put_event(w, &e, &err));
}

static inline void put_tale(struct trace_writer *w, struct tale *t, size_t number, uint64_t *num)
{
	struct err err = { 0 };
	struct trace_file_def def = {
		.dev = 1, .ino = number + 1, .size = t->size, .path = t->path
	};
	struct act end = { .kind = TRACE_FILE_SYNC };
	struct trace_event e;
	int fd = memfd_create("initial", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(write(fd, t->initial, t->size) == (ssize_t)t->size);
	assert_ok(trace_put_file(w, &def, fd, &t->file, &err));
	close(fd);
	put_map(w, t, number);
	t->first = *num + 1;
	for (size_t i = 0; i < t->act.n; i++) {
		e = to_event(t, number, &t->act.p[i]);
		assert_ok(trace_put_event(w, &e, &err));
	}
	e = to_event(t, number, &end);
	assert_ok(trace_put_event(w, &e, &err));
	*num = t->first + t->act.n + 1;
}

static inline void put_sites(struct trace_writer *w)
{
	static const uint8_t class[SITES] = {
		[SITE_STORE] = TRACE_SITE_STORE,     [SITE_NT] = TRACE_SITE_NT_STORE,
		[SITE_CLFLUSH] = TRACE_SITE_CLFLUSH, [SITE_CLFLUSHOPT] = TRACE_SITE_CLFLUSHOPT,
		[SITE_CLWB] = TRACE_SITE_CLWB,       [SITE_SFENCE] = TRACE_SITE_SFENCE
	};
	struct err err = { 0 };
	put_process(w, 1, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	for (uint32_t i = 0; i < SITES; i++) {
		struct trace_site_def d = { .ip = 0x1000 + i, .class = class[i], .size = 8 };
		assert_ok(trace_put_site(w, 0, i, &d, &err));
	}
}

static inline void find_lines(const struct crash_history *h, struct tale *t)
{
	memset(t->id, 0xff, sizeof t->id);
	for (uint32_t i = 0; i < h->line.n; i++) {
		const struct crash_line *l = &h->line.p[i];
		if (l->file != t->file)
			continue;
		assert_true(l->off >= t->start && (l->off - t->start) % t->unit == 0);
		assert_true((l->off - t->start) / t->unit < t->lines);
		t->id[(l->off - t->start) / t->unit] = i;
	}
}

/* Writes the tales and reads them as a history. */
static inline void open_batch(struct batch *b)
{
	struct err err = { 0 };
	struct trace_writer *w;
	uint64_t num = 0;
	b->dir = new_dir();
	w = trace_create(b->dir, &err);
	assert_non_null(w);
	put_sites(w);
	for (size_t i = 0; i < b->tale.n; i++)
		put_tale(w, b->tale.p[i], i, &num);
	assert_ok(trace_finish(w, &err));
	b->reader = trace_open(b->dir, &err);
	assert_non_null(b->reader);
	b->h = crash_history_new(b->reader, b->model, NULL, &err);
	assert_non_null(b->h);
	assert_null(b->h->damage);
	assert_int_equal(b->h->events, num);
	for (size_t i = 0; i < b->tale.n; i++)
		find_lines(b->h, b->tale.p[i]);
}

static inline void free_batch(struct batch *b)
{
	crash_history_free(b->h);
	trace_close(b->reader);
	drop_dir(b->dir);
	for (size_t i = 0; i < b->tale.n; i++) {
		free(b->tale.p[i]->initial);
		free(b->tale.p[i]->path);
		VEC_FREE(&b->tale.p[i]->act);
		free(b->tale.p[i]);
	}
	VEC_FREE(&b->tale);
}

/* ---- running a strategy ---- */

/* Points before each `every`-th act of a tale and, always, after its last. */
static inline void tale_points(const struct tale *t, size_t every, struct crash_points *out)
{
	out->v.n = 0;
	for (size_t i = 0; i < t->act.n; i += every)
		VEC_PUSH(&out->v, ((struct crash_point){ t->first + i, 0 }));
	VEC_PUSH(&out->v, ((struct crash_point){ t->first + t->act.n, 0 }));
}

/* Calls `each` with every state that a strategy makes, until it is false; says how many. */
static inline uint64_t run_strategy(const char *name, struct crash_world *w,
				    bool (*each)(void *, const struct crash_state *), void *arg)
{
	struct crash_gen *gen = crash_gen_new(w, name);
	struct crash_state state = { 0 };
	uint64_t n = 0;
	bool more = true;
	assert_non_null(gen);
	while (more && crash_gen_next(gen, &state)) {
		assert_int_equal(w->cursor.at, state.event);
		for (size_t i = 0; i < state.at.n; i++) {
			const struct crash_at *a = &state.at.p[i];
			assert_true(a->line < w->h->line.n);
			assert_true(i == 0 || a[-1].line < a->line);
			assert_true(a->version >= w->cursor.lo[a->line]);
			assert_true(a->version < w->cursor.hi[a->line]);
		}
		n++;
		more = !each || each(arg, &state);
		state.at.n = 0;
	}
	crash_gen_free(gen);
	crash_state_free(&state);
	return n;
}

#endif
