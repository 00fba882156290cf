/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses to source terms, on fixtures compiled here; see srcloc/fixture.h. */
#include "srcloc/fixture.h"

#include <time.h>

#define BIAS 0x7f1234560000ull

static void map(struct srcloc *s, const char *name, uint64_t bias)
{
	uint64_t addr, len, off;
	uint8_t id[32];
	size_t id_len = build_id(name, id);
	char *path = xasprintf("%s/%s", fixture_dir, name);
	mapped_part(name, bias, &addr, &len, &off);
	srcloc_map(s, addr, len, off, path, id, id_len);
	free(path);
}

static void unmap(struct srcloc *s, const char *name, uint64_t bias)
{
	uint64_t addr, len, off;
	mapped_part(name, bias, &addr, &len, &off);
	srcloc_unmap(s, addr, len);
}

static void expect(const struct srcloc_frame *f, const char *function, const char *file,
		   const char *mark)
{
	char *path = xasprintf("%s/%s", fixture_src, file);
	assert_non_null(f->function);
	assert_string_equal(f->function, function);
	assert_non_null(f->file);
	assert_string_equal(f->file, path);
	assert_int_equal(f->line, line_of(file, mark));
	assert_false(f->plt);
	free(path);
}

/* The three frames of an address inside two inlined calls. */
static void check_inlined(const char *name, uint64_t bias)
{
	struct srcloc *s = srcloc_new();
	map(s, name, bias);
	struct srcloc_where at = srcloc_at(s, bias + symbol(name, "mark_set"));
	assert_int_equal(at.n, 3);
	expect(&at.frame[0], "set", "prog.c", "MARK(set)");
	expect(&at.frame[1], "insert", "prog.c", "CALL(set)");
	expect(&at.frame[2], "work", "prog.c", "CALL(insert)");
	assert_true(at.frame[0].inlined && at.frame[1].inlined && !at.frame[2].inlined);
	assert_int_not_equal(at.frame[0].column, 0);
	assert_int_not_equal(at.frame[1].column, 0);
	assert_int_equal(at.frame[2].offset, symbol(name, "mark_set"));

	at = srcloc_at(s, bias + symbol(name, "mark_insert"));
	assert_int_equal(at.n, 2);
	expect(&at.frame[0], "insert", "prog.c", "MARK(insert)");
	expect(&at.frame[1], "work", "prog.c", "CALL(insert)");

	at = srcloc_at(s, bias + symbol(name, "mark_main"));
	assert_int_equal(at.n, 1);
	expect(&at.frame[0], "main", "prog.c", "MARK(main)");
	assert_null(srcloc_stale(s, 0));
	srcloc_free(s);
}

static void test_inlined(void **state)
{
	(void)state;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o lib.so");
	run("cc -O2 -g -fPIE -pie $S/prog.c ./lib.so -o pie");
	check_inlined("pie", BIAS);
	run("cc -O2 -g -fno-pie -no-pie $S/prog.c ./lib.so -o exec");
	check_inlined("exec", 0);
	run("cc -O0 -g -pie $S/prog.c ./lib.so -o slow");
	check_inlined("slow", BIAS);
	run("cc -O2 -gdwarf-4 $S/prog.c ./lib.so -o dwarf4");
	check_inlined("dwarf4", BIAS);
	run("cc -O2 -g -gsplit-dwarf -c $S/prog.c -o split.o && cc split.o ./lib.so -o split");
	check_inlined("split", BIAS);
	run("cc -O2 -g -gz=zlib $S/prog.c ./lib.so -o packed");
	check_inlined("packed", BIAS);
	/* a build folder beside the sources, as meson and cmake make one */
	run("cp -r $S src && mkdir -p b && cd b && cc -O2 -g ../src/prog.c ../lib.so -o ../beside");
	struct srcloc *s = srcloc_new();
	map(s, "beside", BIAS);
	char *want = xasprintf("%s/src/prog.c", fixture_dir);
	assert_string_equal(srcloc_at(s, BIAS + symbol("beside", "mark_set")).frame->file, want);
	free(want);
	srcloc_free(s);
}

static void test_clang(void **state)
{
	(void)state;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o lib.so");
	run("clang -O2 -g -Wno-unknown-attributes -fno-addrsig $S/prog.c ./lib.so -o clang");
	check_inlined("clang", BIAS); /* no .debug_aranges */
}

