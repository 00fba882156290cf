/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that do not come back. What follows them in memory is something else's code, and must not
 * count as what happens next.
 *
 * A function returns if its entry can reach a return; going past a call needs that the callee returns.
 * Found backwards from the returns: a block that ends with a call is reached when both the block
 * after it and its callee are. What is never reached does not return: exit() and its like, which are
 * known by name, and whatever always ends there.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/internal.h"

enum {
	RETURNS = 1,    /* a return can be reached */
	GOES_ON = 2,    /* … from one of its ways on */
	COMES_BACK = 4, /* … by what it calls */
	NEVER = 8,      /* by name */
};

struct reverse {
	uint32_t *first, *from; /* who leads to a block; ~i: by calling it */
};

bool binary_noreturn_name(const char *name)
{
	static const char *const names[] = {
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"abort",
		"__assert_fail",
		"__assert",
		"__assert_perror_fail",
		"__stack_chk_fail",
		"__fortify_fail",
		"__chk_fail",
		"longjmp",
		"siglongjmp",
		"_longjmp",
		"__longjmp_chk",
		"pthread_exit",
		"err",
		"errx",
		"verr",
		"verrx",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"_Unwind_Resume",
		"__cxa_call_unexpected",
		"__cxa_pure_virtual",
		"_ZSt9terminatev",
		"_ZSt10unexpectedv",
		"__clang_call_terminate",
		"__libc_start_main",
		"__libc_fatal",
		"__ubsan_handle_builtin_unreachable",
		"rust_panic",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	/* std::__throw_bad_alloc() and its like */
	return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}

static void mark_named(struct binary *b, uint8_t *is)
{
	for (size_t i = 0; i < b->func.n; i++) {
		uint32_t at = binary_block_from(b, b->func.p[i].pos);
		if (at != NONE && binary_noreturn_name(b->names.p + b->func.p[i].name))
			is[at] |= NEVER;
	}
}

/* Whether the block's call leads to something that is known by name. */
static bool calls_named(const struct binary *b, const uint8_t *is, const struct block *block)
{
	if (block->call == BLOCK_IMPORT)
		return binary_noreturn_name(b->names.p + b->import.p[block->callee]);
	return block->call == BLOCK_CALLS && (is[block->callee] & NEVER);
}

/* Nothing that matters happens in exit() any more, nor after it. */
static void cut_named(struct binary *b, const uint8_t *is)
{
	for (size_t i = 0; i < b->block.n; i++) {
		struct block *block = &b->block.p[i];
		if (!calls_named(b, is, block))
			continue;
		if (!block->tail)
			block->nedge = 0; /* of a conditional tail call, the other way remains */
		block->call = BLOCK_NO_CALL;
		block->callee = NONE;
	}
}

static void each_way(const struct binary *b, uint32_t i, struct reverse *r, bool fill)
{
	const struct block *block = &b->block.p[i];
	for (uint32_t k = 0; k < block->nedge; k++) {
		uint32_t to = b->edge.p[block->edge + k];
		if (fill)
			r->from[--r->first[to]] = i;
		else
			r->first[to]++;
	}
	if (block->call != BLOCK_CALLS)
		return;
	if (fill)
		r->from[--r->first[block->callee]] = ~i;
	else
		r->first[block->callee]++;
}

static struct reverse turn_round(const struct binary *b)
{
	size_t n = b->block.n;
	struct reverse r = { .first = xcalloc(n + 2, sizeof *r.first) };
	for (uint32_t i = 0; i < n; i++)
		each_way(b, i, &r, false);
	for (size_t i = 1; i <= n; i++)
		r.first[i] += r.first[i - 1];
	r.from = xcalloc(r.first[n] + 1, sizeof *r.from);
	for (uint32_t i = 0; i < n; i++)
		each_way(b, i, &r, true);
	return r;
}

/* Whether the block itself ends in a return, or somewhere unknown that may return. */
static bool ends_well(const struct block *block, uint8_t last)
{
	switch (last) {
	case INSN_RET: return true;
	case INSN_JUMP_IMPORT: return block->call == BLOCK_IMPORT;
	case INSN_JUMP_UNKNOWN:
	case INSN_PLAIN:
	case INSN_COND: return !block->nedge && block->call != BLOCK_CALLS;
	case INSN_JUMP:
		return !block->nedge &&
		       (block->call == BLOCK_UNKNOWN || block->call == BLOCK_IMPORT);
	default: return false;
	}
}

static void spread(const struct binary *b, const struct reverse *r, uint8_t *is,
		   const uint8_t *last)
{
	VEC(uint32_t) work = { 0 };
	for (uint32_t i = 0; i < b->block.n; i++) {
		const struct block *block = &b->block.p[i];
		if (block->call != BLOCK_CALLS || block->tail)
			is[i] |= COMES_BACK;
		if (ends_well(block, last[i]) && !(is[i] & NEVER)) {
			is[i] |= RETURNS;
			VEC_PUSH(&work, i);
		}
	}
	while (work.n) {
		uint32_t at = work.p[--work.n];
		for (uint32_t k = r->first[at]; k < r->first[at + 1]; k++) {
			bool calls = r->from[k] >> 31;
			uint32_t from = calls ? ~r->from[k] : r->from[k];
			is[from] |= calls && !b->block.p[from].tail ? COMES_BACK : GOES_ON;
			if ((is[from] & (COMES_BACK | GOES_ON)) == (COMES_BACK | GOES_ON) &&
			    !(is[from] & (RETURNS | NEVER))) {
				is[from] |= RETURNS;
				VEC_PUSH(&work, from);
			}
		}
	}
	VEC_FREE(&work);
}

void binary_noreturn_cut(struct binary *b, const uint8_t *last)
{
	uint8_t *is = xcalloc(b->block.n + 1, 1);
	struct reverse r;
	mark_named(b, is);
	cut_named(b, is);
	r = turn_round(b);
	spread(b, &r, is, last);
	for (size_t i = 0; i < b->block.n; i++) {
		struct block *block = &b->block.p[i];
		if (block->call == BLOCK_CALLS && !block->tail && !(is[block->callee] & RETURNS))
			block->nedge = 0;
	}
	free(r.first);
	free(r.from);
	free(is);
}
