/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a function takes, judged by the types of its parameters alone.
 *
 * A function that is handed a range of memory of no particular type works on whatever its callers
 * have; one that is handed an object of the program belongs to that object. Names play no part.
 */
#include <dwarf.h>

#include "srcloc/internal.h"

#define MAX_HOPS 32
#define MAX_PARAMETERS 8

enum parameter { OTHER, NUMBER, SIZE, RANGE, CONST_RANGE, OBJECT };

/* The DIE that lists the parameters: an inlined call and a clone lack those that are not used. */
static Dwarf_Die origin_of(Dwarf_Die die)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;
	for (int i = 0; i < MAX_HOPS; i++) {
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attr) ||
		    !dwarf_formref_die(&attr, &next))
			break;
		die = next;
	}
	return die;
}

/* The type is one that the function, a template, was instantiated with. */
static bool is_template_argument(Dwarf_Die *fn, Dwarf_Die *type)
{
	Dwarf_Die child, is;
	if (dwarf_child(fn, &child))
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_template_type_parameter ||
		    !srcloc_die_of(&child, &is))
			continue;
		is = srcloc_die_peel(is);
		if (is.addr == type->addr)
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static bool is_const(Dwarf_Die type)
{
	for (int i = 0; type.addr && i < MAX_HOPS; i++) {
		int tag = dwarf_tag(&type);
		Dwarf_Die next;
		if (tag == DW_TAG_const_type)
			return true;
		if (tag != DW_TAG_typedef && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_restrict_type)
			break;
		srcloc_die_of(&type, &next);
		type = next;
	}
	return false;
}

static bool is_number(int tag)
{
	return tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type;
}

static enum parameter pointer_kind(Dwarf_Die *fn, Dwarf_Die *pointer)
{
	Dwarf_Die to, peeled;
	bool reference = dwarf_tag(pointer) != DW_TAG_pointer_type;
	srcloc_die_of(pointer, &to);
	peeled = srcloc_die_peel(to);
	if (peeled.addr && is_template_argument(fn, &peeled))
		return is_const(to) ? CONST_RANGE : RANGE;
	if (srcloc_die_is_struct(&peeled))
		return OBJECT;
	if (reference) /* a number that is passed by reference is no memory to work on */
		return OTHER;
	int tag = peeled.addr ? dwarf_tag(&peeled) : 0;
	if (tag && !is_number(tag) && tag != DW_TAG_pointer_type)
		return OTHER; /* a function, say */
	return is_const(to) ? CONST_RANGE : RANGE;
}

/* As wide as size_t, and without a sign. */
static bool is_size(Dwarf_Die *base)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;
	return dwarf_bytesize(base) == 8 && dwarf_attr(base, DW_AT_encoding, &attr) &&
	       !dwarf_formudata(&attr, &encoding) && encoding == DW_ATE_unsigned;
}

static enum parameter kind_of(Dwarf_Die *fn, Dwarf_Die *parameter)
{
	Dwarf_Die type, peeled;
	if (!srcloc_die_of(parameter, &type))
		return OTHER;
	peeled = srcloc_die_peel(type);
	switch (peeled.addr ? dwarf_tag(&peeled) : 0) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: return pointer_kind(fn, &peeled);
	case DW_TAG_base_type: return is_size(&peeled) ? SIZE : NUMBER;
	case DW_TAG_enumeration_type: return NUMBER;
	default: return srcloc_die_is_struct(&peeled) ? OBJECT : OTHER;
	}
}

static bool is_address(Dwarf_Die *of)
{
	Dwarf_Die type;
	if (!srcloc_die_of(of, &type))
		return false;
	type = srcloc_die_peel(type);
	int tag = type.addr ? dwarf_tag(&type) : 0;
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* The kinds of the parameters that the source has, in order. */
static size_t parameters(Dwarf_Die *fn, enum parameter kind[MAX_PARAMETERS])
{
	Dwarf_Die child;
	Dwarf_Attribute attr;
	size_t n = 0;
	if (dwarf_child(fn, &child))
		return 0;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter && n < MAX_PARAMETERS &&
		    !dwarf_attr_integrate(&child, DW_AT_artificial, &attr))
			kind[n++] = kind_of(fn, &child);
	} while (!dwarf_siblingof(&child, &child));
	return n;
}

