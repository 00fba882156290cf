/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ELF file: opened when first asked about, and what is known of each address in it.
 *
 * libdwfl does the finding: separate debug files by build-id or .gnu_debuglink, their dwz
 * supplements, and the compressed symbol tables some distributions ship. Each object is the
 * one module of its own Dwfl, with no bias, so that addresses are those in the file.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "srcloc/internal.h"

struct object *srcloc_object_new(struct store *store, const char *path, const uint8_t *build_id,
				 size_t len)
{
	struct object *obj = xcalloc(1, sizeof *obj);
	obj->store = store;
	obj->path = srcloc_pool_add(&store->pool, path);
	obj->build_id_len = len < sizeof obj->build_id ? len : sizeof obj->build_id;
	if (obj->build_id_len)
		memcpy(obj->build_id, build_id, obj->build_id_len);
	return obj;
}

void srcloc_object_free(struct object *obj)
{
	for (size_t i = 0; i < obj->answers.n; i++)
		free(obj->answers.p[i]);
	VEC_FREE(&obj->answers);
	hmap_free(&obj->cache);
	hmap_free(&obj->tail);
	srcloc_symbols_free(&obj->symbols);
	srcloc_debuginfo_free(&obj->debug);
	VEC_FREE(&obj->segment);
	if (obj->dwfl)
		dwfl_end(obj->dwfl);
	free(obj);
}

static bool same_build_id(const struct object *obj)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(obj->mod, &id, &at);
	if (!obj->build_id_len)
		return true; /* none was recorded: trust the path */
	return len > 0 && (size_t)len >= obj->build_id_len &&
	       !memcmp(id, obj->build_id, obj->build_id_len);
}

/* Keeps the executable segments, rounded down to the page as the loader maps them. */
static void read_segments(struct object *obj)
{
	size_t n = 0;
	if (elf_getphdrnum(obj->elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		if (!gelf_getphdr(obj->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X))
			continue;
		uint64_t slack = ph.p_offset % 4096;
		struct range r = { ph.p_offset - slack, ph.p_offset + ph.p_filesz,
				   ph.p_vaddr - slack };
		if (r.hi > r.lo)
			VEC_PUSH(&obj->segment, r);
	}
	srcloc_ranges_sort(&obj->segment);
}

/* The file, opened; -1 if it is no regular file (a path may name a pipe by now). */
static int open_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static enum object_state object_open(struct object *obj)
{
	int fd = open_file(obj->path);
	GElf_Addr bias;
	GElf_Ehdr eh;
	if (fd < 0)
		return OBJECT_MISSING;
	obj->dwfl = dwfl_begin(&obj->store->callbacks);
	if (obj->dwfl)
		obj->mod = dwfl_report_elf(obj->dwfl, obj->path, obj->path, fd, 0, true);
	if (!obj->mod) {
		close(fd); /* otherwise it is libdwfl's now */
		return OBJECT_MISSING;
	}
	dwfl_report_end(obj->dwfl, NULL, NULL);
	if (!same_build_id(obj))
		return OBJECT_STALE;
	obj->elf = dwfl_module_getelf(obj->mod, &bias);
	if (!obj->elf || !gelf_getehdr(obj->elf, &eh) ||
	    (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
		return OBJECT_MISSING;
	read_segments(obj);
	return OBJECT_READY;
}

bool srcloc_object_is_code(const struct object *obj, uint64_t addr)
{
	for (size_t i = 0; i < obj->segment.n; i++) {
		const struct range *r = &obj->segment.p[i];
		if (addr >= r->idx && addr - r->idx < r->hi - r->lo)
			return true;
	}
	return false;
}

/* A linkage stub, or what the debug information says, or the symbol table, or nothing. */
static void find_frames(struct object *obj, uint64_t addr, frame_vec *out)
{
	struct srcloc_frame bare = { .offset = addr };
	if (srcloc_symbols_plt(obj, addr, &bare.function)) {
		bare.plt = true;
		VEC_PUSH(out, bare);
		return;
	}
	srcloc_debuginfo_at(obj, addr, out);
	if (!out->n)
		VEC_PUSH(out, bare);
	struct srcloc_frame *outermost = &out->p[out->n - 1];
	if (!outermost->function) /* assembly has lines but no functions */
		outermost->function = srcloc_symbols_at(obj, addr);
}

const struct answer *srcloc_object_at(struct object *obj, uint64_t offset)
{
	frame_vec found = { 0 };
	uint64_t old;
	if (hmap_get(&obj->cache, offset, &old))
		return (struct answer *)(uintptr_t)old;
	if (obj->state == OBJECT_NEW)
		obj->state = object_open(obj);
	const struct range *seg = srcloc_ranges_find(&obj->segment, offset);
	uint64_t addr = seg ? offset - seg->lo + seg->idx : offset;
	if (seg)
		find_frames(obj, addr, &found);
	else
		VEC_PUSH(&found, (struct srcloc_frame){ 0 });

	struct answer *a = xcalloc(1, sizeof *a + found.n * sizeof a->frame[0]);
	a->n = found.n;
	for (size_t i = 0; i < found.n; i++) {
		a->frame[i] = found.p[i];
		a->frame[i].module = obj->path;
		a->frame[i].offset = addr;
		a->frame[i].inlined = i + 1 < found.n;
	}
	VEC_FREE(&found);
	hmap_put(&obj->cache, offset, (uintptr_t)a);
	VEC_PUSH(&obj->answers, a);
	return a;
}
