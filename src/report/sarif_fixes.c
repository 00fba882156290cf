/* SPDX-License-Identifier: BSD-3-Clause */
/* The "fixes" of a SARIF result: one, with all changes that repair the finding, file by file. */
#include <string.h>

#include "report/internal.h"

static cJSON *replacement(const struct report_change *c)
{
	cJSON *o = cJSON_CreateObject(), *region = cJSON_AddObjectToObject(o, "deletedRegion");
	cJSON_AddNumberToObject(region, "startLine", c->line);
	cJSON_AddNumberToObject(region, "startColumn", c->column);
	cJSON_AddNumberToObject(region, "endLine", c->end_line);
	cJSON_AddNumberToObject(region, "endColumn", c->end_column);
	report_add_text(cJSON_AddObjectToObject(o, "insertedContent"), "text", c->text);
	return o;
}

void report_add_fixes(cJSON *result, const struct report *r, const struct finding *f)
{
	cJSON *changes = cJSON_CreateArray(), *replacements = NULL;
	const char *file = NULL;
	for (size_t i = 0; i < r->nchange; i++) {
		const struct report_change *c = &r->change[i];
		if (strcmp(c->id, f->id))
			continue;
		if (!file || strcmp(file, c->file)) {
			cJSON *o = cJSON_CreateObject();
			report_add_artifact(cJSON_AddObjectToObject(o, "artifactLocation"),
					    c->file);
			replacements = cJSON_AddArrayToObject(o, "replacements");
			cJSON_AddItemToArray(changes, o);
			file = c->file;
		}
		cJSON_AddItemToArray(replacements, replacement(c));
	}
	if (!file) {
		cJSON_Delete(changes);
		return;
	}
	cJSON *fix = cJSON_CreateObject();
	report_add_text(cJSON_AddObjectToObject(fix, "description"), "text",
			"Add the flushes and fences that are missing.");
	cJSON_AddItemToObject(fix, "artifactChanges", changes);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "fixes"), fix);
}
