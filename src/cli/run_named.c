/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast run: a run that the project file names. */
#include <stdlib.h>

#include "cli/project.h"

struct run_cli {
	const char *project;
};

static const struct cli_option run_options[] = {
	PROJECT_OPTION(struct run_cli, project),
	{ NULL },
};

static int cmd_run(int argc, char **argv);

const struct cli_verb verb_run = {
	.name = "run",
	.run = cmd_run,
	.summary = "do a run that the project file, " PROJECT_FILE ", names",
	.usage = "[--project FILE] [NAME [OPTIONS]]",
	.about =
		"Does what [run.NAME] says in the nearest " PROJECT_FILE
		", in this folder or above it: the "
		"verb, 'test' or 'check' unless it is named, with the options that are its keys, on the "
		"program. It is done in the folder of that file. OPTIONS, written --NAME=VALUE, are added and win. Without "
		"NAME it lists what there is. docs/PROJECT.md has the file in full.\n\n"
		"The status is that of the verb.",
	.examples = "holdfast run smoke\tas the project file says\n"
		    "holdfast run smoke --budget=1m\tbut not for long\n",
	.options = run_options,
	.command = true,
};

static int list(const struct project *p)
{
	struct err err;
	for (size_t i = 0; i < p->table.n; i++) {
		const struct project_table *t = &p->table.p[i];
		struct project_line line;
		if (!project_run_name(t))
			continue;
		if (project_line(p, t, NULL, &line, &err)) {
			project_line_free(&line);
			return cli_fail(&err);
		}
		char *text = project_line_text(&line);
		printf("%-16s %-8s %s\n", project_run_name(t), line.verb->name, text);
		free(text);
		project_line_free(&line);
	}
	return EXIT_NOTHING;
}

static int go(const struct project *p, char **argv)
{
	struct project_line line = { 0 };
	struct err err;
	const struct project_table *run = project_run(p, argv[0], &err);
	if (!run || project_line(p, run, NULL, &line, &err)) {
		project_line_free(&line);
		return cli_fail(&err);
	}
	for (char **more = argv + 1; *more; more++)
		VEC_PUSH(&line.words, xstrdup(*more));
	int status = project_line_run(&line);
	project_line_free(&line);
	return status;
}

static int cmd_run(int argc, char **argv)
{
	struct run_cli o = { 0 };
	struct project p;
	struct err err;
	int status = cli_parse(&verb_run, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (project_open(o.project, &p, &err))
		return cli_fail(&err);
	status = argc ? go(&p, argv) : list(&p);
	project_free(&p);
	return status;
}
