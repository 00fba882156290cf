/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GNU build-id of an ELF file: program headers, then the notes in PT_NOTE segments. A
 * trace keeps it with the module's path, so that symbols are later taken from the same
 * build or from none. Every count and size in the file is bounded before it is used.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/internal.h"

#define MAX_HEADERS 512u
#define MAX_NOTES 65536u

static bool read_exact(int fd, void *to, size_t n, uint64_t off)
{
	return off <= INT64_MAX - n && pread(fd, to, n, (off_t)off) == (ssize_t)n;
}

static size_t pad4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static size_t find_in_notes(const uint8_t *p, size_t n, uint8_t id[32])
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t name, desc;
		memcpy(&h, p, sizeof h);
		p += sizeof h;
		n -= sizeof h;
		name = pad4(h.n_namesz);
		desc = pad4(h.n_descsz);
		if (h.n_namesz > n || name > n || h.n_descsz > n - name)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p, "GNU", 4) &&
		    h.n_descsz > 0 && h.n_descsz <= 32) {
			memcpy(id, p + name, h.n_descsz);
			return h.n_descsz;
		}
		if (desc > n - name)
			return 0;
		p += name + desc;
		n -= name + desc;
	}
	return 0;
}

static size_t find_in_file(int fd, uint8_t id[32])
{
	Elf64_Ehdr eh;
	size_t found = 0;
	if (!read_exact(fd, &eh, sizeof eh, 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr) ||
	    eh.e_phnum > MAX_HEADERS)
		return 0;
	for (unsigned i = 0; !found && i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		uint8_t *notes;
		if (!read_exact(fd, &ph, sizeof ph, eh.e_phoff + i * sizeof ph))
			return 0;
		if (ph.p_type != PT_NOTE || !ph.p_filesz || ph.p_filesz > MAX_NOTES)
			continue;
		notes = xmalloc(ph.p_filesz);
		if (read_exact(fd, notes, ph.p_filesz, ph.p_offset))
			found = find_in_notes(notes, ph.p_filesz, id);
		free(notes);
	}
	return found;
}

size_t trace_build_id(const char *path, uint8_t id[32])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		n = find_in_file(fd, id);
	close(fd);
	return n;
}
