/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring with real producers: forked children that write records as a tracer does, fill
 * the ring, ask, fork, die, and write nonsense.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "trace_producer.h"

#include "trace/internal.h"

struct seen {
	struct memory m;
	uint64_t count, bad;
	bool keep;   /* remember the events, else only count them */
	bool refuse; /* the sink fails */
};

static int sink(void *arg, const struct trace_event *ev, struct err *err)
{
	struct seen *s = arg;
	s->bad += ev->num != s->count++;
	if (s->keep)
		remember(&s->m, *ev);
	return s->refuse ? err_set(err, EXIT_INTERNAL, "refused") : 0;
}

static struct trace_live *start(struct trace_writer *w, struct seen *s)
{
	struct err err = { 0 };
	struct trace_live *l = trace_live_new(w, s ? sink : NULL, s, &err);
	if (!l)
		fail_msg("%s", err.text);
	return l;
}

typedef void produce(struct producer *p, void *arg);

static pid_t spawn(struct trace_live *l, produce *fn, void *arg)
{
	pid_t pid = fork();
	if (pid == 0) {
		struct producer p;
		alarm(120);
		claim(&p, trace_live_fd(l));
		fn(&p, arg);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* Until all slots are free again; fails if that takes too long. */
static void poll_to_end(struct trace_live *l)
{
	struct err err = { 0 };
	time_t limit = time(NULL) + 3600;
	do {
		if (trace_live_poll(l, 50, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(time(NULL) < limit);
	} while (trace_live_running(l));
}

/* A child need not have claimed its slot when the parent first looks. */
static void poll_child(struct trace_live *l, pid_t pid)
{
	int status;
	while (!trace_live_running(l) && waitpid(pid, &status, WNOHANG) == 0)
		usleep(1000);
	poll_to_end(l);
	waitpid(pid, &status, 0);
	poll_to_end(l);
}

static struct trace_reader *reopen(const char *dir)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_open(dir, &err);
	if (!r)
		fail_msg("%s", err.text);
	return r;
}

/* --- many records --- */

#define MANY 1000000u

static struct rec nth(uint64_t i, uint64_t *value)
{
	struct rec r = { .kind = TRACE_STORE,
			 .nargs = 1,
			 .site = (uint32_t)(1 + i % 5),
			 .ctx = 2,
			 .size = 8,
			 .arg = { PM + i % 1000 * 8 },
			 .data = value };
	*value = i * 0x9e3779b97f4a7c15u;
	if (i % 7 == 3)
		r = (struct rec){ .kind = TRACE_FENCE, .site = 9 };
	if (i % 1000 == 999) {
		static const uint8_t big[5000] = { 1, 2, 3 };
		r.size = (uint32_t)(i / 1000 % sizeof big);
		r.data = big;
		r.kind = TRACE_FILE_RENAME;
		r.nargs = 1;
	}
	return r;
}

static void produce_many(struct producer *p, void *arg)
{
	uint64_t value;
	(void)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (uint32_t i = 1; i <= 9; i++)
		put_rec(p, (struct rec){ .kind = TRACE_DEF_SITE,
					 .nargs = 3,
					 .site = i,
					 .arg = { 0x1000 + i, TRACE_SITE_STORE, 8 } });
	for (uint64_t i = 0; i < MANY; i++) {
		if (i % 100000 == 0)
			put_rec(p, (struct rec){ .kind = TRACE_DEF_SWITCH,
						 .nargs = 1,
						 .arg = { i / 100000 + 1 } });
		put_rec(p, nth(i, &value));
	}
	put_exit(p);
	if (!p->full)
		_exit(104); /* the test means to fill the ring */
}

static void check_nth(const struct trace_event *ev, uint64_t i)
{
	uint64_t value;
	struct rec r = nth(i, &value);
	assert_int_equal(ev->num, i);
	assert_int_equal(ev->kind, r.kind);
	assert_int_equal(ev->site, r.site);
	assert_int_equal(ev->ip, 0x1000 + r.site);
	assert_int_equal(ev->thread, i / 100000 + 1);
	assert_int_equal(ev->size, r.size);
	for (unsigned k = 0; k < TRACE_MAX_ARGS && r.kind != TRACE_FILE_RENAME; k++)
		assert_int_equal(ev->arg[k], k < r.nargs ? r.arg[k] : 0);
	assert_memory_equal(ev->size ? ev->data : (const uint8_t *)"", r.size ? r.data : "",
			    r.size);
}

static int check_sink(void *arg, const struct trace_event *ev, struct err *err)
{
	(void)err;
	if (ev->num < MANY)
		check_nth(ev, ev->num);
	++*(uint64_t *)arg;
	return 0;
}

static void a_million_records_arrive_in_order(void **state)
{
	struct err err = { 0 };
	uint64_t count = 0;
	char *dir = new_dir();
	struct trace_writer *w = trace_create(dir, &err);
	struct trace_live *l = trace_live_new(w, check_sink, &count, &err);
	struct trace_event ev;
	struct trace_reader *r;
	pid_t pid;
	int status;
	(void)state;
	assert_non_null(l);
	pid = spawn(l, produce_many, NULL);
	usleep(200000); /* let it fill the ring */
	poll_to_end(l);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count, MANY + 1);
	assert_int_equal(trace_live_events(l), MANY + 1);
	assert_int_equal(trace_process(trace_live_defs(l), 0)->ended, 1);
	trace_live_free(l);
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	assert_true(trace_is_whole(r, NULL));
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(trace_next(r, &ev, &err), 1);
		check_nth(&ev, i);
	}
	assert_int_equal(trace_next(r, &ev, &err), 1);
	assert_int_equal(ev.kind, TRACE_EXIT);
	assert_int_equal(trace_next(r, &ev, &err), 0);
	assert_int_equal(trace_process(trace_defs(r), 0)->pid, pid);
	assert_int_equal(trace_process(trace_defs(r), 0)->ended, 1);
	trace_close(r);
	drop_dir(dir);
}

/* --- several producers --- */

static void produce_some(struct producer *p, void *arg)
{
	uint64_t who = *(uint64_t *)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (uint64_t i = 0; i < 100000; i++)
		put_rec(p, (struct rec){
				   .kind = TRACE_OP_BEGIN, .nargs = 1, .arg = { who << 32 | i } });
	put_exit(p);
}

static void each_keeps_its_order(void **state)
{
	enum { PRODUCERS = 80 }; /* more than slots: they are used again */
	struct seen s = { .keep = true };
	struct trace_live *l = start(NULL, &s);
	uint64_t next[PRODUCERS] = { 0 };

	(void)state;
	/* Those that have not claimed a slot yet count as well: at most seven are alive. */
	for (uint64_t who = 0, alive = 0; who < PRODUCERS; who++, alive++) {
		struct err err = { 0 };
		while (alive == 7 || trace_live_running(l) > 6) {
			alive -= waitpid(-1, NULL, WNOHANG) > 0;
			assert_true(trace_live_poll(l, 10, &err) >= 0);
		}
		spawn(l, produce_some, &who);
	}
	while (waitpid(-1, NULL, WNOHANG) >= 0) {
		struct err err = { 0 };
		assert_true(trace_live_poll(l, 10, &err) >= 0);
	}
	poll_to_end(l);
	assert_int_equal(s.bad, 0);
	for (size_t i = 0; i < s.m.ev.n; i++) {
		const struct trace_event *ev = &s.m.ev.p[i];
		if (ev->kind == TRACE_OP_BEGIN)
			assert_int_equal((uint32_t)ev->arg[0], next[ev->arg[0] >> 32]++);
	}
	for (unsigned i = 0; i < PRODUCERS; i++)
		assert_int_equal(next[i], 100000);
	trace_live_free(l);
	forget(&s.m);
}

/* --- requests --- */

struct files {
	char *a, *b;
};

/* Answers go back to the test as its exit status. */
static void produce_files(struct producer *p, void *arg)
{
	static const char exe[] = "/proc/self/exe";
	struct files *f = arg;
	int fd = open(f->a, O_RDWR);
	uint32_t got = 0;
	announce(p, 0, TRACE_BIRTH_START);
	got |= ask_file(p, 7, fd, f->a) != RING_ANSWER_OK;
	got |= ask_file(p, 9, -1, f->b) != RING_ANSWER_OK;
	got |= ask_file(p, 7, fd, f->a) != RING_ANSWER_OK; /* again: the same file */
	put_rec(p, (struct rec){ .kind = TRACE_DEF_MODULE,
				 .nargs = 2,
				 .arg = { 4 },
				 .size = (uint32_t)strlen(exe),
				 .data = exe });
	put_rec(p, (struct rec){ .kind = TRACE_MAP,
				 .flags = TRACE_F_PM,
				 .nargs = 6,
				 .arg = { PM, 8192, 7, 0, 3, 1 } });
	put_rec(p, (struct rec){ .kind = TRACE_STORE,
				 .nargs = 1,
				 .size = 4,
				 .data = "NEW!",
				 .arg = { PM + 4096 } });
	if (pwrite(fd, "range", 5, 100) != 5)
		_exit(105);
	got |= ask(p, (struct rec){ .kind = TRACE_DEF_RANGE,
				    .site = 3,
				    .nargs = 4,
				    .arg = { 7, (uint64_t)fd, 100, 5 } }) != RING_ANSWER_OK;
	got |= ask(p, (struct rec){ .kind = TRACE_DEF_RANGE,
				    .nargs = 4,
				    .arg = { 1234, (uint64_t)fd, 100, 5 } }) != RING_ANSWER_FAILED;
	put_rec(p, (struct rec){ .kind = TRACE_FILE_TRUNCATE, .nargs = 2, .arg = { 9, 10 } });
	put_rec(p, (struct rec){ .kind = TRACE_FILE_TRUNCATE, .nargs = 2, .arg = { 55, 10 } });
	unlink(f->a);
	close(fd);
	fd = open(f->a, O_RDWR | O_CREAT, 0666);
	got |= ask_file(p, 11, fd, f->a) !=
	       RING_ANSWER_OK; /* another file, perhaps the same inode */
	put_rec(p, (struct rec){ .kind = TRACE_FILE_UNLINK, .nargs = 1, .arg = { 11 } });
	put_exit(p);
	_exit((int)got);
}

static void make_files(struct files *f, const char *dir)
{
	char page[8192];
	int fd;
	f->a = xasprintf("%s.a", dir);
	f->b = xasprintf("%s.b", dir);
	memset(page, 'a', sizeof page);
	fd = open(f->a, O_RDWR | O_CREAT | O_TRUNC, 0666);
	assert_int_equal(write(fd, page, sizeof page), sizeof page);
	close(fd);
	fd = open(f->b, O_RDWR | O_CREAT | O_TRUNC, 0666);
	assert_int_equal(write(fd, page, 100), 100);
	close(fd);
}

static void check_files(struct trace_reader *r)
{
	struct err err = { 0 };
	struct trace_image *im = trace_image_new(r, &err);
	uint8_t id[32];
	char bytes[10];
	assert_non_null(im);
	assert_string_equal(trace_module(trace_defs(r), 0, 4)->path, "/proc/self/exe");
	assert_int_equal(trace_module(trace_defs(r), 0, 4)->build_id_len,
			 trace_build_id("/proc/self/exe", id));
	assert_int_equal(trace_files(trace_defs(r)), 3);
	assert_int_equal(trace_file(trace_defs(r), 0)->size, 8192);
	assert_int_equal(trace_file(trace_defs(r), 0)->has_snapshot, 1);
	assert_ok(trace_image_run(im, UINT64_MAX, &err));
	assert_int_equal(trace_image_read(im, 0, 4094, bytes, 8), 0);
	assert_memory_equal(bytes, "aaNEW!aa", 8);
	assert_int_equal(trace_image_read(im, 0, 99, bytes, 7), 0);
	assert_memory_equal(bytes, "arangea", 7);
	assert_int_equal(trace_image_size(im, 1), 10);
	assert_int_equal(trace_image_read(im, 1, 0, bytes, 10), 0);
	assert_memory_equal(bytes, "aaaaaaaaaa", 10);
	assert_int_equal(trace_image_size(im, 2), 0);
	trace_image_free(im);
}

static void requests_are_answered(void **state)
{
	struct err err = { 0 };
	struct seen s = { .keep = true };
	char *dir = new_dir();
	struct trace_writer *w = trace_create(dir, &err);
	struct trace_live *l = start(w, &s);
	struct files f;
	struct trace_reader *r;
	pid_t pid;
	int status;
	(void)state;
	make_files(&f, dir);
	pid = spawn(l, produce_files, &f);
	usleep(20000);
	poll_to_end(l);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(s.m.ev.n, 7);
	assert_int_equal(s.m.ev.p[0].arg[2], 0); /* the trace's id, not the tracer's */
	assert_int_equal(s.m.ev.p[2].kind, TRACE_FILE_WRITE);
	assert_int_equal(s.m.ev.p[2].site, 3);
	assert_int_equal(s.m.ev.p[3].arg[0], 1);
	assert_int_equal(s.m.ev.p[4].arg[0], TRACE_NO_FILE);
	assert_int_equal(s.m.ev.p[5].arg[0], 2);
	trace_live_free(l);
	assert_ok(trace_finish(w, &err));
	r = reopen(dir);
	check_files(r);
	trace_close(r);
	unlink(f.a);
	unlink(f.b);
	free(f.a);
	free(f.b);
	forget(&s.m);
	drop_dir(dir);
}

/* --- death --- */

static void produce_and_die(struct producer *p, void *arg)
{
	(void)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (unsigned i = 0; i < 1000; i++)
		put_rec(p, (struct rec){ .kind = TRACE_FENCE });
	kill(getpid(), SIGKILL);
}

/* Killed without being waited for: a zombie is dead, too. */
static void a_killed_producer_is_buried(void **state)
{
	struct seen s = { 0 };
	struct trace_live *l = start(NULL, &s);
	pid_t pid;
	(void)state;
	pid = spawn(l, produce_and_die, NULL);
	usleep(20000);
	poll_to_end(l);
	assert_int_equal(s.count, 1000);
	assert_int_equal(trace_process(trace_live_defs(l), 0)->ended, 0);
	waitpid(pid, NULL, 0);
	trace_live_free(l);
}

static void a_claim_of_the_dead_is_freed(void **state)
{
	struct trace_live *l = start(NULL, NULL);
	char *m = mmap(NULL, RING_TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace_live_fd(l),
		       0);
	struct ring_header *h = (struct ring_header *)m;
	pid_t pid = fork();
	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	h->slot[5].state = RING_CLAIMED;
	h->slot[5].pid = (uint32_t)pid;
	poll_to_end(l);
	munmap(m, RING_TOTAL_BYTES);
	trace_live_free(l);
}

/* --- fork and exec --- */

static void define(struct producer *p, uint32_t site, uint64_t ip)
{
	put_rec(p, (struct rec){
			   .kind = TRACE_DEF_SITE, .nargs = 3, .site = site, .arg = { ip, 1, 8 } });
}

static void produce_fork(struct producer *p, void *arg)
{
	int fd = *(int *)arg;
	struct producer q;
	pid_t pid;
	announce(p, 0, TRACE_BIRTH_START);
	define(p, 1, 0x1001);
	put_rec(p, (struct rec){ .kind = TRACE_FENCE, .site = 1 });
	pid = fork();
	if (pid == 0) {
		claim(&q, fd);
		announce(&q, (uint32_t)getppid(), TRACE_BIRTH_FORK);
		define(&q, 2, 0xc002);
		put_rec(&q, (struct rec){ .kind = TRACE_HINT_FENCE, .site = 1 });
		put_rec(&q, (struct rec){ .kind = TRACE_HINT_FENCE, .site = 2 });
		put_rec(&q, (struct rec){ .kind = TRACE_EXEC });
		put_rec(&q, (struct rec){ .kind = TRACE_DEF_END, .nargs = 1 });
		claim(p, fd); /* the old slot is left LIVE: exec came before DONE was set */
		announce(p, 0, TRACE_BIRTH_EXEC);
		put_rec(p, (struct rec){ .kind = TRACE_TX_BEGIN, .site = 1, .nargs = 1 });
		put_exit(p);
		_exit(0);
	}
	define(p, 2, 0x1002);
	put_rec(p, (struct rec){ .kind = TRACE_FORK, .nargs = 1, .arg = { (uint64_t)pid } });
	put_rec(p, (struct rec){ .kind = TRACE_FENCE, .site = 2 });
	waitpid(pid, NULL, 0);
	put_exit(p);
}

static void check_family(const struct trace_defs *d, const struct seen *s)
{
	uint32_t child = 1, execed = 2;
	assert_int_equal(trace_processes(d), 3);
	assert_int_equal(trace_process(d, child)->birth, TRACE_BIRTH_FORK);
	assert_int_equal(trace_process(d, child)->parent_index, 0);
	assert_int_equal(trace_process(d, child)->ended, 1);
	assert_int_equal(trace_process(d, execed)->birth, TRACE_BIRTH_EXEC);
	assert_int_equal(trace_process(d, execed)->parent_index, child);
	assert_int_equal(trace_process(d, execed)->pid, trace_process(d, child)->pid);
	assert_int_equal(s->m.ev.p[0].ip, 0x1001);
	for (size_t i = 0; i < s->m.ev.n; i++) {
		const struct trace_event *ev = &s->m.ev.p[i];
		if (ev->kind == TRACE_HINT_FENCE)
			assert_int_equal(ev->ip, ev->site == 1 ? 0x1001 : 0xc002);
		if (ev->kind == TRACE_FENCE)
			assert_int_equal(ev->ip, 0x1000 + ev->site);
		if (ev->kind == TRACE_TX_BEGIN)
			assert_int_equal(ev->ip, 0);
	}
}

static void forks_inherit_and_exec_starts_afresh(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct seen s = { .keep = true };
		struct trace_live *l = start(NULL, &s);
		int fd = trace_live_fd(l);
		pid_t pid = spawn(l, produce_fork, &fd);
		usleep(i * 200);
		poll_child(l, pid);
		check_family(trace_live_defs(l), &s);
		trace_live_free(l);
		forget(&s.m);
	}
}

