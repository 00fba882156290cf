/* SPDX-License-Identifier: BSD-3-Clause */
/* Types as DWARF has them: names, sizes, members. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

#define MAX_HOPS 32 /* of typedefs, qualifiers and nested structs */

static const Dwarf_Die none;

bool srcloc_die_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	*type = none;
	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

static bool is_layer(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

Dwarf_Die srcloc_die_peel(Dwarf_Die type)
{
	for (int i = 0; type.addr && i < MAX_HOPS && is_layer(dwarf_tag(&type)); i++) {
		Dwarf_Die next;
		srcloc_die_of(&type, &next);
		type = next;
	}
	return type;
}

bool srcloc_die_is_struct(Dwarf_Die *peeled)
{
	int tag = peeled->addr ? dwarf_tag(peeled) : 0;
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

uint64_t srcloc_die_size(Dwarf_Die *type)
{
	Dwarf_Word size;
	return type->addr && !dwarf_aggregate_size(type, &size) ? size : 0;
}

static bool is_array(Dwarf_Die *peeled)
{
	return peeled->addr && dwarf_tag(peeled) == DW_TAG_array_type;
}

/* The number of elements in one dimension; 0: int x[]. */
static uint64_t dimension(Dwarf_Die *range)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;
	if (dwarf_attr(range, DW_AT_count, &attr) && !dwarf_formudata(&attr, &n))
		return n;
	if (dwarf_attr(range, DW_AT_upper_bound, &attr) && !dwarf_formudata(&attr, &n))
		return n + 1;
	return 0;
}

unsigned srcloc_die_dimensions(Dwarf_Die *array, uint64_t n[TYPE_DIMENSIONS])
{
	Dwarf_Die range;
	unsigned dims = 0;
	if (!is_array(array) || dwarf_child(array, &range))
		return 0;
	do {
		if (dwarf_tag(&range) == DW_TAG_subrange_type && dims < TYPE_DIMENSIONS)
			n[dims++] = dimension(&range);
	} while (!dwarf_siblingof(&range, &range));
	return dims;
}

uint64_t srcloc_die_count(Dwarf_Die *array)
{
	uint64_t n[TYPE_DIMENSIONS], all = 1;
	unsigned dims = srcloc_die_dimensions(array, n);
	for (unsigned i = 0; i < dims; i++)
		all *= n[i];
	return dims ? all : 0;
}

/* ---- names ---- */

static void add_dimensions(Dwarf_Die *array, struct buf *b)
{
	uint64_t n[TYPE_DIMENSIONS];
	unsigned dims = srcloc_die_dimensions(array, n);
	for (unsigned i = 0; i < dims; i++)
		buf_printf(b, n[i] ? "[%llu]" : "[]", (unsigned long long)n[i]);
}

static void add_name(Dwarf_Die type, struct buf *b, int depth)
{
	Dwarf_Die next = type;
	const char *name = type.addr ? dwarf_diename(&type) : "void";
	int tag = type.addr ? dwarf_tag(&type) : 0;
	if (depth > MAX_HOPS)
		return;
	switch (tag) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_array_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
		srcloc_die_of(&type, &next);
		add_name(next, b, depth + 1);
		break;
	case DW_TAG_structure_type: buf_puts(b, "struct "); break;
	case DW_TAG_union_type: buf_puts(b, "union "); break;
	case DW_TAG_enumeration_type: buf_puts(b, "enum "); break;
	case DW_TAG_subroutine_type: buf_puts(b, "function"); return;
	default: break;
	}
	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type)
		buf_puts(b, b->n && b->p[b->n - 1] == '*' ? "*"
			    : tag == DW_TAG_pointer_type  ? " *"
							  : " &");
	else if (tag == DW_TAG_array_type)
		add_dimensions(&type, b);
	else if (next.addr == type.addr)
		buf_puts(b, name ? name : "{…}");
}

const char *srcloc_die_name(struct object *obj, Dwarf_Die type, unsigned stars)
{
	struct buf b = { 0 };
	add_name(type, &b, 0);
	for (unsigned i = 0; i < stars; i++)
		buf_puts(&b, b.n && b.p[b.n - 1] == '*' ? "*" : " *");
	buf_add(&b, "", 1);
	const char *kept = srcloc_pool_add(&obj->store->pool, b.p);
	buf_free(&b);
	return kept;
}

/* ---- encodings ---- */

