/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HTML page: page.html with page.css and page.js put in, and the JSON tree where the page
 * has @DATA@. The tree is data to the page's script, which makes nodes of it and never markup;
 * "<" is written as \u003c so that no text can end the script element that holds it.
 */
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static const char page[] = {
#include "page.inc"
};
static const char list[] = {
#include "list.inc"
};

/* The data, so that no text of it can end the script element. */
static void add_data(struct buf *out, const char *json)
{
	for (const char *p = json; *p;) {
		size_t plain = strcspn(p, "<");
		buf_add(out, p, plain);
		p += plain;
		if (*p == '<')
			buf_puts(out, "\\u003c"), p++;
	}
}

/* The page with its holes filled: @LIVE@, @CONNECT@ and @DATA@, in this order. */
static void fill(struct buf *out, const char *from, const char *const hole[3],
		 const char *const filling[3])
{
	for (int i = 0; i < 3; i++) {
		const char *at = strstr(from, hole[i]);
		if (!at)
			continue;
		buf_add(out, from, (size_t)(at - from));
		if (i < 2)
			buf_puts(out, filling[i]);
		else
			add_data(out, filling[i]);
		from = at + strlen(hole[i]);
	}
	buf_puts(out, from);
}

static void fill_page(struct buf *out, const char *text, const char *version, const char *json)
{
	static const char *const hole[3] = { "@LIVE@", "@CONNECT@", "@DATA@" };
	char *live = version ? xasprintf(" data-live data-version=\"%s\"", version) : xstrdup("");
	fill(out, text, hole,
	     (const char *const[3]){ live, version ? "; connect-src 'self'" : "", json });
	free(live);
}

void report_served_page(struct buf *out, const char *json, const char *version)
{
	fill_page(out, page, version, json);
}

void report_served_list(struct buf *out, const char *json)
{
	fill_page(out, list, "", json);
}

char *report_page_json(const struct report *r)
{
	cJSON *tree = report_tree_for_page(r);
	char *json = cJSON_PrintUnformatted(tree), *own = json ? xstrdup(json) : NULL;
	cJSON_Delete(tree);
	cJSON_free(json);
	return own;
}

int report_html(const struct report *r, const char *path, struct err *err)
{
	char *json = report_page_json(r);
	struct buf out = { 0 };
	if (!json)
		return err_set(err, EXIT_INTERNAL, "cannot write the report %s: out of memory",
			       path);
	fill_page(&out, page, NULL, json);
	free(json);
	int status = report_write(path, out.p, out.n, err);
	buf_free(&out);
	return status;
}

const struct report_format report_format_html = {
	.name = "html",
	.about = "write a report for a browser",
	.write = report_html,
};
