/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions, blocks and priorities of programs that are compiled here; see binary/fixture.h. */
#include "binary/fixture.h"

#define BIAS 0x7f1234560000ull

static struct binary_view *view_of(const char *name, uint64_t bias)
{
	struct binary_view *v = binary_view_new(NULL);
	load(v, name, bias);
	binary_view_update(v);
	return v;
}

static uint32_t priority(const struct binary_view *v, const char *name, uint64_t bias,
			 const char *label)
{
	return binary_view_priority(v, bias + symbol(name, label));
}

#define EXPECT(v, name, bias, label, want)                                                         \
	do {                                                                                       \
		uint32_t got_ = priority(v, name, bias, label);                                    \
		if (got_ != (want))                                                                \
			fail_msg("%s in %s: %u, not %d", label, name, got_, want);                 \
	} while (0)

/* AGAMOTTO's listing 7. */
static const char listing7[] = MARKS FLUSH
	"#include <stdlib.h>\n"
	"#include <sys/mman.h>\n"
	"volatile int seen;\n"
	"__attribute__((noinline)) void foo(int a) { MARK(foo); seen = a; }\n"
	"int main(int argc, char **argv) {\n"
	"  char *pbuf = mmap(0, 4096, 3, MAP_SHARED, 3, 0); int x = argc; char a;\n"
	"  MARK(start);\n"
	"  int do_read = argv[1][0] == 'r';\n"
	"  if (do_read) { MARK(then);\n"
	"    a = pbuf[x]; foo(a); MARK(then_end);\n"
	"  } else { MARK(else); a = argv[1][1];\n"
	"    __asm__ volatile(\".globl m_store\\nm_store: movb %1, %0\" : \"=m\"(pbuf[x]) : \"q\"(a));\n"
	"    __asm__ volatile(\".globl m_clwb\\nm_clwb: clwb %0\" : \"+m\"(pbuf[x]));\n"
	"    MARK(after); }\n"
	"  MARK(exit); exit(0); }\n";

static void check_listing7(const char *name, uint64_t bias)
{
	struct binary_view *v = view_of(name, bias);
	EXPECT(v, name, bias, "main", 1);
	EXPECT(v, name, bias, "m_clwb", 1);
	assert_true(binary_view_modifies_pm(v, bias + symbol(name, "m_clwb")));
	assert_false(binary_view_modifies_pm(v, bias + symbol(name, "m_store")));

	assert_true(binary_view_saw_pm(v, bias + symbol(name, "m_store")));
	assert_false(binary_view_saw_pm(v, bias + symbol(name, "m_store")));
	binary_view_update(v);
	EXPECT(v, name, bias, "main", 2);
	EXPECT(v, name, bias, "m_start", 2);
	EXPECT(v, name, bias, "m_then", 0);
	EXPECT(v, name, bias, "m_then_end", 0);
	EXPECT(v, name, bias, "m_foo", 0);
	EXPECT(v, name, bias, "m_else", 2);
	EXPECT(v, name, bias, "m_store", 2);
	EXPECT(v, name, bias, "m_clwb", 1);
	EXPECT(v, name, bias, "m_exit", 0);
	assert_int_equal(binary_view_pm(v), 2);
	assert_int_equal(binary_view_priority(v, 0x1234), 0);
	binary_view_free(v);
}

static void test_listing7(void **state)
{
	(void)state;
	write_text("l7.c", listing7);
	run("cc -O0 -pie -fPIE l7.c -o l7-pie && cc -O2 -pie -fPIE l7.c -o l7-fast");
	run("cc -O1 -no-pie -fno-pie l7.c -o l7-exec && cc -O1 -static l7.c -o l7-static");
	check_listing7("l7-pie", BIAS);
	check_listing7("l7-fast", BIAS);
	check_listing7("l7-exec", 0);
	check_listing7("l7-static", 0);
}

/* The listing of all instructions: by address, each begins in the block that holds it. */
struct listing {
	const struct binary_view *v;
	uint64_t last;
	size_t n, pm;
	uint32_t most;
};

