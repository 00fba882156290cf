/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The static view of a program: functions and control flow of its ELF files, and how much
 * persistent memory can still be modified from each instruction on.
 *
 * Addresses here are an ELF file's own (link-time) addresses; a view of a running program knows where
 * each file is loaded and takes addresses as the program sees them.
 *
 * The priority of an instruction is 1 if it modifies PM (a flush, a fence, a non-temporal store,
 * a store that was seen to hit PM, or whose address may come from there: flow.h), plus the largest priority reachable from it: along its function,
 * with cycles collapsed (all that is in a cycle counts once), and, at a call, what the callee can
 * do plus what follows the call.
 */
#ifndef HOLDFAST_BINARY_BINARY_H
#define HOLDFAST_BINARY_BINARY_H

#include "base/base.h"

/* ---- one file ---- */
struct binary;
/* Decodes all functions. NULL and err: not an x86-64 ELF file. `cache` is a folder, or NULL. */
struct binary *binary_open(const char *path, const char *cache, struct err *err);
void binary_free(struct binary *);

struct binary_function {
	uint64_t addr, size;
	const char *name; /* "sub_1234" if it has none */
};
size_t binary_functions(const struct binary *);
const struct binary_function *binary_function(const struct binary *, size_t i);
const struct binary_function *binary_function_at(const struct binary *, uint64_t addr);
size_t binary_blocks(const struct binary *);               /* basic blocks */
size_t binary_instructions(const struct binary *);         /* decoded */
size_t binary_pm_instructions(const struct binary *);      /* flushes, fences and NT stores */
bool binary_is_code(const struct binary *, uint64_t addr); /* an instruction begins there */

/* ---- one function, without decoding its file ---- */
enum binary_writes { BINARY_WRITES_UNKNOWN, BINARY_WRITES_NO, BINARY_WRITES_YES };
/* Does the function that holds addr store through a pointer: neither to its stack nor to a variable? */
enum binary_writes binary_writes_through_pointer(const char *path, uint64_t addr);

/* ---- any flow graph ---- */
struct binary_way {
	uint32_t from, to;
};
/* Node i depends on the nodes on[first[i] .. first[i + 1]), which are sorted. */
struct binary_control {
	uint32_t *first, *on;
};
/* Of `n` nodes and the ways between them. A node without a way on leads out, as does a way to n. */
void binary_control(uint32_t n, const struct binary_way *way, size_t nways,
		    struct binary_control *);
void binary_control_free(struct binary_control *);

/* ---- a program: several files at their places ---- */
struct binary_view;
struct binary_view *binary_view_new(const char *cache);
void binary_view_free(struct binary_view *);
/* The file is mapped at [addr, addr+len) from this offset on. Files that are no ELF are ignored. */
void binary_view_load(struct binary_view *, const char *path, uint64_t addr, uint64_t len,
		      uint64_t offset);
/* Learnt from a run. True: it was new, so priorities may have changed. */
bool binary_view_saw_pm(struct binary_view *, uint64_t ip); /* the store at ip hit PM */
/* The same, with the call instructions that led there, innermost first: when the C library's
 * memcpy() and its like write PM, it is the program's call that counts as modifying it. */
bool binary_view_saw_pm_in(struct binary_view *, uint64_t ip, const uint64_t *calls, size_t n);
/* PM was mapped in these calls, innermost first: what they return may be its address. */
bool binary_view_saw_map(struct binary_view *, const uint64_t *calls, size_t n);
bool binary_view_saw_call(struct binary_view *, uint64_t ip, uint64_t target);
bool binary_view_saw_jump(struct binary_view *, uint64_t ip, uint64_t target);
/* Brings priorities up to date; cheap when nothing was learnt. */
void binary_view_update(struct binary_view *);
/* From this instruction to the end of its function. 0 for unknown addresses. */
uint32_t binary_view_priority(const struct binary_view *, uint64_t ip);
/* The same, going on in the callers: `calls` are the call instructions, innermost first. */
uint32_t binary_view_priority_in(const struct binary_view *, uint64_t ip, const uint64_t *calls,
				 size_t n);
bool binary_view_modifies_pm(const struct binary_view *, uint64_t ip);
enum binary_mark {
	BINARY_NOT,
	BINARY_MAY, /* a store that no run has seen to hit PM, whose address may come from there */
	BINARY_PM,  /* it modifies PM */
};
enum binary_mark binary_view_mark(const struct binary_view *, uint64_t ip);
/* The basic block that holds ip: [lo, hi). False: unknown. */
bool binary_view_block(const struct binary_view *, uint64_t ip, uint64_t *lo, uint64_t *hi);
/* Totals, for the live line: basic blocks and PM-modifying instructions of the first file loaded. */
size_t binary_view_blocks(const struct binary_view *);
size_t binary_view_pm(const struct binary_view *);
/*
 * Control dependence (control.c). Blocks have numbers in a view. The blocks whose last instruction decides
 * whether a block is executed, directly: those that it depends on. Returns how many, at most `max`.
 */
#define BINARY_NO_BLOCK UINT64_MAX
uint64_t binary_view_block_number(const struct binary_view *, uint64_t ip);
size_t binary_view_controls(struct binary_view *, uint64_t block, uint64_t *out, size_t max);
/*
 * Loops (loop.c). The outermost loop of its function that an instruction is in, by the number of the block in which all its
 * rounds begin. BINARY_NO_BLOCK: it is in none, or that has no such block.
 */
uint64_t binary_view_loop(const struct binary_view *, uint64_t ip);
/* Two instructions of a loop were executed, and none of `seen` in between. In one round of it? */
enum binary_round {
	BINARY_ROUND_SAME,  /* for sure */
	BINARY_ROUND_MAYBE, /* both can be */
	BINARY_ROUND_NEXT,  /* the second was in a later one */
};
enum binary_round binary_view_round(const struct binary_view *, uint64_t from, uint64_t to,
				    const uint64_t *seen, size_t n);
/* All instructions of the first file with their priorities, by address. */
void binary_view_each(const struct binary_view *,
		      void (*each)(void *, uint64_t ip, uint32_t priority, enum binary_mark),
		      void *);

#endif
