/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lines are read before they are written, from events as a tracer makes them. */
#include "trace_util.h"

#define POOL 0x10000u  /* where the first file is mapped */
#define OTHER 0x90000u /* … and the second */
#define MAPPED 8192u

static struct err err;

/* A run: definitions, what is made of its events, and their number. */
struct run {
	char *dir;
	struct trace_writer *w;
	struct trace_reads *reads;
	uint64_t num;
};

static uint32_t add_process(struct run *r, uint32_t pid, uint32_t parent, enum trace_birth birth)
{
	static char command[] = "recover";
	struct trace_process_def def = { .pid = pid,
					 .parent_index = parent,
					 .birth = (uint8_t)birth,
					 .command = command,
					 .command_len = sizeof command };
	uint32_t index;
	assert_int_equal(trace_put_process(r->w, &def, &index, &err), 0);
	return index;
}

static void add_file(struct run *r, char *path)
{
	struct trace_file_def def = { .ino = r->num + 1, .size = MAPPED, .path = path };
	uint32_t id;
	assert_int_equal(trace_put_file(r->w, &def, -1, &id, &err), 0);
}

static void event(struct run *r, uint8_t kind, uint32_t process, uint64_t a, uint64_t b, uint64_t c,
		  uint32_t size)
{
	static const uint8_t data[4096];
	struct trace_event e = { .num = r->num++,
				 .kind = kind,
				 .process = process,
				 .thread = 1,
				 .arg = { a, b, c },
				 .size = size,
				 .data = data };
	if (trace_reads_event(r->reads, &e, &err))
		fail_msg("%s", err.text);
}

static void load(struct run *r, uint32_t process, uint64_t addr, uint64_t len)
{
	event(r, TRACE_LOAD, process, addr, len, 0, 0);
}

static void store(struct run *r, uint32_t process, uint64_t addr, uint32_t len)
{
	event(r, TRACE_STORE, process, addr, 0, 0, len);
}

static struct run begin(void)
{
	static char pool[] = "/pm/pool", other[] = "/pm/other";
	struct run r = { 0 };
	r.dir = new_dir();
	r.w = trace_create(r.dir, &err);
	assert_non_null(r.w);
	r.reads = trace_reads_new(trace_writer_known(r.w));
	add_process(&r, 100, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	add_file(&r, pool);
	r.num++;
	add_file(&r, other);
	event(&r, TRACE_MAP, 0, POOL, MAPPED, 0, 0);
	event(&r, TRACE_MAP, 0, OTHER, MAPPED, 1, 0);
	return r;
}

/* "FILE:OFFSET …" of all that was read, then forgets the run. */
static void ends_with(struct run *r, const char *expected)
{
	struct buf b = { 0 };
	size_t n;
	const struct trace_read *all = trace_reads_all(r->reads, &n);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%u:%llu", i ? " " : "", all[i].file,
			   (unsigned long long)all[i].off);
	buf_add(&b, "", 1);
	assert_string_equal(b.p, expected);
	buf_free(&b);
	trace_reads_free(r->reads);
	trace_abandon(r->w);
	drop_dir(r->dir);
}

static void test_in_the_order_of_first_reads(void **state)
{
	struct run r = begin();
	(void)state;
	load(&r, 0, POOL + 640 + 8, 8);
	load(&r, 0, OTHER + 64, 1);
	load(&r, 0, POOL, 4);
	load(&r, 0, POOL + 640, 64); /* again */
	load(&r, 0, 0x5000, 8);      /* nowhere */
	ends_with(&r, "0:640 1:64 0:0");
}

static void test_what_is_written_first_is_not_read(void **state)
{
	struct run r = begin();
	(void)state;
	store(&r, 0, POOL + 128, 8);
	load(&r, 0, POOL + 128, 8);
	load(&r, 0, POOL + 132, 4);
	store(&r, 0, POOL + 64, 64);
	load(&r, 0, POOL + 64, 64);
	load(&r, 0, POOL + 124, 8); /* to the end of what is written, and into it */
	ends_with(&r, "");
}