static void list_one(void *arg, uint64_t ip, uint32_t prio, enum binary_mark mark)
{
	struct listing *l = arg;
	uint64_t lo, hi;
	assert_true(ip > l->last);
	assert_true(binary_view_block(l->v, ip, &lo, &hi));
	assert_true(lo <= ip && ip < hi);
	assert_int_equal(prio, binary_view_priority(l->v, ip));
	assert_int_equal(mark == BINARY_PM, binary_view_modifies_pm(l->v, ip));
	l->last = ip;
	l->n++;
	l->pm += mark == BINARY_PM;
	l->most = prio > l->most ? prio : l->most;
}

static void test_each(void **state)
{
	struct binary *b = opened("l7-pie");
	struct binary_view *v = view_of("l7-pie", BIAS);
	struct listing l = { .v = v };
	(void)state;
	binary_view_saw_pm(v, BIAS + symbol("l7-pie", "m_store"));
	binary_view_update(v);
	binary_view_each(v, list_one, &l);
	assert_int_equal(l.n, binary_instructions(b));
	assert_int_equal(l.pm, 2);
	assert_int_equal(l.most, 2);
	assert_int_equal(binary_view_blocks(v), binary_blocks(b));
	binary_view_free(v);
	binary_free(b);
}

/* Cycles count once: in a function, of calls, and on a stack. */
static const char cycles_s[] =
	".text\n"
	".globl loop, self, f, g, caller, after, twice, out, in_loop, second, at_f\n"
	".type loop,@function\nloop: nop\nin_loop: clwb (%rdi)\n clwb (%rsi)\n dec %ecx\n jnz in_loop\n"
	"out: sfence\n ret\n.size loop,.-loop\n"
	".type self,@function\nself: clwb (%rdi)\n test %ecx,%ecx\n jz 1f\n dec %ecx\n call self\n"
	"after: sfence\n 1: ret\n.size self,.-self\n"
	".type f,@function\nf: clwb (%rdi)\nat_f: call g\n ret\n.size f,.-f\n"
	".type g,@function\ng: clwb (%rsi)\n clwb (%rdi)\n dec %ecx\n jz 1f\n call f\n"
	"1: ret\n.size g,.-g\n"
	".type caller,@function\ncaller: call f\nsecond: call loop\n sfence\n ret\n.size caller,.-caller\n"
	".type twice,@function\ntwice: call loop\n call loop\n ret\n.size twice,.-twice\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void test_cycles(void **state)
{
	struct binary_view *v;
	(void)state;
	write_text("cycles.s", cycles_s);
	run("cc -shared -nostdlib cycles.s -o cycles.so");
	v = view_of("cycles.so", BIAS);
	EXPECT(v, "cycles.so", BIAS, "loop", 3);
	EXPECT(v, "cycles.so", BIAS, "in_loop", 3);
	EXPECT(v, "cycles.so", BIAS, "out", 1);
	EXPECT(v, "cycles.so", BIAS, "twice", 6);
	EXPECT(v, "cycles.so", BIAS, "self", 2);
	EXPECT(v, "cycles.so", BIAS, "after", 1);
	EXPECT(v, "cycles.so", BIAS, "f", 3);
	EXPECT(v, "cycles.so", BIAS, "at_f", 2);
	EXPECT(v, "cycles.so", BIAS, "g", 3);
	EXPECT(v, "cycles.so", BIAS, "caller", 7);
	EXPECT(v, "cycles.so", BIAS, "second", 4);

	uint64_t call = BIAS + symbol("cycles.so", "caller"),
		 in = BIAS + symbol("cycles.so", "out");
	uint64_t stack[] = { call, call, 0x10 };
	assert_int_equal(binary_view_priority_in(v, in, NULL, 0), 1);
	assert_int_equal(binary_view_priority_in(v, in, stack, 1), 5);
	assert_int_equal(binary_view_priority_in(v, in, stack, 3), 5);
	binary_view_free(v);
}

