/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this folder share: an ELF file as it is read, and a decoded file.
 *
 * All code of a file is laid end to end: a *position* is an index into that, so that code
 * addresses fit 32 bits and a bitmap with one bit a byte says where instructions begin.
 *
 * A *unit* is a set of blocks that jumps connect: a function with its cold part, say. Calls lead from
 * unit to unit, and so do jumps to the entry of another function (tail calls).
 */
#ifndef HOLDFAST_BINARY_INTERNAL_H
#define HOLDFAST_BINARY_INTERNAL_H

#include "binary/binary.h"

#define NONE UINT32_MAX

/* ---- elf.c: bytes of a file, never believed ---- */
struct load {
	uint64_t addr, off, len; /* len: what is in the file */
	uint64_t code; /* not 0: executable. No padding: it goes into the cache as it is */
};

struct text {
	uint64_t addr;
	uint32_t len, pos;
};

struct reloc {
	uint64_t at;
	uint32_t type, symbol;
	int64_t addend;
};

struct symbols {
	uint64_t off, n; /* in the file: Elf64_Sym[n] */
	uint64_t str, nstr;
};

struct elf {
	const uint8_t *p;
	size_t n;
	uint64_t entry;
	VEC(struct load) load;
	VEC(struct text) text;
	VEC(struct text) plt; /* pos: size of an entry */
	struct symbols symtab, dynsym;
	VEC(struct reloc) reloc;  /* by `at` */
	uint64_t frames, nframes; /* offset and length of .eh_frame */
	uint8_t id[64];           /* build-id */
	size_t nid;
	bool libc, linker;
};
int binary_elf_open(struct elf *, const char *path, struct err *);
void binary_elf_close(struct elf *);
const uint8_t *binary_elf_at(const struct elf *, uint64_t addr,
			     size_t n); /* NULL: not in the file */
const struct reloc *binary_elf_reloc(const struct elf *, uint64_t addr);
/* The pointer that the loader leaves there; 0: unknown. */
uint64_t binary_elf_pointer(const struct elf *, uint64_t addr);
/* Name of a symbol; NULL: out of bounds. */
const char *binary_elf_symbol_name(const struct elf *, const struct symbols *, uint32_t name);
bool binary_elf_symbol(const struct elf *, const struct symbols *, uint64_t i,
		       void *sym); /* Elf64_Sym */

/* elf_load.c: what binary_elf_open reads from program headers, sections and the dynamic table */
int binary_elf_headers(struct elf *, struct err *);
bool binary_elf_read(const struct elf *, uint64_t off, void *to, size_t n);

/* frames.c: each function range of .eh_frame */
void binary_frames_each(const struct elf *, void (*each)(void *, uint64_t addr, uint64_t len),
			void *);

/* ---- a decoded file ---- */
enum {
	FUNC_GUESSED = 1, /* neither a symbol nor unwind information: code between functions */
	FUNC_QUIET = 2,   /* copies any memory: PM only when it was seen so */
};

struct func {
	uint32_t pos, len, name, flags; /* name: offset in names */
};

enum block_call {
	BLOCK_NO_CALL,
	BLOCK_CALLS,   /* callee is a block */
	BLOCK_IMPORT,  /* callee is an import */
	BLOCK_UNKNOWN, /* only learnt targets */
};

struct block {
	uint32_t pos, len;
	uint32_t edge, nedge; /* blocks that it goes on to */
	uint32_t callee;
	uint32_t unit;
	uint8_t call; /* what its last instruction calls */
	uint8_t tail; /* … without coming back: one of its ways on */
	uint8_t pad[2];
};

struct export
{
	uint32_t name, block;
};

struct binary {
	uint64_t id; /* hash of the file */
	uint32_t ncode, nunit, ninsn, npm;
	uint32_t flags;
	char build_id[129];
	VEC(struct load) load;
	VEC(struct text) text;
	uint64_t *code; /* bit a position: an instruction begins */
	uint64_t *pm;   /* … a flush, fence or non-temporal store */
	VEC(struct func) func;
	VEC(struct block) block;
	VEC(uint32_t) edge;
	VEC(uint32_t) import; /* names */
	VEC(struct export) export;
	struct buf names;
	struct binary_function *shown; /* as others see func */
};

