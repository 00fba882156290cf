/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code beside a statement, as a person would write it: on a line of its own with the statement's indentation, or in the
 * same line where others follow there; with braces where a body was one statement. A return gets a variable for its
 * result where something has to happen before it returns.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "source/edits.h"
#include "source/internal.h"

/* Which of several edits at one offset comes first. Of braces, the inner close first and open last. */
enum { AFTER = 1, TAIL, CLOSE, OPEN, BEFORE, REPLACE };

static int64_t rank(int class, size_t key)
{
	return (int64_t) class << 40 | (int64_t)(uint32_t)key;
}

static const char *eol(const struct source_file *f)
{
	return f->crlf ? "\r\n" : "\n";
}

static void add_edit(const struct source_file *f, size_t at, size_t removed, const char *text,
		     int64_t order, struct source_edits *e)
{
	VEC_PUSH(&e->edit, ((struct source_edit){ f, at, removed, text, order }));
}

static int refuse(const struct source_file *f, const char *why, struct err *err)
{
	if (f->refused)
		return err_set(err, EXIT_PROGRAM, "%s", f->refused);
	return why ? err_set(err, EXIT_PROGRAM, "%s", why) : 0;
}

/* Nothing, or a comment that ends there, follows in the line. */
static bool ends_line(const struct source_file *f, size_t at)
{
	size_t end = source_line_end(f, at);
	while (at < end && (f->text[at] == ' ' || f->text[at] == '\t'))
		at++;
	if (at == end || strncmp(f->text + at, "//", 2) == 0)
		return true;
	return source_skip_blank(f->text, at, end) == end && f->text[end - 1] == '/' &&
	       f->text[end - 2] == '*';
}

static bool begins_line(const struct source_file *f, size_t at)
{
	return source_indent(f, at).to == at;
}

/* How the text beside a statement is laid out. */
struct layout {
	const struct source_file *file;
	bool lines;         /* on lines of its own */
	size_t after;       /* where what follows the statement goes */
	const char *indent; /* of those lines */
};

static struct layout lay_out(struct source *s, const struct source_statement *st)
{
	const struct source_file *f = st->file;
	struct layout l = { .file = f, .after = st->span.to };
	struct source_span indent = source_indent(f, st->span.from);
	bool same_line =
		st->body && source_line_of(f, st->head.to) == source_line_of(f, st->span.from);
	l.lines = ends_line(f, st->span.to) && !same_line;
	if (l.lines)
		l.after = source_line_end(f, st->span.to);
	bool deeper = st->opens || (st->label && !begins_line(f, st->span.from));
	char *text = xasprintf("%.*s%s", (int)(indent.to - indent.from), f->text + indent.from,
			       deeper ? source_indent_unit(f) : "");
	l.indent = source_keep(s, text);
	return l;
}

/* Lines of code behind the statement: each begins a line, or all stand in its own. */
static const char *behind(struct source *s, const struct layout *l, const char *code)
{
	struct buf b = { 0 };
	for (const char *p = code; *p;) {
		size_t n = strcspn(p, "\n");
		if (l->lines)
			buf_printf(&b, "%s%s", eol(l->file), n ? l->indent : "");
		else
			buf_puts(&b, " ");
		buf_add(&b, p, n);
		p += n + (p[n] == '\n');
	}
	buf_add(&b, "", 1);
	return source_keep(s, b.p);
}

static const char *ahead(struct source *s, const struct layout *l, size_t at, const char *code)
{
	struct buf b = { 0 };
	bool lines = begins_line(l->file, at);
	for (const char *p = code; *p;) {
		size_t n = strcspn(p, "\n");
		buf_add(&b, p, n);
		if (lines)
			buf_printf(&b, "%s%s", eol(l->file), l->indent);
		else
			buf_puts(&b, " ");
		p += n + (p[n] == '\n');
	}
	buf_add(&b, "", 1);
	return source_keep(s, b.p);
}

/* Behind white space, without comments, is the word. */
static size_t word_follows(const struct source_file *f, size_t at, const char *word)
{
	size_t n = strlen(word);
	while (at < f->size && isspace((unsigned char)f->text[at]))
		at++;
	return strncmp(f->text + at, word, n) == 0 && !isalnum((unsigned char)f->text[at + n]) &&
			       f->text[at + n] != '_'
		       ? at
		       : 0;
}

