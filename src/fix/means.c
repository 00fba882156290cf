/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With what the program persists. Its flushes and fences are executed in functions that it calls for that, or in macros: what one
 * executes, and how it is called, says what it is for.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

#define SITES 64u /* calls of one function that are looked at */

/* Calls of msync tell nothing of a function's purpose; that it takes a range and nothing else does. */
static bool takes_range(const struct srcloc_frame *f)
{
	return f->takes == (SRCLOC_TAKES_KNOWN | SRCLOC_TAKES_RANGE | SRCLOC_TAKES_LENGTH);
}

/* The frame whose call leads to the flush: all below exist to persist. SIZE_MAX: there is none. */
static size_t caller(const struct finding_place *p, unsigned acts)
{
	size_t i = 0;
	while (i < p->n && (p->frame[i].helper || finding_is_library(&p->frame[i]) ||
			    (i && acts == FIX_BOTH && takes_range(&p->frame[i]))))
		i++;
	return i > 0 && i < p->n && p->frame[i].file ? i : SIZE_MAX;
}

static struct fix_means *means_named(struct fix *x, const char *name, const char *file)
{
	for (size_t i = 0; i < x->means.n; i++)
		if (!strcmp(x->means.p[i].name, name) && !strcmp(x->means.p[i].file, file))
			return &x->means.p[i];
	return NULL;
}

/* What an address needs to be passed: a cast, unless the function takes any pointer. xmalloc'ed. */
static char *cast_for(const char *parameter)
{
	size_t n = strlen(parameter);
	bool pointer = n && parameter[n - 1] == '*' && !strchr(parameter, '(');
	return pointer && !strstr(parameter, "void") ? xasprintf("(%s)", parameter) : xstrdup("");
}

/* "flush(%a, %n)", from a call that was executed; NULL: it is not known how to call it. */
static char *pattern_of(const struct source_call *c, const char *name, bool *one_line)
{
	const struct source_argument *a = c->argument;
	*one_line = c->arguments == 1 && a[0].pointer;
	if (c->arguments == 0)
		return xasprintf("%s()", name);
	char *cast = cast_for(a[0].parameter), *out = NULL;
	if (*one_line)
		out = xasprintf("%s(%s%%a)", name, cast);
	else if (c->arguments == 2 && a[0].pointer && !a[1].pointer)
		out = xasprintf("%s(%s%%a, %%n)", name, cast);
	free(cast);
	return out;
}

/*
 * Whether the number that it takes counts bytes or lines: of a number that the source has, and what was flushed then, one
 * of the two is impossible; where neither is, few bytes of what the pointer points to are not taken for bytes.
 */
static void weigh(struct fix_means *m, const struct source_call *c, uint64_t lines)
{
	uint64_t n = c->arguments == 2 ? c->argument[1].value : 0;
	if (!n || !lines)
		return;
	bool bytes = lines <= (n + 63) / 64 + 1, counts = lines == n;
	if (bytes && counts && n < c->argument[0].points_to)
		bytes = false;
	m->bytes += bytes && !counts;
	m->lines += !bytes && counts;
	m->neither += bytes == counts;
}

static struct fix_means *new_means(struct fix *x, const char *name, const char *file, char *pattern)
{
	struct fix_means new = { .name = finding_intern(name),
				 .file = finding_intern(file),
				 .pattern = pattern };
	VEC_PUSH(&x->means, new);
	return &x->means.p[x->means.n - 1];
}

static void forget(struct fix_means *m)
{
	free(m->pattern);
	free(m->general);
	m->pattern = m->general = NULL;
}

/* How a function is called. False: it is not known. */
static bool call_of(struct fix *x, const struct srcloc_frame *at, const struct srcloc_frame *callee,
		    const char *name, struct source_call *c)
{
	struct source_place place = { at->file, at->line, at->column };
	struct err none;
	if (!(callee->takes & SRCLOC_TAKES_KNOWN)) /* of a library: it may do more than persist */
		return false;
	if (strpbrk(name, "<~") || source_call_at(x->source, &place, name, c, &none))
		return false;
	if (c->indirect && c->pointer) { /* as it is called, whatever it leads to */
		c->written = c->qualified = c->pointer;
		return !c->arguments || callee->takes & SRCLOC_TAKES_RANGE;
	}
	return !c->indirect && c->qualified && /* else objects of one type only */
	       (!c->arguments || callee->takes & SRCLOC_TAKES_RANGE);
}

/*
 * In a template the compiler has not decided yet what is called; the debug information has: "pm::persist(void const*, unsigned long)". xmalloc'ed
 * pattern; NULL: the file does not see it, or it takes something else.
 */
static char *debugged_pattern(struct fix *x, const struct srcloc_frame *callee, const char *file)
{
	const char *name = callee->function, *open = name ? strchr(name, '(') : NULL;
	const struct source_file *f;
	struct err none;
	if (!open || !takes_range(callee) || strpbrk(name, "<~") ||
	    (strncmp(open, "(void*, ", 8) && strncmp(open, "(void const*, ", 14)) ||
	    strchr(strchr(open, ',') + 1, ','))
		return NULL;
	char *plain = xasprintf("%.*s", (int)(open - name), name), *out = NULL;
	if (!source_file_at(x->source, file, &f, &none) &&
	    !source_declared(x->source, f, SIZE_MAX, plain, &none))
		out = xasprintf("%s(%%a, %%n)", plain);
	free(plain);
	return out;
}