static void test_cplusplus(void **state)
{
	struct srcloc *s = srcloc_new();
	(void)state;
	run("c++ -O2 -g $S/names.cc -o names");
	map(s, "names", BIAS);
	struct srcloc_where at = srcloc_at(s, BIAS + symbol("names", "mark_tree_set"));
	assert_int_equal(at.n, 2);
	expect(&at.frame[0], "pm::Tree<long>::set(long)", "names.cc", "MARK(tree_set)");
	expect(&at.frame[1], "pm::Tree<long>::insert(long)", "names.cc", "CALL(tree_set)");
	at = srcloc_at(s, BIAS + symbol("names", "mark_tree_ctor"));
	expect(&at.frame[0], "pm::Tree<long>::Tree(long)", "names.cc", "MARK(tree_ctor)");
	at = srcloc_at(s, BIAS + symbol("names", "mark_secret"));
	expect(&at.frame[0], "(anonymous namespace)::secret", "names.cc", "MARK(secret)");

	run("cp names bare && strip --strip-debug bare");
	map(s, "bare", 2 * BIAS); /* the symbol table's names are demangled too */
	at = srcloc_at(s, 2 * BIAS + symbol("names", "mark_secret"));
	assert_string_equal(at.frame->function, "(anonymous namespace)::secret(int)");
	assert_null(at.frame->file);
	srcloc_free(s);
}

/* An instruction that is made of two statements in inlined calls is where one of these calls is. */
static void test_merged(void **state)
{
	struct srcloc *s = srcloc_new();
	bool any = false;
	(void)state;
	run("clang -O2 -g $S/merged.c -o merged");
	map(s, "merged", BIAS);
	for (uint64_t at = symbol("merged", "work"); at < symbol("merged", "main"); at++) {
		const struct srcloc_frame *f = srcloc_at(s, BIAS + at).frame;
		if (!f->function || strcmp(f->function, "work") != 0 || !f->unsure)
			continue;
		assert_int_not_equal(f->line, 0);
		any |= f->line == line_of("merged.c", "CALL(lose)");
	}
	assert_true(any);
	srcloc_free(s);
}

/* What the symbol of a function shows, in a program that is otherwise the same. */
static void check_symbol(const char *symbol_name, const char *shown)
{
	struct srcloc *s = srcloc_new();
	run("cc -DNAME='\"%s\"' $S/named.c -o rust", symbol_name);
	map(s, "rust", BIAS);
	struct srcloc_where at = srcloc_at(s, BIAS + symbol("rust", "mark_f"));
	assert_int_equal(at.n, 1);
	assert_string_equal(at.frame->function, shown);
	srcloc_free(s);
}

