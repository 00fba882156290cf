/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are called in a cell's sandbox: what they see, what comes back, what is left. */
#include "runner/rig.h"

#include <sys/time.h>

#define WAIT_S 300 /* at most, for what happens at once unless the machine is slow */

static bool stays(const char *word)
{
	double end = now() + WAIT_S;
	while (runs(word) && now() < end)
		usleep(1000);
	return runs(word);
}

/* What a program that it runs sees of the pool, the command's second word, and its input. */
static int look(void *arg, char **argv, int out)
{
	char text[64] = "", said[256];
	char *command = xasprintf("head -c 15 %s; printf changed >%s; rm %s", pool, pool, pool);
	FILE *f = popen(command, "r");
	free(command);
	if (!f || !fgets(text, sizeof text, f) || pclose(f))
		return -1;
	snprintf(said, sizeof said, "%s|%s|%s|%d", (const char *)arg, text, argv[1], getchar());
	return write_all(out, said, strlen(said));
}

static void sees_the_image(void **state)
{
	struct runner *r = rig((struct runner_opts){ 0 });
	struct err err;
	size_t n;
	char *said;
	(void)state;
	assert_true(runner_calls(r));
	put(r, 0, 0, "echo still here");
	for (int round = 0; round < 2; round++) {
		said = runner_call(r, 0, look, (void *)(uintptr_t) "hello", &n, &err);
		if (!said)
			fail_msg("%s", err.text);
		assert_int_equal(n, strlen(said));
		assert_string_equal(said, "hello|echo still here|obey|-1");
		free(said);
	}
	expect(result_of(r), RUNNER_OK, 0, "still here\n");
	runner_free(r);
}

static int give_up(void *arg, char **argv, int out)
{
	(void)argv;
	if (write_all(out, "half", 4))
		return 0;
	if (arg)
		raise(SIGKILL);
	return -1;
}

static void failure_is_told(void **state)
{
	struct runner *r = rig((struct runner_opts){ 0 });
	struct err err;
	size_t n;
	(void)state;
	assert_null(runner_call(r, 0, give_up, NULL, &n, &err));
	assert_string_equal(err.text, "it failed in the sandbox");
	assert_null(runner_call(r, 0, give_up, r, &n, &err));
	expect(obey(r, "echo fine"), RUNNER_OK, 0, "fine\n");
	runner_free(r);
}

/* Starts processes that stay, and does not come back. */
static int hang(void *word, char **argv, int out)
{
	char *command = xasprintf("%s daemon %s; exec sleep 100", argv[0], (const char *)word);
	(void)out;
	return system(command);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void hangs_and_signals(void **state)
{
	struct runner *r = rig((struct runner_opts){ .timeout_ms = 25 });
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART }, old;
	struct itimerval soon = { .it_value.tv_usec = 100000 };
	struct err err;
	char word[32];
	size_t n;
	(void)state;
	snprintf(word, sizeof word, "hanging-%d", getpid());
	assert_null(runner_call(r, 0, hang, word, &n, &err));
	assert_string_equal(err.text, "it did not end in time");
	assert_false(stays(word));
	sigaction(SIGALRM, &sa, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	double start = now();
	assert_null(runner_call(r, 0, hang, word, &n, &err));
	assert_string_equal(err.text, "interrupted");
	assert_true(now() - start < WAIT_S);
	sigaction(SIGALRM, &old, NULL);
	assert_false(stays(word));
	runner_free(r);
}

static void call_until_killed(const char *word)
{
	struct runner *r = rig((struct runner_opts){ .timeout_ms = 100000 });
	struct err err;
	size_t n;
	runner_call(r, 0, hang, (void *)(uintptr_t)word, &n, &err);
	_exit(1);
}

static void killed_while_it_calls(void **state)
{
	char word[32];
	(void)state;
	snprintf(word, sizeof word, "killed-%d", getpid());
	pid_t pid = fork();
	if (pid == 0)
		call_until_killed(word);
	bool begun = false; /* looked at once: a process that forks and ends can be missed */
	for (double end = now() + WAIT_S; !begun && now() < end; usleep(1000))
		begun = runs(word);
	assert_true(begun);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(stays(word));
}

/* Where files are elsewhere, and for servers, nothing is called. */
static void refused(void **state)
{
	struct runner *r = rig((struct runner_opts){ .view = subst() });
	struct err err;
	size_t n;
	(void)state;
	assert_false(runner_calls(r));
	assert_null(runner_call(r, 0, look, NULL, &n, &err));
	expect(obey(r, "echo fine"), RUNNER_OK, 0, "fine\n");
	runner_free(r);
	r = rig((struct runner_opts){ .client = "true", .ready = "up" });
	assert_false(runner_calls(r));
	runner_free(r);
}

static int preloaded(void **state)
{
	(void)state;
	view = preload();
	return 0;
}

int main(void)
{
#define PRELOAD(test)                                                                              \
	{                                                                                          \
#test "_preloaded", test, preloaded, NULL, NULL                                    \
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_the_image),
		cmocka_unit_test(failure_is_told),
		cmocka_unit_test(hangs_and_signals),
		cmocka_unit_test(killed_while_it_calls),
		cmocka_unit_test(refused),
		PRELOAD(sees_the_image),
		PRELOAD(failure_is_told),
		PRELOAD(hangs_and_signals),
		PRELOAD(killed_while_it_calls),
	};

	return cmocka_run_group_tests_name("runner_call", tests, rig_setup, rig_teardown);
}