/* The class whose object `this` points to. */
static bool class_of(Dwarf_Die *this, Dwarf_Die *class)
{
	Dwarf_Die pointer;
	if (!srcloc_die_of(this, &pointer))
		return false;
	pointer = srcloc_die_peel(pointer);
	if (!pointer.addr || dwarf_tag(&pointer) != DW_TAG_pointer_type ||
	    !srcloc_die_of(&pointer, class))
		return false;
	*class = srcloc_die_peel(*class);
	return srcloc_die_is_struct(class);
}

static bool is_destructor(Dwarf_Die *fn)
{
	const char *name = dwarf_diename(fn);
	return name && name[0] == '~';
}

/*
 * Does the class hold an address of memory of no particular type, as a guard does? Types that a template is made for are
 * none in particular. Where it holds nothing but addresses and numbers, its destructor works for who made it, whatever
 * these lead to.
 */
static bool holds_range(Dwarf_Die *fn, Dwarf_Die *class)
{
	Dwarf_Die member;
	bool address = false, more = false;
	if (dwarf_child(class, &member))
		return false;
	do {
		int tag = dwarf_tag(&member);
		enum parameter kind = tag == DW_TAG_member ? kind_of(class, &member) : NUMBER;
		if (kind == RANGE || kind == CONST_RANGE)
			return true;
		address |= kind == OBJECT && is_address(&member);
		more |= tag == DW_TAG_inheritance || kind == OTHER ||
			(kind == OBJECT && !is_address(&member));
	} while (!dwarf_siblingof(&member, &member));
	return address && !more && is_destructor(fn);
}

/* The first parameter, where the source has none there: a method's object. */
static bool is_holder(Dwarf_Die *fn)
{
	Dwarf_Die child, class;
	Dwarf_Attribute attr;
	if (dwarf_child(fn, &child))
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			return dwarf_attr_integrate(&child, DW_AT_artificial, &attr) &&
			       class_of(&child, &class) && holds_range(fn, &class);
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static bool is_range(enum parameter p)
{
	return p == RANGE || p == CONST_RANGE;
}

/* "(to, from, n)" or "(to, byte, size)", maybe after an object such as a pool. */
static bool is_copy(const enum parameter *p, size_t n)
{
	size_t i = 0;
	while (i < n && p[i] == OBJECT)
		i++;
	if (i + 2 >= n || p[i] != RANGE)
		return false;
	return is_range(p[i + 1]) ? p[i + 2] == NUMBER || p[i + 2] == SIZE
				  : p[i + 1] == NUMBER && p[i + 2] == SIZE;
}

uint8_t srcloc_prototype(struct debuginfo *d, Dwarf_Die *call)
{
	enum parameter kind[MAX_PARAMETERS];
	uint8_t takes = SRCLOC_TAKES_KNOWN;
	Dwarf_Die fn = origin_of(*call);
	uint64_t old;
	if (hmap_get(&d->takes, (uintptr_t)fn.addr, &old))
		return (uint8_t)old;
	size_t n = parameters(&fn, kind);
	for (size_t i = 0; i < n; i++)
		takes |= is_range(kind[i])                      ? SRCLOC_TAKES_RANGE
			 : kind[i] == OBJECT                    ? SRCLOC_TAKES_OBJECT
			 : kind[i] == NUMBER || kind[i] == SIZE ? SRCLOC_TAKES_LENGTH
								: 0;
	if (is_copy(kind, n))
		takes |= SRCLOC_TAKES_COPY;
	if (n && kind[0] == SIZE)
		takes |= SRCLOC_TAKES_ADDRESS;
	if (is_holder(&fn))
		takes |= SRCLOC_TAKES_HOLDER;
	hmap_put(&d->takes, (uintptr_t)fn.addr, takes);
	return takes;
}
