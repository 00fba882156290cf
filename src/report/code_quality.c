/* SPDX-License-Identifier: BSD-3-Clause */
/* GitLab's code quality report: an array of findings, each with a fingerprint and a severity. */
#include <stdlib.h>

#include "report/internal.h"

static const char *severity(const struct finding *f)
{
	static const char *const names[] = {
		[FINDING_ERROR] = "critical",
		[FINDING_PERFORMANCE] = "minor",
		[FINDING_WARNING] = "major",
		[FINDING_NOTE] = "info",
	};
	return f->level == FINDING_ERROR && f->crash ? "blocker" : names[f->level];
}

static cJSON *issue(const struct report *r, const struct finding *f)
{
	const struct srcloc_frame *at = finding_main_frame(&f->place);
	const char *program = r->ncommand ? r->command[0] : r->verb;
	const char *path = at && at->file ? at->file : at && at->module ? at->module : program;
	cJSON *o = cJSON_CreateObject();
	char *text = xasprintf("%s%s%s", f->kind->title, f->message ? ": " : "",
			       f->message ? f->message : "");
	report_add_text(o, "description", text);
	free(text);
	report_add_text(o, "check_name", f->kind->name);
	report_add_text(o, "fingerprint", f->id);
	report_add_text(o, "severity", severity(f));
	cJSON *location = cJSON_AddObjectToObject(o, "location");
	report_add_text(location, "path", report_path(path));
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(location, "lines"), "begin",
				at && at->file && at->line ? at->line : 1);
	return o;
}

static int write_json(const struct report *r, const char *path, struct err *err)
{
	cJSON *issues = cJSON_CreateArray();
	for (size_t i = 0; i < r->findings->v.n; i++)
		if (!r->findings->v.p[i]->suppressed)
			cJSON_AddItemToArray(issues, issue(r, r->findings->v.p[i]));
	return report_write_json(path, issues, err);
}

const struct report_format report_format_code_quality = {
	.name = "code-quality",
	.about = "write a report as GitLab's code quality takes it",
	.write = write_json,
};