static void add_braces(struct source *s, const struct source_statement *st, const struct layout *l,
		       struct source_edits *e)
{
	const struct source_file *f = st->file;
	size_t inner = UINT32_MAX - (uint32_t)st->span.from;
	if (!l->lines) {
		add_edit(f, st->span.from, 0, "{ ", rank(OPEN, st->owner.from), e);
		add_edit(f, l->after, 0, " }", rank(CLOSE, inner), e);
		return;
	}
	struct source_span indent = source_indent(f, st->body ? st->owner.from : st->span.from);
	const char *text = f->text + indent.from;
	int n = (int)(indent.to - indent.from);
	if (st->body) {
		add_edit(f, st->head.to, 0, " {", rank(OPEN, st->owner.from), e);
	} else {
		char *open = xasprintf("{%s%s", eol(f), l->indent);
		add_edit(f, st->span.from, 0, source_keep(s, open), rank(OPEN, st->owner.from), e);
	}
	size_t next = st->body ? word_follows(f, l->after, "else") : 0;
	if (!next && st->body && strncmp(f->text + st->owner.from, "do", 2) == 0)
		next = word_follows(f, l->after, "while");
	char *close = xasprintf("%s%.*s}%s", eol(f), n, text, next ? " " : "");
	add_edit(f, l->after, next ? next - l->after : 0, source_keep(s, close), rank(CLOSE, inner),
		 e);
}

/* A return becomes "T result = …;" and, behind what is inserted, "return result;". */
static void split_return(struct source *s, const struct source_statement *st,
			 const struct layout *l, struct source_edits *e)
{
	const struct source_file *f = st->file;
	const char *name = source_new_name(s, f, "result", st->span.from);
	size_t n = strlen(st->result_type);
	char *head = xasprintf("%s%s%s = ", st->result_type,
			       st->result_type[n - 1] == '*' ? "" : " ", name);
	char *tail = xasprintf("return %s;", name);
	add_edit(f, st->span.from, st->result.from - st->span.from, source_keep(s, head),
		 rank(REPLACE, 0), e);
	add_edit(f, l->after, 0, behind(s, l, tail), rank(TAIL, 0), e);
	free(tail);
	if (st->label && !st->body)
		add_braces(s, st, l, e);
}

/*
 * A call in a condition, as "T result = call;" before, and the condition with the result. The call's text stays
 * where it is, for there may be edits in it: what stands before it moves behind.
 */
static void lift_condition(struct source *s, const struct source_statement *st,
			   const struct layout *l, const char *code, struct source_edits *e)
{
	const struct source_file *f = st->file;
	const char *name = source_new_name(s, f, "result", st->span.from);
	const char *type = st->result_type;
	struct layout own = *l;
	own.lines = begins_line(f, st->span.from);
	char *head = xasprintf("%s%s%s = ", type, type[strlen(type) - 1] == '*' ? "" : " ", name);
	char *tail = xasprintf("%.*s%s", (int)(st->result.from - st->span.from),
			       f->text + st->span.from, name);
	add_edit(f, st->span.from, st->result.from - st->span.from, source_keep(s, head),
		 rank(REPLACE, 0), e);
	add_edit(f, st->result.to, 0, ";", rank(AFTER, 0), e);
	add_edit(f, st->result.to, 0, behind(s, &own, code), rank(AFTER, 1), e);
	add_edit(f, st->result.to, 0, behind(s, &own, tail), rank(TAIL, 0), e);
	free(tail);
}

/* A variable, declared before a statement: in braces where a declaration may not be beside it. */
static void declare(struct source *s, const struct source_statement *st, const char *code,
		    struct source_edits *e)
{
	struct layout l = lay_out(s, st);
	if (st->body || st->label)
		add_braces(s, st, &l, e);
	add_edit(st->file, st->span.from, 0, ahead(s, &l, st->span.from, code), rank(BEFORE, 0), e);
}

