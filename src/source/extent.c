/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a function writes: what its arguments say, in words that mean the same after the call. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/internal.h"

/* An argument of a writer as text, if it means the same after the call. */
static const char *argument(const struct source_tree *t, const struct source_candidate *c,
			    unsigned nth, uint32_t statement, struct err *err)
{
	uint32_t i = source_node_child(t, c->node, nth + 1);
	const char *text = i ? source_node_text(t, i) : NULL;
	if (!text) {
		err_set(err, EXIT_PROGRAM, "a macro hides how much %s writes", c->writer->name);
	} else if (source_again(t, i, statement, c->node) != SOURCE_AGAIN) {
		err_set(err, EXIT_PROGRAM, "%s, which says how much %s writes, has side effects",
			text, c->writer->name);
		text = NULL;
	}
	return text;
}

/* Where it cannot be said how much is written: all of the array that it is written to. NULL: it is none. */
static const char *whole_array(const struct source_tree *t, uint32_t target)
{
	uint32_t in = source_node_peel(t, target);
	const char *text = source_node_text(t, in);
	return text && source_node_canonical(t, in).kind == CXType_ConstantArray
		       ? source_sized(t, "sizeof(%s)", text)
		       : NULL;
}

/* In parentheses, unless it is a name, a member, an element or a number. */
static const char *grouped(const struct source_tree *t, const char *text)
{
	bool plain = true;
	for (const char *p = text; *p; p++)
		plain = plain && (isalnum((unsigned char)*p) || strchr("_.[]", *p) ||
				  !strncmp(p, "->", 2) || (*p == '>' && p[-1] == '-'));
	return plain ? text : source_sized(t, "(%s)", text);
}

/* How many bytes so many elements are; takes the number. */
static const char *elements(const struct source_tree *t, char *count, const struct source_store *s)
{
	const char *size = source_sized(t, "sizeof(*%s)", grouped(t, s->lvalue));
	return source_keep(t->source, xasprintf("%s * %s", source_keep(t->source, count), size));
}

int source_writer_extent(const struct source_tree *t, const struct source_candidate *c,
			 uint32_t statement, struct source_store *out, struct err *err)
{
	struct source *s = t->source;
	const char *a, *b;
	out->address = out->lvalue;
	switch (c->writer->extent) {
	case SOURCE_EXTENT_ARG:
		out->size = argument(t, c, c->writer->arg, statement, err);
		if (!out->size)
			out->size = whole_array(t, c->target);
		return out->size ? 0 : -1;
	case SOURCE_EXTENT_PRODUCT:
		a = argument(t, c, c->writer->arg, statement, err);
		b = a ? argument(t, c, c->writer->arg + 1u, statement, err) : NULL;
		out->size = b ? source_keep(s, xasprintf("(%s) * (%s)", a, b)) : NULL;
		return b ? 0 : -1;
	case SOURCE_EXTENT_BETWEEN:
		a = argument(t, c, c->writer->arg, statement, err);
		b = a ? argument(t, c, c->writer->arg + 1u, statement, err) : NULL;
		out->size =
			b ? elements(t, xasprintf("(%s - %s)", grouped(t, b), grouped(t, a)), out)
			  : NULL;
		return b ? 0 : -1;
	case SOURCE_EXTENT_COUNT:
		a = argument(t, c, c->writer->arg, statement, err);
		out->size = a ? elements(t, xstrdup(grouped(t, a)), out) : NULL;
		return a ? 0 : -1;
	case SOURCE_EXTENT_STRING:
		out->size = source_keep(
			s, xasprintf("%sstrlen(%s) + 1",
				     *c->writer->name == 's' && c->writer->name[1] == 't'
					     ? ""
					     : "__builtin_",
				     out->lvalue));
		return 0;
	case SOURCE_EXTENT_FIXED:
		out->size = source_keep(s, xasprintf("%u", c->writer->arg));
		return 0;
	case SOURCE_EXTENT_TYPE: break;
	}
	if (c->bytes && source_through_pointer(t, c->target, c->bytes, out))
		return 0;
	out->size = source_sized(t, "sizeof(*(%s))", out->lvalue);
	return 0;
}
