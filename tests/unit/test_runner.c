/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands on images: what they see, how they are judged, and that all they do is undone. */
#include "../others.h"
#include "runner/rig.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/time.h>

#define SPARSE (1ull << 30)
#define LONG_MS 60000 /* what takes as long as this waits in vain */
#define WAIT_S 300    /* at most, for what happens at once unless the machine is slow */

static void original_path(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){ 0 });
	if (runner_view(r) != subst()) {
		expect(obey(r, "cat pm/beside; ls pm other; pwd"), RUNNER_OK, 0, NULL);
		char *text = xasprintf("beside\nother:\n\npm:\nbeside\npool\n%s\n", dir);
		expect(obey(r, "cat pm/beside; ls other pm; pwd"), RUNNER_OK, 0, text);
		free(text);
		expect(obey(r, "head -c 4 pm/pool; wc -c < pm/pool"), RUNNER_OK, 0, "head65536\n");
	}
	put(r, 0, 5000, "some text");
	expect(obey(r, "tail -c +5001 $POOL | head -c 9"), RUNNER_OK, 0, "some text");
	put(r, 0, 5004, "_");
	expect(obey(r, "tail -c +5001 $POOL | head -c 5"), RUNNER_OK, 0, "some_");
	runner_free(r);
}

/* Whatever is done to the file and around it, the next run finds all as it should be. */
static void put_back(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool replaced;
	} damage[] = {
		{ "$ACT add $POOL", false },
		{ "echo x | dd of=$POOL bs=1 seek=30000 conv=notrunc status=none", false },
		{ "head -c 65536 /dev/urandom > $POOL", false },
		{ "truncate -s 100 $POOL", false },
		{ "truncate -s 10M $POOL; $ACT add $POOL", false },
		{ "rm $POOL", true },
		{ "rm $POOL; echo new > $POOL", true },
		{ "echo x > $POOL.new; mv $POOL.new $POOL", true },
		{ "mv $POOL $POOL.old", true },
		{ "ln $POOL $POOL.link; mkdir -p $POOL.d/e/f; echo x > $POOL.d/e/f/g", false },
		{ "chmod 000 $POOL", false },
	};
	struct runner *r = rig((struct runner_opts){ 0 });
	put(r, 0, 8192, "here");
	put(r, 0, 60000, "there");
	const char *look =
		"exec 2>&1; cksum < $POOL; ls -A $(dirname $POOL); stat -c %s,%a $POOL; ls pm";
	struct runner_result before = obey(r, look);
	assert_int_equal(before.verdict, RUNNER_OK);
	assert_non_null(strstr(before.output, "65536,6"));
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		struct runner_result result = obey(r, damage[i].text);
		if (result.verdict != RUNNER_OK || result.replaced != damage[i].replaced)
			fail_msg("%s: %s, replaced %d: %s", damage[i].text,
				 runner_verdict_name(result.verdict), result.replaced,
				 result.output);
		runner_result_free(&result);
		expect(obey(r, look), RUNNER_OK, 0, before.output);
	}
	runner_result_free(&before);
	runner_free(r);
}

/* The rest of the world around the file: folders where programs leave things. */
static void siblings(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){ 0 });
	if (runner_view(r) == subst()) {
		runner_free(r);
		skip();
	}
	const char *look =
		"exec 2>&1; ls -R pm other; cat pm/beside; ls -d /dev/shm/hf-* /tmp/hf-*";
	struct runner_result before = obey(r, look);
	expect(obey(r, "rm pm/beside; echo x > pm/new; mkdir other/d; echo y > other/d/e"),
	       RUNNER_OK, 0, "");
	expect(obey(r, look), RUNNER_FAILED, 2, before.output);
	expect(obey(r, "echo more >> pm/beside; touch /dev/shm/hf-1 /tmp/hf-1 ./hf-1"), RUNNER_OK,
	       0, "");
	expect(obey(r, look), RUNNER_FAILED, 2, before.output);
	runner_result_free(&before);
	runner_free(r);
}

