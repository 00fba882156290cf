/* SPDX-License-Identifier: BSD-3-Clause */
/* What people do not want to hear of: kinds that are switched off, and statements that a comment excuses. */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "finding/internal.h"

static bool any_matches(const char *const *glob, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(glob[i], word, 0))
			return true;
	return false;
}

void finding_select_kinds(struct finding_set *set, const char *const *disable, size_t ndisable,
			  const char *const *enable, size_t nenable)
{
	for (size_t i = 0; i < set->v.n; i++) {
		const char *kind = set->v.p[i]->kind->name;
		if (any_matches(disable, ndisable, kind) && !any_matches(enable, nenable, kind))
			set->v.p[i]->suppressed = true;
	}
}

/* ---- comments ---- */

#define MARK "holdfast:"
#define VERB "ignore"
#define MOST_LINES 30 /* of a comment above a statement */

/* "transient-data,late-*": is the kind one of these globs? What follows them is the reason. */
static bool names_kind(const char *list, const char *kind)
{
	char glob[64];
	for (bool more = true; more;) {
		size_t n = strspn(
			list, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-?*");
		n -= n && !strncmp(list + n - 1, "*/", 2); /* that star ends the comment */
		if (!n || n >= sizeof glob)
			return false;
		memcpy(glob, list, n);
		glob[n] = '\0';
		if (!fnmatch(glob, kind, 0))
			return true;
		list += n;
		more = *list == ',';
		list += more;
		list += more ? strspn(list, " \t") : 0;
	}
	return false;
}

/* The comment in this text excuses the kind. */
static bool excuses(const char *text, const char *kind)
{
	for (const char *at = text; (at = strstr(at, MARK)); at += strlen(MARK)) {
		const char *p = at + strlen(MARK);
		p += strspn(p, " \t");
		if (strncmp(p, VERB, strlen(VERB)) || !isblank((unsigned char)p[strlen(VERB)]))
			continue;
		p += strlen(VERB);
		if (names_kind(p + strspn(p, " \t"), kind))
			return true;
	}
	return false;
}

/* Where a comment begins in a line; NULL: nowhere. */
static const char *comment_in(const char *line)
{
	const char *block = strstr(line, "/*"), *rest = strstr(line, "//");
	return block && (!rest || block < rest) ? block : rest;
}

static bool is_blank_up_to(const char *line, const char *end)
{
	return line + strspn(line, " \t") >= end;
}

/* A comment that ends just above the statement, with lines of its own. */
static bool excused_above(const char *file, uint32_t line, const char *kind)
{
	for (uint32_t up = 1; up <= MOST_LINES && up < line; up++) {
		const char *text = finding_source_line(file, line - up);
		const char *begin = text ? comment_in(text) : NULL;
		if (!text || (begin && !is_blank_up_to(text, begin)))
			return false;
		if (!begin && (up == 1 && !strstr(text, "*/")))
			return false; /* code, not the end of a comment */
		if (excuses(text, kind))
			return true;
		if (begin && *begin == '/' && begin[1] == '*')
			return false; /* the whole comment was looked at */
	}
	return false;
}

void finding_select_source(struct finding_set *set)
{
	for (size_t i = 0; i < set->v.n; i++) {
		struct finding *f = set->v.p[i];
		const struct srcloc_frame *at = finding_main_frame(&f->place);
		const char *line =
			at && at->file && at->line ? finding_source_line(at->file, at->line) : NULL;
		const char *comment = line ? comment_in(line) : NULL;
		if ((comment && excuses(comment, f->kind->name)) ||
		    (line && excused_above(at->file, at->line, f->kind->name)))
			f->suppressed = f->in_source = true;
	}
}
