/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to do about a store that is not persistent, in the words of the model and of the library that
 * the program uses. One row for each way to persist; the first that applies counts.
 */
#include <fnmatch.h>

#include "check/internal.h"

static bool syncs(const struct check *c)
{
	return !model_flushes(model_ops(c->model));
}

static bool has_pmemobj(const struct check *c)
{
	return c->library & CHECK_PMEMOBJ;
}

static bool has_pmem(const struct check *c)
{
	return c->library & CHECK_PMEM;
}

static bool always(const struct check *c)
{
	(void)c;
	return true;
}

static const struct row {
	bool (*applies)(const struct check *);
	const char *flush, *fence, *both, *late;
} rows[] = {
	{ syncs, "msync() its page after the store.", "msync() its page after the store.",
	  "msync() its page after the store.", "msync() its page before the operation ends." },
	{ has_pmemobj,
	  "pmemobj_persist() it after the store, or TX_ADD it before the store, in a transaction.",
	  "Call pmemobj_drain() in the same thread after the flush, or use pmemobj_persist().",
	  "pmemobj_persist() it after the store, or TX_ADD it before the store, in a transaction.",
	  "pmemobj_persist() it before the operation ends, or TX_ADD it in the transaction." },
	{ has_pmem,
	  "pmem_persist() it after the store, or pmem_flush() it before the pmem_drain().",
	  "Call pmem_drain() in the same thread after the flush.",
	  "pmem_persist() it after the store.", "pmem_persist() it before the operation ends." },
	{ always, "Flush its cache line (clwb) between the store and the fence that follows.",
	  "Add a fence (sfence) by the same thread after the flush.",
	  "Persist it after the store: flush its cache line (clwb), then fence (sfence).",
	  "Persist it before the operation ends: flush its cache line, then fence." },
};

const char *check_advice(const struct check *c, enum finding_kind kind)
{
	const struct row *r = rows;
	while (!r->applies(c))
		r++;
	return kind == FINDING_MISSING_FLUSH   ? r->flush
	       : kind == FINDING_MISSING_FENCE ? r->fence
	       : kind == FINDING_LATE_PERSIST  ? r->late
					       : r->both;
}

void check_advice_module(struct check *c, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
	if (!name)
		return;
	if (!fnmatch("libpmemobj.so*", name, 0))
		c->library |= CHECK_PMEMOBJ;
	else if (!fnmatch("libpmem.so*", name, 0) || !fnmatch("libpmem2.so*", name, 0))
		c->library |= CHECK_PMEM;
}
