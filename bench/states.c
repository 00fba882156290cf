/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The crash engine by itself, on a recorded trace.
 *
 * usage: states points TRACE K          K failure points, evenly from all; a line each: event, and
 *                                       transactions that were over by then
 *        states memory TRACE           events, and bytes that are kept of them
 *        states behaviours TRACE       pieces, CPU seconds that finding the update behaviours takes, and bytes of
 *                                       memory at its peak beyond what the history has
 *        states build TRACE N FROM TO   makes the images of 5 x N random states, each of which
 *                                       differs from the last in about FROM to at most TO lines; a
 *                                       line for each 5th: states, seconds, CPU seconds, lines
 *
 * A state is made from the last one by going back or forth in the history until enough lines
 * differ, and by losing stores of up to ODD open lines. Making up states is not measured; hashing
 * and writing the image are.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crash/internal.h"

#define ODD 10u
#define PARTS 5u

static void die(const struct err *err)
{
	fprintf(stderr, "states: %s\n", err->text);
	exit(1);
}

static struct crash *open_trace(const char *dir)
{
	struct err err;
	struct trace_reader *r = trace_open(dir, &err);
	struct crash_opts o = { .model = model_find("adr"),
				.strategy = "prefix",
				.max_per_path = 8 };
	struct crash *c = r ? crash_new(r, &o, &err) : NULL;
	if (!c)
		die(&err);
	return c;
}

/* ---- points ---- */

static void points(const char *dir, size_t k)
{
	struct crash *c = open_trace(dir);
	size_t n = c->points.v.n, mark = 0, ends = 0;
	for (size_t i = 0; i < k; i++) {
		uint64_t event = c->points.v.p[(2 * i + 1) * n / (2 * k)].event;
		for (; mark < c->h->mark.n && crash_mark_at(c->h, mark).event < event; mark++)
			ends += crash_mark_at(c->h, mark).kind == TRACE_TX_END;
		printf("%" PRIu64 " %zu\n", event, ends);
	}
	crash_free(c);
}

static void memory(const char *dir)
{
	struct crash *c = open_trace(dir);
	printf("%" PRIu64 " %zu\n", c->h->events, crash_memory(c));
	crash_free(c);
}

/* ---- behaviours ---- */

/* A line of /proc/self/status, in bytes. */
static size_t status_of(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t kib = 0;
	char line[256];
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, strlen(name)))
			kib = strtoull(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return kib << 10;
}

/* From now on the peak is that of what follows. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");
	if (!f || fputs("5", f) < 0 || fclose(f)) {
		fputs("states: the peak of memory cannot be measured\n", stderr);
		exit(1);
	}
}

static double seconds(clockid_t clock);

static void behaviours(const char *dir)
{
	struct crash *c = open_trace(dir);
	malloc_trim(0);
	forget_peak();
	size_t before = status_of("VmRSS:");
	double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct crash_behaviours *b = crash_behaviours(c);
	printf("%zu %.6f %zu\n", c->h->pieces, seconds(CLOCK_PROCESS_CPUTIME_ID) - start,
	       status_of("VmHWM:") - before);
	crash_behaviours_free(b);
	crash_free(c);
}

/* ---- states at random ---- */

struct walk {
	struct crash_cursor cursor;
	struct crash_state last;
	uint32_t *seen; /* per line: the state that it was last counted for */
	uint32_t *version;
	uint32_t number;
	uint64_t rng, first, end;
};

static uint64_t rnd(struct walk *w)
{
	return splitmix64(&w->rng);
}

/* The event that so many lines lie before or behind where we are. */
static uint64_t travel(struct walk *w, size_t lines)
{
	const struct crash_history *h = w->cursor.h;
	size_t p = w->cursor.piece;
	uint64_t event = w->cursor.at;
	bool on = rnd(w) % 2;
	if (event < w->first + (w->end - w->first) / 8)
		on = true;
	w->number++;
	while (lines && p > 1 && p < h->pieces) {
		struct crash_piece at = crash_piece_at(h, on ? p++ : --p);
		if (w->seen[at.line] != w->number) {
			w->seen[at.line] = w->number;
			lines--;
		}
		event = on ? at.event + 1 : at.event;
	}
	return event < w->first ? w->first : event > w->end ? w->end : event;
}

