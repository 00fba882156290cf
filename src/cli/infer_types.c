/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast infer --types: which objects a program stores to, their fields, and how often. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/run.h"
#include "cli/types.h"
#include "crash/crash.h"
#include "infer/infer.h"
#include "report/report.h"

/* What the shapes of a type add up to. */
struct figures {
	uint64_t shapes, groups;
};

static struct figures figures_of(const struct infer_behaviours *b, uint32_t type)
{
	struct figures f = { 0 };
	const struct infer_shape *s;
	const struct infer_group *g;
	for (size_t i = 0; (s = infer_shape_at(b, i)); i++)
		f.shapes += s->type == type;
	for (size_t i = 0; (g = infer_group_at(b, i)); i++)
		f.groups += infer_shape_at(b, g->shape)->type == type;
	return f;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_text(const struct infer_behaviours *b, uint32_t type)
{
	const struct infer_type *t = infer_type_at(b, type);
	const struct infer_field *f;
	struct figures n = figures_of(b, type);
	printf("%s", t->name);
	if (t->size)
		printf(", %" PRIu64 " bytes", t->size);
	printf(" (%s): ", infer_typing_at(t->typing)->name);
	if (t->objects)
		printf("%" PRIu64 " object%s, ", t->objects, plural(t->objects));
	printf("%" PRIu64 " update%s in %" PRIu64 " behaviour%s of %" PRIu64 " shape%s, %" PRIu64
	       " to test\n",
	       t->updates, plural(t->updates), t->behaviours, plural(t->behaviours), n.shapes,
	       plural(n.shapes), n.groups);
	for (size_t i = 0; (f = infer_field_at(b, i)); i++)
		if (f->type == type && f->updates)
			printf("  %s  %" PRIu64 "\n", *f->name ? f->name : "(all of it)",
			       f->updates);
}

static char *number(uint64_t n)
{
	return xasprintf("%" PRIu64, n);
}

static void print_json(const struct infer_behaviours *b, uint32_t type)
{
	const struct infer_type *t = infer_type_at(b, type);
	const struct infer_field *f;
	struct figures n = figures_of(b, type);
	for (size_t i = 0; (f = infer_field_at(b, i)); i++) {
		if (f->type != type || !f->updates)
			continue;
		struct report_field field[] = {
			{ "type", xstrdup(t->name), false },
			{ "by", xstrdup(infer_typing_at(t->typing)->name), false },
			{ "size", t->size ? number(t->size) : NULL, true },
			{ "objects", t->objects ? number(t->objects) : NULL, true },
			{ "behaviours", number(t->behaviours), true },
			{ "shapes", number(n.shapes), true },
			{ "groups", number(n.groups), true },
			{ "field", xstrdup(f->name), false },
			{ "updates", number(f->updates), true },
		};
		report_fields(field, sizeof field / sizeof *field, stdout);
		for (size_t k = 0; k < sizeof field / sizeof *field; k++)
			free(field[k].text);
	}
}

/* "1331 updates: lvalue 812, overlap 301, …" */
static void say_typings(const struct infer_behaviours *b)
{
	const struct infer_typing *t;
	struct buf text = { 0 };
	uint64_t all = 0;
	for (size_t i = 0; (t = infer_typing_at(i)); i++) {
		all += infer_typed(b, i);
		buf_printf(&text, "%s%s %" PRIu64, i ? ", " : "", t->name, infer_typed(b, i));
	}
	msg_info("%" PRIu64 " updates, typed by: %s", all, text.p ? text.p : "");
	buf_free(&text);
}

struct row {
	uint32_t type;
	uint64_t updates;
};

static int by_updates(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->updates != y->updates)
		return x->updates > y->updates ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static void print_all(const struct infer_behaviours *b, bool json, uint64_t top)
{
	VEC(struct row) row = { 0 };
	const struct infer_type *t;
	for (size_t i = 0; (t = infer_type_at(b, i)); i++)
		if (t->updates)
			VEC_PUSH(&row, ((struct row){ (uint32_t)i, t->updates }));
	if (row.n)
		qsort(row.p, row.n, sizeof *row.p, by_updates);
	stdout_printable(!json);
	for (size_t i = 0; i < row.n && (!top || i < top); i++)
		(json ? print_json : print_text)(b, row.p[i].type);
	stdout_printable(false);
	VEC_FREE(&row);
}

int types_show(const char *dir, const char *model, bool json, uint64_t top, struct err *err)
{
	struct crash_opts opts = { .model = model_find(model), .max_per_path = 1 };
	struct trace_reader *r = trace_open(dir, err);
	struct crash *c = r ? crash_new(r, &opts, err) : NULL;
	const char *stale;
	if (c) {
		struct crash_behaviours *all = crash_behaviours(c);
		if (crash_damage(c))
			msg_warn("%s is not whole: %s", dir, crash_damage(c));
		say_typings(crash_behaviours_found(all));
		print_all(crash_behaviours_found(all), json, top);
		for (size_t i = 0; (stale = crash_stale(c, i)); i++)
			msg_warn("%s has changed since the recording: its types are not known",
				 stale);
		crash_behaviours_free(all);
	}
	crash_free(c);
	trace_close(r);
	return c ? 0 : -1;
}
