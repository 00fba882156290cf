/* SPDX-License-Identifier: BSD-3-Clause */
/* Exploration without running anything: sources, seeds, shrinking, witnesses, the folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/explore.h"
#include "explore/internal.h"
#include "trace/internal.h"

static char root[] = "/tmp/holdfast-explore-XXXXXX";
static struct err err;

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) && !chdir(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static void put(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static const char *const program[] = { "/bin/cat", "first", "second", NULL };

/* words(&in.arg, "1", "2:8", NULL) */
static void words(struct explore_words *w, ...)
{
	static const char *all[32];
	static size_t used;
	va_list ap;
	va_start(ap, w);
	w->n = 0;
	used = used + 8 > sizeof all / sizeof *all ? 0 : used;
	w->p = all + used;
	for (const char *word; (word = va_arg(ap, const char *)); w->n++)
		all[used++] = word;
	va_end(ap);
}

static struct explore_plan *planned(const struct explore_inputs *in, unsigned phase)
{
	struct explore_plan *p = explore_plan_new(in, program, phase, &err);
	if (!p)
		fail_msg("no plan: %s", err.text);
	return p;
}

static void refused(const struct explore_inputs *in, const char *part)
{
	memset(&err, 0, sizeof err);
	assert_null(explore_plan_new(in, program, 0, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	if (!strstr(err.text, part))
		fail_msg("expected '%s' in '%s'", part, err.text);
}

/* ---- sources ---- */

static void test_sources(void **state)
{
	struct explore_inputs in = { .stdin_len = 3 };
	(void)state;
	put("pool", "0123456789", 10);
	setenv("MODE", "on", 1);
	words(&in.arg, "2", "1:8", NULL);
	words(&in.env, "MODE:4", NULL);
	words(&in.file, "none:6", NULL);
	words(&in.pm, "pool:4-8", NULL);
	struct explore_plan *p = planned(&in, 0);
	static const char *const name[] = { "arg2",  "arg1",      "env-MODE",
					    "stdin", "file-none", "pm-pool" };
	static const uint32_t first[] = { 0, 6, 14, 18, 21, 27 }, len[] = { 6, 8, 4, 3, 6, 4 };
	assert_int_equal(p->source.n, 6);
	assert_int_equal(p->n, 31);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(p->about.p[i].name, name[i]);
		assert_int_equal(p->source.p[i].first, first[i]);
		assert_int_equal(p->source.p[i].len, len[i]);
	}
	assert_int_equal(p->seed.n, 1);
	assert_memory_equal(p->seed.p[0].byte,
			    "secondfirst\0\0\0on\0\0\0\0\0\0\0\0\0\0\0"
			    "4567",
			    31);
	assert_int_equal(p->source.p[5].off, 4);
	explore_plan_free(p);
}

static void test_sources_refused(void **state)
{
	struct explore_inputs none = { 0 }, arg = { 0 }, pm = { 0 }, file = { 0 };
	(void)state;
	refused(&none, "nothing is symbolic");
	words(&arg.arg, "3", NULL);
	refused(&arg, "there is no number 3");
	words(&pm.pm, "not-there", NULL);
	refused(&pm, "there is no such pool");
	words(&file.file, "not-there", NULL);
	refused(&file, "give a length");
	struct explore_inputs big = { .stdin_len = SYM_MAX_INPUT + 1 };
	refused(&big, "are too many");
}

static void test_phases(void **state)
{
	struct explore_inputs in = { 0 };
	unsigned first = 9, last = 9;
	(void)state;
	assert_int_equal(explore_phases(&in, &first, &last, &err), 0);
	assert_int_equal(first + last, 0);
	words(&in.args, "1", "2", "4", NULL);
	assert_int_equal(explore_phases(&in, &first, &last, &err), 0);
	assert_int_equal(first, 1);
	assert_int_equal(last, 2);
	struct explore_plan *p = planned(&in, 2);
	assert_int_equal(p->argc, 5);
	assert_string_equal(p->argv[4], "");
	assert_int_equal(p->source.p[1].index, 4);
	explore_plan_free(p);
	words(&in.args, "2", "1", "4", NULL);
	assert_int_equal(explore_phases(&in, &first, &last, &err), -1);
}

/* ---- seeds, ranges, packets ---- */

static void test_seeds(void **state)
{
	struct explore_inputs in = { .stdin_len = 4 };
	(void)state;
	put("one", "ab", 2);
	put("two", "wxyz", 4);
	put("long", "12345", 5);
	words(&in.seed, "one", "two", NULL);
	struct explore_plan *p = planned(&in, 0);
	assert_int_equal(p->seed.n, 2);
	assert_int_equal(p->seed.p[0].now[0], 2);
	assert_memory_equal(p->seed.p[0].byte, "ab\0\0", 4);
	assert_int_equal(p->seed.p[1].now[0], 4);
	assert_memory_equal(p->seed.p[1].byte, "wxyz", 4);
	assert_int_equal(p->later.n, 0); /* the seeds say how long it is */
	explore_plan_free(p);
	words(&in.seed, "long", NULL);
	refused(&in, "has 5 bytes, but stdin only 4");
	words(&in.seed, "not-there", NULL);
	refused(&in, "cannot read not-there");
	words(&in.arg, "1", NULL);
	words(&in.seed, "one", NULL);
	refused(&in, "there are several sources");
	words(&in.seed, "stdin=one", NULL);
	p = planned(&in, 0);
	assert_memory_equal(p->seed.p[0].byte, "firstab", 7);
	explore_plan_free(p);
}

static void test_without_a_seed(void **state)
{
	struct explore_inputs in = { .stdin_len = 4, .printable = true };
	(void)state;
	struct explore_plan *p = planned(&in, 0);
	assert_int_equal(p->seed.p[0].now[0], 4);
	assert_memory_equal(p->seed.p[0].byte, "    ", 4); /* the lowest that is printable */
	assert_int_equal(p->later.n, 1);                   /* an empty one is worth a try */
	assert_int_equal(p->later.p[0].now[0], 0);
	explore_plan_free(p);
}

static void test_ranges(void **state)
{
	struct explore_inputs in = { .stdin_len = 4 };
	(void)state;
	put("seed", "1x3", 3);
	words(&in.arg, "1", NULL);
	words(&in.range, "stdin:0x30-0x39", NULL);
	words(&in.seed, "stdin=seed", NULL);
	struct explore_plan *p = planned(&in, 0);
	uint32_t at = p->source.p[1].first;
	assert_int_equal(p->lo[at], '0');
	assert_int_equal(p->hi[at], '9');
	assert_int_equal(p->hi[0], 255);
	/* what is outside of the range stays */
	assert_int_equal(p->fixed[at], 0);
	assert_int_equal(p->fixed[at + 1], 1);
	assert_int_equal(p->fixed[at + 2], 0);
	explore_plan_free(p);
	words(&in.range, "9-3", NULL);
	refused(&in, "no byte is in it");
	in.printable = true;
	words(&in.range, "0-31", NULL);
	refused(&in, "in the other ranges too");
}

static void test_packets(void **state)
{
	struct explore_inputs in = { 0 };
	(void)state;
	words(&in.packet, "put $1:2\\r\\n", "\\x41$2\\$", NULL);
	struct explore_plan *p = planned(&in, 0);
	assert_int_equal(p->packet.n, 2);
	assert_int_equal(p->packet.p[0], 8);
	assert_int_equal(p->packet.p[1], 10);
	assert_memory_equal(p->seed.p[0].byte, "put aa\r\nAaaaaaaaa$", 18);
	assert_memory_equal(p->fixed, "\1\1\1\1\0\0\1\1\1\0\0\0\0\0\0\0\0\1", 18);
	char *text = explore_input_text(p, &p->seed.p[0]);
	assert_string_equal(text, "packet 1: \"put aa\\r\\n\"\npacket 2: \"Aaaaaaaaa$\"");
	free(text);
	explore_plan_free(p);
	put("seed", "get aa\r\nAaaaaaaaa$", 18);
	words(&in.seed, "seed", NULL);
	refused(&in, "is not like the packets");
	words(&in.packet, "put $x", NULL);
	refused(&in, "a digit from 1 to 9");
	words(&in.packet, "put\\q $1", NULL);
	refused(&in, "are known after a backslash");
	words(&in.packet, "put", NULL);
	refused(&in, "no symbolic part");
}

static void test_inputs(void **state)
{
	struct explore_inputs in = { .stdin_len = 4 };
	(void)state;
	words(&in.arg, "1:8", NULL);
	struct explore_plan *p = planned(&in, 0);
	struct symbolic_input *seed = &p->seed.p[0], copy = symbolic_input_copy(seed);
	assert_int_equal(explore_input_length(p, 0, seed), 5); /* a text ends at its zero byte */
	assert_int_equal(explore_input_length(p, 1, seed), 4);
	copy.now[1] = 3;
	assert_true(explore_input_rank(p, &copy) < explore_input_rank(p, seed));
	copy.now[1] = 4;
	copy.byte[p->source.p[1].first] = 7;
	assert_true(explore_input_rank(p, &copy) > explore_input_rank(p, seed));
	char *text = explore_input_text(p, &copy);
	assert_string_equal(text, "arg1: 5 bytes, \"first\"\n"
				  "stdin: 4 bytes, \"\\x07\\x00\\x00\\x00\"");
	free(text);
	symbolic_input_free(&copy);
	explore_plan_free(p);
}

static void test_memory(void **state)
{
	struct explore_inputs in = { .stdin_len = 2, .memory = true };
	struct explore_memory m = { 0 };
	struct sym_source s = { .kind = SYM_SRC_MEMORY, .first = 2, .len = 3 };
	(void)state;
	struct explore_plan *p = planned(&in, 0);
	assert_false(explore_memory_extend(&m, p));
	VEC_PUSH(&m.source, s);
	buf_add(&m.bytes, "xyz", 3);
	assert_true(explore_memory_extend(&m, p));
	assert_false(explore_memory_extend(&m, p));
	assert_int_equal(p->n, 5);
	assert_int_equal(p->given, 1);
	assert_string_equal(p->about.p[1].name, "memory1");
	assert_memory_equal(p->seed.p[0].byte, "\0\0xyz", 5);
	assert_int_equal(p->seed.p[0].now[1], 3);
	assert_int_equal(p->hi[4], 255);
	explore_memory_free(&m);
	explore_plan_free(p);
}

/* ---- shrinking ---- */

struct fake {
	struct explore_shrink k;
	const struct explore_plan *plan;
	const char *needs; /* the input shows it if stdin contains this */
	unsigned runs, broken_after;
};

static bool fake_shows(void *arg, const struct symbolic_input *in)
{
	struct fake *f = arg;
	if (f->broken_after && f->runs >= f->broken_after) {
		f->k.tries = 0;
		return false;
	}
	f->runs++;
	const struct sym_source *s = &f->plan->source.p[0];
	return memmem(in->byte + s->first, in->now[0], f->needs, strlen(f->needs)) != NULL;
}

/* stdin after shrinking from `from`; how often it was run is in *runs. */
static char *shrunk(const char *from, struct fake f, unsigned tries, double seconds, unsigned *runs)
{
	struct explore_inputs in = { .stdin_len = strlen(from), .printable = true };
	struct explore_plan *p = planned(&in, 0);
	struct symbolic_input input = symbolic_input_copy(&p->seed.p[0]);
	memcpy(input.byte, from, strlen(from));
	f.plan = p;
	f.k = (struct explore_shrink){ p, fake_shows, &f, tries, now_seconds() + seconds };
	explore_shrink(&f.k, &input);
	char *out = xasprintf("%.*s", (int)input.now[0], (const char *)input.byte);
	*runs = f.runs;
	symbolic_input_free(&input);
	explore_plan_free(p);
	return out;
}

static void test_shrink(void **state)
{
	unsigned runs;
	(void)state;
	char *out = shrunk("some long text with a key in it", (struct fake){ .needs = "key" }, 1000,
			   100, &runs);
	/* nothing behind it, the lowest value before it */
	assert_string_equal(out, "                      key");
	assert_true(runs < 60);
	free(out);
	out = shrunk("key", (struct fake){ .needs = "key" }, 1000, 100, &runs);
	assert_string_equal(out, "key");
	free(out);
	out = shrunk("nothing matters", (struct fake){ .needs = "" }, 1000, 100, &runs);
	assert_string_equal(out, "");
	assert_int_equal(runs, 1);
	free(out);
}

static void test_shrink_limits(void **state)
{
	unsigned runs;
	(void)state;
	char *out = shrunk("text with a key", (struct fake){ .needs = "key" }, 3, 100, &runs);
	assert_int_equal(runs, 3);
	assert_non_null(strstr(out, "key"));
	free(out);
	out = shrunk("text with a key", (struct fake){ .needs = "key" }, 100, -1, &runs);
	assert_int_equal(runs, 0);
	assert_string_equal(out, "text with a key");
	free(out);
	/* the explorer breaks: what was last seen to show it is kept */
	out = shrunk("key and more", (struct fake){ .needs = "key", .broken_after = 2 }, 100, 100,
		     &runs);
	assert_int_equal(runs, 2);
	assert_non_null(strstr(out, "key"));
	free(out);
}

static void test_shrink_keeps(void **state)
{
	struct explore_inputs in = { 0 };
	unsigned runs = 0;
	(void)state;
	words(&in.packet, "ab$1:2", NULL);
	struct explore_plan *p = planned(&in, 0);
	struct symbolic_input input = symbolic_input_copy(&p->seed.p[0]);
	struct fake f = { .plan = p, .needs = "" };
	f.k = (struct explore_shrink){ p, fake_shows, &f, 100, now_seconds() + 100 };
	explore_shrink(&f.k, &input);
	/* packets have their length, and what is fixed stays */
	assert_int_equal(input.now[0], 4);
	assert_memory_equal(input.byte, "ab\0\0", 4);
	assert_true(f.runs > runs);
	symbolic_input_free(&input);
	explore_plan_free(p);
}

/* ---- findings ---- */

static struct finding *crash_at(const char *function, int line)
{
	struct srcloc_frame frame = { .function = function, .file = "/src/a.c", .line = line };
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_CRASH));
	f->place = finding_place_copy((struct srcloc_where){ &frame, 1 });
	f->message = xstrdup("it crashes");
	f->cause = xstrdup("signal 11");
	return f;
}