enum {
	BINARY_LIBC = 1,
	BINARY_LINKER = 2, /* calls everything on behalf of others: not followed */
};

#define BITS_WORDS(n) (((size_t)(n) + 63) / 64)

static inline bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= (uint64_t)1 << i % 64;
}

uint32_t binary_pos(const struct binary *, uint64_t addr); /* NONE: no code */
uint64_t binary_addr(const struct binary *, uint32_t pos);
uint32_t binary_func_of(const struct binary *, uint32_t pos);          /* index; NONE: in none */
uint32_t binary_block_of(const struct binary *, uint32_t pos);         /* the block that holds it */
uint32_t binary_block_from(const struct binary *, uint32_t pos);       /* that begins there */
uint32_t binary_last_pos(const struct binary *, const struct block *); /* its last instruction */
uint8_t *binary_code_bytes(const struct elf *, const struct binary *); /* end to end; xmalloc'ed */
void binary_show(struct binary *);                                     /* fills shown */
void binary_drop(struct binary *);                                     /* frees what it points to */

/* ---- decoding ---- */
enum insn_kind {
	INSN_NONE,
	INSN_INSIDE, /* not the first byte of one */
	INSN_PLAIN,
	INSN_COND,
	INSN_JUMP,
	INSN_JUMP_IMPORT,
	INSN_JUMP_UNKNOWN,
	INSN_CALL,
	INSN_CALL_IMPORT,
	INSN_CALL_UNKNOWN,
	INSN_RET,
	INSN_STOP, /* does not go on: ud2, hlt */
	INSN_BAD,
};

struct insn {
	uint32_t pos;
	uint32_t target; /* position or import */
	uint8_t len, kind, pm;
};

/* One more way on of the jump that ends at a position: a jump table's. */
struct way {
	uint32_t from, to;
};

struct decoder; /* Zydis, behind decode.c */
struct build {
	struct elf *elf;
	struct binary *out;
	const uint8_t *bytes;  /* all code, by position */
	VEC(struct insn) insn; /* by position */
	VEC(struct way) way;   /* by `from` */
	struct hmap import_of; /* symbol → import + 1 */
	struct decoder *decoder;
	/* the function at work */
	struct func at;
	uint64_t addr;     /* of its first byte */
	struct insn *slot; /* one a byte */
	size_t nslot;
	VEC(uint32_t) work; /* positions to decode from */
	VEC(uint32_t) unknown_jumps;
};

void binary_symbols_functions(struct build *);
void binary_decode_start(struct build *);
void binary_decode_end(struct build *);
void binary_decode_function(struct build *, const struct func *);
bool binary_decode_is_padding(struct build *, uint32_t pos, uint32_t end, uint32_t *len);
void binary_table_resolve(struct build *, uint32_t jump); /* adds ways, and what to decode */
void binary_graph_build(struct build *); /* blocks, edges, units from insn and way */
bool binary_noreturn_name(const char *);
/* Takes away the ways on after calls that do not come back; `last`: kind of each block's last. */
void binary_noreturn_cut(struct binary *, const uint8_t *last);

/* ---- cache.c ---- */
struct fact {
	uint64_t kind;     /* 'p' store into PM, 'c' call, 'j' jump */
	uint64_t file, at; /* id and address */
	uint64_t to_file, to;
};
typedef VEC(struct fact) fact_vec;
bool binary_cache_load(struct binary *, const char *folder); /* by build_id and id */
void binary_cache_save(const struct binary *, const char *folder);
void binary_cache_load_facts(fact_vec *, const char *folder, uint64_t program);
void binary_cache_save_facts(const fact_vec *, const char *folder, uint64_t program);

#endif
