/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses of macros that are written like calls: the arguments, as they stand in the text. */
#include <string.h>

#include "source/internal.h"

/* Behind the argument that begins here: its comma or closing parenthesis; `end`: there is none. */
static size_t argument_end(const char *text, size_t at, size_t end)
{
	int depth = 0;
	for (; at < end; at++) {
		if (text[at] == '"' || text[at] == '\'') {
			char quote = text[at++];
			while (at < end && text[at] != quote)
				at += text[at] == '\\' ? 2 : 1;
			continue;
		}
		if (!depth && (text[at] == ',' || text[at] == ')'))
			return at;
		depth += text[at] == '(' || text[at] == '[' || text[at] == '{';
		depth -= text[at] == ')' || text[at] == ']' || text[at] == '}';
	}
	return end;
}

/* What the compiler made of an argument: the outermost expression with its text; 0: nothing, or it is there in parts. */
static uint32_t node_of(const struct source_tree *t, struct source_span s)
{
	for (uint32_t i = 1; i < t->node.n; i++)
		if (!NODE(t, i)->elsewhere && NODE(t, i)->from == s.from && NODE(t, i)->to == s.to)
			return i;
	return 0;
}

static struct source_argument argument(const struct source_tree *t, struct source_span s)
{
	struct source_argument a = { .parameter = "", .type = "", .span = s };
	uint32_t i = node_of(t, s);
	a.text = source_keep_n(t->source, t->file->text + s.from, s.to - s.from);
	if (i)
		source_describe_argument(t, i, &a);
	return a;
}

static void find_arguments(const struct source_tree *t, size_t at, size_t end,
			   struct source_call *out)
{
	const char *text = t->file->text;
	VEC(struct source_argument) all = { 0 };
	while (at < end) {
		size_t from = source_skip_blank(text, at, end), to = argument_end(text, from, end);
		struct source_span s = { from, to };
		while (s.to > s.from && strchr(" \t\r\n", text[s.to - 1]))
			s.to--;
		if (s.to > s.from)
			VEC_PUSH(&all, argument(t, s));
		at = to + 1;
		if (to < end && text[to] == ')')
			break;
	}
	out->arguments = all.n;
	out->argument = all.n ? (void *)source_keep(t->source, (char *)all.p) : NULL;
}

int source_macro_use_at(struct source *s, const struct source_place *p, struct source_call *out,
			struct err *err)
{
	struct source_tree t;
	size_t offset;
	int rc = -1;
	*out = (struct source_call){ 0 };
	if (source_open_place(s, p, &t, &offset, err) < 0)
		return -1;
	offset = source_skip_blank(t.file->text, offset, t.file->size);
	const struct source_range *m = source_macro_at(t.unit, t.in, offset, offset + 1);
	const char *name = m ? source_string(s, source_lib.getCursorSpelling(m->cursor)) : NULL;
	size_t at = m ? source_skip_blank(t.file->text, m->from + strlen(name), m->to) : 0;
	if (!m || at >= m->to || t.file->text[at] != '(') {
		err_set(err, EXIT_PROGRAM, "no macro with arguments is at %s:%u", t.file->name,
			p->line);
	} else {
		out->callee = out->written = out->qualified = name;
		out->span = (struct source_span){ m->from, m->to };
		out->line = source_line_of(t.file, m->from);
		find_arguments(&t, at + 1, m->to, out);
		rc = 0;
	}
	source_tree_free(&t);
	return rc;
}