/* Rust's legacy symbols: what they stand for, without the hash, which changes with how the crate was built. */
static void test_rust(void **state)
{
	(void)state;
	check_symbol(
		"_ZN52_$LT$shop..Shelf$LT$T$GT$$u20$as$u20$shop..Keeps$GT$3put17h0123456789abcdefE",
		"<shop::Shelf<T> as shop::Keeps>::put");
	check_symbol(
		"_ZN52_$LT$shop..Shelf$LT$T$GT$$u20$as$u20$shop..Keeps$GT$3put17hfedcba9876543210E",
		"<shop::Shelf<T> as shop::Keeps>::put");
	check_symbol("_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		     "shop::main::{{closure}}");
	check_symbol("_ZN4shop3put16h0123456789abcdeE",
		     "shop::put::h0123456789abcde"); /* one digit short: C++ */
}

/* … and its other ones, without the crate's number. */
static void test_rust_v0(void **state)
{
	(void)state;
	check_symbol("_RNvMs2_CsfG4Gsch05sY_4shopNtB5_5Shelf3put", "shop::Shelf::put");
	check_symbol("_RNvMs2_CscG3NtCRnGra_4shopNtB5_5Shelf3put", "shop::Shelf::put");
	check_symbol("_RNvXs_Cs1_4shopRShNtB4_5Keeps3put", "<&[u8] as shop::Keeps>::put");
	check_symbol("_RNvXCs5MG4p4o9T2T_4shopNtB2_4SlotNtB2_5Keeps3putB2_",
		     "<shop::Slot as shop::Keeps>::put");
	check_symbol("_RNCNvCs1_4shop4mains_0", "shop::main::{closure#1}");
	check_symbol("_RNvNCNvCs1_4shop4main03put", "shop::main::{closure#0}::put");
	check_symbol("_RINvCs1_4shop3putmKj8_E", "shop::put");
	check_symbol("_RNvMCs1_4shopAhj10_3put", "<[u8; 16]>::put");
	check_symbol("_RNvYFEuNtCs1_4shop5Keeps3put", "<fn() as shop::Keeps>::put");
	check_symbol("_RNvB_3put", "_RNvB_3put");                 /* leads to itself */
	check_symbol("_RNvCs1_4shop9put", "_RNvCs1_4shop9put");   /* cut short */
	check_symbol("_RNvCs1_4shop3put.llvm.1234", "shop::put"); /* … by LLVM */
	check_symbol("_RunIt", "_RunIt");                         /* C */
}

static void test_stripped(void **state)
{
	struct srcloc *s = srcloc_new();
	char text[256], want[256];
	(void)state;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o full.so && cp full.so none.so && strip none.so");
	map(s, "none.so", BIAS);
	struct srcloc_where at = srcloc_at(s, BIAS + symbol("full.so", "mark_lib_public"));
	assert_int_equal(at.n, 1);
	assert_string_equal(at.frame->function, "lib_public"); /* from .dynsym */
	assert_null(at.frame->file);

	uint64_t hidden = symbol("full.so", "lib_hidden");
	at = srcloc_at(s, BIAS + hidden);
	if (at.frame->function) /* the mark's own label is exported, and may come before */
		assert_int_equal(strncmp(at.frame->function, "mark_", 5), 0);
	run("cc -O2 -g -shared -fPIC -Wl,--version-script=$S/lib.map $S/lib.c -o few.so");
	run("cp few.so few-none.so && strip few-none.so");
	map(s, "few-none.so", 2 * BIAS);
	hidden = symbol("few.so", "lib_hidden");
	at = srcloc_at(s, 2 * BIAS + hidden);
	assert_null(at.frame->function);
	snprintf(want, sizeof want, "few-none.so+0x%llx", (unsigned long long)hidden);
	assert_string_equal(srcloc_text(at.frame, text, sizeof text), want);
	srcloc_free(s);
}

/* Puts name's debug information where the loader of packages would: by build-id. */
static void split_off(const char *name)
{
	uint8_t id[32];
	char hex[65] = "";
	size_t len = build_id(name, id);
	assert_true(len > 1);
	for (size_t i = 1; i < len; i++)
		snprintf(hex + 2 * i - 2, 3, "%02x", id[i]);
	run("mkdir -p dbg/.build-id/%02x && objcopy --only-keep-debug %s dbg/.build-id/%02x/%s.debug",
	    id[0], name, id[0], hex);
}

static void test_separate(void **state)
{
	(void)state;
	char *dir = xasprintf("/nonexistent:%s/dbg", fixture_dir);
	struct srcloc_where at;

	run("cc -O2 -g $S/prog.c ./lib.so -o whole && cp whole apart && strip apart");
	split_off("whole");
	setenv("HOLDFAST_DEBUG_PATH", dir, 1);
	struct srcloc *s = srcloc_new();
	unsetenv("HOLDFAST_DEBUG_PATH");
	map(s, "apart", BIAS);
	at = srcloc_at(s, BIAS + symbol("whole", "mark_set"));
	assert_int_equal(at.n, 3);
	expect(&at.frame[0], "set", "prog.c", "MARK(set)");
	expect(&at.frame[2], "work", "prog.c", "CALL(insert)");
	srcloc_free(s);

	s = srcloc_new(); /* without the path: nothing */
	map(s, "apart", BIAS);
	at = srcloc_at(s, BIAS + symbol("whole", "mark_set"));
	assert_int_equal(at.n, 1);
	assert_null(at.frame->file);
	srcloc_free(s);

	run("objcopy --only-keep-debug whole linked.debug && cp whole linked && strip linked && "
	    "objcopy --add-gnu-debuglink=linked.debug linked");
	s = srcloc_new();
	map(s, "linked", BIAS);
	at = srcloc_at(s, BIAS + symbol("whole", "mark_set"));
	assert_int_equal(at.n, 3);
	expect(&at.frame[1], "insert", "prog.c", "CALL(set)");
	srcloc_free(s);
	free(dir);
}

/* Every stub section of the object: how many stubs lead to lib_public? */
static int stubs_to(const char *name, const char *function)
{
	struct elf e = elf_file(name);
	struct srcloc *s = srcloc_new();
	size_t names;
	int found = 0;
	map(s, name, BIAS);
	elf_getshdrstrndx(e.elf, &names);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e.elf, scn));) {
		GElf_Shdr sh;
		gelf_getshdr(scn, &sh);
		if (strncmp(elf_strptr(e.elf, names, sh.sh_name), ".plt", 4))
			continue;
		uint64_t entry = sh.sh_entsize == 8 ? 8 : 16;
		for (uint64_t at = 0; at < sh.sh_size; at += entry) {
			const struct srcloc_frame *f = srcloc_at(s, BIAS + sh.sh_addr + at).frame;
			assert_true(f->plt);
			found += f->function && !strcmp(f->function, function);
		}
	}
	srcloc_free(s);
	elf_close(&e);
	return found;
}

