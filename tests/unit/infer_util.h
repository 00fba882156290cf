/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces with dependences, written by hand: what a program that is compiled here would do. Its instructions are
 * known by labels in its code (binary/fixture.h), so that its flow of control is that of real code, and the
 * statements are lines of its source.
 */
#ifndef HOLDFAST_TESTS_INFER_UTIL_H
#define HOLDFAST_TESTS_INFER_UTIL_H

#include <sys/mman.h>

#include "binary/fixture.h"
#include "infer/infer.h"
#include "trace_util.h"

#define BIAS 0x7f1234560000ull
#define PM_BYTES 65536u
#define MOST_SITES 64u

struct script {
	const char *program; /* in the fixture's folder */
	char *dir;
	struct trace_writer *w;
	uint32_t sites;
	char label[MOST_SITES][32];
	uint32_t loads;
	uint64_t events;
	uint32_t thread;
	struct trace_reader *r;
};

static inline void put(struct script *s, struct trace_event e)
{
	struct err err = { 0 };
	e.nargs = (uint8_t)trace_kind_args(e.kind);
	e.thread = s->thread;
	assert_ok(trace_put_event(s->w, &e, &err));
	s->events++;
}

static inline uint32_t site_of(struct script *s, const char *label, uint8_t class)
{
	struct trace_site_def d = { .ip = 0x1000, .class = class, .size = 8 };
	struct err err = { 0 };
	for (uint32_t i = 0; i < s->sites; i++)
		if (!strcmp(s->label[i], label))
			return i;
	assert_true(s->sites < MOST_SITES);
	if (*label)
		d.ip = BIAS + symbol(s->program, label);
	snprintf(s->label[s->sites], sizeof s->label[0], "%s", label);
	assert_ok(trace_put_site(s->w, 0, s->sites, &d, &err));
	return s->sites++;
}

static void put_module(void *script, uint64_t addr, uint64_t size, uint64_t off)
{
	put(script, (struct trace_event){ .kind = TRACE_MODULE_LOAD,
					  .arg = { BIAS + addr, size, off, 1 } });
}

static inline void load_modules(struct script *s)
{
	struct trace_module_def def = { .path = (char *)(uintptr_t)in_dir(s->program) };
	struct err err = { 0 };
	assert_ok(trace_put_module(s->w, 0, 1, &def, &err));
	each_part(s->program, put_module, s);
}

static inline void script_begin(struct script *s, const char *program)
{
	struct trace_process_def p = { .pid = 1,
				       .parent_index = TRACE_NO_PROCESS,
				       .birth = TRACE_BIRTH_START };
	struct trace_file_def def = { .dev = 1, .ino = 1, .size = PM_BYTES };
	struct err err = { 0 };
	uint32_t id;
	int fd = memfd_create("initial", MFD_CLOEXEC);
	*s = (struct script){ .program = program, .thread = 1, .dir = new_dir() };
	s->w = trace_create(s->dir, &err);
	assert_non_null(s->w);
	assert_ok(trace_put_process(s->w, &p, &id, &err));
	assert_true(fd >= 0 && !ftruncate(fd, PM_BYTES));
	def.path = (char *)(uintptr_t) "/pm/pool";
	assert_ok(trace_put_file(s->w, &def, fd, &id, &err));
	close(fd);
	(void)site_of(s, "", TRACE_SITE_OTHER);
	load_modules(s);
	put(s, (struct trace_event){ .kind = TRACE_MAP,
				     .flags = TRACE_F_PM,
				     .arg = { PM, PM_BYTES, id, 0, 3, 1 } });
}

/* ---- what a program does ---- */

static inline void frame(struct script *s, uint32_t activation, uint32_t parent, const char *call)
{
	put(s, (struct trace_event){
		       .kind = TRACE_FRAME,
		       .arg = { activation, parent, call ? BIAS + symbol(s->program, call) : 0 } });
}

static inline void op_begin(struct script *s, uint64_t id)
{
	put(s, (struct trace_event){ .kind = TRACE_OP_BEGIN, .arg = { id } });
}

static inline void op_end(struct script *s, uint64_t id)
{
	put(s, (struct trace_event){ .kind = TRACE_OP_END, .arg = { id } });
}

