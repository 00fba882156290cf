/* SPDX-License-Identifier: BSD-3-Clause */
/* How a file persists: in the words of the program, of a library, or with a small function of ours. */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

/* What flushes a line on behalf of a function that those who store call: they call that one. */
static bool is_inside(const struct fix_means *m, bool inner)
{
	return !inner && m->one_line && !m->outer;
}

/* The function of this file that does just these acts: one for ranges, the most used. */
static const char *own(struct fix *x, const struct source_statement *at, unsigned acts, bool line,
		       bool inner)
{
	const struct fix_means *best = NULL;
	const struct source_file *file = at->file;
	for (size_t i = 0; i < x->means.n; i++) {
		const struct fix_means *m = &x->means.p[i];
		struct err none;
		const char *base = strrchr(m->file, '/');
		size_t n = base ? strlen(base) : 0, len = strlen(file->path);
		if (m->acts != acts || !m->pattern || (m->one_line && !line) || is_inside(m, inner))
			continue;
		if (!n || n > len || strcmp(file->path + len - n, base))
			continue;
		bool better = !best || best->one_line > m->one_line ||
			      (best->one_line == m->one_line && m->count > best->count);
		if (better &&
		    (!m->full || !source_declared(x->source, file, at->span.from, m->full, &none)))
			best = m;
	}
	return best ? best->pattern : NULL;
}

/* What other files of the program persist with, if this one sees it, too. */
static const char *others(struct fix *x, const struct source_statement *at, unsigned acts,
			  bool line, bool inner)
{
	const struct fix_means *best = NULL;
	for (size_t i = 0; i < x->means.n; i++) {
		const struct fix_means *m = &x->means.p[i];
		struct err none;
		if (m->acts == acts && m->general && !is_inside(m, inner) &&
		    (!m->one_line || line) && (!best || (best->one_line && !m->one_line)) &&
		    !source_declared(x->source, at->file, at->span.from, m->full, &none))
			best = m;
	}
	return best ? best->general : NULL;
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

/* Instead of %l, lines from that of the address on: one, or as many as the range touches. */
static char *with_lines(char *pattern, bool line)
{
	char *at = pattern ? strstr(pattern, "%l") : NULL, *out;
	if (!at)
		return pattern;
	out = xasprintf("%.*s%s%s", (int)(at - pattern), pattern,
			line ? "1" : "((unsigned long)%a % 64 + %m + 63) / 64", at + 2);
	free(pattern);
	return out;
}

/* The file's own, or that of a library that it sees. */
static char *pattern_for(struct fix *x, const struct source_statement *at, unsigned acts, bool line,
			 bool inner)
{
	const char *pattern = own(x, at, acts, line, inner);
	if (!pattern)
		pattern = others(x, at, acts, line, inner);
	return with_lines(fix_library_pattern(x, at, pattern), line);
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

/* Adds what is lacking still: functions, whatever the program has, so that they may be a part of an expression. */
static void add_ours(struct fix *x, unsigned acts, struct repair_idiom *i, const char **top)
{
	if (fix_syncs(x)) {
		*top = OWN_SYNC;
		i->persist = xstrdup("sync_range_(%a, %n)");
		return;
	}
	if (acts & REPAIR_FLUSH && !i->flush) {
		*top = OWN_FLUSH;
		i->flush = xstrdup("flush_range_(%a, %n)");
	}
	if (acts & REPAIR_FENCE && !i->fence) {
		*top = *top ? *top : "#include <immintrin.h>\n";
		i->fence = xstrdup("_mm_sfence()");
	}
}

struct repair_idiom fix_own_idiom(struct fix *x, const struct source_statement *at, unsigned acts,
				  const char **top)
{
	struct repair_idiom i = { 0 };
	*top = NULL;
	if (!fix_syncs(x))
		add_library(x, at, acts, &i);
	if (!enough(&i, acts))
		add_ours(x, acts, &i, top);
	return i;
}

struct repair_idiom fix_idiom(struct fix *x, const struct source_statement *at, bool line,
			      unsigned acts, const char **top)
{
	struct repair_idiom i = {
		.flush = pattern_for(x, at, REPAIR_FLUSH, line, false),
		.fence = pattern_for(x, at, REPAIR_FENCE, line, false),
		.persist = pattern_for(x, at, FIX_BOTH, line, false),
	};
	if (!i.flush && !i.persist)
		i.flush = pattern_for(x, at, REPAIR_FLUSH, line, true);
	*top = NULL;
	if (acts == REPAIR_FLUSH && !i.flush &&
	    i.persist) /* a fence more, as the program does it */
		i.flush = xstrdup(i.persist);
	if (enough(&i, acts))
		return i;
	if (!fix_syncs(x))
		add_library(x, at, acts, &i);
	if (!enough(&i, acts))
		add_ours(x, acts, &i, top);
	return i;
}