/* A flush is in one case only: it is seen if the table is understood. */
static const char table_c[] = MARKS FLUSH
	"#include <stdlib.h>\n"
	"extern int v[16];\n int v[16]; char pm;\n"
	"__attribute__((noinline)) int pick(unsigned i, int *a) {\n"
	"  switch (i) {\n"
	"  case 0: v[0] = a[1] + 1; return a[9];\n  case 1: v[3] = a[2] * 7; break;\n"
	"  case 2: a[0] = v[4] - 5; return 17;\n  case 3: CLWB(&pm); MARK(flushed); return a[3];\n"
	"  case 4: v[7] ^= a[5]; break;\n  case 5: a[7] = v[8] * v[9]; return 3;\n"
	"  case 6: abort();\n  default: v[1]++; }\n"
	"  MARK(common); return v[2]; }\n"
	"int main(int argc, char **argv) { (void)argv; return pick(argc, v) + 1; }\n";

static void check_table(const char *flags, uint64_t bias)
{
	struct binary_view *v;
	run("%s table.c -o table", flags);
	v = view_of("table", bias);
	if (priority(v, "table", bias, "pick") != 1)
		fail_msg("%s: the table is not understood", flags);
	EXPECT(v, "table", bias, "m_flushed", 0);
	EXPECT(v, "table", bias, "main", 1);
	binary_view_free(v);
}

static void test_tables(void **state)
{
	(void)state;
	write_text("table.c", table_c);
	check_table("cc -O0 -fPIE -pie", BIAS);
	check_table("cc -O2 -fPIE -pie", BIAS);
	check_table("cc -O2 -fPIE -pie -fcf-protection=full", BIAS);
	check_table("cc -O0 -fno-pie -no-pie", 0);
	check_table("cc -O2 -fno-pie -no-pie", 0);
	check_table("clang -O2 -fPIE -pie", BIAS);
	check_table("clang -O0 -fPIE -pie", BIAS);
	check_table("clang -O2 -fno-pie -no-pie", 0);
}

/* What stands behind a call that never comes back does not count. */
static const char noreturn_c[] = MARKS FLUSH
	"#include <assert.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
	"char pm; volatile int stop;\n"
	"__attribute__((noinline)) void deeper(int i) { if (i) puts(\"a\"); exit(i); }\n"
	"__attribute__((noinline)) void die(int i) { deeper(i + 1); }\n"
	"__attribute__((noinline)) void flush(void) { CLWB(&pm); }\n"
	"__attribute__((noinline)) int use(int i) { MARK(use); if (i > 7) { MARK(dying); die(i); }\n"
	"  return i; }\n"
	"__attribute__((noinline)) void asserts(int i) { MARK(asserts); assert(i != 3); }\n"
	"int main(int argc, char **argv) { (void)argv; asserts(argc); use(argc); MARK(last);\n"
	"  flush(); return stop; }\n";

static void test_noreturn(void **state)
{
	struct binary_view *v;
	(void)state;
	write_text("noreturn.c", noreturn_c);
	run("cc -O2 -fno-inline noreturn.c -o noreturn");
	v = view_of("noreturn", BIAS);
	EXPECT(v, "noreturn", BIAS, "m_use", 0);
	EXPECT(v, "noreturn", BIAS, "m_dying", 0);
	EXPECT(v, "noreturn", BIAS, "m_asserts", 0);
	EXPECT(v, "noreturn", BIAS, "main", 1);
	binary_view_free(v);
}

