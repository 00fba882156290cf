/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images: files rebuilt from a trace against the same changes made to plain memory, and
 * initial contents that are sparse and have equal pages.
 */
#include <linux/falloc.h>
#include <sys/mman.h>

#include "trace_util.h"

#define FILES 2
#define MOST (1u << 20) /* no file gets longer */
#define PAGE 4096u

/* The slow twin: each file is an array. */
struct twin {
	struct trace_writer *w;
	uint8_t bytes[FILES][2 * MOST];
	uint64_t size[FILES];
	/* What each process has mapped: whole files, at addresses of its own. */
	struct {
		uint64_t addr[FILES]; /* 0: not mapped */
	} process[8];
	uint32_t processes;
};

static void put(struct twin *t, struct trace_event ev)
{
	struct err err = { 0 };
	ev.nargs = (uint8_t)trace_kind_args(ev.kind);
	ev.thread = 1;
	assert_ok(trace_put_event(t->w, &ev, &err));
}

static void do_map(struct twin *t, uint32_t p, unsigned f)
{
	uint64_t addr = PM + (rnd() % 64) * 4 * MOST;
	for (unsigned i = 0; i < FILES; i++) /* a mapping replaces what was there */
		if (t->process[p].addr[i] == addr)
			t->process[p].addr[i] = 0;
	if (t->process[p].addr[f]) /* one mapping of a file at a time keeps the twin simple */
		put(t, (struct trace_event){ .kind = TRACE_UNMAP,
					     .process = p,
					     .arg = { t->process[p].addr[f], MOST } });
	t->process[p].addr[f] = addr;
	put(t, (struct trace_event){
		       .kind = TRACE_MAP,
		       .process = p,
		       .flags = TRACE_F_PM,
		       .arg = { addr, MOST, f, 0, PROT_READ | PROT_WRITE, MAP_SHARED } });
}

static void do_unmap(struct twin *t, uint32_t p, unsigned f)
{
	if (!t->process[p].addr[f])
		return;
	put(t, (struct trace_event){
		       .kind = TRACE_UNMAP, .process = p, .arg = { t->process[p].addr[f], MOST } });
	t->process[p].addr[f] = 0;
}

static void do_store(struct twin *t, uint32_t p, unsigned f)
{
	uint8_t data[100];
	uint32_t n = 1 + (uint32_t)(rnd() % sizeof data);
	uint64_t off;
	if (!t->size[f])
		return;
	off = rnd() % t->size[f];
	for (uint32_t i = 0; i < n; i++)
		data[i] = (uint8_t)rnd();
	put(t, (struct trace_event){
		       .kind = TRACE_STORE,
		       .process = p,
		       .size = n,
		       .data = data,
		       .arg = { (t->process[p].addr[f] ? t->process[p].addr[f] : PM - 16 * MOST) +
				off } });
	if (!t->process[p].addr[f])
		return; /* to memory that is not persistent */
	for (uint32_t i = 0; i < n && off + i < t->size[f]; i++)
		t->bytes[f][off + i] = data[i];
}

static void do_write(struct twin *t, uint32_t p, unsigned f)
{
	static uint8_t data[9000];
	uint32_t n = (uint32_t)(rnd() % sizeof data);
	uint64_t off = rnd() % (MOST - sizeof data);
	for (uint32_t i = 0; i < n; i++)
		data[i] = rnd() % 3 ? 0 : (uint8_t)rnd();
	put(t, (struct trace_event){ .kind = TRACE_FILE_WRITE,
				     .process = p,
				     .size = n,
				     .data = data,
				     .arg = { f, off } });
	memcpy(t->bytes[f] + off, data, n);
	if (n && off + n > t->size[f])
		t->size[f] = off + n;
}

static void do_truncate(struct twin *t, uint32_t p, unsigned f)
{
	uint64_t size = rnd() % MOST;
	put(t,
	    (struct trace_event){ .kind = TRACE_FILE_TRUNCATE, .process = p, .arg = { f, size } });
	memset(t->bytes[f] + size, 0, sizeof t->bytes[f] - size);
	t->size[f] = size;
}

