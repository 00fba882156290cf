/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that never returns NULL, and the two growable containers built on it. Growth
 * doubles, so that n pushes cost O(n); sizes are checked for overflow before they are used.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

static void __attribute__((noreturn)) out_of_memory(size_t want)
{
	msg_error("out of memory (%zu bytes wanted)", want);
	_exit(EXIT_INTERNAL);
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(0);
	s = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void vec_grow(void **p, size_t *cap, size_t need, size_t elem)
{
	size_t want = *cap ? *cap : 8;
	while (want < need) {
		if (want > SIZE_MAX / 2)
			out_of_memory(need);
		want *= 2;
	}
	if (want > SIZE_MAX / elem)
		out_of_memory(need);
	*p = xrealloc(*p, want * elem);
	*cap = want;
}

/* One byte more than used, and always NUL-terminated: b->p is a C string after any call. */
static void buf_reserve(struct buf *b, size_t more)
{
	if (more > SIZE_MAX - b->n - 1)
		out_of_memory(more);
	if (b->n + more + 1 > b->cap)
		vec_grow((void **)&b->p, &b->cap, b->n + more + 1, 1);
}

void buf_add(struct buf *b, const void *data, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->p + b->n, data, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	buf_reserve(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

void buf_free(struct buf *b)
{
	free(b->p);
	b->p = NULL;
	b->n = b->cap = 0;
}
