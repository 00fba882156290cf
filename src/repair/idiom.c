/* SPDX-License-Identifier: BSD-3-Clause */
/* How the program persists, as text. */
#include <stdlib.h>
#include <string.h>

#include "repair/repair.h"

void repair_idiom_free(struct repair_idiom *i)
{
	free(i->flush);
	free(i->fence);
	free(i->persist);
	free(i->why);
	*i = (struct repair_idiom){ 0 };
}

/* Behind a cast, an expression of several parts is put in parentheses. */
static void put_address(struct buf *out, const char *address, bool cast)
{
	bool parts = cast && *address != '(' && strpbrk(address, " +?*");
	buf_printf(out, parts ? "(%s)" : "%s", address);
}

static void fill(struct buf *out, const char *pattern, const char *address, const char *size)
{
	if (out->n)
		buf_puts(out, "\n");
	for (const char *c = pattern; *c; c++)
		if (*c == '%' && c[1] == 'a')
			put_address(out, address, c++ > pattern && c[-2] == ')');
		else if (*c == '%' && c[1] == 'n')
			buf_puts(out, (c++, size));
		else if (*c == '%' && c[1] == 'm')
			buf_printf(out, strpbrk((c++, size), "?<&|^") ? "(%s)" : "%s", size);
		else
			buf_add(out, c, 1);
	buf_puts(out, ";");
}

char *repair_idiom_text(const struct repair_idiom *i, unsigned acts, const char *address,
			const char *size)
{
	struct buf b = { 0 };
	if (acts == (REPAIR_FLUSH | REPAIR_FENCE) && i->persist) {
		fill(&b, i->persist, address, size);
	} else if ((!(acts & REPAIR_FLUSH) || i->flush) && (!(acts & REPAIR_FENCE) || i->fence)) {
		if (acts & REPAIR_FLUSH)
			fill(&b, i->flush, address, size);
		if (acts & REPAIR_FENCE)
			fill(&b, i->fence, address, size);
	}
	return b.p ? b.p : xstrdup("");
}
