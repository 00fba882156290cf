/* SPDX-License-Identifier: BSD-3-Clause */
/* What binary_elf_open reads at once: segments, code, symbol tables, relocations, build-id. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/internal.h"

#define MAX_TEXTS 256          /* pieces of code in one file */
#define MAX_CODE (1u << 30)    /* bytes of code in one file */
#define MAX_RELOCS (16u << 20) /* in one file */

static bool in_file(const struct elf *e, uint64_t off, uint64_t n)
{
	return off <= e->n && n <= e->n - off;
}

/* Where in the file the bytes of an address are; false: not there. */
static bool offset_of(const struct elf *e, uint64_t addr, uint64_t n, uint64_t *off)
{
	const uint8_t *p = binary_elf_at(e, addr, n);
	if (p)
		*off = (uint64_t)(p - e->p);
	return p;
}

static void read_note(struct elf *e, uint64_t off, uint64_t len)
{
	Elf64_Nhdr note;
	while (len >= sizeof note && binary_elf_read(e, off, &note, sizeof note)) {
		uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull;
		uint64_t size = sizeof note + name + (((uint64_t)note.n_descsz + 3) & ~3ull);
		if (size > len)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    note.n_descsz <= sizeof e->id && !memcmp(e->p + off + sizeof note, "GNU", 4)) {
			e->nid = note.n_descsz;
			memcpy(e->id, e->p + off + sizeof note + name, e->nid);
		}
		off += size;
		len -= size;
	}
}

/* .eh_frame_hdr begins with a pointer to .eh_frame; all linkers write it relative, in 4 bytes. */
static void read_frame_header(struct elf *e, uint64_t addr)
{
	const uint8_t *p = binary_elf_at(e, addr, 8);
	int32_t rel;
	if (!p || p[0] != 1 || p[1] != 0x1b)
		return;
	memcpy(&rel, p + 4, sizeof rel);
	uint64_t frames = addr + 4 + (uint64_t)(int64_t)rel;
	for (size_t i = 0; i < e->load.n; i++) {
		const struct load *l = &e->load.p[i];
		if (frames >= l->addr && frames - l->addr < l->len) {
			e->frames = l->off + (frames - l->addr);
			e->nframes = l->len - (frames - l->addr);
		}
	}
}

struct dynamic {
	uint64_t symtab, strtab, nstr, rela, nrela, jmprel, njmprel, soname;
	bool has_soname;
};

static void read_dynamic(const struct elf *e, uint64_t off, uint64_t len, struct dynamic *d)
{
	Elf64_Dyn dyn;
	for (; len >= sizeof dyn && binary_elf_read(e, off, &dyn, sizeof dyn); off += sizeof dyn) {
		len -= sizeof dyn;
		switch (dyn.d_tag) {
		case DT_NULL: return;
		case DT_SYMTAB: d->symtab = dyn.d_un.d_ptr; break;
		case DT_STRTAB: d->strtab = dyn.d_un.d_ptr; break;
		case DT_STRSZ: d->nstr = dyn.d_un.d_val; break;
		case DT_RELA: d->rela = dyn.d_un.d_ptr; break;
		case DT_RELASZ: d->nrela = dyn.d_un.d_val; break;
		case DT_JMPREL: d->jmprel = dyn.d_un.d_ptr; break;
		case DT_PLTRELSZ: d->njmprel = dyn.d_un.d_val; break;
		case DT_SONAME:
			d->soname = dyn.d_un.d_val;
			d->has_soname = true;
			break;
		}
	}
}

