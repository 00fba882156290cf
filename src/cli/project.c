/* SPDX-License-Identifier: BSD-3-Clause */
/* The project file: opened, checked, and what runs there are. */
#include "cli/project.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *project_run_names(const struct project *p)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < p->table.n; i++)
		if (project_run_name(&p->table.p[i]))
			buf_printf(&b, "%s%s", b.n ? ", " : "", project_run_name(&p->table.p[i]));
	buf_add(&b, "", 1);
	return b.p;
}

static const char *run_at(const void *arg, size_t i)
{
	const struct project *p = arg;
	for (size_t k = 0; k < p->table.n; k++)
		if (project_run_name(&p->table.p[k]) && i-- == 0)
			return project_run_name(&p->table.p[k]);
	return NULL;
}

const struct project_table *project_run(const struct project *p, const char *name, struct err *err)
{
	for (size_t i = 0; i < p->table.n; i++)
		if (project_run_name(&p->table.p[i]) &&
		    !strcmp(project_run_name(&p->table.p[i]), name))
			return &p->table.p[i];
	const char *near = cli_nearest(name, run_at, p);
	char *names = project_run_names(p);
	err_set(err, EXIT_USAGE, "%s has no run '%s'%s%s%s; there is: %s", p->path, name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "",
		*names ? names : "none");
	free(names);
	return NULL;
}

/* For all runs: a key that no verb has helps nobody. */
static int check_common(const struct project *p, struct err *err)
{
	const struct project_table *t = &p->table.p[0];
	struct cli_option o;
	for (size_t i = 0; i < t->key.n; i++) {
		bool known = false;
		for (const struct cli_verb *const *v = cli_verbs; *v; v++)
			known |=
				project_verb_finds(*v) &&
				cli_find_option(*v, t->key.p[i].name, strlen(t->key.p[i].name), &o);
		if (!known)
			return project_unknown(p, &t->key.p[i], cli_find("test"), err);
	}
	return 0;
}

static int check(const struct project *p, struct err *err)
{
	struct project_words ci = { 0 };
	int bad = check_common(p, err) ||
		  project_options(p, project_table(p, "ci"), cli_find("ci"), true, &ci, err);
	project_words_free(&ci);
	for (size_t i = 1; !bad && i < p->table.n; i++) {
		const struct project_table *t = &p->table.p[i];
		struct project_line line = { 0 };
		const char *name = project_run_name(t);
		if (name && !*name)
			bad = err_set(err, EXIT_USAGE, "%s:%u: a run needs a name: [run.NAME]",
				      p->path, t->line);
		else if (name) {
			bad = project_line(p, t, NULL, &line, err);
			project_line_free(&line);
		} else if (strcmp(t->name, "ci") != 0)
			bad = err_set(err, EXIT_USAGE,
				      "%s:%u: there are the tables [run.NAME] and [ci], not [%s]",
				      p->path, t->line, t->name);
	}
	return bad ? -1 : 0;
}

int project_open(const char *path, struct project *p, struct err *err)
{
	char *here = getcwd(NULL, 0), *found = path   ? xstrdup(path)
					       : here ? project_find(here)
						      : NULL;
	int bad = found ? project_read(found, p, err)
			: err_set(err, EXIT_USAGE,
				  "no " PROJECT_FILE " here or above; 'holdfast init' writes one");
	free(here);
	free(found);
	if (bad)
		return -1;
	bad = check(p, err);
	if (!bad && chdir(p->folder))
		bad = err_errno(err, EXIT_USAGE, "cannot go to %s", p->folder);
	if (bad)
		project_free(p);
	return bad;
}
