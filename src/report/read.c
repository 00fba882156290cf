/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a JSON report back: the baseline, and findings to go on with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static int read_whole(const char *path, const char *what, struct buf *out, struct err *err)
{
	FILE *f = fopen(path, "re");
	char part[65536];
	size_t n;
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot open the %s %s", what, path);
	while ((n = fread(part, 1, sizeof part, f)) > 0)
		buf_add(out, part, n);
	int status =
		ferror(f) ? err_errno(err, EXIT_USAGE, "cannot read the %s %s", what, path) : 0;
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

/* A report of ours, of a schema that can be read. */
static int check_tree(const cJSON *tree, const char *path, struct err *err)
{
	const cJSON *schema = cJSON_GetObjectItemCaseSensitive(tree, "schema");
	if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(tree, "holdfast")) ||
	    !cJSON_IsNumber(schema))
		return err_set(err, EXIT_USAGE,
			       "%s is not a JSON report of holdfast (made with --json)", path);
	if (schema->valuedouble != REPORT_SCHEMA)
		return err_set(err, EXIT_USAGE,
			       "%s is a report of schema %g; this holdfast reads schema %d", path,
			       schema->valuedouble, REPORT_SCHEMA);
	return 0;
}

static int ids_of(const cJSON *tree, const char *path, char ***ids, size_t *n, struct err *err)
{
	const cJSON *suppressed = cJSON_GetObjectItemCaseSensitive(tree, "suppressed");
	if (check_tree(tree, path, err))
		return -1;
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
	if (read_whole(path, "baseline", &text, err)) {
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

/* ---- all of it ---- */

static const char *text_of(const cJSON *o, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
	return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Files are written relative to the folder in which the report was made. */
static void make_absolute(struct finding_place *p, const char *folder)
{
	for (size_t i = 0; folder && i < p->n; i++) {
		const char *file = p->frame[i].file;
		if (!file || *file == '/')
			continue;
		char *path = xasprintf("%s/%s", folder, file);
		p->frame[i].file = finding_intern(path);
		free(path);
	}
}

static int add_findings(const cJSON *list, const char *path, struct report_read *to, bool hidden,
			struct err *err)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		struct finding *f = report_finding_of(item, err);
		if (!f)
			return err_set(err, EXIT_USAGE,
				       "%s is a damaged report: a finding lacks a part", path);
		make_absolute(&f->place, to->folder);
		for (size_t i = 0; i < f->paths.n; i++)
			make_absolute(&f->paths.p[i].place, to->folder);
		for (size_t i = 0; i < f->related.n; i++)
			make_absolute(&f->related.p[i].place, to->folder);
		f->suppressed = hidden;
		VEC_PUSH(hidden ? &to->hidden.v : &to->findings.v, f);
	}
	return 0;
}

static char *own(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

int report_read(const char *path, struct report_read *to, struct err *err)
{
	struct buf text = { 0 };
	*to = (struct report_read){ 0 };
	int bad = read_whole(path, "report", &text, err);
	cJSON *tree = !bad && text.n ? cJSON_ParseWithLength(text.p, text.n) : NULL;
	if (!bad && !cJSON_IsObject(tree))
		bad = err_set(err, EXIT_USAGE,
			      "%s is not a JSON report of holdfast (made with --json)", path);
	if (!bad && !(bad = check_tree(tree, path, err))) {
		const cJSON *word;
		to->folder = own(text_of(tree, "folder"));
		to->model = own(text_of(tree, "model"));
		to->incomplete = own(text_of(tree, "incomplete"));
		cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(
						 tree, "command")) if (cJSON_IsString(word))
			VEC_PUSH(&to->command, xstrdup(word->valuestring));
		bad = add_findings(cJSON_GetObjectItemCaseSensitive(tree, "findings"), path, to,
				   false, err) ||
		      add_findings(cJSON_GetObjectItemCaseSensitive(tree, "suppressed"), path, to,
				   true, err);
	}
	cJSON_Delete(tree);
	buf_free(&text);
	if (bad)
		report_read_free(to);
	return bad;
}

void report_read_free(struct report_read *r)
{
	for (size_t i = 0; i < r->command.n; i++)
		free(r->command.p[i]);
	VEC_FREE(&r->command);
	free(r->folder);
	free(r->model);
	free(r->incomplete);
	finding_set_free(&r->findings);
	finding_set_free(&r->hidden);
}