static void sizes(void **state)
{
	(void)state;
	struct err err;
	struct runner *r = rig((struct runner_opts){ 0 });
	assert_int_equal(runner_size(r, 0, 0, SPARSE, &err), 0);
	put(r, 0, (SPARSE)-2, "z");
	expect(obey(r, "stat -c %s $POOL; tail -c 2 $POOL"), RUNNER_OK, 0, NULL);
	expect(obey(r, "test $(du -k $POOL | cut -f 1) -lt 1024"), RUNNER_OK, 0, "");
	/* Reading through a mapping allocates every page; they do not stay. */
	assert_int_equal(runner_size(r, 0, 0, SPARSE / 4, &err), 0);
	expect(obey(r, "$ACT sum $POOL; $ACT add $POOL"), RUNNER_OK, 0, NULL);
	expect(obey(r, "test $(du -k $POOL | cut -f 1) -lt 65536"), RUNNER_OK, 0, "");
	assert_int_equal(runner_size(r, 0, 0, SIZE, &err), 0);
	expect(obey(r, "stat -c %s $POOL; cp $POOL $POOL.2; stat -c %s $POOL.2"), RUNNER_OK, 0,
	       "65536\n65536\n");
	expect(obey(r, "stat -c %s $POOL"), RUNNER_OK, 0, "65536\n");
	assert_int_equal(runner_size(r, 0, 0, 2 * SIZE, &err), 0);
	expect(obey(r, "cp $POOL $POOL.2; stat -c %s $POOL.2; wc -c < $POOL"), RUNNER_OK, 0,
	       "131072\n131072\n");
	assert_int_equal(runner_size(r, 0, 0, SPARSE, &err), 0);
	expect(obey(r, "tail -c 2 $POOL | od -An -c"), RUNNER_OK, 0, "  \\0  \\0\n");
	assert_int_equal(runner_write(r, 0, 0, SPARSE, "x", 1, &err), -1);
	runner_free(r);
}

/* What takes time here is waiting: commands that end are not judged by such a limit. */
static void hangs(void)
{
	struct runner *r = rig((struct runner_opts){ .timeout_ms = 300 });
	double start = now();
	expect(obey(r, "spin"), RUNNER_HUNG, 0, "");
	assert_true(now() - start > 0.28);
	runner_free(r);
	r = rig((struct runner_opts){ .timeout_ms = 3000 }); /* it says something first */
	expect(obey(r, "echo begun; sleep 100"), RUNNER_HUNG, 0, "begun\n");
	runner_free(r);
}

static void verdicts(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){ .timeout_ms = LONG_MS,
						     .output_cap = 200000,
						     .expect_exit = "0,3-4",
						     .fail_regex = "^corrupt(ed)?$" });
	expect(obey(r, "0"), RUNNER_OK, 0, "");
	expect(obey(r, "3"), RUNNER_OK, 3, "");
	expect(obey(r, "5"), RUNNER_FAILED, 5, "");
	expect(obey(r, "echo corrupt"), RUNNER_FAILED, 0, "corrupt\n");
	expect(obey(r, "echo not corrupt >&2"), RUNNER_OK, 0, "not corrupt\n");
	expect(obey(r, "echo a; printf '\\000\\ncorrupted\\n' >&2; echo b"), RUNNER_FAILED, 0,
	       "a\n");
	expect(obey(r, "segv"), RUNNER_CRASHED, SIGSEGV, "");
	expect(obey(r, "abort"), RUNNER_CRASHED, SIGABRT, "");
	struct runner_result result = obey(r, "flood");
	assert_in_range(result.noutput, 60000, 64 << 10);
	expect(result, RUNNER_FLOODED, 0, NULL);
	result = obey(r, "seq 20000; echo end");
	assert_string_equal(result.output + result.noutput - 4, "end\n");
	assert_non_null(strstr(result.output, "1\n2\n3\n"));
	expect(result, RUNNER_OK, 0, NULL);
	runner_free(r);
	hangs();
}

/* A shell that tells of a signal; words and quotes without a shell. */
static void commands(void **state)
{
	(void)state;
	static const struct {
		const char *command;
		int status;
		const char *output;
	} list[] = {
		{ "printf '%s|' a 'b  c' \"d e\" f'g'", 0, "a|b  c|d e|fg|" },
		{ "printf '%s|' $HOME{pool} 'x'", 0, NULL },
		{ "exit 7", 7, "" },
		{ "X=5 sh -c 'exit $X'", 5, "" },
		{ "cd / && pwd", 0, "/\n" },
		{ "  test -s {pool}  ", 0, "" },
		{ "test -s {pool}; test -d {dir}", 0, "" },
		{ "echo {pool7} {x}", 0, "{pool7} {x}\n" },
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		if (view == subst() && !strstr(list[i].command, "{pool}"))
			continue;
		struct runner *r = rig((struct runner_opts){ .command = list[i].command });
		expect(result_of(r), list[i].status ? RUNNER_FAILED : RUNNER_OK, list[i].status,
		       list[i].output);
		runner_free(r);
	}
	struct runner *r = rig((struct runner_opts){ .command = "true {pool}; kill -SEGV $$" });
	expect(result_of(r), RUNNER_CRASHED, SIGSEGV, NULL);
	runner_free(r);
	r = rig((struct runner_opts){ .command = "true {pool}; exit 134" });
	expect(result_of(r), RUNNER_CRASHED, SIGABRT, "");
	runner_free(r);
}