/* A daemon: each parent ends at once, so the child may see another process as its parent. */
static void produce_orphans(struct producer *p, void *arg)
{
	int fd = *(int *)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (uint32_t i = 1; i <= 5; i++) {
		pid_t pid;
		define(p, i, 0x1000 + i);
		pid = fork();
		if (pid) {
			uint64_t child = (uint64_t)pid;
			put_rec(p,
				(struct rec){ .kind = TRACE_FORK, .nargs = 1, .arg = { child } });
			put_exit(p);
			_exit(0);
		}
		usleep(2000);
		claim(p, fd);
		announce(p, (uint32_t)getppid(), TRACE_BIRTH_FORK);
		put_rec(p, (struct rec){ .kind = TRACE_HINT_FENCE, .site = i });
	}
	put_exit(p);
}

static void orphans_find_their_parents(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct seen s = { .keep = true };
		struct trace_live *l = start(NULL, &s);
		int fd = trace_live_fd(l);
		spawn(l, produce_orphans, &fd);
		usleep(i * 3000);
		do
			poll_to_end(l);
		while (trace_processes(trace_live_defs(l)) < 6);
		for (size_t k = 0; k < s.m.ev.n; k++)
			if (s.m.ev.p[k].kind == TRACE_HINT_FENCE)
				assert_int_equal(s.m.ev.p[k].ip, 0x1000 + s.m.ev.p[k].site);
		while (wait(NULL) > 0)
			;
		trace_live_free(l);
		forget(&s.m);
	}
}

