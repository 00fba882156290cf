/* SPDX-License-Identifier: BSD-3-Clause */
/* The sources of symbolic input, from the options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore/input.h"

/* A number, decimal or 0x…; *end is what follows. */
static bool number(const char *s, const char **end, uint64_t *out)
{
	char *stop;
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &stop, 0);
	*end = stop;
	return errno == 0;
}

static bool whole_number(const char *s, uint64_t *out)
{
	const char *end;
	return number(s, &end, out) && !*end;
}

/* "WORD[:LEN]": cuts the length off, if there is one; -1: it makes no sense. */
static int cut_length(char *word, const char *option, uint64_t *len, bool *given, struct err *err)
{
	char *colon = strrchr(word, ':');
	*given = colon && colon[1] >= '0' && colon[1] <= '9' && whole_number(colon + 1, len);
	if (!*given)
		return 0;
	*colon = 0;
	if (*len)
		return 0;
	return err_set(err, EXIT_USAGE, "--%s %s: a length of 0 makes no sense", option, word);
}

/* ---- adding one ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* A name that no other source has. */
static char *own_name(const struct explore_plan *p, const char *prefix, const char *what)
{
	char *name = xasprintf("%s%s", prefix, what);
	for (unsigned n = 2;; n++) {
		bool taken = false;
		for (size_t i = 0; i < p->about.n; i++)
			taken = taken || !strcmp(p->about.p[i].name, name);
		if (!taken)
			return name;
		free(name);
		name = xasprintf("%s%s-%u", prefix, what, n);
	}
}

static struct sym_source *add(struct explore_plan *p, enum sym_kind kind, uint64_t len,
			      const char *prefix, const char *what, struct err *err)
{
	if (p->source.n == SYM_MAX_SOURCES) {
		err_set(err, EXIT_USAGE, "more than %u symbolic sources", SYM_MAX_SOURCES);
		return NULL;
	}
	if (len > SYM_MAX_INPUT || p->n + len > SYM_MAX_INPUT) {
		err_set(err, EXIT_USAGE,
			"%s%s: %llu symbolic bytes are too many, %u are the limit for all "
			"sources together%s",
			prefix, what, (unsigned long long)len, SYM_MAX_INPUT,
			kind == SYM_SRC_FILE ? "; give a length or range, as in PATH:4096" : "");
		return NULL;
	}
	struct sym_source s = { .kind = kind, .first = (uint32_t)p->n, .len = (uint32_t)len };
	struct explore_source a = { .name = own_name(p, prefix, what),
				    .given = xstrdup(what),
				    .text = kind == SYM_SRC_ARG || kind == SYM_SRC_ENV,
				    .lo = 0,
				    .hi = 255 };
	p->n += len;
	VEC_PUSH(&p->source, s);
	VEC_PUSH(&p->about, a);
	return &p->source.p[p->source.n - 1];
}

static struct explore_source *newest(struct explore_plan *p)
{
	return &p->about.p[p->about.n - 1];
}

static void set_base(struct explore_source *a, const void *bytes, size_t n)
{
	a->base = xmalloc(n + 1);
	memcpy(a->base, bytes, n);
	a->nbase = (uint32_t)n;
}

/* ---- arguments and the environment ---- */

static int too_long(const char *option, const char *what, uint64_t len, size_t has, struct err *err)
{
	return err_set(err, EXIT_USAGE,
		       "--%s %s: what is given has %zu bytes, but only %llu are symbolic", option,
		       what, has, (unsigned long long)len);
}

