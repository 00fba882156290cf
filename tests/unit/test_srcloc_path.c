/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call paths. The definitions that src/trace would keep stand below as plain tables, so the
 * test decides what the contexts look like, also those of a damaged trace.
 */
#include "srcloc/fixture.h"
#include "trace/trace.h"

#define PROG 0x7f1200000000ull /* where the fixtures lie */
#define LIB 0x7f3400000000ull

enum {
	TO_TAIL = TRACE_CTX_FIRST,
	IN_SIGNAL,
	BELOW_CUT,
	TO_STUB,
	CYCLE,
	MAIN_LEFT,
	IN_LIB,
	MAIN_IN_LIB,
	MAIN_AGAIN,
	CONTEXTS
};
enum { PROG_ID, LIB_ID, MODULES };

struct trace_defs {
	struct trace_ctx_def ctx[CONTEXTS];
	struct trace_module_def module[MODULES];
	struct trace_process_def process[3];
};
static struct trace_defs defs;

const struct trace_ctx_def *trace_ctx(const struct trace_defs *d, uint32_t process, uint32_t ctx)
{
	(void)process;
	return ctx < CONTEXTS ? &d->ctx[ctx] : NULL;
}

const struct trace_module_def *trace_module(const struct trace_defs *d, uint32_t process,
					    uint32_t id)
{
	(void)process;
	return id < MODULES ? &d->module[id] : NULL;
}

const struct trace_process_def *trace_process(const struct trace_defs *d, uint32_t process)
{
	return process < 3 ? &d->process[process] : NULL;
}

static uint64_t prog(const char *name)
{
	return PROG + symbol("prog", name);
}

static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o lib.so");
	run("cc -O2 -g -fcf-protection=none -Wl,-z,lazy $S/prog.c ./lib.so -o prog");
	defs = (struct trace_defs){
		.ctx = {
			[TO_TAIL] = { 0, prog("mark_main"), prog("tail") },
			[IN_SIGNAL] = { TO_TAIL, 11, LIB + symbol("lib.so", "lib_public") },
			[BELOW_CUT] = { TRACE_CTX_CUT, prog("mark_main"), prog("tail") },
			[TO_STUB] = { 0, prog("mark_main"), 0 },
			[CYCLE] = { CYCLE, prog("mark_main"), prog("work") },
			[MAIN_LEFT] = { 0, LIB + symbol("lib.so", "mark_lib_public"), prog("main") },
			[IN_LIB] = { 0, prog("mark_main"), LIB + symbol("lib.so", "lib_public") },
			[MAIN_IN_LIB] = { IN_LIB, LIB + symbol("lib.so", "mark_lib_public"), prog("main") },
			[MAIN_AGAIN] = { MAIN_IN_LIB, prog("mark_main"), prog("tail") },
		},
		.process = { { .pid = 7 }, { .pid = 8, .parent = 7, .birth = TRACE_BIRTH_FORK } },
	};
	defs.module[PROG_ID].path = xasprintf("%s/prog", fixture_dir);
	defs.module[LIB_ID].path = xasprintf("%s/lib.so", fixture_dir);
	return 0;
}

static int teardown(void **state)
{
	free(defs.module[PROG_ID].path);
	free(defs.module[LIB_ID].path);
	return fixture_teardown(state);
}

static void load(struct srcloc_trace *st, const char *name, uint64_t bias, uint32_t id)
{
	struct trace_event ev = { .kind = TRACE_MODULE_LOAD, .nargs = 4 };
	mapped_part(name, bias, &ev.arg[0], &ev.arg[1], &ev.arg[2]);
	ev.arg[3] = id;
	srcloc_trace_feed(st, &ev);
}

static struct srcloc_trace *loaded(void)
{
	struct srcloc_trace *st = srcloc_trace_new(&defs);
	load(st, "prog", PROG, PROG_ID);
	load(st, "lib.so", LIB, LIB_ID);
	return st;
}