static void do_allocate(struct twin *t, uint32_t p, unsigned f)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE };
	unsigned mode = (unsigned)modes[rnd() % 4];
	uint64_t off = rnd() % (MOST / 2), len = 1 + rnd() % (rnd() % 2 ? 5000 : MOST / 2 - 1);
	put(t, (struct trace_event){
		       .kind = TRACE_FILE_ALLOCATE, .process = p, .arg = { f, mode, off, len } });
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		memset(t->bytes[f] + off, 0, len);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && off + len > t->size[f])
		t->size[f] = off + len;
}

static void do_move(struct twin *t, uint32_t p, unsigned f)
{
	uint64_t pages = t->size[f] / PAGE, off, len;
	bool insert = t->size[f] + 3 * PAGE < MOST && rnd() % 2;
	uint8_t *b = t->bytes[f];
	if (pages < 10)
		return;
	off = rnd() % (pages - 5) * PAGE;
	len = (1 + rnd() % 3) * PAGE;
	put(t, (struct trace_event){
		       .kind = TRACE_FILE_ALLOCATE,
		       .process = p,
		       .arg = { f, insert ? FALLOC_FL_INSERT_RANGE : FALLOC_FL_COLLAPSE_RANGE, off,
				len } });
	if (insert) {
		memmove(b + off + len, b + off, t->size[f] - off);
		memset(b + off, 0, len);
		t->size[f] += len;
	} else {
		memmove(b + off, b + off + len, t->size[f] - off - len);
		t->size[f] -= len;
		memset(b + t->size[f], 0, len);
	}
}

/* A fork has its parent's mappings, whichever of the two is heard first. */
static void do_fork(struct twin *t, uint32_t p)
{
	uint32_t pid = 1000 + t->processes;
	struct trace_event ev = { .kind = TRACE_FORK, .process = p, .arg = { pid } };
	bool parent_first = rnd() % 2;
	if (t->processes == 8)
		return;
	t->process[t->processes] = t->process[p];
	if (parent_first) {
		put(t, ev);
		do_unmap(t, p, 0); /* after the fork: the child still has it */
	}
	put_process(t->w, pid, p, TRACE_BIRTH_FORK);
	if (!parent_first)
		put(t, ev);
	t->processes++;
}

static void do_something(struct twin *t)
{
	uint32_t p = (uint32_t)(rnd() % t->processes);
	unsigned f = rnd() % FILES;
	switch (rnd() % 40) {
	case 0: do_map(t, p, f); break;
	case 1: do_unmap(t, p, f); break;
	case 2: do_truncate(t, p, f); break;
	case 3: do_allocate(t, p, f); break;
	case 4:
	case 5: do_write(t, p, f); break;
	case 6: do_move(t, p, f); break;
	case 7:
		if (rnd() % 20 == 0)
			do_fork(t, p);
		break;
	default: do_store(t, p, f);
	}
}

static void assert_same_file(const struct trace_image *im, unsigned f, const uint8_t *want,
			     uint64_t size)
{
	uint8_t *got = xmalloc(size + 1);
	assert_int_equal(trace_image_size(im, f), size);
	assert_int_equal(trace_image_read(im, f, 0, got, size), 0);
	assert_int_equal(trace_image_read(im, f, 0, got, size + 1), -1);
	for (uint64_t i = 0; i < size; i++)
		if (got[i] != want[i])
			fail_msg("file %u differs at %llu", f, (unsigned long long)i);
	free(got);
}

/* Random initial contents: some holes, some pages alike. */
static int initial_file(struct twin *t, const char *path, unsigned f)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	t->size[f] = MOST / 2 + rnd() % PAGE;
	assert_int_equal(ftruncate(fd, (off_t)t->size[f]), 0);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t at = rnd() % (t->size[f] / PAGE) * PAGE;
		memset(t->bytes[f] + at, (int)(rnd() % 4), PAGE);
		t->bytes[f][at + rnd() % PAGE] = (uint8_t)rnd();
		assert_int_equal(pwrite(fd, t->bytes[f] + at, PAGE, (off_t)at), PAGE);
	}
	t->bytes[f][t->size[f] - 1] = 1; /* the last page is not a whole one */
	assert_int_equal(pwrite(fd, "\1", 1, (off_t)t->size[f] - 1), 1);
	return fd;
}

