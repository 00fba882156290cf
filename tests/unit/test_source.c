/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements behind places, form by form: what is stored to, in which words, what is refused; and that the file with
 * all insertions compiles without a warning, and is what git and patch make of the diff.
 */
#include "source/fixture.h"

/* A statement as the line of a function; what its store is to be, or why there is none. */
struct form {
	const char *code;
	const char *mark; /* text where the column is; NULL: no column */
	unsigned bytes;
	const char *address, *size; /* of the store */
	const char *why;            /* part of the reason; in place of address and size */
};

static const char c_head[] =
	"#include <stdatomic.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
	"#include <unistd.h>\n"
	"struct in { int x, y; };\n"
	"struct s { int a, b; unsigned f : 3, g : 5; struct s *next; _Atomic int at; long arr[8];\n"
	"\tchar name[16]; struct in in; struct in many[4]; volatile int vol; char *buf; void (*fn)(int); };\n"
	"void *pmemobj_memcpy(void *, void *, const void *, size_t, unsigned);\n"
	"void FLUSH(const void *, size_t);\nstruct s *get(struct s *);\nint num(void);\n"
	"static inline struct s *at(struct s *b, int i) { int k = i; k++; return b + k; }\n"
	"static inline struct s *last(struct s *b) { while (b->next) b = b->next; return at(b, 0); }\n"
	"static inline struct s *counted(struct s *b) { b->a++; return b; }\n"
	"#define TYPED(o) ({ struct { struct s *t; } o_; o_.t = NULL; (void)o_; at((o), 1); })\n"
	"#define SET(field, v) ((field) = (v))\n"
	"#define INIT(n) do { (n)->a = 0; (n)->b = 0; } while (0)\n"
	"#define ONE(n) (n)->a = 1\n"
	"#define LOCAL(n) do { struct s *l_ = (n); l_->a = 1; } while (0)\n"
	"#define MOVING(n) do { struct s *l_ = (n); l_ = l_->next; l_->a = 1; } while (0)\n"
	"#define STORE64(d, x) do { long *d_ = (d); *(volatile long *)d_ = (x); } while (0)\n"
	"extern struct w { struct s v[4]; } *w;\n"
	"#define HEAD(n) ((n)->next)\n"
	"#define TWICE(n) (n)->a = 1; (n)->b = 2\n"
	"#define EACH(i) for (i = 0; i < 3; i++)\n";