static enum srcloc_encoding base_encoding(Dwarf_Die *base)
{
	Dwarf_Attribute attr;
	Dwarf_Word ate = 0;
	const char *name = dwarf_diename(base);
	if (!dwarf_attr(base, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &ate))
		return SRCLOC_OTHER;
	switch (ate) {
	case DW_ATE_boolean: return SRCLOC_BOOL;
	case DW_ATE_float: return SRCLOC_FLOAT;
	case DW_ATE_signed: return SRCLOC_SIGNED;
	case DW_ATE_unsigned: return SRCLOC_UNSIGNED;
	case DW_ATE_UTF: return SRCLOC_CHAR;
	case DW_ATE_signed_char: /* "signed char" is a small number: int8_t */
		return name && !strcmp(name, "char") ? SRCLOC_CHAR : SRCLOC_SIGNED;
	case DW_ATE_unsigned_char:
		return name && !strcmp(name, "char") ? SRCLOC_CHAR : SRCLOC_UNSIGNED;
	default: return SRCLOC_OTHER;
	}
}

enum srcloc_encoding srcloc_die_encoding(Dwarf_Die type)
{
	Dwarf_Die next;
	type = srcloc_die_peel(type);
	switch (type.addr ? dwarf_tag(&type) : 0) {
	case DW_TAG_base_type: return base_encoding(&type);
	case DW_TAG_enumeration_type: return SRCLOC_ENUM;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type: return SRCLOC_POINTER;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type: return SRCLOC_STRUCT;
	case DW_TAG_array_type:
		srcloc_die_of(&type, &next);
		return srcloc_die_encoding(next) == SRCLOC_CHAR ? SRCLOC_CHAR : SRCLOC_ARRAY;
	default: return SRCLOC_OTHER;
	}
}

/* ---- members ---- */

/* Offset of a member or base class; older compilers say it as an expression. */
static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	Dwarf_Op *op;
	size_t n;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr) && !dwarf_formudata(&attr, &offset))
		return offset / 8;
	if (!dwarf_attr(member, DW_AT_data_member_location, &attr))
		return 0; /* of a union */
	if (!dwarf_formudata(&attr, &offset))
		return offset;
	if (!dwarf_getlocation(&attr, &op, &n) && n == 1 && op->atom == DW_OP_plus_uconst)
		return op->number;
	return 0;
}

static bool is_word(const char *name, struct word word)
{
	return name && strlen(name) == word.n && !memcmp(name, word.p, word.n);
}

