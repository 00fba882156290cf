/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast dump, on a trace written here: two processes, a fixture program with inlined
 * functions and a tail call, one PM file.
 */
#include "srcloc/fixture.h"

#include "cli/cli.h"
#include "trace/trace.h"

#define PROG 0x400000000ull
#define PM 0x10000ull

enum { SITE_STORE = 1, SITE_CLWB, SITE_SFENCE, SITE_OTHER };
enum { TO_TAIL = TRACE_CTX_FIRST, IN_SIGNAL };

static struct trace_writer *out;
static struct err err;

static uint64_t prog(const char *name)
{
	return PROG + symbol("prog", name);
}

#define OK(call)                                                                                   \
	do {                                                                                       \
		if (call)                                                                          \
			fail_msg("%s", err.text);                                                  \
	} while (0)

/* Adds an event of process 0, thread 1; the arguments follow. */
static void put(unsigned kind, unsigned flags, uint32_t site, uint32_t ctx, const void *data,
		uint32_t size, const uint64_t *arg)
{
	struct trace_event ev = { .kind = (uint8_t)kind,
				  .flags = (uint8_t)flags,
				  .nargs = (uint8_t)trace_kind_args(kind),
				  .thread = 1,
				  .site = site,
				  .ctx = ctx,
				  .size = size,
				  .data = data };
	memcpy(ev.arg, arg, ev.nargs * sizeof *arg);
	OK(trace_put_event(out, &ev, &err));
}
#define ARGS(...) ((const uint64_t[TRACE_MAX_ARGS]){ __VA_ARGS__ })

static void put_defs(void)
{
	struct trace_process_def p = { .pid = 70,
				       .parent_index = TRACE_NO_PROCESS,
				       .command = (char[]){ "./prog\0it's" },
				       .command_len = 12 };
	struct trace_module_def m = { .path = xasprintf("%s/prog", fixture_dir) };
	struct trace_file_def f = { .size = 4096, .path = xasprintf("%s/pm/pool", fixture_dir) };
	struct trace_site_def s[] = {
		[SITE_STORE] = { prog("mark_set"), TRACE_SITE_STORE, 8 },
		[SITE_CLWB] = { prog("mark_work"), TRACE_SITE_CLWB, 0 },
		[SITE_SFENCE] = { prog("mark_work"), TRACE_SITE_SFENCE, 0 },
		[SITE_OTHER] = { 0, TRACE_SITE_OTHER, 0 },
	};
	struct trace_ctx_def tail = { 0, prog("mark_main"), prog("tail") };
	struct trace_ctx_def signal = { TO_TAIL, 11, prog("work") };
	uint32_t id;
	m.build_id_len = build_id("prog", m.build_id);
	OK(trace_put_process(out, &p, &id, &err));
	OK(trace_put_module(out, 0, 0, &m, &err));
	for (uint32_t i = SITE_STORE; i <= SITE_OTHER; i++)
		OK(trace_put_site(out, 0, i, &s[i], &err));
	OK(trace_put_ctx(out, 0, TO_TAIL, &tail, &err));
	OK(trace_put_ctx(out, 0, IN_SIGNAL, &signal, &err));
	run("mkdir -p pm && head -c 4096 /dev/zero >pm/pool");
	int fd = open(f.path, O_RDONLY);
	OK(trace_put_file(out, &f, fd, &id, &err));
	close(fd);
	free(m.path);
	free(f.path);
}

static int setup(void **state)
{
	uint64_t addr, len, off;
	char *dir;
	if (fixture_setup(state))
		return -1;
	run("cc -O2 -g -shared -fPIC $S/lib.c -o lib.so && cc -O2 -g $S/prog.c ./lib.so -o prog");
	dir = xasprintf("%s/t", fixture_dir);
	out = trace_create(dir, &err);
	assert_non_null(out);
	put_defs();
	mapped_part("prog", PROG, &addr, &len, &off);
	put(TRACE_MODULE_LOAD, 0, SITE_OTHER, 0, NULL, 0, ARGS(addr, len, off, 0));
	put(TRACE_MAP, TRACE_F_PM, SITE_OTHER, 0, NULL, 0, ARGS(PM, 4096, 0, 0, 3, 1));
	put(TRACE_STORE, TRACE_F_NT, SITE_STORE, TO_TAIL, "\x2a\1\0\0\0\0\0", 8, ARGS(PM + 64));
	put(TRACE_STORE, 0, SITE_STORE, TO_TAIL, "abcdefghijklmnop", 16, ARGS(PM + 128));
	put(TRACE_FLUSH, 0, SITE_CLWB, TO_TAIL, NULL, 0, ARGS(PM + 64));
	put(TRACE_FENCE, 0, SITE_SFENCE, IN_SIGNAL, NULL, 0, ARGS(0));
	put(TRACE_STORE, 0, SITE_STORE, TO_TAIL, "z", 1, ARGS(0x99)); /* in no file */
	put(TRACE_UNMAP, 0, SITE_OTHER, 0, NULL, 0, ARGS(PM, 4096));
	put(TRACE_EXIT, 0, SITE_OTHER, 0, NULL, 0, ARGS(3, 0));
	OK(trace_put_ended(out, 0, &err));
	OK(trace_finish(out, &err));
	free(dir);
	return 0;
}