static void add(struct fix *x, const struct finding_place *p, size_t callee, const char *file,
		const struct fix_act *act)
{
	const struct srcloc_frame *at = &p->frame[callee + 1];
	if (!p->frame[callee].function || !at->file)
		return;
	char *name = finding_function(&p->frame[callee]);
	struct fix_means *m = means_named(x, name, file);
	bool nested = callee + 1 < p->n &&
		      p->frame[callee + 1].helper; /* the one that others call is above */
	const struct fix_library *library = fix_library(name);
	struct source_call c = { 0 };
	bool known = !library && (!m || m->seen++ < SITES) &&
		     call_of(x, at, &p->frame[callee], name, &c);
	if (!m)
		m = new_means(x, name, file, library ? xstrdup(library->pattern) : NULL);
	if (known &&
	    (!m->pattern ||
	     (!nested && !m->outer))) { /* as it is written here, unless here is a header */
		forget(m);
		m->pattern = pattern_of(&c, strcmp(at->file, file) ? c.qualified : c.written,
					&m->one_line);
		m->general = pattern_of(&c, c.qualified, &m->one_line);
		m->full = c.indirect ? c.variable : c.qualified;
	}
	m->outer |= !nested;
	if (known)
		weigh(m, &c, act->lines);
	if (!m->pattern && m->seen < SITES) {
		m->pattern = debugged_pattern(x, &p->frame[callee], file);
		m->one_line = false;
	}
	m->acts |= act->acts;
	m->count += act->count;
	free(name);
}

static bool is_header(const char *file)
{
	const char *dot = strrchr(file, '.');
	return dot && dot[1] == 'h';
}

/* A macro that flushes or fences by itself, with instructions or with what the compiler has for them. */
static bool add_macro(struct fix *x, const struct srcloc_frame *at, const struct fix_act *act)
{
	struct source_place place = { at->file, at->line, at->column };
	struct source_call c;
	struct err none;
	if (!at->file || !at->column || source_macro_use_at(x->source, &place, &c, &none))
		return false;
	struct fix_means *m = means_named(x, c.callee, at->file);
	if (!m)
		m = new_means(x, c.callee, at->file, NULL);
	if (!m->pattern) {
		m->pattern = pattern_of(&c, c.callee, &m->one_line);
		m->general = pattern_of(&c, c.callee, &m->one_line);
		m->full = c.callee;
	}
	m->macro = m->outer = true;
	m->acts |= act->acts;
	m->count += act->count;
	if (act->acts & REPAIR_FLUSH)
		weigh(m, &c, act->lines);
	return true;
}

/* What the file calls, and what that calls in turn in the same file or in a header, which it sees as well. */
void fix_add_means(struct fix *x, const struct finding_place *p, const struct fix_act *act)
{
	size_t i = caller(p, act->acts), own = i;
	if (i == SIZE_MAX && (!p->n || p->frame[0].helper || finding_is_library(&p->frame[0])))
		return;
	own = i == SIZE_MAX ? 0 : i;
	if ((own == 0 || finding_is_library(&p->frame[own - 1])) &&
	    add_macro(x, &p->frame[own], act))
		return;
	const char *file = p->frame[own].file;
	for (size_t k = own; k-- > 0;) {
		const char *calls = p->frame[k + 1].file;
		if (!calls || (strcmp(calls, file) && !is_header(calls)) ||
		    finding_is_library(&p->frame[k + 1]))
			break;
		add(x, p, k, file, act);
	}
}

/* A macro that stores to PM as well does more than persist. */
void fix_drop_means(struct fix *x, const struct finding_place *p)
{
	const struct srcloc_frame *at = finding_main_frame(p);
	struct source_call c;
	struct err none;
	bool any = false;
	for (size_t i = 0; at && at->file && i < x->means.n; i++)
		any |= x->means.p[i].macro && !strcmp(x->means.p[i].file, at->file);
	struct source_place place = { any ? at->file : NULL, any ? at->line : 0,
				      any ? at->column : 0 };
	if (!any || !at->column || source_macro_use_at(x->source, &place, &c, &none))
		return;
	struct fix_means *m = means_named(x, c.callee, at->file);
	if (m)
		forget(m);
}

/* What is known of them when all were seen. */
void fix_decide_means(struct fix *x)
{
	for (size_t i = 0; i < x->means.n; i++) {
		struct fix_means *m = &x->means.p[i];
		char *n = m->pattern ? strstr(m->pattern, "%n") : NULL;
		if (!n || (!m->lines && (m->bytes || !m->neither)))
			continue;
		if (!m->lines || m->bytes) {
			forget(m);
			continue;
		}
		n[1] = 'l';
		strstr(m->general, "%n")[1] = 'l';
	}
}
