/* SPDX-License-Identifier: BSD-3-Clause */
/* A repair in words. */
#include "fix/internal.h"

static void say_entry(const struct fix_entry *e, FILE *out)
{
	const struct finding *f = e->f;
	const struct srcloc_frame *m = finding_main_frame(&f->place);
	char where[512];
	fprintf(out, "%s: %s [%s] %s\n", fix_state_name(e->state), f->kind->title, f->kind->name,
		f->id);
	if (m)
		fprintf(out, "  at %s\n", srcloc_text(m, where, sizeof where));
	for (size_t i = 0; i < e->say.n; i++)
		fprintf(out, "  %s\n", e->say.p[i]);
}

void fix_say(const struct fix *x, FILE *out)
{
	size_t left = fix_count(x, FIX_LEFT);
	for (size_t i = 0; i < x->entry.n; i++)
		if (x->entry.p[i].state != FIX_LEFT)
			say_entry(&x->entry.p[i], out);
	for (size_t i = 0; i < x->proof.n; i++)
		fprintf(out, "%s\n", x->proof.p[i]);
	for (int s = 0; s < FIX_LEFT; s++)
		fprintf(out, "%s%zu %s", s ? ", " : "", fix_count(x, (enum fix_state)s),
			fix_state_name((enum fix_state)s));
	if (left)
		fprintf(out, ", %zu %s%s", left, fix_state_name(FIX_LEFT),
			fix_leaves_warnings(x) ? " (--warnings repairs warnings, too)" : "");
	fprintf(out, "\n");
}