/* --- nonsense --- */

static void produce_nonsense(struct producer *p, void *arg)
{
	unsigned which = *(unsigned *)arg;
	uint64_t rec[4] = { TRACE_FENCE | 2u << 16, 0 };
	const struct rec switch_to = { .kind = TRACE_DEF_SWITCH,
				       .nargs = 1,
				       .arg = { 1ull << 40 } };
	const struct rec ctx = { .kind = TRACE_DEF_CTX, .ctx = 5, .nargs = 3, .arg = { 5 } };
	if (which == 0) /* before DEF_PROCESS */
		put_words(p, rec, 2);
	announce(p, 0, TRACE_BIRTH_START);
	put_words(p, rec, 2);
	switch (which) {
	case 1: rec[0] = TRACE_KINDS | 2u << 16; break;
	case 2: rec[0] = TRACE_FENCE | 1u << 16; break;
	case 3: rec[0] = TRACE_FENCE | 60000u << 16; break;
	case 4: rec[1] = 70000ull << 32; break;
	case 5: rec[0] = TRACE_STORE | 2u << 16; break;
	case 6: put_rec(p, switch_to); break;
	case 7: put_rec(p, ctx); break;
	case 8: announce(p, 0, TRACE_BIRTH_START); break;
	case 9: rec[0] = TRACE_PAD | 30000u << 16; break;
	case 10: p->head += 4; break;
	case 11: p->head += 2ull * RING_BYTES; break;
	}
	if (which < 10)
		put_words(p, rec, 2);
	publish(p);
	ask_file(p, 1, -1, "/etc/passwd"); /* must not hang */
	p->slot->state = RING_DONE;
}

