/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages on stderr. Progress is a line or several that overwrite themselves on a terminal;
 * any other message clears it first, so that the two never mix on one line.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

bool msg_quiet, msg_plain;
static bool progress_shown;
static unsigned progress_above; /* lines above the one that the cursor is on */

bool color_wanted(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return !msg_plain && !(no && *no) && isatty(fileno(f)) && !(term && !strcmp(term, "dumb"));
}

static unsigned terminal_columns(void)
{
	struct winsize size;
	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

/* On a terminal lines end at blanks, so that it need not break them; `before` columns are taken on the first. */
static void break_lines(char *text, size_t before)
{
	unsigned columns = terminal_columns();
	char *blank = NULL;
	for (size_t at = before; *text; text++) {
		at += (*text & 0xc0) != 0x80;
		if (*text == '\n')
			at = 0;
		if (at > columns && blank) {
			*blank = '\n';
			at = (size_t)(text - blank);
			blank = NULL;
		}
		if (*text == ' ')
			blank = text;
	}
}

static void __attribute__((format(printf, 3, 0)))
say(const char *what, const char *color, const char *fmt, va_list ap)
{
	char text[4096];
	bool tint = *what && color_wanted(stderr);
	progress_end();
	vsnprintf(text, sizeof text, fmt, ap);
	printable(text, strlen(text));
	if (isatty(STDERR_FILENO))
		break_lines(text, strlen("holdfast: ") + strlen(what));
	/* One call, so that lines of several processes do not mix. */
	fprintf(stderr, "holdfast: %s%s%s%s\n", tint ? color : "", what, tint ? "\033[0m" : "",
		text);
}

void msg_error(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say("error: ", "\033[1;31m", fmt, ap);
	va_end(ap);
}

void msg_warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say("warning: ", "\033[1;33m", fmt, ap);
	va_end(ap);
}

void msg_info(const char *fmt, ...)
{
	va_list ap;
	if (msg_quiet)
		return;
	va_start(ap, fmt);
	say("", "", fmt, ap);
	va_end(ap);
}

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool too_soon(uint64_t wait)
{
	static uint64_t last;
	uint64_t ms = now_ms();
	if (last && ms - last < wait)
		return true;
	last = ms;
	return false;
}

/* As many of its characters as there are columns, but for the last one: some terminals go on to the next line there. */
static void put_clipped(const char *line, size_t bytes, unsigned columns)
{
	unsigned at = 0;
	for (size_t i = 0; i < bytes; i++) {
		at += (line[i] & 0xc0) != 0x80;
		if (at >= columns)
			return;
		fputc(line[i], stderr);
	}
}

/* Lines that replace those of before. */
static void draw(const char *text)
{
	unsigned columns = terminal_columns();
	progress_end();
	for (const char *line = text;; line++) {
		size_t n = strcspn(line, "\n");
		put_clipped(line, n, columns);
		line += n;
		if (!*line)
			break;
		fputc('\n', stderr);
		progress_above++;
	}
	fflush(stderr);
	progress_shown = true;
}

/* Elsewhere: the first line now and then, if HOLDFAST_PROGRESS says after how many seconds. */
static void print_first(const char *text)
{
	const char *set = getenv("HOLDFAST_PROGRESS");
	double seconds = set ? strtod(set, NULL) : 0;
	if (seconds <= 0 || too_soon((uint64_t)(seconds * 1000)))
		return;
	fprintf(stderr, "holdfast: %.*s\n", (int)strcspn(text, "\n"), text);
}

void progress(const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	if (msg_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (msg_plain || !isatty(STDERR_FILENO))
		print_first(text);
	else if (!too_soon(100)) /* ten updates a second: a terminal is slow */
		draw(text);
}

void progress_end(void)
{
	if (!progress_shown)
		return;
	if (progress_above)
		fprintf(stderr, "\033[%uA", progress_above);
	fputs("\r\033[J", stderr);
	fflush(stderr);
	progress_shown = false;
	progress_above = 0;
}
