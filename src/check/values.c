/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run has stored so far, by location, for plug-ins that ask for values. */
#include <stdlib.h>

#include "check/internal.h"

#define PAGE 4096u

struct page {
	uint8_t byte[PAGE], known[PAGE / 8];
};

static struct page *page_of(struct hmap *values, uint64_t loc, bool make)
{
	uint64_t found;
	if (hmap_get(values, loc / PAGE, &found))
		return (struct page *)(uintptr_t)found;
	if (!make)
		return NULL;
	struct page *p = xcalloc(1, sizeof *p);
	hmap_put(values, loc / PAGE, (uint64_t)(uintptr_t)p);
	return p;
}

/* The bits [from, from+n). */
static void set_bits(uint8_t *bits, size_t from, size_t n)
{
	for (size_t i = from; i < from + n;) {
		size_t left = from + n - i, room = 8 - i % 8, take = left < room ? left : room;
		bits[i / 8] |= (uint8_t)((0xffu >> (8 - take)) << (i % 8));
		i += take;
	}
}

void check_values_put(struct hmap *values, uint64_t loc, const uint8_t *data, size_t n)
{
	while (n) {
		struct page *p = page_of(values, loc, true);
		size_t at = loc % PAGE, piece = PAGE - at < n ? PAGE - at : n;
		memcpy(p->byte + at, data, piece);
		set_bits(p->known, at, piece);
		loc += piece;
		data += piece;
		n -= piece;
	}
}

size_t check_values_get(struct hmap *values, uint64_t loc, void *buf, size_t len)
{
	size_t n = 0;
	for (; n < len; n++, loc++) {
		const struct page *p = page_of(values, loc, false);
		if (!p || !(p->known[loc % PAGE / 8] >> (loc % 8) & 1))
			break;
		((uint8_t *)buf)[n] = p->byte[loc % PAGE];
	}
	return n;
}

void check_values_free(struct hmap *values)
{
	for (size_t i = 0; i < values->cap; i++)
		if (values->used[i])
			free((void *)(uintptr_t)values->val[i]);
	hmap_free(values);
}
