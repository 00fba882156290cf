/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where functions begin and end, from the best source to the worst: symbols with a size, entries
 * of the procedure linkage table, unwind information (all that a stripped file has), symbols
 * without size or type, and at last whatever code lies between those.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/internal.h"

struct found {
	uint32_t pos, len, rank; /* the lowest rank names a place that has several names */
	const char *name;
};
typedef VEC(struct found) found_vec;

struct search {
	struct build *b;
	found_vec all;   /* sorted up to `known` */
	found_vec later; /* symbols that are functions only where nothing else is */
	size_t known;
};

static int by_pos(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->len > y->len ? -1 : x->len < y->len;
}

/* The end of the piece of code that holds pos. */
static uint32_t text_end(const struct binary *b, uint32_t pos)
{
	for (size_t i = 0; i < b->text.n; i++)
		if (pos - b->text.p[i].pos < b->text.p[i].len)
			return b->text.p[i].pos + b->text.p[i].len;
	return pos;
}

/* One a place, none longer than its piece of code. */
static void settle(struct search *s)
{
	found_vec *v = &s->all;
	size_t n = 0;
	if (v->n)
		qsort(v->p, v->n, sizeof *v->p, by_pos);
	for (size_t i = 0; i < v->n; i++) {
		struct found f = v->p[i];
		uint32_t room = text_end(s->b->out, f.pos) - f.pos;
		if (n && v->p[n - 1].pos == f.pos) {
			if (!v->p[n - 1].len)
				v->p[n - 1].len = f.len > room ? room : f.len;
			continue;
		}
		if (f.len > room)
			f.len = room;
		v->p[n++] = f;
	}
	v->n = s->known = n;
}

/* The last known function that begins at pos or before; NULL: none. */
static struct found *known_at(const struct search *s, uint32_t pos)
{
	size_t after = BISECT(i, s->known, s->all.p[i].pos <= pos);
	return after ? &s->all.p[after - 1] : NULL;
}

static uint32_t rank_of(const Elf64_Sym *sym, const char *name)
{
	uint32_t bind = ELF64_ST_BIND(sym->st_info), score = 2, n = 0;
	if (bind == STB_GLOBAL)
		score = 0;
	else if (bind == STB_WEAK)
		score = 1;
	while (n < 3 && name[n] == '_')
		n++;
	return score * 4 + n;
}

static void add_symbols(struct search *s, const struct symbols *table)
{
	const struct elf *e = s->b->elf;
	Elf64_Sym sym;
	for (uint64_t i = 1; binary_elf_symbol(e, table, i, &sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym.st_info);
		uint32_t pos = binary_pos(s->b->out, sym.st_value);
		const char *name = binary_elf_symbol_name(e, table, sym.st_name);
		if (sym.st_shndx == SHN_UNDEF || pos == NONE || !name || !*name)
			continue;
		struct found f = { pos, sym.st_size > UINT32_MAX ? 0 : (uint32_t)sym.st_size,
				   rank_of(&sym, name), name };
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && f.len)
			VEC_PUSH(&s->all, f);
		else if (type == STT_FUNC || type == STT_GNU_IFUNC ||
			 (type == STT_NOTYPE && ELF64_ST_BIND(sym.st_info) == STB_GLOBAL))
			VEC_PUSH(&s->later, f);
	}
}

static void add_plt(struct search *s)
{
	for (size_t i = 0; i < s->b->elf->plt.n; i++) {
		const struct text *t = &s->b->elf->plt.p[i];
		uint32_t pos = binary_pos(s->b->out, t->addr);
		if (pos == NONE || binary_pos(s->b->out, t->addr + t->len - 1) != pos + t->len - 1)
			continue;
		for (uint32_t at = 0; at + t->pos <= t->len; at += t->pos)
			VEC_PUSH(&s->all, ((struct found){ pos + at, t->pos, 50, NULL }));
	}
}

static void add_frame(void *arg, uint64_t addr, uint64_t len)
{
	struct search *s = arg;
	uint32_t pos = binary_pos(s->b->out, addr);
	if (pos == NONE)
		return;
	struct found *f = known_at(s, pos);
	if (!f || pos - f->pos >= f->len)
		VEC_PUSH(&s->all,
			 ((struct found){ pos, len > UINT32_MAX ? 0 : (uint32_t)len, 100, NULL }));
}

/* Symbols without a size go on to the next function, or name what unwind information found. */
static void add_later(struct search *s)
{
	for (size_t i = 0; i < s->later.n; i++) {
		struct found f = s->later.p[i], *at = known_at(s, f.pos);
		if (at && at->pos == f.pos && !at->name)
			at->name = f.name;
		else if (!at || !at->len || f.pos - at->pos >= at->len)
			VEC_PUSH(&s->all, f);
	}
}

static void add_function(struct build *b, uint32_t pos, uint32_t len, const char *name,
			 uint32_t flags)
{
	struct binary *out = b->out;
	struct func f = { pos, len, (uint32_t)out->names.n, flags };
	if (name)
		buf_puts(&out->names, name);
	else
		buf_printf(&out->names, "sub_%llx", (unsigned long long)binary_addr(out, pos));
	buf_add(&out->names, "", 1);
	VEC_PUSH(&out->func, f);
}

/* What lies between functions, if it is more than padding. */
static void add_gap(struct build *b, uint32_t pos, uint32_t end)
{
	uint32_t len;
	while (pos < end && binary_decode_is_padding(b, pos, end, &len))
		pos += len;
	if (pos < end)
		add_function(b, pos, end - pos, NULL, FUNC_GUESSED);
}

/* Copies memory on behalf of anyone: the C library's, also when it is linked in. */
static bool is_quiet(const struct binary *b, const char *name)
{
	static const char *const start[] = { "__mem", "mem", "__wmem", "wmem", "__bzero", "__str" };
	if (b->flags & (BINARY_LIBC | BINARY_LINKER))
		return true;
	for (size_t i = 0; name && i < sizeof start / sizeof *start; i++)
		if (!strncmp(name, start[i], strlen(start[i])))
			return true;
	return false;
}

static void fill(struct build *b, const found_vec *v)
{
	size_t i = 0;
	for (size_t t = 0; t < b->out->text.n; t++) {
		uint32_t at = b->out->text.p[t].pos, end = at + b->out->text.p[t].len;
		for (; i < v->n && v->p[i].pos < end; i++) {
			const struct found *f = &v->p[i];
			uint32_t next =
				i + 1 < v->n && v->p[i + 1].pos < end ? v->p[i + 1].pos : end;
			uint32_t len = f->len && f->len < next - f->pos ? f->len : next - f->pos;
			add_gap(b, at, f->pos);
			add_function(b, f->pos, len, f->name,
				     is_quiet(b->out, f->name) ? FUNC_QUIET : 0);
			at = f->pos + len;
		}
		add_gap(b, at, end);
	}
}

void binary_symbols_functions(struct build *b)
{
	struct search s = { .b = b };
	add_symbols(&s, &b->elf->symtab);
	add_symbols(&s, &b->elf->dynsym);
	add_plt(&s);
	settle(&s);
	binary_frames_each(b->elf, add_frame, &s);
	settle(&s);
	add_later(&s);
	settle(&s);
	fill(b, &s.all);
	VEC_FREE(&s.all);
	VEC_FREE(&s.later);
}
