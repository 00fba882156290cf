/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings: the main frame, identities, sets, suppressions, the baseline. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "finding/finding.h"

static char folder[] = "/tmp/holdfast-finding-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define P(...)                                                                                     \
	finding_place_copy((struct srcloc_where){ (struct srcloc_frame[]){ __VA_ARGS__ },          \
						  sizeof((struct srcloc_frame[]){ __VA_ARGS__ }) / \
							  sizeof(struct srcloc_frame) })
#define IN(fn, path, no)                                                                           \
	((struct srcloc_frame){ .function = fn, .file = path, .line = no, .module = "/p/prog" })
#define INL(fn, path, no)                                                                          \
	((struct srcloc_frame){                                                                    \
		.function = fn, .file = path, .line = no, .module = "/p/prog", .inlined = true })
#define HELPER(fn, path, no)                                                                       \
	((struct srcloc_frame){                                                                    \
		.function = fn, .file = path, .line = no, .module = "/p/prog", .helper = true })
#define LIB(fn, object) ((struct srcloc_frame){ .function = fn, .module = object, .offset = 0x10 })

/* --- the main frame --- */

static void expect_main(struct finding_place place, const char *function)
{
	const struct srcloc_frame *f = finding_main_frame(&place);
	assert_non_null(f);
	assert_string_equal(f->function, function);
	free(place.frame);
}

/* Names say nothing: these are the program, whatever they remind of. */
static void test_main_frame_is_the_program(void **state)
{
	(void)state;
	expect_main(P(IN("insert", "/p/list.c", 7), IN("main", "/p/list.c", 20)), "insert");
	expect_main(P(IN("persist_node", "/p/tree.c", 7), IN("main", "/p/tree.c", 20)),
		    "persist_node");
	expect_main(P(INL("pm_flush", "/p/pm.h", 7), IN("main", "/p/log.c", 20)), "pm_flush");
	expect_main(P(INL("clwb", "/p/node.h", 7), IN("main", "/p/list.c", 20)), "clwb");
}

static void test_main_frame_skips_helpers(void **state)
{
	struct srcloc_frame flush = HELPER("x1", "/c/a.c", 22),
			    persist = HELPER("x2", "/c/a.c", 90);
	(void)state;
	expect_main(P(flush, persist, IN("insert", "/c/raw/list.c", 7),
		      IN("main", "/c/common/main.c", 20)),
		    "insert");
	expect_main(P(INL("_mm_clwb", "/usr/lib/gcc/x86_64-linux-gnu/12/include/clwbintrin.h", 39),
		      flush, IN("insert", "/c/list.c", 7)),
		    "insert");
	expect_main(P(INL("memcpy", "/usr/include/x86_64-linux-gnu/bits/string_fortified.h", 29),
		      IN("insert", "/c/list.c", 7)),
		    "insert");
	expect_main(
		P(INL("std::copy<int*>(int*, int*)", "/usr/include/c++/12/bits/stl_algobase.h", 4),
		  IN("insert", "/c/list.c", 7)),
		"insert");
}

/* ---- which functions are helpers ---- */

enum {
	RANGE = SRCLOC_TAKES_KNOWN | SRCLOC_TAKES_RANGE,
	OBJECT = SRCLOC_TAKES_KNOWN | SRCLOC_TAKES_OBJECT,
	NOTHING = SRCLOC_TAKES_KNOWN,
	COPY = RANGE | SRCLOC_TAKES_LENGTH | SRCLOC_TAKES_COPY
};

static struct srcloc_frame takes(const char *name, uint8_t what)
{
	struct srcloc_frame f = IN(name, "/p/x.c", 1);
	f.takes = what;
	return f;
}

static void see(struct finding_helpers *h, struct finding_place p, enum finding_act act)
{
	finding_helpers_see(h, (struct srcloc_where){ p.frame, p.n }, act);
	free(p.frame);
}

static void add_name(void *arg, const struct finding_helper *h)
{
	struct buf *out = arg;
	buf_printf(out, "%s%s", out->n ? " " : "", h->function);
}

