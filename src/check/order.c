/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders that the program keeps nearly always, and once does not: the odd one out.
 *
 * That an order is relied on is evidence of the run itself (infer/infer.h): the two words depend on each
 * other. What is reported is one instance that departs from the habit of the same two instructions, called
 * in the same way, on the same two words that some operation reads in that way, with a value that is new; so that a crash
 * just before the next fence can leave the later store without the earlier one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/check.h"
#include "infer/infer.h"

static void relate(struct finding *f, const struct infer_beliefs *b, uint32_t statement,
		   uint64_t event)
{
	struct finding_related r = { "last-store", xstrdup("it is not persistent yet"), event,
				     finding_place_clone(infer_statement_place(b, statement)) };
	VEC_PUSH(&f->related, r);
}

static void step(struct finding *f, const struct infer_beliefs *b, uint32_t statement,
		 uint64_t event)
{
	const struct srcloc_frame *at = finding_main_frame(infer_statement_place(b, statement));
	char buf[512];
	VEC_PUSH(&f->steps,
		 ((struct finding_step){ event, 1, "store",
					 xstrdup(at ? srcloc_text(at, buf, sizeof buf) : "?") }));
}

static struct finding *broken(const struct infer_beliefs *b, const struct infer_belief *k,
			      const char *replay)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_BROKEN_ORDER));
	const struct srcloc_frame *first = finding_main_frame(infer_statement_place(b, k->first));
	char buf[512];
	srcloc_text(first, buf, sizeof buf);
	f->message = xasprintf("the store at %s is not persistent when this one is made; %" PRIu64
			       " times it was, in the same functions",
			       buf, k->usual);
	f->advice = xasprintf(
		"Persist the store at %s (flush and fence) before this one here, too.", buf);
	f->count = k->odd;
	f->event = k->odd_second;
	f->place = finding_place_clone(infer_statement_place(b, k->second));
	relate(f, b, k->first, k->odd_first);
	step(f, b, k->first, k->odd_first);
	step(f, b, k->second, k->odd_second);
	finding_add_why(f, "habit", 1, xasprintf("the order is kept %" PRIu64 " times", k->usual));
	finding_add_why(f, "rule", 1,
			xasprintf("%s (%s)", infer_rule(k->rule)->seen, infer_rule(k->rule)->name));
	if (replay)
		f->replay = xasprintf("%s --events %" PRIu64 "..%" PRIu64, replay, k->odd_first,
				      k->odd_second);
	return f;
}

/* One finding for two statements, whatever the rule. */
static bool said(const struct infer_belief *k, size_t i)
{
	for (size_t n = 0; n < i; n++)
		if (k[n].odd && k[n].first == k[i].first && k[n].second == k[i].second)
			return true;
	return false;
}

int check_order(struct trace_reader *r, const struct infer_ops *ops, const struct model_ops *model,
		const char *replay, struct finding_set *out, struct err *err)
{
	struct infer_beliefs *b = infer_beliefs_read(r, ops, model, NULL, err);
	size_t n = 0;
	const struct infer_belief *k = b ? infer_beliefs_all(b, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (k[i].odd && !said(k, i))
			finding_add(out, broken(b, &k[i], replay));
	infer_beliefs_free(b);
	return b ? 0 : -1;
}
