/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside src/srcloc. Reading order: this file, srcloc.c (address spaces and the caches),
 * object.c (one ELF file), symbols.c (what its symbol table and linkage stubs say),
 * debuginfo.c (what its DWARF says), units.c (how it was compiled), path.c (call paths of a trace). What a statement assigns to:
 * lvalue.c (its text), expr.c (the type of an expression), scope.c (names), types.c (types).
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
const char *srcloc_pool_add(struct pool *, const char *);
void srcloc_pool_free(struct pool *);

/* [lo, hi) belongs to item `idx` of something. */
struct range {
	uint64_t lo, hi;
	size_t idx;
};
struct ranges {
	struct range *p;
	size_t n, cap;
};
void srcloc_ranges_sort(struct ranges *);
const struct range *srcloc_ranges_find(const struct ranges *, uint64_t at); /* NULL: none */

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
	struct hmap name;  /* address of a DIE -> the function's name */
	struct hmap takes; /* … -> what it takes */
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
	struct hmap tail;  /* address and function -> jump, tail.c */
	VEC(struct answer *) answers;
};
struct answer {
	size_t n;
	struct srcloc_frame frame[];
};
struct object *srcloc_object_new(struct store *, const char *path, const uint8_t *build_id,
				 size_t len);
void srcloc_object_free(struct object *);
/* The frames of what lies at `offset` in the file. */
const struct answer *srcloc_object_at(struct object *, uint64_t offset);
bool srcloc_object_is_code(const struct object *, uint64_t addr);

/* What address spaces share. */
struct store {
	unsigned refs;
	struct pool pool;
	VEC(struct object *) objects;
	struct hmap object_at; /* hash of path and build-id -> index */
	struct hmap type_at;   /* address of a DIE -> struct srcloc_type * */
	VEC(struct srcloc_type *) types;
	char *debug_path; /* in libdwfl's terms */
	Dwfl_Callbacks callbacks;
};
const char *srcloc_demangle(struct store *, const char *name);
/* rust.c: of a C++ name that rustc has made, what it stands for, without its hash. */
void srcloc_rust_name(char *name);
/* rust_v0.c: what a name of rustc's other kind stands for. False: it is none. */
bool srcloc_rust_v0(const char *name, char *out, size_t room);
const Dwfl_Callbacks *srcloc_callbacks(
	const struct srcloc *); /* where debug files are looked for */

const char *srcloc_symbols_at(struct object *, uint64_t addr);
/* Is there a linkage stub? Then *name is that of the function it leads to, or NULL. */
bool srcloc_symbols_plt(struct object *, uint64_t addr, const char **name);
void srcloc_symbols_free(struct symbols *);

/* Adds the frames that the debug information has for addr; none if it has nothing to say. */
typedef VEC(struct srcloc_frame) frame_vec;
void srcloc_debuginfo_at(struct object *, uint64_t addr, frame_vec *);
bool srcloc_debuginfo_function(struct object *, uint64_t addr,
			       Dwarf_Die *fn); /* the whole function */
void srcloc_debuginfo_free(struct debuginfo *);
/* tail.c: the jump by which the function around addr went to function `to` instead of calling it; 0: not known. */
uint64_t srcloc_object_tail(struct object *, uint64_t addr, const char *to);

/* prototype.c: enum srcloc_takes of a function or of an inlined call of it. */
uint8_t srcloc_prototype(struct debuginfo *, Dwarf_Die *fn);

/* ---- names and types ---- */

/* What can be seen from an instruction: in its function, or one inlined there, and outside. */
struct scope {
	struct object *obj;
	Dwarf_Die unit, fn; /* the function: a subprogram or an inlined call */
	uint64_t pc;
};
/* level: number of the frame, the innermost inlined one being 0. */
bool srcloc_debuginfo_scope(struct object *, uint64_t addr, size_t level, struct scope *);
/* A name as it stands in the source. */
struct word {
	const char *p;
	size_t n;
};
/* The type of a variable, or what a function returns (no type: void). */
bool srcloc_scope_variable(const struct scope *, struct word name, Dwarf_Die *type);
bool srcloc_scope_function(const struct scope *, struct word name, Dwarf_Die *type);
/* "struct NAME", "union NAME" (tagged), or the name of a typedef, class or base type. */
bool srcloc_scope_type(const struct scope *, struct word name, bool tagged, Dwarf_Die *);

/* A type is a DIE, whose addr is NULL for void and what nobody knows. */
bool srcloc_die_of(Dwarf_Die *die, Dwarf_Die *type); /* of a variable, member, pointer, … */
Dwarf_Die srcloc_die_peel(Dwarf_Die type);           /* without typedefs and qualifiers */
bool srcloc_die_is_struct(Dwarf_Die *peeled);        /* or a union or class */
uint64_t srcloc_die_size(Dwarf_Die *type);
#define TYPE_DIMENSIONS 8
/* How many dimensions, and their elements; 0: nobody knows. */
unsigned srcloc_die_dimensions(Dwarf_Die *array, uint64_t dimension[TYPE_DIMENSIONS]);
uint64_t srcloc_die_count(Dwarf_Die *array); /* of all dimensions together */
const char *srcloc_die_name(struct object *, Dwarf_Die type, unsigned stars);
enum srcloc_encoding srcloc_die_encoding(Dwarf_Die type);
/* The member of that name, in anonymous ones and bases too; adds its offset. */
bool srcloc_die_member(Dwarf_Die *peeled, struct word name, Dwarf_Die *type, uint64_t *offset);

struct srcloc_type {
	struct object *obj;
	Dwarf_Die die; /* maybe by the name of a typedef */
};
const struct srcloc_type *srcloc_cached_type(struct object *, Dwarf_Die die);

/* An expression: its type, and where in a struct it lies. */
struct value {
	Dwarf_Die type;
	unsigned stars;      /* pointers that casts have added to the type */
	Dwarf_Die base;      /* struct that the path begins in; addr NULL: none */
	uint64_t offset;     /* from the beginning of base */
	uint64_t elements;   /* an element of an array, nobody knows which of so many */
	unsigned subscripts; /* of how many dimensions of the type, an array, there was one */
	char path[256];      /* "head.slot[3].key" */
	bool memory;         /* a pointer led there */
	bool address;        /* it is the address of what all this describes */
};
struct token {
	enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_LITERAL, TOKEN_SIGN } kind;
	struct word text;
};
bool srcloc_token_is(const struct token *, const char *sign);
/* The value of the expression that begins at *at and ends before `end`; *at is moved behind it. */
bool srcloc_expr_value(const struct scope *, const struct token *, size_t *at, size_t end,
		       struct value *);
/* What the value, a pointer or an array, points to. */
bool srcloc_expr_pointee(struct value *);

bool srcloc_object_lvalue(struct object *, uint64_t addr, size_t level, const char *statement,
			  struct srcloc_lvalue *);

#endif