static void test_plt(void **state)
{
	(void)state;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o lib.so");
	run("cc -O2 -g -fcf-protection=none $S/prog.c ./lib.so -Wl,-z,lazy -o lazy");
	assert_int_equal(stubs_to("lazy", "lib_public"), 1);
	run("cc -O2 -g -fcf-protection=none $S/prog.c ./lib.so -Wl,-z,now -o now");
	assert_int_equal(stubs_to("now", "lib_public"), 1);
	run("cc -O2 -g -fcf-protection=full $S/prog.c ./lib.so -Wl,-z,lazy,-z,ibtplt -o ibt");
	assert_int_equal(stubs_to("ibt", "lib_public"), 2); /* .plt and .plt.sec */
	run("cp ibt ibt-none && strip ibt-none");
	assert_int_equal(stubs_to("ibt-none", "lib_public"), 2);

	char text[64];
	struct srcloc_frame f = { .function = "memcpy", .module = "/x", .plt = true };
	assert_string_equal(srcloc_text(&f, text, sizeof text), "memcpy@plt");
}

static void test_static(void **state)
{
	struct srcloc *s = srcloc_new();
	(void)state;
	run("cc -O2 -g -static $S/prog.c $S/lib.c -o static 2>/dev/null");
	map(s, "static", 0);
	struct srcloc_where at = srcloc_at(s, symbol("static", "mark_lib_hidden"));
	expect(&at.frame[0], "lib_hidden", "lib.c", "MARK(lib_hidden)");
	srcloc_free(s);
}

static void test_remapped(void **state)
{
	struct srcloc *s = srcloc_new();
	uint64_t pub = BIAS + symbol("lib.so", "mark_lib_public");
	(void)state;
	run("cc -O0 -g -shared -fPIC $S/prog.c -o other.so");
	assert_null(srcloc_at(s, pub).frame->module);
	assert_int_equal(srcloc_at(s, pub).frame->offset, pub);
	map(s, "lib.so", BIAS);
	assert_string_equal(srcloc_at(s, pub).frame->function, "lib_public");
	struct srcloc *child = srcloc_fork(s);
	unmap(s, "lib.so", BIAS);
	assert_null(srcloc_at(s, pub).frame->module);
	map(s, "other.so", BIAS);
	const char *seen = srcloc_at(s, BIAS + symbol("other.so", "mark_work")).frame->function;
	assert_string_equal(seen, "work");
	unmap(s, "other.so", BIAS);
	map(s, "lib.so", BIAS + 0x100000);
	assert_string_equal(srcloc_at(s, pub + 0x100000).frame->function, "lib_public");
	srcloc_free(s);
	/* the copy lives on, as it was */
	assert_string_equal(srcloc_at(child, pub).frame->function, "lib_public");
	srcloc_free(child);
}