static void expect_helpers(struct finding_helpers *h, const char *want)
{
	struct buf got = { 0 };
	finding_helpers_decide(h);
	finding_helpers_each(h, add_name, &got);
	assert_string_equal(got.p ? got.p : "", want);
	buf_free(&got);
	finding_helpers_free(h);
}

static void test_helpers_by_what_they_do(void **state)
{
	struct srcloc_frame flush = takes("a", RANGE), fence = takes("b", NOTHING),
			    persist = takes("c", RANGE), insert = takes("d", OBJECT),
			    root = takes("main", NOTHING);
	struct finding_helpers *h = finding_helpers_new();
	(void)state;
	see(h, P(insert, root), FINDING_STORES);
	see(h, P(flush, persist, insert, root), FINDING_FLUSHES);
	see(h, P(fence, persist, insert, root), FINDING_FENCES);
	expect_helpers(h, "a c b");
}

/* One that finds by itself what to flush, one that stores as well, one that calls such a one. */
static void test_no_helpers(void **state)
{
	struct srcloc_frame node = takes("a", NOTHING), both = takes("b", RANGE),
			    caller = takes("c", RANGE), root = takes("main", RANGE);
	struct finding_helpers *h = finding_helpers_new();
	(void)state;
	see(h, P(node, root), FINDING_FLUSHES);
	see(h, P(both, caller, root), FINDING_FLUSHES);
	see(h, P(both, caller, root), FINDING_STORES);
	expect_helpers(h, "");
}

static void test_copies_are_helpers_setters_are_not(void **state)
{
	struct srcloc_frame copy = takes("a", COPY), set = takes("b", RANGE | SRCLOC_TAKES_LENGTH),
			    root = takes("main", NOTHING);
	struct finding_helpers *h = finding_helpers_new();
	(void)state;
	see(h, P(copy, root), FINDING_STORES);
	see(h, P(LIB("memcpy", "/lib/libc.so.6"), copy, root), FINDING_STORES);
	see(h, P(set, root), FINDING_STORES);
	expect_helpers(h, "a");
}

static void test_people_know_better(void **state)
{
	static const char *const yes[] = { "se?" }, *const no[] = { "fl*" };
	struct srcloc_frame flush = takes("flush", RANGE), set = takes("set", OBJECT),
			    root = takes("main", NOTHING);
	struct finding_helpers *h = finding_helpers_new();
	(void)state;
	finding_helpers_overrule(yes, 1, no, 1);
	see(h, P(flush, root), FINDING_FLUSHES);
	see(h, P(set, root), FINDING_STORES);
	expect_helpers(h, "set");
	finding_helpers_overrule(NULL, 0, NULL, 0);
}

static void test_main_frame_skips_libraries(void **state)
{
	struct srcloc_frame with_source = { .function = "flush_clwb_nolog",
					    .file = "/build/pmdk/src/libpmem2/x86_64/flush.h",
					    .line = 50,
					    .module = "/usr/lib/libpmem.so.1" };
	(void)state;
	expect_main(P(LIB("pmem_persist", "/usr/lib/libpmem.so.1"), IN("insert", "/c/list.c", 7)),
		    "insert");
	expect_main(P(with_source, LIB("pmem_persist", "/usr/lib/libpmem.so.1"),
		      IN("insert", "/c/list.c", 7)),
		    "insert");
	expect_main(P(LIB("__memcpy_avx_unaligned", "/lib/x86_64-linux-gnu/libc.so.6"),
		      IN("insert", "/c/list.c", 7)),
		    "insert");
}

static void test_main_frame_last_resort(void **state)
{
	struct finding_place none = { NULL, 0 };
	(void)state;
	/* Nothing but helpers: the outermost with source; never past main. */
	expect_main(P(HELPER("x1", "/c/pm.h", 22), HELPER("x2", "/c/pm.h", 90),
		      LIB("start_thread", "/lib/libc.so.6")),
		    "x2");
	expect_main(P(HELPER("x1", "/c/pm.h", 22), IN("main", "/c/main.c", 9),
		      IN("run", "/c/start.c", 1)),
		    "main");
	/* No source at all: the first function that is not a library's. */
	expect_main(P(LIB("pmem_persist", "/usr/lib/libpmem.so.1"), LIB("insert", "/p/prog"),
		      LIB("main", "/p/prog")),
		    "insert");
	expect_main(P(LIB("memcpy", "/lib/libc.so.6")), "memcpy");
	assert_null(finding_main_frame(&none));
}

