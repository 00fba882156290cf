/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What objects the updates of a run are to: a ladder, whose rows are tried from the best evidence to the weakest.
 *
 *	lvalue     "n->next = x;"          a struct node, whose next is at offset 8, lies 8 bytes before what was stored to
 *	overlap    memcpy(p, q, 16);       … to bytes of an object that another statement has shown
 *	allocation what lies in an object that libpmemobj was asked for
 *	function   what a function stores  its lines are the fields
 *	site       what an instruction stores, by the offset in the line
 *
 * An update that has a type by one of the first two rows is also part of the largest object around it: structs in
 * structs count for themselves, and as parts.
 *
 * A statement may store more than one update to an object (memset, a copy of a struct). Those that follow each other
 * from one statement, within the size of what it assigns to, are a *burst*, and the lowest address of it is where
 * that begins.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "infer/behaviour.h"

#define KNOWN_FIELDS 4096u
#define MOST_BURST 4096u /* updates */
#define OFFSET                                                                                     \
	((1ull << MODEL_FILE_SHIFT) - 1) /* the part of a byte's number that is not its file */

/* ---- names ---- */

uint32_t infer_named_type(struct infer_named *n, const char *name, uint64_t size,
			  enum infer_typing_row row, const struct srcloc_type *in)
{
	uint64_t key = hash_seeded(name, strlen(name), hash_mix(size, in != NULL)), at;
	if (hmap_get(&n->type_at, key, &at))
		return (uint32_t)at;
	hmap_put(&n->type_at, key, n->type.n);
	VEC_PUSH(&n->type,
		 ((struct infer_type){ .name = xstrdup(name), .size = size, .typing = row }));
	VEC_PUSH(&n->in, in);
	return (uint32_t)n->type.n - 1;
}

uint32_t infer_named_field(struct infer_named *n, uint32_t type, const char *name)
{
	uint64_t key = hash_seeded(name, strlen(name), type), at;
	if (hmap_get(&n->field_at, key, &at))
		return (uint32_t)at;
	hmap_put(&n->field_at, key, n->field.n);
	VEC_PUSH(&n->field, ((struct infer_field){ .name = xstrdup(name), .type = type }));
	return (uint32_t)n->field.n - 1;
}

void infer_named_free(struct infer_named *n)
{
	for (size_t i = 0; i < n->type.n; i++)
		free((char *)n->type.p[i].name);
	for (size_t i = 0; i < n->field.n; i++)
		free((char *)n->field.p[i].name);
	VEC_FREE(&n->type);
	VEC_FREE(&n->field);
	VEC_FREE(&n->in);
	hmap_free(&n->type_at);
	hmap_free(&n->field_at);
}

/* "slot[2].key": "slot[].key", for which element it is does not matter. */
static void forget_indices(const char *member, char *out, size_t size)
{
	size_t n = 0;
	bool inside = false;
	for (; *member && n + 1 < size; member++) {
		if (*member == ']')
			inside = false;
		if (!inside)
			out[n++] = *member;
		if (*member == '[')
			inside = true;
	}
	out[n] = '\0';
}

static void find_inner(struct infer_typer *t, struct infer_known_field *k)
{
	struct srcloc_inner inner[INFER_MOST_INNER];
	const struct srcloc_type *in = t->named->in.p[k->type - 1];
	k->inners = (unsigned)srcloc_structs(in, k->offset, inner, INFER_MOST_INNER);
	for (unsigned i = 0; i < k->inners; i++) {
		k->inner[i].offset = inner[i].offset;
		k->inner[i].type = infer_named_type(t->named, srcloc_type_name(inner[i].type),
						    srcloc_type_size(inner[i].type),
						    INFER_BY_LVALUE, inner[i].type);
	}
}