/* Through the linkage table, past it, and where the name is found. */
static void test_imports(void **state)
{
	(void)state;
	write_text("lib.c",
		   FLUSH "void persist(char *p) { CLWB(p); __asm__ volatile(\"sfence\"); }\n"
			 "static void fast(char *p) { CLWB(p); }\n"
			 "static void (*pick(void))(char *) { return fast; }\n"
			 "void chosen(char *p) __attribute__((ifunc(\"pick\")));\n");
	write_text("use.c", MARKS "void persist(char *); void chosen(char *); char pm;\n"
				  "void one(void) { MARK(one); persist(&pm); pm++; }\n"
				  "void tail(void) { MARK(tail); persist(&pm); }\n"
				  "void two(void) { MARK(two); chosen(&pm); pm++; }\n"
				  "int main(void) { one(); two(); tail(); return 0; }\n");
	run("cc -O2 -fPIC -shared lib.c -o libuse.so");
	for (int i = 0; i < 2; i++) {
		run("cc -O2 -fno-inline %s use.c ./libuse.so -o use", i ? "-fno-plt" : "");
		struct binary_view *v = view_of("use", BIAS);
		EXPECT(v, "use", BIAS, "one", 0);
		load(v, "libuse.so", 2 * BIAS);
		binary_view_update(v);
		EXPECT(v, "use", BIAS, "one", 2);
		EXPECT(v, "use", BIAS, "tail", 2);
		EXPECT(v, "use", BIAS, "two", 0); /* only a run can tell */
		EXPECT(v, "use", BIAS, "main", 4);
		if (!i) {
			struct binary *b = opened("use");
			const struct binary_function *f = NULL;
			for (size_t k = 0; k < binary_functions(b); k++)
				if (!strcmp(binary_function(b, k)->name, "chosen@plt"))
					f = binary_function(b, k);
			assert_non_null(f);
			uint64_t fast = 2 * BIAS + symbol("libuse.so", "fast");
			/* into the table's own code first, with lazy binding */
			assert_false(binary_view_saw_jump(v, BIAS + f->addr, BIAS + f->addr + 6));
			assert_true(binary_view_saw_jump(v, BIAS + f->addr, fast));
			assert_false(binary_view_saw_jump(v, BIAS + f->addr, fast));
			binary_view_update(v);
			EXPECT(v, "use", BIAS, "two", 1);
			EXPECT(v, "use", BIAS, "main", 5);
			binary_free(b);
		}
		binary_view_free(v);
	}
}

/* Calls and jumps through pointers are learnt, and kept for the next time. */
static const char pointers_s[] =
	".text\n.globl f, g, h, call, jump, there, sw, in, in2, back, t\n"
	".type f,@function\nf: nop\ncall: call *%rax\n sfence\n ret\n.size f,.-f\n"
	".type g,@function\ng: clwb (%rdi)\n clwb (%rsi)\n ret\n.size g,.-g\n"
	".type h,@function\nh: nop\njump: jmp *%rax\n.size h,.-h\n"
	".type t,@function\nt: call stub\n ret\n.size t,.-t\n"
	".type stub,@function\nstub: jmp *word(%rip)\n.size stub,.-stub\n.local word\n.comm word,8\n"
	".type sw,@function\nsw: jmp *%rax\nin: clwb (%rdi)\nback: ret\nin2: clwb (%rdi)\n"
	"there: mov %rax, (%rdi)\n jmp back\n.size sw,.-sw\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void test_learnt(void **state)
{
	const char *name = "pointers.so";
	char cache[PATH_MAX];
	(void)state;
	snprintf(cache, sizeof cache, "%s", in_dir("learnt"));
	write_text("pointers.s", pointers_s);
	run("cc -shared -nostdlib pointers.s -o pointers.so");
	uint64_t call = BIAS + symbol(name, "call"), jump = BIAS + symbol(name, "jump");
	uint64_t g = BIAS + symbol(name, "g"), sw = BIAS + symbol(name, "sw");

	struct binary_view *v = binary_view_new(cache);
	load(v, name, BIAS);
	binary_view_update(v);
	EXPECT(v, name, BIAS, "f", 1);
	EXPECT(v, name, BIAS, "h", 0);
	assert_false(binary_view_saw_call(v, g, g)); /* no call */
	assert_true(binary_view_saw_call(v, call, g));
	assert_false(binary_view_saw_call(v, call, g));
	assert_true(binary_view_saw_jump(v, jump, g));
	assert_true(binary_view_saw_jump(v, sw, BIAS + symbol(name, "in")));
	assert_true(binary_view_saw_jump(v, sw, BIAS + symbol(name, "in2")));
	assert_true(binary_view_saw_pm(v, BIAS + symbol(name, "there")));
	assert_false(binary_view_saw_call(v, call, 0x1000));
	assert_true(binary_view_saw_call(v, BIAS + symbol(name, "t"), g)); /* through a stub */
	assert_false(binary_view_saw_call(v, BIAS + symbol(name, "t"), g));
	binary_view_update(v);
	EXPECT(v, name, BIAS, "f", 3);
	EXPECT(v, name, BIAS, "h", 2);
	EXPECT(v, name, BIAS, "sw", 2);
	EXPECT(v, name, BIAS, "in", 1);
	EXPECT(v, name, BIAS, "back", 0);
	EXPECT(v, name, BIAS, "t", 2);
	assert_true(binary_view_saw_call(v, call, BIAS + symbol(name, "h")));
	binary_view_update(v);
	EXPECT(v, name, BIAS, "f", 3); /* the most of both */
	binary_view_free(v);

	v = binary_view_new(cache);
	load(v, name, 3 * BIAS); /* elsewhere */
	binary_view_update(v);
	EXPECT(v, name, 3 * BIAS, "f", 3);
	EXPECT(v, name, 3 * BIAS, "sw", 2);
	EXPECT(v, name, 3 * BIAS, "t", 2);
	assert_false(binary_view_saw_call(v, call + 2 * BIAS, g + 2 * BIAS));
	assert_false(binary_view_saw_pm(v, 3 * BIAS + symbol(name, "there")));
	binary_view_free(v);
}