static void test_place_cleans_paths(void **state)
{
	struct finding_place place = P(IN("f", "/p/build/../src//./list.c", 1));
	(void)state;
	assert_string_equal(place.frame[0].file, "/p/src/list.c");
	free(place.frame);
}

static void test_function_names(void **state)
{
	static const char *const names[][2] = {
		{ "insert", "insert" },
		{ "insert.part.0", "insert" },
		{ "insert.constprop.0.isra.0", "insert" },
		{ "ns::f(int) [clone .cold]", "ns::f(int)" },
		{ "map<int, vec<char> >::at(int)", "map::at(int)" },
		{ "operator<(a const&, b const&)", "operator<(a const&, b const&)" },
		{ "std::ostream& operator<< <char>(x<y>)", "std::ostream& operator<< <char>(x)" },
		{ "f(x->y)", "f(x->y)" },
		{ "a < b", "a < b" },
		{ "log(char const*, ...)", "log(char const*, ...)" },
		{ "<signal 11>", "<signal 11>" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char *name = finding_function(&(struct srcloc_frame){ .function = names[i][0] });
		assert_string_equal(name, names[i][1]);
		free(name);
	}
}

/* --- identities --- */

static struct finding *make(enum finding_kind kind, struct finding_place place, uint64_t event)
{
	struct finding *f = finding_new(finding_kind_info(kind));
	f->place = place;
	f->event = event;
	f->message = xasprintf("at event %llu", (unsigned long long)event);
	return f;
}

/* The id of a finding at a line of a source text. */
static const char *id_at(const char *file, const char *text, uint32_t line, const char *function)
{
	static char ids[8][17];
	static unsigned next;
	char path[256];
	struct finding_set set = { 0 };
	write_file(file, text);
	snprintf(path, sizeof path, "%s/%s", folder, file);
	finding_add(&set, make(FINDING_MISSING_FLUSH,
			       P(IN(function, path, line), IN("main", path, 1)), 1));
	char *id = ids[next++ % 8];
	memcpy(id, set.v.p[0]->id, 17);
	finding_set_free(&set);
	return id;
}

static void test_identity_survives_edits(void **state)
{
	const char *id = id_at("a.c", "void f(void)\n{\n\tp->x = 1; /* why */\n}\n", 3, "f");
	(void)state;
	assert_int_equal(strlen(id), 16);
	/* Lines added above, other indentation, other comments, another file, a clone. */
	assert_string_equal(id,
			    id_at("b.c", "\n\n\nvoid f(void)\n{\n    p->x=1; // so\n}\n", 6, "f"));
	assert_string_equal(
		id, id_at("c.c", "int g;\nvoid f(void) {\np->x  =\t1;\n}\n", 3, "f.part.0"));
	/* Another statement, function or kind is another finding. */
	assert_string_not_equal(id, id_at("d.c", "void f(void)\n{\n\tp->x = 2;\n}\n", 3, "f"));
	assert_string_not_equal(id, id_at("e.c", "void g(void)\n{\n\tp->x = 1;\n}\n", 3, "g"));
	/* Blanks in strings count. */
	assert_string_not_equal(id_at("f.c", "f(\"a b\");\n", 1, "f"),
				id_at("g.c", "f(\"ab\");\n", 1, "f"));
}

static void test_equal_statements_are_told_apart(void **state)
{
	const char *text =
		"void e(void)\n{\n\tfence();\n}\n\nvoid f(void)\n{\n\tfence();\n\tg();\n\tfence();\n}\n";
	const char *first = id_at("s.c", text, 8, "f"), *second = id_at("s2.c", text, 10, "f");
	(void)state;
	assert_string_not_equal(first, second);
	/* What other functions have does not count. */
	assert_string_equal(first, id_at("s3.c", "void f(void)\n{\n\tfence();\n}\n", 3, "f"));
}

static void test_call_paths_are_one_finding(void **state)
{
	struct finding_set set = { 0 };
	struct srcloc_frame f = IN("f", "/gone/x.c", 3), g = IN("g", "/gone/x.c", 4),
			    h = IN("h", "/gone/x.c", 5), m = IN("main", "/gone/x.c", 9);
	(void)state;
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(h, g, f, m), 9));
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(h, g, f, g, f, m), 5));
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(h, g, f, g, f, g, f, m, h), 7));
	assert_int_equal(set.v.n, 1);
	assert_int_equal(set.v.p[0]->count, 3);
	assert_int_equal(set.v.p[0]->event, 5);
	assert_int_equal(set.v.p[0]->paths.n, 3);
	/* Other callers are another path, not another finding. */
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(h, f, m), 7));
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(h, f, m), 8));
	assert_int_equal(set.v.n, 1);
	assert_int_equal(set.v.p[0]->count, 5);
	assert_int_equal(set.v.p[0]->paths.n, 4);
	assert_int_equal(set.v.p[0]->paths.p[0].count, 2);
	finding_set_free(&set);
}

