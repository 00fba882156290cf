/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of HTTP: which are taken, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "campaign/campaign.h"
#include "serve/internal.h"

#define HERE "Host: 127.0.0.1:7420\r\n"
#define END "\r\n"

static const struct {
	const char *text;
	int status;
	const char *path;
	bool head, foreign;
} requests[] = {
	{ "GET / HTTP/1.1\r\n" HERE END, 0, "/" },
	{ "HEAD /c/a%20b/ HTTP/1.1\r\n" HERE END, 0, "/c/a b/", true },
	{ "GET /x?y=/../z HTTP/1.1\nhost:\tLOCALHOST\n\n", 0, "/x" },
	{ "GET /x#y HTTP/1.0\r\nHost: [::1]:1\r\n" END, 0, "/x" },
	{ "GET /a HTTP/1.1\r\n" HERE "Sec-Fetch-Site: cross-site\r\n" END, 0, "/a", false, true },
	{ "GET /a HTTP/1.1\r\n" HERE "Sec-Fetch-Site: same-origin\r\n" END, 0, "/a" },
	{ "GET /%2e%2e/%2E HTTP/1.1\r\n" HERE END, 0, "/../." }, /* a name like any other */
	/* of whom nothing is known */
	{ "GET / HTTP/1.1\r\n" END, 400 },
	{ "GET / HTTP/1.1\r\n" HERE HERE END, 400 },
	/* other names for this machine, and for others */
	{ "GET / HTTP/1.1\r\nHost: evil.example\r\n" END, 421 },
	{ "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" END, 421 },
	{ "GET / HTTP/1.1\r\nHost: localhost.\r\n" END, 421 },
	{ "GET / HTTP/1.1\r\nHost: localhost:80@evil.example\r\n" END, 421 },
	{ "GET / HTTP/1.1\r\nHost: localhost:\r\n" END, 421 },
	{ "GET / HTTP/1.1\r\nHost:\r\n" END, 421 },
	/* no requests */
	{ "", 400 },
	{ "\r\n\r\n", 400 },
	{ "GET\r\n" HERE END, 400 },
	{ "GET /\r\n" HERE END, 400 },
	{ "GET  / HTTP/1.1\r\n" HERE END, 400 },
	{ "GET / FTP/1.1\r\n" HERE END, 400 },
	{ "GET / HTTP/2.0\r\n" HERE END, 505 },
	{ "POST / HTTP/1.1\r\n" HERE END, 405 },
	{ "get / HTTP/1.1\r\n" HERE END, 405 },
	{ "GET http://127.0.0.1/ HTTP/1.1\r\n" HERE END, 400 },
	{ "GET * HTTP/1.1\r\n" HERE END, 400 },
	{ "GET /%00 HTTP/1.1\r\n" HERE END, 400 },
	{ "GET /%2 HTTP/1.1\r\n" HERE END, 400 },
	{ "GET /% HTTP/1.1\r\n" HERE END, 400 },
	{ "GET /%zz HTTP/1.1\r\n" HERE END, 400 },
	{ "GET / HTTP/1.1\r\n" HERE "no colon\r\n" END, 400 },
	{ "GET / HTTP/1.1\r\n" HERE " folded: field\r\n" END, 400 },
	{ "GET / HTTP/1.1\r\n" HERE ": no name\r\n" END, 400 },
	{ "GET / HTTP/1.1\r\n" HERE, 400 }, /* it does not end */
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		char *text = xstrdup(requests[i].text); /* all of it, for the sanitizers */
		struct serve_request r;
		int status = serve_request_parse(text, strlen(text), &r);
		if (status != requests[i].status)
			print_message("request %zu: %s\n", i, requests[i].text);
		assert_int_equal(status, requests[i].status);
		assert_int_equal(!r.path, status != 0);
		if (!status)
			assert_string_equal(r.path, requests[i].path);
		if (!status)
			assert_int_equal(r.foreign, requests[i].foreign);
		if (!status)
			assert_int_equal(r.head, requests[i].head);
		free(r.path);
		free(text);
	}
}

static void test_zero_byte(void **state)
{
	char text[] = "GET / HTTP/1.1\r\nHost: localhost\0evil\r\n\r\n";
	struct serve_request r;
	(void)state;
	assert_int_equal(serve_request_parse(text, sizeof text - 1, &r), 400);
	assert_null(r.path);
}

/* Any bytes at all: an answer, and nothing read that is not there. */
static void test_noise(void **state)
{
	static const char *const part[] = { "GET",  " ",    "/",  "HTTP/1.1",  "\r\n", "\n",
					    "Host", ":",    "%2", "localhost", "%",    "\r",
					    "%41",  "\xff", "?",  "[::1]" };
	uint64_t seed = 7;
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct buf b = { 0 };
		struct serve_request q;
		for (uint64_t k = splitmix64(&seed) % 24; k; k--)
			buf_puts(&b, part[splitmix64(&seed) % (sizeof part / sizeof *part)]);
		buf_add(&b, "", 1);
		int status = serve_request_parse(b.p, b.n - 1, &q);
		assert_true(status == 0 || (status >= 400 && status < 600));
		assert_int_equal(!q.path, status != 0);
		free(q.path);
		buf_free(&b);
	}
}

static void test_encoded(void **state)
{
	static const char name[] = "c/a b%&?#\"<é>/../x.hft/";
	struct buf b = { 0 };
	struct serve_request r;
	(void)state;
	buf_puts(&b, "GET /");
	serve_encode(&b, name);
	buf_puts(&b, " HTTP/1.1\r\n" HERE END);
	buf_add(&b, "", 1);
	assert_int_equal(serve_request_parse(b.p, b.n - 1, &r), 0);
	assert_string_equal(r.path + 1, name);
	free(r.path);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_zero_byte),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_encoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
