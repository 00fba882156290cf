/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From instructions to blocks, their ways on, and units.
 *
 * A block ends at a jump, at a call (which may not come back), and before any place that
 * something leads to. A jump to the first byte of another function is a tail call; unless that
 * function jumps back into this one: then it is a cold part of it, and both are one unit.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/internal.h"

/* What is known of a block while blocks are linked. */
struct link {
	uint32_t fall, jump; /* blocks; NONE */
	uint32_t up;         /* union-find */
	uint8_t last;        /* kind of its last instruction */
	bool tail;           /* jump leads to another function's entry */
};

struct graph {
	struct build *b;
	struct binary *out;
	struct link *link;
	uint32_t *last; /* index of each block's last instruction */
};

static int by_from(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void sort_ways(struct build *b)
{
	size_t n = 0;
	if (b->way.n)
		qsort(b->way.p, b->way.n, sizeof *b->way.p, by_from);
	for (size_t i = 0; i < b->way.n; i++)
		if (!n || by_from(&b->way.p[n - 1], &b->way.p[i]))
			b->way.p[n++] = b->way.p[i];
	b->way.n = n;
}

/* The first way of the jump that ends at `from`. */
static size_t ways_from(const struct build *b, uint32_t from)
{
	return BISECT(i, b->way.n, b->way.p[i].from < from);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Places in guessed functions that calls lead to, in order. */
static uint32_t *called_inside(const struct build *b, size_t *n)
{
	const struct binary *out = b->out;
	VEC(uint32_t) at = { 0 };
	for (size_t i = 0; i < b->insn.n; i++) {
		const struct insn *insn = &b->insn.p[i];
		uint32_t f;
		if (insn->kind != INSN_CALL || !bit_get(out->code, insn->target))
			continue;
		f = binary_func_of(out, insn->target);
		if (f != NONE && (out->func.p[f].flags & FUNC_GUESSED) &&
		    out->func.p[f].pos != insn->target)
			VEC_PUSH(&at, insn->target);
	}
	if (at.n)
		qsort(at.p, at.n, sizeof *at.p, by_number);
	*n = at.n;
	return at.p;
}

/* Code between functions is several functions if calls lead into it. */
static void split_guessed(struct build *b)
{
	struct binary *out = b->out;
	VEC(struct func) all = { 0 };
	size_t n, k = 0;
	uint32_t *at = called_inside(b, &n);
	for (size_t i = 0; n && i < out->func.n; i++) {
		struct func f = out->func.p[i];
		uint32_t end = f.pos + f.len;
		for (; k < n && at[k] < end; k++) {
			if (at[k] == f.pos)
				continue;
			f.len = at[k] - f.pos;
			VEC_PUSH(&all, f);
			f = (struct func){ at[k], end - at[k], (uint32_t)out->names.n, f.flags };
			buf_printf(&out->names, "sub_%llx",
				   (unsigned long long)binary_addr(out, f.pos));
			buf_add(&out->names, "", 1);
		}
		VEC_PUSH(&all, f);
	}
	free(at);
	if (!n)
		return;
	VEC_FREE(&out->func);
	out->func.p = all.p;
	out->func.n = all.n;
	out->func.cap = all.cap;
}

static bool goes_on(uint8_t kind)
{
	return kind == INSN_PLAIN || kind == INSN_COND || kind == INSN_CALL ||
	       kind == INSN_CALL_IMPORT || kind == INSN_CALL_UNKNOWN;
}

/* A bit for each position where a block must begin. */
static uint64_t *find_leaders(const struct build *b)
{
	const struct binary *out = b->out;
	uint64_t *leader = xcalloc(BITS_WORDS(out->ncode) + 1, sizeof *leader);
	for (size_t i = 0; i < out->func.n; i++)
		bit_set(leader, out->func.p[i].pos);
	for (size_t i = 0; i < b->way.n; i++)
		bit_set(leader, b->way.p[i].to);
	for (size_t i = 0; i < b->insn.n; i++) {
		const struct insn *insn = &b->insn.p[i];
		uint32_t end = insn->pos + insn->len;
		if (insn->target != NONE &&
		    (insn->kind == INSN_COND || insn->kind == INSN_JUMP || insn->kind == INSN_CALL))
			bit_set(leader, insn->target);
		/* after code that overlaps with other code */
		if (i + 1 < b->insn.n && b->insn.p[i + 1].pos != end && end < out->ncode)
			bit_set(leader, end);
	}
	return leader;
}

static void make_blocks(struct graph *g)
{
	struct build *b = g->b;
	uint64_t *leader = find_leaders(b);
	VEC(uint32_t) last = { 0 };
	bool open = false;
	for (size_t i = 0; i < b->insn.n; i++) {
		const struct insn *insn = &b->insn.p[i];
		bool joins = open && !bit_get(leader, insn->pos) &&
			     b->insn.p[i - 1].pos + b->insn.p[i - 1].len == insn->pos;
		if (!joins) {
			struct block block = { .pos = insn->pos, .callee = NONE };
			VEC_PUSH(&g->out->block, block);
			VEC_PUSH(&last, 0);
		}
		g->out->block.p[g->out->block.n - 1].len += insn->len;
		last.p[last.n - 1] = (uint32_t)i;
		open = insn->kind == INSN_PLAIN;
	}
	g->last = last.p;
	free(leader);
}

static void link_block(struct graph *g, uint32_t i, const struct func *f)
{
	struct binary *out = g->out;
	struct block *block = &out->block.p[i];
	struct link *l = &g->link[i];
	const struct insn *last = &g->b->insn.p[g->last[i]];
	uint32_t end = block->pos + block->len, to = NONE;
	bool inside = f && end - f->pos < f->len;
	*l = (struct link){ NONE, NONE, i, last->kind, false };
	/* a call that is the last of its function does not come back */
	if (goes_on(last->kind) && (inside || last->kind <= INSN_COND))
		l->fall = i + 1 < out->block.n && out->block.p[i + 1].pos == end
				  ? i + 1
				  : binary_block_from(out, end);
	if (last->target != NONE && last->kind != INSN_CALL_IMPORT &&
	    last->kind != INSN_JUMP_IMPORT)
		to = binary_block_from(out, last->target);
	if (last->kind == INSN_COND || last->kind == INSN_JUMP) {
		l->jump = to;
		if (to != NONE && (!f || last->target - f->pos >= f->len)) {
			uint32_t other = binary_func_of(out, last->target);
			l->tail = other != NONE && out->func.p[other].pos == last->target;
		}
	}
	block->callee = last->kind == INSN_CALL ? to : NONE;
	if (last->kind == INSN_CALL_IMPORT || last->kind == INSN_JUMP_IMPORT) {
		block->call = BLOCK_IMPORT;
		block->callee = last->target;
	} else if (block->callee != NONE) {
		block->call = BLOCK_CALLS;
	} else if (last->kind == INSN_CALL || last->kind == INSN_CALL_UNKNOWN ||
		   last->kind == INSN_JUMP_UNKNOWN || (last->kind == INSN_JUMP && to == NONE)) {
		block->call = BLOCK_UNKNOWN;
	}
	block->tail = last->kind == INSN_JUMP_IMPORT || last->kind == INSN_JUMP_UNKNOWN ||
		      last->kind == INSN_JUMP;
}

static void link_blocks(struct graph *g)
{
	struct binary *out = g->out;
	size_t f = 0;
	for (uint32_t i = 0; i < out->block.n; i++) {
		while (f < out->func.n &&
		       out->func.p[f].pos + out->func.p[f].len <= out->block.p[i].pos)
			f++;
		link_block(g, i, f < out->func.n ? &out->func.p[f] : NULL);
	}
}

static uint32_t find(struct graph *g, uint32_t i)
{
	while (g->link[i].up != i) {
		g->link[i].up = g->link[g->link[i].up].up;
		i = g->link[i].up;
	}
	return i;
}

static void join(struct graph *g, uint32_t a, uint32_t b)
{
	if (b == NONE)
		return;
	a = find(g, a);
	b = find(g, b);
	if (a < b)
		g->link[b].up = a;
	else
		g->link[a].up = b;
}

static void join_blocks(struct graph *g)
{
	const struct build *b = g->b;
	for (uint32_t i = 0; i < g->out->block.n; i++) {
		uint32_t end = g->out->block.p[i].pos + g->out->block.p[i].len;
		join(g, i, g->link[i].fall);
		if (!g->link[i].tail)
			join(g, i, g->link[i].jump);
		if (g->link[i].last != INSN_JUMP_UNKNOWN)
			continue;
		for (size_t w = ways_from(b, end); w < b->way.n && b->way.p[w].from == end; w++)
			join(g, i, binary_block_from(g->out, b->way.p[w].to));
	}
}

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	if (to == NONE)
		return;
	VEC_PUSH(&g->out->edge, to);
	g->out->block.p[from].nedge++;
}

static void add_edges(struct graph *g)
{
	const struct build *b = g->b;
	struct binary *out = g->out;
	for (uint32_t i = 0; i < out->block.n; i++) {
		struct block *block = &out->block.p[i];
		const struct link *l = &g->link[i];
		uint32_t end = block->pos + block->len;
		block->edge = (uint32_t)out->edge.n;
		add_edge(g, i, l->fall);
		if (l->tail && find(g, i) != find(g, l->jump)) {
			block->call = BLOCK_CALLS;
			block->callee = l->jump;
			block->tail = true;
		} else {
			add_edge(g, i, l->jump);
		}
		if (l->last != INSN_JUMP_UNKNOWN)
			continue;
		for (size_t w = ways_from(b, end); w < b->way.n && b->way.p[w].from == end; w++)
			add_edge(g, i, binary_block_from(out, b->way.p[w].to));
	}
}

static void number_units(struct graph *g)
{
	struct binary *out = g->out;

	/* a root is the lowest block of its unit, so it has its number before the others ask */
	for (uint32_t i = 0; i < out->block.n; i++) {
		uint32_t root = find(g, i);
		out->block.p[i].unit = root == i ? out->nunit++ : out->block.p[root].unit;
	}
}

/* A call of a stub that only jumps on to an import is a call of the import. */
static void skip_stubs(struct binary *out)
{
	for (size_t i = 0; i < out->block.n; i++) {
		struct block *block = &out->block.p[i];
		const struct block *to;
		if (block->call != BLOCK_CALLS)
			continue;
		to = &out->block.p[block->callee];
		if (to->call == BLOCK_IMPORT && to->tail && !to->nedge) {
			block->call = BLOCK_IMPORT;
			block->callee = to->callee;
		}
	}
}

static void name_stubs(struct binary *out)
{
	for (size_t i = 0; i < out->func.n; i++) {
		struct func *f = &out->func.p[i];
		uint32_t at = binary_block_from(out, f->pos);
		char *name;
		if (at == NONE || out->block.p[at].call != BLOCK_IMPORT || !out->block.p[at].tail ||
		    strncmp(out->names.p + f->name, "sub_", 4))
			continue;
		name = xasprintf("%s@plt", out->names.p + out->import.p[out->block.p[at].callee]);
		f->name = (uint32_t)out->names.n;
		buf_add(&out->names, name, strlen(name) + 1);
		free(name);
	}
}

static void add_exports(struct build *b)
{
	struct binary *out = b->out;
	const struct symbols *table = &b->elf->dynsym;
	Elf64_Sym sym;
	for (uint64_t i = 1; binary_elf_symbol(b->elf, table, i, &sym); i++) {
		const char *name = binary_elf_symbol_name(b->elf, table, sym.st_name);
		uint32_t pos = binary_pos(out, sym.st_value), block;
		if (sym.st_shndx == SHN_UNDEF || pos == NONE || !name || !*name ||
		    ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
		    ELF64_ST_BIND(sym.st_info) == STB_LOCAL ||
		    (block = binary_block_from(out, pos)) == NONE)
			continue;
		VEC_PUSH(&out->export, ((struct export){ (uint32_t)out->names.n, block }));
		buf_add(&out->names, name, strlen(name) + 1);
	}
}

void binary_graph_build(struct build *b)
{
	struct graph g = { .b = b, .out = b->out };
	uint8_t *last;
	sort_ways(b);
	split_guessed(b);
	make_blocks(&g);
	g.link = xcalloc(b->out->block.n + 1, sizeof *g.link);
	link_blocks(&g);
	join_blocks(&g);
	add_edges(&g);
	number_units(&g);
	skip_stubs(b->out);
	name_stubs(b->out);
	last = xcalloc(b->out->block.n + 1, 1);
	for (size_t i = 0; i < b->out->block.n; i++)
		last[i] = g.link[i].last;
	binary_noreturn_cut(b->out, last);
	add_exports(b);
	free(last);
	free(g.link);
	free(g.last);
}
