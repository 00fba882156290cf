/* SPDX-License-Identifier: BSD-3-Clause */
/* Writer and reader: what goes in comes out, also when the file is cut or the disk is full. */
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "trace_util.h"

#include "trace/internal.h"

static struct trace_writer *create(const char *dir)
{
	struct err err = { 0 };
	struct trace_writer *w = trace_create(dir, &err);
	if (!w)
		fail_msg("%s", err.text);
	return w;
}

static struct trace_reader *reopen(const char *dir)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_open(dir, &err);
	if (!r)
		fail_msg("%s", err.text);
	return r;
}

static void three_processes(struct trace_writer *w)
{
	put_process(w, 100, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	put_process(w, 101, 0, TRACE_BIRTH_FORK);
	put_process(w, 100, 0, TRACE_BIRTH_EXEC);
}

static void assert_reads(struct trace_reader *r, const struct memory *m, size_t n)
{
	struct err err = { 0 };
	struct trace_event ev;
	for (size_t i = 0; i < n; i++) {
		if (trace_next(r, &ev, &err) != 1)
			fail_msg("event %zu: %s", i, err.text);
		assert_same_event(&ev, &m->ev.p[i]);
	}
	assert_int_equal(trace_next(r, &ev, &err), 0);
	assert_int_equal(trace_next(r, &ev, &err), 0);
}

static void random_events_come_back(void **state)
{
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	const char *why = "?";
	(void)state;
	three_processes(w);
	put_random(w, &m, 300000, TRACE_MAX_PAYLOAD);
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	assert_true(trace_is_whole(r, &why));
	assert_null(why);
	assert_int_equal(trace_count(r), m.ev.n);
	assert_reads(r, &m, m.ev.n);
	assert_int_equal(trace_processes(trace_defs(r)), 3);
	trace_close(r);
	forget(&m);
	drop_dir(dir);
}

static void an_empty_trace_is_whole(void **state)
{
	struct err err = { 0 };
	struct memory none = { 0 };
	char *dir = new_dir();
	struct trace_reader *r;
	(void)state;
	assert_ok(trace_finish(create(dir), &err));
	r = reopen(dir);
	assert_true(trace_is_whole(r, NULL));
	assert_reads(r, &none, 0);
	assert_ok(trace_seek(r, 0, &err));
	assert_int_equal(trace_seek(r, 1, &err), -1);
	trace_close(r);
	drop_dir(dir);
}

static void assert_seeks(struct trace_reader *r, const struct memory *m, uint64_t num)
{
	struct err err = { 0 };
	struct trace_event ev;
	assert_ok(trace_seek(r, num, &err));
	assert_int_equal(trace_next(r, &ev, &err), num < m->ev.n);
	if (num < m->ev.n)
		assert_same_event(&ev, &m->ev.p[num]);
}

static void seek_to_each(struct trace_reader *r, const struct memory *m)
{
	struct err err = { 0 };
	for (uint64_t i = 0; i <= m->ev.n; i++)
		assert_seeks(r, m, i);
	for (uint64_t i = m->ev.n + 1; i-- > 0;)
		assert_seeks(r, m, i);
	for (unsigned i = 0; i < 5000; i++)
		assert_seeks(r, m, rnd() % (m->ev.n + 1));
	assert_int_equal(trace_seek(r, m->ev.n + 1, &err), -1);
	assert_seeks(r, m, 3);
}

/* Big payloads make many chunks; the second time there is no index. */
static void every_event_can_be_sought(void **state)
{
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir(), *path = file_in(dir, "trace");
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	(void)state;
	three_processes(w);
	for (unsigned i = 0; i < 300; i++) {
		static uint8_t big[TRACE_MAX_PAYLOAD];
		struct trace_event ev = {
			.kind = TRACE_FILE_WRITE, .nargs = 2, .size = 40000, .data = big
		};
		assert_ok(trace_put_event(w, &ev, &err));
		remember(&m, ev);
		put_random(w, &m, 10, 2000);
	}
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	seek_to_each(r, &m);
	trace_close(r);
	assert_int_equal(truncate(path, (off_t)file_size(dir) - 1), 0);
	r = reopen(dir);
	assert_false(trace_is_whole(r, NULL));
	assert_int_equal(trace_count(r), m.ev.n);
	seek_to_each(r, &m);
	trace_close(r);
	forget(&m);
	free(path);
	drop_dir(dir);
}

/* More chunks than one index chunk lists. */
static void a_long_index_is_in_pieces(void **state)
{
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	(void)state;
	three_processes(w);
	for (unsigned i = 0; i < 70000; i++) {
		put_random(w, &m, 1, 100);
		assert_ok(trace_writer_flush(w, &err));
	}
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	assert_true(trace_is_whole(r, NULL));
	assert_reads(r, &m, m.ev.n);
	for (unsigned i = 0; i < 1000; i++)
		assert_seeks(r, &m, rnd() % m.ev.n);
	trace_close(r);
	forget(&m);
	drop_dir(dir);
}

static void a_cut_trace_has_its_whole_chunks(void **state)
{
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir(), *path = file_in(dir, "trace");
	struct trace_writer *w = create(dir);
	uint64_t before = UINT64_MAX;
	(void)state;
	three_processes(w);
	put_random(w, &m, 200000, 100);
	assert_ok(trace_finish(w, &err));
	for (uint64_t size = file_size(dir) - 1; size > 500; size -= size / 40 + 1) {
		struct trace_reader *r;
		const char *why = NULL;
		assert_int_equal(truncate(path, (off_t)size), 0);
		r = reopen(dir);
		assert_false(trace_is_whole(r, &why));
		assert_non_null(strstr(why, "cut short"));
		assert_true(trace_count(r) <= before);
		before = trace_count(r);
		assert_true(before == m.ev.n || before % CHUNK_MAX_EVENTS == 0);
		assert_reads(r, &m, before);
		trace_close(r);
	}
	assert_int_equal(before, 0);
	assert_int_equal(truncate(path, 10), 0);
	assert_null(trace_open(dir, &err));
	forget(&m);
	free(path);
	drop_dir(dir);
}

/* With the index in place a damaged chunk is found when it is reached. */
static void damage_is_found_where_it_is(void **state)
{
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir(), *path = file_in(dir, "trace");
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	struct trace_event ev;
	uint64_t n = 0;
	int fd, got;
	(void)state;
	three_processes(w);
	put_random(w, &m, 200000, 100);
	assert_ok(trace_finish(w, &err));
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "?", 1, (off_t)file_size(dir) * 2 / 3), 1);
	close(fd);
	r = reopen(dir);
	assert_true(trace_is_whole(r, NULL));
	while ((got = trace_next(r, &ev, &err)) == 1)
		assert_same_event(&ev, &m.ev.p[n++]);
	assert_int_equal(got, -1);
	assert_non_null(strstr(err.text, "at offset"));
	assert_true(n > 0 && n % CHUNK_MAX_EVENTS == 0);
	assert_false(trace_is_whole(r, NULL));
	assert_int_equal(trace_next(r, &ev, &err), -1);
	assert_seeks(r, &m, 5);
	trace_close(r);
	forget(&m);
	free(path);
	drop_dir(dir);
}