static void nonsense_ends_its_slot(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 12; which++) {
		struct err err = { 0 };
		struct seen s = { 0 };
		struct trace_live *l = start(NULL, &s);
		pid_t pid = spawn(l, produce_nonsense, &which);
		unsigned errors = 0;
		int status;
		usleep(10000);
		do {
			if (trace_live_poll(l, 10, &err) < 0) {
				assert_non_null(strstr(err.text, "makes no sense"));
				errors++;
			}
		} while (waitpid(pid, &status, WNOHANG) == 0 || trace_live_running(l));
		if (errors != 1)
			fail_msg("nonsense %u: %u errors", which, errors);
		if (which < 10) /* the last two spoil all that is published with them */
			assert_int_equal(s.count, which ? 1 : 0);
		assert_int_equal(status, 0);
		trace_live_free(l);
	}
}

static void produce_few(struct producer *p, void *arg)
{
	(void)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (unsigned i = 0; i < 10; i++)
		put_rec(p, (struct rec){ .kind = TRACE_FENCE });
	put_exit(p);
}

static void a_failing_sink_loses_nothing(void **state)
{
	struct err err = { 0 };
	struct seen s = { .refuse = true };
	struct trace_live *l = start(NULL, &s);
	unsigned errors = 0;
	(void)state;
	spawn(l, produce_few, NULL);
	wait(NULL);
	for (unsigned i = 0; i < 100; i++)
		errors += trace_live_poll(l, 0, &err) < 0;
	assert_int_equal(errors, 11);
	assert_int_equal(s.count, 11);
	assert_string_equal(err.text, "refused");
	assert_int_equal(trace_live_running(l), 0);
	trace_live_free(l);
}

