/* SPDX-License-Identifier: BSD-3-Clause */
/* What a crash says of a misuse: the stores that it is about, and the verdict on losing them. */
#include <stdlib.h>

#include "finding/finding.h"

const char *finding_proof_name(enum finding_proof proof)
{
	static const char *const names[] = {
		[FINDING_PROVED] = "proved",
		[FINDING_HARMLESS] = "harmless",
		[FINDING_OPEN] = "open",
	};
	return proof < FINDING_PROOFS ? names[proof] : "?";
}

char *finding_verdict_text(const struct finding_verdict *v)
{
	return xasprintf("%s%s: %s", finding_proof_name(v->proof),
			 v->proof == FINDING_HARMLESS ? " for this recovery" : "", v->text);
}

bool finding_fails(const struct finding *f, int levels, bool suspicions)
{
	bool refuted = f->verdict && f->verdict->proof == FINDING_HARMLESS;
	if (f->suppressed)
		return false;
	return (int)f->level < levels || (suspicions && !refuted && f->level == FINDING_WARNING &&
					  f->kind->level == FINDING_ERROR);
}

void finding_add_store(struct finding *f, struct finding_store store)
{
	for (size_t i = 0; i < f->stores.n; i++) {
		const struct finding_store *s = &f->stores.p[i];
		if (s->process == store.process && s->site == store.site && s->ctx == store.ctx)
			return;
	}
	VEC_PUSH(&f->stores, store);
}

void finding_judge(struct finding *f, const struct finding_verdict *verdict)
{
	if (f->verdict)
		free(f->verdict->text);
	free(f->verdict);
	f->verdict = NULL;
	if (!verdict)
		return;
	f->verdict = xmalloc(sizeof *f->verdict);
	*f->verdict = *verdict;
}