static void test_merge_keeps_the_earliest(void **state)
{
	struct finding_set set = { 0 };
	struct finding *late = make(FINDING_REDUNDANT_FENCE, P(IN("f", "/gone/x.c", 3)), 50);
	struct finding *early = make(FINDING_REDUNDANT_FENCE, P(IN("f", "/gone/x.c", 3)), 20);
	(void)state;
	late->count = 3;
	late->suppressed = true;
	early->count = 4;
	finding_add(&set, late);
	char id[17];
	memcpy(id, set.v.p[0]->id, sizeof id);
	finding_add(&set, early);
	finding_add(&set, make(FINDING_REDUNDANT_FENCE, P(IN("f", "/gone/x.c", 3)), 90));
	assert_int_equal(set.v.n, 1);
	assert_int_equal(set.v.p[0]->count, 8);
	assert_int_equal(set.v.p[0]->event, 20);
	assert_string_equal(set.v.p[0]->message, "at event 20");
	assert_string_equal(set.v.p[0]->id, id);
	assert_true(set.v.p[0]->suppressed);
	finding_set_free(&set);
}

static struct finding *at_offset(uint64_t offset)
{
	struct srcloc_frame f = { .function = "f", .module = "/p/prog", .offset = offset };
	return make(FINDING_REDUNDANT_FENCE, P(f), offset);
}

/* Without source: by order of the addresses in the function, not by the addresses. */
static struct finding *with_input(uint64_t event, uint64_t rank, uint64_t path)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_MISSING_FLUSH));
	f->place = P(LIB("insert", "/p/lib.so"));
	f->event = event;
	finding_input(f)->rank = rank;
	f->input->path = path;
	return f;
}

static void test_merge_keeps_the_smallest_input(void **state)
{
	struct finding_set set = { 0 };
	struct finding *kept = finding_add(&set, with_input(5, 30, 7));
	(void)state;
	assert_string_equal(kept->witness, "input");
	/* a later event, but a smaller input */
	assert_ptr_equal(finding_add(&set, with_input(9, 20, 8)), kept);
	assert_int_equal(kept->input->rank, 20);
	assert_int_equal(kept->event, 9);
	/* an earlier event, but a larger input */
	assert_ptr_equal(finding_add(&set, with_input(1, 25, 3)), kept);
	assert_int_equal(kept->input->rank, 20);
	assert_int_equal(kept->event, 9);
	/* how many showed it, and which was the first */
	assert_int_equal(kept->input->paths, 3);
	assert_int_equal(kept->input->path, 3);
	assert_int_equal(set.v.n, 1);
	finding_set_free(&set);
}

static void test_same_in_two_sets(void **state)
{
	struct finding_set one = { 0 }, two = { 0 };
	struct finding *a = finding_add(&one, with_input(1, 1, 1)), *b, *c;
	struct finding *other = with_input(2, 2, 2);
	(void)state;
	other->place.frame[0].offset = 0x99; /* without source, the address tells them apart */
	c = finding_add(&two, other);
	b = finding_add(&two, with_input(3, 3, 3));
	assert_true(finding_same(a, b));
	assert_false(finding_same(a, c));
	finding_set_free(&one);
	finding_set_free(&two);
}

