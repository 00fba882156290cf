/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast doctor: what this machine allows. */
#include "doctor/doctor.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "report/report.h"

struct doctor_cli {
	bool json;
};

static const struct cli_option doctor_options[] = {
	{ "json", 0, CLI_FLAG, NULL, offsetof(struct doctor_cli, json), "print JSON" },
	{ NULL },
};

static int cmd_doctor(int argc, char **argv);

const struct cli_verb verb_doctor = {
	.name = "doctor",
	.run = cmd_doctor,
	.summary = "what this machine allows, what that costs, and how to mend it",
	.usage = "[--json] [[--] PROGRAM]",
	.about =
		"Tries what Holdfast needs of the machine: Valgrind, the tracer, sandboxes, tracing of "
		"processes, room and tools; and, of PROGRAM, whether it can be run and has debug information. It "
		"changes nothing. A row is 'ok'; or 'less', when something is slower or cannot be done; or "
		"'missing', when no program can be run without it. These say what they cost and how to mend it.\n\n"
		"The status is 0 if nothing is missing, 3 otherwise. A verb that fails because it cannot run "
		"something names the rows that may be why.",
	.examples =
		"holdfast doctor\tthe machine\n"
		"holdfast doctor ./app\tand a program\n"
		"holdfast doctor --json | jq '.checks[] | select(.state != \"ok\")'\tfor scripts\n",
	.options = doctor_options,
	.command = true,
};

/* ---- for a verb that has failed ---- */

static void add_name(void *names, const struct doctor_result *r)
{
	struct buf *b = names;
	buf_printf(b, "%s%s", b->n ? ", " : "", r->row->name);
}

int cli_fail(const struct err *err)
{
	struct buf lacks = { 0 };
	msg_error("%s", err->text);
	if (err->status == EXIT_PROGRAM && !err->plain)
		doctor_brief(add_name, &lacks);
	if (lacks.n)
		msg_warn("this machine lacks: %s; 'holdfast doctor' says how to mend that",
			 lacks.p);
	buf_free(&lacks);
	return err->status;
}

/* ---- the verb ---- */

enum { STATE = 0, NAME = 9, TEXT = 30 };

static void say(void *arg, const struct doctor_result *r)
{
	char *label = xasprintf("%-*s%s", NAME - STATE, doctor_state_name(r->state), r->row->name);
	(void)arg;
	cli_beside(stdout, STATE, label, TEXT, r->found);
	free(label);
	if (r->state == DOCTOR_OK)
		return;
	cli_beside(stdout, NAME + 2, "costs", NAME + 9, r->row->cost);
	cli_beside(stdout, NAME + 2, "mend", NAME + 9, r->row->mend);
}

static void say_json(void *arg, const struct doctor_result *r)
{
	bool *first = arg;
	char *text[] = { xstrdup(r->row->name),
			 xstrdup(r->row->what),
			 xstrdup(r->found),
			 xstrdup(doctor_state_name(r->state)),
			 xstrdup(r->row->cost),
			 xstrdup(r->row->mend),
			 xstrdup(r->row->needed ? "true" : "false") };
	const struct report_field fields[] = {
		{ "name", text[0] },
		{ "what", text[1] },
		{ "found", text[2] },
		{ "state", text[3] },
		{ "cost", text[4] },
		{ "mend", text[5] },
		{ "needed", text[6], .number = true },
	};
	printf("%s ", *first ? "" : ",");
	*first = false;
	report_fields(fields, sizeof fields / sizeof *fields, stdout);
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		free(text[i]);
}

static int cmd_doctor(int argc, char **argv)
{
	struct doctor_cli o = { 0 };
	bool first = true;
	int status = cli_parse(&verb_doctor, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc > 1)
		return cli_usage(&verb_doctor, "one program at a time, without its arguments");
	if (o.json)
		printf("{\"holdfast\": \"%s\", \"checks\": [\n", HOLDFAST_VERSION);
	bool works = doctor_look(argc ? argv[0] : NULL, o.json ? say_json : say, &first);
	if (o.json)
		printf("], \"works\": %s}\n", works ? "true" : "false");
	else if (!works)
		printf("no program can be run here before what is missing is there\n");
	return works ? EXIT_NOTHING : EXIT_PROGRAM;
}
