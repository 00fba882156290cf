/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sample of findings of every sort, for the tests of the reports: unit tests, golden files, the
 * SARIF schema and the browser. sample_make writes its source files into the current folder,
 * which should be a fresh one.
 */
#ifndef HOLDFAST_TESTS_REPORT_SAMPLE_H
#define HOLDFAST_TESTS_REPORT_SAMPLE_H

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

#define SAMPLE_NASTY "</script><img src=x onerror=alert(1)>"

static const char sample_list_c[] = "/* A list in persistent memory. */\n"
				    "#include \"pm.h\"\n"
				    "\n"
				    "static void insert(struct list *l, uint64_t v)\n"
				    "{\n"
				    "\tl->head = v; /* 7 < 8 && \"quoted\" */\n"
				    "\tpm_fence();\n"
				    "\tl->n++;\n"
				    "\tpm_persist(&l->n, 8);\n"
				    "\tpm_fence();\n"
				    "}\n"
				    "\n"
				    "int main(void)\n"
				    "{\n"
				    "\tfor (int i = 0; i < 12; i++)\n"
				    "\t\tinsert(list, i);\n"
				    "}\n";

static const struct finding_kind_info sample_custom_kind = {
	"pmdk-redundant-log", FINDING_PERFORMANCE, "range is added to the undo log twice",
	"The range is in the log of this transaction already: adding it again only costs time."
};

struct sample {
	char folder[PATH_MAX - 64];
	struct finding_set set;
	struct report report;
};

static void sample_file(const char *name, const char *text, time_t when)
{
	struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	FILE *f = fopen(name, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) || utimensat(AT_FDCWD, name, times, 0))
		abort();
}

/* A frame; strings that are not absolute get the sample's folder. */
static struct srcloc_frame sample_frame(const struct sample *s, const char *function,
					const char *file, uint32_t line, uint32_t column,
					const char *module)
{
	static char kept[64][PATH_MAX];
	static unsigned next;
	char *f = kept[next++ % 64], *m = kept[next++ % 64];
	snprintf(f, PATH_MAX, "%s/%s", s->folder, file ? file : "");
	snprintf(m, PATH_MAX, "%s/%s", s->folder, module ? module : "");
	return (struct srcloc_frame){
		.function = function,
		.file = file && *file == '/' ? file
			: file               ? f
					     : NULL,
		.line = line,
		.column = column,
		.module = module && *module == '/' ? module
			  : module                 ? m
						   : NULL,
		.offset = 0x1100 + line,
	};
}

static struct finding_place sample_place(const struct srcloc_frame *frames, size_t n)
{
	return finding_place_copy((struct srcloc_where){ frames, n });
}

static void sample_relate(struct finding *f, const char *role, const char *message, uint64_t event,
			  struct srcloc_frame frame)
{
	struct finding_related r = { role, message ? xstrdup(message) : NULL, event,
				     sample_place(&frame, 1) };
	VEC_PUSH(&f->related, r);
}

static void sample_step(struct finding *f, uint64_t event, uint32_t thread, const char *what,
			const char *text)
{
	struct finding_step step = { event, thread, what, xstrdup(text) };
	VEC_PUSH(&f->steps, step);
}

static struct finding *sample_missing_flush(const struct sample *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_MISSING_FLUSH));
	struct srcloc_frame path[] = {
		sample_frame(s, "insert", "list.c", 6, 10, "prog"),
		sample_frame(s, "main", "list.c", 16, 3, "prog"),
		sample_frame(s, "__libc_start_call_main", NULL, 0, 0,
			     "/lib/x86_64-linux-gnu/libc.so.6"),
	};
	path[0].inlined = true;
	f->place = sample_place(path, 3);
	f->message = xstrdup("8 bytes are stored and fenced, but their line is never flushed");
	f->advice = xstrdup("flush the line between the store and the fence at list.c:7");
	f->data = xstrdup("pool+0x40, 8 bytes");
	f->replay = xstrdup("holdfast check --only 3 -- ./prog run pool ops");
	f->count = 12;
	f->event = 104;
	sample_relate(f, "last-fence", "orders nothing of this line", 105,
		      sample_frame(s, "insert", "list.c", 7, 2, "prog"));
	sample_relate(f, "end", "the mapping goes away", 981,
		      sample_frame(s, "main", "list.c", 17, 1, "prog"));
	sample_step(f, 104, 1, "store", "list.c:6 insert");
	sample_step(f, 105, 1, "fence", "list.c:7 insert");
	sample_step(f, 981, 1, "end", "munmap");
	return f;
}

