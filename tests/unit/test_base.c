/* SPDX-License-Identifier: BSD-3-Clause */
/* src/base: containers against slow, obvious twins. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static uint64_t rnd_state = 88172645463325252u;

static uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

static void errors_have_text_and_status(void **state)
{
	struct err e = { 0 };
	(void)state;
	assert_int_equal(err_set(&e, EXIT_USAGE, "no %s", "way"), -1);
	assert_string_equal(e.text, "no way");
	assert_int_equal(e.status, EXIT_USAGE);
	errno = ENOENT;
	assert_int_equal(err_errno(&e, EXIT_PROGRAM, "cannot open %d", 7), -1);
	assert_string_equal(e.text, "cannot open 7: No such file or directory");
	assert_int_equal(e.status, EXIT_PROGRAM);
	assert_int_equal(err_set(NULL, EXIT_USAGE, "x"), -1);
}

static void long_errors_are_cut(void **state)
{
	struct err e;
	char big[3000];
	(void)state;
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	errno = EIO;
	err_errno(&e, EXIT_USAGE, "%s", big);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void vectors_grow(void **state)
{
	VEC(uint64_t) v = { 0 };
	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		VEC_PUSH(&v, i * i);
	assert_int_equal(v.n, 100000);
	for (uint64_t i = 0; i < v.n; i++)
		assert_int_equal(v.p[i], i * i);
	VEC_FREE(&v);
	assert_null(v.p);
}

static void bufs_are_strings(void **state)
{
	struct buf b = { 0 };
	(void)state;
	buf_puts(&b, "one");
	buf_printf(&b, " %d %s", 2, "three");
	buf_add(&b, "\0x", 2);
	assert_int_equal(b.n, strlen("one 2 three") + 2);
	assert_string_equal(b.p, "one 2 three");
	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%d,", i);
	assert_int_equal(b.p[b.n], '\0');
	buf_free(&b);
}

/* Against an array: keys come from a small set so that they meet again. */
static void bisecting_counts_what_comes_before(void **state)
{
	static const int sorted[] = { 1, 3, 3, 3, 8 };
	(void)state;
	for (size_t n = 0; n <= 5; n++)
		for (int what = 0; what < 10; what++) {
			size_t before = 0, upto = 0;
			for (size_t i = 0; i < n; i++) {
				before += sorted[i] < what;
				upto += sorted[i] <= what;
			}
			assert_int_equal(BISECT(i, n, sorted[i] < what), before);
			assert_int_equal(BISECT(i, n, sorted[i] <= what), upto);
		}
}

static void hmap_is_a_map(void **state)
{
	enum { KEYS = 700 };
	struct hmap m = { 0 };
	uint64_t want[KEYS] = { 0 }, got;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		unsigned k = rnd() % KEYS;
		uint64_t key = k * 0x100000000u; /* keys that differ in high bits only */
		if (rnd() % 3) {
			n += !want[k];
			want[k] = rnd() | 1;
			hmap_put(&m, key, want[k]);
		} else {
			assert_int_equal(hmap_del(&m, key), want[k] != 0);
			n -= want[k] != 0;
			want[k] = 0;
		}
		assert_int_equal(m.n, n);
		k = rnd() % KEYS;
		got = 0;
		assert_int_equal(hmap_get(&m, k * 0x100000000u, &got), want[k] != 0);
		assert_int_equal(got, want[k]);
	}
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(hmap_get(&m, k * 0x100000000u, NULL), want[k] != 0);
	hmap_free(&m);
	assert_false(hmap_get(&m, 0, NULL));
}

/* Against one value per address. */
static void imap_is_a_map_of_ranges(void **state)
{
	enum { SPACE = 300 };
	struct imap m = { 0 };
	uint64_t want[SPACE] = { 0 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t lo = rnd() % SPACE, hi = lo + rnd() % (SPACE - lo + 1);
		uint64_t val = rnd() % 5 ? rnd() % 100 + 1 : 0;
		if (val)
			imap_set(&m, lo, hi, val);
		else
			imap_clear(&m, lo, hi);
		for (uint64_t a = lo; a < hi; a++)
			want[a] = val;
		for (uint64_t a = 0; a < SPACE; a++) {
			const struct imap_item *it = imap_find(&m, a);
			assert_int_equal(it ? it->val : 0, want[a]);
			assert_true(!it || (it->lo <= a && a < it->hi));
		}
		for (size_t k = 1; k < m.n; k++)
			assert_true(m.p[k - 1].hi <= m.p[k].lo && m.p[k].lo < m.p[k].hi);
	}
	imap_free(&m);
}

