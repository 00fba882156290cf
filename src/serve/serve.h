/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of a campaign, an exploration or a recording, served on loopback, while it runs or afterwards.
 *
 *	listen.c   one process accepts connections, and forks one for each: a client that is slow, or a report that
 *	           is large, keeps nobody else waiting, and what goes wrong goes wrong for one
 *	request.c  … which reads a request (only GET and HEAD, only from this machine by name), …
 *	site.c     … finds what is asked for, and answers
 *	place.c    which folders there are
 *	view.c     one of them: its report as a page, and how far it is
 *
 * Nothing is written but copies of what check found in recordings, in a folder of this process's own. What a URL
 * names is compared with the folders that there are, and never used as a path.
 */
#ifndef HOLDFAST_SERVE_SERVE_H
#define HOLDFAST_SERVE_SERVE_H

#include "report/report.h"

#define SERVE_PORT 7420u /* unless another one is asked for; a free one if it is taken */

struct serve_opts {
	const char *dir;
	unsigned port; /* 0: any that is free */
	bool fixed;    /* this port or none */
	/* The report of a recording that nobody has made a campaign of: calls `take`, once. */
	int (*check)(const char *dir, void (*take)(void *, const struct report *), void *,
		     struct err *);
};
/* Says where it serves, and does until a signal comes (SIGINT, SIGTERM, SIGHUP): then 0. -1 and err: it cannot. */
int serve_run(const struct serve_opts *, struct err *);

#endif