/* Runs `holdfast dump` with the words of the line in the fixtures' folder: its output. */
static char text[1 << 16];
static int dump(const char *line)
{
	char copy[512], *words[16], *at = copy;
	int n = 0, keep[2] = { dup(1), dup(2) };
	assert_int_equal(chdir(fixture_dir), 0);
	snprintf(copy, sizeof copy, "dump %s", line);
	while ((words[n] = strsep(&at, " ")))
		n++;
	fflush(stdout);
	assert_non_null(freopen("out", "w", stdout));
	assert_non_null(freopen("errors", "w", stderr));
	int status = cli_find("dump")->run(n, words);
	fflush(stdout);
	fflush(stderr);
	dup2(keep[0], 1);
	dup2(keep[1], 2);
	close(keep[0]);
	close(keep[1]);
	FILE *f = fopen("out", "r");
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return status;
}

__attribute__((format(printf, 1, 2))) static void has(const char *fmt, ...)
{
	char wanted[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(wanted, sizeof wanted, fmt, ap);
	va_end(ap);
	if (!strstr(text, wanted))
		fail_msg("'%s' is not in:\n%s", wanted, text);
}

/* The line of the fixture that holds the mark. */
static unsigned at(const char *mark)
{
	return line_of("prog.c", mark);
}

static int lines(void)
{
	int n = 0;
	for (const char *c = text; *c; c++)
		n += *c == '\n';
	return n;
}

static void test_events(void **state)
{
	(void)state;
	assert_int_equal(dump("t --events"), EXIT_NOTHING);
	assert_int_equal(lines(), 9);
	has("map           pool+0x0 (0x10000) len=4096 ");
	has(" rw- flags=0x1 [pm]\n");
	has("       2  T1   store         pool+0x40 (0x10040), 8 bytes = 0x12a [nt]  at "
	    "set (prog.c:%u) [inlined] < insert (prog.c:%u) [inlined] < work (prog.c:%u) < "
	    "tail (prog.c:%u) [tail call] < main (prog.c:%u)\n",
	    at("MARK(set)"), at("CALL(set)"), at("CALL(insert)"), at("CALL(work)"),
	    at("MARK(main)"));
	has("pool+0x80 (0x10080), 16 bytes = 6162636465666768696a6b6c6d6e6f70  at set");
	has("flush clwb    pool+0x40 (0x10040)  at work (prog.c:%u) < tail ", at("MARK(work)"));
	has("fence sfence  at work (prog.c:%u) < <signal 11> < tail [interrupted] < main",
	    at("MARK(work)"));
	has("store         0x99, 1 byte = 0x7a  at set");
	has("unmap         pool+0x0 (0x10000) len=4096\n");
	has("exit          status=3 signal=none\n");
}

static void test_ranges(void **state)
{
	(void)state;
	assert_int_equal(dump("t --events 2..3"), EXIT_NOTHING);
	assert_int_equal(lines(), 2);
	has("  2  T1   store"); /* knows the modules and maps from before */
	has("pool+0x40");
	dump("t --events 5..");
	assert_int_equal(lines(), 4);
	dump("--events ..5 t");
	assert_int_equal(lines(), 6);
	dump("t --events 8");
	assert_int_equal(lines(), 1);
	assert_int_equal(dump("t --events 9"), EXIT_USAGE);
	assert_int_equal(lines(), 0);
}

static void test_summary(void **state)
{
	(void)state;
	assert_int_equal(dump("t"), EXIT_NOTHING);
	has("Command    ./prog 'it'\\''s'\n");
	has("Recorded   whole; 9 events\n");
	has("Process    1 thread, exit status 3\n");
	has("Events     store 3, flush 1, fence 1, map 1, unmap 1, exit 1, module-load 1\n");
	has("Stores     plain 2 (17 bytes), non-temporal 1 (8 bytes)\n");
	has("Flushes    clwb 1\n");
	has("Fences     sfence 1\n");
	has("pm/pool: 4096 bytes mapped, 2 stores (24 bytes)\n");
	has("elsewhere: 1 stores (1 bytes)\n");
	has("           3           25  set (prog.c:%u)\n", at("MARK(set)"));
	assert_int_equal(dump("t --summary --top 0"), EXIT_NOTHING);
	assert_null(strstr(text, "Top store sites"));
}

static void test_json(void **state)
{
	(void)state;
	assert_int_equal(dump("t --json"), EXIT_NOTHING);
	run("python3 -c 'import json; d = json.load(open(\"out\")); "
	    "assert d[\"command\"] == [\"./prog\", \"it\\x27s\"] and d[\"whole\"]; "
	    "assert d[\"stores\"][\"plain\"] == {\"count\": 2, \"bytes\": 17}; "
	    "assert d[\"sites\"][0][\"location\"][\"line\"] == %u; "
	    "assert d[\"processes\"][0][\"status\"] == 3'",
	    at("MARK(set)"));
	assert_int_equal(dump("t --json --events"), EXIT_NOTHING);
	run("python3 -c 'import json; d = [json.loads(l) for l in open(\"out\")]; "
	    "assert [e[\"num\"] for e in d] == list(range(9)); "
	    "e = d[2]; assert e[\"offset\"] == 64 and e[\"data\"] == \"2a01000000000000\"; "
	    "assert e[\"flags\"] == [\"nt\"] and e[\"args\"] == {\"addr\": \"0x10040\"}; "
	    "assert [f[\"function\"] for f in e[\"stack\"]] == "
	    "[\"set\", \"insert\", \"work\", \"tail\", \"main\"]; "
	    "assert e[\"stack\"][3][\"kind\"] == \"tail-call\"; "
	    "assert d[4][\"flavour\"] == \"clwb\"'");
}

static void test_image(void **state)
{
	(void)state;
	assert_int_equal(dump("t --image new"), EXIT_NOTHING);
	run("cp pm/pool want && printf '\\052\\001' | dd of=want seek=64 bs=1 conv=notrunc status=none &&"
	    "cp want early && printf abcdefghijklmnop | dd of=want seek=128 bs=1 conv=notrunc status=none &&"
	    "cmp want new/pool");
	assert_int_equal(dump("t --image before --at 3"), EXIT_NOTHING);
	run("cmp early before/pool");
	assert_int_equal(dump("t --image before --at 2"), EXIT_NOTHING);
	run("cmp pm/pool before/pool");
	assert_int_equal(dump("t --image before --at 10"), EXIT_USAGE);
	assert_int_equal(dump("t --image /dev/null/x"), EXIT_USAGE);
}

static void test_wrong_use(void **state)
{
	static const char *const bad[] = {
		"",           "t u",          "t --at 3",           "t --summary --events",
		"/no/folder", "t --events x", "t --image a --json", "pm",
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(dump(bad[i]), EXIT_USAGE);
		assert_int_equal(lines(), 0);
		run("test -s errors");
	}
}

static void test_cut(void **state)
{
	(void)state;
	run("mkdir -p cut && head -c -1 t/trace >cut/trace");
	assert_int_equal(dump("cut --events"), EXIT_NOTHING);
	run("grep -q 'not whole' errors");
	dump("cut");
	has("Recorded   cut short: ");
}

/* A program rebuilt since the recording gives no wrong lines, and we say so. */
static void test_stale(void **state)
{
	(void)state;
	run("mv prog old && cc -O1 -g $S/prog.c ./lib.so -o prog");
	assert_int_equal(dump("t --events 2"), EXIT_NOTHING);
	has("at prog+0x%llx < prog+0x%llx\n", (unsigned long long)symbol("old", "mark_set"),
	    (unsigned long long)symbol("old", "mark_main"));
	run("grep -q 'prog has changed since the recording' errors");
	dump("t --json");
	has("\"stale\":[\"%s/prog\"]", fixture_dir);
	run("mv old prog");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),  cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_summary), cmocka_unit_test(test_json),
		cmocka_unit_test(test_image),   cmocka_unit_test(test_wrong_use),
		cmocka_unit_test(test_cut),     cmocka_unit_test(test_stale),
	};
	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