static void lose_some(struct walk *w, struct crash_state *s)
{
	size_t n = rnd(w) % (ODD + 1);
	for (size_t i = 0; i < n && w->cursor.open.n; i++) {
		uint32_t line = w->cursor.open.p[rnd(w) % w->cursor.open.n];
		uint32_t lo = w->cursor.lo[line], hi = w->cursor.hi[line];
		crash_state_set(s, &w->cursor, line, lo + (uint32_t)(rnd(w) % (hi - lo)));
	}
}

/* In how many lines does a state differ from the last? */
static size_t settle(struct walk *w, const struct crash_state *s, size_t from, size_t to)
{
	const struct crash_history *h = w->cursor.h;
	size_t changed = 0;
	for (size_t i = from; i < to + s->at.n + w->last.at.n; i++) {
		uint32_t line = i < to             ? crash_piece_at(h, i).line
				: i < to + s->at.n ? s->at.p[i - to].line
						   : w->last.at.p[i - to - s->at.n].line;
		uint32_t version = crash_state_get(s, &w->cursor, line);
		changed += w->version[line] != version;
		w->version[line] = version;
	}
	crash_state_copy(&w->last, s);
	return changed;
}

static size_t next_state(struct walk *w, size_t from, size_t to, struct crash_state *out)
{
	size_t before = w->cursor.piece, after;
	out->event = travel(w, from + rnd(w) % (to - 2 * ODD - from + 1));
	crash_cursor_move(&w->cursor, out->event);
	after = w->cursor.piece;
	lose_some(w, out);
	return settle(w, out, before < after ? before : after, before < after ? after : before);
}

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct runner *new_runner(struct crash *c)
{
	struct runner_opts o = { .command = "true", .cells = 1, .timeout_ms = 10000 };
	struct err err;
	struct runner *r;
	o.file = crash_files(c, false, &o.nfile);
	r = runner_new(&o, &err);
	if (!r)
		die(&err);
	return r;
}

static void part(struct crash *c, const struct crash_state *s, size_t n)
{
	uint64_t hashes = 0;
	struct err err;
	for (size_t i = 0; i < n; i++) {
		crash_cursor_move(&c->building, s[i].event);
		hashes ^= crash_state_hash(&s[i], &c->building);
		if (crash_materialise(c, 0, &s[i], &err))
			die(&err);
	}
	if (hashes == 1)
		puts("luck");
}

static void build(const char *dir, size_t n, size_t from, size_t to)
{
	struct crash *c = open_trace(dir);
	struct walk w = { .rng = 1, .first = c->h->events / 4, .end = c->h->events };
	struct crash_state *s = xcalloc(PARTS * n + 1, sizeof *s);
	size_t *changed = xcalloc(PARTS * n + 1, sizeof *changed);
	c->runner = new_runner(c);
	c->cell = xcalloc(1, sizeof *c->cell);
	crash_cursor_init(&w.cursor, c->h);
	w.seen = xcalloc(c->h->line.n, sizeof *w.seen);
	w.version = xcalloc(c->h->line.n, sizeof *w.version);
	s[0].event = w.first + (w.end - w.first) / 2;
	crash_cursor_move(&w.cursor, s[0].event);
	settle(&w, &s[0], 0, w.cursor.piece);
	for (size_t i = 1; i <= PARTS * n; i++)
		if ((changed[i] = next_state(&w, from, to, &s[i])) > to)
			abort();
	part(c, s, 1);
	for (size_t p = 0; p < PARTS; p++) {
		double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		size_t sum = 0;
		part(c, s + 1 + p * n, n);
		for (size_t i = 0; i < n; i++)
			sum += changed[1 + p * n + i];
		printf("%zu %.6f %.6f %zu\n", n, seconds(CLOCK_MONOTONIC) - wall,
		       seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, sum);
	}
	if (memcmp(w.version, c->cell[0].version, c->h->line.n * sizeof *w.version) != 0) {
		fputs("states: the image is not that of the last state\n", stderr);
		exit(1);
	}
	runner_free(c->runner); /* the rest goes with the process */
}

int main(int argc, char **argv)
{
	size_t number[3] = { 0 };
	for (int i = 3; i < argc && i < 6; i++)
		number[i - 3] = strtoull(argv[i], NULL, 10);
	if (argc == 4 && strcmp(argv[1], "points") == 0)
		points(argv[2], number[0]);
	else if (argc == 3 && strcmp(argv[1], "memory") == 0)
		memory(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "behaviours") == 0)
		behaviours(argv[2]);
	else if (argc == 6 && strcmp(argv[1], "build") == 0 && number[1] + 2 * ODD <= number[2])
		build(argv[2], number[0], number[1], number[2]);
	else
		return 2;
	return 0;
}
