/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings and sets of them: one per identity. */
#include <stdlib.h>
#include <string.h>

#include "finding/internal.h"

struct finding *finding_new(const struct finding_kind_info *kind)
{
	struct finding *f = xcalloc(1, sizeof *f);

	f->kind = kind;
	f->count = 1;
	f->witness = "trace";
	return f;
}

struct finding_crash *finding_crash(struct finding *f)
{
	if (!f->crash)
		f->crash = xcalloc(1, sizeof *f->crash);
	f->witness = "crash";
	return f->crash;
}

struct finding_input *finding_input(struct finding *f)
{
	if (!f->input) {
		f->input = xcalloc(1, sizeof *f->input);
		f->input->paths = 1;
	}
	if (!f->crash)
		f->witness = "input";
	return f->input;
}

static void input_free(struct finding_input *input)
{
	if (!input)
		return;
	free(input->text);
	free(input->folder);
	free(input->backtrace);
	free(input);
}

static void crash_free(struct finding_crash *crash)
{
	if (!crash)
		return;
	free(crash->verdict);
	free(crash->output);
	free(crash->backtrace);
	free(crash->state);
	free(crash);
}

void finding_free(struct finding *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->related.n; i++) {
		free(f->related.p[i].message);
		free(f->related.p[i].place.frame);
	}
	for (size_t i = 0; i < f->steps.n; i++)
		free(f->steps.p[i].text);
	VEC_FREE(&f->related);
	VEC_FREE(&f->steps);
	free(f->place.frame);
	free(f->message);
	free(f->advice);
	free(f->data);
	free(f->replay);
	free(f->cause);
	crash_free(f->crash);
	input_free(f->input);
	free(f);
}

/* Where a finding without readable source is, for its order: the line if it is known. */
static uint64_t position_of(const struct finding *f)
{
	const struct srcloc_frame *main_frame = finding_main_frame(&f->place);

	if (!main_frame)
		return 0;
	return main_frame->file && main_frame->line ? main_frame->line : main_frame->offset;
}

static void set_id(struct finding *f, uint64_t identity)
{
	snprintf(f->id, sizeof f->id, "%016llx", (unsigned long long)identity);
}

/*
 * Findings of one shape, told apart by where they are: the identity is the rank of that. They
 * are a list, sorted by position; those behind the added one get a new number.
 */
static void number_by_position(struct finding_set *set, struct finding *added)
{
	struct finding *before = NULL, *f = NULL;
	uint64_t rank = 0, first;

	if (hmap_get(&set->first, added->shape, &first))
		f = (struct finding *)(uintptr_t)first;
	for (; f && f->position < added->position; f = f->after, rank++)
		before = f;
	added->after = f;
	if (before)
		before->after = added;
	else
		hmap_put(&set->first, added->shape, (uintptr_t)added);
	for (f = added; f; f = f->after)
		set_id(f, hash_mix(f->shape, rank++));
}

static bool is_better(const struct finding *f, const struct finding *kept)
{
	if (f->input && kept->input && f->input->rank != kept->input->rank)
		return f->input->rank < kept->input->rank;
	return f->event < kept->event;
}

/* The two are one: the better example stays, with both counts. */
static void merge(struct finding *kept, struct finding *f)
{
	uint64_t count = kept->count + f->count;
	uint64_t paths = (kept->input ? kept->input->paths : 0) + (f->input ? f->input->paths : 0);
	uint64_t first = kept->input ? kept->input->path : 0;

	if (f->input && (!first || f->input->path < first))
		first = f->input->path;

	if (is_better(f, kept)) {
		struct finding earlier = *f;
		memcpy(earlier.id, kept->id, sizeof earlier.id);
		earlier.shape = kept->shape;
		earlier.after = kept->after;
		earlier.suppressed = kept->suppressed;
		*f = *kept;
		*kept = earlier;
	}
	kept->count = count;
	if (kept->crash && f->crash) {
		kept->crash->states += f->crash->states;
		kept->crash->recoveries += f->crash->recoveries;
	}
	if (kept->input) {
		kept->input->paths = paths;
		kept->input->path = first;
	}
	finding_free(f);
}

bool finding_same(const struct finding *a, const struct finding *b)
{
	bool by_position;

	if (a->shape != b->shape)
		return false;
	(void)finding_shape(a, &by_position);
	return !by_position || position_of(a) == position_of(b);
}

struct finding *finding_add(struct finding_set *set, struct finding *f)
{
	bool by_position;
	uint64_t old = 0;

	f->shape = finding_shape(f, &by_position);
	f->position = by_position ? position_of(f) : 0;
	f->after = NULL;
	uint64_t key = by_position ? hash_mix(f->shape, f->position + 1) : f->shape;
	if (hmap_get(&set->by_shape, key, &old)) {
		merge((struct finding *)(uintptr_t)old, f);
		return (struct finding *)(uintptr_t)old;
	}
	VEC_PUSH(&set->v, f);
	hmap_put(&set->by_shape, key, (uintptr_t)f);
	if (by_position)
		number_by_position(set, f);
	else
		set_id(f, f->shape);
	return f;
}

/* A finding with its main frame, which is not cheap to find. */
struct sorted {
	struct finding *f;
	const struct srcloc_frame *at;
};

static int compare(const void *a, const void *b)
{
	static const struct srcloc_frame nowhere;
	const struct sorted *f = a, *g = b;
	const struct srcloc_frame *x = f->at ? f->at : &nowhere, *y = g->at ? g->at : &nowhere;
	int order = (int)f->f->kind->level - (int)g->f->kind->level;

	if (!order) /* without source: last */
		order = strcmp(x->file ? x->file : "\x7f", y->file ? y->file : "\x7f");
	if (!order && x->line != y->line)
		order = x->line < y->line ? -1 : 1;
	if (!order)
		order = strcmp(f->f->kind->name, g->f->kind->name);
	return order ? order : strcmp(f->f->id, g->f->id);
}

void finding_sort(struct finding_set *set)
{
	struct sorted *all = xcalloc(set->v.n + 1, sizeof *all);

	for (size_t i = 0; i < set->v.n; i++)
		all[i] = (struct sorted){ set->v.p[i], finding_main_frame(&set->v.p[i]->place) };
	qsort(all, set->v.n, sizeof *all, compare);
	for (size_t i = 0; i < set->v.n; i++)
		set->v.p[i] = all[i].f;
	free(all);
}

void finding_set_free(struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++)
		finding_free(set->v.p[i]);
	VEC_FREE(&set->v);
	hmap_free(&set->by_shape);
	hmap_free(&set->first);
}

size_t finding_count(const struct finding_set *set, enum finding_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < set->v.n; i++)
		n += !set->v.p[i]->suppressed && set->v.p[i]->kind->level == level;
	return n;
}

size_t finding_suppressed(const struct finding_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->v.n; i++)
		n += set->v.p[i]->suppressed;
	return n;
}
