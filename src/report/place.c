/* SPDX-License-Identifier: BSD-3-Clause */
/* How places are named, and the source around them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/internal.h"

const char *report_folder(void)
{
	static char *folder;
	if (!folder)
		folder = getcwd(NULL, 0);
	return folder ? folder : "";
}

const char *report_path(const char *file)
{
	const char *folder = report_folder();
	size_t n = strlen(folder);
	if (n > 1 && file && !strncmp(file, folder, n) && file[n] == '/')
		return file + n + 1;
	return file;
}

const char *report_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

char *report_where(const struct srcloc_frame *f, bool column)
{
	if (f->file && f->line && f->column && column)
		return xasprintf("%s:%u:%u", report_path(f->file), f->line, f->column);
	if (f->file && f->line)
		return xasprintf("%s:%u", report_path(f->file), f->line);
	if (f->module)
		return xasprintf("%s+0x%llx", report_base(f->module),
				 (unsigned long long)f->offset);
	return xstrdup("?");
}

const char *report_function(const struct srcloc_frame *f)
{
	char name[256];
	return f->function ? finding_intern(srcloc_short_name(f->function, name, sizeof name))
			   : "?";
}

struct srcloc_where report_trim(const struct finding_place *place)
{
	return srcloc_path_trim((struct srcloc_where){ place->frame, place->n });
}

char *report_role(const char *role)
{
	static const char *const words[][2] = {
		{ "persisted", "persistent" },
		{ "also-persisted", "also persistent" },
		{ "also-shows", "shows as well" },
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (!strcmp(role, words[i][0]))
			return xstrdup(words[i][1]);
	char *own = xstrdup(role);
	for (char *p = own; *p; p++)
		*p = *p == '-' ? ' ' : *p;
	return own;
}

char *report_verdict(const struct finding_crash *crash)
{
	const char *verdict = crash->verdict ? crash->verdict : "failed";
	if (!strcmp(verdict, "crashed")) {
		const char *name = sigabbrev_np(crash->status);
		return xasprintf("crashed with signal %d%s%s%s", crash->status, name ? " (SIG" : "",
				 name ? name : "", name ? ")" : "");
	}
	if (!strcmp(verdict, "hung"))
		return xstrdup("hung: it did not end in time");
	if (!strcmp(verdict, "flooded"))
		return xstrdup("flooded: it wrote more output than is allowed");
	if (!strcmp(verdict, "differs"))
		return xstrdup("succeeded, but what is printed is wrong");
	if (!strcmp(verdict, "failed") && !crash->status)
		return xstrdup("failed with exit status 0: its output says so");
	return xasprintf("%s with exit status %d", verdict, crash->status);
}

const char *report_name(const struct srcloc_frame *f, size_t columns)
{
	char name[512];
	return f->function
		       ? finding_intern(srcloc_fit_name(f->function, columns, name, sizeof name))
		       : "?";
}

struct report_excerpt report_excerpt(const struct srcloc_frame *f, uint32_t context)
{
	struct report_excerpt e = { REPORT_NO_SOURCE, 0, 0 };
	if (!f || !f->file || !f->line)
		return e;
	e.state = access(f->file, R_OK) ? REPORT_SOURCE_GONE : REPORT_SOURCE_CHANGED;
	if (!finding_source_line(f->file, f->line))
		return e;
	if (!finding_source_changed(f->file, f->module))
		e.state = REPORT_SOURCE;
	e.first = f->line > context ? f->line - context : 1;
	while (e.first + e.n <= f->line + context && finding_source_line(f->file, e.first + e.n))
		e.n++;
	return e;
}

const char *report_source_note(enum report_source state)
{
	static const char *const notes[] = {
		[REPORT_SOURCE] = NULL,
		[REPORT_SOURCE_CHANGED] = "source changed since the build: lines may be off",
		[REPORT_SOURCE_GONE] = "source file cannot be read",
		[REPORT_NO_SOURCE] = "no debug information: compile with -g to see source lines",
	};
	return notes[state];
}

char *report_summary(const struct finding_set *set)
{
	size_t n[FINDING_LEVELS], suppressed = finding_suppressed(set), all = 0;
	struct buf out = { 0 };
	for (int i = 0; i < FINDING_LEVELS; i++)
		all += n[i] = finding_count(set, (enum finding_level)i);
	if (all) {
		buf_printf(&out, "%zu error%s, %zu performance, %zu warning%s", n[FINDING_ERROR],
			   n[FINDING_ERROR] == 1 ? "" : "s", n[FINDING_PERFORMANCE],
			   n[FINDING_WARNING], n[FINDING_WARNING] == 1 ? "" : "s");
		if (n[FINDING_NOTE])
			buf_printf(&out, ", %zu note%s", n[FINDING_NOTE],
				   n[FINDING_NOTE] == 1 ? "" : "s");
	} else {
		buf_puts(&out, "nothing found");
	}
	if (suppressed)
		buf_printf(&out, " (%zu suppressed)", suppressed);
	buf_add(&out, "", 1);
	return out.p;
}
