/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is to be had:
 *
 *	/                    the page of the folder that is served, or the list of those below it
 *	/c/NAME/             the page of one of these
 *	…report.json         beside a page: the data that it shows
 *	…events              beside a page or the list: a stream of how far it is (server-sent events)
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/internal.h"

#define HEAD_MS 10000 /* for a request's head to arrive */
#define TICK_MS 700   /* between two looks at how far it is */
#define SILENCE 20.0  /* seconds after which a stream says that it is there */
#define PAGE "text/html; charset=utf-8"
#define JSON "application/json"
#define WORDS "text/plain; charset=utf-8"

static const char fields[] = "Connection: close\r\n"
			     "Cache-Control: no-store\r\n"
			     "X-Content-Type-Options: nosniff\r\n"
			     "Referrer-Policy: no-referrer\r\n"
			     "Cross-Origin-Resource-Policy: same-origin\r\n"
			     "Content-Security-Policy: frame-ancestors 'none'\r\n";

bool serve_send(int fd, const void *data, size_t n)
{
	const char *p = data;
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		p += sent;
		n -= (size_t)sent;
	}
	return true;
}

static void answer(int fd, bool head, int status, const char *type, const char *data, size_t n)
{
	struct buf b = { 0 };
	buf_printf(&b, "HTTP/1.1 %d %s\r\n%sContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
		   status, serve_status_text(status), status == 405 ? "Allow: GET, HEAD\r\n" : "",
		   type, n, fields);
	if (!head)
		buf_add(&b, data, n);
	serve_send(fd, b.p, b.n);
	buf_free(&b);
}

static void refuse(int fd, bool head, int status, const char *why)
{
	char *text = xasprintf("%s\n", why ? why : serve_status_text(status));
	answer(fd, head, status, WORDS, text, strlen(text));
	free(text);
}

/* ---- streams ---- */

/* Waits; false: the client is gone. What it says more is not listened to. */
static bool stays(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };
	char drop[512];
	if (poll(&p, 1, ms) <= 0)
		return true;
	if (p.revents & (POLLRDHUP | POLLHUP | POLLERR))
		return false;
	return recv(fd, drop, sizeof drop, MSG_DONTWAIT) > 0;
}

static void list_news(const struct serve_client *c, struct buf *out)
{
	struct serve_places all;
	char version[17];
	serve_places_find(&all, c->view->o->dir);
	buf_printf(out, "{\"one\":%s,\"places\":[", all.one ? "true" : "false");
	for (size_t i = 0; i < all.v.n; i++) {
		buf_puts(out, i ? "," : "");
		serve_view_news(c->view, &all.v.p[i], false, out, version);
	}
	buf_puts(out, "]}");
	serve_places_free(&all);
}

static void place_news(const struct serve_client *c, const char *name, struct buf *out)
{
	struct serve_places all;
	char version[17];
	serve_places_find(&all, c->view->o->dir);
	const struct serve_place *p = serve_place_named(&all, name, strlen(name));
	if (p)
		serve_view_news(c->view, p, true, out, version);
	else
		buf_puts(out, "{\"state\":\"no longer there\",\"running\":false,\"figures\":{},"
			      "\"version\":\"\"}");
	serve_places_free(&all);
}

/* Until the client goes away; name NULL: the list. */
static void stream(const struct serve_client *c, bool head, const char *name)
{
	struct buf last = { 0 }, begin = { 0 };
	double said = now_seconds();
	buf_printf(&begin, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n%s", fields,
		   head ? "" : "retry: 2000\n\n");
	bool there = serve_send(c->fd, begin.p, begin.n) && !head;
	buf_free(&begin);
	while (there) {
		struct buf news = { 0 };
		if (name)
			place_news(c, name, &news);
		else
			list_news(c, &news);
		if (news.n != last.n || memcmp(news.p, last.p, news.n) != 0) {
			there = serve_send(c->fd, "data: ", 6) &&
				serve_send(c->fd, news.p, news.n) && serve_send(c->fd, "\n\n", 2);
			said = now_seconds();
		} else if (now_seconds() - said > SILENCE) {
			there = serve_send(c->fd, ":\n\n", 3);
			said = now_seconds();
		}
		buf_free(&last);
		last = news;
		there = there && stays(c->fd, TICK_MS);
	}
	buf_free(&last);
}

/* ---- pages ---- */