static void test_smallest_input(void **state)
{
	struct explore_inputs in = { .stdin_len = 8 };
	struct explore_found found = { 0 };
	(void)state;
	struct explore_plan *p = planned(&in, 0);
	struct symbolic_input input = symbolic_input_copy(&p->seed.p[0]);
	input.now[0] = 5;
	struct finding *f = explore_found_add(&found, crash_at("f", 1), p, &input, NULL, 3);
	assert_true(found.news);
	explore_hit(&found, f)->kept = true;
	input.now[0] = 6; /* worse */
	assert_ptr_equal(explore_found_add(&found, crash_at("f", 1), p, &input, NULL, 4), f);
	assert_int_equal(explore_hit(&found, f)->input.now[0], 5);
	assert_true(explore_hit(&found, f)->kept);
	input.now[0] = 2; /* better */
	explore_found_add(&found, crash_at("f", 1), p, &input, NULL, 9);
	assert_int_equal(explore_hit(&found, f)->input.now[0], 2);
	assert_false(explore_hit(&found, f)->kept);
	assert_int_equal(f->input->path, 3); /* of the first run that showed it */
	assert_int_equal(f->input->paths, 3);
	explore_found_add(&found, crash_at("g", 2), p, &input, NULL, 10);
	assert_int_equal(found.hit.n, 2);
	assert_null(explore_hit(&found, NULL));
	symbolic_input_free(&input);
	explore_found_free(&found);
	explore_plan_free(p);
}

