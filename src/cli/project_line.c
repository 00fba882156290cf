/* SPDX-License-Identifier: BSD-3-Clause */
/* From the tables of a project file to command lines. */
#include "cli/project.h"

#include <stdlib.h>
#include <string.h>

#define VERB "verb" /* keys of a run that are no options */
#define PROGRAM "program"

static int wrong(const struct project *p, const struct project_key *k, struct err *err,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static int wrong(const struct project *p, const struct project_key *k, struct err *err,
		 const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(err, EXIT_USAGE, "%s:%u: %s", p->path, k->line, text);
}

/* ---- keys are options ---- */

/* The i-th thing that may stand in the table of a run of this verb. */
static const char *known_key(const void *verb, size_t i)
{
	struct cli_walk walk = { 0 };
	const struct cli_option *o;
	if (i < 2)
		return i ? VERB : PROGRAM;
	for (i -= 2; (o = cli_next_option(verb, &walk)) && i; i--)
		;
	return o ? o->name : NULL;
}

int project_unknown(const struct project *p, const struct project_key *k,
		    const struct cli_verb *verb, struct err *err)
{
	const struct cli_verb *test = cli_find("test");
	struct cli_option o;
	if (verb != test && cli_find_option(test, k->name, strlen(k->name), &o))
		return wrong(p, k, err, "'%s' is no option of %s, but of test", k->name,
			     verb->name);
	const char *near = cli_nearest(k->name, known_key, verb);
	const char *there = near || verb == test ? NULL : cli_nearest(k->name, known_key, test);
	/* What makes a run one of 'test' may be misspelt itself: recover, say. */
	if (there)
		return wrong(p, k, err, "'%s' is no option of %s; did you mean '%s', of test?",
			     k->name, verb->name, there);
	return wrong(p, k, err, "'%s' is no option of %s%s%s%s", k->name, verb->name,
		     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* What the option takes, if this value is not it; NULL: it is. */
static const char *misfit(const struct cli_option *o, const struct project_value *v)
{
	switch (o->type) {
	case CLI_FLAG: return v->type == PROJECT_BOOL ? NULL : "true or false";
	case CLI_NUMBER: return v->type == PROJECT_NUMBER ? NULL : "a number";
	case CLI_LIST:
		return v->type == PROJECT_STRING || v->type == PROJECT_ARRAY
			       ? NULL
			       : "a string or an array of strings";
	case CLI_WORDS: return v->type == PROJECT_ARRAY ? NULL : "an array of strings";
	default: break;
	}
	return v->type == PROJECT_STRING || v->type == PROJECT_NUMBER ? NULL : "a string";
}

static void add_option(const struct cli_option *o, const struct project_value *v,
		       struct project_words *out)
{
	if (o->type == CLI_FLAG) {
		if (v->truth)
			VEC_PUSH(out, xasprintf("--%s", o->name));
		return;
	}
	if (o->type == CLI_WORDS)
		VEC_PUSH(out, xasprintf("--%s", o->name));
	for (size_t i = 0; i < v->text.n; i++)
		VEC_PUSH(out, o->type == CLI_WORDS ? xstrdup(v->text.p[i])
						   : xasprintf("--%s=%s", o->name, v->text.p[i]));
}

int project_options(const struct project *p, const struct project_table *t,
		    const struct cli_verb *verb, bool strict, struct project_words *out,
		    struct err *err)
{
	struct cli_option o;
	for (size_t i = 0; t && i < t->key.n; i++) {
		const struct project_key *k = &t->key.p[i];
		if (!strcmp(k->name, VERB) || !strcmp(k->name, PROGRAM))
			continue;
		if (!cli_find_option(verb, k->name, strlen(k->name), &o)) {
			if (strict)
				return project_unknown(p, k, verb, err);
			continue;
		}
		const char *takes = misfit(&o, &k->value);
		if (takes)
			return wrong(p, k, err, "'%s' takes %s", k->name, takes);
		add_option(&o, &k->value, out);
	}
	return 0;
}

/* ---- a run ---- */

static bool has_any(const struct project_table *t, const char *const *names)
{
	for (; *names; names++)
		if (project_key(t, *names))
			return true;
	return false;
}

bool project_verb_finds(const struct cli_verb *verb)
{
	struct cli_option o;
	return verb->command && cli_find_option(verb, "sarif", 5, &o);
}

static const struct cli_verb *verb_of(const struct project *p, const struct project_table *t,
				      struct err *err)
{
	static const char *const judges[] = { "recover", "probe", "continue", NULL };
	const struct project_key *k = project_key(t, VERB);
	if (!k)
		return cli_find(has_any(t, judges) ? "test" : "check");
	const char *name = k->value.type == PROJECT_STRING ? k->value.text.p[0] : "";
	const struct cli_verb *verb = cli_find(name);
	if (verb && project_verb_finds(verb))
		return verb;
	wrong(p, k, err,
	      "'%s' is no verb that finds something in a program: check, crash, test, explore",
	      name);
	return NULL;
}

static int program_of(const struct project *p, const struct project_table *t,
		      struct project_words *out, struct err *err)
{
	const struct project_key *k = project_key(t, PROGRAM);
	struct err why;
	if (!k)
		return err_set(err, EXIT_USAGE, "%s:%u: [%s] has no program", p->path, t->line,
			       t->name);
	if (k->value.type == PROJECT_STRING && project_split(k->value.text.p[0], out, &why))
		return wrong(p, k, err, "%s", why.text);
	for (size_t i = 0; k->value.type == PROJECT_ARRAY && i < k->value.text.n; i++)
		VEC_PUSH(out, xstrdup(k->value.text.p[i]));
	return out->n ? 0 : wrong(p, k, err, "'program' takes a command, or an array of its words");
}

int project_line(const struct project *p, const struct project_table *run,
		 const struct project_words *more, struct project_line *out, struct err *err)
{
	struct cli_option o;
	*out = (struct project_line){ .verb = verb_of(p, run, err) };
	if (!out->verb)
		return -1;
	VEC_PUSH(&out->words, xstrdup(out->verb->name));
	if (cli_env_options(out->verb, &out->words, err) ||
	    project_options(p, &p->table.p[0], out->verb, false, &out->words, err) ||
	    project_options(p, run, out->verb, true, &out->words, err) ||
	    program_of(p, run, &out->program, err))
		return -1;
	for (size_t i = 0; more && i < more->n; i++) {
		const char *name = more->p[i] + strspn(more->p[i], "-");
		if (cli_find_option(out->verb, name, strcspn(name, "="), &o))
			VEC_PUSH(&out->words, xstrdup(more->p[i]));
	}
	return 0;
}

int project_line_run(struct project_line *line)
{
	struct project_words all = { 0 };
	for (size_t i = 0; i < line->words.n; i++)
		VEC_PUSH(&all, line->words.p[i]);
	char separator[] = "--";
	VEC_PUSH(&all, separator);
	for (size_t i = 0; i < line->program.n; i++)
		VEC_PUSH(&all, line->program.p[i]);
	VEC_PUSH(&all, NULL);
	int status = line->verb->run((int)all.n - 1, all.p);
	free(all.p);
	return status;
}

void project_line_free(struct project_line *line)
{
	project_words_free(&line->words);
	project_words_free(&line->program);
}

char *project_line_text(const struct project_line *line)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < line->program.n; i++) {
		buf_puts(&b, i ? " " : "");
		shell_quote(&b, line->program.p[i], strlen(line->program.p[i]));
	}
	buf_add(&b, "", 1);
	return b.p;
}