static void bad_options(void **state)
{
	(void)state;
	const struct {
		struct runner_opts opts;
		int status;
		const char *why;
	} list[] = {
		{ { .command = "no-such-program x" }, EXIT_PROGRAM, "no-such-program: not found" },
		{ { .command = "no-such-program; true" }, EXIT_NOTHING, NULL },
		{ { .command = "no-such-program | true" },
		  EXIT_PROGRAM,
		  "no-such-program: not found" },
		{ { .command = "/etc/passwd" }, EXIT_PROGRAM, "/etc/passwd: cannot be executed" },
		{ { .command = "./none {pool}" }, EXIT_PROGRAM, "./none: not found" },
		{ { .command = " " }, EXIT_USAGE, "empty" },
		{ { .command = "true", .fail_regex = "(" }, EXIT_USAGE, "regular expression '('" },
		{ { .command = "true", .ready = "[" }, EXIT_USAGE, "regular expression '['" },
		{ { .command = "true", .expect_exit = "4-" }, EXIT_USAGE, "'4-'" },
		{ { .command = "true", .expect_exit = "256" }, EXIT_USAGE, "'256'" },
		{ { .command = "true", .client = "no-client" }, EXIT_PROGRAM, "no-client" },
		{ { .command = "true", .view = subst() }, EXIT_USAGE, "{pool}" },
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		struct runner_file file = { .path = pool };
		struct runner_opts o = list[i].opts;
		struct err err = { 0 };
		o.file = &file;
		o.nfile = 1;
		struct runner *r = runner_new(&o, &err);
		if (!list[i].why) {
			runner_free(r);
			continue;
		}
		assert_null(r);
		assert_int_equal(err.status, list[i].status);
		if (!strstr(err.text, list[i].why))
			fail_msg("expected '%s' in '%s'", list[i].why, err.text);
	}
}

static void strays(void **state)
{
	(void)state;
	char word[32], *text;
	struct runner *r = rig((struct runner_opts){ .timeout_ms = LONG_MS });
	snprintf(word, sizeof word, "stray-%d", getpid());
	text = xasprintf("$ACT daemon %s; echo done", word);
	double start = now();
	struct runner_result result = obey(r, text);
	assert_true((now() - start) * 1000 <
		    LONG_MS); /* nobody waits for the daemon, though it holds the pipe */
	assert_true(result.strays);
	assert_false(runs(word));
	expect(result, RUNNER_OK, 0, "done\n");
	result = obey(r, "echo none");
	assert_false(result.strays);
	expect(result, RUNNER_OK, 0, "none\n");
	free(text);
	text = xasprintf("(sleep 100; echo %s) & sleep 100 & exec $ACT obey /dev/null", word);
	result = obey(r, text);
	assert_true(result.strays);
	assert_false(runs(word));
	runner_result_free(&result);
	free(text);
	runner_free(r);
}

static void surroundings(void **state)
{
	(void)state;
	setenv("SOME_VARIABLE", "some value", 1);
	struct runner *r = rig((struct runner_opts){ .memory = 64 << 20 });
	expect(obey(r, "$ACT stdin; cat; echo $SOME_VARIABLE; ulimit -c"), RUNNER_OK, 0,
	       "some value\n0\n");
	if (runner_view(r) != preload())
		expect(obey(r, "env | grep -c -e LD_PRELOAD -e HOLDFAST_MAP"), RUNNER_FAILED, 1,
		       "0\n");
	expect(obey(r, "$ACT memory 1000000; $ACT memory 1000000000"), RUNNER_FAILED, 45, "");
	expect(obey(r, "grep -h -e SigBlk -e SigIgn /proc/self/status | sort -u | cut -f 2"),
	       RUNNER_OK, 0, "0000000000000000\n0000000000000000\n");
	expect(obey(r, "ls /proc/self/fd | wc -l"), RUNNER_OK, 0, "4\n");
	runner_free(r);
}