static int add_arg(struct explore_plan *p, const char *text, struct err *err)
{
	char *word = xstrdup(text), what[32];
	uint64_t len = 0, index = 0;
	bool given;
	int bad = cut_length(word, "sym-arg", &len, &given, err);
	if (!bad && (!whole_number(word, &index) || !index))
		bad = err_set(err, EXIT_USAGE,
			      "--sym-arg takes the number of an argument, from 1 on, not '%s'",
			      text);
	if (!bad && index >= p->argc)
		bad = err_set(err, EXIT_USAGE,
			      "--sym-arg %s: the program has %zu argument%s, there is no number "
			      "%llu",
			      text, p->argc - 1, p->argc == 2 ? "" : "s",
			      (unsigned long long)index);
	free(word);
	if (bad)
		return -1;
	const char *arg = p->argv[index];
	size_t has = strlen(arg);
	snprintf(what, sizeof what, "%llu", (unsigned long long)index);
	if (given && has > len)
		return too_long("sym-arg", text, len, has, err);
	if (!given && !has)
		return err_set(err, EXIT_USAGE,
			       "--sym-arg %s: the argument is empty; give a length, as in %s:8",
			       text, what);
	struct sym_source *s = add(p, SYM_SRC_ARG, given ? len : has, "arg", what, err);
	if (!s)
		return -1;
	s->index = (uint32_t)index;
	set_base(newest(p), arg, has);
	return 0;
}

int explore_phases(const struct explore_inputs *o, unsigned *min, unsigned *max, struct err *err)
{
	uint64_t from, to, len;
	*min = *max = 0;
	if (!o->args.n)
		return 0;
	const char *const *w = o->args.p;
	if (!whole_number(w[0], &from) || !whole_number(w[1], &to) || !whole_number(w[2], &len))
		return err_set(err, EXIT_USAGE, "--sym-args takes three numbers: MIN MAX LEN");
	if (from > to || !to || to > SYM_MAX_SOURCES || !len)
		return err_set(err, EXIT_USAGE,
			       "--sym-args %s %s %s: from MIN to MAX arguments (at most %u) of "
			       "LEN bytes, not 0",
			       w[0], w[1], w[2], SYM_MAX_SOURCES);
	*min = (unsigned)from;
	*max = (unsigned)to;
	return 0;
}

static int add_extra(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	for (unsigned i = 0; i < p->phase; i++) {
		char what[32];
		snprintf(what, sizeof what, "%zu", p->argc);
		struct sym_source *s =
			add(p, SYM_SRC_ARG, strtoull(o->args.p[2], NULL, 0), "arg", what, err);
		if (!s)
			return -1;
		s->index = (uint32_t)p->argc;
		set_base(newest(p), "", 0);
		p->argv = xrealloc(p->argv, (p->argc + 2) * sizeof *p->argv);
		p->argv[p->argc++] = xstrdup("");
		p->argv[p->argc] = NULL;
	}
	return 0;
}

static int add_env(struct explore_plan *p, const char *text, struct err *err)
{
	char *name = xstrdup(text);
	uint64_t len = 0;
	bool given;
	if (cut_length(name, "sym-env", &len, &given, err))
		return free(name), -1;
	const char *value = getenv(name);
	size_t has = value ? strlen(value) : 0;
	int bad = 0;
	if (!*name || strchr(name, '='))
		bad = err_set(err, EXIT_USAGE, "--sym-env takes a variable's name, not '%s'", text);
	else if (given && has > len)
		bad = too_long("sym-env", text, len, has, err);
	else if (!given && !has)
		bad = err_set(err, EXIT_USAGE,
			      "--sym-env %s: it is not set; give a length, as in %s:8", text, name);
	struct sym_source *s =
		bad ? NULL : add(p, SYM_SRC_ENV, given ? len : has, "env-", name, err);
	if (s) {
		snprintf(s->path, sizeof s->path, "%s", name);
		set_base(newest(p), value ? value : "", has);
	}
	free(name);
	return s ? 0 : -1;
}

/* ---- files ---- */

/* The path that the program will see, without symbolic links where it is there. */
static int set_path(struct sym_source *s, const char *path, struct err *err)
{
	char *real = realpath(path, NULL), *cwd = getcwd(NULL, 0);
	char *whole = real                   ? real
		      : *path == '/' || !cwd ? xstrdup(path)
					     : xasprintf("%s/%s", cwd, path);
	size_t n = strlen(whole);
	if (n < sizeof s->path)
		memcpy(s->path, whole, n + 1);
	free(whole);
	free(cwd);
	return n < sizeof s->path ? 0 : err_set(err, EXIT_USAGE, "%s: the path is too long", path);
}

