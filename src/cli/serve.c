/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast serve: the page of a campaign, while it runs or afterwards. */
#include "serve/serve.h"

#include <stdlib.h>

#include "cli/check.h"

struct serve_cli {
	struct cli_range port;
};

static const struct cli_option serve_options[] = {
	{ "port", 'p', CLI_RANGE, "PORT", offsetof(struct serve_cli, port),
	  "serve at this TCP port, or not at all; 0 is any that is free. Without it 7420 is tried, and then a free one" },
	{ NULL },
};

static int cmd_serve(int argc, char **argv);

const struct cli_verb verb_serve = {
	.name = "serve",
	.run = cmd_serve,
	.summary = "show campaigns in a browser, while they run",
	.usage = "[options] [DIR]",
	.about =
		"Serves the page of the crash campaign, the exploration or the recording in DIR on this machine, and prints where. The page "
		"shows how far a campaign is that runs in another process, charts of what was found over time, and findings as they "
		"come. If DIR is none of these, the page lists those below it, as they come and go; without DIR it is the current "
		"folder. Of a recording alone it shows what check finds.\n\n"
		"Only programs of this machine can connect; of other machines, use 'ssh -L 7420:localhost:7420'. Nothing in DIR is changed. "
		"Ctrl-C ends it.",
	.examples = "holdfast serve\tall campaigns below the current folder\n"
		    "holdfast serve --port 8000 app-0.hft\tone of them\n",
	.options = serve_options,
};

/* What check says of a recording. */
static int check(const char *dir, void (*take)(void *, const struct report *), void *arg,
		 struct err *err)
{
	struct check_run run = { .model = model_find(NULL)->name };
	struct finding_set set = { 0 };
	int bad = check_run_trace(&run, dir, &set, err);
	if (!bad) {
		finding_sort(&set);
		char *looked = run_looked(&run.seen, trace_defs(run.reader), NULL);
		take(arg, &(struct report){ .verb = "check",
					    .model = run.model,
					    .command = (const char *const *)run.command,
					    .ncommand = run.ncommand,
					    .incomplete = run.incomplete,
					    .looked = looked,
					    .findings = &set });
		free(looked);
	}
	finding_set_free(&set);
	check_run_free(&run);
	return bad;
}

static int cmd_serve(int argc, char **argv)
{
	struct serve_cli o = { 0 };
	struct err err;
	int status = cli_parse(&verb_serve, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc > 1)
		return cli_usage(&verb_serve, "one folder at most");
	if (o.port.given && (o.port.from != o.port.to || o.port.to > 65535))
		return cli_usage(&verb_serve, "--port takes a number up to 65535");
	struct serve_opts how = { .dir = argc ? argv[0] : ".",
				  .port = o.port.given ? (unsigned)o.port.from : SERVE_PORT,
				  .fixed = o.port.given,
				  .check = check };
	return serve_run(&how, &err) ? cli_fail(&err) : EXIT_NOTHING;
}
