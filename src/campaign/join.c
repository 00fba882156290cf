/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shards of a campaign, joined.
 *
 * Every image belongs to one of N shards, by its hash. A shard makes all states of the campaign, and tests those that are its own; the
 * others it takes to be fine. Joined, the verdicts of all are what an interrupted campaign would have left: it is resumed, makes
 * its states again, knows nearly all verdicts, and runs what no shard did, because it comes of another shard's verdicts.
 * What shards report that this does not lead to is looked at in the end. Of shards that are missing or did not
 * end, what is not known is left out, and that is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/internal.h"

struct source {
	const char *dir;
	struct campaign_db *db;
	struct campaign_options options;
	struct campaign_settings settings;
	bool ended;
};
struct join {
	struct source *from;
	size_t n;
	struct campaign_db *to;
	const struct source *of[CAMPAIGN_SHARDS]; /* by shard */
	size_t shards;
	struct hmap verdict;
	uint64_t differ; /* images with another verdict in another shard */
	struct buf witness;
	struct err *err;
	bool bad;
};

/* ---- recordings ---- */

static int open_trace(const char *dir, int flags, struct err *err)
{
	char *path = xasprintf("%s/trace", dir);
	int fd = open(path, flags | O_CLOEXEC, 0666);
	if (fd < 0)
		err_errno(err, EXIT_USAGE, "cannot open %s", path);
	free(path);
	return fd;
}

int campaign_recording_copy(const char *from, const char *to, struct err *err)
{
	if (mkdir(to, 0777) && errno != EEXIST)
		return err_errno(err, EXIT_USAGE, "cannot make the folder %s", to);
	int in = open_trace(from, O_RDONLY, err), bad = -1;
	int out = in < 0 ? -1 : open_trace(to, O_WRONLY | O_CREAT | O_EXCL, err);
	if (out >= 0 && (bad = copy_sparse(in, out)))
		err_errno(err, EXIT_USAGE, "cannot write %s/trace", to);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return bad ? -1 : 0;
}

static int hash_recording(const char *dir, uint64_t *hash, struct err *err)
{
	static char chunk[1 << 16];
	int fd = open_trace(dir, O_RDONLY, err);
	ssize_t n = 0;
	*hash = 0;
	while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
		*hash = hash_seeded(chunk, (size_t)n, *hash);
	if (fd >= 0)
		close(fd);
	return fd < 0 || n < 0 ? -1 : 0;
}

/* ---- do they belong together? ---- */

static int open_source(struct source *s, struct err *err)
{
	const char *name, *state;
	s->db = campaign_db_open(s->dir, CAMPAIGN_DB_READ, err);
	if (!s->db)
		return -1;
	for (size_t i = 0; (name = campaign_setting_name(i)); i++)
		if (strcmp(name, "budget") != 0 &&
		    campaign_settings_resume(s->db, name, "campaign", &s->settings, err))
			return -1;
	if (campaign_options_set(&s->options, &s->settings, err))
		return -1;
	if (!s->options.crash.shards)
		return err_set(err, EXIT_USAGE,
			       "%s holds no shard of a campaign: crash --shard K/N makes one",
			       s->dir);
	state = campaign_db_get(s->db, "state");
	s->ended = state && !strcmp(state, "finished");
	return 0;
}

static int same_settings(const struct source *a, const struct source *b, struct err *err)
{
	const char *name;
	for (size_t i = 0; (name = campaign_setting_name(i)); i++) {
		const char *x = campaign_settings_get(&a->settings, name);
		const char *y = campaign_settings_get(&b->settings, name);
		if (!strcmp(name, "shard") || (!x && !y) || (x && y && !strcmp(x, y)))
			continue;
		return err_set(
			err, EXIT_USAGE,
			"%s and %s are shards of different campaigns: --%s is '%s' in the first and '%s' in the "
			"second",
			a->dir, b->dir, name, x ? x : "", y ? y : "");
	}
	if (a->options.crash.shards == b->options.crash.shards)
		return 0;
	return err_set(err, EXIT_USAGE, "%s is one of %u shards, %s one of %u", a->dir,
		       a->options.crash.shards, b->dir, b->options.crash.shards);
}

static int take_source(struct join *j, struct source *s)
{
	uint64_t first, hash;
	if (open_source(s, j->err) || (s != j->from && same_settings(j->from, s, j->err)) ||
	    hash_recording(j->from->dir, &first, j->err) || hash_recording(s->dir, &hash, j->err))
		return -1;
	if (first != hash)
		return err_set(
			j->err, EXIT_USAGE,
			"%s and %s are campaigns on different recordings: record once, and give each shard a copy",
			j->from->dir, s->dir);
	j->shards = s->options.crash.shards;
	for (size_t i = 0; i < j->shards; i++) {
		if (!s->options.crash.mine[i])
			continue;
		if (j->of[i])
			return err_set(j->err, EXIT_USAGE,
				       "shard %zu of %zu is there twice: %s and %s", i + 1,
				       j->shards, j->of[i]->dir, s->dir);
		j->of[i] = s;
	}
	return 0;
}

/* ---- joining ---- */