static struct finding *sample_missing_fence(const struct sample *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_MISSING_FENCE));
	struct srcloc_frame path[] = {
		sample_frame(s, "pm_clwb", "pm.h", 12, 2, "prog"),
		sample_frame(s, "worker", "gone/worker.c", 31, 0, "prog"),
		sample_frame(s, "start_thread", NULL, 0, 0, "/lib/x86_64-linux-gnu/libc.so.6"),
	};
	path[0].inlined = true;
	path[0].helper = true;
	f->place = sample_place(path, 3);
	finding_add_why(f, "same-bytes", 3,
			xstrdup("the program persists these bytes at other times"));
	f->message = xstrdup("the line is flushed by thread 2, but only thread 1 fences");
	f->advice = xstrdup("fence in the thread that flushes");
	f->event = 2044;
	sample_relate(f, "last-store", NULL, 2040,
		      sample_frame(s, "worker", "gone/worker.c", 30, 0, "prog"));
	sample_step(f, 2040, 2, "store", "worker.c:30 worker");
	sample_step(f, 2044, 2, "flush", "worker.c:31 worker");
	sample_step(f, 2050, 1, "fence", "list.c:10 insert");
	sample_step(f, 3000, 1, "end", "exit");
	return f;
}

static struct finding *sample_redundant_flush(const struct sample *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_REDUNDANT_FLUSH));
	struct srcloc_frame path[] = {
		sample_frame(s, "pmem_persist", NULL, 0, 0,
			     "/usr/lib/x86_64-linux-gnu/libpmem.so.1"),
		sample_frame(s, "update(vec<int>&)", "new.cc", 2, 5, "prog"),
		sample_frame(s, "main", "list.c", 16, 3, "prog"),
	};
	path[1].kind = SRCLOC_TAIL;
	f->place = sample_place(path, 3);
	f->message = xstrdup("the line is clean: nothing was stored since its last flush");
	f->advice = xstrdup("remove the flush");
	f->count = 1500000;
	f->event = 77;
	sample_step(f, 70, 1, "store", "list.c:8 insert");
	sample_step(f, 71, 1, "flush", "list.c:9 insert");
	sample_step(f, 72, 1, "fence", "list.c:9 insert");
	sample_step(f, 77, 1, "flush", "new.cc:2 update");
	return f;
}

/* Nothing but an address, and texts that would like to be something else. */
static struct finding *sample_nasty(const struct sample *s)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_LATE_PERSIST));
	struct srcloc_frame frame = sample_frame(s, SAMPLE_NASTY, NULL, 0, 0, "lib\"<b>.so");
	f->place = sample_place(&frame, 1);
	f->message = xstrdup("bytes \xff\xc3( and \033[31mcolour\033[0m, " SAMPLE_NASTY);
	f->event = 5;
	return f;
}

/* About the run, not about a place in the program. */
static struct finding *sample_nowhere(void)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_PLUGIN_FAILED));
	f->message = xstrdup("the oracle mine.so crashed (signal 11)");
	return f;
}

static struct finding *sample_simple(const struct sample *s, const struct finding_kind_info *kind,
				     uint32_t line)
{
	struct finding *f = finding_new(kind);
	struct srcloc_frame frame = sample_frame(s, "insert", "list.c", line, 2, "prog");
	f->place = sample_place(&frame, 1);
	f->event = line;
	return f;
}

/* --- crashes --- */

/* What recovery said, in more lines than the text shows; one has a bell and colours in it. */
static const char sample_output[] =
	"recover: opening pool\nrecover: checking 1\nrecover: checking 2\nrecover: checking 3\n"
	"recover: checking 4\nrecover: checking 5\nrecover: checking 6\nrecover: checking 7\n"
	"recover: checking 8\r\n\n\033[31mbad\033[0m \a<b>list</b>: n is 1 but head is 0\n";
static const char sample_backtrace[] = "#0  first (l=0x7f0000000040) at recover.c:12\n"
				       "#1  main () at recover.c:40\n";

