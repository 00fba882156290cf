/* SPDX-License-Identifier: BSD-3-Clause */
/* From settings as people write them to what the crash engine and the runner take. */
#include <stdlib.h>
#include <string.h>

#include "campaign/internal.h"

#define TIMEOUT 10.0
#define BUDGET 600.0 /* seconds */
#define LONGEST 86400
#define OUTPUT_CAP (16u << 20)
#define MAX_PER_PATH 8
#define SUFFIX 200

static int not_a(const char *what, const char *name, const char *text, struct err *err)
{
	return err_set(err, EXIT_USAGE, "--%s: '%s' is not a %s", name, text, what);
}

static int set_budget(struct campaign_options *o, const char *name, const char *text,
		      struct err *err)
{
	uint64_t *states = &o->crash.budget_states;
	o->budget = 0;
	o->budget_asked = true;
	if (!strcmp(text, "none"))
		return 0;
	if (units_has_unit(text) ? !units_time(text, &o->budget) : !units_size(text, states))
		return not_a(units_has_unit(text) ? "time" : "size", name, text, err);
	if (o->budget <= 0 && !*states)
		return err_set(err, EXIT_USAGE, "--budget: nothing can be done with 0");
	o->crash.endless = true;
	return 0;
}

/* One glob a line. */
static int set_only(struct campaign_options *o, const char *name, const char *text, struct err *err)
{
	(void)name;
	(void)err;
	o->only_text = xstrdup(text);
	for (char *word = strtok(o->only_text, "\n"); word; word = strtok(NULL, "\n"))
		VEC_PUSH(&o->only, word);
	o->crash.only = o->only.p;
	o->crash.nonly = o->only.n;
	return 0;
}

static int set_model(struct campaign_options *o, const char *name, const char *text,
		     struct err *err)
{
	o->crash.model = model_find(text);
	return o->crash.model ? 0 : not_a("model", name, text, err);
}

static int set_timeout(struct campaign_options *o, const char *name, const char *text,
		       struct err *err)
{
	double seconds;
	if (!units_time(text, &seconds))
		return not_a("time", name, text, err);
	if (seconds <= 0 || seconds > LONGEST)
		return err_set(err, EXIT_USAGE, "--timeout: %s makes no sense", text);
	o->runner.timeout_ms = (unsigned)(seconds * 1000);
	return 0;
}

static int set_memory(struct campaign_options *o, const char *name, const char *text,
		      struct err *err)
{
	return units_size(text, &o->runner.memory) ? 0 : not_a("size", name, text, err);
}

static int set_output_cap(struct campaign_options *o, const char *name, const char *text,
			  struct err *err)
{
	uint64_t bytes;
	if (!units_size(text, &bytes))
		return not_a("size", name, text, err);
	o->runner.output_cap = (size_t)bytes;
	return 0;
}

static int set_view(struct campaign_options *o, const char *name, const char *text, struct err *err)
{
	bool any = strcmp(text, "auto") == 0;
	o->runner.view = any ? NULL : sandbox_view_named(text);
	return any || o->runner.view ? 0 : not_a("view", name, text, err);
}

static int set_judge(struct campaign_options *o, const char *name, const char *text,
		     struct err *err)
{
	o->judge = text;
	return names_known(crash_judge_at, text, "") ? 0 : not_a("way to judge", name, text, err);
}

static int set_port(struct campaign_options *o, const char *name, const char *text, struct err *err)
{
	(void)name;
	(void)err;
	o->runner.port = (unsigned)strtoul(text, NULL, 10);
	return 0;
}

/* "K/N", or of several that were joined "K,K/N"; none at all if no shard is whole. */
static int set_shard(struct campaign_options *o, const char *name, const char *text,
		     struct err *err)
{
	const char *slash = strchr(text, '/'), *at = text;
	char *end;
	unsigned long n = slash ? strtoul(slash + 1, &end, 10) : 0;
	if (!n || n > CAMPAIGN_SHARDS || *end)
		return err_set(err, EXIT_USAGE, "--%s: '%s' is not K/N, with N up to %u", name,
			       text, CAMPAIGN_SHARDS);
	while (at < slash) {
		unsigned long k = strtoul(at, &end, 10);
		if (end == at || k < 1 || k > n || (end != slash && *end != ','))
			return err_set(err, EXIT_USAGE, "--%s: '%s' is not K/N, with K from 1 to N",
				       name, text);
		o->mine[k - 1] = 1;
		at = end < slash ? end + 1 : slash;
	}
	o->crash.shards = (unsigned)n;
	o->crash.mine = o->mine;
	return 0;
}