static void two_files(void **state)
{
	(void)state;
	char *gone = xasprintf("%s/pm/a, b:c\\d/e/third", dir);
	struct runner_file file[] = { { .path = pool }, { .path = other }, { .path = gone } };
	struct err err;
	struct runner *r = rig((struct runner_opts){
		.file = file, .nfile = 3, .command = "cat {pool} {pool1} {pool2}; ls {pool1}" });
	char expected[200];
	bool moved = runner_view(r) == subst();
	assert_int_equal(runner_size(r, 0, 0, 2, &err), 0);
	assert_int_equal(runner_size(r, 0, 1, 2, &err), 0);
	assert_int_equal(runner_size(r, 0, 2, 2, &err), 0);
	assert_int_equal(runner_write(r, 0, 0, 0, "1\n", 2, &err), 0);
	assert_int_equal(runner_write(r, 0, 1, 0, "2\n", 2, &err), 0);
	assert_int_equal(runner_write(r, 0, 2, 0, "3\n", 2, &err), 0);
	snprintf(expected, sizeof expected, "1\n2\n3\n%s\n", other);
	expect(result_of(r), RUNNER_OK, 0, moved ? NULL : expected);
	expect(result_of(r), RUNNER_OK, 0, moved ? NULL : expected);
	shell("mkdir %s/out", dir);
	char *out = xasprintf("%s/out", dir);
	assert_int_equal(runner_export(r, 0, out, &err), 0);
	shell("cd %s/out && test \"$(cat pm/pool other/pool 'pm/a, b:c\\d/e/third')\" = '1\n2\n3' && "
	      "cd .. && rm -r out",
	      dir);
	runner_free(r);
	free(out);
	free(gone);
}

static void names(void **state)
{
	(void)state;
	struct err err;
	char *moved = xasprintf("%s/other/moved", dir);
	struct runner_file file = { .path = pool };
	struct runner_opts o = { .command = "true {pool}; ls pm other; cat other/moved",
				 .file = &file,
				 .nfile = 1,
				 .view = view };
	struct runner *r = runner_new(&o, &err);
	assert_non_null(r);
	if (runner_view(r) == subst()) {
		runner_free(r);
		free(moved);
		skip();
	}
	/* Absent at first, whatever is there in reality. */
	expect(result_of(r), RUNNER_FAILED, 1, NULL);
	struct runner_result result = result_of(r);
	assert_non_null(strstr(result.output, "other:\n\npm:\nbeside\n"));
	assert_null(strstr(result.output, "pool"));
	runner_result_free(&result);
	assert_int_equal(runner_size(r, 0, 0, 5, &err), 0);
	assert_int_equal(runner_write(r, 0, 0, 0, "text\n", 5, &err), 0);
	assert_int_equal(runner_name(r, 0, 0, moved, &err), 0);
	expect(result_of(r), RUNNER_OK, 0, "other:\nmoved\n\npm:\nbeside\ntext\n");
	assert_int_equal(runner_name(r, 0, 0, pool, &err), 0);
	result = result_of(r);
	assert_non_null(strstr(result.output, "other:\n\npm:\nbeside\npool\n"));
	runner_result_free(&result);
	assert_int_equal(runner_name(r, 0, 0, NULL, &err), 0);
	result = result_of(r);
	assert_non_null(strstr(result.output, "other:\n\npm:\nbeside\n"));
	assert_null(strstr(result.output, "pool"));
	runner_result_free(&result);
	runner_free(r);
	free(moved);
}

