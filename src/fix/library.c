/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the words of libpmem and libpmemobj. The latter wants to be told the pool: a variable that holds it, if there is one,
 * else the library finds it by the address. In a transaction what is stored to is logged, not flushed.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

#define LOG "pmemobj_tx_add_range_direct"

/* Those that work with any mapping come first. */
static const struct fix_library libraries[] = {
	{ "pmem_persist", FIX_BOTH, "pmem_persist(%a, %n)" },
	{ "pmem_flush", REPAIR_FLUSH, "pmem_flush(%a, %n)" },
	{ "pmem_drain", REPAIR_FENCE, "pmem_drain()" },
	{ "pmemobj_persist", FIX_BOTH, "pmemobj_persist(%p, %a, %n)" },
	{ "pmemobj_flush", REPAIR_FLUSH, "pmemobj_flush(%p, %a, %n)" },
	{ "pmemobj_drain", REPAIR_FENCE, "pmemobj_drain(%p)" },
};
#define LIBRARIES (sizeof libraries / sizeof *libraries)

const struct fix_library *fix_library(const char *name)
{
	for (size_t i = 0; i < LIBRARIES; i++)
		if (!strcmp(name, libraries[i].name))
			return &libraries[i];
	return NULL;
}

char *fix_library_pattern(struct fix *x, const struct source_statement *at, const char *pattern)
{
	const char *pool = pattern ? strstr(pattern, "%p") : NULL, *value;
	struct err none;
	if (!pool)
		return pattern ? xstrdup(pattern) : NULL;
	if (source_value_for(x->source, at, "pmemobj_drain", &value, &none))
		value = "pmemobj_pool_by_ptr(%a)";
	return xasprintf("%.*s%s%s", (int)(pool - pattern), pattern, value, pool + 2);
}

/* The program's PM is in pools, so that there is one for every address: it persists that way, or an oracle for pools has
 * judged it. */
static bool has_pools(const struct fix *x)
{
	for (size_t i = 0; i < x->means.n; i++)
		if (x->means.p[i].pattern && strstr(x->means.p[i].pattern, "%p"))
			return true;
	for (size_t i = 0; i < x->set->v.n; i++)
		if (!strcmp(x->set->v.p[i]->kind->name, "store-outside-tx") ||
		    !strcmp(x->set->v.p[i]->kind->name, "unlogged-store"))
			return true;
	return false;
}

char *fix_library_for(struct fix *x, const struct source_statement *at, unsigned acts)
{
	struct err none;
	for (size_t i = 0; i < LIBRARIES; i++) {
		const struct fix_library *l = &libraries[i];
		if (l->acts == acts && (!strstr(l->pattern, "%p") || has_pools(x)) &&
		    !source_declared(x->source, at->file, at->span.from, l->name, &none))
			return fix_library_pattern(x, at, l->pattern);
	}
	return NULL;
}

/* ---- transactions ---- */

char *fix_log_text(const struct source_store *s)
{
	return s->also ? xasprintf(LOG "(%s, %s); " LOG "(%s, %s);", s->address, s->size, s->also,
				   s->size)
		       : xasprintf(LOG "(%s, %s);", s->address, s->size);
}

/* The statement does nothing before it stores: the address is the same before it as after. */
static bool begins_with_store(const struct source_store *s)
{
	const char *text = s->statement.file->text + s->statement.span.from;
	const char *first = s->calls ? s->calls : s->lvalue;
	while (s->form == SOURCE_INCREMENT && (*text == '+' || *text == '-'))
		text++;
	return s->form != SOURCE_STREAM && first && !strncmp(text, first, strlen(first));
}

const char *fix_no_log(struct fix *x, const struct fix_bug *b)
{
	const struct source_store *s = &b->store;
	struct err err = { 0 };
	if (b->stores == SIZE_MAX)
		return "the statement that stores is not known";
	if (s->statement.file->refused)
		return s->statement.file->refused;
	if (s->statement.no_before)
		return s->statement.no_before;
	if (s->capture || !begins_with_store(s))
		return "where it stores is not known before the statement";
	if (source_declared(x->source, s->statement.file, s->statement.span.from, LOG, &err))
		return fix_keep(x, xstrdup(err.text));
	return NULL;
}