static void test_unusable(void **state)
{
	struct srcloc *s = srcloc_new();
	uint64_t at = BIAS + symbol("lib.so", "mark_lib_public");
	uint8_t id[32] = { 1, 2, 3 };
	char path[PATH_MAX], text[256];
	(void)state;
	snprintf(path, sizeof path, "%s/lib.so", fixture_dir);
	srcloc_map(s, BIAS, 0x10000, 0, path, id, 20);
	assert_null(srcloc_stale(s, 0)); /* not looked at yet */
	const struct srcloc_frame *f = srcloc_at(s, at).frame;
	assert_null(f->function);
	assert_string_equal(f->module, path);
	assert_string_equal(srcloc_stale(s, 0), path);
	assert_null(srcloc_stale(s, 1));

	srcloc_map(s, 2 * BIAS, 0x1000, 0x3000, "/no/such/libgone.so", NULL, 0);
	f = srcloc_at(s, 2 * BIAS + 0x10).frame;
	assert_string_equal(srcloc_text(f, text, sizeof text), "libgone.so+0x3010");
	run("echo not an ELF file >text && : >empty && mkfifo pipe && head -c 3000 lib.so >cut.so");
	static const char *const bad[] = { "text", "empty", "pipe", "cut.so", "." };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(path, sizeof path, "%s/%s", fixture_dir, bad[i]);
		srcloc_map(s, 2 * BIAS, 0x10000, 0, path, NULL, 0);
		f = srcloc_at(s, 2 * BIAS + symbol("lib.so", "mark_lib_public")).frame;
		assert_string_equal(f->module, path);
		assert_null(f->file);
	}
	f = srcloc_at(s, 0x10).frame;
	assert_string_equal(srcloc_text(f, text, sizeof text), "0x10");
	srcloc_free(s);
}

/* Every byte of a fixture flipped in turn must not bring us down (a program may be odd). */
static void test_damaged(void **state)
{
	char path[PATH_MAX];
	uint64_t pub = symbol("lib.so", "mark_lib_public");
	(void)state;
	snprintf(path, sizeof path, "%s/lib.so", fixture_dir);
	FILE *f = fopen(path, "r");
	char *bytes = xmalloc(1 << 20);
	size_t n = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	snprintf(path, sizeof path, "%s/damaged.so", fixture_dir);
	for (size_t i = 0; i < n; i += 97) {
		bytes[i] = (char)~bytes[i];
		f = fopen(path, "w");
		assert_int_equal(fwrite(bytes, 1, n, f), n);
		fclose(f);
		struct srcloc *s = srcloc_new();
		srcloc_map(s, BIAS, 0x10000, 0, path, NULL, 0);
		assert_true(srcloc_at(s, BIAS + pub).n >= 1);
		srcloc_free(s);
		bytes[i] = (char)~bytes[i];
	}
	free(bytes);
}

/* A million questions about ten thousand addresses of this very program. */
static void test_speed(void **state)
{
	struct srcloc *s = srcloc_new();
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
	size_t known = 0;
	(void)state;
	exe[len > 0 ? len : 0] = '\0';
	run("ln -sf %s self", exe);
	uint64_t addr, size, off;
	mapped_part("self", BIAS, &addr, &size, &off);
	srcloc_map(s, addr, size, off, exe, NULL, 0);
	clock_t start = clock();
	for (uint64_t i = 0; i < 10000; i++)
		known += srcloc_at(s, addr + i * 3 % size).frame->function != NULL;
	clock_t once = clock() - start;
	for (uint64_t i = 0; i < 1000000; i++)
		known += srcloc_at(s, addr + i % 10000 * 3 % size).frame->function != NULL;
	clock_t again = clock() - start - once;
	print_message("# 1e4 lookups: %.3f s, 100 times again: %.3f s\n",
		      (double)once / CLOCKS_PER_SEC, (double)again / CLOCKS_PER_SEC);
	assert_true(again / 100 < once / 2); /* what is known is not looked for again */
	assert_true(known > 0);
	srcloc_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),   cmocka_unit_test(test_clang),
		cmocka_unit_test(test_cplusplus), cmocka_unit_test(test_rust),
		cmocka_unit_test(test_rust_v0),   cmocka_unit_test(test_merged),
		cmocka_unit_test(test_stripped),  cmocka_unit_test(test_separate),
		cmocka_unit_test(test_plt),       cmocka_unit_test(test_static),
		cmocka_unit_test(test_remapped),  cmocka_unit_test(test_unusable),
		cmocka_unit_test(test_damaged),   cmocka_unit_test(test_speed),
	};
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
