/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of eight bytes, and of volatile memory: cells by the page, where there are any. */
#include "labels.h"

#define CELL 8u
#define PER_PAGE (VKI_PAGE_SIZE / CELL)
#define MANY (1u << 20)
#define MOST (1u << 22)
#define WHOLE(c) ((set_t)(c))
#define SPLIT(c) ((UInt)((c) >> 32))

/* ---- cells ---- */

/* Cells whose bytes differ, each once. */
static struct {
	struct split {
		set_t of[CELL];
	} * split; /* number i is i + 1 */
	UInt n, cap;
	UInt *slot;
	UInt slots;
} splits;

static UInt *slot_of(const struct split *s)
{
	ULong h = 0;
	for (UInt i = 0; i < CELL; i++)
		h = (h ^ s->of[i]) * 0x9E3779B97F4A7C15ull;
	for (UInt i = (UInt)(h >> 32) & (splits.slots - 1);; i = (i + 1) & (splits.slots - 1))
		if (!splits.slot[i] ||
		    VG_(memcmp)(&splits.split[splits.slot[i] - 1], s, sizeof *s) == 0)
			return &splits.slot[i];
}

static void splits_grow(void)
{
	splits.cap = splits.cap ? splits.cap * 2 : 4096;
	splits.split = VG_(realloc)("hf.splits", splits.split, splits.cap * sizeof(struct split));
	splits.slots = splits.cap * 2;
	if (splits.slot)
		VG_(free)(splits.slot);
	splits.slot = VG_(calloc)("hf.splits", splits.slots, sizeof(UInt));
	for (UInt i = 0; i < splits.n; i++)
		*slot_of(&splits.split[i]) = i + 1;
}

/* 0: there is no room; then all bytes have the labels of each. */
static UInt intern(const struct split *s)
{
	UInt *slot;
	if (splits.n == splits.cap && splits.n < MOST)
		splits_grow();
	slot = slot_of(s);
	if (!*slot && splits.n < splits.cap) {
		splits.split[splits.n++] = *s;
		*slot = splits.n;
	}
	return *slot;
}

set_t cell_get(cell_t c, UInt from, UInt n)
{
	set_t s = 0;
	if (!SPLIT(c))
		return WHOLE(c);
	for (UInt i = from; i < from + n; i++)
		s = set_union(s, splits.split[SPLIT(c) - 1].of[i]);
	return s;
}

cell_t cell_put(cell_t c, UInt from, UInt n, set_t s)
{
	struct split x;
	set_t whole = 0;
	Bool same = True;
	if (n == CELL || c == s)
		return s;
	for (UInt i = 0; i < CELL; i++) {
		x.of[i] = i >= from && i < from + n ? s
			  : SPLIT(c)                ? splits.split[SPLIT(c) - 1].of[i]
						    : WHOLE(c);
		whole = set_union(whole, x.of[i]);
		same = same && x.of[i] == x.of[0];
	}
	return same ? whole : (ULong)intern(&x) << 32 | whole;
}

Bool cells_full(void)
{
	return splits.n >= MANY;
}

/* ---- memory ---- */

struct page {
	struct core_page head; /* counts cells that are not 0 */
	cell_t cell[PER_PAGE];
};

UInt cell_line[LINES];

static struct core_pages pages;

static struct page *page_of(Addr a, Bool make)
{
	return (struct page *)core_page_at(&pages, a, make ? sizeof(struct page) : 0);
}

/* An access meets the cell if it begins in its line, or a little before. */
static void line_add(Addr a, UInt by)
{
	Addr line = a >> LINE_BITS, before = (a - (REACH - 1)) >> LINE_BITS;
	cell_line[line % LINES] += by;
	if (before != line)
		cell_line[before % LINES] += by;
}

/* Bytes from … from+n-1 of the cell at a, which is a multiple of CELL. */
static void set(Addr a, UInt from, UInt n, set_t s)
{
	struct page *p = page_of(a, s != 0);
	cell_t *c = p ? &p->cell[a % VKI_PAGE_SIZE / CELL] : NULL, old;
	if (!c || (!*c && !s))
		return;
	old = *c;
	*c = cell_put(old, from, n, s);
	if (!old != !*c) {
		p->head.count += *c ? 1 : (UInt)-1;
		line_add(a, *c ? 1 : (UInt)-1);
	}
}

/* The part of [a, end) in one cell: where it begins in it, and how long it is. */
static inline UInt part(Addr a, Addr end, UInt *from)
{
	*from = (UInt)(a % CELL);
	return end - a < CELL - *from ? (UInt)(end - a) : CELL - *from;
}

set_t memory_get(Addr a, SizeT len)
{
	set_t s = 0;
	UInt from, n;
	for (Addr end = a + len; a < end; a += n) {
		const struct page *p = page_of(a, False);
		n = part(a, end, &from);
		if (p)
			s = set_union(s, cell_get(p->cell[a % VKI_PAGE_SIZE / CELL], from, n));
	}
	return s;
}

void memory_put(Addr a, SizeT len, set_t s)
{
	UInt from, n;
	for (Addr end = a + len; a < end; a += n) {
		n = part(a, end, &from);
		set(a - from, from, n, s);
	}
}

/* As memory_put with no labels, for ranges of any length. */
void deps_clear(Addr a, SizeT len)
{
	for (Addr end = a + len, stop; a < end && pages.n; a = stop) {
		const struct page *p = page_of(a, False);
		stop = VG_PGROUNDDN(a) + VKI_PAGE_SIZE;
		if (stop > end || stop < a)
			stop = end;
		if (p && p->head.count)
			memory_put(a, stop - a, 0);
	}
}

/* Both are multiples of the page size. */
void memory_move(Addr from, Addr to, SizeT len)
{
	deps_clear(to, len);
	for (SizeT i = 0; i < len && pages.n; i += CELL) {
		const struct page *p = page_of(from + i, False);
		cell_t c = p ? p->cell[(from + i) % VKI_PAGE_SIZE / CELL] : 0;
		for (UInt k = 0; c && k < CELL; k++)
			set(to + i, k, 1, cell_get(c, k, 1));
	}
}

void cells_forget(void)
{
	core_pages_forget(&pages);
	VG_(memset)(cell_line, 0, sizeof cell_line);
	splits.n = 0;
	if (splits.slot)
		VG_(memset)(splits.slot, 0, splits.slots * sizeof(UInt));
}
