/* SPDX-License-Identifier: BSD-3-Clause */
#include "explorer_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/holdfast-explorer-XXXXXX";
char program[PATH_MAX];

static int on_event(void *arg, const struct trace_event *ev, struct err *err)
{
	struct heard *h = arg;
	(void)err;
	if (!h->events++)
		h->first = ev->num;
	h->last = ev->num;
	h->stores += ev->kind == TRACE_STORE;
	return 0;
}

static int on_sym(void *arg, const struct trace_event *ev, struct err *err)
{
	struct heard *h = arg;
	(void)err;
	h->ready += ev->kind == TRACE_SYM_READY;
	h->ends += ev->kind == TRACE_SYM_END;
	h->branches += ev->kind == TRACE_SYM_BRANCH;
	if (ev->kind == TRACE_SYM_READ) {
		h->reads++;
		h->taken += ev->arg[2];
		h->end_met = h->end_met || ev->flags;
	}
	return 0;
}

void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_not_equal(fputs(text, f), EOF);
	assert_int_equal(fclose(f), 0);
}

void expect_text(const char *path, const char *text)
{
	char has[64] = "";
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	has[fread(has, 1, sizeof has - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(has, text);
}

int rig_setup(void **state)
{
	char self[PATH_MAX], tool[PATH_MAX + 32];
	(void)state;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		return -1;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(program, sizeof program, "%.4000s/explored", self);
	snprintf(tool, sizeof tool, "%s/../../tracer", self);
	setenv("HOLDFAST_LIBEXEC", tool, 1);
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

/* Nothing that a run makes is there afterwards, so the folder is empty but for our own. */
int rig_teardown(void **state)
{
	(void)state;
	unlink("kept");
	unlink("input");
	return chdir("/") || rmdir(dir);
}

void add(struct test *t, enum sym_kind kind, uint32_t len, const char *path)
{
	struct sym_source *s = &t->source[t->o.nsource];
	*s = (struct sym_source){ .kind = kind, .len = len, .now = len };
	if (t->o.nsource)
		s->first = s[-1].first + s[-1].len;
	if (path)
		snprintf(s->path, sizeof s->path, "%s", path);
	t->o.nsource++;
}

bool begin_as(struct test *t, const char *const *argv)
{
	struct err err = { 0 };
	bool used = false;
	t->o.run.argv = argv;
	t->o.source = t->source;
	t->o.seed = t->input;
	if (t->o.timeout == 0)
		t->o.timeout = 600;
	t->e = launch_explorer_new(&t->o, on_event, on_sym, &t->h, &err);
	if (!t->e || launch_explorer_start(t->e, &used, &err))
		fail_msg("%s", err.text);
	return used;
}

bool begin(struct test *t, const char *purpose, const char *arg)
{
	t->argv[0] = program;
	t->argv[1] = purpose;
	t->argv[2] = arg;
	return begin_as(t, t->argv);
}

int run_with(struct test *t, const char *text)
{
	struct err err = { 0 };
	uint32_t now[SYM_MAX_SOURCES];
	size_t n, len = strlen(text);
	const uint8_t *known;
	const struct sym_source *s = launch_explorer_sources(t->e, &n, &known);
	int ended = 0;
	memset(t->input, 0, sizeof t->input);
	memcpy(t->input, text, len < sizeof t->input ? len : sizeof t->input);
	for (size_t i = 0; i < n; i++)
		now[i] = len <= s[i].first             ? 0
			 : len - s[i].first < s[i].len ? (uint32_t)len - s[i].first
						       : s[i].len;
	t->h = (struct heard){ 0 };
	if (launch_explorer_go(t->e, t->input, now, &err))
		fail_msg("%s", err.text);
	while (!ended)
		ended = launch_explorer_poll(t->e, 100, &t->run, &err);
	if (ended < 0)
		fail_msg("%s", err.text);
	return t->run.status;
}

void end(struct test *t)
{
	launch_explorer_free(t->e);
}
