/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports in words on a terminal: no line is wider than it. What is too wide is made to fit in three steps: paths are
 * shortened in the middle, so that their last part, with the line number, stays; source lines are cut at their end; what is
 * still too wide is broken at blanks, and goes on below the text of its first line. Of a function's name that is wider than
 * the terminal the scopes go ("…::insert"); the name itself, and other words without a slash, are never shortened.
 *
 * A character takes one column here, and an escape sequence (colours) none.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/text.h"

#define LEAST 20 /* columns; on narrower terminals nothing is done */

/* Bytes of the character or escape sequence at p, which takes *columns. */
static size_t step(const char *p, size_t *columns)
{
	size_t n = 1;
	*columns = 0;
	if (*p == '\033' && p[1] == '[') {
		for (n = 2; p[n] && !isalpha((unsigned char)p[n]); n++)
			;
		return n + (p[n] != 0);
	}
	*columns = 1;
	while ((p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t width(const char *p, size_t bytes)
{
	size_t sum = 0, columns;
	for (const char *end = p + bytes; p < end; sum += columns)
		p += step(p, &columns);
	return sum;
}

/* The longest word with a slash that has something to lose before its last part: its length; 0: none. */
static size_t longest_path(const char *line, size_t *from, size_t *last)
{
	size_t best = 0;
	for (size_t i = 0, columns; line[i];) {
		size_t n = strcspn(line + i, " \033"), slash = n;
		while (slash && line[i + slash - 1] != '/')
			slash--;
		if (slash > 4 && n > best) {
			best = n;
			*from = i;
			*last = i + slash - 1;
		}
		i += n;
		while (line[i] == ' ' || line[i] == '\033')
			i += step(line + i, &columns);
	}
	return best;
}

/* Takes `over` columns out of the longest path, or what there is; true: something was taken. */
static bool shorten(struct buf *line, size_t over)
{
	size_t from = 0, last = 0;
	if (!longest_path(line->p, &from, &last))
		return false;
	size_t middle = width(line->p + from, last - from), kept, columns;
	if (middle < 3)
		return false;
	kept = over + 1 < middle ? middle - over - 1 : 1;
	size_t cut = from;
	for (size_t k = 0; k < kept / 2 + 1; k++)
		cut += step(line->p + cut, &columns);
	size_t go_on = cut, rest = kept - kept / 2 ? kept - kept / 2 - 1 : 0;
	while (go_on < last && width(line->p + go_on, last - go_on) > rest)
		go_on += step(line->p + go_on, &columns);
	char *tail = xstrdup(line->p + go_on);
	line->n = cut;
	buf_puts(line, "…");
	bool less = go_on > cut + 1;
	buf_puts(line, tail);
	buf_add(line, "", 1);
	line->n--;
	free(tail);
	return less;
}

/* "  >   144 | …", and the mark below it */
static bool is_source(const char *line)
{
	size_t columns;
	while (*line == ' ' || *line == '>' || *line == '\033')
		line += step(line, &columns);
	size_t digits = strspn(line, "0123456789");
	if (*line == '|' && line[1 + strspn(line + 1, " ")] == '^') /* below it */
		return true;
	return line[digits] == ' ' && line[digits + 1] == '|';
}

static void put_cut(const char *line, size_t columns, FILE *out)
{
	size_t at = 0, takes;
	while (*line) {
		size_t n = step(line, &takes);
		if (!takes || at + takes < columns)
			fwrite(line, 1, n, out);
		else if (at + takes == columns)
			fputs("…", out);
		at += takes;
		line += n;
	}
	fputc('\n', out);
}

/* Where the second line begins: below what follows the first gap of two blanks, or a little to the right. */
static size_t indent_of(const char *line, size_t columns)
{
	size_t lead = strspn(line, " "), gap = lead, columns_of_one;
	while (line[gap] && !(line[gap] == ' ' && line[gap + 1] == ' '))
		gap++;
	while (line[gap] == ' ' || line[gap] == '\033')
		gap += step(line + gap, &columns_of_one);
	size_t at = width(line, gap);
	return line[gap] && at < columns / 2 ? at : lead + 2;
}

static void put_broken(const char *line, size_t columns, FILE *out)
{
	size_t indent = indent_of(line, columns), at = 0;
	while (*line) {
		size_t blanks = strspn(line, " "), n = strcspn(line + blanks, " ");
		size_t takes = width(line + blanks, n);
		char word[1024], short_word[1024];
		if (!n)
			break;
		if (at > indent && at + blanks + takes > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			blanks = (size_t)(line += blanks, 0);
		}
		fwrite(line, 1, blanks, out);
		snprintf(word, sizeof word, "%.*s", (int)n, line + blanks);
		const char *shown = at + blanks + takes > columns && n < sizeof word
					    ? srcloc_fit_name(word, columns - indent, short_word,
							      sizeof short_word)
					    : NULL;
		fwrite(shown ? shown : line + blanks, 1, shown ? strlen(shown) : n, out);
		at += blanks + (shown ? width(shown, strlen(shown)) : takes);
		line += blanks + n;
	}
	fputc('\n', out);
}

void report_fit_line(const char *text, size_t columns, FILE *out)
{
	struct buf line = { 0 };
	size_t now;
	buf_puts(&line, text);
	buf_add(&line, "", 1);
	line.n--;
	if (is_source(line.p)) {
		put_cut(line.p, columns, out);
		buf_free(&line);
		return;
	}
	while ((now = width(line.p, line.n)) > columns && shorten(&line, now - columns))
		;
	if (now > columns)
		put_broken(line.p, columns, out);
	else
		fprintf(out, "%s\n", line.p);
	buf_free(&line);
}

FILE *report_fit_begin(struct report_fit *fit, FILE *to)
{
	struct winsize size;
	*fit = (struct report_fit){ .to = to };
	bool known = isatty(fileno(to)) && !ioctl(fileno(to), TIOCGWINSZ, &size);
	if (known && size.ws_col >= LEAST)
		fit->inner = open_memstream(&fit->text, &fit->n);
	fit->columns = fit->inner ? size.ws_col : 0;
	return fit->inner ? fit->inner : to;
}

void report_fit_end(struct report_fit *fit)
{
	if (!fit->inner)
		return;
	fclose(fit->inner);
	for (char *line = fit->text, *end; fit->text && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		report_fit_line(line, fit->columns, fit->to);
	}
	free(fit->text);
}