/* --- definitions --- */

static void put_site(struct trace_writer *w, uint32_t process, uint32_t id, uint64_t ip)
{
	struct trace_site_def def = { .ip = ip, .class = TRACE_SITE_CLWB, .size = 64 };
	struct err err = { 0 };
	assert_ok(trace_put_site(w, process, id, &def, &err));
}

static void put_fence(struct trace_writer *w, uint32_t process, uint32_t site)
{
	struct trace_event ev = {
		.kind = TRACE_FENCE, .process = process, .site = site, .thread = 1
	};
	struct err err = { 0 };
	assert_ok(trace_put_event(w, &ev, &err));
}

static void assert_next_ip(struct trace_reader *r, uint64_t ip)
{
	struct trace_event ev;
	struct err err = { 0 };
	assert_int_equal(trace_next(r, &ev, &err), 1);
	assert_int_equal(ev.ip, ip);
}

/* Ids go on in a fork as they were at the fork, start afresh after exec, and may change. */
static void definitions_belong_to_processes(void **state)
{
	struct err err = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	uint32_t a, b, c;
	(void)state;
	a = put_process(w, 10, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	for (uint32_t i = 1; i < 1000; i++)
		put_site(w, a, i, 0x1000 + i);
	put_fence(w, a, 7);
	b = put_process(w, 11, a, TRACE_BIRTH_FORK);
	put_site(w, b, 1000, 0xb000);
	put_site(w, a, 1000, 0xa000);
	put_site(w, a, 8, 0xa008); /* gets another meaning, but not for the child */
	put_fence(w, a, 1000);
	put_fence(w, b, 1000);
	put_fence(w, b, 8);
	put_fence(w, a, 8);
	c = put_process(w, 10, a, TRACE_BIRTH_EXEC);
	put_fence(w, c, 7);
	put_site(w, a, 7, 0xa007); /* the event before keeps the old meaning */
	put_fence(w, a, 7);
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	assert_next_ip(r, 0x1007);
	assert_next_ip(r, 0xa000);
	assert_next_ip(r, 0xb000);
	assert_next_ip(r, 0x1008);
	assert_next_ip(r, 0xa008);
	assert_next_ip(r, 0);
	assert_next_ip(r, 0xa007);
	assert_int_equal(trace_site(trace_defs(r), b, 7)->class, TRACE_SITE_CLWB);
	assert_null(trace_site(trace_defs(r), c, 7));
	assert_null(trace_site(trace_defs(r), 99, 7));
	assert_int_equal(trace_process(trace_defs(r), b)->parent_index, a);
	assert_int_equal(trace_process(trace_defs(r), b)->first_event, 1);
	trace_close(r);
	drop_dir(dir);
}

static void other_definitions_come_back(void **state)
{
	struct err err = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = create(dir);
	char lib[] = "/lib/x.so", pool[] = "/dev/shm/pool";
	struct trace_module_def module = { .build_id_len = 3,
					   .build_id = { 1, 2, 3 },
					   .path = lib };
	struct trace_file_def file = { .dev = 5, .ino = UINT64_MAX, .size = 1 << 20, .path = pool };
	struct trace_ctx_def ctx = { .parent = 1, .call_ip = 0x401000, .target = 0x402000 };
	const struct trace_defs *d;
	struct trace_reader *r;
	uint32_t id;
	(void)state;
	put_process(w, 10, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	assert_ok(trace_put_module(w, 0, 3, &module, &err));
	assert_ok(trace_put_string(w, 0, 9, "pmemobj_tx_begin", &err));
	assert_ok(trace_put_file(w, &file, -1, &id, &err));
	assert_ok(trace_put_ctx(w, 0, 2, &ctx, &err));
	assert_int_equal(trace_put_ctx(w, 0, 1, &ctx, &err), -1); /* its own parent */
	assert_int_equal(trace_put_site(w, 0, UINT32_MAX, &(struct trace_site_def){ 0 }, &err), -1);
	put_fence(w, 0, 0);
	assert_ok(trace_put_ended(w, 0, &err));
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	assert_next_ip(r, 0);
	d = trace_defs(r);
	assert_string_equal(trace_module(d, 0, 3)->path, lib);
	assert_memory_equal(trace_module(d, 0, 3)->build_id, module.build_id, 3);
	assert_string_equal(trace_string(d, 0, 9), "pmemobj_tx_begin");
	assert_null(trace_string(d, 0, 8));
	assert_int_equal(trace_files(d), 1);
	assert_string_equal(trace_file(d, id)->path, pool);
	assert_true(trace_file(d, id)->ino == UINT64_MAX && !trace_file(d, id)->has_snapshot);
	assert_int_equal(trace_ctx(d, 0, 2)->target, 0x402000);
	assert_int_equal(trace_process(d, 0)->command_len, 9);
	assert_memory_equal(trace_process(d, 0)->command, "prog\0arg", 9);
	assert_int_equal(trace_process(d, 0)->ended, 1);
	trace_close(r);
	drop_dir(dir);
}

static void names_are_those_of_the_table(void **state)
{
	(void)state;
	assert_string_equal(trace_kind_name(TRACE_FILE_ALLOCATE), "file-allocate");
	assert_null(trace_kind_name(TRACE_KINDS));
	assert_string_equal(trace_arg_name(TRACE_MAP, 0), "addr");
	assert_string_equal(trace_arg_name(TRACE_MAP, 5), "flags");
	assert_null(trace_arg_name(TRACE_MAP, 6));
	assert_null(trace_arg_name(TRACE_FENCE, 0));
	assert_string_equal(trace_site_class_name(TRACE_SITE_CLWB), "clwb");
	assert_null(trace_site_class_name(TRACE_SITE_CLASSES));
	for (unsigned k = 0; k < TRACE_KINDS; k++) {
		assert_non_null(trace_kind_name(k));
		for (unsigned i = 0; i < trace_kind_args(k); i++)
			assert_true(*trace_arg_name(k, i));
		if (trace_file_arg(k) >= 0)
			assert_string_equal(trace_arg_name(k, (unsigned)trace_file_arg(k)), "file");
	}
}

/* --- trouble --- */

static void bad_folders_are_refused(void **state)
{
	struct err err = { 0 };
	char *dir = new_dir(), *sub = file_in(dir, "no/such"), *path = file_in(dir, "trace");
	(void)state;
	assert_null(trace_create(sub, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	assert_null(trace_open(dir, &err));
	trace_abandon(create(dir));
	assert_null(trace_create(dir, &err));
	assert_non_null(strstr(err.text, "exists"));
	assert_null(trace_create(path, &err));
	assert_null(trace_create("/proc/1/x", &err));
	free(sub);
	free(path);
	drop_dir(dir);
}

/* Writes until it fails; what was written before is there and is known to be not all. */
static void write_until_full(const char *dir)
{
	static uint8_t bytes[TRACE_MAX_PAYLOAD];
	struct err err = { 0 };
	struct memory m = { 0 };
	struct trace_writer *w = create(dir);
	struct trace_reader *r;
	const char *why = NULL;
	int bad = 0;
	three_processes(w);
	for (unsigned i = 0; !bad && i < 3000; i++) {
		struct trace_event ev = random_event(3, bytes, 1000);
		ev.size = 2000;
		ev.data = bytes;
		for (unsigned k = 0; k < ev.size; k++)
			bytes[k] = (uint8_t)rnd();
		bad = trace_put_event(w, &ev, &err);
		remember(&m, ev);
	}
	assert_int_equal(bad, -1);
	assert_int_equal(err.status, EXIT_INTERNAL);
	assert_non_null(strstr(err.text, dir));
	assert_int_equal(trace_put_event(w, &m.ev.p[0], &err), -1);
	assert_int_equal(trace_put_ended(w, 0, &err), -1);
	assert_int_equal(trace_finish(w, &err), -1);
	r = reopen(dir);
	assert_false(trace_is_whole(r, &why));
	assert_true(trace_count(r) > 0 && trace_count(r) < m.ev.n);
	assert_reads(r, &m, trace_count(r));
	trace_close(r);
	forget(&m);
}

/* Whoever kills the writer loses what came in the last 200 ms, and no more. */
static void what_has_waited_is_written(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct memory m = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = create(dir);
	struct timespec wait = { .tv_nsec = 200000000 };
	three_processes(w);
	put_random(w, &m, 10, 100);
	while (nanosleep(&wait, &wait))
		;
	assert_ok(trace_writer_idle(w, &err));
	struct trace_reader *r = reopen(dir);
	assert_int_equal(trace_count(r), 10);
	assert_reads(r, &m, 10);
	trace_close(r);
	trace_abandon(w);
	forget(&m);
	drop_dir(dir);
}

static void a_size_limit_leaves_whole_chunks(void **state)
{
	struct rlimit old, small = { 3000000, 0 };
	char *dir = new_dir();
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	write_until_full(dir);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	drop_dir(dir);
}

static void a_full_disk_leaves_whole_chunks(void **state)
{
	char *dir = new_dir(), *sub = file_in(dir, "t");
	(void)state;
	if (mount("holdfast-test", dir, "tmpfs", 0, "size=3m")) {
		free(sub);
		drop_dir(dir);
		skip(); /* needs root; the size limit is tested anyway */
	}
	write_until_full(sub);
	umount(dir);
	free(sub);
	drop_dir(dir);
}

static int own_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct buf *id = arg;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr),
			   *end = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && p < end) {
			const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)p;
			const char *name = p + sizeof *n, *desc = name + (n->n_namesz + 3) / 4 * 4;

			if (n->n_type == NT_GNU_BUILD_ID && !id->n)
				buf_add(id, desc, n->n_descsz);
			p = desc + (n->n_descsz + 3) / 4 * 4;
		}
	}
	return 1; /* the program itself comes first */
}

