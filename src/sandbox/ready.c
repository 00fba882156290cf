/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a server is up: something listens on its port, which the kernel tells without being
 * connected to, and a line of its output has matched; where only one of these is asked for, that
 * one. A line counts as soon as it matches, also before its end has come: it may be a prompt.
 */
#include "sandbox/internal.h"

#include <ctype.h>
#include <dirent.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TCP_LISTENING 0x0a
#define LINE_MAX_BYTES 65536u  /* of a longer line only the beginning is looked at */
#define PROMPT_MAX_BYTES 1024u /* a longer one is looked at when it has ended */

struct sandbox_ready {
	unsigned port; /* 0: none */
	char *text;    /* NULL: none */
	regex_t regex;
	double every, looked; /* seconds between two looks at the port; the last one */
	bool listens;
	struct buf line[2]; /* what has come of the current line of each stream */
	atomic_bool seen;
};

struct sandbox_ready *sandbox_ready_new(unsigned port, const char *regex, double every,
					struct err *err)
{
	char why[128];
	struct sandbox_ready *r = xcalloc(1, sizeof *r);
	int bad = regex ? regcomp(&r->regex, regex, REG_EXTENDED | REG_NOSUB) : 0;
	if (bad) {
		regerror(bad, &r->regex, why, sizeof why);
		err_set(err, EXIT_USAGE, "--ready: bad regular expression '%s': %s", regex, why);
		free(r);
		return NULL;
	}
	r->port = port;
	r->every = every;
	r->text = regex ? xstrdup(regex) : NULL;
	return r;
}

void sandbox_ready_free(struct sandbox_ready *r)
{
	if (!r)
		return;
	if (r->text)
		regfree(&r->regex);
	for (int i = 0; i < 2; i++)
		buf_free(&r->line[i]);
	free(r->text);
	free(r);
}

void sandbox_ready_reset(struct sandbox_ready *r)
{
	r->listens = false;
	r->looked = 0;
	r->line[0].n = r->line[1].n = 0;
	atomic_store(&r->seen, false);
}

static void look_at(struct sandbox_ready *r, const struct buf *line)
{
	regmatch_t all = { .rm_so = 0, .rm_eo = (regoff_t)line->n };
	if (!regexec(&r->regex, line->n ? line->p : "", 1, &all, REG_STARTEND))
		atomic_store(&r->seen, true);
}

void sandbox_ready_saw(struct sandbox_ready *r, int stream, const char *p, size_t n)
{
	struct buf *line = &r->line[stream];
	while (r->text && n && !atomic_load(&r->seen)) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n, room = LINE_MAX_BYTES - line->n;
		buf_add(line, p, len < room ? len : room);
		if (end || line->n <= PROMPT_MAX_BYTES)
			look_at(r, line);
		if (end)
			line->n = 0;
		len += end != NULL;
		p += len;
		n -= len;
	}
}

void sandbox_ready_ended(struct sandbox_ready *r, int stream)
{
	if (r->text && r->line[stream].n)
		look_at(r, &r->line[stream]);
}

bool sandbox_ready_now(struct sandbox_ready *r)
{
	if (r->port && !r->listens) {
		double now = now_seconds();
		if (now < r->looked + r->every)
			return false;
		r->looked = now;
		r->listens = sandbox_listens(0, r->port, NULL);
	}
	return (!r->port || r->listens) && (!r->text || atomic_load(&r->seen));
}

int sandbox_ready_lacks(const struct sandbox_ready *r, const char *what, struct err *err)
{
	if (r->port && !r->listens)
		return err_set(err, EXIT_PROGRAM, "%s: nothing listened on port %u", what, r->port);
	return err_set(err, EXIT_PROGRAM, "%s: no line of its output matched '%s'", what, r->text);
}

/* In our own network any program may listen; only in one of its own is each listener the server's. */
static bool shares_network(pid_t pid)
{
	char path[48], ours[64] = "", theirs[64] = "";
	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	return readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0 &&
	       readlink(path, theirs, sizeof theirs - 1) > 0 && !strcmp(ours, theirs);
}

/* Does the process have this socket open? */
static bool holds(pid_t pid, unsigned long inode)
{
	char path[48], want[32], is[32];
	bool found = false;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	int want_len = snprintf(want, sizeof want, "socket:[%lu]", inode);
	DIR *dir = opendir(path);
	for (const struct dirent *e; dir && !found && (e = readdir(dir));)
		found = readlinkat(dirfd(dir), e->d_name, is, sizeof is) == want_len &&
			!memcmp(is, want, (size_t)want_len);
	if (dir)
		closedir(dir);
	return found;
}

/* A line is "  0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 uid 0 inode …"; addresses may be longer.
 * `of`: only a socket that this process has; 0: any. */
static unsigned find_listener(const char *table, unsigned wanted, pid_t of)
{
	char line[512];
	unsigned local, state, found = 0;
	unsigned long inode;
	FILE *f = fopen(table, "re");
	while (f && !found && fgets(line, sizeof line, f))
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu",
			   &local, &state, &inode) == 3 &&
		    state == TCP_LISTENING && (!wanted || local == wanted) &&
		    (!of || holds(of, inode)))
			found = local;
	if (f)
		fclose(f);
	return found;
}

unsigned sandbox_listens(pid_t pid, unsigned wanted, bool *six)
{
	char path[48];
	unsigned port = 0;
	pid_t of = pid && !wanted && shares_network(pid) ? pid : 0;
	for (int i = 0; !port && i < 2; i++) {
		if (pid)
			snprintf(path, sizeof path, "/proc/%d/net/tcp%s", (int)pid, i ? "6" : "");
		else
			snprintf(path, sizeof path, "/proc/thread-self/net/tcp%s", i ? "6" : "");
		port = find_listener(path, wanted, of);
		if (six)
			*six = i;
	}
	return port;
}

int sandbox_signal_named(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (isdigit((unsigned char)*text) && !*end)
		return n > 0 && n < NSIG ? (int)n : 0;
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	for (int sig = 1; sig < NSIG; sig++) {
		const char *known = sigabbrev_np(sig);
		if (known && !strcmp(known, name))
			return sig;
	}
	return 0;
}