/* A failed writer is told of once; the sink goes on getting events. */
static void a_failed_writer_is_told_once(void **state)
{
	struct err err = { 0 };
	struct seen s = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = trace_create(dir, &err);
	struct trace_live *l = start(w, &s);
	struct rlimit old, none;
	unsigned errors = 0;
	pid_t pid = spawn(l, produce_many, NULL);
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = old;
	none.rlim_cur = file_size(dir) + 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	usleep(200000);
	do
		errors += trace_live_poll(l, 10, &err) < 0;
	while (trace_live_running(l));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(errors, 1);
	assert_int_equal(s.count, MANY + 1);
	waitpid(pid, NULL, 0);
	trace_live_free(l);
	assert_int_equal(trace_finish(w, &err), -1);
	drop_dir(dir);
}

/* --- waiting --- */

static void produce_then_wait(struct producer *p, void *arg)
{
	(void)arg;
	announce(p, 0, TRACE_BIRTH_START);
	for (unsigned i = 0; i < 10; i++)
		put_rec(p, (struct rec){ .kind = TRACE_FENCE });
	pause();
}

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* While a program does nothing, neither do we, and what it did is on disk within seconds. */
static void idling_is_cheap_and_safe(void **state)
{
	struct err err = { 0 };
	char *dir = new_dir();
	struct trace_writer *w = trace_create(dir, &err);
	struct trace_live *l = start(w, NULL);
	pid_t pid = spawn(l, produce_then_wait, NULL);
	struct trace_reader *r;
	double cpu;
	const char *why;
	(void)state;
	while (trace_live_events(l) < 10)
		assert_true(trace_live_poll(l, 1000, &err) >= 0);
	cpu = cpu_seconds();
	for (unsigned i = 0; i < 4; i++)
		assert_true(trace_live_poll(l, 400, &err) >= 0);
	assert_true(cpu_seconds() - cpu < 0.15);
	r = reopen(dir);
	assert_false(trace_is_whole(r, &why));
	assert_int_equal(trace_count(r), 10);
	assert_non_null(strstr(why, "cut short after event 9"));
	trace_close(r);
	assert_int_equal(trace_live_running(l), 1);
	kill(pid, SIGKILL);
	poll_to_end(l);
	waitpid(pid, NULL, 0);
	trace_live_free(l);
	trace_abandon(w);
	drop_dir(dir);
}