static void put_verdict(void *arg, const struct campaign_db_verdict *v)
{
	struct join *j = arg;
	uint64_t packed = (uint64_t)(uint32_t)v->status << 8 | v->verdict, old;
	if (j->bad)
		return;
	if (!hmap_get(&j->verdict, v->hash, &old)) {
		hmap_put(&j->verdict, v->hash, packed);
		j->bad = campaign_db_put_verdict(j->to, v, j->err);
	} else {
		j->differ += old != packed;
	}
}

static void put_witness(void *arg, const struct campaign_db_finding *f)
{
	struct join *j = arg;
	if (f->witness) {
		buf_puts(&j->witness, f->witness);
		buf_puts(&j->witness, "\n");
	}
}

/* In the order of the shards, whichever way they were named. */
static int put_all(struct join *j)
{
	for (size_t i = 0; i < j->shards; i++) {
		const struct source *s = j->of[i];
		bool again = false;
		for (size_t k = 0; k < i; k++)
			again = again || j->of[k] == s;
		if (!s || again)
			continue;
		if (campaign_db_each_verdict(s->db, put_verdict, j, j->err) || j->bad ||
		    campaign_db_each_finding(s->db, put_witness, j, j->err))
			return -1;
	}
	if (j->differ)
		msg_warn(
			"%llu images got different verdicts in different shards: recovery is not reliable; the first counts",
			(unsigned long long)j->differ);
	return j->witness.n ? campaign_db_set(j->to, "witnesses", j->witness.p, j->err) : 0;
}

/* The shards of which nothing is left out, as the setting has them; and what is, as a sentence. */
static void tell_missing(const struct join *j, struct buf *mine, struct buf *missing)
{
	char text[512];
	for (size_t i = 0; i < j->shards; i++) {
		const struct source *s = j->of[i];
		if (s && s->ended) {
			snprintf(text, sizeof text, "%s%zu", mine->n ? "," : "", i + 1);
			buf_puts(mine, text);
			continue;
		}
		snprintf(text, sizeof text, "%sshard %zu of %zu %s%s%s", missing->n ? "; " : "",
			 i + 1, j->shards,
			 s ? "did not end (holdfast crash --resume " : "is missing",
			 s ? s->dir : "", s ? ")" : "");
		buf_puts(missing, text);
	}
	snprintf(text, sizeof text, "/%zu", j->shards);
	buf_puts(mine, text);
}

static int fill(struct join *j)
{
	const struct source *first = j->from;
	const char *verb = campaign_db_get(first->db, "verb");
	struct campaign_settings settings = { 0 };
	struct buf mine = { 0 }, missing = { 0 };
	tell_missing(j, &mine, &missing);
	for (size_t i = 0; i < first->settings.n; i++)
		if (strcmp(first->settings.p[i].name, "shard") != 0)
			campaign_settings_put(&settings, first->settings.p[i].name,
					      first->settings.p[i].text);
	if (missing.n)
		campaign_settings_put(&settings, "shard", mine.p);
	int bad = campaign_db_begin(j->to, j->err) ||
		  campaign_settings_save(j->to, &settings, j->err) ||
		  (verb && campaign_db_set(j->to, "verb", verb, j->err)) ||
		  (missing.n && campaign_db_set(j->to, "missing", missing.p, j->err));
	const char *cwd = campaign_db_get(first->db, "cwd");
	bad = bad || (cwd && campaign_db_set(j->to, "cwd", cwd, j->err)) || put_all(j) ||
	      campaign_db_commit(j->to, j->err);
	campaign_settings_free(&settings);
	buf_free(&mine);
	buf_free(&missing);
	return bad ? -1 : 0;
}

int campaign_join(const char *out, char *const *dir, size_t n, struct err *err)
{
	struct join j = { .from = xcalloc(n, sizeof *j.from), .n = n, .err = err };
	int bad = 0;
	for (size_t i = 0; i < n && !bad; i++) {
		j.from[i].dir = dir[i];
		bad = take_source(&j, &j.from[i]);
	}
	bad = bad || campaign_recording_copy(dir[0], out, err) ||
	      !(j.to = campaign_db_open(out, CAMPAIGN_DB_NEW, err)) || fill(&j);
	struct err ignored;
	if (j.to && campaign_db_close(j.to, bad ? &ignored : err))
		bad = -1;
	for (size_t i = 0; i < n; i++) {
		if (j.from[i].db)
			campaign_db_close(j.from[i].db, &ignored);
		campaign_options_free(&j.from[i].options);
		campaign_settings_free(&j.from[i].settings);
	}
	hmap_free(&j.verdict);
	buf_free(&j.witness);
	free(j.from);
	return bad ? -1 : 0;
}

const char *campaign_missing(const struct campaign *c)
{
	return campaign_db_get(c->db, "missing");
}

/* What shards have found is not lost, even if this campaign does not come that way. */
void campaign_add_witnesses(struct campaign *c)
{
	const char *kept = campaign_db_get(c->db, "witnesses");
	char *text = kept ? xstrdup(kept) : NULL, *rest = text, *line;
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			crash_also(c->crash, line);
	free(text);
}