/* A copying function of the C library: the call of the program counts, and nobody else's. */
static void test_copies(void **state)
{
	struct binary_view *v;
	uint64_t store, calls[2];
	(void)state;
	write_text("copy.s",
		   ".text\n.globl f, p, __memcpy_any, at, inner, fcall, pcall\n"
		   ".type f,@function\nf: nop\nfcall: call inner\n ret\n.size f,.-f\n"
		   ".type p,@function\np: nop\npcall: call inner\n ret\n.size p,.-p\n"
		   ".type inner,@function\ninner: call __memcpy_any\n ret\n.size inner,.-inner\n"
		   ".type __memcpy_any,@function\n__memcpy_any: nop\nat: movnti %rax,(%rdi)\n"
		   " sfence\n ret\n.size __memcpy_any,.-__memcpy_any\n"
		   ".section .note.GNU-stack,\"\",@progbits\n");
	run("cc -nostdlib -static copy.s -o copy -Wl,-e,f");
	v = view_of("copy", 0);
	EXPECT(v, "copy", 0, "f", 0);
	store = symbol("copy", "at");
	calls[0] = symbol("copy", "inner");
	calls[1] = symbol("copy", "fcall");
	assert_true(binary_view_saw_pm_in(v, store, calls, 2));
	assert_false(binary_view_saw_pm_in(v, store, calls, 2));
	binary_view_update(v);
	EXPECT(v, "copy", 0, "inner", 1);
	EXPECT(v, "copy", 0, "__memcpy_any", 0);
	assert_true(binary_view_modifies_pm(v, calls[0]));
	assert_true(binary_view_saw_pm(v, store)); /* asked for itself: then all of it */
	binary_view_update(v);
	EXPECT(v, "copy", 0, "__memcpy_any", 2);
	EXPECT(v, "copy", 0, "inner", 3);
	binary_view_free(v);
}

/* Without symbols, and without unwind information: the same priorities at the same places. */
static void test_stripped(void **state)
{
	(void)state;
	write_text("table.c", table_c);
	run("cc -O2 -pie -fPIE table.c -o full && strip -o bare full");
	run("cc -O2 -no-pie -fno-pie -fno-asynchronous-unwind-tables table.c -o plain");
	run("strip --remove-section=.eh_frame --remove-section=.eh_frame_hdr -o nothing plain");
	struct binary *full = opened("full"), *bare = opened("bare"), *nothing = opened("nothing");
	uint64_t pick = symbol("full", "pick"), plain = symbol("plain", "pick");

	assert_string_equal(binary_function_at(full, pick + 1)->name, "pick");
	char want[32];
	snprintf(want, sizeof want, "sub_%llx", (unsigned long long)pick);
	assert_string_equal(binary_function_at(bare, pick + 1)->name, want);
	assert_int_equal(binary_function_at(bare, pick)->addr, pick);
	assert_int_equal(binary_instructions(full), binary_instructions(bare));
	assert_int_equal(binary_blocks(full), binary_blocks(bare));
	assert_int_equal(binary_function_at(nothing, plain)->addr, plain);
	assert_true(binary_is_code(nothing, plain));
	assert_int_equal(binary_pm_instructions(nothing), 1);
	assert_null(binary_function_at(full, 1));
	assert_false(binary_is_code(full, pick + 0x100000));

	struct binary_view *v = view_of("bare", BIAS);
	assert_int_equal(binary_view_priority(v, BIAS + pick), 1);
	binary_view_free(v);
	v = view_of("nothing", 0);
	assert_int_equal(binary_view_priority(v, plain), 1);
	binary_view_free(v);
	binary_free(full);
	binary_free(bare);
	binary_free(nothing);
}