static struct finding *sample_crash(const struct sample *s, enum finding_kind kind, uint32_t line)
{
	struct finding *f = sample_simple(s, finding_kind_info(kind), line);
	struct finding_crash *crash = finding_crash(f);
	f->event = 1000 + line;
	crash->event = 1040;
	crash->verdict = xstrdup("failed");
	crash->status = 3;
	crash->lines_lost = 1;
	crash->states = 1;
	crash->recoveries = 1;
	return f;
}

static void sample_lane(struct finding_scene *scene, const char *data,
			const struct finding_step *step, size_t n)
{
	struct finding_lane lane = { .data = xstrdup(data) };
	for (size_t i = 0; i < n; i++) {
		struct finding_step own = step[i];
		own.text = own.text ? xstrdup(own.text) : NULL;
		VEC_PUSH(&lane.step, own);
	}
	VEC_PUSH(&scene->lane, lane);
}

/* Two lines, what is lost in one of them, and an operation under way. */
static struct finding_scene *sample_scene(void)
{
	static char head[] = "list.c:6 insert", n[] = "list.c:8 insert";
	static const struct finding_step first[] = { { 1002, 1, "store", head },
						     { 1003, 1, "flush", NULL },
						     { 1004, 0, "persistent", NULL },
						     { 1006, 1, "lost", head } };
	static const struct finding_step second[] = { { 1008, 1, "ahead", n } };
	struct finding_scene *scene = finding_scene_new();
	sample_lane(scene, "a pool+0x40", first, 4);
	sample_lane(scene, "a pool+0x80", second, 1);
	VEC_PUSH(&scene->fence, ((struct finding_step){ 1004, 1, "fence", xstrdup(n) }));
	VEC_PUSH(&scene->field,
		 ((struct finding_field){ .data = xstrdup("a pool+0x40"),
					  .object = xstrdup("struct list"),
					  .member = xstrdup("head"),
					  .type = xstrdup("uint64_t"),
					  .has = xstrdup("6"),
					  .should = xstrdup("7"),
					  .at = xstrdup("insert (list.c:6)"),
					  .statement = xstrdup("l->head = v; " SAMPLE_NASTY),
					  .size = 8,
					  .event = 1006 }));
	VEC_PUSH(&scene->field, ((struct finding_field){ .data = xstrdup("a pool+0x48"),
							 .at = xstrdup("prog+0x1234"),
							 .size = 40,
							 .event = 1006 }));
	scene->fields = 3;
	VEC_PUSH(&scene->flight, ((struct finding_flight){ .name = xstrdup("insert"),
							   .input = xstrdup("put 7"),
							   .index = 4,
							   .id = 104,
							   .begin = 1005,
							   .thread = 1 }));
	return scene;
}

static struct finding *sample_ordering(const struct sample *s)
{
	struct finding *f = sample_crash(s, FINDING_ORDERING, 6);
	f->message =
		xstrdup("if the store at list.c:8 is persistent while the store at list.c:6 is "
			"not, recovery fails");
	f->advice = xstrdup("persist what list.c:6 stores before list.c:8");
	f->cause = xstrdup("failed 3: list: n is N but head is N");
	f->data = xstrdup("a pool+0x40, 8 bytes");
	f->replay = xstrdup("holdfast replay 0123 'a dir'");
	f->count = 14;
	f->crash->output = xstrdup(sample_output);
	f->crash->lines_ahead = 2;
	f->crash->states = 14;
	f->crash->recoveries = 37;
	f->crash->state = xstrdup("1040 0:64:2");
	f->crash->scene = sample_scene();
	sample_step(f, 1006, 1, "lost", "list.c:6 insert");
	sample_step(f, 1008, 1, "persisted", "list.c:8 insert");
	sample_step(f, 1040, 0, "crash", "the crash");
	sample_relate(f, "lost", NULL, 1006, sample_frame(s, "insert", "list.c", 6, 10, "prog"));
	struct srcloc_frame path[] = {
		sample_frame(s, "pm_memcpy", "pm.h", 1, 1, "prog"),
		sample_frame(s, "insert", "list.c", 8, 6, "prog"),
		sample_frame(s, "main", "list.c", 16, 3, "prog"),
		sample_frame(s, "_start", NULL, 0, 0, "prog"),
	};
	path[0].helper = true;
	struct finding_related kept = { "persisted", xstrdup("8 bytes at a pool+0x80"), 1008,
					sample_place(path, 4) };
	VEC_PUSH(&f->related, kept);
	sample_relate(f, "also-lost", "in the same line", 1040,
		      sample_frame(s, "insert", "list.c", 9, 2, "prog"));
	sample_relate(f, "also-persisted", NULL, 1042,
		      sample_frame(s, "insert", "list.c", 10, 2, "prog"));
	return f;
}

