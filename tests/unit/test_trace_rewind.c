/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring under a fork server: records of symbolic execution, and one run after the other in the
 * same slot. The producer is in this process, so that every step is seen.
 */
#include "trace_producer.h"

#include "trace/internal.h"

struct seen {
	uint64_t events, first, last, addr;
	uint64_t syms, sym_num, sym_arg, sym_ip;
	uint8_t sym_kind;
};

static int on_event(void *arg, const struct trace_event *ev, struct err *err)
{
	struct seen *s = arg;
	(void)err;
	if (!s->events++)
		s->first = ev->num;
	s->last = ev->num;
	s->addr = ev->arg[0];
	return 0;
}

static int on_sym(void *arg, const struct trace_event *ev, struct err *err)
{
	struct seen *s = arg;
	(void)err;
	s->syms++;
	s->sym_kind = ev->kind;
	s->sym_num = ev->num;
	s->sym_arg = ev->arg[0];
	s->sym_ip = ev->ip;
	return 0;
}

static struct trace_live *start(struct producer *p, struct seen *s)
{
	struct err err = { 0 };
	struct trace_live *l = trace_live_new(NULL, on_event, s, &err);
	assert_non_null(l);
	trace_live_sym(l, on_sym);
	claim(p, trace_live_fd(l));
	announce(p, 1, TRACE_BIRTH_START);
	return l;
}

static void drain(struct trace_live *l)
{
	struct err err = { 0 };
	int n;
	while ((n = trace_live_poll(l, 0, &err)) > 0)
		;
	if (n < 0)
		fail_msg("%s", err.text);
}

static void put_site(struct producer *p, uint32_t site, uint64_t ip)
{
	put_rec(p, (struct rec){ .kind = TRACE_DEF_SITE,
				 .site = site,
				 .nargs = 3,
				 .arg = { ip, TRACE_SITE_OTHER, 0 } });
}

static void put_flush(struct producer *p, uint32_t site, uint64_t addr)
{
	put_rec(p, (struct rec){ .kind = TRACE_FLUSH, .site = site, .nargs = 1, .arg = { addr } });
}

static void put_branch(struct producer *p, uint32_t site, uint64_t node)
{
	put_rec(p, (struct rec){
			   .kind = TRACE_SYM_BRANCH, .site = site, .nargs = 4, .arg = { node } });
}

static void records_have_their_place(void **state)
{
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	(void)state;

	put_site(&p, 1, 0x1000);
	put_flush(&p, 1, 64);
	put_branch(&p, 1, 7);
	drain(l);
	assert_int_equal(s.events, 1);
	assert_int_equal(s.syms, 1);
	assert_int_equal(s.sym_kind, TRACE_SYM_BRANCH);
	assert_int_equal(s.sym_num, 1); /* the event that comes next */
	assert_int_equal(s.sym_arg, 7);
	assert_int_equal(s.sym_ip, 0x1000);
	trace_live_free(l);
}

/* Each run gets the numbers that follow on the prefix, and its own meaning of an id. */
static void runs_follow_on_the_prefix(void **state)
{
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	uint64_t prefix;
	(void)state;

	put_flush(&p, 1, 64);
	put_flush(&p, 1, 128);
	put_rec(&p, (struct rec){ .kind = TRACE_SYM_READY });
	drain(l);
	assert_true(trace_live_marked(l, &prefix));
	assert_int_equal(prefix, 2);

	struct producer server = p;
	for (unsigned run = 0; run < 3; run++) {
		s = (struct seen){ 0 };
		p = server;
		put_site(&p, 5, 0x5000 + run);
		for (unsigned i = 0; i <= run; i++)
			put_flush(&p, 5, 0x100 * run);
		put_branch(&p, 5, run);
		put_rec(&p, (struct rec){ .kind = TRACE_EXIT, .nargs = 2 });
		put_rec(&p, (struct rec){ .kind = TRACE_SYM_END });
		drain(l);
		assert_int_equal(s.events, run + 2);
		assert_int_equal(s.first, 2);
		assert_int_equal(s.last, run + 3);
		assert_int_equal(s.syms, 2);
		assert_int_equal(s.sym_kind, TRACE_SYM_END);
		assert_int_equal(trace_site(trace_live_defs(l), 0, 5)->ip, 0x5000 + run);
		assert_true(trace_process(trace_live_defs(l), 0)->ended);
		trace_live_rewind(l, server.head);
		assert_int_equal(trace_live_events(l), 2);
		assert_false(trace_process(trace_live_defs(l), 0)->ended);
		assert_int_equal(trace_live_running(l), 1);
	}
	assert_int_equal(trace_processes(trace_live_defs(l)), 1);
	trace_live_free(l);
}

/* A run may say more than the ring holds; the next begins where the server stands. */
static void long_runs(void **state)
{
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	(void)state;

	put_rec(&p, (struct rec){ .kind = TRACE_SYM_READY });
	drain(l);
	struct producer server = p;
	for (unsigned run = 0; run < 2; run++) {
		const uint64_t n = RING_BYTES / 24 * 3;
		s = (struct seen){ 0 };
		p = server;
		for (uint64_t i = 0; i < n; i++) {
			put_flush(&p, 0, i);
			if (i % 10000 == 0)
				drain(l);
		}
		drain(l);
		assert_int_equal(s.events, n);
		assert_int_equal(s.last, n - 1);
		assert_int_equal(s.addr, n - 1);
		trace_live_rewind(l, server.head);
	}
	trace_live_free(l);
}

static void put_def_file(struct producer *p, uint64_t id, const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	put_rec(p, (struct rec){ .kind = TRACE_DEF_FILE,
				 .nargs = 4,
				 .size = (uint32_t)strlen(path),
				 .data = path,
				 .arg = { id, st.st_dev, st.st_ino, UINT64_MAX } });
}