/* Labels are what load() returned, 0 the last. */
static inline void put_labels(struct script *s, struct trace_event e, const uint32_t *label)
{
	uint32_t distance[TRACE_LABELS], n = 0;
	for (; label && label[n]; n++)
		distance[n] = s->loads - label[n] + 1;
	e.flags = (uint8_t)n;
	e.size = n * (uint32_t)sizeof *distance;
	e.data = (const uint8_t *)distance;
	put(s, e);
}

static inline uint32_t load_word(struct script *s, const char *at, uint32_t off, uint32_t size)
{
	put(s, (struct trace_event){ .kind = TRACE_LOAD,
				     .site = site_of(s, at, TRACE_SITE_OTHER),
				     .arg = { PM + off, size } });
	return ++s->loads;
}

static inline void branch(struct script *s, const char *at, const uint32_t *label)
{
	put_labels(s,
		   (struct trace_event){ .kind = TRACE_BRANCH,
					 .site = site_of(s, at, TRACE_SITE_OTHER) },
		   label);
}

static inline void store(struct script *s, const char *at, uint32_t off, uint64_t value,
			 uint32_t size, const uint32_t *label)
{
	uint8_t data[64] = { 0 };
	memcpy(data, &value, sizeof value);
	uint32_t site = site_of(s, at, TRACE_SITE_STORE);
	if (label)
		put_labels(s, (struct trace_event){ .kind = TRACE_DEP }, label);
	put(s, (struct trace_event){ .kind = TRACE_STORE,
				     .site = site,
				     .arg = { PM + off },
				     .size = size,
				     .data = data });
}

static inline void flush(struct script *s, uint32_t off)
{
	put(s, (struct trace_event){ .kind = TRACE_FLUSH,
				     .site = site_of(s, "", TRACE_SITE_OTHER),
				     .arg = { PM + off } });
}

static inline void fence(struct script *s)
{
	put(s, (struct trace_event){ .kind = TRACE_FENCE });
}

static inline void persist(struct script *s, uint32_t off)
{
	flush(s, off);
	fence(s);
}

static inline void script_end(struct script *s)
{
	struct err err = { 0 };
	assert_ok(trace_finish(s->w, &err));
	s->w = NULL;
	s->r = trace_open(s->dir, &err);
	assert_non_null(s->r);
}

static inline void script_free(struct script *s)
{
	trace_close(s->r);
	drop_dir(s->dir);
}

/* ---- what follows ---- */

static inline struct infer_beliefs *believe(struct script *s)
{
	struct err err = { 0 };
	struct infer_ops *ops = infer_ops_read(s->r, NULL, &err);
	assert_non_null(ops);
	struct infer_beliefs *b = infer_beliefs_read(s->r, ops, model_find(NULL), NULL, &err);
	if (!b)
		fail_msg("%s", err.text);
	infer_ops_free(ops);
	return b;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "RO3 14 18 1/2; …": rule, lines of the first and the second, cases that held of all; sorted. */
static inline char *belief_text(struct infer_beliefs *b)
{
	size_t n;
	const struct infer_belief *all = infer_beliefs_all(b, &n);
	char **line = xcalloc(n + 1, sizeof *line);
	struct buf out = { 0 };
	for (size_t i = 0; i < n; i++) {
		const struct srcloc_frame *x =
			finding_main_frame(infer_statement_place(b, all[i].first));
		const struct srcloc_frame *y =
			finding_main_frame(infer_statement_place(b, all[i].second));
		uint32_t from = x->line, to = y->line;
		if (infer_rule(all[i].rule)->atomic && from > to) {
			from = y->line;
			to = x->line;
		}
		line[i] = xasprintf("%s %u %u %u/%u", infer_rule(all[i].rule)->name, from, to,
				    (unsigned)all[i].held, (unsigned)(all[i].held + all[i].broken));
	}
	qsort(line, n, sizeof *line, by_text);
	buf_puts(&out, "");
	for (size_t i = 0; i < n; i++) {
		buf_printf(&out, "%s%s", i ? "; " : "", line[i]);
		free(line[i]);
	}
	free(line);
	return out.p ? out.p : xstrdup("");
}

/* Ends the script: of all that was told, this follows. */
static inline void expect_beliefs(struct script *s, const char *want)
{
	script_end(s);
	struct infer_beliefs *b = believe(s);
	char *text = belief_text(b);
	assert_string_equal(text, want);
	free(text);
	infer_beliefs_free(b);
	script_free(s);
}

#endif