static void test_identity_without_source(void **state)
{
	struct finding_set a = { 0 }, b = { 0 };
	(void)state;
	finding_add(&a, at_offset(0x200));
	finding_add(&a, at_offset(0x100));
	finding_add(&a, at_offset(0x300));
	finding_add(&a, at_offset(0x100));
	finding_add(&b, at_offset(0x1130));
	finding_add(&b, at_offset(0x1220));
	finding_add(&b, at_offset(0x1340));
	assert_int_equal(a.v.n, 3);
	assert_int_equal(b.v.n, 3);
	assert_string_equal(a.v.p[1]->id, b.v.p[0]->id);
	assert_string_equal(a.v.p[0]->id, b.v.p[1]->id);
	assert_string_equal(a.v.p[2]->id, b.v.p[2]->id);
	assert_string_not_equal(a.v.p[0]->id, a.v.p[1]->id);
	assert_string_not_equal(a.v.p[0]->id, a.v.p[2]->id);
	finding_set_free(&a);
	finding_set_free(&b);
}

/* Thousands of one shape, in any order, have the ranks that they have in order. */
static void test_identities_of_many(void **state)
{
	enum { MANY = 3001 };
	struct finding_set a = { 0 }, b = { 0 };

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		finding_add(&a, at_offset(0x100 + i));
		finding_add(&b, at_offset(0x900 + i * 1024 % MANY));
	}
	assert_int_equal(a.v.n, MANY);
	assert_int_equal(b.v.n, MANY);
	for (uint64_t i = 0; i < MANY; i++)
		assert_string_equal(b.v.p[i]->id, a.v.p[i * 1024 % MANY]->id);
	finding_set_free(&a);
	finding_set_free(&b);
}

/* Two plug-ins that failed are two findings. */
static void test_identity_without_place(void **state)
{
	struct finding_set set = { 0 };
	(void)state;
	for (uint64_t event = 0; event < 2; event++)
		finding_add(&set,
			    make(FINDING_PLUGIN_FAILED, (struct finding_place){ NULL, 0 }, event));
	assert_int_equal(set.v.n, 2);
	assert_string_not_equal(set.v.p[0]->id, set.v.p[1]->id);
	finding_set_free(&set);
}

/* --- crashes --- */

static const char crash_c[] = "void f(void)\n"
			      "{\n"
			      "\tp->data = 1;\n"
			      "\tp->size = 2;\n"
			      "\tp->valid = 1;\n"
			      "\tq->valid = 1;\n"
			      "}\n";

/* A crash that loses the store in line `lost`, with that in line `kept` ahead of it. */
static struct finding *crash_at(const char *path, uint32_t lost, uint32_t kept, const char *cause)
{
	struct finding *f =
		make(FINDING_ORDERING, P(IN("f", path, lost), IN("main", path, 1)), lost);
	struct finding_related r[] = {
		{ "lost", NULL, lost, P(IN("f", path, lost), IN("main", path, 1)) },
		{ "persisted", NULL, kept, P(IN("f", path, kept), IN("main", path, 1)) },
		{ "also-lost", NULL, 100, P(IN("f", path, 1)) },
	};
	for (size_t i = 0; i < 3; i++)
		VEC_PUSH(&f->related, r[i]);
	f->cause = cause ? xstrdup(cause) : NULL;
	struct finding_crash *crash = finding_crash(f);
	crash->verdict = xstrdup("failed");
	crash->status = 3;
	crash->output = xstrdup("bad size");
	crash->backtrace = xstrdup("#0 f");
	crash->event = 100 + lost;
	crash->states = 2;
	crash->recoveries = 3;
	return f;
}

static uint64_t shape_of(struct finding *f)
{
	struct finding_set set = { 0 };
	finding_add(&set, f);
	uint64_t shape = strtoull(set.v.p[0]->id, NULL, 16);
	finding_set_free(&set);
	return shape;
}