static void test_witness(void **state)
{
	char folder[] = "/some folder/crash/0001";
	struct explore_hit hit = { .phase = 2,
				   .nsources = 3,
				   .branches = 77,
				   .trail = UINT64_MAX,
				   .death = 0xabc,
				   .campaign = folder },
			   back = { 0 };
	(void)state;
	hit.input =
		(struct symbolic_input){ .byte = (uint8_t *)"\0a\xff", .n = 3, .now = { 1, 0, 2 } };
	char *text = explore_witness(&hit);
	assert_int_equal(explore_witness_parse(text, &back, &err), 0);
	assert_int_equal(back.phase, 2);
	assert_int_equal(back.nsources, 3);
	assert_int_equal(back.branches, 77);
	assert_true(back.trail == UINT64_MAX);
	assert_int_equal(back.death, 0xabc);
	assert_int_equal(back.input.n, 3);
	assert_memory_equal(back.input.byte, "\0a\xff", 3);
	assert_memory_equal(back.input.now, hit.input.now, sizeof hit.input.now);
	assert_string_equal(back.campaign, hit.campaign);
	explore_hit_free(&back);
	free(text);
}

/* As explorations of earlier versions have it, with words that are not known. */
static void test_witness_text(void **state)
{
	struct explore_hit hit = { 0 }, none = { 0 };
	(void)state;
	assert_int_equal(explore_witness_parse("phase 1\nbranches 7\ntrail 29a1\ndeath 0\nnow 4\n"
					       "later 1\nbytes 66617374\n",
					       &hit, &err),
			 0);
	assert_int_equal(hit.input.n, 4);
	assert_memory_equal(hit.input.byte, "fast", 4);
	assert_int_equal(hit.nsources, 1);
	assert_null(hit.campaign);
	explore_hit_free(&hit);
	assert_int_equal(explore_witness_parse("phase 1\nnow 4\n", &none, &err), -1);
	assert_int_equal(explore_witness_parse("", &none, &err), -1);
}

