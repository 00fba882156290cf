/* SPDX-License-Identifier: BSD-3-Clause */
/* The project file as data, and where it is. */
#include "project/project.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *project_find(const char *folder)
{
	struct stat st;
	char *at = xstrdup(folder);
	for (size_t n = strlen(at);;) {
		while (n && at[n - 1] == '/')
			at[--n] = '\0';
		char *path = xasprintf("%s/" PROJECT_FILE, at);
		if (!stat(path, &st) && S_ISREG(st.st_mode)) { /* a FIFO would be waited for */
			free(at);
			return path;
		}
		free(path);
		char *slash = strrchr(at, '/');
		if (!slash)
			break;
		n = (size_t)(slash - at);
		at[n] = '\0';
	}
	free(at);
	return NULL;
}

int project_read(const char *path, struct project *out, struct err *err)
{
	struct buf text = { 0 };
	char some[4096];
	size_t n;
	FILE *f = fopen(path, "re");
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot open %s", path);
	while ((n = fread(some, 1, sizeof some, f)) > 0)
		buf_add(&text, some, n);
	int bad = ferror(f) ? err_errno(err, EXIT_USAGE, "cannot read %s", path) : 0;
	fclose(f);
	if (!bad && text.n && memchr(text.p, '\0', text.n))
		bad = err_set(err, EXIT_USAGE, "%s: this is no text: it has a zero byte", path);
	buf_add(&text, "", 1);
	if (!bad)
		bad = project_parse(path, text.p, out, err);
	buf_free(&text);
	if (bad)
		return -1;
	const char *slash = strrchr(path, '/');
	out->folder = slash && slash > path ? xasprintf("%.*s", (int)(slash - path), path)
					    : xstrdup(slash ? "/" : ".");
	return 0;
}

void project_free(struct project *p)
{
	for (size_t i = 0; i < p->table.n; i++) {
		struct project_table *t = &p->table.p[i];
		for (size_t k = 0; k < t->key.n; k++) {
			struct project_value *v = &t->key.p[k].value;
			for (size_t j = 0; j < v->text.n; j++)
				free(v->text.p[j]);
			VEC_FREE(&v->text);
			free(t->key.p[k].name);
		}
		VEC_FREE(&t->key);
		free(t->name);
	}
	VEC_FREE(&p->table);
	free(p->path);
	free(p->folder);
	*p = (struct project){ 0 };
}

const struct project_table *project_table(const struct project *p, const char *name)
{
	for (size_t i = 0; i < p->table.n; i++)
		if (!strcmp(p->table.p[i].name, name))
			return &p->table.p[i];
	return NULL;
}

const struct project_key *project_key(const struct project_table *t, const char *name)
{
	for (size_t i = 0; t && i < t->key.n; i++)
		if (!strcmp(t->key.p[i].name, name))
			return &t->key.p[i];
	return NULL;
}

const char *project_run_name(const struct project_table *t)
{
	return !strncmp(t->name, "run.", 4) ? t->name + 4 : NULL;
}

void project_quote(struct buf *out, const char *text)
{
	buf_puts(out, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", c);
		else
			buf_add(out, text, 1);
	}
	buf_puts(out, "\"");
}