static void put_sync(struct producer *p, uint64_t file)
{
	put_rec(p, (struct rec){ .kind = TRACE_FILE_SYNC, .nargs = 4, .arg = { file } });
}

/* Files that a run has shown are not known in the next; those of the prefix are. */
static void files_of_runs(void **state)
{
	static const char *const path[] = { "/proc/self/exe", "/etc/passwd", "/etc/group" };
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	(void)state;

	put_def_file(&p, 0, path[0]);
	put_rec(&p, (struct rec){ .kind = TRACE_SYM_READY });
	drain(l);
	uint32_t answered = p.slot->answered;
	struct producer server = p;
	for (unsigned run = 0; run < 4; run++) {
		p = server;
		put_def_file(&p, 1, path[1 + run % 2]);
		put_sync(&p, 1);
		drain(l);
		assert_int_equal(s.addr, 1);
		assert_int_equal(trace_files(trace_live_defs(l)), 2);
		assert_string_equal(trace_file(trace_live_defs(l), 1)->path, path[1 + run % 2]);
		put_def_file(&p, 2, path[0]);
		put_sync(&p, 2);
		drain(l);
		assert_int_equal(p.slot->answered, answered + 2);
		trace_live_rewind(l, server.head);
		assert_int_equal(p.slot->answered, answered);
		assert_int_equal(trace_files(trace_live_defs(l)), 1);
	}
	trace_live_free(l);
}

/* The answer of holdfast. */
static uint32_t put_def_node(struct trace_live *l, struct producer *p, uint64_t id,
			     const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	put_rec(p, (struct rec){ .kind = TRACE_DEF_NODE,
				 .nargs = 5,
				 .size = (uint32_t)strlen(path) + 1,
				 .data = path,
				 .arg = { id, TRACE_IS_FILE | TRACE_IS_BARE, st.st_dev, st.st_ino,
					  UINT64_MAX } });
	drain(l);
	return p->slot->answer;
}

static void put_node_pm(struct producer *p, uint64_t id)
{
	put_rec(p, (struct rec){ .kind = TRACE_NODE_PM, .nargs = 2, .arg = { id, id } });
}

/* A node that is PM for somebody is so for all who come to know it; until the run is over. */
static void nodes_of_runs(void **state)
{
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	(void)state;

	assert_int_equal(put_def_node(l, &p, 0, "/etc/passwd"), RING_ANSWER_OK);
	put_rec(&p, (struct rec){ .kind = TRACE_SYM_READY });
	drain(l);
	struct producer server = p;
	for (unsigned run = 0; run < 3; run++) {
		p = server;
		assert_int_equal(put_def_node(l, &p, 1, "/etc/group"), RING_ANSWER_OK);
		assert_int_equal(put_def_node(l, &p, 2, "/etc/passwd"), RING_ANSWER_OK);
		put_def_file(&p, 0, "/etc/passwd");
		put_def_file(&p, 1, "/etc/group");
		put_node_pm(&p, 0);
		put_node_pm(&p, 1);
		assert_int_equal(put_def_node(l, &p, 3, "/etc/passwd"), RING_ANSWER_PM);
		assert_int_equal(put_def_node(l, &p, 4, "/etc/group"), RING_ANSWER_PM);
		assert_int_equal(trace_nodes(trace_live_defs(l)), 2);
		trace_live_rewind(l, server.head);
		assert_int_equal(trace_nodes(trace_live_defs(l)), 1);
	}
	trace_live_free(l);
}

static void reset_forgets(void **state)
{
	struct seen s = { 0 };
	struct producer p;
	struct trace_live *l = start(&p, &s);
	uint64_t prefix;
	(void)state;

	for (unsigned run = 0; run < 3; run++) {
		s = (struct seen){ 0 };
		put_def_file(&p, 0, "/etc/passwd");
		put_site(&p, 1, 0x1000 + run);
		put_flush(&p, 1, 64);
		put_rec(&p, (struct rec){ .kind = TRACE_SYM_READY, .flags = SYM_READY_ALONE });
		drain(l);
		assert_int_equal(s.first, 0);
		assert_int_equal(trace_processes(trace_live_defs(l)), 1);
		assert_int_equal(trace_files(trace_live_defs(l)), 1);
		assert_int_equal(trace_site(trace_live_defs(l), 0, 1)->ip, 0x1000 + run);
		trace_live_reset(l);
		assert_int_equal(trace_live_running(l), 0);
		assert_false(trace_live_marked(l, &prefix));
		claim(&p, trace_live_fd(l));
		announce(&p, 1, TRACE_BIRTH_START);
	}
	trace_live_free(l);
}

/* Lengths that do not fit the kind are nonsense, as for any other record. */
static void malformed_records(void **state)
{
	(void)state;
	for (unsigned kind = TRACE_SYM_FIRST; kind <= TRACE_SYM_LAST + 1; kind++) {
		struct err err = { 0 };
		struct seen s = { 0 };
		struct producer p;
		struct trace_live *l = start(&p, &s);
		put_rec(&p, (struct rec){ .kind = (uint8_t)kind, .nargs = 6 });
		assert_int_equal(trace_live_poll(l, 0, &err), -1);
		assert_int_equal(s.syms, 0);
		trace_live_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_have_their_place),
		cmocka_unit_test(runs_follow_on_the_prefix),
		cmocka_unit_test(long_runs),
		cmocka_unit_test(files_of_runs),
		cmocka_unit_test(nodes_of_runs),
		cmocka_unit_test(reset_forgets),
		cmocka_unit_test(malformed_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
