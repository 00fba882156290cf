/* SPDX-License-Identifier: BSD-3-Clause */
/* What order alone does not repair: the smallest change that the cause supports, as advice. */
#include <string.h>

#include "fix/internal.h"

static const struct srcloc_frame *frame_of(const struct finding *f, const char *role)
{
	for (size_t i = 0; i < f->related.n; i++)
		if (!strcmp(f->related.p[i].role, role))
			return finding_main_frame(&f->related.p[i].place);
	return NULL;
}

/* "tree.c:41"; "" if it is not known. */
static const char *where(const struct srcloc_frame *f, char *buf, size_t size)
{
	if (!f)
		return "";
	return srcloc_text(f, buf, size);
}

/* A store that a transaction would not undo, with the statement that logs it. */
static void advise_log(struct fix *x, size_t entry)
{
	const struct srcloc_frame *m = finding_main_frame(&x->entry.p[entry].f->place);
	struct source_place at = { m ? m->file : NULL, m ? m->line : 0, m ? m->column : 0 };
	struct source_store s;
	struct err err;
	if (m && m->file && !source_store_at(x->source, &at, 0, &s, &err) && !s.capture)
		fix_tell(x, entry,
			 "advice: log it before the store, in the transaction: "
			 "pmemobj_tx_add_range_direct(%s, %s)",
			 s.address, s.size);
	else
		fix_tell(x, entry, "advice: log it before the store, in the transaction (TX_ADD)");
}

void fix_advise(struct fix *x, size_t entry)
{
	const struct finding *f = x->entry.p[entry].f;
	const struct srcloc_frame *ahead = frame_of(f, "persisted"), *lost = frame_of(f, "lost");
	char a[512], b[512];
	x->entry.p[entry].state = FIX_ADVICE;
	if (fix_kind(f) == finding_kind_info(FINDING_ORDERING) && ahead && lost)
		fix_tell(
			x, entry,
			"advice: the program makes the store at %s before the one at %s, which recovery "
			"needs first: exchange them, and persist the second before the first",
			where(ahead, a, sizeof a), where(lost, b, sizeof b));
	else if (!f->crash && f->kind != finding_kind_info(FINDING_BROKEN_ORDER))
		advise_log(x, entry);
	else if (f->kind == finding_kind_info(FINDING_BROKEN_ORDER))
		fix_tell(x, entry,
			 "advice: nothing proves that the order is needed here; if it is, "
			 "persist the earlier store before this one");
	else if (ahead && lost)
		fix_tell(
			x, entry,
			"advice: the stores at %s and %s belong together, and a crash comes between them "
			"whatever is flushed: publish the change by one store of 8 aligned bytes, or log "
			"what they overwrite (TX_ADD in a transaction)",
			where(ahead, a, sizeof a), where(lost, b, sizeof b));
	else
		fix_tell(x, entry,
			 "advice: no added order repairs it: let the change take effect with one "
			 "store of 8 aligned bytes, or log it (TX_ADD in a transaction)");
}