/* Many runs on several cells: every result comes once, and is that of its image. */
static void cells(void **state)
{
	(void)state;
	enum { RUNS = 60 };
	bool seen[RUNS] = { false };
	struct runner *r = rig((struct runner_opts){ .cells = 3, .expect_exit = "0-255" });
	struct runner_result result;
	struct err err;
	uint64_t tag;
	unsigned cell;
	assert_int_equal(runner_cells(r), 3);
	assert_int_equal(runner_wait(r, true, &tag, &cell, &result, &err), 0);
	for (unsigned i = 0; i < RUNS; i++) {
		char text[16];
		int idle = runner_idle(r, &err);
		assert_true(idle >= 0);
		snprintf(text, sizeof text, "%u", i);
		put(r, (unsigned)idle, 0, text);
		assert_int_equal(runner_start(r, (unsigned)idle, i, &err), 0);
		assert_int_equal(runner_start(r, (unsigned)idle, i, &err), -1);
	}
	for (unsigned i = 0; i < RUNS; i++) {
		assert_int_equal(runner_wait(r, true, &tag, &cell, &result, &err), 1);
		assert_int_equal(result.status, tag);
		assert_false(seen[tag]);
		seen[tag] = true;
		runner_result_free(&result);
	}
	assert_int_equal(runner_wait(r, false, &tag, &cell, &result, &err), 0);
	runner_free(r);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void interrupts(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){ 0 });
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART }, old;
	struct itimerval soon = { .it_value.tv_usec = 50000 };
	struct runner_result result;
	struct err err;
	uint64_t tag;
	unsigned cell;
	sigaction(SIGALRM, &sa, &old);
	put(r, 0, 0, "sleep 100");
	assert_int_equal(runner_start(r, 0, 1, &err), 0);
	assert_int_equal(runner_wait(r, false, &tag, &cell, &result, &err), 0);
	double start = now();
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(runner_wait(r, true, &tag, &cell, &result, &err), -1);
	runner_free(r);
	assert_true(now() - start < 100);
	sigaction(SIGALRM, &old, NULL);
}

/* With the fork server all is the same. */
static void fork_server(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){
		.fast = true, .timeout_ms = 3000, .output_cap = 100000, .expect_exit = "0,3" });
	char text[32];
	expect(obey(r, "env | grep -c -e FORKSERVER"), RUNNER_FAILED, 1, "0\n");
	if (runner_view(r) != preload())
		expect(obey(r, "env | grep -c -e PRELOAD"), RUNNER_FAILED, 1, "0\n");
	assert_true(runner_fast(r));
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof text, "%d", i % 4);
		expect(obey(r, text), i % 4 == 1 || i % 4 == 2 ? RUNNER_FAILED : RUNNER_OK, i % 4,
		       "");
	}
	expect(obey(r, "segv"), RUNNER_CRASHED, SIGSEGV, "");
	expect(obey(r, "echo some; sleep 100"), RUNNER_HUNG, 0, "some\n");
	expect(obey(r, "echo more"), RUNNER_OK, 0, "more\n");
	expect(obey(r, "flood"), RUNNER_FLOODED, 0, NULL);
	expect(obey(r, "rm $POOL; touch $POOL.x"), RUNNER_OK, 0, "");
	expect(obey(r, "ls $POOL*"), RUNNER_OK, 0, NULL);
	struct runner_result result = obey(r, "$ACT daemon x");
	assert_true(result.strays);
	expect(result, RUNNER_OK, 0, "");
	result = obey(r, "3");
	assert_false(result.strays);
	expect(result, RUNNER_OK, 3, "");
	assert_true(runner_fast(r));
	if (!(runner_view(r)->flags & SANDBOX_PIDS)) { /* it would kill the cell as well */
		runner_free(r);
		return;
	}
	/* One that takes its server down is run without. */
	expect(obey(r, "echo here; kill -9 $PPID; sleep 0.05"), RUNNER_OK, 0, NULL);
	runner_free(r);
}

static void no_fork_server(void **state)
{
	(void)state;
	shell("printf 'int main(void) { return 5; }' | cc -static -x c - -o fixed");
	struct runner *r = rig((struct runner_opts){ .fast = true, .command = "./fixed {pool}" });
	expect(result_of(r), RUNNER_FAILED, 5, "");
	assert_false(runner_fast(r));
	expect(result_of(r), RUNNER_FAILED, 5, "");
	runner_free(r);
	shell("rm fixed");
}

/* Programs that the library does not get into: at once, or when the command runs them. */
static void refused(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct runner_file file = { .path = pool };
	shell("printf 'int main(void) { return 5; }' | cc -static -x c - -o fixed");
	struct runner_opts o = {
		.command = "./fixed {pool}", .file = &file, .nfile = 1, .view = view
	};
	assert_null(runner_new(&o, &err));
	assert_non_null(strstr(err.text, "fixed is statically linked"));
	assert_non_null(strstr(err.text, "{pool}"));
	struct runner *r = rig((struct runner_opts){ 0 });
	struct runner_result result = obey(r, "echo $POOL; ./fixed $POOL");
	assert_int_equal(result.verdict, RUNNER_BROKEN);
	assert_non_null(strstr(result.why, "fixed is statically linked"));
	runner_result_free(&result);
	expect(obey(r, "echo $POOL > /dev/null; ls pm"), RUNNER_OK, 0, "beside\npool\n");
	runner_free(r);
	shell("rm fixed");
}