/* Every setting of a campaign: where it goes, or who puts it there. */
#define AT(field) offsetof(struct campaign_options, field)
static const struct row {
	const char *name;
	enum { TEXT, NUMBER, FLAG } type;
	size_t offset;
	int (*set)(struct campaign_options *, const char *name, const char *text, struct err *);
} rows[] = {
	{ "recover", TEXT, AT(runner.command) },
	{ "strategy", TEXT, AT(crash.strategy) },
	{ "budget", .set = set_budget },
	{ "shard", .set = set_shard },
	{ "points", TEXT, AT(crash.points) },
	{ "max-per-path", NUMBER, AT(crash.max_per_path) },
	{ "only", .set = set_only },
	{ "after", NUMBER, AT(crash.after) },
	{ "model", .set = set_model },
	{ "timeout", .set = set_timeout },
	{ "memory", .set = set_memory },
	{ "output-cap", .set = set_output_cap },
	{ "expect-exit", TEXT, AT(runner.expect_exit) },
	{ "fail-regex", TEXT, AT(runner.fail_regex) },
	{ "probe", TEXT, AT(runner.probe) },
	{ "continue", TEXT, AT(runner.next) },
	{ "ops-file", TEXT, AT(crash.ops_file) },
	{ "ops-skip", NUMBER, AT(crash.ops_skip) },
	{ "suffix", NUMBER, AT(crash.suffix) },
	{ "ignore", TEXT, AT(runner.ignore) },
	{ "judge", .set = set_judge },
	{ "ops-calls", TEXT, AT(crash.ops_calls) },
	{ "ops-way", TEXT, AT(crash.ops_way) },
	{ "recover-client", TEXT, AT(runner.client) },
	{ "same-address", FLAG, AT(same_address) },
	{ "fast-recover", FLAG, AT(runner.fast) },
	{ "seed", NUMBER, AT(crash.seed) },
	{ "random", NUMBER, AT(crash.random) },
	{ "no-reduce", FLAG, AT(crash.no_reduce) },
	{ "view", .set = set_view },
	{ "port", .set = set_port },
	{ "ready", TEXT, AT(runner.ready) },
	{ "stop", TEXT, AT(runner.stop) },
};
#define ROWS (sizeof rows / sizeof *rows)

const char *campaign_setting_name(size_t i)
{
	return i < ROWS ? rows[i].name : NULL;
}

static const struct row *find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static int set(struct campaign_options *o, const struct campaign_setting *s, struct err *err)
{
	const struct row *row = find(s->name);
	char *field = (char *)o + (row ? row->offset : 0);
	if (!row)
		return err_set(err, EXIT_INTERNAL, "a campaign has no setting '%s'", s->name);
	if (row->set)
		return row->set(o, s->name, s->text, err);
	switch (row->type) {
	case TEXT: *(const char **)field = s->text; break;
	case NUMBER: *(uint64_t *)field = strtoull(s->text, NULL, 10); break;
	case FLAG: *(bool *)field = true;
	}
	return 0;
}

/* Who is listened to, if anybody is: where there is no recovery, the probe is the command, or else --continue. */
static void choose_judge(struct campaign_options *o)
{
	struct runner_opts *r = &o->runner;
	const char **first = r->probe ? &r->probe : &r->next;
	r->listen = o->judge ? strcmp(o->judge, "output") == 0 : r->probe || r->next;
	o->crash.listen = r->listen;
	if (!r->command) {
		r->own = true;
		r->command = *first;
		*first = NULL;
	}
	o->crash.several = r->listen && (r->probe || r->next);
}

int campaign_options_set(struct campaign_options *o, const struct campaign_settings *s,
			 struct err *err)
{
	int bad = 0;
	*o = (struct campaign_options){
		.budget = BUDGET,
		.crash = { .model = model_find(NULL),
			   .max_per_path = MAX_PER_PATH,
			   .suffix = SUFFIX },
		.runner = { .timeout_ms = (unsigned)(TIMEOUT * 1000), .output_cap = OUTPUT_CAP },
	};
	for (size_t i = 0; i < s->n && !bad; i++)
		bad = set(o, &s->p[i], err);
	choose_judge(o);
	return bad;
}

void campaign_options_free(struct campaign_options *o)
{
	VEC_FREE(&o->only);
	free(o->only_text);
	*o = (struct campaign_options){ 0 };
}

static int check_continue(const struct campaign_settings *s, struct err *err)
{
	const char *command = campaign_settings_get(s, "continue");
	const char *file = campaign_settings_get(s, "ops-file");
	if (command && !runner_has_ops(command))
		return err_set(err, EXIT_USAGE,
			       "--continue: the command needs {ops}, where the file with the "
			       "operations that follow the crash is to stand");
	if (!command == !file)
		return 0;
	return file ? err_set(err, EXIT_USAGE, "--ops-file is for --continue CMD")
		    : err_set(err, EXIT_USAGE,
			      "--continue needs --ops-file FILE: the operations that the program "
			      "was given, one a line");
}

int campaign_check(const struct campaign_settings *s, struct err *err)
{
	static const char *const commands[] = { "recover", "probe", "continue" };
	struct campaign_options o;
	bool any = false;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *command = campaign_settings_get(s, commands[i]);
		any = any || (command && *command);
	}
	if (!any)
		return err_set(
			err, EXIT_USAGE,
			"--recover CMD is needed: the command that opens the pool after a "
			"crash and fails if it is not well; or --probe CMD, which prints what is in it; "
			"or --continue CMD, which goes on with the operations of a file");
	if (check_continue(s, err))
		return -1;
	if (campaign_settings_get(s, "recover-client") && !campaign_settings_get(s, "port") &&
	    !campaign_settings_get(s, "ready"))
		return err_set(err, EXIT_USAGE,
			       "--recover-client needs --port or --ready, to know when the server "
			       "is up");
	int bad = campaign_options_set(&o, s, err) || runner_check(&o.runner, err);
	campaign_options_free(&o);
	return bad ? -1 : 0;
}