static void produce_until_stopped(struct producer *p, void *arg)
{
	(void)arg;
	announce(p, 0, TRACE_BIRTH_START);
	while (!__atomic_load_n(&p->ring->stop, __ATOMIC_ACQUIRE))
		put_rec(p, (struct rec){ .kind = TRACE_FENCE });
	p->slot->state = RING_DONE;
}

static void stop_wakes_those_who_wait_for_room(void **state)
{
	struct trace_live *l = start(NULL, NULL);
	pid_t pid = spawn(l, produce_until_stopped, NULL);
	(void)state;
	usleep(200000); /* the ring is full by now */
	trace_live_stop(l);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	poll_to_end(l);
	trace_live_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_records_arrive_in_order),
		cmocka_unit_test(each_keeps_its_order),
		cmocka_unit_test(requests_are_answered),
		cmocka_unit_test(a_killed_producer_is_buried),
		cmocka_unit_test(a_claim_of_the_dead_is_freed),
		cmocka_unit_test(forks_inherit_and_exec_starts_afresh),
		cmocka_unit_test(orphans_find_their_parents),
		cmocka_unit_test(nonsense_ends_its_slot),
		cmocka_unit_test(a_failing_sink_loses_nothing),
		cmocka_unit_test(a_failed_writer_is_told_once),
		cmocka_unit_test(idling_is_cheap_and_safe),
		cmocka_unit_test(stop_wakes_those_who_wait_for_room),
	};
	return cmocka_run_group_tests_name("trace-live", tests, NULL, NULL);
}