static void test_identity_of_crashes(void **state)
{
	char path[256], edited[256];
	(void)state;
	write_file("crash.c", crash_c);
	snprintf(path, sizeof path, "%s/crash.c", folder);
	char *text = xasprintf("/* Added above. */\nint other;\n%s", crash_c);
	write_file("edited.c", text);
	free(text);
	snprintf(edited, sizeof edited, "%s/edited.c", folder);
	uint64_t id = shape_of(crash_at(path, 3, 5, "failed 3"));
	assert_int_equal(id, shape_of(crash_at(edited, 5, 7, "failed 3")));
	/* Another partner, the other way round, another failure: other findings. */
	assert_int_not_equal(id, shape_of(crash_at(path, 3, 6, "failed 3")));
	assert_int_not_equal(id, shape_of(crash_at(path, 4, 5, "failed 3")));
	assert_int_not_equal(id, shape_of(crash_at(path, 5, 3, "failed 3")));
	assert_int_not_equal(id, shape_of(crash_at(path, 3, 5, "crashed 11")));
	assert_int_not_equal(id, shape_of(crash_at(path, 3, 5, NULL)));
	/* Where it crashed, and how many lines of one statement were lost, does not matter. */
	struct finding *f = crash_at(path, 3, 5, "failed 3");
	struct finding_related more = { "lost", NULL, 9, P(IN("f", path, 3), IN("main", path, 1)) };
	VEC_PUSH(&f->related, more);
	f->related.p[2].place.frame[0].line = 6;
	struct finding_related first = f->related.p[0];
	f->related.p[0] = f->related.p[1];
	f->related.p[1] = first;
	assert_int_equal(id, shape_of(f));
	/* What is lost besides does. */
	f = crash_at(path, 3, 5, "failed 3");
	more.place = P(IN("f", path, 4), IN("main", path, 1));
	VEC_PUSH(&f->related, more);
	assert_int_not_equal(id, shape_of(f));
}

static void test_merge_of_crashes(void **state)
{
	struct finding_set set = { 0 };
	char path[256];
	(void)state;
	write_file("merge.c", crash_c);
	snprintf(path, sizeof path, "%s/merge.c", folder);
	struct finding *late = crash_at(path, 3, 5, "x"), *early = crash_at(path, 3, 5, "x");
	late->event = 50;
	late->crash->event = 60;
	early->event = 20;
	early->crash->event = 30;
	early->crash->states = 7;
	finding_add(&set, late);
	finding_add(&set, early);
	finding_add(&set, crash_at(path, 3, 6, "x"));
	assert_int_equal(set.v.n, 2);
	assert_int_equal(set.v.p[0]->count, 2);
	assert_string_equal(set.v.p[0]->witness, "crash");
	assert_int_equal(set.v.p[0]->crash->event, 30);
	assert_int_equal(set.v.p[0]->crash->states, 9);
	assert_int_equal(set.v.p[0]->crash->recoveries, 6);
	finding_set_free(&set);
}

/* About the run: the cause tells it apart, whatever the message counts. */
static void test_identity_of_a_cause_without_place(void **state)
{
	struct finding_set set = { 0 };
	(void)state;
	for (uint64_t event = 0; event < 3; event++) {
		struct finding *f =
			make(FINDING_RECOVERY_FLAKY, (struct finding_place){ NULL, 0 }, event);
		f->cause = xstrdup(event < 2 ? "ok or failed" : "ok or hung");
		finding_add(&set, f);
	}
	assert_int_equal(set.v.n, 2);
	finding_set_free(&set);
}

static void test_sort_and_count(void **state)
{
	struct finding_set set = { 0 };
	static const char *const order[] = { "missing-fence", "missing-flush", "missing-flush",
					     "redundant-fence", "late-persist" };
	(void)state;
	finding_add(&set, make(FINDING_LATE_PERSIST, P(IN("f", "/gone/a.c", 1)), 1));
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(LIB("f", "/p/prog")), 1));
	finding_add(&set, make(FINDING_REDUNDANT_FENCE, P(IN("f", "/gone/a.c", 1)), 1));
	finding_add(&set, make(FINDING_MISSING_FLUSH, P(IN("g", "/gone/a.c", 10)), 1));
	finding_add(&set, make(FINDING_MISSING_FENCE, P(IN("f", "/gone/a.c", 9)), 1));
	finding_sort(&set);
	for (size_t i = 0; i < set.v.n; i++)
		assert_string_equal(set.v.p[i]->kind->name, order[i]);
	set.v.p[0]->suppressed = true;
	assert_int_equal(finding_count(&set, FINDING_ERROR), 2);
	assert_int_equal(finding_count(&set, FINDING_PERFORMANCE), 1);
	assert_int_equal(finding_suppressed(&set), 1);
	finding_set_free(&set);
	finding_sort(&set);
}

