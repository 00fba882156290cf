/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings and sets of them: one per identity. */
#include <stdlib.h>
#include <string.h>

#include "finding/internal.h"

struct finding *finding_new(const struct finding_kind_info *kind)
{
	struct finding *f = xcalloc(1, sizeof *f);
	f->kind = kind;
	f->level = kind->level;
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

static void free_crash(struct finding_crash *crash)
{
	if (!crash)
		return;
	free(crash->verdict);
	free(crash->output);
	free(crash->backtrace);
	free(crash->state);
	free(crash->op.input);
	free(crash->op.name);
	finding_scene_drop(crash->scene);
	free(crash);
}

void finding_uncrash(struct finding *f)
{
	free_crash(f->crash);
	f->crash = NULL;
	f->witness = f->input ? "input" : "trace";
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
	for (size_t i = 0; i < f->paths.n; i++)
		free(f->paths.p[i].place.frame);
	for (size_t i = 0; i < f->why.n; i++)
		free(f->why.p[i].text);
	VEC_FREE(&f->paths);
	VEC_FREE(&f->why);
	VEC_FREE(&f->related);
	VEC_FREE(&f->steps);
	VEC_FREE(&f->stores);
	finding_judge(f, NULL);
	free(f->place.frame);
	free(f->message);
	free(f->advice);
	free(f->data);
	free(f->replay);
	free(f->cause);
	free_crash(f->crash);
	input_free(f->input);
	free(f);
}

void finding_add_path(struct finding *f, const struct finding_place *place, uint64_t count)
{
	size_t i = 0;
	while (i < f->paths.n && !finding_same_path(&f->paths.p[i].place, place, false))
		i++;
	if (i == f->paths.n) {
		struct finding_path new = { finding_place_clone(place), 0 };
		VEC_PUSH(&f->paths, new);
	}
	f->paths.p[i].count += count;
	for (; i && f->paths.p[i].count > f->paths.p[i - 1].count; i--) {
		struct finding_path less = f->paths.p[i - 1];
		f->paths.p[i - 1] = f->paths.p[i];
		f->paths.p[i] = less;
	}
}

void finding_add_why(struct finding *f, const char *row, int weight, char *text)
{
	struct finding_why why = { row, weight, text };
	VEC_PUSH(&f->why, why);
}

int finding_weight(const struct finding *f)
{
	int weight = 0;
	for (size_t i = 0; i < f->why.n; i++)
		weight += f->why.p[i].weight;
	return weight;
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

/* The better example becomes the one that is kept. */
static void swap(struct finding *kept, struct finding *f)
{
	struct finding better = *f;
	memcpy(better.id, kept->id, sizeof better.id);
	better.shape = kept->shape;
	better.after = kept->after;
	better.suppressed = kept->suppressed;
	*f = *kept;
	*kept = better;
}

static void add_input(struct finding_input *kept, const struct finding_input *f)
{
	kept->paths += f->paths;
	if (!kept->path || (f->path && f->path < kept->path))
		kept->path = f->path;
}

/* The two are one: the better example stays, with what both counted. */
static void merge(struct finding *kept, struct finding *f)
{
	if (is_better(f, kept))
		swap(kept, f);
	kept->count += f->count;
	kept->level = f->level < kept->level ? f->level : kept->level;
	for (size_t i = 0; i < f->paths.n; i++)
		finding_add_path(kept, &f->paths.p[i].place, f->paths.p[i].count);
	for (size_t i = 0; i < f->stores.n; i++)
		finding_add_store(kept, f->stores.p[i]);
	if (kept->crash && f->crash) {
		kept->crash->states += f->crash->states;
		kept->crash->recoveries += f->crash->recoveries;
	}
	if (kept->input && f->input)
		add_input(kept->input, f->input);
	finding_free(f);
}

void finding_recall(struct finding *f)
{
	bool by_position;
	uint64_t shape = finding_shape(f, &by_position);
	f->shape = by_position ? shape : strtoull(f->id, NULL, 16);
}

bool finding_same(const struct finding *a, const struct finding *b)
{
	bool by_position;
	if (a->shape != b->shape)
		return false;
	(void)finding_shape(a, &by_position);
	return !by_position || position_of(a) == position_of(b);
}

static uint64_t file_hash(const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	const char *file = at ? finding_basename(at->file) : NULL;
	return file ? hash_bytes(file, strlen(file)) : 0;
}

/* The same statement in a function of the same name, of another file. */
static bool in_other_file(const struct finding *a, const struct finding *b)
{
	return file_hash(a) != file_hash(b);
}

struct finding *finding_add(struct finding_set *set, struct finding *f)
{
	bool by_position;
	uint64_t old = 0;
	if (!f->paths.n && f->place.n)
		finding_add_path(f, &f->place, f->count);
	f->shape = finding_shape(f, &by_position);
	f->position = by_position ? position_of(f) : 0;
	f->after = NULL;
	uint64_t key = by_position ? hash_mix(f->shape, f->position + 1) : f->shape;
	if (!by_position && hmap_get(&set->by_shape, key, &old) &&
	    in_other_file((struct finding *)(uintptr_t)old, f))
		key = f->shape = hash_mix(f->shape, file_hash(f));
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
	int order = (int)f->f->level - (int)g->f->level;
	if (!order)
		order = (g->f->crash != NULL) - (f->f->crash != NULL);
	if (!order)
		order = finding_weight(g->f) - finding_weight(f->f);
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
		n += !set->v.p[i]->suppressed && set->v.p[i]->level == level;
	return n;
}

size_t finding_suppressed(const struct finding_set *set)
{
	size_t n = 0;
	for (size_t i = 0; i < set->v.n; i++)
		n += set->v.p[i]->suppressed;
	return n;
}