/* A cold part is the same function: what it leads back to is counted once. */
static void test_cplusplus(void **state)
{
	struct binary_view *v;
	(void)state;
	write_text(
		"cold.cc", MARKS FLUSH
		"#include <stdexcept>\n#include <string>\nchar pm; volatile int s;\n"
		"struct A { virtual ~A() {} virtual int go(int i) { return i; } };\n"
		"struct B { virtual ~B() {} virtual int run(int i) { return i + 1; } };\n"
		"struct C : A, B { int go(int i) override { return i + 2; }\n"
		"  int run(int i) override { CLWB(&pm); return i + 3; } };\n"
		"__attribute__((noinline)) int work(int i) {\n"
		"  if (__builtin_expect(i == 7, 0)) { s++; s++; s--; }\n"
		"  CLWB(&pm);\n"
		"  if (i == 9) throw std::runtime_error(\"nine\");\n"
		"  return i; }\n"
		"int main(int argc, char **argv) { C c; B *b = argc > 2 ? new B : &c; (void)argv;\n"
		"  try { MARK(trying); return work(argc) + b->run(1); }\n"
		"  catch (std::exception &e) { MARK(caught); CLWB(&pm); return 1; } }\n");
	run("c++ -O2 -freorder-blocks-and-partition cold.cc -o cold");
	v = view_of("cold", BIAS);
	EXPECT(v, "cold", BIAS, "_Z4worki", 1);
	EXPECT(v, "cold", BIAS, "m_trying", 1);
	EXPECT(v, "cold", BIAS, "m_caught", 1);
	EXPECT(v, "cold", BIAS, "_ZThn8_N1C3runEi", 1); /* a thunk */
	binary_view_free(v);

	write_text(
		"cold.s",
		".text\n.globl f, f.cold, again\n"
		".type f.cold,@function\nf.cold: clwb (%rsi)\n jmp again\n.size f.cold,.-f.cold\n"
		".type f,@function\nf: clwb (%rdi)\n test %eax,%eax\n jz f.cold\n nop\n"
		"again: sfence\n ret\n.size f,.-f\n"
		".section .note.GNU-stack,\"\",@progbits\n");
	run("cc -shared -nostdlib cold.s -o cold.so");
	v = view_of("cold.so", BIAS);
	EXPECT(v, "cold.so", BIAS, "f", 3);
	EXPECT(v, "cold.so", BIAS, "f.cold", 2);
	EXPECT(v, "cold.so", BIAS, "again", 1);
	binary_view_free(v);
}

static void test_not_elf(void **state)
{
	static const char *const names[] = { "text", "empty", "missing", "object.o", ".", "small" };
	struct err err;
	(void)state;
	write_text("text", "#!/bin/sh\nexit 0\n");
	write_text("empty", "");
	write_text("small", "\177ELF\2\1\1");
	write_text("object.c", "int f(void) { return 1; }\n");
	run("cc -c object.c -o object.o");
	struct binary_view *v = binary_view_new(NULL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		err.text[0] = '\0';
		assert_null(binary_open(in_dir(names[i]), NULL, &err));
		assert_true(strlen(err.text) > 0);
		binary_view_load(v, in_dir(names[i]), 0x1000, 0x1000, 0);
	}
	binary_view_update(v);
	assert_int_equal(binary_view_blocks(v), 0);
	assert_int_equal(binary_view_pm(v), 0);
	assert_int_equal(binary_view_priority(v, 0x1004), 0);
	binary_view_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing7), cmocka_unit_test(test_each),
		cmocka_unit_test(test_cycles),   cmocka_unit_test(test_tables),
		cmocka_unit_test(test_noreturn), cmocka_unit_test(test_imports),
		cmocka_unit_test(test_learnt),   cmocka_unit_test(test_copies),
		cmocka_unit_test(test_stripped), cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_not_elf),
	};
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