/* --- suppressions --- */

static void count_stale(void *arg, const char *path, unsigned line, const char *entry)
{
	struct buf *out = arg;
	buf_printf(out, "%s:%u %s;", path, line, entry);
}

static struct finding_set some(void)
{
	struct finding_set set = { 0 };
	finding_add(&set,
		    make(FINDING_MISSING_FLUSH, P(IN("insert", "/home/me/src/list.c", 1)), 1));
	finding_add(&set,
		    make(FINDING_MISSING_FENCE, P(IN("remove", "/home/me/src/list.c", 2)), 2));
	finding_add(&set,
		    make(FINDING_REDUNDANT_FLUSH, P(IN("at<int>(a, b)", "/home/me/v.cc", 3)), 3));
	return set;
}

static void test_suppressions(void **state)
{
	struct finding_set set = some();
	struct err err;
	struct buf stale = { 0 };
	char text[1024];
	(void)state;
	snprintf(text, sizeof text,
		 "# known\n\nmissing-* insert src/*.c  # a bug we know\nmissing-flush remove\n"
		 "redundant-flush \"at(a, b)\" v.cc\nid %s\nid 0123456789abcdef\n",
		 set.v.p[1]->id);
	write_file("good.supp", text);
	struct finding_suppressions *s = finding_suppressions_load("good.supp", &err);
	assert_non_null(s);
	finding_suppressions_apply(s, &set);
	assert_int_equal(finding_suppressed(&set), 3);
	finding_suppressions_stale(s, count_stale, &stale);
	buf_add(&stale, "", 1);
	assert_string_equal(stale.p,
			    "good.supp:4 missing-flush remove;good.supp:7 id 0123456789abcdef;");
	buf_free(&stale);
	finding_suppressions_free(s);
	finding_set_free(&set);
}

static void test_suppressions_need_all_words(void **state)
{
	struct finding_set set = some();
	struct err err;
	(void)state;
	write_file("none.supp", "missing-flush remove\nmissing-flush insert tree.c\n* other\n");
	struct finding_suppressions *s = finding_suppressions_load("none.supp", &err);
	finding_suppressions_apply(s, &set);
	assert_int_equal(finding_suppressed(&set), 0);
	finding_suppressions_free(s);
	finding_set_free(&set);
}

static void test_suppressions_generated(void **state)
{
	struct finding_set set = some(), again = some();
	struct err err;
	struct buf stale = { 0 };
	(void)state;
	again.v.p[1]->suppressed = set.v.p[1]->suppressed = true; /* known: not written again */
	FILE *f = fopen("gen.supp", "w");
	finding_suppressions_write(&set, f);
	fclose(f);
	struct finding_suppressions *s = finding_suppressions_load("gen.supp", &err);
	assert_non_null(s);
	finding_suppressions_apply(s, &again);
	assert_int_equal(finding_suppressed(&again), 3);
	finding_suppressions_stale(s, count_stale, &stale);
	assert_int_equal(stale.n, 0);
	finding_suppressions_free(s);
	finding_set_free(&set);
	finding_set_free(&again);
}

static void test_suppressions_bad(void **state)
{
	static const char *const bad[] = { "missing-flush\n",
					   "id 12\n",
					   "a b c d\n",
					   "a \"b c\n",
					   "id 0123456789ABCDEF\n",
					   "id 0123456789abcdef x\n" };
	struct err err;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		write_file("bad.supp", bad[i]);
		assert_null(finding_suppressions_load("bad.supp", &err));
		assert_int_equal(err.status, EXIT_USAGE);
		assert_non_null(strstr(err.text, "bad.supp:1: "));
	}
	assert_null(finding_suppressions_load("no-such-file", &err));
	assert_int_equal(err.status, EXIT_USAGE);
	assert_null(finding_suppressions_load("/", &err));
	assert_int_equal(err.status, EXIT_USAGE);
}

