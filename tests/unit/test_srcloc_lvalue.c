/* SPDX-License-Identifier: BSD-3-Clause */
/* What statements assign to, and the members of types; on srcloc/types.c and types.cc. */
#include "srcloc/fixture.h"

#define BIAS 0x7f1234560000ull

static struct srcloc *load(const char *name)
{
	struct srcloc *s = srcloc_new();
	uint64_t addr, len, off;
	char *path = xasprintf("%s/%s", fixture_dir, name);
	mapped_part(name, BIAS, &addr, &len, &off);
	srcloc_map(s, addr, len, off, path, NULL, 0);
	free(path);
	return s;
}

static const struct srcloc_frame *frame(struct srcloc *s, const char *name, const char *mark,
					size_t level)
{
	struct srcloc_where at = srcloc_at(s, BIAS + symbol(name, mark));
	assert_true(level < at.n);
	return &at.frame[level];
}

static const struct row {
	const char *mark;
	size_t level;
	const char *statement;
	const char *type, *member, *member_type; /* member NULL: it is not known what it assigns */
	uint64_t offset, size, elements;
	enum srcloc_encoding encoding;
} rows[] = {
#define ROW(mark, statement, ...)                                                                  \
	{                                                                                          \
		"mark_" mark, 0, statement, __VA_ARGS__                                            \
	}
#define LOG(mark, statement, ...) ROW(mark, statement, "struct log", __VA_ARGS__)
	/* members */
	LOG("plain", "log->magic = 1;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "\tlog->at.tail = off; /* x = y */", "at.tail", "uint64_t", 16, 8, 0,
	    SRCLOC_UNSIGNED),
	LOG("plain", "log -> number += 2", "number", "int32_t", 24, 4, 0, SRCLOC_SIGNED),
	LOG("plain", "log->real *= 2", "real", "double", 24, 8, 0, SRCLOC_FLOAT),
	LOG("plain", "log->open=a==b;", "open", "_Bool", 32, 1, 0, SRCLOC_BOOL),
	LOG("plain", "log->color = RED;", "color", "enum color", 36, 4, 0, SRCLOC_ENUM),
	LOG("plain", "log->next = NULL;", "next", "struct log *", 232, 8, 0, SRCLOC_POINTER),
	LOG("plain", "log->high |= 3;", "high", "uint8_t", 240, 1, 0, SRCLOC_UNSIGNED),
	LOG("plain", "log->steps <<= 3;", "steps", "int16_t", 242, 2, 0, SRCLOC_SIGNED),
	/* ++ and -- */
	LOG("plain", "log->at.head++;", "at.head", "uint64_t", 8, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "--log->next->at.head;", "at.head", "uint64_t", 8, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "return log->at.head++ + 1;", "at.head", "uint64_t", 8, 8, 0, SRCLOC_UNSIGNED),
	/* subscripts */
	LOG("plain", "log->keys[3] = 1;", "keys[3]", "uint64_t", 192, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "log->keys[j++] = key;", "keys[]", "uint64_t", 168, 8, 8, SRCLOC_UNSIGNED),
	LOG("plain", "log->slot[2].value = 1;", "slot[2].value", "uint64_t", 128, 8, 0,
	    SRCLOC_UNSIGNED),
	ROW("plain", "log->slot[i].value = 1;", "struct slot", "value", "uint64_t", 24, 8, 0,
	    SRCLOC_UNSIGNED),
	ROW("plain", "log->slot[f(i, j[2])].key[0] = 1;", "struct slot", "key[0]", "char", 4, 1, 0,
	    SRCLOC_CHAR),
	LOG("plain", "(log + 1)->magic = 7;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "log[i].magic = 7;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "*(log->keys + i) = 7;", "keys[]", "uint64_t", 168, 8, 8, SRCLOC_UNSIGNED),
	LOG("plain", "log->text[n] = 0;", "text[]", "char", 259, 1, 1, SRCLOC_CHAR),
	LOG("plain", "log->grid[1][2] = 0;", "grid[1][2]", "uint8_t", 251, 1, 0, SRCLOC_UNSIGNED),
	LOG("plain", "log->grid[i][2] = 0;", "grid[][2]", "uint8_t", 246, 1, 15, SRCLOC_UNSIGNED),
	/* stars, casts */
	LOG("plain", "(*pp)->magic = 3;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "(**pp).magic = 3;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "*log = copy;", "", "struct log", 0, 264, 0, SRCLOC_STRUCT),
	LOG("plain", "((struct log *)raw)->magic = 3;", "magic", "uint64_t", 0, 8, 0,
	    SRCLOC_UNSIGNED),
	LOG("plain", "((const struct log *)(raw + 8))->next->magic = 3;", "magic", "uint64_t", 0, 8,
	    0, SRCLOC_UNSIGNED),
	ROW("plain", "*word = 3;", NULL, "*word", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	ROW("plain", "if (x) *word++ = 3;", NULL, "*word++", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	ROW("plain", "word[i] = 3;", NULL, "word[i]", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	ROW("plain", "*(uint64_t *)raw = 3;", NULL, "*(uint64_t *)raw", "uint64_t", 0, 8, 0,
	    SRCLOC_UNSIGNED),
	ROW("plain", "*pp = log;", NULL, "*pp", "struct log *", 0, 8, 0, SRCLOC_POINTER),
	ROW("plain", "((struct log **)raw)[1] = log;", NULL, "((struct log **)raw)[1]",
	    "struct log *", 0, 8, 0, SRCLOC_POINTER),
	/* typedefs of structs without a name, globals, functions, PMDK's typed ids */
	ROW("plain", "list->count = 3;", "list_t", "count", "int64_t", 0, 8, 0, SRCLOC_SIGNED),
	LOG("plain", "the_list.log->magic = 1;", "magic", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	ROW("plain", "slot_of(log, i)->hash = 3;", "struct slot", "hash", "uint32_t", 0, 4, 0,
	    SRCLOC_UNSIGNED),
	ROW("plain", "D_RW(the_oid)->hash = 3;", "struct slot", "hash", "uint32_t", 0, 4, 0,
	    SRCLOC_UNSIGNED),
	ROW("plain", "TX_SET(the_oid, value, 3);", "struct slot", "value", "uint64_t", 24, 8, 0,
	    SRCLOC_UNSIGNED),
	LOG("plain", "TX_SET_DIRECT(log, at.tail, 3);", "at.tail", "uint64_t", 16, 8, 0,
	    SRCLOC_UNSIGNED),
	/* the first that is behind a pointer */
	LOG("plain", "for (i = 0; i < 3; i++) log->keys[i] = x;", "keys[]", "uint64_t", 168, 8, 8,
	    SRCLOC_UNSIGNED),
	LOG("plain", "local = log->at.head = 3;", "at.head", "uint64_t", 8, 8, 0, SRCLOC_UNSIGNED),
	LOG("plain", "struct log *x = log; x->y = log->next->magic++;", "magic", "uint64_t", 0, 8,
	    0, SRCLOC_UNSIGNED),
	/* calls */
	LOG("plain", "memcpy(&log->at.tail, &x, 8);", "at.tail", "uint64_t", 16, 8, 0,
	    SRCLOC_UNSIGNED),
	LOG("plain", "pmem_memcpy_persist(log->keys, x, sizeof(x));", "keys", "uint64_t[8]", 168,
	    64, 0, SRCLOC_ARRAY),
	ROW("plain", "strcpy(log->slot[i].key, \"a, = b\");", "struct slot", "key", "char[20]", 4,
	    20, 0, SRCLOC_CHAR),
	ROW("plain", "memset(&log->slot[i], 0, sizeof *s);", "struct slot", "", "struct slot", 0,
	    32, 0, SRCLOC_STRUCT),
	LOG("plain", "if (store64((long long *)&log->magic, 3)) return;", "magic", "uint64_t", 0, 8,
	    0, SRCLOC_UNSIGNED),
	LOG("plain", "memset(log, 0, 9);", "", "struct log", 0, 264, 0, SRCLOC_STRUCT),
	LOG("plain", "pmemobj_memcpy_persist(pop, &log->magic, &x, 8);", "magic", "uint64_t", 0, 8,
	    0, SRCLOC_UNSIGNED),
	/* scopes: a block hides its function's names; each inlined function has its own */
	ROW("hidden", "log->hash = 1;", "struct slot", "hash", "uint32_t", 0, 4, 0,
	    SRCLOC_UNSIGNED),
	ROW("inner", "*p = v;", NULL, "*p", "uint64_t", 0, 8, 0, SRCLOC_UNSIGNED),
	{ "mark_inner", 1, "p->count = 1;", "list_t", "count", "int64_t", 0, 8, 0, SRCLOC_SIGNED },
	{ "mark_inner", 1, "inner(&s->value, v);", "struct slot", "value", "uint64_t", 24, 8, 0,
	  SRCLOC_UNSIGNED },
	{ "mark_inner", 2, "log->magic = 1;", "struct log", "magic", "uint64_t", 0, 8, 0,
	  SRCLOC_UNSIGNED },
	/* what is not known, or not memory behind a pointer */
	ROW("plain", "close_it(log);", NULL, NULL),
	ROW("plain", "local = 3;", NULL, NULL),
	ROW("plain", "copy.magic = 3;", NULL, NULL),
	ROW("plain", "int x = log->magic;", NULL, NULL),
	ROW("plain", "log->nothing = 3;", NULL, NULL),
	ROW("plain", "nothing->magic = 3;", NULL, NULL),
	ROW("plain", "((struct nothing *)raw)->magic = 3;", NULL, NULL),
	ROW("inner", "log->magic = 3;", NULL, NULL),
	ROW("plain", "", NULL, NULL),
	ROW("plain", "return log->magic == 3;", NULL, NULL),
	ROW("plain", "log->keys[ = 3", NULL, NULL),
	ROW("plain", ") = 3; ] ++ ( = '", NULL, NULL),
	ROW("plain", "*", NULL, NULL),
	ROW("plain", "memcpy(", NULL, NULL),
	ROW("plain", "TX_SET(the_oid", NULL, NULL),
};

static void expect_text(const char *got, const char *want, const char *statement)
{
	if (!want != !got || (want && strcmp(got, want) != 0))
		fail_msg("%s: expected %s, not %s", statement, want ? want : "nothing",
			 got ? got : "nothing");
}

static void check_row(struct srcloc *s, const char *name, const struct row *r)
{
	struct srcloc_lvalue v = { 0 };
	bool known = srcloc_lvalue(s, frame(s, name, r->mark, r->level), r->statement, &v);
	if (known != (r->member != NULL))
		fail_msg("%s: %s at %s (%s)", name, known ? "known" : "not known", r->statement,
			 known ? v.member : "");
	if (!known)
		return;
	expect_text(v.type, r->type, r->statement);
	expect_text(v.member, r->member, r->statement);
	expect_text(v.member_type, r->member_type, r->statement);
	if (v.offset != r->offset || v.size != r->size || v.elements != r->elements ||
	    v.encoding != r->encoding)
		fail_msg("%s: offset %d, size %d, elements %d, encoding %d", r->statement,
			 (int)v.offset, (int)v.size, (int)v.elements, (int)v.encoding);
	assert_true(!v.in == !v.type);
}

static void check_rows(const char *name)
{
	struct srcloc *s = load(name);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(s, name, &rows[i]);
	srcloc_free(s);
}

static void test_statements(void **state)
{
	(void)state;
	run("cc -O0 -g $S/types.c -o types0");
	check_rows("types0");
	run("cc -O2 -g $S/types.c -o types2");
	check_rows("types2");
	run("cc -O2 -gdwarf-4 $S/types.c -o types4");
	check_rows("types4");
	run("cc -O1 -g -gsplit-dwarf -c $S/types.c -o typess.o && cc typess.o -o typess");
	check_rows("typess");
}

static void test_clang(void **state)
{
	(void)state;
	run("clang -O0 -g -Wno-unknown-attributes -fstandalone-debug $S/types.c -o clang0");
	check_rows("clang0");
	run("clang -O2 -g -Wno-unknown-attributes -fstandalone-debug $S/types.c -o clang2");
	check_rows("clang2");
}

static void test_cplusplus(void **state)
{
	static const struct row more[] = {
		ROW("set", "key = k;", "struct Node<short>", "key", "short", 8, 2, 0,
		    SRCLOC_SIGNED),
		ROW("set", "this->next = &other;", "struct Node<short>", "next",
		    "struct Node<short> *", 16, 8, 0, SRCLOC_POINTER),
		ROW("set", "other.id++;", "struct Node<short>", "id", "uint64_t", 0, 8, 0,
		    SRCLOC_UNSIGNED),
		ROW("set", "k = 3;", NULL, NULL),
	};
	struct srcloc_lvalue m[8];
	(void)state;
	run("c++ -O2 -g -x c++ $S/types.cc -o cxx");
	struct srcloc *s = load("cxx");
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		struct row r = more[i];
		struct srcloc_lvalue v;
		bool known = srcloc_lvalue(s, frame(s, "cxx", r.mark, 0), r.statement, &v);
		assert_int_equal(known, r.member != NULL);
		if (known && strstr(v.type, "Node<short")) /* "short int", as compilers like */
			assert_string_equal(v.member, r.member);
		assert_true(!known || (v.offset == r.offset && v.encoding == r.encoding));
		if (known && !i)
			assert_int_equal(srcloc_members(v.in, 0, 100, m, 8), 3);
	}
	assert_string_equal(m[0].member, "id");
	assert_string_equal(m[2].member, "next");
	srcloc_free(s);
}

/* "keys[7] next" for [from, to) of the type */
static void expect_members(const struct srcloc_type *t, uint64_t from, uint64_t to,
			   const char *want)
{
	struct srcloc_lvalue m[64];
	struct buf b = { 0 };
	size_t n = srcloc_members(t, from, to, m, 64);
	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&b, "%s%s", i ? " " : "", m[i].member);
		assert_ptr_equal(m[i].in, t);
		assert_true(m[i].offset < to && m[i].offset + m[i].size > from);
	}
	buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	buf_free(&b);
}

static void test_members(void **state)
{
	struct srcloc_lvalue m;
	(void)state;
	run("cc -O2 -g $S/types.c -o members");
	struct srcloc *s = load("members");
	const struct srcloc_frame *f = frame(s, "members", "mark_plain", 0);
	const struct srcloc_type *t = srcloc_type(s, f, "struct log");
	assert_non_null(t);
	assert_string_equal(srcloc_type_name(t), "struct log");
	assert_int_equal(srcloc_type_size(t), 264);
	expect_members(t, 0, 8, "magic");
	expect_members(t, 7, 17, "magic at.head at.tail");
	expect_members(t, 24, 28, "number real");
	expect_members(t, 28, 29, "real");
	expect_members(t, 33, 36, ""); /* padding */
	expect_members(t, 40, 72, "slot[0].hash slot[0].key slot[0].value");
	expect_members(t, 128, 136, "slot[2].value");
	expect_members(t, 160, 192, "slot[3].value keys[0] keys[1] keys[2]");
	expect_members(t, 224, 240, "keys[7] next");
	expect_members(t, 240, 241, "low high");
	expect_members(t, 248, 251, "grid[0][4] grid[1][0] grid[1][1]");
	expect_members(t, 259, 261, "text[0] text[1]"); /* as far as one asks */
	expect_members(t, 1000, 1001, "text[741]");
	assert_int_equal(srcloc_members(t, 0, 264, &m, 1), 51);
	assert_string_equal(m.member, "magic");
	assert_string_equal(m.member_type, "uint64_t");
	assert_int_equal(m.encoding, SRCLOC_UNSIGNED);

	t = srcloc_type(s, f, "list_t");
	assert_string_equal(srcloc_type_name(t), "list_t");
	expect_members(t, 0, 100, "count log");
	assert_ptr_equal(srcloc_type(s, f, "list_t"), t);
	assert_null(srcloc_type(s, f, "struct list_t"));
	assert_null(srcloc_type(s, f, "uint64_t"));
	assert_null(srcloc_type(s, f, "struct nothing"));
	assert_null(srcloc_type(s, f, ""));
	srcloc_free(s);
}

/* Where there is nothing to say, nothing is said. */
static void test_nothing(void **state)
{
	struct srcloc_lvalue v;
	struct srcloc_frame nowhere = { .offset = 7 };
	(void)state;
	run("cc -O2 -g $S/types.c -o full && cp full bare && strip --strip-debug bare");
	struct srcloc *s = load("bare");
	assert_false(srcloc_lvalue(s, frame(s, "bare", "mark_plain", 0), "log->magic = 1;", &v));
	assert_null(srcloc_type(s, frame(s, "bare", "mark_plain", 0), "struct log"));
	assert_false(srcloc_lvalue(s, &nowhere, "log->magic = 1;", &v));
	srcloc_free(s);
}

/* Any text is either understood or not; it does no harm. */
static void test_garbage(void **state)
{
	static const char *const words[] = {
		"log",    "->",      ".",      "[",        "]",     "(",     ")",      "*",
		"&",      "=",       "++",     "--",       "+",     "magic", "slot",   "keys",
		"3",      "pp",      "struct", "uint64_t", "raw",   ",",     "memcpy", "D_RW",
		"TX_SET", "the_oid", "value",  "if",       "\"x\"", "'",     "/*",     "+=",
		";",      "{",       "}",      "at",       "::",    "next",
	};
	struct srcloc_lvalue v;
	uint64_t x = 88172645463325252ull;
	size_t known = 0;
	(void)state;
	run("cc -O0 -g $S/types.c -o garbage");
	struct srcloc *s = load("garbage");
	const struct srcloc_frame *f = frame(s, "garbage", "mark_plain", 0);
	for (int i = 0; i < 5000; i++) {
		struct buf b = { 0 };
		for (size_t n = x >> 7 & 15; n; n--) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			buf_printf(&b, "%s ", words[(x >> 20) % (sizeof words / sizeof *words)]);
		}
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		buf_add(&b, "", 1);
		known += srcloc_lvalue(s, f, b.p, &v);
		buf_free(&b);
	}
	assert_true(known > 3);
	struct buf deep = { 0 };
	for (int i = 0; i < 10000; i++)
		buf_puts(&deep, i % 2 ? "(" : "*");
	buf_puts(&deep, "log = 3");
	buf_add(&deep, "", 1);
	assert_false(srcloc_lvalue(s, f, deep.p, &v));
	buf_free(&deep);
	srcloc_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements), cmocka_unit_test(test_clang),
		cmocka_unit_test(test_cplusplus),  cmocka_unit_test(test_members),
		cmocka_unit_test(test_nothing),    cmocka_unit_test(test_garbage),
	};
	return cmocka_run_group_tests_name("srcloc lvalue", tests, fixture_setup, fixture_teardown);
}
