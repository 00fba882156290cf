/* SPDX-License-Identifier: BSD-3-Clause */
/* Names over time: what was there before any event, whatever is renamed, linked and unlinked. */
#include "trace_util.h"

#include "trace/internal.h"

struct story {
	char *dir;
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_tree *t;
};

static void begin(struct story *s)
{
	struct err err = { 0 };
	*s = (struct story){ .dir = new_dir() };
	s->w = trace_create(s->dir, &err);
	assert_non_null(s->w);
	put_process(s->w, 100, TRACE_NO_PROCESS, TRACE_BIRTH_START);
}

static uint32_t node(struct story *s, uint8_t kind, const char *path)
{
	char none[] = "";
	struct trace_node_def def = { .kind = kind, .path = (char *)path, .target = none };
	struct err err = { 0 };
	uint32_t id;
	assert_ok(trace_put_node(s->w, &def, -1, &id, &err));
	return id;
}

/* `to`: NULL: the payload is one path. */
static void tell(struct story *s, uint8_t kind, const uint64_t arg[3], const char *path,
		 const char *to)
{
	char text[256];
	size_t n = strlen(path);
	struct err err = { 0 };
	memcpy(text, path, n + 1);
	if (to) {
		strcpy(text + n + 1, to);
		n += 1 + strlen(to);
	}
	struct trace_event e = { .kind = kind,
				 .nargs = (uint8_t)trace_kind_args(kind),
				 .thread = 1,
				 .size = (uint32_t)n,
				 .data = (const uint8_t *)text };
	memcpy(e.arg, arg, 3 * sizeof *arg);
	assert_ok(trace_put_event(s->w, &e, &err));
}

static void one(struct story *s, uint8_t kind, uint64_t id, const char *path)
{
	tell(s, kind, (uint64_t[3]){ id }, path, NULL);
}

static void finish(struct story *s)
{
	struct err err = { 0 };
	assert_ok(trace_finish(s->w, &err));
	s->r = trace_open(s->dir, &err);
	assert_non_null(s->r);
	s->t = trace_tree_read(s->r, &err);
	assert_non_null(s->t);
}

static void end(struct story *s)
{
	trace_tree_free(s->t);
	trace_close(s->r);
	drop_dir(s->dir);
}

static void add(void *arg, const struct trace_name *n)
{
	struct story **pair = arg;
	const struct trace_thing *g =
		n->thing == TRACE_NOTHING ? NULL : trace_tree_thing(pair[0]->t, n->thing);
	buf_printf((struct buf *)pair[1], " %s=", n->path);
	if (!g)
		buf_puts((struct buf *)pair[1], "-");
	else
		buf_printf((struct buf *)pair[1], "%u%s",
			   g->node == TRACE_NO_NODE ? g->file : g->node, n->moved ? "!" : "");
}

/* All names before an event, as "path=node", "-" for none, "!" for a folder that moves away. */
#define assert_names(s, event, text) check_names(s, event, text, __LINE__)
static void check_names(struct story *s, uint64_t event, const char *text, int line)
{
	struct buf b = { 0 };
	void *pair[2] = { s, &b };
	buf_puts(&b, "");
	trace_tree_names(s->t, event, add, pair);
	buf_add(&b, "", 1);
	if (strcmp(*b.p ? b.p + 1 : b.p, text) != 0)
		fail_msg("line %d: before event %d: '%s', not '%s'", line, (int)event, b.p, text);
	buf_free(&b);
}

static void replaced_by_rename(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint32_t old = node(&s, TRACE_IS_FILE, "/d/pool"), new = node(&s, TRACE_IS_FILE, "/d/tmp");
	one(&s, TRACE_NODE_NEW, new, "/d/tmp");                                       /* 0 */
	tell(&s, TRACE_NODE_MOVE, (uint64_t[3]){ new, old, 0 }, "/d/tmp", "/d/pool"); /* 1 */
	one(&s, TRACE_NODE_UNLINK, new, "/d/pool");                                   /* 2 */
	finish(&s);
	assert_names(&s, 0, "/d/tmp=- /d/pool=0");
	assert_names(&s, 1, "/d/tmp=1 /d/pool=0");
	assert_names(&s, 2, "/d/tmp=- /d/pool=1");
	assert_names(&s, 3, "/d/tmp=- /d/pool=-");
	end(&s);
}

