/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an object says without debug information: symbol tables and linkage stubs.
 *
 * A linkage stub (PLT entry) jumps through a slot of the GOT, and the relocation of that slot
 * names the function. Stubs come in several layouts; all but one contain the jump itself:
 *
 *	.plt       ff 25 disp32  68 imm32  e9 rel32         jmp *slot; push n; jmp PLT0
 *	.plt       f3 0f 1e fa  68 imm32  (f2) e9 rel32     endbr64; push n; jmp PLT0
 *	.plt.sec   f3 0f 1e fa  (f2) ff 25 disp32           endbr64; jmp *slot
 *	.plt.got   ff 25 disp32  66 90                      jmp *slot
 *
 * The second one pushes n, the number of its relocation in .rela.plt.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

/* How good a name is among several for one address: a sized function's, plain, global. */
static uint8_t rank(const GElf_Sym *sym, const char *name)
{
	uint8_t r = 0;
	if (GELF_ST_TYPE(sym->st_info) != STT_NOTYPE)
		r += 64;
	if (sym->st_size)
		r += 32;
	if (name[0] != '_')
		r += 16;
	else if (name[1] != '_' || name[2] == 'Z')
		r += 8;
	if (!strpbrk(name, ".@"))
		r += 4;
	if (GELF_ST_BIND(sym->st_info) == STB_GLOBAL)
		r += 2;
	else if (GELF_ST_BIND(sym->st_info) == STB_WEAK)
		r += 1;
	return r;
}

static int symbol_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Keeps the best name of each address; drops bare labels inside sized functions. */
static void tidy(struct symbols *s)
{
	uint64_t covered = 0;
	size_t kept = 0;
	if (s->sym.n)
		qsort(s->sym.p, s->sym.n, sizeof *s->sym.p, symbol_order);
	for (size_t i = 0; i < s->sym.n; i++) {
		struct symbol *x = &s->sym.p[i];
		if (kept && s->sym.p[kept - 1].addr == x->addr)
			continue;
		if (!x->size && x->addr < covered)
			continue;
		if (x->size && x->addr + x->size > covered)
			covered = x->addr + x->size;
		s->sym.p[kept++] = *x;
	}
	s->sym.n = kept;
}

static void read_symbols(struct object *obj)
{
	int n = dwfl_module_getsymtab(obj->mod);
	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name =
			dwfl_module_getsym_info(obj->mod, i, &sym, &addr, NULL, NULL, NULL);
		int type = name ? GELF_ST_TYPE(sym.st_info) : STT_FILE;
		if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !*name ||
		    sym.st_shndx == SHN_UNDEF || !srcloc_object_is_code(obj, addr))
			continue;
		struct symbol s = { addr, sym.st_size, name, rank(&sym, name) };
		VEC_PUSH(&obj->symbols.sym, s);
	}
	tidy(&obj->symbols);
}

/* The symbol that covers addr; a sized one may end before it inside a larger one. */
static const char *raw_symbol_at(const struct symbols *s, uint64_t addr)
{
	size_t after = BISECT(i, s->sym.n, s->sym.p[i].addr <= addr);
	for (int tries = 0; after && tries < 16; tries++) {
		const struct symbol *x = &s->sym.p[--after];
		if (addr - x->addr < x->size)
			return x->name;
		if (!x->size)
			return tries ? NULL : x->name;
	}
	return NULL;
}

/* The name of the function that a relocation puts into its slot, or NULL. */
static const char *reloc_name(struct object *obj, const GElf_Rela *rela, Elf_Data *syms,
			      size_t strtab)
{
	GElf_Sym sym;
	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_IRELATIVE: /* a function chosen at start: its symbol is the chooser's */
		return raw_symbol_at(&obj->symbols, (uint64_t)rela->r_addend);
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		if (!syms || !gelf_getsym(syms, (int)GELF_R_SYM(rela->r_info), &sym))
			return NULL;
		return elf_strptr(obj->elf, strtab, sym.st_name);
	default: return NULL;
	}
}