/* The field of a type at an offset. */
static const struct infer_known_field *field_at(struct infer_typer *t, uint32_t type,
						uint64_t offset)
{
	struct infer_known_field *k = &t->known[hash_mix(offset, type) % KNOWN_FIELDS];
	struct srcloc_lvalue lv;
	char name[256];
	if (k->type == type + 1 && k->offset == offset)
		return k;
	if (srcloc_members(t->named->in.p[type], offset, offset + 1, &lv, 1))
		forget_indices(lv.member, name, sizeof name);
	else
		snprintf(name, sizeof name, "+0x%" PRIx64, offset);
	*k = (struct infer_known_field){ .offset = offset,
					 .type = type + 1,
					 .field = infer_named_field(t->named, type, name) };
	find_inner(t, k);
	return k;
}

/* ---- places ---- */

static void ask_lvalue(struct infer_named *named, struct srcloc_trace *src,
		       const struct srcloc_frame *f, struct infer_place_type *out)
{
	struct srcloc_lvalue lv = { 0 };
	const char *text = f->file ? finding_source_line(f->file, f->line) : NULL;
	if (!text || !srcloc_trace_lvalue(src, f, text, &lv) || !lv.in)
		return;
	uint64_t size = srcloc_type_size(lv.in);
	if (!size) /* only declared: what is behind it is somebody else's */
		return;
	out->type = infer_named_type(named, lv.type, size, INFER_BY_LVALUE, lv.in);
	out->offset = lv.offset;
	out->size = lv.size;
	out->fixed = !lv.elements;
}

/* libpmemobj is part of the path. */
static bool allocates(const struct finding_place *path)
{
	for (size_t i = 0; i < path->n; i++)
		if (path->frame[i].module && strstr(path->frame[i].module, "/libpmemobj.so"))
			return true;
	return false;
}

static void ask_places(struct infer_typer *t, const struct trace_defs *defs,
		       struct srcloc_trace *src)
{
	const struct infer_updates *u = t->u;
	struct infer_where *where = xcalloc(u->places + 1, sizeof *where);
	struct hmap statements = { 0 };
	for (size_t i = 0; i < u->places; i++)
		where[i] = (struct infer_where){
			u->place[i].process, u->place[i].site, u->place[i].ctx, 0, true,
			u->place[i].ip
		};
	struct finding_place *path = src ? infer_paths(where, u->places, defs, src)
					 : xcalloc(u->places + 1, sizeof *path);
	for (size_t i = 0; i < u->places; i++) {
		const struct srcloc_frame *f = path[i].n ? finding_main_frame(&path[i]) : NULL;
		uint64_t key = f && f->file ? hash_seeded(f->file, strlen(f->file), f->line)
					    : hash_mix(where[i].ip, where[i].process);
		uint64_t at = statements.n;
		if (!hmap_get(&statements, key, &at))
			hmap_put(&statements, key, at);
		t->place[i].statement = (uint32_t)at;
		t->allocates = t->allocates || allocates(&path[i]);
		if (f)
			ask_lvalue(t->named, src, f, &t->place[i]);
	}
	infer_types_functions(t->named, t->place, path, u->places);
	for (size_t i = 0; i < u->places; i++)
		free(path[i].frame);
	free(path);
	free(where);
	hmap_free(&statements);
}

/* ---- bursts ---- */

static void find_burst(struct infer_typer *t, size_t i, const struct infer_update *first)
{
	const struct infer_place_type *p = &t->place[first->place];
	uint64_t low = first->byte, high = first->byte + first->len;
	struct infer_update u;
	size_t k = i + 1;
	for (; k < t->u->n && k - i < MOST_BURST; k++) {
		uint64_t l, h;
		t->u->at(t->u->arg, k, &u);
		l = u.byte < low ? u.byte : low;
		h = u.byte + u.len > high ? u.byte + u.len : high;
		if (t->place[u.place].statement != p->statement ||
		    (p->size ? h - l > p->size : u.byte + u.len < low || u.byte > high))
			break;
		low = l;
		high = h;
	}
	t->burst = (struct burst){ i, k, low };
}