static void same_address(void **state)
{
	(void)state;
	struct runner_file file = { .path = pool, .addr = 0x4a00000 };
	char *command = xasprintf("%s where {pool}", act);
	for (int fast = 0; fast < 2; fast++) {
		struct runner *r = rig((struct runner_opts){
			.file = &file, .nfile = 1, .command = command, .fast = fast });
		expect(result_of(r), RUNNER_OK, 0, "0x4a00000\n");
		expect(result_of(r), RUNNER_OK, 0, "0x4a00000\n");
		runner_free(r);
	}
	free(command);
	struct runner *r = rig((struct runner_opts){
		.file = &file,
		.nfile = 1,
		.command = "echo $PMEM_MMAP_HINT {pool} > /dev/null; echo $PMEM_MMAP_HINT" });
	expect(result_of(r), RUNNER_OK, 0, "0x4a00000\n");
	runner_free(r);
}

static void server(void **state)
{
	(void)state;
	char *command = xasprintf("%s serve 4711 {pool}", act),
	     *client = xasprintf("%s client 4711 fine", act);
	struct runner_opts o = {
		.command = command, .client = client, .cells = 2, .timeout_ms = LONG_MS
	};
	char *halt = xasprintf("%s halt 4711", act);
	for (int i = 0; i < 3; i++) {
		o.port = i ? 0 : 4711;
		o.ready = i ? "^server is up$" : NULL;
		o.stop = i == 2 ? halt : "INT";
		struct runner *r = rig(o);
		struct err err;
		struct runner_result result;
		uint64_t tag;
		unsigned cell, n = runner_cells(r);
		double start = now();
		for (unsigned c = 0; c < n; c++) {
			put(r, c, 0, c ? "wrong" : "fine");
			assert_int_equal(runner_start(r, c, c, &err), 0);
		}
		for (unsigned c = 0; c < n; c++) {
			assert_int_equal(runner_wait(r, true, &tag, &cell, &result, &err), 1);
			expect(result, tag ? RUNNER_FAILED : RUNNER_OK, (int)tag,
			       tag ? "server is up\nclient got 'wrong'\n"
				   : "server is up\nclient got 'fine'\n");
		}
		assert_true((now() - start) * 1000 < LONG_MS); /* it stops when it is told to */
		expect(obey(r, "segv"), RUNNER_CRASHED, SIGSEGV, "");
		expect(obey(r, "die"), RUNNER_CRASHED, SIGSEGV, NULL);
		expect(obey(r, "fine"), RUNNER_OK, 0, NULL);
		runner_free(r);
	}
	free(halt);
	free(client);
	free(command);
}

static void debugging(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct runner *r = rig((struct runner_opts){ .expect_exit = "0,9" });
	struct runner_result result;
	put(r, 0, 0, "segv");
	char *trace = runner_backtrace(r, 0, &err);
	if (!access("/usr/bin/gdb", X_OK)) {
		assert_non_null(trace);
		assert_non_null(strstr(trace, "received signal SIGSEGV"));
		assert_non_null(strstr(trace, "in obey (self="));
	}
	free(trace);
	put(r, 0, 0, "rm $POOL; exit 3");
	assert_int_equal(runner_interactive(r, 0, false, NULL, &result, &err), 0);
	assert_true(result.replaced);
	expect(result, RUNNER_FAILED, 3, NULL);
	assert_int_equal(runner_interactive(r, 0, false, "test -e {pool} && exit 9", &result, &err),
			 0);
	expect(result, RUNNER_OK, 9, NULL);
	assert_int_equal(runner_interactive(r, 0, false, "no-such-program", &result, &err), -1);
	put(r, 0, 0, "abort");
	assert_int_equal(runner_interactive(r, 0, false, NULL, &result, &err), 0);
	expect(result, RUNNER_CRASHED, SIGABRT, NULL);
	expect(obey(r, "echo still here"), RUNNER_OK, 0, "still here\n");
	runner_free(r);
}

/* Without gdb there is no backtrace, and that is no error. */
static void no_debugger(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct runner *r = rig((struct runner_opts){ 0 });
	char *old = xstrdup(getenv("PATH"));
	put(r, 0, 0, "segv");
	setenv("PATH", dir, 1);
	assert_null(runner_backtrace(r, 0, &err));
	assert_int_equal(err.status, 0);
	setenv("PATH", old, 1);
	free(old);
	runner_free(r);
}

