/* SPDX-License-Identifier: BSD-3-Clause */
/* What the trace tests share: random events that are remembered, and folders that go away. */
#ifndef HOLDFAST_TESTS_TRACE_UTIL_H
#define HOLDFAST_TESTS_TRACE_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/trace.h"

#define PM 0x600000000000u

static uint64_t rnd_state = 88172645463325252u;

static inline uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

/* A fresh folder name under the folder for temporary files; freed by drop_dir. */
static inline char *new_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/holdfast-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static inline char *file_in(const char *dir, const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static inline void drop_dir(char *dir)
{
	char *command = xasprintf("rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
	free(command);
	free(dir);
}

static inline uint64_t file_size(const char *dir)
{
	char *path = file_in(dir, "trace");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	free(path);
	return (uint64_t)st.st_size;
}

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		err.text[0] = '\0';                                                                \
		if (call)                                                                          \
			fail_msg("%s: %s", #call, err.text);                                       \
	} while (0)

/* Events as they were written, to compare with what is read. */
struct memory {
	VEC(struct trace_event) ev;
};

static inline void remember(struct memory *m, struct trace_event ev)
{
	if (ev.size) {
		uint8_t *copy = xmalloc(ev.size);
		memcpy(copy, ev.data, ev.size);
		ev.data = copy;
	}
	ev.num = m->ev.n;
	VEC_PUSH(&m->ev, ev);
}

static inline void forget(struct memory *m)
{
	for (size_t i = 0; i < m->ev.n; i++)
		if (m->ev.p[i].size)
			free((void *)(uintptr_t)m->ev.p[i].data);
	VEC_FREE(&m->ev);
}

static inline void assert_same_event(const struct trace_event *a, const struct trace_event *b)
{
	assert_int_equal(a->num, b->num);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->nargs, b->nargs);
	assert_int_equal(a->process, b->process);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->site, b->site);
	assert_int_equal(a->ctx, b->ctx);
	assert_int_equal(a->size, b->size);
	for (unsigned i = 0; i < TRACE_MAX_ARGS; i++)
		assert_true(a->arg[i] == b->arg[i]);
	if (a->size)
		assert_memory_equal(a->data, b->data, a->size);
}

/* An event of any kind: sometimes like others before it, sometimes with odd values. */
static inline struct trace_event random_event(uint32_t processes, uint8_t *bytes, uint32_t biggest)
{
	static const uint32_t sizes[] = { 0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100 };
	struct trace_event ev = { 0 };
	uint64_t shape = rnd();
	ev.kind = shape % 3 ? (uint8_t)(TRACE_STORE + shape / 3 % 3)
			    : (uint8_t)(1 + shape / 3 % (TRACE_KINDS - 1));
	ev.nargs = (uint8_t)trace_kind_args(ev.kind);
	ev.flags = rnd() % 4 ? 0 : (uint8_t)rnd();
	ev.process = (uint32_t)(rnd() % 50 ? 0 : rnd() % processes);
	ev.thread = rnd() % 30 ? 1 : (uint32_t)(rnd() % 20);
	ev.site = rnd() % 100 ? (uint32_t)(rnd() % 40) : (uint32_t)rnd();
	ev.ctx = rnd() % 100 ? (uint32_t)(rnd() % 10) : (uint32_t)rnd();
	for (unsigned i = 0; i < ev.nargs; i++)
		ev.arg[i] = rnd() % 8 ? PM + rnd() % 100000 : rnd();
	if (ev.kind == TRACE_STORE || rnd() % 8 == 0)
		ev.size = rnd() % 200 ? sizes[rnd() % (sizeof sizes / sizeof *sizes)]
				      : (uint32_t)(rnd() % (biggest + 1));
	if (ev.kind == TRACE_STORE && !ev.size)
		ev.size = 8;
	for (uint32_t i = 0; i < ev.size; i++)
		bytes[i] = rnd() % 2 ? 0 : (uint8_t)rnd();
	ev.data = ev.size ? bytes : NULL;
	return ev;
}

static inline uint32_t put_process(struct trace_writer *w, uint32_t pid, uint32_t parent,
				   uint8_t birth)
{
	struct err err = { 0 };
	char command[] = "prog\0arg";
	struct trace_process_def def = { .pid = pid,
					 .birth = birth,
					 .command = command,
					 .command_len = sizeof command,
					 .parent_index = parent };
	uint32_t index;
	assert_ok(trace_put_process(w, &def, &index, &err));
	return index;
}

/* Writes n random events of three processes; they are added to `m`. */
static inline void put_random(struct trace_writer *w, struct memory *m, unsigned n,
			      uint32_t biggest)
{
	static uint8_t bytes[TRACE_MAX_PAYLOAD];
	struct err err = { 0 };
	for (unsigned i = 0; i < n; i++) {
		struct trace_event ev = random_event(3, bytes, biggest);
		assert_ok(trace_put_event(w, &ev, &err));
		remember(m, ev);
	}
}

#endif
