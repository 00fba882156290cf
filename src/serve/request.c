/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of HTTP/1: its first line and the few fields that matter.
 *
 * The Host field must name this machine: a page of another site, whose name its owner lets point to
 * 127.0.0.1, would otherwise read what is served here. Any port will do, for people forward ports.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/internal.h"

const char *serve_status_text(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 408: return "Request Timeout";
	case 421: return "Misdirected Request";
	case 431: return "Request Header Fields Too Large";
	case 503: return "Service Unavailable";
	case 505: return "HTTP Version Not Supported";
	default: return "Internal Server Error";
	}
}

void serve_encode(struct buf *b, const char *path)
{
	for (; *path; path++)
		buf_printf(b,
			   isalnum((unsigned char)*path) || strchr("-._~/", *path) ? "%c"
										   : "%%%02X",
			   *path & 0xff);
}

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* The path of a URL, decoded; NULL: it is none. */
static char *decode(const char *url)
{
	size_t n = strcspn(url, "?#"), k = 0;
	char *path = xmalloc(n + 1);
	if (*url != '/')
		return free(path), NULL;
	for (size_t i = 0; i < n; i++) {
		bool coded = url[i] == '%', whole = i + 2 < n;
		int high = coded && whole ? hex(url[i + 1]) : -1;
		int low = coded && whole ? hex(url[i + 2]) : -1;
		if (coded && (high < 0 || low < 0 || high + low == 0))
			return free(path), NULL;
		path[k++] = coded ? (char)(high * 16 + low) : url[i];
		i += coded ? 2 : 0;
	}
	path[k] = 0;
	return path;
}

/* "localhost", "127.0.0.1" or "[::1]", and a port if there is one. */
static bool is_here(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);
		const char *rest = host + n;
		if (strncasecmp(host, names[i], n) != 0)
			continue;
		if (!*rest)
			return true;
		return *rest == ':' && rest[1] &&
		       strspn(rest + 1, "0123456789") == strlen(rest + 1);
	}
	return false;
}

/* Cuts the next line off; NULL: there is none. */
static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');
	if (!end)
		return NULL;
	*at = end + 1;
	*end = 0;
	if (end > line && end[-1] == '\r')
		end[-1] = 0;
	return line;
}

struct fields {
	unsigned hosts;
	bool here, foreign;
};

static bool take_field(char *line, struct fields *f)
{
	char *colon = strchr(line, ':'), *value;
	if (!colon || colon == line || isspace((unsigned char)*line))
		return false;
	*colon = 0;
	value = colon + 1 + strspn(colon + 1, " \t");
	for (char *end = value + strlen(value); end > value && isspace((unsigned char)end[-1]);)
		*--end = 0;
	if (!strcasecmp(line, "Host")) {
		f->hosts++;
		f->here = is_here(value);
	}
	if (!strcasecmp(line, "Sec-Fetch-Site"))
		f->foreign = !strcasecmp(value, "cross-site") || !strcasecmp(value, "same-site");
	return true;
}

static int first_line(char *line, struct serve_request *r)
{
	char *url = strchr(line, ' '), *version = url ? strchr(url + 1, ' ') : NULL;
	if (!version)
		return 400;
	*url++ = 0;
	*version++ = 0;
	if (strncmp(version, "HTTP/1.", 7) != 0)
		return strncmp(version, "HTTP/", 5) ? 400 : 505;
	r->head = !strcmp(line, "HEAD");
	if (!r->head && strcmp(line, "GET") != 0)
		return 405;
	r->path = decode(url);
	return r->path ? 0 : 400;
}

int serve_request_parse(char *text, size_t n, struct serve_request *r)
{
	struct fields f = { 0 };
	char *at = text, *line;
	*r = (struct serve_request){ 0 };
	if (memchr(text, 0, n) || !(line = next_line(&at)))
		return 400;
	int status = first_line(line, r);
	while (!status && (line = next_line(&at)) && *line)
		if (!take_field(line, &f))
			status = 400;
	if (!status && (f.hosts != 1 || !line))
		status = 400;
	if (!status && !f.here)
		status = 421;
	r->foreign = f.foreign;
	if (status) {
		free(r->path);
		r->path = NULL;
	}
	return status;
}
