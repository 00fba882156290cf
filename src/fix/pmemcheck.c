/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmemcheck's log as findings. Of its sections the one with stores that are not persistent is read:
 *
 *	Number of stores not made persistent: 1
 *	Stores not made persistent properly:
 *	[0]    at 0x10926E: set (app.c:12)
 *	       by 0x1092F0: main (app.c:30)
 *	        Address: 0x6600040    size: 8    state: DIRTY
 *
 * It does not say whether a fence follows, nor where the flush was: such a store lacks both.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fix/fix.h"

#define SECTION "Stores not made persistent properly:"

struct log {
	VEC(struct srcloc_frame) frame;
	struct finding_set *out;
	bool section;
	VEC(char *) command;
};

/* What follows "==123== ". */
static char *after_pid(char *line)
{
	size_t n = strspn(line, "=");
	if (n < 2)
		return NULL;
	char *end = line + n + strspn(line + n, "0123456789");
	return strncmp(end, "==", 2) ? NULL : end + 2 + strspn(end + 2, " \t");
}

/* "at 0x10926E: set (app.c:12)" */
static bool frame(struct log *l, char *text)
{
	if (*text == '[') {
		text += strcspn(text, "]");
		text += strspn(text, "] \t");
		l->frame.n = 0;
	}
	if (strncmp(text, "at 0x", 5) && strncmp(text, "by 0x", 5))
		return false;
	char *name = strstr(text, ": "), *file = name ? strrchr(name, '(') : NULL;
	struct srcloc_frame f = { 0 };
	if (!name)
		return false;
	f.offset = strtoull(text + 5, NULL, 16);
	if (file) {
		char *colon = strrchr(file, ':'), *close = strrchr(file, ')');
		if (file > name && file[-1] == ' ')
			file[-1] = 0;
		if (colon && close && isdigit((unsigned char)colon[1])) {
			*colon = 0;
			f.file = finding_intern(file + 1);
			f.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		}
	}
	f.function = finding_intern(name + 2);
	VEC_PUSH(&l->frame, f);
	return true;
}

/* "Address: 0x6600040	size: 8	state: DIRTY" ends a store. */
static void store(struct log *l, const char *text)
{
	const char *size = strstr(text, "size:");
	struct finding *f = finding_new(finding_kind_info(FINDING_MISSING_FLUSH_AND_FENCE));
	uint64_t addr = strtoull(text + strcspn(text, "0"), NULL, 16);
	f->message = xstrdup("pmemcheck: the store was not made persistent");
	f->data = xasprintf("memory+0x%llx, %lu bytes", (unsigned long long)addr,
			    size ? strtoul(size + 5, NULL, 10) : 0);
	f->place = finding_place_copy((struct srcloc_where){ l->frame.p, l->frame.n });
	finding_add(l->out, f);
	l->frame.n = 0;
}

static void line(struct log *l, char *text)
{
	char *word, *rest;
	if (!strncmp(text, "Command: ", 9) && !l->command.n) {
		rest = text + 9;
		while ((word = strsep(&rest, " ")))
			VEC_PUSH(&l->command, xstrdup(word));
	} else if (!strncmp(text, SECTION, strlen(SECTION))) {
		l->section = true;
	} else if (!strncmp(text, "Number of ", 10) || !strncmp(text, "Total ", 6)) {
		l->section = false;
	} else if (l->section && !frame(l, text) && !strncmp(text, "Address:", 8) && l->frame.n) {
		store(l, text);
	}
}

bool fix_is_pmemcheck(const char *path)
{
	FILE *f = fopen(path, "re");
	char text[4096];
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	return strstr(text, "pmemcheck") && text[strspn(text, " \t\n")] != '{';
}

int fix_read_pmemcheck(const char *path, struct finding_set *out, char ***command, size_t *ncommand,
		       struct err *err)
{
	struct log l = { .out = out };
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;
	if (!f)
		return err_errno(err, EXIT_USAGE, "cannot open %s", path);
	while (getline(&text, &cap, f) > 0) {
		text[strcspn(text, "\r\n")] = 0;
		char *rest = after_pid(text);
		if (rest)
			line(&l, rest);
	}
	free(text);
	fclose(f);
	VEC_FREE(&l.frame);
	*command = l.command.p;
	*ncommand = l.command.n;
	return 0;
}
