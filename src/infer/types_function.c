/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Function behaviours, for stores whose objects nobody knows: what a function stores, by itself and through those
 * that it calls, is the object, and the lines of it from which that happens are the fields. Which function:
 *
 *	main ──▶ insert ──31──▶ set_word ──5──▶ store       set_word stores from one line only: it is a setter, and the
 *	                └─32──▶ set_word ──5──▶ store       function is insert, with the fields 31 and 32
 *
 * the innermost one on the call path that stores from more than one line in the whole run; helpers and libraries do not
 * count. Each call path to it is an object of its own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "infer/behaviour.h"

static uint64_t function_key(const struct srcloc_frame *f)
{
	const char *name = f->function ? f->function : "", *in = f->file ? f->file : f->module;
	uint64_t key = hash_bytes(name, strlen(name));
	return in ? hash_seeded(in, strlen(in), key) : key;
}

static uint64_t line_key(const struct srcloc_frame *f)
{
	return f->line ? f->line : f->offset;
}

static size_t first_frame(const struct finding_place *p)
{
	const struct srcloc_frame *main = finding_main_frame(p);
	return main ? (size_t)(main - p->frame) : 0;
}

/* Function -> a line from which it stores, or MANY. */
#define MANY UINT64_MAX
static void note_lines(struct hmap *lines, const struct finding_place *p)
{
	uint64_t line;
	for (size_t i = first_frame(p); i < p->n; i++) {
		uint64_t key = function_key(&p->frame[i]), here = line_key(&p->frame[i]);
		if (!hmap_get(lines, key, &line))
			hmap_put(lines, key, here);
		else if (line != here)
			hmap_put(lines, key, MANY);
	}
}

static size_t choose(const struct hmap *lines, const struct finding_place *p)
{
	uint64_t line;
	size_t main = first_frame(p);
	for (size_t i = main; i < p->n; i++)
		if (hmap_get(lines, function_key(&p->frame[i]), &line) && line == MANY)
			return i;
	return main;
}

static void set_function(struct infer_named *named, struct infer_place_type *t,
			 const struct finding_place *p, size_t at)
{
	const struct srcloc_frame *f = &p->frame[at];
	char name[512], line[64];
	if (!f->function && !f->module)
		return;
	snprintf(name, sizeof name, "%s", f->function ? f->function : f->module);
	t->function = infer_named_type(named, name, 0, INFER_BY_FUNCTION, NULL);
	if (f->line)
		snprintf(line, sizeof line, "line %" PRIu32, f->line);
	else
		snprintf(line, sizeof line, "+0x%" PRIx64, f->offset);
	t->call = infer_named_field(named, t->function, line);
	t->context = function_key(f);
	for (size_t i = at + 1; i < p->n; i++)
		t->context = hash_mix(t->context,
				      hash_mix(function_key(&p->frame[i]), line_key(&p->frame[i])));
}

void infer_types_functions(struct infer_named *named, struct infer_place_type *place,
			   const struct finding_place *path, size_t n)
{
	struct hmap lines = { 0 };
	for (size_t i = 0; i < n; i++)
		if (place[i].type == INFER_NO_TYPE)
			note_lines(&lines, &path[i]);
	for (size_t i = 0; i < n; i++)
		if (path[i].n)
			set_function(named, &place[i], &path[i], choose(&lines, &path[i]));
	hmap_free(&lines);
}
