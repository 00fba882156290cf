/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ends of the command are fine, and the names of verdicts. */
#include "runner/internal.h"

#include <stdlib.h>
#include <string.h>

const char *runner_verdict_name(enum runner_verdict v)
{
	static const char *const name[] = {
		[RUNNER_OK] = "ok",           [RUNNER_FAILED] = "failed",
		[RUNNER_CRASHED] = "crashed", [RUNNER_HUNG] = "hung",
		[RUNNER_FLOODED] = "flooded", [RUNNER_BROKEN] = "broken",
		[RUNNER_DIFFERS] = "differs",
	};
	return (size_t)v < sizeof name / sizeof *name ? name[v] : "unknown";
}

void runner_result_free(struct runner_result *r)
{
	free(r->output);
	free(r->trace);
	*r = (struct runner_result){ 0 };
}

/* "0", "0,2-4" */
static int parse_statuses(bool fine[256], const char *list)
{
	const char *s = list;
	for (;;) {
		char *end;
		unsigned long lo = strtoul(s, &end, 10), hi = lo;
		if (end == s || *s == '-' || *s == '+' || *s == ' ')
			return -1;
		if (*end == '-') {
			s = end + 1;
			hi = strtoul(s, &end, 10);
			if (end == s || *s == '-' || *s == '+' || *s == ' ')
				return -1;
		}
		if (lo > hi || hi > 255)
			return -1;
		for (unsigned long i = lo; i <= hi; i++)
			fine[i] = true;
		if (!*end)
			return 0;
		if (*end != ',')
			return -1;
		s = end + 1;
	}
}

static int regex_new(regex_t *regex, const char *text, struct err *err)
{
	char why[256];
	int bad = regcomp(regex, text, REG_EXTENDED | REG_NEWLINE);
	if (!bad)
		return 0;
	regerror(bad, regex, why, sizeof why);
	return err_set(err, EXIT_USAGE, "bad regular expression '%s': %s", text, why);
}

int runner_judge_init(struct judge *j, const struct runner_opts *o, struct err *err)
{
	*j = (struct judge){ 0 };
	if (parse_statuses(j->fine, o->expect_exit ? o->expect_exit : "0"))
		return err_set(err, EXIT_USAGE,
			       "bad list of exit statuses '%s'; it looks like 0,2-4",
			       o->expect_exit);
	if (o->fail_regex && regex_new(&j->regex, o->fail_regex, err))
		return -1;
	j->has_regex = o->fail_regex != NULL;
	if (o->ignore && regex_new(&j->ignore, o->ignore, err))
		return -1;
	j->has_ignore = o->ignore != NULL;
	return 0;
}

void runner_judge_free(struct judge *j)
{
	if (j->has_regex)
		regfree(&j->regex);
	if (j->has_ignore)
		regfree(&j->ignore);
	j->has_regex = j->has_ignore = false;
}

/* The text may hold any bytes. */
bool runner_regex_in(const regex_t *regex, const struct buf *text)
{
	regmatch_t m = { .rm_so = 0, .rm_eo = (regoff_t)text->n };
	return !regexec(regex, text->n ? text->p : "", 1, &m, REG_STARTEND);
}

/* Nothing is left of a line that ends here. */
static bool is_gone(const struct buf *left, const struct buf *text, size_t at)
{
	return at < text->n && text->p[at] == '\n' && (!left->n || left->p[left->n - 1] == '\n');
}

struct buf runner_judge_heard(const struct judge *j, const struct buf *text)
{
	struct buf b = { 0 };
	size_t at = 0;
	while (j->has_ignore && at < text->n) {
		bool inside = at && text->p[at - 1] != '\n';
		regmatch_t m = { .rm_so = (regoff_t)at, .rm_eo = (regoff_t)text->n };
		if (regexec(&j->ignore, text->p, 1, &m, REG_STARTEND | (inside ? REG_NOTBOL : 0)))
			break;
		size_t from = (size_t)m.rm_so, to = (size_t)m.rm_eo;
		to += from == to; /* an empty match: one byte on */
		buf_add(&b, text->p + at, (m.rm_so == m.rm_eo ? to : from) - at);
		at = to + (m.rm_so != m.rm_eo && is_gone(&b, text, to));
	}
	if (at < text->n)
		buf_add(&b, text->p + at, text->n - at);
	return b;
}