static void list_page(const struct serve_client *c, bool head)
{
	struct buf news = { 0 }, page = { 0 };
	list_news(c, &news);
	buf_add(&news, "", 1);
	report_served_list(&page, news.p);
	answer(c->fd, head, 200, PAGE, page.p, page.n);
	buf_free(&news);
	buf_free(&page);
}

static void place_page(const struct serve_client *c, const struct serve_request *r,
		       const struct serve_place *p, bool data)
{
	struct buf news = { 0 }, page = { 0 };
	struct err err;
	char version[17];
	serve_view_news(c->view, p, false, &news, version); /* first: what comes later is news */
	char *json = serve_view_report(c->view, p, &err);
	if (!json) {
		refuse(c->fd, r->head, 500, err.text);
	} else if (data) {
		answer(c->fd, r->head, 200, JSON, json, strlen(json));
	} else {
		report_served_page(&page, json, version);
		answer(c->fd, r->head, 200, PAGE, page.p, page.n);
	}
	free(json);
	buf_free(&news);
	buf_free(&page);
}

/* What stands behind a place's name: "", "report.json" or "events"; NULL: none of these. */
static const char *part_of(const char *path, size_t *n)
{
	static const char *const parts[] = { "report.json", "events", "" };
	const char *slash = strrchr(path, '/');
	*n = (size_t)(slash - path);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!strcmp(slash + 1, parts[i]))
			return parts[i];
	return NULL;
}

static void place_answer(const struct serve_client *c, const struct serve_request *r,
			 const struct serve_place *p, const char *part)
{
	if (!strcmp(part, "events"))
		stream(c, r->head, p->name);
	else
		place_page(c, r, p, *part);
}

static void answer_request(const struct serve_client *c, const struct serve_request *r)
{
	struct serve_places all;
	size_t n;
	const char *part = part_of(r->path, &n);
	const struct serve_place *p = NULL;
	bool root = n == 0 && part;
	if (r->foreign && part && *part) {
		refuse(c->fd, r->head, 403, "only the page itself may ask for this");
		return;
	}
	if (!strcmp(r->path, "/favicon.ico")) {
		answer(c->fd, r->head, 200, "image/x-icon", "", 0);
		return;
	}
	serve_places_find(&all, c->view->o->dir);
	if (root && all.one)
		p = &all.v.p[0];
	else if (part && n > 3 && !strncmp(r->path, "/c/", 3))
		p = serve_place_named(&all, r->path + 3, n - 3);
	if (p)
		place_answer(c, r, p, part);
	else if (root && !*part)
		list_page(c, r->head);
	else if (root && !strcmp(part, "events"))
		stream(c, r->head, NULL);
	else
		refuse(c->fd, r->head, 404, "there is no such page; / has all there is");
	serve_places_free(&all);
}

/* ---- a request ---- */

/* Where the head ends, behind its empty line; 0: it has not ended. */
static size_t head_end(const char *text, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (text[i] == '\n' && (text[i + 1] == '\n' ||
					(i + 2 < n && text[i + 1] == '\r' && text[i + 2] == '\n')))
			return i + (text[i + 1] == '\n' ? 2 : 3);
	return 0;
}

/* Bytes of the head; 0: the client is gone, or a status below 0: it is refused. */
static long read_head(int fd, char text[SERVE_MOST_HEAD + 1])
{
	double until = now_seconds() + HEAD_MS / 1000.0;
	size_t n = 0, end;
	while (!(end = head_end(text, n))) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int left = (int)((until - now_seconds()) * 1000);
		if (n == SERVE_MOST_HEAD)
			return -431;
		if (left <= 0 || poll(&p, 1, left) <= 0)
			return n ? -408 : 0;
		ssize_t got = recv(fd, text + n, SERVE_MOST_HEAD - n, 0);
		if (got <= 0)
			return 0;
		n += (size_t)got;
	}
	text[end] = 0;
	return (long)end;
}

void serve_answer(const struct serve_client *c)
{
	static char text[SERVE_MOST_HEAD + 1];
	struct serve_request r = { 0 };
	long n = read_head(c->fd, text);
	int status = n > 0 ? serve_request_parse(text, (size_t)n, &r) : (int)-n;
	if (n && status)
		refuse(c->fd, r.head, status,
		       status == 421
			       ? "the Host field must name this machine: localhost or 127.0.0.1"
			       : NULL);
	else if (n)
		answer_request(c, &r);
	free(r.path);
}
