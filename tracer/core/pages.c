/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/core.h"

static UInt slot_of(const struct core_pages *t, Addr number)
{
	UInt i = (UInt)(number * 0x9E3779B97F4A7C15ull >> 40) & (t->cap - 1);
	while (t->page[i] && t->page[i]->number != number)
		i = (i + 1) & (t->cap - 1);
	return i;
}

static void grow(struct core_pages *t)
{
	struct core_page **old = t->page;
	UInt n = t->cap;
	t->cap = n ? n * 2 : 256;
	t->page = VG_(calloc)("hf.pages", t->cap, sizeof *t->page);
	for (UInt i = 0; i < n; i++)
		if (old[i])
			t->page[slot_of(t, old[i]->number)] = old[i];
	if (old)
		VG_(free)(old);
}

struct core_page *core_page_find(struct core_pages *t, Addr number, SizeT make)
{
	UInt i;
	if (!make && !t->n)
		return NULL;
	if (t->n * 2 >= t->cap)
		grow(t);
	i = slot_of(t, number);
	if (!t->page[i]) {
		if (!make)
			return NULL;
		t->page[i] = VG_(calloc)("hf.page", 1, make);
		t->page[i]->number = number;
		t->n++;
	}
	return t->last = t->page[i];
}

void core_pages_forget(struct core_pages *t)
{
	for (UInt i = 0; i < t->cap; i++)
		if (t->page[i])
			VG_(free)(t->page[i]);
	if (t->page)
		VG_(memset)(t->page, 0, t->cap * sizeof *t->page);
	t->n = 0;
	t->last = NULL;
}

void *core_pages_alloc(SizeT size, const HChar *who)
{
#if CORE_VALGRIND >= 321
	SysRes r = VG_(am_shadow_alloc)(size);
	if (sr_isError(r))
		VG_(out_of_memory_NORETURN)(who, size, sr_Err(r));
	return (void *)(Addr)sr_Res(r);
#else
	void *pages = VG_(am_shadow_alloc)(size);
	if (!pages)
		VG_(out_of_memory_NORETURN)(who, size);
	return pages;
#endif
}
