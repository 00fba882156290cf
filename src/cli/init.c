/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast init: writes a project file to begin with. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/project.h"
#include "launch/launch.h"

struct init_cli {
	const char *name, *recover, *probe, *go_on, *budget;
};

static const struct cli_option init_options[] = {
	{ "name", 'n', CLI_TEXT, "NAME", offsetof(struct init_cli, name),
	  "the run is called so; 'smoke' without it" },
	{ "recover", 0, CLI_TEXT, "CMD", offsetof(struct init_cli, recover),
	  "the run has this recovery command" },
	{ "probe", 0, CLI_TEXT, "CMD", offsetof(struct init_cli, probe), "… this probe" },
	{ "continue", 0, CLI_TEXT, "CMD", offsetof(struct init_cli, go_on),
	  "… this command to go on with" },
	{ "budget", 0, CLI_TEXT, "TIME", offsetof(struct init_cli, budget), "… this budget" },
	{ NULL },
};

static int cmd_init(int argc, char **argv);

const struct cli_verb verb_init = {
	.name = "init",
	.run = cmd_init,
	.summary = "write a project file, " PROJECT_FILE ", to begin with",
	.usage = "[options] [[--] PROGRAM [ARGUMENTS]]",
	.about =
		"Writes " PROJECT_FILE
		" in the current folder, with one run of PROGRAM, and comments that "
		"say what else can be in it. A file that is there is left alone. 'holdfast run' and "
		"'holdfast ci' use it.\n\n"
		"The status is 0, 2 if there is one already, 3 if PROGRAM cannot be run.",
	.examples = "holdfast init --recover './app check pool' -- ./app run pool\t"
		    "a run 'smoke' of test\n",
	.options = init_options,
	.command = true,
};

static void put(struct buf *b, const char *key, const char *value, const char *example)
{
	if (!value)
		buf_puts(b, "# ");
	buf_printf(b, "%s = ", key);
	project_quote(b, value ? value : example);
	buf_puts(b, "\n");
}

/* A name that TOML takes without quotes. */
static bool is_bare(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-")];
}

static void compose(struct buf *b, const struct init_cli *o, char **program)
{
	const char *name = o->name ? o->name : "smoke";
	buf_puts(
		b,
		"# What Holdfast does here: 'holdfast run NAME', 'holdfast ci'. See docs/PROJECT.md.\n"
		"# A key is the long name of an option ('holdfast help test'). These are for all runs:\n"
		"# suppress = \"holdfast.supp\"\n"
		"# baseline = \"holdfast.json\"\n"
		"# model = \"adr\"\n"
		"# pm = [\"/mnt/pmem/*\"]\n\n[run.");
	if (is_bare(name))
		buf_puts(b, name);
	else
		project_quote(b, name);
	buf_puts(b, "]\nprogram = [");
	for (char **w = program; *w; w++) {
		buf_puts(b, w == program ? "" : ", ");
		project_quote(b, *w);
	}
	buf_puts(
		b,
		"]\n"
		"# It begins with its files as they are. Anew each time: [\"sh\", \"-c\", \"rm -f pool; exec ./app run pool\"]\n");
	put(b, "recover", o->recover, "./app check pool");
	put(b, "probe", o->probe, "./app dump pool");
	if (o->go_on)
		put(b, "continue", o->go_on, "");
	put(b, "budget", o->budget, "5m");
	buf_puts(b, "\n# What 'holdfast ci' writes.\n"
		    "# [ci]\n# sarif = \"holdfast.sarif\"\n# junit = \"holdfast.xml\"\n");
}

static int write_file(const struct buf *b, struct err *err)
{
	int fd = open(PROJECT_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return err_set(err, EXIT_USAGE, PROJECT_FILE " is there already");
	if (fd < 0)
		return err_errno(err, EXIT_USAGE, "cannot write " PROJECT_FILE);
	int bad = write_all(fd, b->p, b->n);
	bad |= close(fd);
	return bad ? err_errno(err, EXIT_INTERNAL, "cannot write " PROJECT_FILE) : 0;
}

static int cmd_init(int argc, char **argv)
{
	struct init_cli o = { 0 };
	struct err err;
	struct buf b = { 0 };
	char app[] = "./app", run[] = "run", pool[] = "pool", *example[] = { app, run, pool, NULL };
	int status = cli_parse(&verb_init, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (o.name && !*o.name) {
		err_set(&err, EXIT_USAGE, "a run needs a name");
		return cli_fail(&err);
	}
	char *path = argc ? launch_resolve(argv[0], &err) : NULL;
	if (argc && (!path || launch_check_program(path, &err)))
		return free(path), cli_fail(&err);
	free(path);
	compose(&b, &o, argc ? argv : example);
	status = write_file(&b, &err) ? cli_fail(&err) : EXIT_NOTHING;
	if (!status)
		msg_info("%s is written%s", PROJECT_FILE,
			 argc ? "; 'holdfast run' lists what there is"
			      : ": put your program into it");
	buf_free(&b);
	return status;
}
