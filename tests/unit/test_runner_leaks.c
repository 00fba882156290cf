/* SPDX-License-Identifier: BSD-3-Clause */
/* Each recovery begins in a new world: what an earlier one left behind changes no verdict. */
#define RIG_PROGRAM "leak.c"
#include "../others.h"
#include "runner/rig.h"

#include <grp.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define ROUNDS 6
#define MANY 300
#define RECOVERIES "HOLDFAST_RECOVERIES" /* so many, and no other case: for a long one, by hand */

static bool fast; /* with the fork server */

static struct runner *leak_rig(unsigned cells)
{
	char *command = xasprintf("%s {pool}", act),
	     *port = xasprintf("%d", 10000 + getpid() % 20000);
	setenv("LEAK_PORT", port, 1);
	free(port);
	struct runner *r =
		rig((struct runner_opts){ .command = command, .fast = fast, .cells = cells });
	free(command);
	return r;
}

static bool has_spaces(const struct runner *r)
{
	return runner_view(r)->flags & SANDBOX_PIDS;
}

static void leaks(const char *words, bool needs_spaces, bool needs_root)
{
	struct runner *r = leak_rig(1);
	if ((needs_spaces && !has_spaces(r)) || (needs_root && geteuid() != 0)) {
		runner_free(r);
		skip();
	}
	for (int i = 0; i < ROUNDS; i++)
		expect(obey(r, words), RUNNER_OK, 0, "");
	runner_free(r);
}

#define LEAK(name, words, spaces, root)                                                            \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		leaks(words, spaces, root);                                                        \
	}
LEAK(shm, "shm", false, false)
LEAK(sem, "sem", false, false)
LEAK(msg, "msg", false, false)
LEAK(queue, "queue", false, false)
LEAK(abstract, "abstract", false, false)
LEAK(port, "port", false, false)
LEAK(process, "process", false, false)
LEAK(interface, "interface", true, true)
LEAK(host, "host", true, true)
LEAK(mounts, "cover", true, true)
LEAK(unmounts, "uncover", true, true)
LEAK(files, "/tmp/hf-leak /dev/shm/hf-leak /var/tmp/hf-leak", false, false)
LEAK(system_files, "/etc/hf-leak /run/hf-leak /root/hf-leak", true, true)

/* With the fork server they are not the same, but that lives on. */
static void number(void **state)
{
	(void)state;
	if (fast)
		skip();
	leaks("number", true, false);
}

/* A lock by name is held in two cells at once. */
static void side_by_side(void **state)
{
	(void)state;
	struct runner *r = leak_rig(4);
	struct runner_result result;
	struct err err;
	uint64_t tag;
	unsigned n = 0, cell;
	for (unsigned c = 0; c < runner_cells(r); c++)
		put(r, c, 0, "abstract shm sem msg queue process");
	for (unsigned i = 0; i < 40; i++) {
		int c = runner_idle(r, &err);
		assert_true(c >= 0);
		assert_int_equal(runner_start(r, (unsigned)c, i, &err), 0);
	}
	for (; runner_wait(r, true, &tag, &cell, &result, &err) > 0; n++)
		expect(result, RUNNER_OK, 0, "");
	assert_int_equal(n, 40);
	runner_free(r);
}

/* All of it, again and again; the verdicts stay those of the first runs. */
static void many(void **state)
{
	(void)state;
	static const char *const verdict[] = { "0", "1", "7" };
	struct runner *r = leak_rig(1);
	const char *all = "shm sem msg queue abstract port process";
	if (has_spaces(r) && geteuid() == 0)
		all = "host shm sem msg queue abstract port process /run/hf-leak cover";
	const char *times = getenv(RECOVERIES);
	long n = times ? atol(times) : MANY;
	for (long i = 0; i < n; i++) {
		char *text = xasprintf("%s %s", all, verdict[i % 3]);
		expect(obey(r, text), i % 3 ? RUNNER_FAILED : RUNNER_OK, atoi(verdict[i % 3]), "");
		free(text);
	}
	runner_free(r);
}

/* Nothing of ours remains in the system, whatever the view. */
static size_t objects(void)
{
	struct shm_info m = { 0 };
	struct msginfo q = { 0 };
	struct seminfo s = { 0 };
	shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&m);
	msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&q);
	semctl(0, 0, SEM_INFO, &s);
	return (size_t)m.used_ids + (size_t)q.msgpool + (size_t)s.semusz;
}

static void nothing_stays(void **state)
{
	(void)state;
	size_t before = objects();
	leaks("shm sem msg queue", false, false);
	assert_true(objects() <= before);
}

static int preloaded(void **state)
{
	(void)state;
	view = preload();
	return 0;
}

static int forked(void **state)
{
	(void)state;
	fast = true;
	return 0;
}

static int ordinary(void **state)
{
	(void)state;
	view = NULL;
	fast = false;
	return 0;
}

#define FAST(f)                                                                                    \
	{                                                                                          \
#f "_forked", f, forked, ordinary, NULL                                            \
	}
#define PRELOAD(f)                                                                                 \
	{                                                                                          \
#f "_preloaded", f, preloaded, ordinary, NULL                                      \
	}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(shm),
	cmocka_unit_test(sem),
	cmocka_unit_test(msg),
	cmocka_unit_test(queue),
	cmocka_unit_test(abstract),
	cmocka_unit_test(port),
	cmocka_unit_test(process),
	cmocka_unit_test(interface),
	cmocka_unit_test(host),
	cmocka_unit_test(mounts),
	cmocka_unit_test(unmounts),
	cmocka_unit_test(files),
	cmocka_unit_test(system_files),
	cmocka_unit_test(number),
	cmocka_unit_test(side_by_side),
	cmocka_unit_test(many),
	cmocka_unit_test(nothing_stays),
	FAST(shm),
	FAST(sem),
	FAST(msg),
	FAST(queue),
	FAST(port),
	FAST(process),
	FAST(mounts),
	FAST(many),
	PRELOAD(shm),
	PRELOAD(sem),
	PRELOAD(msg),
	PRELOAD(queue),
	PRELOAD(abstract),
	PRELOAD(port),
	PRELOAD(process),
	PRELOAD(files),
	PRELOAD(side_by_side),
	PRELOAD(many),
	PRELOAD(nothing_stays),
};

/* The same for somebody who is not root. */
static int again_setup(void **state)
{
	strcpy(strrchr(dir, '-'), "-XXXXXX");
	return rig_setup(state);
}

/* An argument is a pattern for the cases to run. */
int main(int argc, char **argv)
{
	if (argc > 1 || getenv(RECOVERIES))
		cmocka_set_test_filter(argc > 1 ? argv[1] : "*many*");
	int failed = cmocka_run_group_tests_name("leaks", tests, rig_setup, rig_teardown), status;
	if (geteuid() != 0 || !others_reach(65534))
		return failed;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		bool left = !setgroups(0, NULL) && !setgid(65534) && !setuid(65534);
		failed = left ? cmocka_run_group_tests_name("leaks, not root", tests, again_setup,
							    rig_teardown)
			      : 1;
		fflush(NULL);
		_exit(failed);
	}
	return waitpid(pid, &status, 0) == pid && !status ? failed : 1;
}
