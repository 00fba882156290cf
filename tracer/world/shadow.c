/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes are symbolic, and what they are.
 *
 * Every byte of memory and of the guest state has a cell: concrete, or byte `at` of a node's value.
 * Cells of memory are allocated by the page, where bytes are symbolic; a thread has them for its
 * whole guest state. A stored value is split into bytes, each with the innermost expression that it
 * is a byte of, and a loaded value is assembled again:
 *
 *   store 4: CONCAT(0x00, x, y, z)    cells:  z0  y0  x0  -        load 2: CONCAT(y, z)
 *
 * sym_summary has what the generated code tests inline: line[] for memory, groups for the registers
 * of the current thread, live for all of memory.
 */
#include "cell.h"
#include "expr/term.h"

#define INPUT 0xffffffffu /* a cell's node: input byte `at`, which has no node yet */

struct page {
	struct core_page head; /* counts symbolic bytes */
	struct cell cell[VKI_PAGE_SIZE];
};

struct sym_summary sym_summary;

static struct {
	UInt line_count[SYM_LINES]; /* symbolic bytes that sym_summary.line[] stands for */
	struct core_pages pages;
} shadow;

/* ---- bytes of nodes ---- */

/* Is it a concatenation, an extension or a part at whole bytes? *split: at which bit. */
static Bool whole_bytes(UInt word, UInt *split)
{
	switch (EXPR_OP(word)) {
	case EXPR_CONCAT: *split = EXPR_W(word) - EXPR_AW(word); break;
	case EXPR_ZEXT: *split = EXPR_AW(word); break;
	case EXPR_EXTRACT: *split = EXPR_LO(word); break;
	default: return False;
	}
	return *split % 8 == 0;
}

/* Byte `at` of a node: of which smaller expression it is a byte. No node: a constant. */
struct cell cell_of(UInt node, UInt at)
{
	struct sym_operand arg[3];
	UInt split, word;
	while (node && whole_bytes(word = sym_args(node, arg), &split)) {
		Bool above = at >= split / 8;
		switch (EXPR_OP(word)) {
		case EXPR_CONCAT:
			node = above ? arg[0].node : arg[1].node;
			at -= above ? split / 8 : 0;
			break;
		case EXPR_ZEXT: node = above ? 0 : arg[0].node; break;
		default:
			node = arg[0].node;
			at += split / 8;
			break;
		}
	}
	return (struct cell){ node, at };
}

/* The n bytes, at most 8, that are `v` in this run: 0 if none is symbolic. */
UInt cell_join(struct cell *c, UInt n, ULong v)
{
	struct term all = { 0 };
	for (UInt i = 0, run; i < n; i += run) {
		struct term part;
		if (c[i].node == INPUT)
			c[i] = (struct cell){ sym_input_node(c[i].at, (UChar)(v >> i * 8)), 0 };
		for (run = 1; i + run < n; run++)
			if (c[i + run].node != c[i].node ||
			    (c[i].node && c[i + run].at != c[i].at + run))
				break;
		part = t_const(run * 8, v >> i * 8);
		if (c[i].node) {
			struct term x = { c[i].node, EXPR_W(sym_word(c[i].node)),
					  sym_value_of(c[i].node) };
			part = t_extract(x, c[i].at * 8, run * 8);
		}
		all = i ? t_concat(part, all) : part;
	}
	return all.node;
}

/* ---- pages ---- */

static struct page *page_of(Addr a, Bool make)
{
	return (struct page *)core_page_at(&shadow.pages, a, make ? sizeof(struct page) : 0);
}

/* An access reaches the byte if it begins in its line, or a little before. */
static void line_add(Addr a, UInt by)
{
	Addr line = a >> SYM_LINE_BITS, before = (a - (SYM_REACH - 1)) >> SYM_LINE_BITS;
	shadow.line_count[line % SYM_LINES] += by;
	sym_summary.line[line % SYM_LINES] = shadow.line_count[line % SYM_LINES] != 0;
	if (before == line)
		return;
	shadow.line_count[before % SYM_LINES] += by;
	sym_summary.line[before % SYM_LINES] = shadow.line_count[before % SYM_LINES] != 0;
}