static const struct form c_forms[] = {
	{ "p->a = c;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->a += c;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->a++;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "--p->a;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "*p = *q;", NULL, 0, "p", "sizeof(*p)", NULL },
	{ "p->in = q->in;", NULL, 8, "&p->in", "sizeof(p->in)", NULL },
	{ "*p = (struct s){ .a = 1 };", NULL, 0, "p", "sizeof(*p)", NULL },
	{ "p->f = 3;", NULL, 0, "p", "sizeof(*p)", NULL },
	{ "p->arr[c] = 3;", NULL, 8, "&p->arr[c]", "sizeof(p->arr[c])", NULL },
	{ "p->many[c].y = 3;", NULL, 4, "&p->many[c].y", "sizeof(p->many[c].y)", NULL },
	{ "*(int *)p->buf = 3;", NULL, 4, "p->buf", "4", NULL },
	{ "*(p->buf + c) = 3;", NULL, 1, "p->buf + c", "sizeof(*(p->buf + c))", NULL },
	{ "p->buf[3] = 'x';", NULL, 1, "&p->buf[3]", "sizeof(p->buf[3])", NULL },
	{ "p->vol = 3;", NULL, 4, "(void *)&p->vol", "sizeof(p->vol)", NULL },
	{ "p->fn = NULL;", NULL, 8, "&p->fn", "sizeof(p->fn)", NULL },
	{ "p->a = 1; p->b = 2;", "p->a", 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->a = 1; p->b = 2;", "= 2", 4, "&p->b", "sizeof(p->b)", NULL },
	{ "p->a = 1; p->arr[0] = 2;", NULL, 8, "&p->arr[0]", "sizeof(p->arr[0])", NULL },
	{ "p->a = 1; p->b = 2;", NULL, 4, NULL, NULL, "2 stores" },
	{ "p->a = p->b = 2;", "= p", 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->a = p->b = 2;", "= 2", 4, "&p->b", "sizeof(p->b)", NULL },
	{ "if (c) p->a = 1; else p->b = 2;", "= 2", 4, "&p->b", "sizeof(p->b)", NULL },
	{ "if (c) p->a = 1; else p->b = 2;", "= 1", 4, "&p->a", "sizeof(p->a)", NULL },
	{ "if ((p->a = c) > 3) return;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "while ((p->a = num())) ;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "for (; c; p->a++) c--;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "for (int i = 0; i < 3; i++) p->arr[i] = i;", NULL, 8, "&p->arr[i]", "sizeof(p->arr[i])",
	  NULL },
	{ "EACH(c) p->arr[c] = c;", "= c", 8, "&p->arr[c]", "sizeof(p->arr[c])", NULL },
	{ "do p->a = 1; while (num());", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "switch (c) { case 1: p->a = 2; break; default: break; }", NULL, 4, "&p->a",
	  "sizeof(p->a)", NULL },
	{ "switch (c) { case 1: p->arr[c++] = 2; break; default: break; }", "= 2", 8, "stored_at",
	  "sizeof(*stored_at)", NULL },
	{ "c && (p->a = 2);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "c = c ? (p->a = 2) : 1;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->arr[c++] = 3;", NULL, 8, "stored_at", "sizeof(*stored_at)", NULL },
	{ "p->arr[c++]++;", "++;", 8, "stored_at", "sizeof(*stored_at)", NULL },
	{ "*p->buf++ = 'x';", "= 'x'", 1, "stored_at", "sizeof(*stored_at)", NULL },
	{ "get(p)->a = 3;", NULL, 4, "stored_at", "sizeof(*stored_at)", NULL },
	{ "at(p, c)->a = 3;", NULL, 4, "&at(p, c)->a", "sizeof(at(p, c)->a)", NULL },
	{ "last(p)->next = q;", NULL, 8, "stored_at", "sizeof(last(p)->next)", NULL },
	{ "TYPED(q)->a = 3;", NULL, 4, "&TYPED(q)->a", "sizeof(TYPED(q)->a)", NULL },
	{ "counted(p)->a = 3;", NULL, 4, "stored_at", "sizeof(*stored_at)", NULL },
	{ "memcpy(at(p, 2), q, sizeof *q);", NULL, 0, "at(p, 2)", "sizeof *q", NULL },
	{ "memcpy(p->buf++, q, 3);", "memcpy", 0, "stored_at", "3", NULL },
	{ "p->next->next = q;", NULL, 8, "stored_at", "sizeof(p->next->next)", NULL },
	{ "p = p->next = q;", NULL, 8, "stored_at", "sizeof(p->next)", NULL },
	{ "p = p->next = get(q);", NULL, 8, "stored_at", "sizeof(p->next)", NULL },
	{ "p->next->next = get(q);", NULL, 8, NULL, NULL, "changes what it depends on" },
	{ "p->arr[c++] = num();", NULL, 8, NULL, NULL, "changes what it depends on" },
	{ "p->next->a = num();", NULL, 4, "&p->next->a", "sizeof(p->next->a)", NULL },
	{ "p->arr[c] = 3, c++;", NULL, 8, NULL, NULL, "changes what it depends on" },
	{ "p->next->a = 3;", NULL, 4, "&p->next->a", "sizeof(p->next->a)", NULL },
	{ "memcpy(p->name, q->name, sizeof p->name);", NULL, 0, "p->name", "sizeof p->name", NULL },
	{ "memset(&p->in, 0, sizeof(struct in));", NULL, 0, "&p->in", "sizeof(struct in)", NULL },
	{ "__builtin_memmove(p, q, sizeof *p);", NULL, 0, "p", "sizeof *p", NULL },
	{ "pmemobj_memcpy(q, &p->in, q, sizeof(p->in), 0);", NULL, 0, "&p->in", "sizeof(p->in)",
	  NULL },
	{ "strcpy(p->name, \"a, b\");", NULL, 0, "p->name", "strlen(p->name) + 1", NULL },
	{ "strncpy(p->name, q->name, 8);", NULL, 0, "p->name", "8", NULL },
	{ "snprintf(p->name, sizeof(p->name), \"%d\", c);", NULL, 0, "p->name", "sizeof(p->name)",
	  NULL },
	{ "sprintf(p->name, \"%c\", 'x');", NULL, 0, "p->name", "__builtin_strlen(p->name) + 1",
	  NULL },
	{ "memcpy(p, q, num());", NULL, 0, NULL, NULL, "has side effects" },
	{ "__atomic_store_n(&p->a, 3, __ATOMIC_RELEASE);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "__atomic_fetch_add(&p->a, 3, 0);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "__sync_lock_test_and_set(&p->a, 3);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "atomic_store(&p->at, 3);", NULL, 4, "&p->at", "sizeof(p->at)", NULL },
	{ "atomic_fetch_add_explicit(&p->at, 3, memory_order_relaxed);", NULL, 4, "&p->at",
	  "sizeof(p->at)", NULL },
	{ "p->at = 3;", NULL, 4, "&p->at", "sizeof(p->at)", NULL },
	{ "SET(p->a, 4);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "ONE(p);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "if (c) ONE(p);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "INIT(p);", NULL, 4, "p", "sizeof(*p)", NULL },
	{ "INIT(p->next);", NULL, 4, "p->next", "sizeof(*p->next)", NULL },
	{ "HEAD(p) = q;", NULL, 8, "&HEAD(p)", "sizeof(HEAD(p))", NULL },
	{ "LOCAL(p);", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "LOCAL(p->next);", NULL, 4, "&p->next->a", "sizeof(p->next->a)", NULL },
	{ "LOCAL(get(p));", NULL, 4, NULL, NULL, "cannot be named again" },
	{ "MOVING(p);", NULL, 4, NULL, NULL, "macro MOVING hides" },
	{ "STORE64(&p->arr[c], 3);", NULL, 8, "&p->arr[c]", "sizeof(p->arr[c])", NULL },
	{ "STORE64(p->arr + c, 3);", NULL, 8, "p->arr + c", "sizeof(*(p->arr + c))", NULL },
	{ "*(volatile int *)&p->a = 3;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "*(long *)p->name = 3;", NULL, 8, "(long *)p->name", "sizeof(*(long *)p->name)", NULL },
	{ "w->v[c] = *q;", NULL, 0, "&w->v[c]", "sizeof(w->v[c])", NULL },
	{ "TWICE(p);", NULL, 4, "p", "sizeof(*p)", NULL },
	{ "if (c) TWICE(p);", NULL, 4, NULL, NULL, "several statements of a macro" },
	{ "c = 3;", NULL, 4, NULL, NULL, "stores to memory" },
	{ "num();", NULL, 4, NULL, NULL, "stores to memory" },
	{ "c = ({ num(); p->a = 3; });", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "p->a = /* one */ 1; /* two */ // three", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
};

static const char cxx_head[] =
	"#include <algorithm>\n#include <atomic>\n#include <cstddef>\n#include <cstring>\n"
	"void FLUSH(const void *, std::size_t);\n"
	"struct in { int x, y; };\n"
	"struct s { int a; s *next; std::atomic<long> n; in i; int arr[4]; char name[8];\n"
	"\ts &operator()(int); int &at(int k) { return arr[k]; } };\n"
	"template <class T> struct box { T v; };\n"
	"int num();\nvoid fill(char *, char *);\n";

static const struct form cxx_forms[] = {
	{ "p->a = c;", NULL, 4, "&p->a", "sizeof(p->a)", NULL },
	{ "r.a = c;", NULL, 4, "&r.a", "sizeof(r.a)", NULL },
	{ "r.i = in{ 1, 2 };", NULL, 8, "&r.i", "sizeof(r.i)", NULL },
	{ "p->i = in{ 1, 2 };", NULL, 8, "&p->i", "sizeof(p->i)", NULL },
	{ "p->n = 3;", NULL, 8, "&p->n", "sizeof(p->n)", NULL },
	{ "p->n.store(3, std::memory_order_release);", NULL, 8, "&p->n", "sizeof(p->n)", NULL },
	{ "p->n.fetch_add(3);", NULL, 8, "&p->n", "sizeof(p->n)", NULL },
	{ "p->n++;", NULL, 8, "&p->n", "sizeof(p->n)", NULL },
	{ "b->v = 3;", NULL, 4, "&b->v", "sizeof(b->v)", NULL },
	{ "p->at(3) = 4;", NULL, 4, "stored_at", "sizeof(*stored_at)", NULL },
	{ "std::memcpy(p->name, q->name, 8);", NULL, 0, "p->name", "8", NULL },
	{ "std::fill(p->arr, p->arr + c, 3);", NULL, 0, "p->arr",
	  "((p->arr + c) - p->arr) * sizeof(*p->arr)", NULL },
	{ "std::copy_n(q->name, 3, p->name);", NULL, 0, "p->name", "3 * sizeof(*p->name)", NULL },
	{ "fill(p->name, q->name);", NULL, 0, NULL, NULL, "stores to memory" },
	{ "auto *v = reinterpret_cast<volatile int *>(p); v[1] = 3;", "[1] =", 4, "(void *)&v[1]",
	  "sizeof(v[1])", NULL },
	{ "for (auto &e : p->arr) e = 3;", "e = 3", 4, "&e", "sizeof(e)", NULL },
	{ "switch (c) { case 1: num(); p->arr[c++] = 2; break; case 2: break; }", "= 2", 4,
	  "stored_at", "sizeof(*stored_at)", NULL },
	{ "auto l = [&] { p->a = 1; }; l();", "= 1", 4, "&p->a", "sizeof(p->a)", NULL },
};

/* Each form is a function of its own, on line `first` and every second one. */
static char *program(const char *head, const struct form *f, size_t n, bool cxx, unsigned *first)
{
	struct buf b = { 0 };
	buf_puts(&b, head);
	*first = 1;
	for (const char *p = head; *p; p++)
		*first += *p == '\n';
	for (size_t i = 0; i < n; i++)
		buf_printf(
			&b,
			"void f%zu(struct s *p, struct s *q, int c%s);void f%zu(struct s *p, struct s *q, int c%s) {"
			"\n\t%s\n}\n",
			i, cxx ? ", s &r, box<int> *b" : "", i, cxx ? ", s &r, box<int> *b" : "",
			f[i].code);
	buf_add(&b, "", 1);
	return b.p;
}

/* A name in the form, which ends in a number where it is not the first. */
static void expect_text(const char *got, const char *want)
{
	char plain[256];
	size_t n = 0;
	for (const char *p = got; *p && n < sizeof plain - 1; p++) {
		plain[n++] = *p;
		if (n >= 9 && strncmp(plain + n - 9, "stored_at", 9) == 0)
			while (p[1] >= '0' && p[1] <= '9')
				p++;
	}
	plain[n] = 0;
	assert_string_equal(plain, want);
}

static void check_form(struct source *s, const char *name, unsigned line, const struct form *f,
		       struct source_edits *e)
{
	struct source_place p = { name, line, 0 };
	struct source_store st;
	struct err err;
	if (f->mark) {
		const char *at = strstr(f->code, f->mark);
		assert_non_null(at);
		p.column = (uint32_t)(at - f->code) + 2;
	}
	int rc = source_store_at(s, &p, f->bytes, &st, &err);
	char *code = rc < 0 ? NULL : xasprintf("FLUSH(%s, %s);", st.address, st.size);
	if (rc == 0)
		rc = source_insert_store(s, &st, code, e, &err);
	free(code);
	if (!f->address) {
		if (rc == 0)
			fail_msg("%s", f->code);
		if (f->why && !strstr(err.text, f->why))
			fail_msg("%s: %s", f->code, err.text);
		return;
	}
	if (rc < 0)
		fail_msg("%s: %s", f->code, err.text);
	expect_text(st.address, f->address);
	expect_text(st.size, f->size);
}

static void check_forms(const char *name, const char *head, const struct form *f, size_t n,
			const char *compile)
{
	struct err err;
	unsigned first;
	char *text = program(head, f, n, strstr(name, ".cc") != NULL, &first);
	char *dir = fixture_new();
	fixture_write(dir, name, text, strlen(text));
	struct source *s = fixture_open(dir);
	struct source_edits e = { 0 };
	for (size_t i = 0; i < n; i++)
		check_form(s, name, first + 1 + 3 * (unsigned)i, &f[i], &e);
	assert_int_equal(source_edits_check(&e, &err), 0);
	fixture_patch(s, dir, name, &e);
	fixture_run(dir, compile);
	source_edits_free(&e);
	source_close(s);
	fixture_remove(dir);
	free(text);
}

static void forms_of_c(void **state)
{
	(void)state;
	check_forms(
		"forms.c", c_head, c_forms, sizeof c_forms / sizeof *c_forms,
		"gcc -fsyntax-only -Wall -Wextra -Werror -Wno-unused-value -Wno-unused-parameter -Wno-unused-but-set-parameter -Wno-empty-body -Wno-multistatement-macros forms.c");
}

static void forms_of_cxx(void **state)
{
	(void)state;
	check_forms(
		"forms.cc", cxx_head, cxx_forms, sizeof cxx_forms / sizeof *cxx_forms,
		"g++ -fsyntax-only -Wall -Wextra -Werror -Wno-unused-value -Wno-unused-parameter -Wno-unused-but-set-parameter forms.cc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_of_c),
		cmocka_unit_test(forms_of_cxx),
	};
	return fixture_main(tests, sizeof tests / sizeof *tests);
}
