/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HTML page: page.html with page.css and page.js put in, and the JSON tree where the page
 * has @DATA@. The tree is data to the page's script, which makes nodes of it and never markup;
 * "<" is written as \u003c so that no text can end the script element that holds it.
 */
#include <string.h>

#include "report/internal.h"

static const char page[] = {
#include "page.inc"
};

int report_html(const struct report *r, const char *path, struct err *err)
{
	const char *hole = strstr(page, "@DATA@");
	cJSON *tree = report_tree_for_page(r);
	char *json = cJSON_PrintUnformatted(tree);
	struct buf out = { 0 };
	cJSON_Delete(tree);
	if (!json || !hole)
		return err_set(err, EXIT_INTERNAL, "cannot write the report %s: out of memory",
			       path);
	buf_add(&out, page, (size_t)(hole - page));
	for (const char *p = json; *p;) {
		size_t plain = strcspn(p, "<");
		buf_add(&out, p, plain);
		p += plain;
		if (*p == '<')
			buf_puts(&out, "\\u003c"), p++;
	}
	buf_puts(&out, hole + strlen("@DATA@"));
	cJSON_free(json);
	int status = report_write(path, out.p, out.n, err);
	buf_free(&out);
	return status;
}

const struct report_format report_format_html = {
	.name = "html",
	.about = "write a report for a browser",
	.write = report_html,
};