/* What was in the folder for copies before and is still there. */
static unsigned copies(void)
{
	unsigned n = 0;
	DIR *d = opendir("/dev/shm");
	for (struct dirent *e; d && (e = readdir(d));)
		n += !strncmp(e->d_name, "holdfast-", 9);
	if (d)
		closedir(d);
	return n;
}

static void run_until_killed(const char *word, int tell)
{
	struct runner *r = rig((struct runner_opts){ .cells = 2, .timeout_ms = 100000 });
	struct err err;
	char *text = xasprintf("$ACT daemon %s; exec sleep 100", word);
	for (unsigned c = 0; c < 2; c++) {
		put(r, c, 0, text);
		runner_start(r, c, 0, &err);
	}
	while (!runs(word))
		usleep(1000);
	if (write(tell, "x", 1) == 1)
		pause();
	_exit(1);
}

/* One look at /proc may miss a process that forks meanwhile, so none must be there several times in a row. */
static bool are_gone(const char *word, unsigned copies_before)
{
	double end = now() + WAIT_S;
	for (unsigned times = 0; now() < end; usleep(1000)) {
		times = runs(word) || copies() > copies_before ? 0 : times + 1;
		if (times == 10)
			return true;
	}
	return false;
}

static void killed(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		unsigned before = copies();
		char word[32], byte;
		int fds[2];
		const struct sandbox_view *old = view;
		view = round == 2 ? preload() : round ? subst() : view;
		snprintf(word, sizeof word, "killed-%d-%d", getpid(), round);
		assert_int_equal(pipe(fds), 0);
		pid_t pid = fork();
		if (pid == 0)
			run_until_killed(word, fds[1]);
		view = old;
		close(fds[1]);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		close(fds[0]);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(are_gone(word, before));
	}
	shell("! grep -q holdfast-runner /proc/self/mountinfo");
}

static void own_mounts(void)
{
	struct sandbox_space space = sandbox_space_of(sandbox_view_named("mount"), false, false);
	struct err err = { 0 };
	if (sandbox_space_enter(&space, &err))
		fail_msg("%s", err.text);
}

/* Where an overlay is refused, here because there are too many already. */
static void mount_over_file(void **state)
{
	(void)state;
	own_mounts();
	shell("mount -t tmpfs x /mnt");
	shell("cd /mnt && mkdir 1 2 3 4 && for i in 1 3; do mount -t overlay x -o "
	      "lowerdir=%s/pm,upperdir=$i,workdir=$((i + 1)) %s/pm || exit 1; done",
	      dir, dir);
	struct runner *r = rig((struct runner_opts){ 0 });
	expect(obey(r, "cat pm/beside; head -c 3 pm/pool"), RUNNER_OK, 0, "beside\ncat");
	expect(obey(r, "$ACT add pm/pool"), RUNNER_OK, 0, NULL);
	expect(obey(r, "head -c 4 pm/pool"), RUNNER_OK, 0, "head");
	runner_free(r);
}

/* A small /dev/shm of its own, and images there. */
static void no_room(void **state)
{
	(void)state;
	static const char data[2 << 20] = { 1 };
	struct err err = { 0 };
	own_mounts();
	shell("mount -t tmpfs -o size=1M x /dev/shm");
	struct runner *r = rig((struct runner_opts){ .view = subst() });
	assert_int_equal(runner_size(r, 0, 0, sizeof data, &err), 0);
	/* It is the tmpfs that is at fault, not the image. */
	struct runner_result result = obey(r, "$ACT add $POOL");
	assert_int_equal(result.verdict, RUNNER_BROKEN);
	assert_non_null(strstr(result.why, "full"));
	runner_result_free(&result);
	expect(obey(r, "echo x > $POOL.x"), RUNNER_OK, 0, "");
	assert_int_equal(runner_write(r, 0, 0, 0, data, sizeof data, &err), -1);
	assert_int_equal(err.status, EXIT_PROGRAM);
	assert_non_null(strstr(err.text, "no room"));
	runner_free(r);
}

static int copies_only(void **state)
{
	(void)state;
	view = subst();
	return 0;
}

static int preloaded(void **state)
{
	(void)state;
	view = preload();
	return 0;
}

static int best_view(void **state)
{
	(void)state;
	view = NULL;
	return 0;
}

