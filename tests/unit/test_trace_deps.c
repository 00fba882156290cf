/* SPDX-License-Identifier: BSD-3-Clause */
/* Dependences, from events as a tracer makes them, through a file. */
#include "trace_util.h"

static struct err err;

struct run {
	char *dir;
	struct trace_writer *w;
	struct trace_reader *r;
	struct trace_deps *deps;
	struct trace_dep dep;
	struct trace_event ev;
};

static void add_process(struct run *r, uint32_t parent, enum trace_birth birth)
{
	static char command[] = "app";
	struct trace_process_def def = { .pid = 100 + parent + 1,
					 .parent_index = parent,
					 .birth = (uint8_t)birth,
					 .command = command,
					 .command_len = sizeof command };
	uint32_t index;
	assert_ok(trace_put_process(r->w, &def, &index, &err));
}

static struct run begin(void)
{
	struct run r = { .dir = new_dir() };
	r.w = trace_create(r.dir, &err);
	assert_non_null(r.w);
	add_process(&r, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	return r;
}

static void put(struct run *r, struct trace_event e)
{
	e.nargs = (uint8_t)trace_kind_args(e.kind);
	e.thread = e.thread ? e.thread : 1;
	assert_ok(trace_put_event(r->w, &e, &err));
}

static void frame(struct run *r, uint32_t thread, uint64_t id, uint64_t parent, uint64_t call)
{
	put(r, (struct trace_event){
		       .kind = TRACE_FRAME, .thread = thread, .arg = { id, parent, call } });
}

static void load(struct run *r, uint32_t process, uint64_t addr, uint64_t size)
{
	put(r,
	    (struct trace_event){ .kind = TRACE_LOAD, .process = process, .arg = { addr, size } });
}

static void store(struct run *r, uint64_t addr)
{
	static const uint8_t data[8];
	put(r,
	    (struct trace_event){ .kind = TRACE_STORE, .arg = { addr }, .size = 8, .data = data });
}

static void labels(struct run *r, uint8_t kind, uint8_t flags, const uint32_t *distance, uint32_t n)
{
	put(r, (struct trace_event){ .kind = kind,
				     .flags = flags,
				     .arg = { 0x4000 },
				     .size = n * 4,
				     .data = (const uint8_t *)distance });
}

static void read_back(struct run *r)
{
	assert_ok(trace_finish(r->w, &err));
	r->r = trace_open(r->dir, &err);
	assert_non_null(r->r);
	r->deps = trace_deps_new();
}

/* The next event that has dependences. */
static void next(struct run *r, uint8_t kind)
{
	int got = 0;
	while (!got) {
		assert_int_equal(trace_next(r->r, &r->ev, &err), 1);
		got = trace_deps_event(r->deps, &r->ev, &r->dep, &err);
	}
	assert_int_equal(got, 1);
	assert_int_equal(r->ev.kind, kind);
}

static void end(struct run *r)
{
	trace_deps_free(r->deps);
	trace_close(r->r);
	drop_dir(r->dir);
}

static void test_labels_are_loads(void **state)
{
	struct run r = begin();
	(void)state;
	frame(&r, 1, 1, 0, 0);
	load(&r, 0, PM, 8);
	load(&r, 0, PM + 64, 4);
	labels(&r, TRACE_DEP, TRACE_DEP_FLAGS(2, 1), (uint32_t[]){ 1, 2, 2 }, 3);
	store(&r, PM + 128);
	store(&r, PM + 192);
	labels(&r, TRACE_BRANCH, 1, (uint32_t[]){ 1 }, 1);
	read_back(&r);
	next(&r, TRACE_LOAD);
	assert_false(r.dep.ndata || r.dep.naddr);
	next(&r, TRACE_LOAD);
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.activation, 1);
	assert_int_equal(r.dep.ndata, 2);
	assert_int_equal(r.dep.data[0].addr, PM + 64);
	assert_int_equal(r.dep.data[0].size, 4);
	assert_int_equal(r.dep.data[1].num, 1);
	assert_int_equal(r.dep.naddr, 1);
	assert_int_equal(r.dep.addr[0].addr, PM);
	next(&r, TRACE_STORE); /* the DEP was the other store's */
	assert_false(r.dep.ndata || r.dep.naddr);
	next(&r, TRACE_BRANCH);
	assert_int_equal(r.dep.ndata, 1);
	assert_int_equal(r.dep.data[0].addr, PM + 64);
	assert_true(trace_deps_any(r.deps));
	end(&r);
}