static void imap_at_the_edges(void **state)
{
	struct imap m = { 0 };
	(void)state;
	assert_null(imap_find(&m, 0));
	imap_set(&m, 5, 5, 1);
	assert_int_equal(m.n, 0);
	imap_set(&m, 0, UINT64_MAX, 1);
	imap_clear(&m, 10, 20);
	assert_int_equal(m.n, 2);
	assert_null(imap_find(&m, 10));
	assert_non_null(imap_find(&m, 20));
	assert_non_null(imap_find(&m, UINT64_MAX - 1));
	assert_null(imap_find(&m, UINT64_MAX));
	imap_free(&m);
}

static void hashes_spread(void **state)
{
	(void)state;
	assert_int_not_equal(hash_bytes("a", 1), hash_bytes("b", 1));
	assert_int_not_equal(hash_bytes("a", 1), hash_seeded("a", 1, 1));
	assert_int_not_equal(hash_mix(1, 2), hash_mix(2, 1));
	/* The published XXH3-64 of nothing: traces depend on it. */
	assert_true(hash_bytes("", 0) == 0x2d06800538d394c2u);
}

/* A socket pair takes what fits, and lets the writer wait; a reader that is gone is an error. */
static void writes_are_whole(void **state)
{
	static char sent[1 << 20], got[1 << 20];
	int pair[2], status;
	size_t n = 0;
	pid_t pid;
	(void)state;
	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = (char)rnd();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (!pid) {
		close(pair[1]);
		_exit(write_all(pair[0], sent, sizeof sent));
	}
	close(pair[0]);
	for (ssize_t part; (part = read(pair[1], got + n, 7001)) > 0;)
		n += (size_t)part;
	assert_int_equal(n, sizeof sent);
	assert_memory_equal(got, sent, sizeof sent);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pair[1]);
	assert_int_equal(write_all(-1, sent, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(write_all(-1, sent, 0), 0);
}

static void writes_have_a_place(void **state)
{
	int fd = memfd_create("test", 0);
	char got[8] = "";
	(void)state;
	assert_int_equal(write_all_at(fd, "lo", 2, 3), 0);
	assert_int_equal(write_all(fd, "hel", 3), 0);
	assert_int_equal(pread(fd, got, sizeof got, 0), 5);
	assert_string_equal(got, "hello");
	close(fd);
}

/* Data, a hole, zeros that take room, and a byte at the very end. */
static void copies_stay_sparse(void **state)
{
	enum { SIZE = 3 << 20 };
	static char zero[1 << 20], was[SIZE], is[SIZE];
	int from = memfd_create("test", 0), to = memfd_create("test", 0), full;
	struct stat st;

	(void)state;
	assert_int_equal(write_all_at(from, "begin", 5, 70000), 0);
	assert_int_equal(write_all_at(from, zero, sizeof zero, 1 << 20), 0);
	assert_int_equal(write_all_at(from, "!", 1, SIZE - 1), 0);
	assert_int_equal(copy_sparse(from, to), 0);
	assert_int_equal(fstat(to, &st), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_true(st.st_blocks * 512 <= 3 * 65536);
	assert_int_equal(pread(from, was, SIZE, 0), SIZE);
	assert_int_equal(pread(to, is, SIZE, 0), SIZE);
	assert_memory_equal(is, was, SIZE);
	full = open("/dev/full", O_WRONLY);
	assert_int_equal(copy_sparse(from, full), -1);
	close(from);
	close(to);
	close(full);
}

static void paths_move_to_another_folder(void **state)
{
	static const char *const path[] = { "/data/a/pool", "/data/a/logs/1", "/data/ab" };
	char dir[] = "/tmp/base-XXXXXX", *common = NULL, *place, *made;
	struct err err;
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		static const char *const is[] = { "/data/a/", "/data/a/", "/data/" };
		common_folder(&common, path[i]);
		assert_string_equal(common, is[i]);
	}
	assert_non_null(mkdtemp(dir));
	place = place_below(dir, common, path[1]);
	assert_string_equal(place + strlen(dir), "/a/logs/1");
	assert_int_equal(rmdir(place), -1); /* itself it is not made, */
	*strrchr(place, '/') = '\0';
	assert_int_equal(rmdir(place), 0); /* what holds it is */
	made = xasprintf("%s/x/y", dir);
	assert_int_equal(make_folders(made, &err), 0);
	assert_int_equal(make_folders(made, &err), 0);
	assert_int_equal(make_folders("/dev/null/x", &err), -1);
	assert_int_equal(rmdir(made), 0);
	*strrchr(made, '/') = '\0';
	assert_int_equal(rmdir(made), 0);
	*strrchr(place, '/') = '\0';
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(rmdir(dir), 0);
	free(made);
	free(place);
	free(common);
}

/* Whatever the bytes: a shell reads the word back. */
static void words_survive_a_shell(void **state)
{
	static const struct {
		const char *word, *quoted;
	} as[] = {
		{ "/a/b-c_1.d", "/a/b-c_1.d" }, { "--x=1,2:3%@+", "--x=1,2:3%@+" }, { "", "''" },
		{ "it's", "'it'\\''s'" },       { "$x `y` *", "'$x `y` *'" },       { "~", "'~'" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
		struct buf b = { 0 };
		shell_quote(&b, as[i].word, strlen(as[i].word));
		assert_string_equal(b.p, as[i].quoted);
		buf_free(&b);
	}
	for (int round = 0; round < 20; round++) {
		struct buf b = { 0 };
		char word[100], got[101] = "";
		FILE *f;
		for (size_t i = 0; i < sizeof word; i++)
			word[i] = (char)(1 + rnd() % 255);
		buf_puts(&b, "printf %s ");
		shell_quote(&b, word, sizeof word);
		f = popen(b.p, "r");
		assert_int_equal(fread(got, 1, sizeof got, f), sizeof word);
		assert_memory_equal(got, word, sizeof word);
		pclose(f);
		buf_free(&b);
	}
}

static const char *animal_at(size_t i, const char **about)
{
	static const char *const names[] = { "cat", "dog", "catfish" };
	*about = "an animal";
	return i < 3 ? names[i] : NULL;
}

static void names_of_a_table(void **state)
{
	(void)state;
	assert_int_equal(name_find(animal_at, "catfish", 3), 0);
	assert_int_equal(name_find(animal_at, "catfish", 7), 2);
	assert_int_equal(name_find(animal_at, "ca", 2), SIZE_MAX);
	assert_int_equal(name_find(animal_at, "", 0), SIZE_MAX);
	assert_true(names_known(animal_at, "dog+cat+dog", "+"));
	assert_true(names_known(animal_at, "catfish", ""));
	assert_false(names_known(animal_at, "dog+cat", ""));
	assert_false(names_known(animal_at, "dog+", "+"));
	assert_false(names_known(animal_at, "+dog", "+"));
	assert_false(names_known(animal_at, "", "+"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_text_and_status),
		cmocka_unit_test(long_errors_are_cut),
		cmocka_unit_test(vectors_grow),
		cmocka_unit_test(bufs_are_strings),
		cmocka_unit_test(bisecting_counts_what_comes_before),
		cmocka_unit_test(hmap_is_a_map),
		cmocka_unit_test(imap_is_a_map_of_ranges),
		cmocka_unit_test(imap_at_the_edges),
		cmocka_unit_test(hashes_spread),
		cmocka_unit_test(writes_are_whole),
		cmocka_unit_test(writes_have_a_place),
		cmocka_unit_test(copies_stay_sparse),
		cmocka_unit_test(paths_move_to_another_folder),
		cmocka_unit_test(names_of_a_table),
		cmocka_unit_test(words_survive_a_shell),
	};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