/* Compares the path with "name name[kind] …". */
static void expect(struct srcloc_where path, const char *want)
{
	static const char *const kind[] = { "", "[tail]", "", "[interrupted]", "" };
	struct buf b = { 0 };
	for (size_t i = 0; i < path.n; i++)
		buf_printf(&b, "%s%s%s", i ? " < " : "",
			   path.frame[i].function ? path.frame[i].function : "?",
			   kind[path.frame[i].kind]);
	assert_string_equal(b.p, want);
	buf_free(&b);
}

static void test_tail_call(void **state)
{
	struct srcloc_trace *st = loaded();
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		struct srcloc_where path = srcloc_path(st, 0, prog("mark_set"), TO_TAIL);
		expect(path, "set < insert < work < tail[tail] < main");
		assert_int_equal(path.frame[1].line, line_of("prog.c", "CALL(set)"));
		assert_int_equal(path.frame[4].line, line_of("prog.c", "MARK(main)"));
	}
	expect(srcloc_path(st, 0, prog("mark_tail"), TO_TAIL), "tail < main");
	expect(srcloc_path(st, 0, prog("mark_tail"), TRACE_CTX_ROOT), "tail");
	srcloc_trace_free(st);
}

static void test_signal(void **state)
{
	struct srcloc_trace *st = loaded();
	uint64_t ip = LIB + symbol("lib.so", "mark_lib_public");
	char text[64];
	(void)state;
	struct srcloc_where path = srcloc_path(st, 0, ip, IN_SIGNAL);
	expect(path, "lib_public < <signal 11> < tail[interrupted] < main");
	assert_string_equal(srcloc_text(&path.frame[1], text, sizeof text), "<signal 11>");
	srcloc_trace_free(st);
}

static void test_cut_and_cycle(void **state)
{
	struct srcloc_trace *st = loaded();
	(void)state;
	expect(srcloc_path(st, 0, prog("mark_tail"), BELOW_CUT), "tail < main < <…>");
	expect(srcloc_path(st, 0, prog("mark_tail"), TRACE_CTX_CUT), "tail < <…>");
	expect(srcloc_path(st, 0, prog("mark_tail"), CONTEXTS + 5), "tail < <…>");
	assert_true(srcloc_path(st, 0, prog("mark_work"), CYCLE).n > 1000); /* and it ends */
	srcloc_trace_free(st);
}

/* A stub that was called is not a function that was left by a jump. */
static void test_stub(void **state)
{
	struct elf e = elf_file("prog");
	struct srcloc_trace *st = loaded();
	size_t names;
	(void)state;
	elf_getshdrstrndx(e.elf, &names);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e.elf, scn));) {
		GElf_Shdr sh;
		gelf_getshdr(scn, &sh);
		if (!strcmp(elf_strptr(e.elf, names, sh.sh_name), ".plt"))
			defs.ctx[TO_STUB].target = PROG + sh.sh_addr + 16;
	}
	elf_close(&e);
	assert_true(srcloc_trace_at(st, 0, defs.ctx[TO_STUB].target).frame->plt);
	uint64_t ip = LIB + symbol("lib.so", "mark_lib_public");
	expect(srcloc_path(st, 0, ip, TO_STUB), "lib_public < main");
	srcloc_trace_free(st);
}