static void test_baseline(void **state)
{
	struct finding_set set = some();
	const char *ids[] = { "0123456789abcdef", set.v.p[1]->id };
	(void)state;
	finding_baseline_apply(&set, ids, 2);
	assert_int_equal(finding_suppressed(&set), 1);
	assert_true(set.v.p[1]->suppressed);
	finding_baseline_apply(&set, NULL, 0);
	assert_int_equal(finding_suppressed(&set), 1);
	finding_set_free(&set);
}

/* --- sources --- */

static void test_source_lines(void **state)
{
	(void)state;
	write_file("lines.c", "one\n\ttwo\r\n\nlast");
	assert_string_equal(finding_source_line("lines.c", 1), "one");
	assert_string_equal(finding_source_line("lines.c", 2), "\ttwo");
	assert_string_equal(finding_source_line("lines.c", 3), "");
	assert_string_equal(finding_source_line("lines.c", 4), "last");
	assert_null(finding_source_line("lines.c", 5));
	assert_null(finding_source_line("lines.c", 0));
	assert_null(finding_source_line(NULL, 1));
	assert_null(finding_source_line("missing.c", 1));
	assert_null(finding_source_line("/dev/zero", 1));
	assert_null(finding_source_line("/", 1));
}

static void test_source_changed(void **state)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	(void)state;
	write_file("src.c", "x\n");
	write_file("object", "");
	assert_int_equal(utimensat(AT_FDCWD, "object", old, 0), 0);
	assert_true(finding_source_changed("src.c", "object"));
	assert_false(finding_source_changed("object", "src.c"));
	assert_false(finding_source_changed("missing", "object"));
	assert_false(finding_source_changed("src.c", NULL));
}

static void test_kinds(void **state)
{
	(void)state;
	for (int i = 0; i < FINDING_KINDS_COUNT; i++) {
		const struct finding_kind_info *kind = finding_kind_info((enum finding_kind)i);
		assert_true(strlen(kind->title) > 5 && strlen(kind->help) > 20);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(kind->name,
						finding_kind_info((enum finding_kind)k)->name);
	}
	assert_string_equal(finding_level_name(FINDING_PERFORMANCE), "performance");
	assert_ptr_equal(finding_kind_named("ordering"), finding_kind_info(FINDING_ORDERING));
	assert_null(finding_kind_named("order"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_frame_is_the_program),
		cmocka_unit_test(test_main_frame_skips_helpers),
		cmocka_unit_test(test_helpers_by_what_they_do),
		cmocka_unit_test(test_no_helpers),
		cmocka_unit_test(test_copies_are_helpers_setters_are_not),
		cmocka_unit_test(test_people_know_better),
		cmocka_unit_test(test_main_frame_skips_libraries),
		cmocka_unit_test(test_main_frame_last_resort),
		cmocka_unit_test(test_place_cleans_paths),
		cmocka_unit_test(test_function_names),
		cmocka_unit_test(test_identity_survives_edits),
		cmocka_unit_test(test_equal_statements_are_told_apart),
		cmocka_unit_test(test_call_paths_are_one_finding),
		cmocka_unit_test(test_merge_keeps_the_earliest),
		cmocka_unit_test(test_merge_keeps_the_smallest_input),
		cmocka_unit_test(test_same_in_two_sets),
		cmocka_unit_test(test_identity_without_source),
		cmocka_unit_test(test_identities_of_many),
		cmocka_unit_test(test_identity_without_place),
		cmocka_unit_test(test_identity_of_crashes),
		cmocka_unit_test(test_merge_of_crashes),
		cmocka_unit_test(test_identity_of_a_cause_without_place),
		cmocka_unit_test(test_sort_and_count),
		cmocka_unit_test(test_suppressions),
		cmocka_unit_test(test_suppressions_need_all_words),
		cmocka_unit_test(test_suppressions_generated),
		cmocka_unit_test(test_suppressions_bad),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_source_lines),
		cmocka_unit_test(test_source_changed),
		cmocka_unit_test(test_kinds),
	};
	return cmocka_run_group_tests_name("finding", tests, setup, teardown);
}