/* Where the object of a place with a type begins. False: in no file. */
static bool object_of(struct infer_typer *t, size_t i, const struct infer_update *u,
		      struct infer_object *out)
{
	const struct infer_place_type *p = &t->place[u->place];
	uint64_t low = u->byte, size = t->named->type.p[p->type].size;
	if (p->size == 0 || p->size > u->len) {
		if (i < t->burst.from || i >= t->burst.to)
			find_burst(t, i, u);
		low = t->burst.low;
	}
	if ((low & OFFSET) < p->offset)
		return false;
	*out = (struct infer_object){ low - p->offset, low - p->offset + size, p->type, 0 };
	return true;
}

/* ---- the ladder ---- */

typedef bool row_fn(struct infer_typer *, size_t i, const struct infer_update *,
		    struct infer_part *);

static bool by_lvalue(struct infer_typer *t, size_t i, const struct infer_update *u,
		      struct infer_part *out)
{
	const struct infer_place_type *p = &t->place[u->place];
	const struct infer_object *around = infer_objects_around(&t->objects, u->byte);
	struct infer_object o;
	if (p->type == INFER_NO_TYPE || !p->fixed || !object_of(t, i, u, &o))
		return false;
	if (around && around->type == o.type && around->base != o.base)
		return false; /* "n->a = n->b = 0;" stores to both */
	*out = (struct infer_part){ o.type, field_at(t, o.type, u->byte - o.base)->field, o.base };
	return true;
}

static bool by_overlap(struct infer_typer *t, size_t i, const struct infer_update *u,
		       struct infer_part *out)
{
	const struct infer_object *o = infer_objects_around(&t->objects, u->byte);
	(void)i;
	if (!o)
		return false;
	*out = (struct infer_part){ o->type, field_at(t, o->type, u->byte - o->base)->field,
				    o->base };
	return true;
}

/* A field by its offset, where nobody knows its name */
static uint32_t field_by_offset(struct infer_typer *t, uint32_t type, uint64_t offset)
{
	struct infer_known_field *k = &t->known[hash_mix(offset, type) % KNOWN_FIELDS];
	char name[64];
	if (k->type == type + 1 && k->offset == offset)
		return k->field;
	snprintf(name, sizeof name, "+0x%" PRIx64, offset);
	*k = (struct infer_known_field){ .offset = offset,
					 .type = type + 1,
					 .field = infer_named_field(t->named, type, name) };
	return k->field;
}

static bool by_allocation(struct infer_typer *t, size_t i, const struct infer_update *u,
			  struct infer_part *out)
{
	const struct infer_object *o = infer_objects_around(&t->allocations, u->byte);
	(void)i;
	if (!o)
		return false;
	*out = (struct infer_part){ o->type, field_by_offset(t, o->type, u->byte - o->base),
				    o->base };
	return true;
}

static bool by_function(struct infer_typer *t, size_t i, const struct infer_update *u,
			struct infer_part *out)
{
	const struct infer_place_type *p = &t->place[u->place];
	(void)i;
	if (p->function == INFER_NO_TYPE)
		return false;
	*out = (struct infer_part){ p->function, p->call, hash_mix(p->context, u->thread) };
	return true;
}

static bool by_site(struct infer_typer *t, size_t i, const struct infer_update *u,
		    struct infer_part *out)
{
	struct infer_place_type *p = &t->place[u->place];
	uint64_t word = u->byte % TRACE_LINE / INFER_WORD;
	struct infer_known_field *k;
	char name[64];
	(void)i;
	if (p->site == INFER_NO_TYPE) {
		const struct infer_place *at = &t->u->place[u->place];
		snprintf(name, sizeof name, "context %" PRIu32 " of process %" PRIu32, at->ctx,
			 at->process);
		p->site = infer_named_type(t->named, name, 0, INFER_BY_SITE, NULL);
	}
	k = &t->known[hash_mix(word, u->place) % KNOWN_FIELDS];
	if (k->type != p->site + 1 || k->offset != ((uint64_t)u->place << 8 | word)) {
		snprintf(name, sizeof name, "0x%" PRIx64 " at +%" PRIu64, t->u->place[u->place].ip,
			 word * INFER_WORD);
		*k = (struct infer_known_field){ .offset = (uint64_t)u->place << 8 | word,
						 .type = p->site + 1,
						 .field = infer_named_field(t->named, p->site,
									    name) };
	}
	*out = (struct infer_part){ p->site, k->field, u->byte - u->byte % TRACE_LINE };
	return true;
}