static struct finding *sample_atomicity(const struct sample *s)
{
	struct finding *f = sample_crash(s, FINDING_ATOMICITY, 8);
	f->message = xstrdup("a crash between list.c:6 and list.c:8 leaves what recovery rejects");
	f->cause = xstrdup("crashed 11: first");
	f->replay = xstrdup("holdfast replay 4567 'a dir'");
	free(f->crash->verdict);
	f->crash->verdict = xstrdup("crashed");
	f->crash->status = 11;
	f->crash->output = xstrdup("");
	f->crash->backtrace = xstrdup(sample_backtrace);
	sample_relate(f, "persisted", NULL, 1006,
		      sample_frame(s, "insert", "list.c", 6, 10, "prog"));
	sample_relate(f, "lost", NULL, 1008, sample_frame(s, NULL, NULL, 0, 0, "prog"));
	return f;
}

/* Without output, without related places. */
static struct finding *sample_hung(const struct sample *s)
{
	struct finding *f = sample_crash(s, FINDING_MISSING_FLUSH, 9);
	free(f->crash->verdict);
	f->crash->verdict = xstrdup("hung");
	f->crash->status = 0;
	f->cause = xstrdup("hung");
	return f;
}

static struct finding *sample_flaky(void)
{
	struct finding *f = finding_new(finding_kind_info(FINDING_RECOVERY_FLAKY));
	f->message = xstrdup("recovery said ok 2 times and failed 1 time of the same image");
	f->cause = xstrdup("ok or failed");
	f->event = 1040;
	return f;
}

static void sample_add_crashes(struct sample *s)
{
	static const char *const notes[] = {
		"points 120, states possible 10^34, distinct 800, tested 640",
		"skipped 160 (same image)",
	};
	finding_add(&s->set, sample_ordering(s));
	finding_add(&s->set, sample_atomicity(s));
	finding_add(&s->set, sample_hung(s));
	finding_add(&s->set, sample_flaky());
	finding_sort(&s->set);
	s->report.verb = "crash";
	s->report.notes = notes;
	s->report.nnotes = 2;
}

static inline void sample_make(struct sample *s, bool empty)
{
	static const char *const command[] = { "./prog", "run", "a pool", "ops" };
	static const struct report_stat stats[] = { { "events", 981 }, { "seconds", 0.25 } };
	memset(s, 0, sizeof *s);
	if (!getcwd(s->folder, sizeof s->folder))
		abort();
	sample_file("list.c", sample_list_c, 1000000000);
	sample_file("pm.h", "/* nothing */\n", 1000000000);
	sample_file("prog", "", 1000000100);
	sample_file("new.cc", "void update(vec<int> &v)\n{   flush(v); }\n", 1000000200);
	if (!empty) {
		finding_add(&s->set, sample_nasty(s));
		finding_add(&s->set, sample_redundant_flush(s));
		finding_add(&s->set, sample_missing_fence(s));
		finding_add(&s->set, sample_missing_flush(s));
		finding_add(&s->set, sample_simple(s, &sample_custom_kind, 9));
		finding_add(&s->set, sample_nowhere());
		struct finding *known =
			sample_simple(s, finding_kind_info(FINDING_REDUNDANT_FENCE), 10);
		known->suppressed = true;
		finding_add(&s->set, known);
	}
	finding_sort(&s->set);
	s->report = (struct report){ .verb = "check",
				     .model = "adr",
				     .command = command,
				     .ncommand = 4,
				     .findings = &s->set,
				     .stats = stats,
				     .nstats = 2 };
}

/* Findings of a crash campaign instead. */
static inline void sample_make_crashes(struct sample *s)
{
	sample_make(s, true);
	sample_add_crashes(s);
}

#endif
