/* SPDX-License-Identifier: BSD-3-Clause */
/* One source file, what is flushed in it, and what it looks like then. */
#ifndef HOLDFAST_TESTS_SOURCE_ONE_H
#define HOLDFAST_TESTS_SOURCE_ONE_H

#include "source/fixture.h"

static const char head[] = "struct s { int a, b, n; struct s *next; int arr[8]; };\n"
			   "void F(const void *, unsigned long);\nvoid DRAIN(void);\n";

/* One file, opened; `text` follows the head. */
struct one {
	char *dir;
	struct source *s;
	struct source_edits e;
	struct err err;
	const char *name;
};

static inline struct one open_one(const char *name, const char *text)
{
	struct one o = { .dir = fixture_new(), .name = name };
	char *all = xasprintf("%s%s", head, text);
	fixture_write(o.dir, name, all, strlen(all));
	free(all);
	o.s = fixture_open(o.dir);
	return o;
}

static inline void close_one(struct one *o)
{
	source_edits_free(&o->e);
	source_close(o->s);
	fixture_remove(o->dir);
}

/* The place where the mark stands in the file. */
static inline struct source_place at(struct one *o, const char *mark)
{
	const struct source_file *f;
	assert_int_equal(source_file_at(o->s, o->name, &f, &o->err), 0);
	const char *p = strstr(f->text, mark);
	assert_non_null(p);
	struct source_place place = source_place_of(f, (size_t)(p - f->text));
	place.file = o->name;
	return place;
}

static inline void flush_at(struct one *o, const char *mark)
{
	struct source_place p = at(o, mark);
	struct source_store st;
	if (source_store_at(o->s, &p, 0, &st, &o->err) < 0)
		fail_msg("%s", o->err.text);
	char *code = xasprintf("F(%s, %s);", st.address, st.size);
	if (source_insert_store(o->s, &st, code, &o->e, &o->err) < 0)
		fail_msg("%s", o->err.text);
	free(code);
}

/* The edited file, without the head, is this; and git and patch agree. */
static inline void expect(struct one *o, const char *want)
{
	const struct source_file *f;
	size_t n;
	assert_int_equal(source_edits_check(&o->e, &o->err), 0);
	assert_int_equal(source_file_at(o->s, o->name, &f, &o->err), 0);
	char *got = source_edits_apply(&o->e, f, &n);
	assert_string_equal(got + strlen(head), want);
	free(got);
	fixture_patch(o->s, o->dir, o->name, &o->e);
	static const char *const compilers[] = { "gcc", "clang" };
	for (size_t i = 0; i < 2; i++) {
		char *command = xasprintf("%s -fsyntax-only -Wall -Wextra -Werror '%s'",
					  compilers[i], o->name);
		fixture_run(o->dir, command);
		free(command);
	}
}

#endif