static void exchanged(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint32_t a = node(&s, TRACE_IS_FILE, "/a"), b = node(&s, TRACE_IS_FILE, "/b");
	tell(&s, TRACE_NODE_MOVE, (uint64_t[3]){ a, b, TRACE_MOVE_EXCHANGE }, "/a", "/b");
	finish(&s);
	assert_names(&s, 0, "/a=0 /b=1");
	assert_names(&s, 1, "/a=1 /b=0");
	end(&s);
}

/* What is in a folder goes with it, also what is first heard of later. */
static void a_folder_is_renamed(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint32_t d = node(&s, TRACE_IS_FOLDER, "/x/d"), f = node(&s, TRACE_IS_FILE, "/x/d/f"),
		 late = node(&s, TRACE_IS_FILE, "/x/e/late");
	one(&s, TRACE_NODE_NEW, f, "/x/d/f");                                            /* 0 */
	one(&s, TRACE_NODE_THERE, d, "/x/d");                                            /* 1 */
	tell(&s, TRACE_NODE_MOVE, (uint64_t[3]){ d, TRACE_NO_NODE, 0 }, "/x/d", "/x/e"); /* 2 */
	one(&s, TRACE_NODE_THERE, late, "/x/e/late");                                    /* 3 */
	finish(&s);
	assert_names(&s, 0, "/x/d=0! /x/d/f=- /x/d/late=2 /x/e=-");
	assert_names(&s, 2, "/x/d=0! /x/d/f=1 /x/d/late=2 /x/e=-");
	assert_names(&s, 3, "/x/d=- /x/e=0 /x/e/f=1 /x/e/late=2");
	end(&s);
}

static void hard_links(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint32_t f = node(&s, TRACE_IS_FILE, "/a");
	one(&s, TRACE_NODE_NEW, f, "/a");    /* 0 */
	one(&s, TRACE_NODE_LINK, f, "/b");   /* 1 */
	one(&s, TRACE_NODE_UNLINK, f, "/a"); /* 2 */
	one(&s, TRACE_NODE_UNLINK, f, "/c"); /* 3: a name that nobody had mentioned */
	finish(&s);
	assert_names(&s, 0, "/a=- /b=- /c=0");
	assert_names(&s, 2, "/a=0 /b=0 /c=0");
	assert_names(&s, 4, "/a=- /b=0 /c=-");
	end(&s);
}

/* A recording of an earlier version: PM files only, of which only renames and unlinks are told. */
static void without_nodes(void **state)
{
	struct story s;
	char path[] = "/d/pool";
	struct trace_file_def def = { .path = path };
	struct err err = { 0 };
	uint32_t id;
	(void)state;
	begin(&s);
	assert_ok(trace_put_file(s.w, &def, -1, &id, &err));
	one(&s, TRACE_FILE_RENAME, id, "/d/other"); /* 0 */
	one(&s, TRACE_FILE_UNLINK, id, "");         /* 1 */
	finish(&s);
	assert_names(&s, 0, "/d/pool=0 /d/other=-");
	assert_names(&s, 1, "/d/pool=- /d/other=0");
	assert_names(&s, 2, "/d/pool=- /d/other=-");
	end(&s);
}

/* Nonsense, which no kernel would do, ends. */
static void circles(void **state)
{
	struct story s;
	(void)state;
	begin(&s);
	uint32_t d = node(&s, TRACE_IS_FOLDER, "/d");
	one(&s, TRACE_NODE_NEW, d, "/d");
	one(&s, TRACE_NODE_LINK, d, "/d/e");
	one(&s, TRACE_NODE_LINK, d, "/d/e/f");
	one(&s, TRACE_NODE_UNLINK, 77, "/d/e/f");
	finish(&s);
	assert_names(&s, 3, "/d=0! /d/e=0! /d/f=0!");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaced_by_rename),  cmocka_unit_test(exchanged),
		cmocka_unit_test(a_folder_is_renamed), cmocka_unit_test(hard_links),
		cmocka_unit_test(without_nodes),       cmocka_unit_test(circles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