static void test_gdb(void **state)
{
	static const char said[] = "Program received signal SIGSEGV, Segmentation fault.\n"
				   "#0  0x00007ffff7e5a1b2 in memcpy () from /lib/libc.so.6\n"
				   "#1  0x0000555555555189 in walk (log=0x0) at /src/log.c:41\n"
				   "#2  main (argc=1, argv=0x7ffe) at /src/main.c:9\n";
	struct finding_place place = { 0 };
	(void)state;
	assert_true(explore_place_gdb("/bin/prog", said, &place));
	assert_int_equal(place.n, 3);
	assert_string_equal(place.frame[0].function, "memcpy");
	assert_string_equal(place.frame[0].module, "/lib/libc.so.6");
	assert_string_equal(place.frame[1].file, "/src/log.c");
	assert_int_equal(place.frame[1].line, 41);
	assert_string_equal(place.frame[2].function, "main");
	struct finding *f = finding_new(finding_kind_info(FINDING_PROGRAM_CRASH));
	f->place = place;
	finding_free(f);
	assert_false(explore_place_gdb("/bin/prog", "#0  0x00 in ?? ()\n", &place));
}

static void collect(void *arg, const struct trace_event *e)
{
	struct buf *b = arg;
	buf_printf(b, "%d:%d:%x:%x:%.*s ", (int)e->num, e->kind, (unsigned)e->ip,
		   (unsigned)(e->nargs ? e->arg[0] : 0), (int)e->size,
		   e->data ? (const char *)e->data : "");
}