static void set(Addr a, struct cell c)
{
	struct page *p = page_of(a, c.node != 0);
	struct cell *to;
	if (!p)
		return;
	to = &p->cell[a % VKI_PAGE_SIZE];
	if (!to->node != !c.node) {
		UInt by = c.node ? 1 : (UInt)-1;
		p->head.count += by;
		sym_summary.live += by;
		line_add(a, by);
	}
	*to = c;
}

/* ---- memory ---- */

void sym_mark(Addr a, SizeT len, UInt first_input)
{
	for (SizeT i = 0; i < len; i++)
		set(a + i, (struct cell){ INPUT, first_input + (UInt)i });
}

/* The page of `a` if it holds anything; where this page, or the range, ends. */
static inline const struct page *part(Addr a, Addr end, Addr *stop)
{
	const struct page *p = page_of(a, False);
	*stop = VG_PGROUNDDN(a) + VKI_PAGE_SIZE;
	if (*stop > end)
		*stop = end;
	return p && p->head.count ? p : NULL;
}

void sym_clear(Addr a, SizeT len)
{
	Addr end = a + len, stop;
	for (; a < end && sym_summary.live; a = stop)
		if (part(a, end, &stop))
			for (; a < stop; a++)
				set(a, (struct cell){ 0, 0 });
}

void sym_move(Addr from, Addr to, SizeT len)
{
	sym_clear(to, len);
	for (SizeT i = 0, n; i < len && sym_summary.live; i += n) {
		struct page *p = page_of(from + i, False);
		UInt at = (UInt)((from + i) % VKI_PAGE_SIZE);
		n = VKI_PAGE_SIZE - at;
		for (SizeT k = 0; p && p->head.count && k < n && i + k < len; k++)
			if (p->cell[at + k].node)
				set(to + i + k, p->cell[at + k]);
	}
}

struct cell cell_at(Addr a)
{
	const struct page *p = page_of(a, False);
	return p ? p->cell[a % VKI_PAGE_SIZE] : (struct cell){ 0, 0 };
}

void cell_set(Addr a, struct cell c)
{
	set(a, c);
}

Bool sym_any(Addr a, SizeT len)
{
	Addr end = a + len, stop;
	for (; a < end && sym_summary.live; a = stop) {
		const struct page *p = part(a, end, &stop);
		for (; p && a < stop; a++)
			if (p->cell[a % VKI_PAGE_SIZE].node)
				return True;
	}
	return False;
}

UInt sym_seams(Addr a, UInt n)
{
	struct cell last = { 0, 0 };
	UInt seams = 0;
	for (UInt i = 0; i < n; i++) {
		struct cell c = cell_at(a + i);
		if (i && (c.node != last.node || (c.node && c.at != last.at + 1)))
			seams |= 1u << i;
		last = c;
	}
	return seams;
}

static void load_word(Addr a, UInt n, ULong v, UInt *node)
{
	struct cell c[8];
	UInt any = 0;
	for (UInt i = 0; i < n; i++) {
		struct page *p = page_of(a + i, False);
		c[i] = p ? p->cell[(a + i) % VKI_PAGE_SIZE] : (struct cell){ 0, 0 };
		any |= c[i].node;
	}
	*node = any ? cell_join(c, n, v) : 0;
	if (*node && n > 1 && sym_decided(*node))
		*node = 0; /* the path has fixed its value */
}

void sym_load(Addr a, struct sym_value *r)
{
	for (UInt i = 0; i * 64 < r->bits; i++)
		load_word(a + i * 8, cell_bytes(r), r->v[i], &r->node[i]);
}

void sym_store(Addr a, const struct sym_value *x)
{
	UInt n = cell_bytes(x);
	for (UInt i = 0; i * 64 < x->bits; i++)
		for (UInt k = 0; k < n; k++)
			set(a + i * 8 + k, cell_of(x->node[i], k));
}