static const struct row {
	struct infer_typing info;
	row_fn *find;
} ladder[] = {
	[INFER_BY_LVALUE] = { { "lvalue", "what the statement assigns to" }, by_lvalue },
	[INFER_BY_OVERLAP] = { { "overlap", "bytes of an object that another statement shows" },
			       by_overlap },
	[INFER_BY_ALLOCATION] = { { "allocation", "an object that libpmemobj was asked for" },
				  by_allocation },
	[INFER_BY_FUNCTION] = { { "function", "what a function stores, by its lines" },
				by_function },
	[INFER_BY_SITE] = { { "site", "the instruction, and the offset in the line" }, by_site },
};

const struct infer_typing *infer_typing_at(size_t i)
{
	return i < INFER_TYPINGS ? &ladder[i].info : NULL;
}

/* ---- all updates ---- */

void infer_typer_init(struct infer_typer *t, const struct infer_updates *u,
		      struct infer_named *named, struct trace_reader *trace,
		      struct srcloc_trace *src)
{
	struct infer_update update;
	struct infer_object o;
	*t = (struct infer_typer){ .u = u, .named = named };
	t->place = xcalloc(u->places + 1, sizeof *t->place);
	t->known = xcalloc(KNOWN_FIELDS, sizeof *t->known);
	for (size_t i = 0; i < u->places; i++)
		t->place[i].type = t->place[i].function = t->place[i].site = INFER_NO_TYPE;
	ask_places(t, trace_defs(trace), src);
	if (t->allocates)
		infer_types_allocations(t, trace);
	for (size_t i = 0; src && i < u->n; i++) {
		u->at(u->arg, i, &update);
		const struct infer_place_type *p = &t->place[update.place];
		if (update.len && p->type != INFER_NO_TYPE && p->fixed &&
		    object_of(t, i, &update, &o))
			infer_objects_add(&t->objects, o);
	}
	infer_objects_sort(&t->objects, named);
	t->burst = (struct burst){ 0 };
}

/* The structs in the first n objects that the update lies in. */
static size_t add_inner(struct infer_typer *t, uint64_t byte, struct infer_part *out, size_t n)
{
	size_t all = n;
	for (size_t i = 0; i < n; i++) {
		struct infer_known_field k = *field_at(t, out[i].type, byte - out[i].base);
		for (unsigned j = 0; j < k.inners; j++) {
			uint64_t base = out[i].base + k.inner[j].offset;
			size_t same = 0;
			while (same < all &&
			       (out[same].type != k.inner[j].type || out[same].base != base))
				same++;
			if (same < all)
				continue;
			out[all++] = (struct infer_part){
				k.inner[j].type, field_at(t, k.inner[j].type, byte - base)->field,
				base
			};
		}
	}
	return all;
}

size_t infer_typer_at(struct infer_typer *t, size_t i, struct infer_update *u,
		      struct infer_part out[INFER_MOST_PARTS])
{
	size_t n = 1, row = 0;
	t->u->at(t->u->arg, i, u);
	if (!u->len)
		return 0;
	while (!ladder[row].find(t, i, u, &out[0]))
		row++;
	t->typed[row]++;
	if (row == INFER_BY_LVALUE && by_overlap(t, i, u, &out[1]))
		n += out[1].type != out[0].type || out[1].base != out[0].base;
	if (row <= INFER_BY_OVERLAP)
		n = add_inner(t, u->byte, out, n);
	for (size_t k = 0; k < n; k++) {
		t->named->type.p[out[k].type].updates++;
		t->named->field.p[out[k].field].updates++;
	}
	return n;
}

void infer_typer_free(struct infer_typer *t)
{
	infer_objects_free(&t->objects);
	infer_objects_free(&t->allocations);
	free(t->place);
	free(t->known);
}