static int fill_file(struct explore_plan *p, struct sym_source *s, const char *path,
		     struct err *err)
{
	size_t n = 0;
	uint8_t *bytes = access(path, F_OK) ? NULL : explore_read(path, s->off, s->len, &n, err);
	if (!bytes && !access(path, F_OK))
		return -1;
	newest(p)->base = bytes; /* NULL: all zero */
	newest(p)->nbase = (uint32_t)n;
	return set_path(s, path, err);
}

/* "PATH:FROM-END" or "PATH:LEN": cuts it off the path. */
static int file_range(char *word, const char *option, uint64_t *from, uint64_t *to, bool *given,
		      struct err *err)
{
	char *colon = strrchr(word, ':');
	const char *end = "";
	*given = colon && colon[1] >= '0' && colon[1] <= '9';
	if (!*given)
		return 0;
	if (number(colon + 1, &end, to) && !*end) {
		*from = 0;
	} else {
		*from = *to;
		if (*end != '-' || !whole_number(end + 1, to))
			return err_set(err, EXIT_USAGE,
				       "--%s takes PATH:FROM-END or PATH:LEN, not '%s'", option,
				       word);
	}
	*colon = 0;
	if (*from < *to)
		return 0;
	return err_set(err, EXIT_USAGE, "--%s %s: there is nothing in %llu-%llu", option, word,
		       (unsigned long long)*from, (unsigned long long)*to);
}

static int add_file(struct explore_plan *p, const char *text, struct err *err)
{
	char *path = xstrdup(text);
	uint64_t from = 0, to = 0;
	bool given;
	struct stat st = { 0 };
	int bad = file_range(path, "sym-file", &from, &to, &given, err);
	bool there = !bad && !stat(path, &st);
	if (!bad && there && !S_ISREG(st.st_mode))
		bad = err_set(err, EXIT_USAGE, "--sym-file %s: not a regular file", path);
	else if (!bad && !given && (!there || !st.st_size))
		bad = err_set(err, EXIT_USAGE, "--sym-file %s: %s; give a length, as in %s:64",
			      path, there ? "it is empty" : "there is no such file", path);
	else if (!bad && from > (uint64_t)st.st_size)
		bad = err_set(err, EXIT_USAGE,
			      "--sym-file %s: the file ends at %llu, before byte %llu", path,
			      (unsigned long long)st.st_size, (unsigned long long)from);
	if (!bad && !given)
		to = (uint64_t)st.st_size;
	struct sym_source *s =
		bad ? NULL : add(p, SYM_SRC_FILE, to - from, "file-", last_part(path), err);
	if (s) {
		s->off = from;
		free(newest(p)->given);
		newest(p)->given = xstrdup(path);
	}
	bad = !s || fill_file(p, s, path, err);
	free(path);
	return bad ? -1 : 0;
}

static int add_pm(struct explore_plan *p, const char *text, struct err *err)
{
	char *path = xstrdup(text);
	uint64_t from = 0, to = 0;
	bool given;
	struct stat st;
	int bad = file_range(path, "sym-pm", &from, &to, &given, err);
	if (!bad && stat(path, &st))
		bad = err_set(err, EXIT_USAGE, "--sym-pm %s: there is no such pool", path);
	else if (!bad && !S_ISREG(st.st_mode))
		bad = err_set(err, EXIT_USAGE, "--sym-pm %s: not a regular file", path);
	if (!bad && !given)
		to = (uint64_t)st.st_size;
	if (!bad && (to > (uint64_t)st.st_size || from >= to))
		bad = err_set(err, EXIT_USAGE,
			      "--sym-pm %s: bytes %llu-%llu of a pool of %llu bytes", path,
			      (unsigned long long)from, (unsigned long long)to,
			      (unsigned long long)st.st_size);
	struct sym_source *s =
		bad ? NULL : add(p, SYM_SRC_FILE, to - from, "pm-", last_part(path), err);
	if (s) {
		s->off = from;
		newest(p)->pm = true;
		free(newest(p)->given);
		newest(p)->given = xstrdup(path);
	}
	bad = !s || fill_file(p, s, path, err);
	free(path);
	return bad ? -1 : 0;
}

