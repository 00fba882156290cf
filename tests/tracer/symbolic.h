/* SPDX-License-Identifier: BSD-3-Clause */
/* What symbolic.c and the snippets that gen_symbolic.py writes have in common. */
#ifndef TESTS_TRACER_SYMBOLIC_H
#define TESTS_TRACER_SYMBOLIC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AREA_IN 64
#define AREA_SCRATCH 192

struct area {
	uint8_t in[AREA_IN]; /* symbolic */
	uint8_t scratch[AREA_SCRATCH];
	uint8_t table[512];
} __attribute__((aligned(64)));

typedef void asm_snippet(void);
extern asm_snippet *const snippets[];
extern const uint64_t nsnippets;

typedef uint64_t c_snippet(const uint8_t *in);
extern c_snippet *const c_plain[], *const c_optimised[]; /* ended by NULL */
extern uint8_t table[256];
const char *text(const uint8_t *in, int at); /* a part of the input, as a string */

#define GET(type, at)                                                                              \
	({                                                                                         \
		type get_;                                                                         \
		memcpy(&get_, in + (at), sizeof get_);                                             \
		get_;                                                                              \
	})

#endif
