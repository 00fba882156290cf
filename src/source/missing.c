/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without libclang: no tree can be opened, so that nobody can ask anything else. */
#include "source/source.h"

static int missing(struct err *err)
{
	return err_set(err, EXIT_PROGRAM,
		       "this holdfast was built without libclang, which reads the source; install "
		       "libclang-dev and build it again");
}

bool source_available(void)
{
	return false;
}

struct source *source_open(const struct source_options *o, struct err *err)
{
	(void)o;
	missing(err);
	return NULL;
}

void source_close(struct source *s)
{
	(void)s;
}

struct source_place source_place_of(const struct source_file *f, size_t offset)
{
	struct source_place p = { f->path, 1, 1 };
	for (size_t i = 0; i < offset && i < f->size; i++) {
		p.column = f->text[i] == '\n' ? 1 : p.column + 1;
		p.line += f->text[i] == '\n';
	}
	return p;
}

void source_counts(const struct source *s, size_t *units, size_t *broken)
{
	(void)s;
	*units = *broken = 0;
}

#define NO(name, ...)                                                                              \
	int name(struct source *s, __VA_ARGS__, struct err *err)                                   \
	{                                                                                          \
		(void)s;                                                                           \
		return missing(err);                                                               \
	}
#define UNUSED __attribute__((unused))
#define PLACE UNUSED const struct source_place *place
#define FILE_ UNUSED const struct source_file *file
#define CODE UNUSED const char *code
#define EDITS UNUSED struct source_edits *edits

NO(source_file_at, CODE, UNUSED const struct source_file **file)
NO(source_statement_at, PLACE, UNUSED struct source_statement *out)
NO(source_store_at, PLACE, UNUSED uint64_t bytes, UNUSED struct source_store *out)
NO(source_macro_use_at, PLACE, UNUSED struct source_call *out)
NO(source_declared, FILE_, UNUSED size_t before, CODE)
NO(source_value_for, UNUSED const struct source_statement *statement, CODE,
   UNUSED const char **text)
NO(source_call_at, PLACE, CODE, UNUSED struct source_call *out)
NO(source_function_at, PLACE, CODE, UNUSED struct source_function *out)
NO(source_loop_around, PLACE, UNUSED const struct source_store *store,
   UNUSED struct source_loop *out)
NO(source_insert_before, UNUSED const struct source_statement *at, CODE, EDITS)
NO(source_insert_after, UNUSED const struct source_statement *at, CODE, EDITS)
NO(source_insert_store, UNUSED const struct source_store *at, CODE, EDITS)
NO(source_insert_exits, UNUSED const struct source_function *at, CODE, EDITS)
NO(source_insert_top, FILE_, CODE, EDITS)
NO(source_replace, FILE_, UNUSED size_t at, UNUSED size_t removed, CODE, EDITS)
NO(source_insert_copy, UNUSED const struct source_function *at, CODE,
   UNUSED const struct source_edits *inside, EDITS)
