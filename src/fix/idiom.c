/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the program persists. Its flushes and fences are executed in functions that it calls for that: what one
 * executes, and how it is called, says what it is for. A file that calls none gets a small function of ours.
 */
#include <stdlib.h>
#include <string.h>

#include "fix/internal.h"

/* Libraries whose functions need to be told the pool, which an address leads to. */
static const struct {
	const char *name;
	unsigned acts;
	const char *pattern;
} libraries[] = {
	{ "pmemobj_persist", FIX_BOTH, "pmemobj_persist(pmemobj_pool_by_ptr(%a), %a, %n)" },
	{ "pmemobj_flush", REPAIR_FLUSH, "pmemobj_flush(pmemobj_pool_by_ptr(%a), %a, %n)" },
	{ "pmemobj_drain", REPAIR_FENCE, "pmemobj_drain(pmemobj_pool_by_ptr(%a))" },
	{ "pmem_persist", FIX_BOTH, "pmem_persist(%a, %n)" },
	{ "pmem_flush", REPAIR_FLUSH, "pmem_flush(%a, %n)" },
	{ "pmem_drain", REPAIR_FENCE, "pmem_drain()" },
};

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

/* "flush(%a, %n)", from a call that was executed. */
static char *pattern_of(struct fix *x, const struct srcloc_frame *at,
			const struct srcloc_frame *callee, const char *name, bool *one_line)
{
	struct source_place place = { at->file, at->line, at->column };
	struct source_call c;
	struct err err;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (!strcmp(name, libraries[i].name))
			return xstrdup(libraries[i].pattern);
	if (!(callee->takes & SRCLOC_TAKES_KNOWN)) /* of a library: it may do more than persist */
		return NULL;
	if (strpbrk(name, ":<~") || source_call_at(x->source, &place, name, &c, &err) || c.indirect)
		return NULL;
	if (c.arguments && !(callee->takes & SRCLOC_TAKES_RANGE)) /* objects of one type only */
		return NULL;
	*one_line = c.arguments == 1 && c.argument[0].pointer;
	if (c.arguments == 0)
		return xasprintf("%s()", name);
	if (*one_line)
		return xasprintf("%s(%%a)", name);
	if (c.arguments == 2 && c.argument[0].pointer && !c.argument[1].pointer)
		return xasprintf("%s(%%a, %%n)", name);
	return NULL;
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

#define OWN_FLUSH                                                                                  \
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
	"}\n"
#define OWN_SYNC                                                                                   \
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
	"}\n"

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
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

struct repair_idiom fix_idiom(struct fix *x, const struct source_file *file, uint64_t bytes,
			      unsigned acts, const char **top)
{
	struct repair_idiom i = {
		.flush = copy(own(x, file, REPAIR_FLUSH, bytes)),
		.fence = copy(own(x, file, REPAIR_FENCE, bytes)),
		.persist = copy(own(x, file, FIX_BOTH, bytes)),
	};
	*top = NULL;
	if (enough(&i, acts))
		return i;
	if (fix_syncs(x)) {
		*top = OWN_SYNC;
		i.persist = xstrdup("sync_range_(%a, %n)");
		return i;
	}
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
