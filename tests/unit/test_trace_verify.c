/* SPDX-License-Identifier: BSD-3-Clause */
/* The self-check: files that are, and are not, what the events say. */
#include <fcntl.h>
#include <sys/wait.h>

#include "trace_producer.h"

#include "trace/internal.h"

static char path[64];
#define SIZE (64u << 20)
#define AT 0x10000000u /* where it is mapped */

/* What the program does to the file, and what it tells of it. */
struct act {
	uint64_t off;
	const char *really, *told; /* 8 bytes; NULL: nothing */
	uint64_t size;             /* not 0: the file gets this size, untold */
	bool unlinks;
};

static void put_act(struct producer *p, int fd, const struct act *a)
{
	if (a->unlinks) {
		unlink(path);
		put_rec(p, (struct rec){ .kind = TRACE_FILE_UNLINK, .nargs = 1, .arg = { 7 } });
	}
	if (a->size && ftruncate(fd, (off_t)a->size))
		_exit(1);
	if (a->really && pwrite(fd, a->really, 8, (off_t)a->off) != 8)
		_exit(1);
	if (a->told)
		put_rec(p, (struct rec){ .kind = TRACE_STORE,
					 .nargs = 1,
					 .size = 8,
					 .data = a->told,
					 .arg = { AT + a->off } });
}

static void produce(int ring, const struct act *act, size_t n)
{
	struct producer p;
	int fd = open(path, O_RDWR);
	claim(&p, ring);
	announce(&p, 1, TRACE_BIRTH_START);
	if (fd < 0 || ask_file(&p, 7, fd, path) != RING_ANSWER_OK)
		_exit(1);
	put_rec(&p, (struct rec){ .kind = TRACE_MAP,
				  .flags = TRACE_F_PM,
				  .nargs = 6,
				  .arg = { AT, SIZE, 7, 0, 3, 1 } });
	for (size_t i = 0; i < n; i++)
		put_act(&p, fd, &act[i]);
	put_exit(&p);
	_exit(0);
}

/* A sparse file with something in it; then the acts, in a process of their own. */
static bool differs(const struct act *act, size_t n, struct trace_difference *d)
{
	struct err err = { 0 };
	int status, fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct trace_live *l = trace_live_new(NULL, NULL, NULL, &err);
	assert_non_null(l);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(pwrite(fd, "at first", 8, 5 * 4096 + 100), 8);
	trace_live_verify(l);
	pid_t pid = fork();
	if (!pid)
		produce(trace_live_fd(l), act, n);
	while (waitpid(pid, &status, WNOHANG) == 0 || trace_live_running(l))
		assert_true(trace_live_poll(l, 20, &err) >= 0);
	assert_int_equal(status, 0);
	bool found = trace_live_differs(l, d);
	trace_live_free(l);
	close(fd);
	unlink(path);
	return found;
}
#define DIFFERS(d, ...)                                                                            \
	differs((const struct act[]){ __VA_ARGS__ },                                               \
		sizeof((const struct act[]){ __VA_ARGS__ }) / sizeof(struct act), d)

static void what_is_told_is_there(void **state)
{
	struct trace_difference d;
	(void)state;
	assert_false(DIFFERS(&d, { 64, "abcdefgh", "abcdefgh" },
			     { 5 * 4096 + 96, "in front", "in front" },
			     { SIZE - 8, "the end.", "the end." }, { 64, "ABCDEFGH", "ABCDEFGH" }));
	/* stored, and the bytes before and behind it are those of the beginning */
	assert_false(DIFFERS(&d, { 5 * 4096 + 102, "12345678", "12345678" }));
}

static void what_is_not_told_is_seen(void **state)
{
	struct trace_difference d;
	(void)state;
	/* in a hole */
	assert_true(DIFFERS(&d, { 64, "abcdefgh", "abcdefgh" }, { 40 << 20, "abcdefgh", NULL }));
	assert_int_equal(d.off, 40 << 20);
	assert_int_equal(d.len, 8);
	assert_int_equal(d.bytes, 8);
	assert_int_equal(d.event, 0);
	/* in a page of the beginning that no event touches, in one byte; the first of two places */
	assert_true(
		DIFFERS(&d, { 9 << 20, "abcdefgh", NULL }, { 5 * 4096 + 100, "at farst", NULL }));
	assert_int_equal(d.off, 5 * 4096 + 104);
	assert_int_equal(d.len, 1);
	assert_int_equal(d.bytes, 9);
	/* beside what was told, on the same line */
	assert_true(DIFFERS(&d, { 128, "abcdefgh", "abcdefgh" },
			    { 5 * 4096 + 110, "01234567", NULL },
			    { 5 * 4096 + 90, "told too", "told too" }));
	assert_int_equal(d.off, 5 * 4096 + 110);
	assert_int_equal(d.event, 2);
	/* told, but something else came */
	assert_true(DIFFERS(&d, { 64, "abcdefgh", "abcdefgX" }));
	assert_int_equal(d.off, 71);
	assert_int_equal(d.len, 1);
	assert_int_equal(d.event, 1);
	/* told, and it never came */
	assert_true(DIFFERS(&d, { 30 << 20, NULL, "abcdefgh" }));
	assert_int_equal(d.off, 30 << 20);
}

static void sizes_are_compared(void **state)
{
	struct trace_difference d;
	(void)state;
	assert_true(DIFFERS(&d, { .size = SIZE + 5 }));
	assert_int_equal(d.bytes, 0);
	assert_int_equal(d.built_size, SIZE);
	assert_int_equal(d.real_size, SIZE + 5);
	assert_true(DIFFERS(&d, { .size = 4096 }));
	assert_int_equal(d.real_size, 4096);
	assert_int_equal(d.bytes, 0);
}

static void a_file_without_a_name_is_not_compared(void **state)
{
	struct trace_difference d;
	(void)state;
	assert_false(DIFFERS(&d, { 64, "abcdefgh", NULL }, { .unlinks = true }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_is_there),
		cmocka_unit_test(what_is_not_told_is_seen),
		cmocka_unit_test(sizes_are_compared),
		cmocka_unit_test(a_file_without_a_name_is_not_compared),
	};
	snprintf(path, sizeof path, "/tmp/hf-verify-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
