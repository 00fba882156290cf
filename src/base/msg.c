/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages on stderr. A progress line overwrites itself and is only shown on a terminal;
 * any other message clears it first, so that the two never mix on one line.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

bool msg_quiet, msg_plain;
static bool progress_shown;

bool color_wanted(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return !msg_plain && !(no && *no) && isatty(fileno(f)) && !(term && !strcmp(term, "dumb"));
}

static void __attribute__((format(printf, 3, 0)))
say(const char *what, const char *color, const char *fmt, va_list ap)
{
	char text[4096];
	bool tint = *what && color_wanted(stderr);
	progress_end();
	vsnprintf(text, sizeof text, fmt, ap);
	printable(text, strlen(text));
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

/* At most ten updates a second: a terminal is slow. */
static bool too_soon(void)
{
	static uint64_t last;
	struct timespec now;
	uint64_t ms;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (last && ms - last < 100)
		return true;
	last = ms;
	return false;
}

void progress(const char *fmt, ...)
{
	char text[256];
	va_list ap;
	if (msg_quiet || msg_plain || !isatty(STDERR_FILENO) || too_soon())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	progress_shown = true;
}

void progress_end(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}