static void build_ids_are_found(void **state)
{
	struct buf want = { 0 };
	uint8_t id[32];
	(void)state;
	dl_iterate_phdr(own_build_id, &want);
	assert_int_equal(trace_build_id("/proc/self/exe", id), want.n);
	if (want.n)
		assert_memory_equal(id, want.p, want.n);
	assert_int_equal(trace_build_id("/etc/passwd", id), 0);
	assert_int_equal(trace_build_id("/etc", id), 0);
	assert_int_equal(trace_build_id("/no/such", id), 0);
	buf_free(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_come_back),
		cmocka_unit_test(an_empty_trace_is_whole),
		cmocka_unit_test(every_event_can_be_sought),
		cmocka_unit_test(a_long_index_is_in_pieces),
		cmocka_unit_test(a_cut_trace_has_its_whole_chunks),
		cmocka_unit_test(damage_is_found_where_it_is),
		cmocka_unit_test(definitions_belong_to_processes),
		cmocka_unit_test(other_definitions_come_back),
		cmocka_unit_test(names_are_those_of_the_table),
		cmocka_unit_test(bad_folders_are_refused),
		cmocka_unit_test(what_has_waited_is_written),
		cmocka_unit_test(a_size_limit_leaves_whole_chunks),
		cmocka_unit_test(a_full_disk_leaves_whole_chunks),
		cmocka_unit_test(build_ids_are_found),
	};
	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