static int add_stdin(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	size_t n = 0;
	if (!add(p, SYM_SRC_STDIN, o->stdin_len, "", "stdin", err))
		return -1;
	if (!o->stdin_path)
		return 0;
	newest(p)->base = explore_read(o->stdin_path, 0, SIZE_MAX, &n, err);
	newest(p)->nbase = (uint32_t)n;
	if (!newest(p)->base)
		return -1;
	return n > o->stdin_len ? too_long("sym-stdin", o->stdin_path, o->stdin_len, n, err) : 0;
}

static int add_socket(struct explore_plan *p, const struct explore_inputs *o, struct buf *fixed,
		      struct err *err)
{
	struct buf bytes = { 0 };
	int bad = explore_packets(p, o, &bytes, fixed, err);
	if (!bad && o->socket_len && o->socket_len < bytes.n)
		bad = err_set(err, EXIT_USAGE,
			      "the packets take %zu bytes, --sym-socket allows %llu", bytes.n,
			      (unsigned long long)o->socket_len);
	if (!bad && !add(p, SYM_SRC_SOCKET, bytes.n, "", "socket", err))
		bad = -1;
	if (!bad)
		set_base(newest(p), bytes.p, bytes.n);
	buf_free(&bytes);
	return bad;
}

/* ---- all of them ---- */

static int add_each(struct explore_plan *p, const struct explore_words *list,
		    int (*one)(struct explore_plan *, const char *, struct err *), struct err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (one(p, list->p[i], err))
			return -1;
	return 0;
}

static int add_all(struct explore_plan *p, const struct explore_inputs *o, struct err *err)
{
	struct buf fixed = { 0 };
	int bad = add_each(p, &o->arg, add_arg, err) || add_extra(p, o, err) ||
		  add_each(p, &o->env, add_env, err) || (o->stdin_len && add_stdin(p, o, err)) ||
		  add_each(p, &o->file, add_file, err) || add_each(p, &o->pm, add_pm, err) ||
		  ((o->socket_len || o->packet.n) && add_socket(p, o, &fixed, err));
	p->given = p->source.n;
	if (!bad && !p->n && !o->args.n && !o->memory)
		bad = err_set(err, EXIT_USAGE,
			      "nothing is symbolic: give --sym-arg, --sym-stdin, --sym-file, "
			      "--sym-socket, --sym-env, --sym-pm or --sym-memory");
	p->lo = xcalloc(p->n + 1, 1);
	p->hi = xcalloc(p->n + 1, 1);
	p->fixed = xcalloc(p->n + 1, 1);
	if (!bad && fixed.n)
		memcpy(p->fixed + p->source.p[p->source.n - 1].first, fixed.p, fixed.n);
	buf_free(&fixed);
	return bad ? -1 : 0;
}

struct explore_plan *explore_plan_new(const struct explore_inputs *o, const char *const *argv,
				      unsigned phase, struct err *err)
{
	struct explore_plan *p = xcalloc(1, sizeof *p);
	p->phase = phase;
	while (argv[p->argc])
		p->argc++;
	p->argv = xcalloc(p->argc + 1, sizeof *p->argv);
	for (size_t i = 0; i < p->argc; i++)
		p->argv[i] = xstrdup(argv[i]);
	if (!add_all(p, o, err) && !explore_seeds(p, o, err))
		return p;
	explore_plan_free(p);
	return NULL;
}

void explore_plan_free(struct explore_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->argc; i++)
		free(p->argv[i]);
	for (size_t i = 0; i < p->about.n; i++) {
		free(p->about.p[i].name);
		free(p->about.p[i].given);
		free(p->about.p[i].base);
		VEC_FREE(&p->about.p[i].seed);
	}
	for (size_t i = 0; i < p->seed.n; i++)
		symbolic_input_free(&p->seed.p[i]);
	for (size_t i = 0; i < p->later.n; i++)
		symbolic_input_free(&p->later.p[i]);
	VEC_FREE(&p->seed);
	VEC_FREE(&p->later);
	VEC_FREE(&p->source);
	VEC_FREE(&p->about);
	VEC_FREE(&p->packet);
	free(p->argv);
	free(p->lo);
	free(p->hi);
	free(p->fixed);
	free(p);
}