/* Behind an expression of a statement, by commas. Of several that end at one place, the inner one comes first. */
static int insert_part(struct source *s, const struct source_statement *st, const char *code,
		       struct source_edits *e, struct err *err)
{
	const struct source_file *f = st->file;
	const struct source_span *in = &st->result;
	const char *text = source_as_expression(s, f, code, err);
	int64_t end = rank(AFTER, 0) | (int64_t)(UINT32_MAX - (uint32_t)in->from) << 1;
	const char *name = "", *type = st->result_type, *first = st->first ? st->first : "";
	if (!text)
		return -1;
	if (type) {
		name = source_new_name(s, f, "result", in->from);
		char *var =
			xasprintf("%s%s%s;", type, type[strlen(type) - 1] == '*' ? "" : " ", name);
		declare(s, st, source_keep(s, var), e);
	}
	if (st->unused) {
		add_edit(f, st->span.from, 0, "(void)(", rank(BEFORE, 1), e);
		add_edit(f, st->span.to - 1, 0, ")", rank(CLOSE, 0), e);
	}
	char *open = xasprintf("%s%s%s%s", st->bare ? "" : "(", first, name, type ? " = " : "");
	char *close = xasprintf("%s%s%s", type ? ", " : "", name, st->bare ? "" : ")");
	add_edit(f, in->from, 0, source_keep(s, open), rank(BEFORE, UINT32_MAX - (uint32_t)in->to),
		 e);
	add_edit(f, in->to, 0, text, end, e);
	add_edit(f, in->to, 0, source_keep(s, close), end | 1, e);
	return 0;
}

int source_insert_before(struct source *s, const struct source_statement *st, const char *code,
			 struct source_edits *e, struct err *err)
{
	if (refuse(st->file, st->no_before, err) < 0)
		return -1;
	struct layout l = lay_out(s, st);
	if (st->body)
		add_braces(s, st, &l, e);
	add_edit(st->file, st->span.from, 0, ahead(s, &l, st->span.from, code), rank(BEFORE, 0), e);
	return 0;
}

int source_may_follow(struct source *s, const struct source_statement *st, const char *code,
		      struct err *err)
{
	return st->where != SOURCE_IN_EXPRESSION || source_as_expression(s, st->file, code, err)
		       ? 0
		       : -1;
}

int source_insert_after(struct source *s, const struct source_statement *st, const char *code,
			struct source_edits *e, struct err *err)
{
	if (refuse(st->file, st->no_after, err) < 0)
		return -1;
	if (st->where == SOURCE_IN_EXPRESSION)
		return insert_part(s, st, code, e, err);
	struct layout l = lay_out(s, st);
	if (st->body)
		add_braces(s, st, &l, e);
	if (st->where == SOURCE_IN_CONDITION) {
		lift_condition(s, st, &l, code, e);
		return 0;
	}
	if (st->where == SOURCE_IN_RETURN)
		split_return(s, st, &l, e);
	add_edit(st->file, l.after, 0, behind(s, &l, code), rank(AFTER, 0), e);
	if (st->opens && !l.lines && st->file->text[l.after] == '}')
		add_edit(st->file, l.after, 0, " ", rank(TAIL, 0), e);
	return 0;
}

int source_insert_store(struct source *s, const struct source_store *store, const char *code,
			struct source_edits *e, struct err *err)
{
	const struct source_statement *st = &store->statement;
	if (source_insert_after(s, st, code, e, err) < 0)
		return -1;
	if (!store->capture)
		return 0;
	if (st->where == SOURCE_IN_EXPRESSION)
		declare(s, st, store->capture, e);
	else if (source_insert_before(s, st, store->capture, e, err) < 0)
		return -1;
	if (store->replaced.to > store->replaced.from)
		add_edit(st->file, store->replaced.from, store->replaced.to - store->replaced.from,
			 store->replacement, rank(REPLACE, 0), e);
	/* A declaration may not follow a label, and in C++ a jump may not skip it. */
	if ((st->label || st->jumps) && !st->body && !st->declares &&
	    st->where != SOURCE_IN_EXPRESSION) {
		struct layout l = lay_out(s, st);
		add_braces(s, st, &l, e);
	}
	return 0;
}

int source_replace(struct source *s, const struct source_file *f, size_t at, size_t removed,
		   const char *text, struct source_edits *e, struct err *err)
{
	bool inside = at <= f->size && removed <= f->size - at;
	if (refuse(f, inside ? NULL : "a macro hides it", err) < 0)
		return -1;
	add_edit(f, at, removed, source_keep(s, xstrdup(text)), rank(REPLACE, 0), e);
	return 0;
}