static void test_log(void **state)
{
	struct explore_log log = { 0 };
	struct buf b = { 0 };
	struct trace_defs defs = { 0 };
	struct trace_process_def process = {
		.pid = 1, .parent_index = TRACE_NO_PROCESS, .command = (char *)"x", .command_len = 2
	};
	struct trace_site_def site = { .ip = 0x77 };
	struct trace_event store = { .num = 1000,
				     .kind = TRACE_STORE,
				     .nargs = 1,
				     .site = 9,
				     .size = 5,
				     .arg = { 0x40 },
				     .data = (const uint8_t *)"hello" };
	struct trace_event fence = { .num = 1003, .kind = TRACE_FENCE };
	(void)state;
	trace_defs_process(&defs, &process);
	assert_int_not_equal(trace_defs_site(&defs, 0, 9, &site), DEFS_BAD);
	explore_log_add(&log, &store);
	explore_log_add(&log, &fence);
	store.size = 8;
	store.data = (const uint8_t *)"12345678";
	store.num = 1004;
	explore_log_add(&log, &store);
	explore_log_each(&log, &defs, collect, &b);
	char want[64];
	snprintf(want, sizeof want, "1000:%d:77:40:hello 1003:%d:0:0: 1004:%d:77:40:12345678 ",
		 TRACE_STORE, TRACE_FENCE, TRACE_STORE);
	buf_add(&b, "", 1);
	assert_string_equal(b.p, want);
	explore_log_clear(&log);
	b.n = 0;
	explore_log_each(&log, &defs, collect, &b);
	assert_int_equal(b.n, 0);
	explore_log_free(&log);
	trace_defs_free(&defs);
	buf_free(&b);
}

/* ---- an input as files ---- */

static char *output_of(const char *command)
{
	struct buf b = { 0 };
	char part[256];
	FILE *f = popen(command, "r");
	assert_non_null(f);
	for (size_t n; (n = fread(part, 1, sizeof part, f));)
		buf_add(&b, part, n);
	assert_int_equal(pclose(f), 0);
	buf_add(&b, "", 1);
	return b.p;
}

static void test_script(void **state)
{
	const char *const argv[] = {
		"/bin/sh", "-c", "cat \"$1\" -; printf '%s|' \"$MODE\" \"$2\"", "sh", "data",
		"odd",     NULL
	};
	struct explore_inputs in = { .stdin_len = 4 };
	struct explore_program how = { .argv = argv, .cwd = root };
	(void)state;
	put("data", "0123456789", 10);
	words(&in.arg, "5:12", NULL);
	words(&in.env, "MODE:4", NULL);
	words(&in.file, "data:2-4", NULL);
	struct explore_plan *p = explore_plan_new(&in, argv, 0, &err);
	assert_non_null(p);
	struct symbolic_input input = symbolic_input_copy(&p->seed.p[0]);
	memcpy(input.byte,
	       "it's\n\"$x\"\0\0\0"
	       "m'\0\0"
	       "ab\0\0"
	       "##",
	       p->n);
	input.now[2] = 2;
	assert_int_equal(explore_files(&how, p, &input, "input", &err), 0);
	/* the file is whole but for its symbolic part, and the one that is there is as it was */
	char *said = output_of("./input/run");
	assert_string_equal(said, "01##456789abm'|it's\n\"$x\"|");
	free(said);
	said = output_of("cat data input/stdin input/file-data");
	assert_string_equal(said, "0123456789ab01##456789");
	free(said);
	symbolic_input_free(&input);
	explore_plan_free(p);
}

/* ---- the folder ---- */

static struct explore_folder *opened(const char *dir, enum campaign_db_mode mode)
{
	struct explore_folder *f = explore_folder_open(dir, mode, &err);
	if (!f)
		fail_msg("cannot open: %s", err.text);
	return f;
}

static void closed(struct explore_folder *f)
{
	campaign_db_commit(f->db, &err); /* nothing, if it was only read */
	assert_int_equal(explore_folder_close(f, &err), 0);
}

static void test_folder_command(void **state)
{
	const char *const argv[] = { "./app", "", "two words", "a\nb", NULL };
	const char *const *back;
	const char *cwd;
	(void)state;
	struct explore_folder *f = opened("command", CAMPAIGN_DB_NEW);
	assert_int_equal(explore_folder_load(f, &back, &cwd, &err), -1); /* nothing is there yet */
	assert_int_equal(explore_folder_save(f, argv, "/some where", &err), 0);
	closed(f);
	f = opened("command", CAMPAIGN_DB_RESUME);
	assert_true(explore_is(explore_folder_db(f)));
	assert_int_equal(explore_folder_load(f, &back, &cwd, &err), 0);
	for (size_t i = 0; argv[i]; i++)
		assert_string_equal(back[i], argv[i]);
	assert_null(back[4]);
	assert_string_equal(cwd, "/some where");
	assert_string_equal(explore_folder_shown(f), "command");
	closed(f);
}

static struct symbolic *engine_for(const struct explore_plan *p)
{
	struct symbolic_opts so = { .source = p->source.p, .nsource = p->source.n };
	struct symbolic *s = symbolic_new(&so, &err);
	assert_non_null(s);
	return s;
}

