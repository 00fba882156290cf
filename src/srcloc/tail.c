/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that the compiler made jumps of.
 *
 * "persist(x); }" at the end of a function becomes "jmp persist" when code is optimised. The function is then
 * in no return address, and what is known of it is where it was entered. But compilers describe such jumps as
 * they describe calls:
 *
 *	DW_TAG_call_site    DW_AT_call_tail_call
 *	                    DW_AT_call_return_pc: behind the jump (gcc), or DW_AT_call_pc: the jump (clang)
 *	                    DW_AT_call_origin: where it goes, if that is known
 *
 * Where a function has one, or one that goes where the path goes on, the function was left there.
 */
#include <dwarf.h>
#include <string.h>

#include "srcloc/internal.h"

#define MAX_DEPTH 64

struct search {
	const char *to;
	uint64_t any, fitting; /* the jump's last byte; 0: none yet */
	unsigned nany, nfitting;
};

/* An address inside the jump; 0: it is a call. */
static uint64_t jump_of(Dwarf_Die *site)
{
	Dwarf_Attribute attr;
	Dwarf_Addr at = 0;
	bool tail = false;
	if (dwarf_attr(site, DW_AT_call_tail_call, &attr))
		dwarf_formflag(&attr, &tail);
	else if (dwarf_attr(site, DW_AT_GNU_tail_call, &attr))
		dwarf_formflag(&attr, &tail);
	if (!tail)
		return 0;
	if (dwarf_attr(site, DW_AT_call_pc, &attr) && !dwarf_formaddr(&attr, &at))
		return at;
	if ((dwarf_attr(site, DW_AT_call_return_pc, &attr) ||
	     dwarf_attr(site, DW_AT_low_pc, &attr)) &&
	    !dwarf_formaddr(&attr, &at) && at)
		return at - 1;
	return 0;
}

static bool goes_to(Dwarf_Die *site, const char *to)
{
	Dwarf_Attribute attr;
	Dwarf_Die callee;
	if (!to ||
	    (!dwarf_attr(site, DW_AT_call_origin, &attr) &&
	     !dwarf_attr(site, DW_AT_abstract_origin, &attr)) ||
	    !dwarf_formref_die(&attr, &callee))
		return false;
	const char *name = dwarf_diename(&callee);
	return name && !strcmp(name, to);
}

static void note(struct search *s, Dwarf_Die *site)
{
	uint64_t at = jump_of(site);
	if (!at)
		return;
	s->nany += s->any != at;
	s->any = at;
	if (goes_to(site, s->to)) {
		s->nfitting += s->fitting != at;
		s->fitting = at;
	}
}

static void look(struct search *s, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site)
			note(s, &child);
		else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
			look(s, &child, depth + 1);
	} while (!dwarf_siblingof(&child, &child));
}

uint64_t srcloc_object_tail(struct object *obj, uint64_t addr, const char *to)
{
	struct search s = { .to = to };
	uint64_t key = hash_mix(addr, (uintptr_t)to), at;
	Dwarf_Die fn;
	if (hmap_get(&obj->tail, key, &at))
		return at;
	if (srcloc_debuginfo_function(obj, addr, &fn))
		look(&s, &fn, 0);
	at = s.nfitting == 1 ? s.fitting : s.nany == 1 ? s.any : 0;
	at += at ? obj->debug.bias : 0;
	hmap_put(&obj->tail, key, at);
	return at;
}