static void which_view(void **state)
{
	(void)state;
	struct runner *r = rig((struct runner_opts){ 0 });
	size_t i = 0;
	while (sandbox_view_works(sandbox_view_at(i), NULL))
		i++;
	assert_ptr_equal(runner_view(r), view ? view : sandbox_view_at(i));
	runner_free(r);
}

#define PRELOAD(f)                                                                                 \
	{                                                                                          \
#f "_preloaded", f, preloaded, best_view, NULL                                     \
	}
#define SUBST(f)                                                                                   \
	{                                                                                          \
#f "_of_copy", f, copies_only, best_view, NULL                                     \
	}

/* In a process of their own, for they change what cannot be changed back. */
static void apart(uid_t uid, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
		  CMFixtureFunction teardown)
{
	char log[] = "/tmp/holdfast-runner-log-XXXXXX";
	if (geteuid() != 0 || !others_reach(uid))
		skip();
	int fd = mkstemp(log), status;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		status = !uid || (!setgroups(0, NULL) && !setgid(uid) && !setuid(uid))
				 ? _cmocka_run_group_tests("apart", tests, n, setup, teardown)
				 : 1;
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	if (status)
		shell("sed 's/^/# /' %s", log);
	unlink(log);
	assert_int_equal(status, 0);
}

/* In another folder. */
static int again_setup(void **state)
{
	strcpy(strrchr(dir, '-'), "-XXXXXX");
	return rig_setup(state);
}

static void ordinary_user(void **state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_view),
		cmocka_unit_test(original_path),
		cmocka_unit_test(put_back),
		cmocka_unit_test(siblings),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(strays),
		cmocka_unit_test(two_files),
		cmocka_unit_test(names),
		cmocka_unit_test(fork_server),
		cmocka_unit_test(same_address),
		cmocka_unit_test(server),
		cmocka_unit_test(debugging),
		cmocka_unit_test(killed),
		PRELOAD(original_path),
		PRELOAD(put_back),
		PRELOAD(siblings),
		PRELOAD(two_files),
		PRELOAD(names),
		PRELOAD(fork_server),
		PRELOAD(debugging),
	};
	(void)state;
	apart(65534, tests, sizeof tests / sizeof *tests, again_setup, rig_teardown);
}

static void other_mounts(void **state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mount_over_file),
		cmocka_unit_test(no_room),
	};
	(void)state;
	if (sandbox_view_works(sandbox_view_named("mount"), NULL))
		skip(); /* needs namespaces */
	apart(0, tests, sizeof tests / sizeof *tests, NULL, NULL);
}

static int preloaded_group(void)
{
	const struct CMUnitTest tests[] = {
		PRELOAD(which_view), PRELOAD(original_path), PRELOAD(put_back),
		PRELOAD(siblings),   PRELOAD(sizes),         PRELOAD(verdicts),
		PRELOAD(commands),   PRELOAD(strays),        PRELOAD(surroundings),
		PRELOAD(two_files),  PRELOAD(names),         PRELOAD(cells),
		PRELOAD(interrupts), PRELOAD(fork_server),   PRELOAD(same_address),
		PRELOAD(server),     PRELOAD(debugging),     PRELOAD(refused),
	};
	return cmocka_run_group_tests_name("runner, preloaded", tests, again_setup, rig_teardown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_view),
		cmocka_unit_test(original_path),
		cmocka_unit_test(put_back),
		cmocka_unit_test(siblings),
		cmocka_unit_test(sizes),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(commands),
		cmocka_unit_test(bad_options),
		cmocka_unit_test(strays),
		cmocka_unit_test(surroundings),
		cmocka_unit_test(two_files),
		cmocka_unit_test(names),
		cmocka_unit_test(cells),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(fork_server),
		cmocka_unit_test(no_fork_server),
		cmocka_unit_test(same_address),
		cmocka_unit_test(server),
		cmocka_unit_test(debugging),
		cmocka_unit_test(no_debugger),
		cmocka_unit_test(killed),
		cmocka_unit_test(other_mounts),
		SUBST(which_view),
		SUBST(original_path),
		SUBST(put_back),
		SUBST(verdicts),
		SUBST(strays),
		SUBST(surroundings),
		SUBST(two_files),
		SUBST(fork_server),
		SUBST(same_address),
		SUBST(server),
		SUBST(debugging),
		cmocka_unit_test(ordinary_user),
	};
	int failed = cmocka_run_group_tests_name("runner", tests, rig_setup, rig_teardown);
	return failed + preloaded_group();
}
