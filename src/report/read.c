/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a JSON report back: the baseline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static int read_whole(const char *path, struct buf *out, struct err *err)
{
	FILE *f = fopen(path, "re");
	char part[65536];
	size_t n;
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot open the baseline %s", path);
	while ((n = fread(part, 1, sizeof part, f)) > 0)
		buf_add(out, part, n);
	int status =
		ferror(f) ? err_errno(err, EXIT_USAGE, "cannot read the baseline %s", path) : 0;
	fclose(f);
	return status;
}

static bool is_id(const cJSON *id)
{
	return cJSON_IsString(id) && strlen(id->valuestring) == 16 &&
	       strspn(id->valuestring, "0123456789abcdef") == 16;
}

/* Adds the ids of an array of findings; -1 if it is not such an array. */
static int add_ids(const cJSON *findings, char ***ids, size_t *n)
{
	const cJSON *f;
	if (!cJSON_IsArray(findings))
		return -1;
	*ids = xrealloc(*ids, (*n + (size_t)cJSON_GetArraySize(findings) + 1) * sizeof **ids);
	cJSON_ArrayForEach(f, findings)
	{
		const cJSON *id = cJSON_GetObjectItemCaseSensitive(f, "id");
		if (!is_id(id))
			return -1;
		(*ids)[(*n)++] = xstrdup(id->valuestring);
	}
	return 0;
}

static int ids_of(const cJSON *tree, const char *path, char ***ids, size_t *n, struct err *err)
{
	const cJSON *schema = cJSON_GetObjectItemCaseSensitive(tree, "schema");
	const cJSON *suppressed = cJSON_GetObjectItemCaseSensitive(tree, "suppressed");
	if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(tree, "holdfast")) ||
	    !cJSON_IsNumber(schema))
		return err_set(err, EXIT_USAGE,
			       "%s is not a JSON report of holdfast (made with --json)", path);
	if (schema->valuedouble != REPORT_SCHEMA)
		return err_set(err, EXIT_USAGE,
			       "%s is a report of schema %g; this holdfast reads schema %d", path,
			       schema->valuedouble, REPORT_SCHEMA);
	if (add_ids(cJSON_GetObjectItemCaseSensitive(tree, "findings"), ids, n) ||
	    (suppressed && add_ids(suppressed, ids, n)))
		return err_set(err, EXIT_USAGE, "%s is a damaged report: a finding has no id",
			       path);
	return 0;
}

int report_read_ids(const char *path, char ***ids, size_t *n, struct err *err)
{
	struct buf text = { 0 };
	int status;
	*ids = NULL;
	*n = 0;
	if (read_whole(path, &text, err)) {
		buf_free(&text);
		return -1;
	}
	cJSON *tree = text.n ? cJSON_ParseWithLength(text.p, text.n) : NULL;
	if (tree)
		status = ids_of(tree, path, ids, n, err);
	else
		status = err_set(err, EXIT_USAGE,
				 "%s is not a JSON report of holdfast (made with --json)", path);
	cJSON_Delete(tree);
	buf_free(&text);
	if (status) {
		report_free_ids(*ids, *n);
		*ids = NULL;
		*n = 0;
	}
	return status;
}

void report_free_ids(char **ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(ids[i]);
	free(ids);
}