static void test_a_byte_beside_what_is_written(void **state)
{
	struct run r = begin();
	(void)state;
	store(&r, 0, POOL + 128, 8);
	load(&r, 0, POOL + 132, 5);
	store(&r, 0, POOL + 192, 63);
	load(&r, 0, POOL + 192, 64);
	ends_with(&r, "0:128 0:192");
}

static void test_accesses_across_lines_and_mappings(void **state)
{
	struct run r = begin();
	(void)state;
	load(&r, 0, POOL + 60, 200);
	load(&r, 0, POOL + MAPPED - 4, 8); /* the rest is not mapped */
	ends_with(&r, "0:0 0:64 0:128 0:192 0:256 0:8128");
}

static void test_system_calls(void **state)
{
	struct run r = begin();
	(void)state;
	event(&r, TRACE_FILE_WRITE, 0, 1, 0, 0, 100);
	event(&r, TRACE_FILE_READ, 0, 1, 0, 128, 0);
	load(&r, 0, OTHER, 8);
	event(&r, TRACE_FILE_READ, 0, TRACE_NO_FILE, 0, 128, 0);
	ends_with(&r, "1:64");
}

static void test_mappings_change(void **state)
{
	struct run r = begin();
	(void)state;
	event(&r, TRACE_UNMAP, 0, POOL, 4096, 0, 0);
	load(&r, 0, POOL, 8);
	load(&r, 0, POOL + 4096, 8);
	event(&r, TRACE_MAP, 0, POOL, 4096, 1, 0);
	load(&r, 0, POOL + 64, 8);
	ends_with(&r, "0:4096 1:64");
}

/* A child reads through what its parent had mapped when it forked, whenever it is heard. */
static void test_forks(void **state)
{
	struct run r = begin();
	uint32_t early, late;
	(void)state;
	early = add_process(&r, 101, 0, TRACE_BIRTH_FORK); /* its events come before the fork's */
	load(&r, early, POOL, 8);
	event(&r, TRACE_FORK, 0, 101, 0, 0, 0);
	event(&r, TRACE_FORK, 0, 102, 0, 0, 0);
	event(&r, TRACE_UNMAP, 0, POOL, MAPPED, 0, 0);
	load(&r, 0, POOL + 64, 8);
	late = add_process(&r, 102, 0, TRACE_BIRTH_FORK);
	load(&r, late, POOL + 128, 8);
	load(&r, early, POOL + 192, 8);
	event(&r, TRACE_FORK, 0, 102, 0, 0, 0); /* the number again */
	late = add_process(&r, 102, 0, TRACE_BIRTH_FORK);
	load(&r, late, POOL + 256, 8);
	ends_with(&r, "0:0 0:128 0:192");
}

/* A byte is read before it is written, or written before it is read, or neither; never both. */
static void test_byte_by_byte(void **state)
{
	struct run r = begin();
	const struct trace_read *read, *written;
	size_t n;
	(void)state;
	store(&r, 0, POOL + 64, 4);
	load(&r, 0, POOL + 62, 4);  /* two before it, two of it */
	store(&r, 0, POOL + 60, 4); /* two of these were read */
	store(&r, 0, OTHER, 1);
	read = trace_reads_all(r.reads, &n);
	assert_int_equal(n, 1);
	assert_int_equal(read[0].off, 0);
	assert_int_equal(read[0].bytes, 3ull << 62);
	written = trace_reads_overwritten(r.reads, &n);
	assert_int_equal(n, 3);
	assert_int_equal(written[0].off, 64);
	assert_int_equal(written[0].bytes, 0xf);
	assert_int_equal(written[1].off, 0);
	assert_int_equal(written[1].bytes, 3ull << 60);
	assert_int_equal(written[2].file, 1);
	ends_with(&r, "0:0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_order_of_first_reads),
		cmocka_unit_test(test_what_is_written_first_is_not_read),
		cmocka_unit_test(test_a_byte_beside_what_is_written),
		cmocka_unit_test(test_accesses_across_lines_and_mappings),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_mappings_change),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_byte_by_byte),
	};
	return cmocka_run_group_tests_name("trace_reads", tests, NULL, NULL);
}
