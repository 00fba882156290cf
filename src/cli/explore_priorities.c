/* SPDX-License-Identifier: BSD-3-Clause */
/* --show-priorities: how much PM can still be modified, by source line. */
#include <inttypes.h>
#include <string.h>

#include "cli/explore.h"

struct listing {
	FILE *out;
	const char *function, *file; /* of the row that is being put together */
	uint32_t line, priority;
	uint64_t from;
	enum binary_mark mark;
	bool any;
};

static void put_row(struct listing *l)
{
	/* Of stubs and start-up code nobody wants to know. */
	if (!l->any || (!l->priority && !l->line)) {
		l->any = false;
		return;
	}
	const char *text = l->file && l->line ? finding_source_line(l->file, l->line) : NULL;
	const char *base = l->file ? strrchr(l->file, '/') : NULL;
	fprintf(l->out, "%8u %c 0x%-8" PRIx64 " %-20s ", l->priority, " +*"[l->mark], l -> from,
		l -> function ? l -> function : "?");
	if (l->file && l->line)
		fprintf(l->out, "%s:%-5u %s", base ? base + 1 : l->file, l->line,
			text ? text + strspn(text, " \t") : "");
	fputc('\n', l->out);
	l->any = false;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Instructions of one source line, one behind the other, are one row with the highest priority. */
static void put_instruction(void *arg, const struct srcloc_frame *f, uint64_t ip, uint32_t priority,
			    enum binary_mark mark)
{
	struct listing *l = arg;
	if (l->any && (!same_text(f->function, l->function) || !same_text(f->file, l->file) ||
		       f->line != l->line || (!f->line && priority != l->priority)))
		put_row(l);
	if (!l->any) {
		l->function = finding_intern(f->function);
		l->file = finding_intern(f->file);
		l->line = f->line;
		l->from = ip;
		l->priority = 0;
		l->mark = BINARY_NOT;
		l->any = true;
	}
	l->priority = priority > l->priority ? priority : l->priority;
	l->mark = mark > l->mark ? mark : l->mark;
}

void explore_priorities_print(struct explore *x, FILE *out)
{
	struct listing l = { .out = out };
	fprintf(out, "priority   address    function             place\n");
	explore_priorities(x, put_instruction, &l);
	put_row(&l);
	fflush(out);
}
