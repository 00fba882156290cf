/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a name means at an instruction.
 *
 * First the blocks of its function that hold the instruction, the innermost first; then, as
 * optimisers leave out variables that never got a place and blocks shrink to nothing, any
 * variable of that name in the function or in what it was inlined from; then the file's.
 */
#include <dwarf.h>
#include <string.h>

#include "srcloc/internal.h"

#define MAX_DEPTH 64

static bool is_named(Dwarf_Die *die, struct word word)
{
	const char *name = dwarf_diename(die);
	return name && strlen(name) == word.n && !memcmp(name, word.p, word.n);
}

static bool is_variable(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* In the blocks below `die`; `pc` 0: in all of them. Inlined functions have names of their own. */
static bool find_local(Dwarf_Die *die, uint64_t pc, struct word name, Dwarf_Die *found, int depth)
{
	Dwarf_Die child;
	bool any = false;
	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);
		if (is_variable(tag) && !any && is_named(&child, name)) {
			*found = child;
			any = true;
		}
		if (tag != DW_TAG_lexical_block || (pc && dwarf_haspc(&child, pc) <= 0))
			continue;
		if (find_local(&child, pc, name, found, depth + 1))
			return true; /* an inner block hides what is around it */
	} while (!dwarf_siblingof(&child, &child));
	return any;
}

static bool in_function(const struct scope *s, struct word name, Dwarf_Die *found)
{
	Dwarf_Die fn = s->fn, origin;
	Dwarf_Attribute attr;
	return find_local(&fn, s->pc, name, found, 0) || find_local(&fn, 0, name, found, 0) ||
	       (dwarf_attr(&fn, DW_AT_abstract_origin, &attr) &&
		dwarf_formref_die(&attr, &origin) && find_local(&origin, 0, name, found, 0));
}

typedef bool fits(Dwarf_Die *, struct word name, const void *arg);

/* The first DIE of the file that fits, in namespaces too. */
static bool in_file(Dwarf_Die *die, struct word name, fits *fit, const void *arg, Dwarf_Die *found,
		    int depth)
{
	Dwarf_Die child;
	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return false;
	do {
		*found = child;
		if (fit(&child, name, arg))
			return true;
		if (dwarf_tag(&child) == DW_TAG_namespace &&
		    in_file(&child, name, fit, arg, found, depth + 1))
			return true;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static bool fits_tag(Dwarf_Die *die, struct word name, const void *tag)
{
	Dwarf_Attribute attr;
	return dwarf_tag(die) == *(const int *)tag && is_named(die, name) &&
	       dwarf_attr_integrate(die, DW_AT_type, &attr);
}

bool srcloc_scope_variable(const struct scope *s, struct word name, Dwarf_Die *type)
{
	static const int variable = DW_TAG_variable;
	Dwarf_Die unit = s->unit, found;
	return (in_function(s, name, &found) ||
		in_file(&unit, name, fits_tag, &variable, &found, 0)) &&
	       srcloc_die_of(&found, type);
}

bool srcloc_scope_function(const struct scope *s, struct word name, Dwarf_Die *type)
{
	static const int function = DW_TAG_subprogram;
	Dwarf_Die unit = s->unit, found;
	return in_file(&unit, name, fits_tag, &function, &found, 0) && srcloc_die_of(&found, type);
}

static bool fits_type(Dwarf_Die *die, struct word name, const void *tagged)
{
	Dwarf_Attribute attr;
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: break; /* C++ leaves out "struct" */
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		if (*(const bool *)tagged)
			return false;
		break;
	default: return false;
	}
	return is_named(die, name) && !dwarf_attr(die, DW_AT_declaration, &attr);
}

bool srcloc_scope_type(const struct scope *s, struct word name, bool tagged, Dwarf_Die *type)
{
	Dwarf_Die unit = s->unit;
	return in_file(&unit, name, fits_type, &tagged, type, 0);
}
