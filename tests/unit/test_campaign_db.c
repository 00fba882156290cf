/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaigns: what is put is there, whatever happens to the process, the file and the folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "campaign/campaign.h"

static char root[] = "/tmp/holdfast-campaign-XXXXXX";
static char dir[64]; /* a fresh folder for each test */
static struct err err;

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) && !chdir(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static int fresh_folder(void **state)
{
	static unsigned next;
	(void)state;
	memset(&err, 0, sizeof err);
	snprintf(dir, sizeof dir, "%s/c%u ?#%%", root, next++);
	return mkdir(dir, 0777);
}

static struct campaign_db *opened(enum campaign_db_mode mode)
{
	struct campaign_db *s = campaign_db_open(dir, mode, &err);
	if (!s)
		fail_msg("cannot open: %s", err.text);
	return s;
}

static void closed(struct campaign_db *s)
{
	assert_int_equal(campaign_db_close(s, &err), 0);
}

static void refused(enum campaign_db_mode mode, const char *part)
{
	memset(&err, 0, sizeof err);
	assert_null(campaign_db_open(dir, mode, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static const char *file(const char *name)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

/* The i-th verdict of a sequence that tests can work out again. */
static struct campaign_db_verdict verdict(uint64_t i)
{
	return (struct campaign_db_verdict){
		.hash = i * 0x9e3779b97f4a7c15ull,
		.verdict = i % 5,
		.status = (int32_t)(i % 7) - 3,
		.event = i << 20,
		.strategy = i % 2 ? "ahead" : NULL,
		.output = i % 5 ? "line 1\nline 2\xff\n" : NULL,
		.spent = (double)i / 8,
	};
}

static void put(struct campaign_db *s, uint64_t i)
{
	struct campaign_db_verdict v = verdict(i);
	if (campaign_db_put_verdict(s, &v, &err))
		fail_msg("cannot put: %s", err.text);
}

static void expect_text(const char *got, const char *want)
{
	assert_int_equal(!got, !want);
	if (want)
		assert_string_equal(got, want);
}

static void check_verdict(void *arg, const struct campaign_db_verdict *got)
{
	uint64_t *n = arg;
	struct campaign_db_verdict want = verdict((*n)++);
	assert_int_equal(got->hash, want.hash);
	assert_int_equal(got->verdict, want.verdict);
	assert_int_equal(got->status, want.status);
	assert_int_equal(got->event, want.event);
	assert_true(got->spent == want.spent);
	expect_text(got->strategy, want.strategy);
	expect_text(got->output, want.output);
}

/* How many verdicts there are: the first so many of the sequence, in order. */
static uint64_t verdicts(struct campaign_db *s)
{
	uint64_t n = 0;
	if (campaign_db_each_verdict(s, check_verdict, &n, &err))
		fail_msg("cannot read: %s", err.text);
	return n;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- rows --- */

static void test_many_verdicts(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	double start = now();
	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		put(s, i);
	print_message("# %.1f us a put\n", (now() - start) * 10);
	assert_int_equal(verdicts(s), 100000);
	closed(s);
	start = now();
	s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(verdicts(s), 100000);
	print_message("# %.3f s to read 100,000\n", now() - start);
	put(s, 100000);
	closed(s);
	s = opened(CAMPAIGN_DB_READ);
	assert_int_equal(verdicts(s), 100001);
	closed(s);
}

static void test_settings(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	(void)state;
	assert_null(campaign_db_get(s, "recover"));
	assert_int_equal(campaign_db_set(s, "recover", "./recover 'a b'", &err), 0);
	assert_int_equal(campaign_db_set(s, "done", "1", &err), 0);
	assert_int_equal(campaign_db_set(s, "done", "2", &err), 0);
	assert_int_equal(campaign_db_set(s, "empty", "", &err), 0);
	assert_string_equal(campaign_db_get(s, "recover"), "./recover 'a b'");
	assert_string_equal(campaign_db_get(s, "done"), "2");
	assert_string_equal(campaign_db_get(s, "empty"), "");
	assert_null(campaign_db_get(s, "other"));
	closed(s);
	s = opened(CAMPAIGN_DB_RESUME); /* begun, though without results */
	assert_string_equal(campaign_db_get(s, "done"), "2");
	closed(s);
	s = opened(CAMPAIGN_DB_NEW); /* settings are no results */
	assert_null(campaign_db_get(s, "done"));
	closed(s);
}

static void collect(void *arg, const struct campaign_db_finding *f)
{
	buf_printf(arg, "%s=%s/%s ", f->id, f->finding, f->witness ? f->witness : "-");
}

static void expect_findings(struct campaign_db *s, const char *want)
{
	struct buf got = { 0 };
	assert_int_equal(campaign_db_each_finding(s, collect, &got, &err), 0);
	buf_add(&got, "", 1);
	assert_string_equal(got.p, want);
	buf_free(&got);
}

static void put_finding(struct campaign_db *s, const char *id, const char *finding,
			const char *witness)
{
	struct campaign_db_finding f = { id, finding, witness };
	assert_int_equal(campaign_db_put_finding(s, &f, &err), 0);
}

static void test_findings(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	(void)state;
	put_finding(s, "b", "{1}", "w1");
	put_finding(s, "a", "{2}", NULL);
	expect_findings(s, "b={1}/w1 a={2}/- ");
	put_finding(s, "b", "{3}", "w3");
	expect_findings(s, "b={3}/w3 a={2}/- ");
	closed(s);
	refused(CAMPAIGN_DB_NEW, "--resume goes on, --fresh starts anew");
	s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(campaign_db_clear_findings(s, &err), 0);
	expect_findings(s, "");
	put_finding(s, "c", "{4}", "w4");
	expect_findings(s, "c={4}/w4 ");
	closed(s);
}

static void test_transactions(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	(void)state;
	assert_int_equal(campaign_db_begin(s, &err), 0);
	put(s, 0);
	assert_int_equal(campaign_db_begin(s, &err), 0);
	put(s, 1);
	assert_int_equal(campaign_db_commit(s, &err), 0);
	struct campaign_db *reader = opened(CAMPAIGN_DB_READ);
	assert_int_equal(verdicts(reader), 0); /* the last commit counts */
	assert_int_equal(campaign_db_commit(s, &err), 0);
	assert_int_equal(verdicts(reader), 2);
	closed(reader);
	assert_int_equal(campaign_db_commit(s, &err), -1);
	assert_int_equal(campaign_db_begin(s, &err), 0);
	put(s, 2);
	closed(s);
	s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(verdicts(s), 2); /* what was not committed is undone */
	closed(s);
	assert_int_equal(campaign_db_close(NULL, &err), 0);
}

/* --- modes --- */

static void test_modes(void **state)
{
	(void)state;
	refused(CAMPAIGN_DB_READ, "holdfast crash");
	refused(CAMPAIGN_DB_RESUME, "no campaign to go on with");
	struct campaign_db *s = opened(CAMPAIGN_DB_FRESH);
	closed(s);
	s = opened(CAMPAIGN_DB_NEW);
	put(s, 0);
	closed(s);
	refused(CAMPAIGN_DB_NEW, "--resume goes on, --fresh starts anew");
	s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(verdicts(s), 1);
	assert_int_equal(campaign_db_set(s, "k", "v", &err), 0);
	closed(s);
	s = opened(CAMPAIGN_DB_FRESH);
	assert_int_equal(verdicts(s), 0);
	assert_null(campaign_db_get(s, "k"));
	closed(s);
	s = opened(CAMPAIGN_DB_NEW);
	closed(s);
}

/* A reader may have the campaign open while another throws it away. */
static void test_fresh_beside_a_reader(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	(void)state;
	put(s, 0);
	closed(s);
	struct campaign_db *reader = opened(CAMPAIGN_DB_READ);
	assert_int_equal(verdicts(reader), 1);
	s = opened(CAMPAIGN_DB_FRESH);
	assert_int_equal(verdicts(reader), 0);
	put(s, 0);
	put(s, 1);
	assert_int_equal(verdicts(reader), 2);
	closed(reader);
	closed(s);
}

/* --- other processes --- */

/* Runs `work` in a child, which never returns to the tests. */
static pid_t child(void (*work)(int), int fd)
{
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that failed leaves nothing */
		work(fd);
		_exit(0);
	}
	return pid;
}

/* Puts for ever, and says after each that it is done. */
static void put_for_ever(int fd)
{
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	for (uint64_t i = 0;; i++) {
		struct campaign_db_verdict v = verdict(i);
		if (!s || campaign_db_put_verdict(s, &v, &err) ||
		    write(fd, &i, sizeof i) != sizeof i)
			_exit(1);
	}
	_exit(1);
}

static void kill_in_the_middle(unsigned puts)
{
	int pipes[2];
	uint64_t told = 0;
	assert_int_equal(pipe(pipes), 0);
	pid_t pid = child(put_for_ever, pipes[1]);
	close(pipes[1]);
	for (unsigned i = 0; i < puts; i++)
		assert_int_equal(read(pipes[0], &told, sizeof told), sizeof told);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(pipes[0], &told, sizeof told) == sizeof told)
		;
	close(pipes[0]);
	struct campaign_db *reader = opened(CAMPAIGN_DB_READ);
	uint64_t n = verdicts(reader);
	closed(reader);
	/* All that it had been told of, and at most the one in flight. */
	assert_true(n == told + 1 || n == told + 2);
	struct campaign_db *s = opened(CAMPAIGN_DB_RESUME); /* its lock is gone with it */
	assert_int_equal(verdicts(s), n);
	put(s, n);
	closed(s);
}

static void test_killed(void **state)
{
	static const unsigned puts[] = { 1, 10, 500, 3000, 10000 };
	for (size_t i = 0; i < sizeof puts / sizeof puts[0]; i++) {
		kill_in_the_middle(puts[i]);
		fresh_folder(state);
	}
}

static void begin_and_wait(int fd)
{
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_FRESH, &err);
	struct campaign_db_verdict v = verdict(0);
	if (!s || campaign_db_put_verdict(s, &v, &err) || campaign_db_begin(s, &err) ||
	    campaign_db_clear_findings(s, &err) || write(fd, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t writer_elsewhere(void)
{
	int pipes[2];
	char told;
	assert_int_equal(pipe(pipes), 0);
	pid_t pid = child(begin_and_wait, pipes[1]);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &told, 1), 1);
	close(pipes[0]);
	return pid;
}

static void test_two_writers(void **state)
{
	char part[64];
	pid_t pid = writer_elsewhere();
	(void)state;
	snprintf(part, sizeof part, "process %d", (int)pid);
	refused(CAMPAIGN_DB_NEW, part);
	refused(CAMPAIGN_DB_RESUME, part);
	refused(CAMPAIGN_DB_FRESH, part);
	assert_int_equal(campaign_db_writer(dir), pid);
	struct campaign_db *reader =
		opened(CAMPAIGN_DB_READ); /* even in the middle of its transaction */
	assert_int_equal(verdicts(reader), 1);
	closed(reader);
	assert_int_equal(campaign_db_writer(dir), pid); /* the reader took nothing away */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(campaign_db_writer(dir), 0);
	struct campaign_db *s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(verdicts(s), 1);
	closed(s);
}

static void expect_refused(int fd)
{
	(void)fd;
	_exit(campaign_db_open(dir, CAMPAIGN_DB_RESUME, &err) ||
	      !strstr(err.text, "another campaign runs"));
}

/* Asking who writes, and trying to write twice, do not make the writer lose its lock. */
static void test_twice_in_one_process(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	int status;
	(void)state;
	put(s, 0);
	assert_int_equal(campaign_db_writer(dir), 0); /* itself does not count */
	assert_null(campaign_db_open(dir, CAMPAIGN_DB_RESUME, &err));
	assert_non_null(strstr(err.text, "open for writing already"));
	pid_t pid = child(expect_refused, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	closed(s);
	s = opened(CAMPAIGN_DB_RESUME);
	closed(s);
}

static int orphan_end; /* closed when the orphan may go */

/* A child of the writer's that outlives it does not hold the lock. */
static void fork_and_go(int fd)
{
	close(orphan_end);
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	struct campaign_db_verdict v = verdict(0);

	if (!s || campaign_db_put_verdict(s, &v, &err))
		_exit(1);
	if (!fork()) {
		char any;
		_exit(read(fd, &any, 1) > 0);
	}
	kill(getpid(), SIGKILL);
}

static void test_orphans_hold_nothing(void **state)
{
	int pipes[2];
	(void)state;
	assert_int_equal(pipe(pipes), 0);
	orphan_end = pipes[1];
	pid_t pid = child(fork_and_go, pipes[0]);
	waitpid(pid, NULL, 0);
	struct campaign_db *s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(verdicts(s), 1);
	closed(s);
	close(pipes[1]);
	close(pipes[0]);
}

static void test_reading_beside_a_writer(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW), *reader = opened(CAMPAIGN_DB_READ);
	(void)state;
	for (uint64_t i = 0; i < 3000; i++) {
		put(s, i);
		if (i % 500 == 0)
			assert_int_equal(verdicts(reader), i + 1);
	}
	assert_int_equal(campaign_db_set(s, "k", "v", &err), 0);
	assert_string_equal(campaign_db_get(reader, "k"), "v");
	struct campaign_db_verdict v = verdict(0);
	assert_int_equal(campaign_db_put_verdict(reader, &v, &err), -1);
	assert_non_null(strstr(err.text, "read-only"));
	closed(reader);
	closed(s);
}

/* --- damage --- */

static void write_text(const char *name, const char *text, long at)
{
	int fd = open(file(name), O_WRONLY | O_CREAT, 0666);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
	close(fd);
}

static void test_not_a_database(void **state)
{
	static const enum campaign_db_mode modes[] = { CAMPAIGN_DB_READ, CAMPAIGN_DB_RESUME,
						       CAMPAIGN_DB_NEW };
	struct campaign_db *s;
	(void)state;
	write_text("campaign.db", "this is no database, and far from being one", 0);
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
		refused(modes[i], "is damaged");
	assert_non_null(strstr(err.text, "--fresh"));
	s = opened(CAMPAIGN_DB_FRESH);
	put(s, 0);
	assert_int_equal(verdicts(s), 1);
	closed(s);
}

static void test_a_file_without_tables(void **state)
{
	(void)state;
	assert_int_equal(mknod(file("campaign.db"), S_IFREG | 0644, 0), 0);
	refused(CAMPAIGN_DB_READ, "nothing in it");
	refused(CAMPAIGN_DB_RESUME, "nothing in it");
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	put(s, 0);
	closed(s);
}

static void count(void *arg, const struct campaign_db_verdict *v)
{
	(void)v;
	++*(uint64_t *)arg;
}

/* Pages in the middle are overwritten: an error, at opening or reading, never a wrong answer. */
static void test_damaged_pages(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	uint64_t n = 0;
	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		put(s, i);
	closed(s);
	for (long at = 16384; at < 65536; at += 64)
		write_text("campaign.db", "\xff\xff\xff\xff damaged", at);
	s = campaign_db_open(dir, CAMPAIGN_DB_RESUME, &err);
	int status = s ? campaign_db_each_verdict(s, count, &n, &err) : -1;
	assert_int_equal(status, -1);
	assert_int_equal(err.status, EXIT_USAGE);
	assert_non_null(strstr(err.text, "is damaged"));
	campaign_db_close(s, NULL);
	s = opened(CAMPAIGN_DB_FRESH);
	closed(s);
}

static void test_cut_short(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	uint64_t n = 0;
	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		put(s, i);
	closed(s);
	assert_int_equal(truncate(file("campaign.db"), 20000), 0);
	s = campaign_db_open(dir, CAMPAIGN_DB_READ, &err);
	if (s)
		assert_int_equal(campaign_db_each_verdict(s, count, &n, &err), -1);
	assert_non_null(strstr(err.text, "is damaged"));
	campaign_db_close(s, NULL);
	s = opened(CAMPAIGN_DB_FRESH);
	put(s, 0);
	assert_int_equal(verdicts(s), 1);
	closed(s);
}

/* The version is the big-endian word at 60 of the header, the application's number that at 68. */
static void test_other_versions(void **state)
{
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	(void)state;
	put(s, 0);
	closed(s);
	int fd = open(file("campaign.db"), O_WRONLY);
	assert_int_equal(pwrite(fd, "\0\0\0\7", 4, 60), 4);
	refused(CAMPAIGN_DB_READ, "of version 7, this holdfast knows version 1");
	refused(CAMPAIGN_DB_RESUME, "--fresh starts anew");
	refused(CAMPAIGN_DB_NEW, "version 7");
	assert_int_equal(pwrite(fd, "\0\0\0\7", 4, 68), 4);
	close(fd);
	refused(CAMPAIGN_DB_RESUME, "not a campaign of holdfast");
	s = opened(CAMPAIGN_DB_FRESH);
	assert_int_equal(verdicts(s), 0);
	closed(s);
	s = opened(CAMPAIGN_DB_RESUME);
	closed(s);
}

/* --- folders --- */

static void test_no_such_folder(void **state)
{
	(void)state;
	assert_int_equal(rmdir(dir), 0);
	refused(CAMPAIGN_DB_NEW, "campaign.lock: No such file or directory");
	refused(CAMPAIGN_DB_READ, "no campaign");
	refused(CAMPAIGN_DB_RESUME, "no campaign to go on with");
	assert_int_equal(campaign_db_writer(dir), 0);
	snprintf(dir, sizeof dir, "%s/plain", root);
	assert_int_equal(mknod(dir, S_IFREG | 0644, 0), 0);
	refused(CAMPAIGN_DB_NEW, "Not a directory");
}

/* As nobody, in a folder of root's: reading works, writing says why not. */
static void as_nobody(int fd)
{
	(void)fd;
	if (setgid(65534) || setuid(65534))
		_exit(1);
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_READ, &err);
	uint64_t n = 0;
	if (!s || campaign_db_each_verdict(s, count, &n, &err) || n != 1 ||
	    campaign_db_close(s, &err)) {
		print_message("# %s\n", err.text);
		_exit(2);
	}
	if (campaign_db_open(dir, CAMPAIGN_DB_RESUME, &err) || err.status != EXIT_USAGE ||
	    !strstr(err.text, strerror(EACCES))) {
		print_message("# %s\n", err.text);
		_exit(3);
	}
}

static void expect_nobody_reads(void)
{
	int status;
	pid_t pid = child(as_nobody, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_read_only_folder(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(root, 0755), 0);
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	put(s, 0);
	expect_nobody_reads(); /* beside the writer */
	closed(s);
	expect_nobody_reads(); /* the side files are gone, and cannot be made */
	pid_t pid = writer_elsewhere();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	expect_nobody_reads(); /* they are there, left by one who was killed */
}

/* A file system of 1 MiB is full soon. */
static void test_full_disk(void **state)
{
	int status = 0;
	uint64_t n = 0;
	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=1m"))
		skip();
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	for (; s && !status && n < 100000; n += !status) {
		struct campaign_db_verdict v = verdict(n);
		status = campaign_db_put_verdict(s, &v, &err);
	}
	uint64_t kept = 0;
	int read_status = s ? campaign_db_each_verdict(s, count, &kept, NULL) : -1;
	campaign_db_close(s, NULL);
	umount2(dir, MNT_DETACH);
	assert_non_null(s);
	assert_int_equal(status, -1);
	assert_int_equal(err.status, EXIT_INTERNAL);
	assert_non_null(strstr(err.text, "no space left"));
	assert_int_equal(read_status, 0);
	assert_int_equal(kept, n); /* what was put before is there */
}

/* A limit on the size of files is met like a full disk: a message, not a signal's doing. */
static void over_the_limit(int fd)
{
	struct rlimit limit = { 300000, 300000 };
	int status = 0;
	(void)fd;
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(1);
	struct campaign_db *s = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	for (uint64_t i = 0; s && !status && i < 100000; i++) {
		struct campaign_db_verdict v = verdict(i);
		status = campaign_db_put_verdict(s, &v, &err);
	}
	_exit(s && status && err.status == EXIT_INTERNAL && strstr(err.text, "campaign.db") ? 0
											    : 2);
}

static void test_file_size_limit(void **state)
{
	int status;
	(void)state;
	pid_t pid = child(over_the_limit, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	struct campaign_db *s = opened(CAMPAIGN_DB_RESUME);
	assert_true(verdicts(s) > 10);
	closed(s);
}

static void compare_input(void *arg, const struct campaign_db_input *in)
{
	unsigned *n = arg;
	static const char *const what[] = { "0 3", "1 0", "0 2" };
	static const char *const bytes[] = { "a\0b", "", "xy" };
	static const size_t size[] = { 3, 0, 2 };
	assert_int_equal(in->number, *n);
	assert_string_equal(in->what, what[*n]);
	assert_int_equal(in->n, size[*n]);
	assert_memory_equal(in->n ? in->bytes : "", bytes[*n], in->n);
	++*n;
}

static void test_inputs(void **state)
{
	static const struct campaign_db_input inputs[] = {
		{ 2, "0 2", "no", 2 },
		{ 0, "0 3", "a\0b", 3 },
		{ 1, "1 0", NULL, 0 },
		{ 2, "0 2", "xy", 2 }, /* takes the place of the first */
	};
	struct campaign_db *s = opened(CAMPAIGN_DB_NEW);
	unsigned n = 0;
	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
		assert_int_equal(campaign_db_put_input(s, &inputs[i], &err), 0);
	assert_int_equal(campaign_db_close(s, &err), 0);
	/* they are results: a new campaign does not begin over them */
	assert_null(campaign_db_open(dir, CAMPAIGN_DB_NEW, &err));
	s = opened(CAMPAIGN_DB_RESUME);
	assert_int_equal(campaign_db_each_input(s, compare_input, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(campaign_db_close(s, &err), 0);
	s = opened(CAMPAIGN_DB_FRESH);
	n = 0;
	assert_int_equal(campaign_db_each_input(s, compare_input, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(campaign_db_close(s, &err), 0);
}

/* ---- charts ---- */

static const char *const chart_columns[] = { "seconds", "images", "causes" };

/* A long one stays small, its numbers do not fall, and its end is its end. */
static void test_chart(void **state)
{
	struct campaign_chart c = { 0 }, again = { 0 };
	struct campaign_db *db = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	(void)state;
	assert_non_null(db);
	assert_false(campaign_chart_load(&c, db));
	campaign_chart_begin(&c, chart_columns, 3);
	for (int i = 0; i < 5000; i++)
		campaign_chart_add(&c, (const double[]){ i, i * 2, i % 100 }, i % 7 == 0);
	campaign_chart_add(&c, (const double[]){ 5000, 10000, 0 }, true);
	campaign_chart_add(&c, (const double[]){ 5000, 10001, 0 }, true); /* the same moment */
	assert_true(c.v.n / 3 > 60 && c.v.n / 3 <= 257);
	for (size_t i = 3; i < c.v.n; i++)
		assert_true(c.v.p[i] >= c.v.p[i - 3]);
	assert_true(c.v.p[c.v.n - 3] == 5000 && c.v.p[c.v.n - 2] == 10001);
	assert_true(c.v.p[c.v.n - 6] < 5000);
	assert_int_equal(campaign_chart_save(&c, db, &err), 0);
	assert_true(campaign_chart_load(&again, db));
	assert_int_equal(again.name.n, c.name.n);
	assert_int_equal(again.v.n, c.v.n);
	for (size_t i = 0; i < c.v.n; i++)
		assert_true(again.v.p[i] == c.v.p[i]);
	assert_true(again.every >= 5000 / 257.0);
	campaign_chart_free(&c);
	campaign_chart_free(&again);
	assert_int_equal(campaign_db_close(db, &err), 0);
}

/* What is there need not be a chart. */
static void test_chart_damaged(void **state)
{
	static const struct {
		const char *text;
		size_t rows;
	} charts[] = { { "", 0 },
		       { "a", 0 },
		       { "a,b\n", 0 },
		       { "a,b\n1,2", 1 },
		       { "a,b\n1,2\n3", 1 },
		       { "a,b\n1,2\nx,y\n5,6", 1 },
		       { "\n1,2", 0 },
		       { "a,b\n-1,2", 0 },
		       { "a,b\nnan,2", 0 },
		       { "a,b\n1e999,2", 0 } };
	struct campaign_db *db = campaign_db_open(dir, CAMPAIGN_DB_NEW, &err);
	(void)state;
	for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
		struct campaign_chart c = { 0 };
		assert_int_equal(campaign_db_set(db, "chart", charts[i].text, &err), 0);
		assert_int_equal(campaign_chart_load(&c, db), charts[i].rows != 0);
		assert_int_equal(c.name.n ? c.v.n / c.name.n : 0, charts[i].rows);
		campaign_chart_free(&c);
	}
	assert_int_equal(campaign_db_close(db, &err), 0);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup(test, fresh_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(test_inputs),
		IN_A_FOLDER(test_many_verdicts),
		IN_A_FOLDER(test_settings),
		IN_A_FOLDER(test_findings),
		IN_A_FOLDER(test_transactions),
		IN_A_FOLDER(test_modes),
		IN_A_FOLDER(test_fresh_beside_a_reader),
		IN_A_FOLDER(test_killed),
		IN_A_FOLDER(test_two_writers),
		IN_A_FOLDER(test_twice_in_one_process),
		IN_A_FOLDER(test_orphans_hold_nothing),
		IN_A_FOLDER(test_reading_beside_a_writer),
		IN_A_FOLDER(test_not_a_database),
		IN_A_FOLDER(test_a_file_without_tables),
		IN_A_FOLDER(test_damaged_pages),
		IN_A_FOLDER(test_cut_short),
		IN_A_FOLDER(test_other_versions),
		IN_A_FOLDER(test_no_such_folder),
		IN_A_FOLDER(test_read_only_folder),
		IN_A_FOLDER(test_full_disk),
		IN_A_FOLDER(test_file_size_limit),
		IN_A_FOLDER(test_chart),
		IN_A_FOLDER(test_chart_damaged),
	};
	return cmocka_run_group_tests_name("campaign_db", tests, setup, teardown);
}
