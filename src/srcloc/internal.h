/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside src/srcloc. Reading order: this file, srcloc.c (address spaces and the caches),
 * object.c (one ELF file), symbols.c (what its symbol table and linkage stubs say),
 * debuginfo.c (what its DWARF says), path.c (call paths of a trace).
 *
 *	srcloc ── imap ──▶ mapping ──▶ object ── cache ──▶ frames of one address
 *	   │                             ▲
 *	   └───── shared: ─── store ─────┘  all objects, all strings
 */
#ifndef HOLDFAST_SRCLOC_INTERNAL_H
#define HOLDFAST_SRCLOC_INTERNAL_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "srcloc/srcloc.h"

/* Strings that live as long as the store; equal strings are the same pointer. */
struct pool {
	struct hmap at; /* hash -> pointer */
	VEC(char *) all;
};
const char *pool_add(struct pool *, const char *);
void pool_free(struct pool *);

/* [lo, hi) belongs to item `idx` of something. */
struct range {
	uint64_t lo, hi;
	size_t idx;
};
struct ranges {
	struct range *p;
	size_t n, cap;
};
void ranges_sort(struct ranges *);
const struct range *ranges_find(const struct ranges *, uint64_t at); /* NULL: none */

/* A symbol table, sorted by address, one name an address. */
struct symbol {
	uint64_t addr, size; /* size 0: up to the next symbol */
	const char *name;    /* as in the file; lives as long as the Dwfl */
	uint8_t rank;        /* the higher the better, among names of one address */
};
struct symbols {
	VEC(struct symbol) sym;
	struct ranges plt; /* sections of linkage stubs; idx is the section's number */
	struct hmap got;   /* address of a GOT slot -> name, as a pointer */
	struct hmap nth;   /* n-th relocation of .rela.plt -> name */
	bool loaded;
};

/* A compilation unit, its line table and its functions, read when first needed. */
struct unit {
	Dwarf_Die die;   /* holds the line table */
	Dwarf_Die scope; /* holds the functions: the same, or that of a split unit */
	Dwarf_Lines *lines;
	size_t nlines;
	VEC(Dwarf_Die) fn;
	struct ranges fn_at; /* idx into fn */
	bool loaded;
};
struct debuginfo {
	Dwarf *dw;     /* NULL: there is none */
	uint64_t bias; /* address in the object - bias = address in the DWARF */
	VEC(struct unit) unit;
	struct ranges unit_at;
	struct hmap name; /* address of a DIE -> the function's name */
	bool loaded;
};

enum object_state {
	OBJECT_NEW, /* not yet opened */
	OBJECT_READY,
	OBJECT_MISSING, /* no such file, or not an ELF file */
	OBJECT_STALE,   /* has another build-id than the recorded one */
};

/* An ELF file as it was when the program ran: its path and build-id are its identity. */
struct object {
	struct store *store;
	const char *path;
	uint8_t build_id[32];
	size_t build_id_len;
	enum object_state state;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	struct ranges segment; /* file offsets of executable segments; idx: their address */
	struct symbols symbols;
	struct debuginfo debug;
	struct hmap cache; /* offset in the file -> struct answer * */
	VEC(struct answer *) answers;
};
struct answer {
	size_t n;
	struct srcloc_frame frame[];
};
struct object *object_new(struct store *, const char *path, const uint8_t *build_id, size_t len);
void object_free(struct object *);
/* The frames of what lies at `offset` in the file. */
const struct answer *object_at(struct object *, uint64_t offset);
bool object_is_code(const struct object *, uint64_t addr);

/* What address spaces share. */
struct store {
	unsigned refs;
	struct pool pool;
	VEC(struct object *) objects;
	struct hmap object_at; /* hash of path and build-id -> index */
	char *debug_path;      /* in libdwfl's terms */
	Dwfl_Callbacks callbacks;
};
const char *store_demangle(struct store *, const char *name);

const char *symbols_at(struct object *, uint64_t addr);
/* Is there a linkage stub? Then *name is that of the function it leads to, or NULL. */
bool symbols_plt(struct object *, uint64_t addr, const char **name);
void symbols_free(struct symbols *);

/* Adds the frames that the debug information has for addr; none if it has nothing to say. */
typedef VEC(struct srcloc_frame) frame_vec;
void debuginfo_at(struct object *, uint64_t addr, frame_vec *);
void debuginfo_free(struct debuginfo *);

#endif