static void test_processes_count_their_own(void **state)
{
	struct run r = begin();
	(void)state;
	load(&r, 0, PM, 8);
	add_process(&r, 0, TRACE_BIRTH_FORK);
	load(&r, 1, PM + 64, 8);
	labels(&r, TRACE_DEP, TRACE_DEP_FLAGS(2, 0), (uint32_t[]){ 1, 2 }, 2); /* 2: too far back */
	store(&r, PM + 128);
	read_back(&r);
	next(&r, TRACE_LOAD);
	next(&r, TRACE_LOAD);
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.ndata, 1);
	assert_int_equal(r.dep.data[0].addr, PM);
	assert_false(trace_deps_any(r.deps));
	end(&r);
}

static void is_in(const struct run *r, uint32_t id, uint64_t call)
{
	const struct trace_activation *a = trace_deps_activation(r->deps, 0, id);
	assert_non_null(a);
	assert_int_equal(a->call, call);
}

static void test_activations(void **state)
{
	struct run r = begin();
	(void)state;
	frame(&r, 1, 1, 0, 0);
	frame(&r, 1, 2, 1, 0x1000);
	frame(&r, 1, 3, 2, 0x2000);
	store(&r, PM);
	frame(&r, UINT32_MAX, 4, 0, 0); /* another thread */
	store(&r, PM);
	frame(&r, 1, 2, 1, 0x1000); /* back in the caller */
	store(&r, PM);
	frame(&r, 1, 5, 2, 0x3000);
	store(&r, PM);
	read_back(&r);
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.activation, 3);
	is_in(&r, 3, 0x2000);
	is_in(&r, 2, 0x1000);
	is_in(&r, 1, 0);
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.activation, 4);
	assert_null(trace_deps_activation(r.deps, 0, 3));
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.activation, 2);
	assert_null(trace_deps_activation(r.deps, 0, 3));
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.activation, 5);
	is_in(&r, 5, 0x3000);
	is_in(&r, 1, 0);
	assert_null(trace_deps_activation(r.deps, 9, 1));
	end(&r);
}

static void test_only_recent_loads(void **state)
{
	const uint32_t n = (1u << 18) + 10;
	struct run r = begin();
	(void)state;
	for (uint32_t i = 0; i < n; i++)
		load(&r, 0, PM + i * 8, 8);
	labels(&r, TRACE_DEP, TRACE_DEP_FLAGS(3, 0), (uint32_t[]){ n, 1, 1u << 18 }, 3);
	store(&r, PM);
	read_back(&r);
	for (uint32_t i = 0; i < n; i++)
		next(&r, TRACE_LOAD);
	next(&r, TRACE_STORE);
	assert_int_equal(r.dep.ndata, 2);
	assert_int_equal(r.dep.data[0].addr, PM + (n - 1) * 8);
	assert_int_equal(r.dep.data[1].addr, PM + 10 * 8);
	end(&r);
}

static void test_nonsense_is_refused(void **state)
{
	static const struct {
		uint8_t kind, flags;
		uint32_t n;
	} bad[] = { { TRACE_DEP, TRACE_DEP_FLAGS(2, 0), 1 },
		    { TRACE_DEP, TRACE_DEP_FLAGS(9, 0), 9 },
		    { TRACE_DEP, TRACE_DEP_FLAGS(0, 9), 9 },
		    { TRACE_BRANCH, 1, 2 } };
	static const uint32_t distance[9] = { 1 };
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct run r = begin();
		labels(&r, bad[i].kind, bad[i].flags, distance, bad[i].n);
		read_back(&r);
		assert_int_equal(trace_next(r.r, &r.ev, &err), 1);
		assert_int_equal(trace_deps_event(r.deps, &r.ev, &r.dep, &err), -1);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels_are_loads),
		cmocka_unit_test(test_processes_count_their_own),
		cmocka_unit_test(test_activations),
		cmocka_unit_test(test_only_recent_loads),
		cmocka_unit_test(test_nonsense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