static void read_relocs(struct elf *e, uint64_t addr, uint64_t len)
{
	uint64_t off;
	Elf64_Rela r;
	if (!len || !offset_of(e, addr, len, &off))
		return;
	for (; len >= sizeof r && e->reloc.n < MAX_RELOCS; off += sizeof r, len -= sizeof r) {
		binary_elf_read(e, off, &r, sizeof r);
		switch (ELF64_R_TYPE(r.r_info)) {
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_64:
		case R_X86_64_RELATIVE:
		case R_X86_64_IRELATIVE:
			VEC_PUSH(&e->reloc,
				 ((struct reloc){ r.r_offset, (uint32_t)ELF64_R_TYPE(r.r_info),
						  (uint32_t)ELF64_R_SYM(r.r_info), r.r_addend }));
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct reloc *x = a, *y = b;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void use_dynamic(struct elf *e, const struct dynamic *d)
{
	struct symbols *s = &e->dynsym;
	const char *name;
	read_relocs(e, d->rela, d->nrela);
	read_relocs(e, d->jmprel, d->njmprel);
	if (!offset_of(e, d->strtab, d->nstr, &s->str) || !offset_of(e, d->symtab, 1, &s->off))
		return;
	s->nstr = d->nstr;
	/* No table says how many there are: they end where the names begin, or with the file.
	 * A section may know better. */
	uint64_t end = s->str > s->off ? s->str : e->n;
	s->n = (end - s->off) / sizeof(Elf64_Sym);
	name = d->has_soname && d->soname < s->nstr
		       ? binary_elf_symbol_name(e, s, (uint32_t)d->soname)
		       : NULL;
	if (!name)
		return;
	e->libc = !strncmp(name, "libc.so.", 8) || !strncmp(name, "libc.musl", 9);
	e->linker = !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-musl", 7);
}

static bool add_load(struct elf *e, const Elf64_Phdr *ph)
{
	uint64_t len = ph->p_filesz;
	if (ph->p_offset > e->n)
		return false;
	if (len > e->n - ph->p_offset)
		len = e->n - ph->p_offset; /* cut short */
	if (ph->p_vaddr + len < ph->p_vaddr)
		return false;
	VEC_PUSH(&e->load,
		 ((struct load){ ph->p_vaddr, ph->p_offset, len, (ph->p_flags & PF_X) != 0 }));
	return true;
}

static void add_text(struct elf *e, uint64_t addr, uint64_t len)
{
	if (!len || len > MAX_CODE || e->text.n >= MAX_TEXTS || !binary_elf_at(e, addr, len))
		return;
	VEC_PUSH(&e->text, ((struct text){ addr, (uint32_t)len, 0 }));
}

static void use_section(struct elf *e, const Elf64_Shdr *sh, const Elf64_Shdr *strings,
			const char *name)
{
	bool code = sh->sh_type == SHT_PROGBITS && (sh->sh_flags & SHF_EXECINSTR);
	if (code) {
		add_text(e, sh->sh_addr, sh->sh_size);
		if (!strncmp(name, ".plt", 4) && sh->sh_size <= MAX_CODE && e->plt.n < MAX_TEXTS)
			VEC_PUSH(&e->plt, ((struct text){ sh->sh_addr, (uint32_t)sh->sh_size,
							  sh->sh_entsize == 8 ? 8 : 16 }));
	}
	if (!strcmp(name, ".eh_frame") && sh->sh_type != SHT_NOBITS &&
	    in_file(e, sh->sh_offset, sh->sh_size)) {
		e->frames = sh->sh_offset;
		e->nframes = sh->sh_size;
	}
	if ((sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM) &&
	    in_file(e, sh->sh_offset, sh->sh_size) &&
	    in_file(e, strings->sh_offset, strings->sh_size)) {
		struct symbols s = { sh->sh_offset, sh->sh_size / sizeof(Elf64_Sym),
				     strings->sh_offset, strings->sh_size };
		*(sh->sh_type == SHT_SYMTAB ? &e->symtab : &e->dynsym) = s;
	}
}

static void read_sections(struct elf *e, const Elf64_Ehdr *eh)
{
	Elf64_Shdr sh, names, strings;
	if (eh->e_shentsize != sizeof sh || !eh->e_shnum ||
	    !binary_elf_read(e, eh->e_shoff + (uint64_t)eh->e_shstrndx * sizeof sh, &names,
			     sizeof names))
		return;
	struct symbols s = { .str = names.sh_offset, .nstr = names.sh_size };
	for (unsigned i = 0; i < eh->e_shnum; i++) {
		if (!binary_elf_read(e, eh->e_shoff + (uint64_t)i * sizeof sh, &sh, sizeof sh))
			return;
		const char *name = binary_elf_symbol_name(e, &s, sh.sh_name);
		if (!binary_elf_read(e, eh->e_shoff + (uint64_t)sh.sh_link * sizeof sh, &strings,
				     sizeof strings))
			memset(&strings, 0, sizeof strings);
		use_section(e, &sh, &strings, name ? name : "");
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Lays the code end to end; what overlaps counts once. */
static void place_texts(struct elf *e)
{
	uint64_t pos = 0, end = 0, budget = 2 * (uint64_t)e->n;
	size_t n = 0;
	for (size_t i = 0; !e->text.n && i < e->load.n; i++)
		if (e->load.p[i].code)
			add_text(e, e->load.p[i].addr, e->load.p[i].len);
	if (e->text.n)
		qsort(e->text.p, e->text.n, sizeof *e->text.p, by_addr);
	for (size_t i = 0; i < e->text.n; i++) {
		struct text t = e->text.p[i];
		if (t.addr < end) {
			if (t.addr + t.len <= end)
				continue;
			t.len -= (uint32_t)(end - t.addr);
			t.addr = end;
		}
		if (pos + t.len > MAX_CODE || pos + t.len > budget)
			break;
		t.pos = (uint32_t)pos;
		pos += t.len;
		end = t.addr + t.len;
		e->text.p[n++] = t;
	}
	e->text.n = n;
}

int binary_elf_headers(struct elf *e, struct err *err)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	struct dynamic d = { 0 };
	uint64_t frame_header = 0;
	if (!binary_elf_read(e, 0, &eh, sizeof eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64 || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN) ||
	    eh.e_phentsize != sizeof ph)
		return err_set(err, EXIT_PROGRAM, "not an x86-64 ELF file");
	e->entry = eh.e_entry;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (!binary_elf_read(e, eh.e_phoff + (uint64_t)i * sizeof ph, &ph, sizeof ph))
			break;
		switch (ph.p_type) {
		case PT_LOAD: add_load(e, &ph); break;
		case PT_DYNAMIC: read_dynamic(e, ph.p_offset, ph.p_filesz, &d); break;
		case PT_GNU_EH_FRAME: frame_header = ph.p_vaddr; break;
		case PT_NOTE:
			if (in_file(e, ph.p_offset, ph.p_filesz))
				read_note(e, ph.p_offset, ph.p_filesz);
			break;
		}
	}
	if (frame_header)
		read_frame_header(e, frame_header);
	use_dynamic(e, &d);
	read_sections(e, &eh);
	if (e->reloc.n)
		qsort(e->reloc.p, e->reloc.n, sizeof *e->reloc.p, by_place);
	place_texts(e);
	return 0;
}
