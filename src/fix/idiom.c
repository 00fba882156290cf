/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the program persists. Its flushes and fences are executed in functions that it calls for that: what one
 * executes, and how it is called, says what it is for. A file that calls none gets a small function of ours.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

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

/* "flush(%a, %n)", from a call that was executed. */
static char *pattern_of(struct fix *x, const struct srcloc_frame *at,
			const struct srcloc_frame *callee, const char *name, bool *one_line)
{
	struct source_place place = { at->file, at->line, at->column };
	struct source_call c;
	struct err err;
	if (fix_library(name))
		return xstrdup(fix_library(name)->pattern);
	if (!(callee->takes & SRCLOC_TAKES_KNOWN)) /* of a library: it may do more than persist */
		return NULL;
	if (strpbrk(name, ":<~") || source_call_at(x->source, &place, name, &c, &err) || c.indirect)
		return NULL;
	if (c.arguments && !(callee->takes & SRCLOC_TAKES_RANGE)) /* objects of one type only */
		return NULL;
	*one_line = c.arguments == 1 && c.argument[0].pointer;
	name = c.callee; /* in C++ the other one has its parameters */
	if (c.arguments == 0)
		return xasprintf("%s()", name);
	char *cast = cast_for(c.argument[0].parameter), *out = NULL;
	if (*one_line)
		out = xasprintf("%s(%s%%a)", name, cast);
	else if (c.arguments == 2 && c.argument[0].pointer && !c.argument[1].pointer)
		out = xasprintf("%s(%s%%a, %%n)", name, cast);
	free(cast);
	return out;
}

static void add(struct fix *x, const struct finding_place *p, size_t callee, const char *file,
		unsigned acts, uint64_t count)
{
	if (!p->frame[callee].function || !p->frame[callee + 1].file)
		return;
	char *name = finding_function(&p->frame[callee]);
	struct fix_means *m = means_named(x, name, file);
	if (!m) {
		struct fix_means new = { .name = finding_intern(name),
					 .file = finding_intern(file) };
		new.pattern = pattern_of(x, &p->frame[callee + 1], &p->frame[callee], name,
					 &new.one_line);
		VEC_PUSH(&x->means, new);
		m = &x->means.p[x->means.n - 1];
	}
	m->acts |= acts;
	m->count += count;
	free(name);
}

static bool is_header(const char *file)
{
	const char *dot = strrchr(file, '.');
	return dot && dot[1] == 'h';
}

/* What the file calls, and what that calls in turn in the same file or in a header, which it sees as well. */
void fix_add_means(struct fix *x, const struct finding_place *p, unsigned acts, uint64_t count)
{
	size_t i = caller(p, acts);
	if (i == SIZE_MAX)
		return;
	const char *file = p->frame[i].file;
	for (size_t k = i; k-- > 0;) {
		const char *calls = p->frame[k + 1].file;
		if (!calls || (strcmp(calls, file) && !is_header(calls)) ||
		    finding_is_library(&p->frame[k + 1]))
			break;
		add(x, p, k, file, acts, count);
	}
}

/* The function of this file that does just these acts: one for ranges, the most used. */
static const char *own(const struct fix *x, const struct source_file *file, unsigned acts,
		       uint64_t bytes)
{
	const struct fix_means *best = NULL;
	for (size_t i = 0; i < x->means.n; i++) {
		const struct fix_means *m = &x->means.p[i];
		const char *base = strrchr(m->file, '/');
		size_t n = base ? strlen(base) : 0, len = strlen(file->path);
		if (m->acts != acts || !m->pattern || (m->one_line && (!bytes || bytes > 8)))
			continue;
		if (!n || n > len || strcmp(file->path + len - n, base))
			continue;
		if (!best || best->one_line > m->one_line ||
		    (best->one_line == m->one_line && m->count > best->count))
			best = m;
	}
	return best ? best->pattern : NULL;
}