static void test_trim(void **state)
{
	struct srcloc_trace *st = loaded();
	(void)state;
	struct srcloc_where path = srcloc_path(st, 0, prog("mark_work"), MAIN_LEFT);
	expect(path, "work < main[tail] < lib_public");
	expect(srcloc_path_trim(path), "work < main[tail]");
	path = srcloc_path(st, 0, prog("mark_work"), TRACE_CTX_ROOT);
	expect(srcloc_path_trim(path), "work");
	expect(srcloc_path_to_main(st, 0, prog("mark_work"), MAIN_LEFT), "work < main[tail]");
	expect(srcloc_path_to_main(st, 0, prog("mark_tail"), BELOW_CUT), "tail < main");
	expect(srcloc_path_to_main(st, 0, prog("mark_work"), TRACE_CTX_ROOT), "work");
	/* main calls itself through the library: the outermost counts */
	expect(srcloc_path_to_main(st, 0, prog("mark_tail"), MAIN_AGAIN),
	       "tail < main < lib_public < main");
	assert_true(srcloc_path_to_main(st, 0, prog("mark_work"), CYCLE).n > 1000);
	srcloc_trace_free(st);
}

/* What is kept for a context must not outlive the modules it was made from. */
static void test_modules_change(void **state)
{
	struct srcloc_trace *st = loaded();
	struct trace_event gone = { .kind = TRACE_MODULE_UNLOAD, .nargs = 2 };
	uint64_t off;
	(void)state;
	expect(srcloc_path(st, 0, prog("mark_work"), TO_TAIL), "work < tail[tail] < main");
	expect(srcloc_path(st, 1, prog("mark_work"), TO_TAIL), "work < tail[tail] < main");
	mapped_part("prog", PROG, &gone.arg[0], &gone.arg[1], &off);
	srcloc_trace_feed(st, &gone);
	expect(srcloc_path(st, 0, prog("mark_work"), TO_TAIL), "? < ?");
	/* the child was born with its parent's modules and still has them */
	expect(srcloc_path(st, 1, prog("mark_work"), TO_TAIL), "work < tail[tail] < main");
	expect(srcloc_path(st, 2, prog("mark_work"), TO_TAIL), "? < ?");
	load(st, "prog", PROG, PROG_ID);
	expect(srcloc_path(st, 0, prog("mark_work"), TO_TAIL), "work < tail[tail] < main");
	load(st, "prog", 2 * PROG, MODULES); /* no such module: left out */
	assert_null(srcloc_trace_at(st, 0, prog("mark_work") + PROG).frame->module);
	assert_null(srcloc_trace_stale(st, 0));
	srcloc_trace_free(st);
}

/* Of a name that is too wide the scopes go, never the function. */
static void test_fit_name(void **state)
{
	static const struct {
		const char *name;
		size_t columns;
		const char *fits;
	} names[] = {
		{ "insert", 3, "insert" },
		{ "a::insert", 3, "a::insert" }, /* nothing would be won */
		{ "storage::tree::insert", 40, "storage::tree::insert" },
		{ "storage::tree::insert", 20, "…::insert" },
		{ "storage::tree::insert", 2, "…::insert" },
		{ "storage::tree<a::b>::insert(c::d)", 20, "…::insert(c::d)" },
		{ "storage::tree::operator<(storage::tree const&)", 20,
		  "…::operator<(storage::tree const&)" },
		{ "storage::tree::put(int)::{lambda(auto&)#1}::operator()(x::y&) const", 30,
		  "…::operator()(x::y&) const" },
		{ "one::two<unsigned long, unsigned long, three::four_and_five>::erase(unsigned long, int&)",
		  30, "one::two<…>::erase(…)" },
		{ "one::two<unsigned long, unsigned long, three::four_and_five>::erase(unsigned long, char const*)",
		  300, "one::two<…>::erase(…)" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char buf[512];
		const char *fits =
			srcloc_fit_name(names[i].name, names[i].columns, buf, sizeof buf);
		if (strcmp(fits, names[i].fits) != 0)
			print_message("%s: %s\n", names[i].name, fits);
		assert_string_equal(fits, names[i].fits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tail_call),     cmocka_unit_test(test_signal),
		cmocka_unit_test(test_cut_and_cycle), cmocka_unit_test(test_stub),
		cmocka_unit_test(test_trim),          cmocka_unit_test(test_modules_change),
		cmocka_unit_test(test_fit_name),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
