/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small reader of x86-64 ELF files. Nothing in the file is believed: every offset and size
 * is checked against the file's length, and structures are copied out since nothing need be aligned.
 *
 * Where both say something, program headers and the dynamic table are preferred to sections, which
 * may be stripped: sections only tell code from constants in one segment, and give .symtab.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/internal.h"

bool binary_elf_read(const struct elf *e, uint64_t off, void *to, size_t n)
{
	if (off > e->n || n > e->n - off)
		return false;
	memcpy(to, e->p + off, n);
	return true;
}

const uint8_t *binary_elf_at(const struct elf *e, uint64_t addr, size_t n)
{
	for (size_t i = 0; i < e->load.n; i++) {
		const struct load *l = &e->load.p[i];
		if (addr >= l->addr && addr - l->addr <= l->len && n <= l->len - (addr - l->addr))
			return e->p + l->off + (addr - l->addr);
	}
	return NULL;
}

const struct reloc *binary_elf_reloc(const struct elf *e, uint64_t addr)
{
	size_t at = BISECT(i, e->reloc.n, e->reloc.p[i].at < addr);
	return at < e->reloc.n && e->reloc.p[at].at == addr ? &e->reloc.p[at] : NULL;
}

uint64_t binary_elf_pointer(const struct elf *e, uint64_t addr)
{
	const struct reloc *r = binary_elf_reloc(e, addr);
	const uint8_t *p;
	uint64_t value = 0;
	if (r)
		return r->type == R_X86_64_RELATIVE ? (uint64_t)r->addend : 0;
	p = binary_elf_at(e, addr, sizeof value);
	if (p)
		memcpy(&value, p, sizeof value);
	return value;
}

bool binary_elf_symbol(const struct elf *e, const struct symbols *s, uint64_t i, void *sym)
{
	return i < s->n &&
	       binary_elf_read(e, s->off + i * sizeof(Elf64_Sym), sym, sizeof(Elf64_Sym));
}

const char *binary_elf_symbol_name(const struct elf *e, const struct symbols *s, uint32_t name)
{
	const char *p;
	if (name >= s->nstr || s->str > e->n || s->nstr > e->n - s->str)
		return NULL;
	p = (const char *)e->p + s->str + name;
	return memchr(p, 0, s->nstr - name) ? p : NULL;
}

int binary_elf_open(struct elf *e, const char *path, struct err *err)
{
	struct stat st;
	void *p = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	memset(e, 0, sizeof *e);
	if (fd < 0)
		return err_errno(err, EXIT_PROGRAM, "%s", path);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return err_set(err, EXIT_PROGRAM, "%s: not an x86-64 ELF file", path);
	e->p = p;
	e->n = (size_t)st.st_size;
	if (binary_elf_headers(e, err)) {
		binary_elf_close(e);
		return err_set(err, EXIT_PROGRAM, "%s: not an x86-64 ELF file", path);
	}
	return 0;
}

void binary_elf_close(struct elf *e)
{
	if (e->p)
		munmap((void *)e->p, e->n);
	VEC_FREE(&e->load);
	VEC_FREE(&e->text);
	VEC_FREE(&e->plt);
	VEC_FREE(&e->reloc);
	memset(e, 0, sizeof *e);
}