/* Headers and what includes them may both get one. */
#define OWN_FLUSH                                                                                  \
	"#ifndef FLUSH_RANGE_\n"                                                                   \
	"#define FLUSH_RANGE_\n"                                                                   \
	"#include <immintrin.h>\n"                                                                 \
	"#include <stddef.h>\n"                                                                    \
	"#include <stdint.h>\n"                                                                    \
	"\n"                                                                                       \
	"static inline void flush_range_(const void *at, size_t size)\n"                           \
	"{\n"                                                                                      \
	"\tuintptr_t line = (uintptr_t)at & ~(uintptr_t)63;\n"                                     \
	"\n"                                                                                       \
	"\tfor (; line < (uintptr_t)at + size; line += 64)\n"                                      \
	"\t\t_mm_clflush((const void *)line);\n"                                                   \
	"}\n"                                                                                      \
	"#endif\n"
#define OWN_SYNC                                                                                   \
	"#ifndef SYNC_RANGE_\n"                                                                    \
	"#define SYNC_RANGE_\n"                                                                    \
	"#include <stddef.h>\n"                                                                    \
	"#include <stdint.h>\n"                                                                    \
	"#include <sys/mman.h>\n"                                                                  \
	"#include <unistd.h>\n"                                                                    \
	"\n"                                                                                       \
	"static inline void sync_range_(const void *at, size_t size)\n"                            \
	"{\n"                                                                                      \
	"\tuintptr_t off = (uintptr_t)at % (uintptr_t)sysconf(_SC_PAGESIZE);\n"                    \
	"\n"                                                                                       \
	"\tmsync((void *)((uintptr_t)at - off), size + off, MS_SYNC);\n"                           \
	"}\n"                                                                                      \
	"#endif\n"

/* The file's own, or that of a library that it sees. */
static char *pattern_for(struct fix *x, const struct source_statement *at, unsigned acts,
			 uint64_t bytes)
{
	return fix_library_pattern(x, at, own(x, at->file, acts, bytes));
}

/* What is lacking, as far as a library has it. */
static void add_library(struct fix *x, const struct source_statement *at, unsigned acts,
			struct repair_idiom *i)
{
	if (acts == FIX_BOTH && !i->flush && !i->fence)
		i->persist = fix_library_for(x, at, FIX_BOTH);
	if (acts & REPAIR_FLUSH && !i->flush)
		i->flush = fix_library_for(x, at, REPAIR_FLUSH);
	if (acts & REPAIR_FENCE && !i->fence)
		i->fence = fix_library_for(x, at, REPAIR_FENCE);
}

static bool enough(const struct repair_idiom *i, unsigned acts)
{
	if (acts == FIX_BOTH && i->persist)
		return true;
	return (!(acts & REPAIR_FLUSH) || i->flush) && (!(acts & REPAIR_FENCE) || i->fence);
}

bool fix_syncs(const struct fix *x)
{
	return x->o.model && !strcmp(x->o.model, "msync");
}

struct repair_idiom fix_idiom(struct fix *x, const struct source_statement *at, uint64_t bytes,
			      unsigned acts, const char **top)
{
	struct repair_idiom i = {
		.flush = pattern_for(x, at, REPAIR_FLUSH, bytes),
		.fence = pattern_for(x, at, REPAIR_FENCE, bytes),
		.persist = pattern_for(x, at, FIX_BOTH, bytes),
	};
	*top = NULL;
	if (acts == REPAIR_FLUSH && !i.flush &&
	    i.persist) /* a fence more, as the program does it */
		i.flush = xstrdup(i.persist);
	if (enough(&i, acts))
		return i;
	if (fix_syncs(x)) {
		*top = OWN_SYNC;
		i.persist = xstrdup("sync_range_(%a, %n)");
		return i;
	}
	add_library(x, at, acts, &i);
	if (enough(&i, acts))
		return i;
	if (acts & REPAIR_FLUSH && !i.flush) {
		*top = OWN_FLUSH;
		i.flush = xstrdup("flush_range_(%a, %n)");
	}
	if (acts & REPAIR_FENCE && !i.fence) {
		*top = acts & REPAIR_FLUSH ? *top : "#include <immintrin.h>\n";
		if (!*top)
			*top = "#include <immintrin.h>\n";
		i.fence = xstrdup("_mm_sfence()");
	}
	return i;
}