static bool member_at(Dwarf_Die *peeled, struct word name, Dwarf_Die *type, uint64_t *offset,
		      int depth)
{
	Dwarf_Die child, inner;
	if (depth > MAX_HOPS || !srcloc_die_is_struct(peeled) || dwarf_child(peeled, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		uint64_t at = *offset + member_offset(&child);
		if (tag == DW_TAG_member && is_word(dwarf_diename(&child), name)) {
			*offset = at;
			srcloc_die_of(&child, type);
			return true;
		}
		if (tag == DW_TAG_member && dwarf_diename(&child))
			continue;
		srcloc_die_of(&child, &inner);
		inner = srcloc_die_peel(inner);
		if (member_at(&inner, name, type, &at, depth + 1)) {
			*offset = at;
			return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

bool srcloc_die_member(Dwarf_Die *peeled, struct word name, Dwarf_Die *type, uint64_t *offset)
{
	return member_at(peeled, name, type, offset, 0);
}

const struct srcloc_type *srcloc_cached_type(struct object *obj, Dwarf_Die die)
{
	struct store *store = obj->store;
	uint64_t old;
	if (hmap_get(&store->type_at, (uintptr_t)die.addr, &old))
		return (struct srcloc_type *)(uintptr_t)old;
	struct srcloc_type *t = xcalloc(1, sizeof *t);
	*t = (struct srcloc_type){ obj, die };
	VEC_PUSH(&store->types, t);
	hmap_put(&store->type_at, (uintptr_t)die.addr, (uintptr_t)t);
	return t;
}

const char *srcloc_type_name(const struct srcloc_type *t)
{
	return srcloc_die_name(t->obj, t->die, 0);
}

uint64_t srcloc_type_size(const struct srcloc_type *t)
{
	Dwarf_Die die = t->die;
	return srcloc_die_size(&die);
}

/* ---- all members in a range ---- */

struct walk {
	const struct srcloc_type *type;
	uint64_t from, to;
	struct srcloc_lvalue *out;
	size_t max, n;
	struct buf path;
};

static void walk_type(struct walk *w, Dwarf_Die type, uint64_t at, int depth);

static void walk_leaf(struct walk *w, Dwarf_Die type, uint64_t at)
{
	struct object *obj = w->type->obj;
	if (w->n < w->max) {
		buf_add(&w->path, "", 1);
		w->out[w->n] = (struct srcloc_lvalue){
			.type = srcloc_type_name(w->type),
			.member = srcloc_pool_add(&obj->store->pool, w->path.p),
			.member_type = srcloc_die_name(obj, type, 0),
			.offset = at,
			.size = srcloc_die_size(&type),
			.encoding = srcloc_die_encoding(type),
			.in = w->type,
		};
		w->path.n--;
	}
	w->n++;
}

/* "[1][4]" for the ninth of x[3][5] */
static void add_subscripts(struct buf *b, Dwarf_Die *array, uint64_t index)
{
	uint64_t n[TYPE_DIMENSIONS], below = 1;
	unsigned dims = srcloc_die_dimensions(array, n);
	for (unsigned i = 1; i < dims; i++)
		below *= n[i] ? n[i] : 1;
	for (unsigned i = 0; i < dims; i++) {
		buf_printf(b, "[%llu]", (unsigned long long)(index / below));
		index %= below;
		if (i + 1 < dims)
			below /= n[i + 1] ? n[i + 1] : 1;
	}
}

static void walk_array(struct walk *w, Dwarf_Die *array, uint64_t at, int depth)
{
	Dwarf_Die element;
	size_t before = w->path.n;
	uint64_t count = srcloc_die_count(array), first, last;
	srcloc_die_of(array, &element);
	uint64_t size = srcloc_die_size(&element);
	if (!size)
		return;
	/* int x[] goes on as far as anybody asks */
	first = w->from > at ? (w->from - at) / size : 0;
	last = w->to > at ? (w->to - at + size - 1) / size : 0;
	if (count && last > count)
		last = count;
	for (uint64_t i = first; i < last; i++) {
		add_subscripts(&w->path, array, i);
		walk_type(w, element, at + i * size, depth + 1);
		w->path.n = before;
	}
}

static void walk_struct(struct walk *w, Dwarf_Die *peeled, uint64_t at, int depth)
{
	Dwarf_Die child, type;
	size_t before = w->path.n;
	if (dwarf_child(peeled, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		Dwarf_Attribute attr;
		const char *name = tag == DW_TAG_member ? dwarf_diename(&child) : NULL;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_attr(&child, DW_AT_external, &attr)) /* static */
			continue;
		if (name)
			buf_printf(&w->path, "%s%s", before ? "." : "", name);
		srcloc_die_of(&child, &type);
		walk_type(w, type, at + member_offset(&child), depth + 1);
		w->path.n = before;
	} while (!dwarf_siblingof(&child, &child));
}

static void walk_type(struct walk *w, Dwarf_Die type, uint64_t at, int depth)
{
	Dwarf_Die peeled = srcloc_die_peel(type);
	uint64_t size = srcloc_die_size(&peeled);
	/* int x[] as the last member goes beyond its struct */
	bool open_end = !depth || (is_array(&peeled) && !srcloc_die_count(&peeled));

	if (depth > MAX_HOPS || at >= w->to || (!open_end && at + size <= w->from))
		return;
	if (srcloc_die_is_struct(&peeled))
		walk_struct(w, &peeled, at, depth);
	else if (is_array(&peeled) && (open_end || srcloc_die_encoding(peeled) != SRCLOC_CHAR))
		walk_array(w, &peeled, at, depth);
	else
		walk_leaf(w, type, at);
}

size_t srcloc_members(const struct srcloc_type *type, uint64_t from, uint64_t to,
		      struct srcloc_lvalue *out, size_t max)
{
	struct walk w = { .type = type, .from = from, .to = to, .out = out, .max = max };
	walk_type(&w, type->die, 0, 0);
	buf_free(&w.path);
	return w.n;
}

/* ---- structs in a struct ---- */

/* The member that lies at an offset, which becomes one in it; false: none does. */
static bool member_around(Dwarf_Die *peeled, Dwarf_Die *type, uint64_t *offset)
{
	Dwarf_Die child;
	if (dwarf_child(peeled, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		Dwarf_Attribute attr;
		uint64_t at;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_attr(&child, DW_AT_external, &attr))
			continue;
		at = member_offset(&child);
		srcloc_die_of(&child, type);
		if (*offset >= at && *offset - at < srcloc_die_size(type)) {
			*offset -= at;
			return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

size_t srcloc_structs(const struct srcloc_type *type, uint64_t offset, struct srcloc_inner *out,
		      size_t max)
{
	Dwarf_Die at = srcloc_die_peel(type->die), member;
	uint64_t left = offset, size;
	size_t n = 0;
	for (int hops = 0; hops < MAX_HOPS && n < max; hops++) {
		if (is_array(&at)) {
			srcloc_die_of(&at, &member);
			size = srcloc_die_size(&member);
			if (!size)
				break;
			left %= size;
		} else if (!srcloc_die_is_struct(&at) || !member_around(&at, &member, &left)) {
			break;
		}
		at = srcloc_die_peel(member);
		if (srcloc_die_is_struct(&at) && dwarf_diename(&member))
			out[n++] = (struct srcloc_inner){ srcloc_cached_type(type->obj, member),
							  offset - left };
	}
	return n;
}
