/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for terminals, whatever names are in it. */
#include <unistd.h>

#include "base/base.h"

void printable(char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		bool c1 = c == 0xc2 && i + 1 < n && (s[i + 1] & 0xe0) == 0x80; /* U+0080…U+009f */
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || c1)
			s[i] = '?';
		if (c1)
			s[++i] = '?';
	}
}

static ssize_t put(void *to, const char *text, size_t n)
{
	struct buf b = { 0 };
	buf_add(&b, text, n);
	printable(b.p, b.n);
	bool bad = fwrite(b.p, 1, b.n, to) != b.n || fflush(to);
	buf_free(&b);
	return bad ? 0 : (ssize_t)n;
}

void stdout_printable(bool on)
{
	static FILE *real; /* while it is on */
	if (on == !!real)
		return;
	if (!on) {
		fclose(stdout); /* what goes wrong is the real one's error, too */
		stdout = real;
		real = NULL;
		return;
	}
	FILE *f = fopencookie(stdout, "w", (cookie_io_functions_t){ .write = put });
	if (!f)
		return;
	setvbuf(f, NULL, isatty(fileno(stdout)) ? _IOLBF : _IOFBF, 1 << 16);
	real = stdout;
	stdout = f;
}
