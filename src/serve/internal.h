/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/serve share. */
#ifndef HOLDFAST_SERVE_INTERNAL_H
#define HOLDFAST_SERVE_INTERNAL_H

#include "serve/serve.h"

/* ---- request.c ---- */

#define SERVE_MOST_HEAD 8192u /* bytes of a request's head */
struct serve_request {
	bool head;    /* only the head of the answer is wanted */
	bool foreign; /* a page of another site asks for it */
	char *path;   /* of the URL, decoded, without the query; no zero bytes in it */
};
/* What is wrong with it, as a status of HTTP (400, 403, 405, …); 0: nothing. `text` has all of the head. */
int serve_request_parse(char *text, size_t n, struct serve_request *);
const char *serve_status_text(int status);
void serve_encode(struct buf *, const char *path); /* as a part of a URL; slashes stay */

/* ---- place.c ---- */

enum serve_kind { SERVE_RECORDING, SERVE_CAMPAIGN, SERVE_EXPLORATION };
struct serve_place {
	char *name; /* below the folder that is served; "": it is that folder */
	char *dir;
	enum serve_kind kind;
	double changed; /* seconds since 1970 */
};
struct serve_places {
	VEC(struct serve_place) v; /* the newest first */
	bool one;                  /* what is served is itself one */
};
void serve_places_find(struct serve_places *, const char *dir);
const struct serve_place *serve_place_named(const struct serve_places *, const char *name,
					    size_t n);
void serve_places_free(struct serve_places *);

/* ---- view.c ---- */

struct serve_view {
	const struct serve_opts *o;
	const char *cache; /* a folder for reports of recordings; NULL: none */
};
/* How far it is: an object of JSON, with "version", a word that changes with the report. The chart is left out
 * where all are listed. */
void serve_view_news(const struct serve_view *, const struct serve_place *, bool chart,
		     struct buf *, char version[17]);
/* The report as JSON for the page; xmalloc'ed. NULL and err: there is none. */
char *serve_view_report(const struct serve_view *, const struct serve_place *, struct err *);

/* ---- site.c ---- */

struct serve_client {
	int fd;
	const struct serve_view *view;
};
/* Reads one request and answers it; it may take as long as the client stays. */
void serve_answer(const struct serve_client *);
/* All of it, or false: the client is gone. */
bool serve_send(int fd, const void *, size_t);

#endif