int source_insert_exits(struct source *s, const struct source_function *fn, const char *code,
			struct source_edits *e, struct err *err)
{
	if (refuse(fn->file, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < fn->exits; i++)
		if (refuse(fn->file, fn->exit[i].no_before, err) < 0)
			return -1;
	for (size_t i = 0; i < fn->exits; i++)
		source_insert_before(s, &fn->exit[i], code, e, err);
	if (!fn->falls)
		return 0;
	/* Before the last brace, indented once more than it. */
	struct source_span indent = source_indent(fn->file, fn->body.to - 1);
	bool lines = indent.to == fn->body.to - 1;
	struct buf b = { 0 };
	for (const char *p = code; *p;) {
		size_t n = strcspn(p, "\n");
		if (lines)
			buf_puts(&b, source_indent_unit(fn->file));
		buf_add(&b, p, n);
		if (lines)
			buf_printf(&b, "%s%.*s", eol(fn->file), (int)(indent.to - indent.from),
				   fn->file->text + indent.from);
		else
			buf_puts(&b, " ");
		p += n + (p[n] == '\n');
	}
	buf_add(&b, "", 1);
	add_edit(fn->file, fn->body.to - 1, 0, source_keep(s, b.p), rank(BEFORE, 0), e);
	return 0;
}

/* ---- copies ---- */

/* Text behind what ends at `to`, on lines of its own. */
static void add_behind(struct source *s, const struct source_file *f, size_t to, bool blank,
		       const struct buf *text, struct source_edits *e)
{
	size_t at = ends_line(f, to) ? source_line_end(f, to) : to;
	char *all = xasprintf("%s%s%.*s", eol(f), blank ? eol(f) : "", (int)text->n, text->p);
	add_edit(f, at, 0, source_keep(s, all), rank(AFTER, 0), e);
}

static bool is_word(int c)
{
	return isalnum(c) || c == '_';
}

/* Where the name stands in a declaration; SIZE_MAX: a macro hides it. */
static size_t find_name(const struct source_prototype *p, const char *name)
{
	const char *text = p->file->text;
	size_t n = strlen(name);
	for (size_t at = p->span.from; at + n <= p->span.to; at++)
		if (strncmp(text + at, name, n) == 0 && !is_word((unsigned char)text[at + n]) &&
		    (at == 0 || !is_word((unsigned char)text[at - 1])))
			return at;
	return SIZE_MAX;
}

static void add_prototype(struct source *s, const struct source_prototype *p,
			  const struct source_function *fn, const char *name,
			  struct source_edits *e)
{
	size_t at = find_name(p, fn->name);
	struct buf b = { 0 };
	if (at == SIZE_MAX || p->file->refused)
		return;
	buf_add(&b, p->file->text + p->span.from, at - p->span.from);
	buf_puts(&b, name);
	at += strlen(fn->name);
	buf_add(&b, p->file->text + at, p->span.to - at);
	add_behind(s, p->file, p->span.to, false, &b, e);
	buf_free(&b);
}

int source_insert_copy(struct source *s, const struct source_function *fn, const char *name,
		       const struct source_edits *inside, struct source_edits *e, struct err *err)
{
	struct source_edits own = { 0 };
	struct buf b = { 0 };
	if (refuse(fn->file, fn->no_copy, err) < 0)
		return -1;
	for (size_t i = 0; inside && i < inside->edit.n; i++)
		VEC_PUSH(&own.edit, inside->edit.p[i]);
	const char *kept = source_keep(s, xstrdup(name));
	size_t n = strlen(fn->name);
	add_edit(fn->file, fn->name_at.from, n, kept, rank(REPLACE, 0), &own);
	for (size_t i = 0; i < fn->calls; i++)
		if (!fn->call[i].indirect && strcmp(fn->call[i].callee, fn->name) == 0 &&
		    fn->call[i].name.from < fn->file->size)
			add_edit(fn->file, fn->call[i].name.from, n, kept, rank(REPLACE, 0), &own);
	int rc = source_edits_check(&own, err);
	if (rc == 0) {
		source_edits_text(&own, fn->file, fn->span.from, fn->span.to, &b);
		add_behind(s, fn->file, fn->span.to, true, &b, e);
		for (size_t i = 0; i < fn->prototypes; i++)
			add_prototype(s, &fn->prototype[i], fn, name, e);
	}
	source_edits_free(&own);
	buf_free(&b);
	return rc;
}
