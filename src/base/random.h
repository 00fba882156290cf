/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SplitMix64: a generator with 64 bits of state, for which any seed will do. The same numbers come
 * out each time. Also for the tracer, which has no libc: an inline function only.
 */
#ifndef HOLDFAST_BASE_RANDOM_H
#define HOLDFAST_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif
