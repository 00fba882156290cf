/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One place: its report, as the page wants it, and how far it is. Results come from the database, which
 * another process may be writing; what check says of a recording is made once and kept as a file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "campaign/campaign.h"
#include "explore/explore.h"
#include "serve/internal.h"

#define FRESH                                                                                      \
	5.0 /* seconds: a trace without an end that has changed since is still being recorded */

/* ---- how far it is ---- */

/* Findings by level, and a hash of all of them. */
struct tally {
	uint64_t hash, n, level[FINDING_LEVELS];
};

static void count(void *arg, const struct campaign_db_finding *row)
{
	static const char key[] = "\"level\":\"";
	struct tally *t = arg;
	const char *level = strstr(row->finding, key); /* its own comes first */
	t->hash = hash_mix(t->hash, hash_bytes(row->finding, strlen(row->finding)));
	t->n++;
	for (int i = 0; level && i < FINDING_LEVELS; i++) {
		const char *name = finding_level_name((enum finding_level)i);
		size_t n = strlen(name);
		if (!strncmp(level + sizeof key - 1, name, n) && level[sizeof key - 1 + n] == '"')
			t->level[i]++;
	}
}

static const char *state_of(struct campaign_db *db, const char *dir)
{
	const char *kept = campaign_db_get(db, "state");
	if (campaign_db_writer(dir))
		return "running";
	if (!kept)
		return "not begun";
	return !strcmp(kept, "running") ? "interrupted" : kept;
}

static void add_figures(struct campaign_db *db, struct buf *out)
{
	struct report_field field[CAMPAIGN_FIGURES];
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	campaign_figures(db, field);
	if (f) {
		report_fields(field, CAMPAIGN_FIGURES, f);
		fclose(f);
	}
	while (text && n && text[n - 1] == '\n')
		text[--n] = 0;
	buf_puts(out, text ? text : "{}");
	free(text);
	campaign_figures_free(field);
}

static void add_chart(struct campaign_db *db, struct buf *out)
{
	struct campaign_chart c = { 0 };
	if (campaign_chart_load(&c, db)) {
		struct report_chart chart = { (const char *const *)c.name.p, c.name.n, c.v.p,
					      c.v.n / c.name.n };
		char *json = report_chart_json(&chart);
		buf_printf(out, ",\"chart\":%s", json);
		free(json);
	}
	campaign_chart_free(&c);
}

static uint64_t hash_kept(struct campaign_db *db, const char *key, uint64_t hash)
{
	const char *text = campaign_db_get(db, key);
	return text ? hash_mix(hash, hash_bytes(text, strlen(text))) : hash;
}

static bool news_of_results(const struct serve_place *p, bool chart, struct buf *out,
			    struct tally *t)
{
	struct err ignored;
	struct campaign_db *db = campaign_db_open(p->dir, CAMPAIGN_DB_READ, &ignored);
	if (!db)
		return false;
	const char *state = state_of(db, p->dir);
	bool running = !strcmp(state, "running");
	buf_printf(out, "\"state\":\"%s\",\"running\":%s,\"figures\":", state,
		   running ? "true" : "false");
	add_figures(db, out);
	campaign_db_each_finding(db, count, t, &ignored);
	t->hash = hash_kept(db, "incomplete", hash_kept(db, "notes", t->hash));
	if (chart)
		add_chart(db, out);
	campaign_db_close(db, &ignored);
	return true;
}

static uint64_t trace_stamp(const char *dir, double *age)
{
	struct stat st = { 0 };
	char *path = xasprintf("%s/trace", dir);
	if (stat(path, &st))
		st.st_size = -1;
	free(path);
	*age = (double)time(NULL) - (double)st.st_mtime;
	return hash_mix(hash_mix((uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec),
			hash_mix((uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_ino));
}

static bool is_being_recorded(const char *dir)
{
	struct err ignored;
	const char *why;
	double age;
	trace_stamp(dir, &age);
	struct trace_reader *r = age < FRESH ? trace_open(dir, &ignored) : NULL;
	bool being = r && !trace_is_whole(r, &why);
	if (r)
		trace_close(r);
	return being;
}

static void news_of_recording(const struct serve_place *p, struct buf *out, struct tally *t)
{
	double age;
	bool running = is_being_recorded(p->dir);
	t->hash = running ? 1 : trace_stamp(p->dir, &age);
	buf_printf(out, "\"state\":\"%s\",\"running\":%s,\"figures\":{}",
		   running ? "recording" : "recorded", running ? "true" : "false");
}

void serve_view_news(const struct serve_view *v, const struct serve_place *p, bool chart,
		     struct buf *out, char version[17])
{
	static const char *const kinds[] = { "recording", "campaign", "exploration" };
	struct report_field name = { .name = "name", .text = p->name };
	struct tally t = { .hash = (uint64_t)p->kind };
	char *text = NULL;
	size_t n;
	(void)v;
	FILE *f = open_memstream(&text, &n);
	if (f) {
		report_fields(&name, 1, f);
		fclose(f);
	}
	buf_add(out, text ? text : "{", text ? strcspn(text, "\n") - 1 : 1); /* without its brace */
	/* A name may be no UTF-8, and so no text of JSON: links go by the path. */
	buf_printf(out, "%s\"path\":\"", text ? "," : "");
	serve_encode(out, p->name);
	buf_printf(out, "\",\"kind\":\"%s\",\"changed\":%.0f,", kinds[p->kind], p->changed);
	free(text);
	if (p->kind == SERVE_RECORDING || !news_of_results(p, chart, out, &t))
		news_of_recording(p, out, &t);
	buf_puts(out, ",\"levels\":{");
	for (int i = 0; i < FINDING_LEVELS; i++)
		buf_printf(out, "%s\"%s\":%llu", i ? "," : "",
			   finding_level_name((enum finding_level)i),
			   (unsigned long long)t.level[i]);
	snprintf(version, 17, "%016llx", (unsigned long long)t.hash);
	buf_printf(out, "},\"version\":\"%s\"}", version);
}

/* ---- the report of results ---- */

struct results {
	struct campaign_db *db;
	struct trace_reader *trace;
	struct explore_folder *folder;
	struct report report;
	struct finding_set set;
	struct campaign_chart chart;
	struct report_chart picture;
	VEC(char *) words; /* texts to be freed */
	VEC(const char *) note;
	char **command;
};

/* What is kept under a key; NULL: nothing, or no text. */
static char *kept(struct results *r, const char *key)
{
	const char *text = campaign_db_get(r->db, key);
	if (!text || !*text)
		return NULL;
	VEC_PUSH(&r->words, xstrdup(text));
	return r->words.p[r->words.n - 1];
}

static void take_finding(void *arg, const struct campaign_db_finding *row)
{
	struct results *r = arg;
	struct err ignored; /* show says what is wrong with it */
	struct finding *f = report_finding_parse(row->finding, &ignored);
	if (f)
		VEC_PUSH(&r->set.v, f);
}

static void take_notes(struct results *r)
{
	char *save = NULL, *notes = kept(r, "notes");
	for (char *line = notes ? strtok_r(notes, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		VEC_PUSH(&r->note, line);
	r->report.notes = r->note.p;
	r->report.nnotes = r->note.n;
}

static void take_chart(struct results *r)
{
	if (!campaign_chart_load(&r->chart, r->db))
		return;
	r->picture = (struct report_chart){ (const char *const *)r->chart.name.p, r->chart.name.n,
					    r->chart.v.p, r->chart.v.n / r->chart.name.n };
	r->report.chart = &r->picture;
}

/* The program's command is in the first event of the trace, or in the exploration's settings. */
static int take_command(struct results *r, const struct serve_place *p, struct err *err)
{
	struct trace_event e;
	const char *const *argv;
	const char *cwd;
	if (p->kind != SERVE_EXPLORATION) {
		if (!(r->trace = trace_open(p->dir, err)) || trace_next(r->trace, &e, err) < 0)
			return -1;
		r->command = launch_command(trace_defs(r->trace), &r->report.ncommand);
		r->report.command = (const char *const *)r->command;
		return 0;
	}
	if (!(r->folder = explore_folder_open(p->dir, CAMPAIGN_DB_READ, err)) ||
	    explore_folder_load(r->folder, &argv, &cwd, err))
		return -1;
	r->report.command = argv;
	while (argv[r->report.ncommand])
		r->report.ncommand++;
	return 0;
}

static const char *why_incomplete(struct results *r, const char *dir)
{
	const char *state = state_of(r->db, dir);
	if (!strcmp(state, "running"))
		return "it is still running";
	if (!strcmp(state, "interrupted"))
		return "it was interrupted; --resume goes on";
	return kept(r, "incomplete");
}

static int take_all(struct results *r, const struct serve_place *p, struct err *err)
{
	if (!(r->db = campaign_db_open(p->dir, CAMPAIGN_DB_READ, err)) ||
	    campaign_db_each_finding(r->db, take_finding, r, err) || take_command(r, p, err))
		return -1;
	const char *verb = kept(r, "verb"), *model = kept(r, "model");
	r->report.verb = verb ? verb : "crash";
	r->report.model = model ? model : model_find(NULL)->name;
	r->report.incomplete = why_incomplete(r, p->dir);
	r->report.looked = kept(r, "looked");
	finding_sort(&r->set);
	r->report.findings = &r->set;
	take_notes(r);
	take_chart(r);
	return 0;
}

static char *report_of_results(const struct serve_place *p, struct err *err)
{
	struct results r = { 0 };
	struct err ignored;
	char *json = take_all(&r, p, err) ? NULL : report_page_json(&r.report);
	finding_set_free(&r.set);
	campaign_chart_free(&r.chart);
	for (size_t i = 0; i < r.words.n; i++)
		free(r.words.p[i]);
	VEC_FREE(&r.words);
	VEC_FREE(&r.note);
	free(r.command);
	if (r.trace)
		trace_close(r.trace);
	if (r.folder)
		explore_folder_close(r.folder, &ignored);
	campaign_db_close(r.db, &ignored);
	return json;
}

/* ---- the report of a recording ---- */

static void take_json(void *arg, const struct report *r)
{
	*(char **)arg = report_page_json(r);
}

static char *unfinished(void)
{
	struct finding_set none = { 0 };
	struct report r = { .verb = "record",
			    .incomplete =
				    "the program is still running: findings come when it has ended",
			    .findings = &none };
	return report_page_json(&r);
}

static char *read_all(const char *path)
{
	struct buf b = { 0 };
	char part[65536];
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0)
		buf_add(&b, part, (size_t)n);
	if (fd >= 0)
		close(fd);
	if (b.n)
		buf_add(&b, "", 1);
	return b.p;
}

/* Whole or not at all: others may be reading. */
static void keep(const char *path, const char *json)
{
	char *aside = xasprintf("%s.%ld", path, (long)getpid());
	int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool bad = fd < 0 || write_all(fd, json, strlen(json));
	if (fd >= 0)
		close(fd);
	if (bad || rename(aside, path))
		unlink(aside);
	free(aside);
}

static char *report_of_recording(const struct serve_view *v, const struct serve_place *p,
				 struct err *err)
{
	double age;
	if (is_being_recorded(p->dir))
		return unfinished();
	uint64_t stamp = hash_mix(trace_stamp(p->dir, &age), hash_bytes(p->dir, strlen(p->dir)));
	char *path = v->cache ? xasprintf("%s/%016llx", v->cache, (unsigned long long)stamp) : NULL;
	char *json = path ? read_all(path) : NULL;
	if (!json && !v->o->check(p->dir, take_json, &json, err) && json && path)
		keep(path, json);
	free(path);
	return json;
}

char *serve_view_report(const struct serve_view *v, const struct serve_place *p, struct err *err)
{
	err_set(err, EXIT_INTERNAL, "out of memory");
	return p->kind == SERVE_RECORDING ? report_of_recording(v, p, err)
					  : report_of_results(p, err);
}