static void start(struct twin *t, const char *dir)
{
	char *path = xasprintf("%s.pool", dir);
	struct err err = { 0 };
	memset(t, 0, sizeof *t);
	t->w = trace_create(dir, &err);
	assert_non_null(t->w);
	t->processes = 1;
	put_process(t->w, 999, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	for (unsigned f = 0; f < FILES; f++) {
		struct trace_file_def def = { .ino = f, .path = path };
		int fd = initial_file(t, path, f);
		uint32_t id;
		def.size = t->size[f];
		assert_ok(trace_put_file(t->w, &def, fd, &id, &err));
		assert_int_equal(id, f);
		close(fd);
		do_map(t, 0, f);
	}
	unlink(path);
	free(path);
}

static void an_image_is_what_memory_was(void **state)
{
	static struct twin t;
	struct err err = { 0 };
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		char *dir = new_dir();
		struct trace_reader *r;
		struct trace_image *im;
		start(&t, dir);
		for (unsigned i = 0; i < 4000; i++)
			do_something(&t);
		assert_ok(trace_finish(t.w, &err));
		r = trace_open(dir, &err);
		assert_non_null(r);
		im = trace_image_new(r, &err);
		assert_non_null(im);
		assert_ok(trace_image_run(im, trace_count(r) / 2, &err)); /* in two steps */
		assert_ok(trace_image_run(im, UINT64_MAX, &err));
		for (unsigned f = 0; f < FILES; f++)
			assert_same_file(im, f, t.bytes[f], t.size[f]);
		trace_image_free(im);
		trace_close(r);
		drop_dir(dir);
	}
}

/* The whole of a sparse file, as the image writes it, against the file. */
static void assert_same_sparse(const char *a, const char *b, const uint64_t *at, size_t n)
{
	int fa = open(a, O_RDONLY), fb = open(b, O_RDONLY);
	struct stat sa, sb;
	assert_int_equal(fstat(fa, &sa) | fstat(fb, &sb), 0);
	assert_true(sa.st_size == sb.st_size);
	assert_true(sb.st_blocks * 512 < 1 << 20);
	for (size_t i = 0; i < n; i++) {
		char pa[2 * PAGE], pb[2 * PAGE];
		ssize_t na = pread(fa, pa, sizeof pa, (off_t)at[i]);
		assert_int_equal(na, pread(fb, pb, sizeof pb, (off_t)at[i]));
		assert_memory_equal(pa, pb, (size_t)na);
	}
	close(fa);
	close(fb);
}

static void sparse_files_and_equal_pages_are_small(void **state)
{
	static const uint64_t at[] = { 0, 1 << 20, 3ull << 30, (4ull << 30) - 2 * PAGE };
	struct err err = { 0 };
	char *dir = new_dir(), *pool = xasprintf("%s.pool", dir), *copy = xasprintf("%s.copy", dir);
	struct trace_writer *w = trace_create(dir, &err);
	struct trace_file_def def = { .size = 4ull << 30, .path = pool };
	int fd = open(pool, O_RDWR | O_CREAT, 0666);
	struct trace_reader *r;
	struct trace_image *im;
	uint8_t page[PAGE];
	uint32_t id;
	(void)state;
	put_process(w, 1, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	for (unsigned i = 0; i < PAGE; i++)
		page[i] = (uint8_t)rnd();
	assert_int_equal(ftruncate(fd, 4ll << 30), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pwrite(fd, page, PAGE, (off_t)at[i]), PAGE);
	for (unsigned i = 0; i < 50; i++) /* the same file many times is stored once */
		assert_ok(trace_put_file(w, &def, fd, &id, &err));
	assert_ok(trace_finish(w, &err));
	assert_true(file_size(dir) < 3 * PAGE + 50 * 200);
	r = trace_open(dir, &err);
	im = trace_image_new(r, &err);
	assert_non_null(im);
	assert_ok(trace_image_write_file(im, 49, copy, &err));
	assert_same_sparse(pool, copy, at, 4);
	assert_int_equal(trace_image_write_file(im, 50, copy, &err), -1);
	trace_image_free(im);
	trace_close(r);
	close(fd);
	unlink(pool);
	unlink(copy);
	free(pool);
	free(copy);
	drop_dir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_what_memory_was),
		cmocka_unit_test(sparse_files_and_equal_pages_are_small),
	};
	return cmocka_run_group_tests_name("trace-image", tests, NULL, NULL);
}