static void read_relocs(struct object *obj, Elf_Scn *scn, const GElf_Shdr *sh, bool of_plt)
{
	Elf_Data *data = elf_getdata(scn, NULL), *syms = NULL;
	Elf_Scn *symscn = sh->sh_link ? elf_getscn(obj->elf, sh->sh_link) : NULL;
	GElf_Shdr symsh = { 0 };
	if (symscn && gelf_getshdr(symscn, &symsh))
		syms = elf_getdata(symscn, NULL);
	for (int i = 0; data && sh->sh_entsize && (uint64_t)i < sh->sh_size / sh->sh_entsize; i++) {
		GElf_Rela rela;
		if (!gelf_getrela(data, i, &rela))
			break;
		const char *name = reloc_name(obj, &rela, syms, symsh.sh_link);
		if (!name || !*name)
			continue;
		hmap_put(&obj->symbols.got, rela.r_offset, (uintptr_t)name);
		if (of_plt)
			hmap_put(&obj->symbols.nth, (uint64_t)i, (uintptr_t)name);
	}
}

static void read_plt(struct object *obj)
{
	Elf_Scn *scn = NULL;
	size_t names;
	if (elf_getshdrstrndx(obj->elf, &names))
		return;
	while ((scn = elf_nextscn(obj->elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(obj->elf, names, sh.sh_name) : NULL;
		if (!name)
			continue;
		if (sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC))
			read_relocs(obj, scn, &sh, !strcmp(name, ".rela.plt"));
		if (sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR) && sh.sh_size &&
		    (!strcmp(name, ".plt") || !strncmp(name, ".plt.", 5) ||
		     !strcmp(name, ".iplt"))) {
			struct range r = { sh.sh_addr, sh.sh_addr + sh.sh_size, elf_ndxscn(scn) };
			VEC_PUSH(&obj->symbols.plt, r);
		}
	}
	srcloc_ranges_sort(&obj->symbols.plt);
}

static struct symbols *loaded(struct object *obj)
{
	if (!obj->symbols.loaded) {
		obj->symbols.loaded = true;
		read_symbols(obj);
		read_plt(obj);
	}
	return &obj->symbols;
}

const char *srcloc_symbols_at(struct object *obj, uint64_t addr)
{
	const char *name = raw_symbol_at(loaded(obj), addr);
	return name ? srcloc_demangle(obj->store, name) : NULL;
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Reads the stub's code, `n` bytes at `addr`; see the layouts above. */
static const char *stub_name(const struct symbols *s, const uint8_t *code, size_t n, uint64_t addr)
{
	uint64_t name = 0;
	size_t i = n >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	if (i + 1 < n && code[i] == 0xf2) /* bnd */
		i++;
	if (i + 6 <= n && code[i] == 0xff && code[i + 1] == 0x25)
		hmap_get(&s->got, addr + i + 6 + (uint64_t)(int64_t)(int32_t)get32(code + i + 2),
			 &name);
	else if (i + 5 <= n && code[i] == 0x68)
		hmap_get(&s->nth, get32(code + i + 1), &name);
	return (const char *)(uintptr_t)name;
}

bool srcloc_symbols_plt(struct object *obj, uint64_t addr, const char **name)
{
	struct symbols *s = loaded(obj);
	const struct range *r = srcloc_ranges_find(&s->plt, addr);
	Elf_Scn *scn = r ? elf_getscn(obj->elf, r->idx) : NULL;
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr sh;
	*name = NULL;
	if (!r)
		return false;
	if (!data || !data->d_buf || !gelf_getshdr(scn, &sh))
		return true;
	uint64_t entry = sh.sh_entsize == 8 ? 8 : 16;
	uint64_t at = (addr - r->lo) / entry * entry;
	if (at + entry <= data->d_size)
		*name = stub_name(s, (const uint8_t *)data->d_buf + at, entry, r->lo + at);
	if (*name)
		*name = srcloc_demangle(obj->store, *name);
	return true;
}

void srcloc_symbols_free(struct symbols *s)
{
	VEC_FREE(&s->sym);
	VEC_FREE(&s->plt);
	hmap_free(&s->got);
	hmap_free(&s->nth);
}