static void test_folder_inputs(void **state)
{
	struct explore_inputs in = { 0 };
	struct symbolic_input input, got;
	(void)state;
	words(&in.args, "1", "2", "4", NULL);
	struct explore_plan *one = planned(&in, 1), *two = planned(&in, 2);
	struct explore_folder *f = opened("inputs", CAMPAIGN_DB_NEW);
	input = symbolic_input_copy(&one->seed.p[0]);
	memcpy(input.byte, "abcd", 4);
	assert_int_equal(explore_folder_save(f, program, root, &err), 0);
	assert_int_equal(explore_folder_input(f, one, &input, &err), 0);
	assert_int_equal(explore_folder_input(f, two, &two->seed.p[0], &err), 0);
	closed(f);
	/* only those of the phase, and none twice */
	struct symbolic *engine = engine_for(one);
	f = opened("inputs", CAMPAIGN_DB_RESUME);
	assert_int_equal(explore_folder_seeds(f, one, engine, &err), 0);
	assert_int_equal(f->known, 1);
	assert_int_equal(f->next_input, 2);
	assert_int_equal(symbolic_next(engine, &got), 1);
	assert_memory_equal(got.byte, "abcd", 4);
	assert_int_equal(got.now[0], input.now[0]);
	assert_int_equal(explore_folder_input(f, one, &input, &err), 0);
	assert_int_equal(f->next_input, 2);
	input.byte[0] = 'x';
	assert_int_equal(explore_folder_input(f, one, &input, &err), 0);
	assert_int_equal(f->next_input, 3);
	/* all of them as files */
	struct explore_opts o = { .inputs = in, .program = { .argv = program, .cwd = root } };
	uint64_t n;
	assert_int_equal(explore_export(&o, f, "suite", &n, &err), 0);
	assert_int_equal(n, 3);
	char *said = output_of("cat suite/00001/arg3 suite/00003/arg3; ls suite/00002");
	assert_string_equal(said, "abcdxbcdarg3\narg4\nrun\n");
	free(said);
	symbolic_free(engine);
	symbolic_input_free(&got);
	symbolic_input_free(&input);
	closed(f);
	explore_plan_free(one);
	explore_plan_free(two);
}

static void test_folder_findings(void **state)
{
	struct explore_inputs in = { .stdin_len = 4 };
	struct explore_opts o = { .inputs = in, .program = { .argv = program, .cwd = root } };
	struct explore_found found = { 0 };
	struct symbolic_stats stats = { .paths = 12 };
	(void)state;
	struct explore_plan *p = planned(&in, 0);
	struct explore_folder *f = opened("findings", CAMPAIGN_DB_NEW);
	struct finding *crash =
		explore_found_add(&found, crash_at("f", 1), p, &p->seed.p[0], NULL, 3);
	assert_int_equal(explore_folder_save(f, program, root, &err), 0);
	assert_int_equal(explore_folder_findings(f, &found, &o.program, p, &err), 0);
	assert_false(found.news);
	assert_string_equal(crash->input->text, "stdin: 4 bytes, \"\\x00\\x00\\x00\\x00\"");
	assert_int_equal(explore_folder_counts(f, "stopped", "pm", &stats, 1, 2.5, &err), 0);
	char id[17];
	strcpy(id, crash->id);
	closed(f);
	explore_found_free(&found);
	explore_plan_free(p);
	/* again, by the beginning of its id */
	f = opened("findings", CAMPAIGN_DB_READ);
	assert_string_equal(campaign_db_get(f->db, "paths"), "12");
	assert_string_equal(campaign_db_get(f->db, "seconds"), "2.5");
	id[5] = 0;
	struct explore_replay *r = explore_replay_open(&o, f, id, &err);
	assert_non_null(r);
	assert_null(explore_replay_campaign(r));
	struct explore_native died = { .signal = 11 }, well = { 0 };
	assert_int_equal(explore_replay_died(r, &died), 1);
	assert_int_equal(explore_replay_died(r, &well), 0);
	explore_replay_free(r);
	assert_null(explore_replay_open(&o, f, "zz", &err));
	assert_non_null(strstr(err.text, "there is no finding zz in findings"));
	closed(f);
}

/* ---- settings that are kept ---- */

static void parse(struct explore_cli *o, int argc, const char *const *given)
{
	char **argv = (char **)given;
	assert_int_equal(cli_parse(cli_find("explore"), o, &argc, &argv), CLI_GO);
}

static void test_settings(void **state)
{
	const char *const argv[] = { "explore",    "--sym-stdin", "12",          "--sym-args",
				     "1",          "2",           "4",           "--sym-env",
				     "A B:4",      "--sym-env",   "C:2",         "--printable",
				     "--strategy", "dfs",         "--max-paths", "7",
				     "--json",     "r.json",      "-j",          "3",
				     "--timeout",  "2s",          "--pm",        "*.pool",
				     "--quiet",    "./app",       NULL };
	struct explore_cli o = { 0 }, again = { 0 }, other = { 0 };
	struct explore_setup s = { .cli = &o }, t = { .cli = &again }, u = { .cli = &other };
	(void)state;
	parse(&o, sizeof argv / sizeof *argv - 1, argv);
	s.opts.program.argv = program;
	s.opts.program.cwd = root;
	s.folder = opened("settings", CAMPAIGN_DB_NEW);
	assert_int_equal(explore_setup_save(&s, &err), 0);
	assert_int_equal(campaign_db_commit(explore_folder_db(s.folder), &err), 0);
	explore_setup_free(&s);
	/* what is of that run only is not there again */
	t.folder = opened("settings", CAMPAIGN_DB_READ);
	assert_int_equal(explore_setup_load(&t, &err), 0);
	assert_int_equal(again.sym_stdin, 12);
	assert_int_equal(again.sym_args.n, 3);
	assert_string_equal(again.sym_args.p[2], "4");
	assert_int_equal(again.sym_env.n, 2);
	assert_string_equal(again.sym_env.p[0], "A B:4");
	assert_true(again.printable);
	assert_string_equal(again.strategy, "dfs");
	assert_string_equal(again.timeout, "2s");
	assert_string_equal(again.run.pm.p[0], "*.pool");
	assert_int_equal(again.max_paths, 0);
	assert_int_equal(again.crash.jobs, 0);
	assert_false(again.output.quiet);
	assert_null(again.output.file[0]);
	explore_setup_free(&t);
	/* and what is given must be what it was, unless it is of this run only */
	const char *const changed[] = {
		"explore", "--max-paths", "9", "--sym-stdin", "8", "d", NULL
	};
	parse(&other, 6, changed);
	u.folder = opened("settings", CAMPAIGN_DB_READ);
	assert_int_equal(explore_setup_load(&u, &err), -1);
	assert_non_null(strstr(err.text, "--sym-stdin is '12' in this exploration"));
	explore_setup_free(&u);
}

/* ---- numbers ---- */

static void test_chart(void **state)
{
	struct explore_chart c = { 0 };
	struct symbolic_stats a = { .paths = 3, .blocks = 10, .nodes = 5, .candidates = 8 },
			      b = { .paths = 4, .blocks = 7, .nodes = 6, .candidates = 1 };
	(void)state;
	explore_chart_add(&c, 0.5, &a, 1);
	explore_stats_add(&a, &b);
	explore_chart_add(&c, 1.25, &a, 2);
	assert_int_equal(explore_chart_write(&c, "chart.csv", &err), 0);
	char *said = output_of("cat chart.csv");
	assert_string_equal(said, "seconds,paths,blocks,pm sites,behaviours,findings\n"
				  "0.500,3,10,0,0,1\n1.250,7,10,0,0,2\n");
	free(said);
	assert_int_equal(a.nodes, 6);      /* the most that there were at a time */
	assert_int_equal(a.candidates, 1); /* that are left now */
	assert_int_equal(explore_chart_write(&c, "no/such/folder", &err), -1);
	VEC_FREE(&c.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_sources_refused),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_without_a_seed),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_shrink),
		cmocka_unit_test(test_shrink_limits),
		cmocka_unit_test(test_shrink_keeps),
		cmocka_unit_test(test_smallest_input),
		cmocka_unit_test(test_witness),
		cmocka_unit_test(test_witness_text),
		cmocka_unit_test(test_gdb),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_folder_command),
		cmocka_unit_test(test_folder_inputs),
		cmocka_unit_test(test_folder_findings),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_chart),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
