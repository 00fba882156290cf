/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of a campaign: its settings, each verdict as it comes, and the findings. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/campaign_internal.h"
#include "cli/settings.h"
#include "report/report.h"

struct holder {
	struct campaign_opts crash;
};
static const struct cli_option settings[] = {
	CAMPAIGN_SETTINGS(struct holder),
	{ "port", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.port), NULL },
	{ "ready", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.ready), NULL },
	{ "stop", 0, CLI_TEXT, NULL, offsetof(struct holder, crash.stop), NULL },
	{ NULL },
};

/* ---- settings ---- */

int campaign_save(struct campaign *c, struct err *err)
{
	struct holder h = { .crash = c->o };
	char cwd[4096];
	int bad = campaign_db_begin(c->db, err);
	for (const struct cli_option *opt = settings; opt->name && !bad; opt++) {
		char *text = settings_text(opt, &h);
		if (text)
			bad = campaign_db_set(c->db, opt->name, text, err);
		free(text);
	}
	if (!bad && getcwd(cwd, sizeof cwd))
		bad = campaign_db_set(c->db, "cwd", cwd, err);
	return bad || campaign_db_commit(c->db, err) ? -1 : 0;
}

static void load_verdict(void *arg, const struct campaign_db_verdict *v)
{
	struct campaign *c = arg;
	hmap_put(&c->known, v->hash, (uint64_t)(uint32_t)v->status << 8 | v->verdict);
}

/* What was given anew must be what it was; the budget may be another. */
static int load_setting(struct campaign *c, const struct cli_option *opt, struct holder *h,
			const struct holder *given, struct err *err)
{
	const char *kept = campaign_db_get(c->db, opt->name);
	char *text = settings_text(opt, given);
	int bad = 0;
	if (text && (!kept || strcmp(text, kept) != 0)) {
		if (strcmp(opt->name, "budget") != 0)
			bad = err_set(err, EXIT_USAGE,
				      "--%s is '%s' in this campaign; start another with --fresh",
				      opt->name, kept ? kept : "");
		else
			settings_set(&c->own, opt, h, text);
	} else if (kept && strcmp(opt->name, "budget") != 0) {
		settings_set(&c->own, opt, h, kept);
	}
	free(text);
	return bad;
}

int campaign_load(struct campaign *c, struct err *err)
{
	struct holder given = { .crash = c->o },
		      h = { .crash = { .jobs = c->o.jobs, .resume = c->o.resume } };
	for (const struct cli_option *opt = settings; opt->name; opt++)
		if (load_setting(c, opt, &h, &given, err))
			return -1;
	c->o = h.crash;
	if (!c->o.recover)
		return err_set(err, EXIT_USAGE, "%s holds no crash campaign", c->dir);
	if (campaign_db_each_verdict(c->db, load_verdict, c, err))
		return -1;
	c->tested_before = (double)c->known.n; /* what was killed may not have counted them */
	return 0;
}

/* ---- while it runs ---- */

static bool known(void *arg, uint64_t hash, struct crash_verdict *v)
{
	const struct campaign *c = arg;
	uint64_t packed;
	if (!hmap_get(&c->known, hash, &packed))
		return false;
	*v = (struct crash_verdict){ (enum runner_verdict)(packed & 0xff), (int)(packed >> 8) };
	return true;
}

static int tested(void *arg, const struct crash_tested *t, struct err *err)
{
	struct campaign *c = arg;
	struct campaign_db_verdict v = { .hash = t->hash,
					 .verdict = t->verdict.verdict,
					 .status = t->verdict.status,
					 .event = t->event,
					 .strategy = t->strategy,
					 .output = t->output,
					 .spent = t->spent };
	return campaign_db_put_verdict(c->db, &v, err);
}

static int put_number(struct campaign *c, const char *key, double value, struct err *err)
{
	char text[32];
	snprintf(text, sizeof text, "%.10g", value);
	return campaign_db_set(c->db, key, text, err);
}

static int put_counts(struct campaign *c, const char *state, struct err *err)
{
	const struct crash_counts *n = crash_counts(c->crash);
	return campaign_db_set(c->db, "state", state, err) ||
	       campaign_db_set(c->db, "at", n->strategy ? n->strategy : "sanity", err) ||
	       put_number(c, "points", (double)n->points, err) ||
	       put_number(c, "point", (double)n->point, err) ||
	       put_number(c, "generated", (double)n->generated, err) ||
	       put_number(c, "tested", c->tested_before + (double)n->tested, err) ||
	       put_number(c, "resumed", (double)n->resumed, err) ||
	       put_number(c, "failed", (double)n->failed, err) ||
	       put_number(c, "causes", (double)n->causes, err) ||
	       put_number(c, "seconds", now_seconds() - c->started, err);
}

static int put_findings(struct campaign *c, struct err *err)
{
	struct finding_set set = { 0 };
	int bad;
	campaign_report(c, &set);
	bad = campaign_db_clear_findings(c->db, err);
	for (size_t i = 0; i < set.v.n && !bad; i++) {
		struct finding *f = set.v.p[i];
		char *json = report_finding_json(f);
		struct campaign_db_finding row = { f->id, json, f->crash->state };
		bad = campaign_db_put_finding(c->db, &row, err);
		free(json);
	}
	finding_set_free(&set);
	return bad;
}

static int caused(void *arg, struct err *err)
{
	struct campaign *c = arg;
	if (campaign_db_begin(c->db, err))
		return -1;
	int bad = put_findings(c, err);
	return campaign_db_commit(c->db, err) || bad ? -1 : 0;
}

/* For status; what cannot be written here is no loss. */
static void keep_counts(struct campaign *c)
{
	struct err ignored;
	if (campaign_db_begin(c->db, &ignored))
		return;
	(void)put_counts(c, "running", &ignored);
	(void)campaign_db_commit(c->db, &ignored);
}

static void progressed(void *arg, const struct crash_counts *n)
{
	struct campaign *c = arg;
	double now = now_seconds();
	if (now - c->kept > 1) {
		c->kept = now;
		keep_counts(c);
	}
	campaign_progress(c, n);
}

/* ---- what recovery reads ---- */

static void quote(struct buf *b, const char *word)
{
	shell_quote(b, word, strlen(word));
}

static char *reads(void *arg, struct runner *r, unsigned cell)
{
	struct campaign *c = arg;
	struct buf b = { 0 };
	struct err err;
	char self[4096], *text;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	size_t files;
	const struct runner_file *file = crash_files(c->crash, false, &files);
	/* It needs the files where they were, and a /tmp that goes with the sandbox. */
	if (n <= 0 || c->o.recover_client || runner_view(r)->flags & SANDBOX_MOVED)
		return NULL;
	self[n] = 0;
	quote(&b, self);
	buf_puts(&b, " reads");
	for (size_t i = 0; i < files; i++) {
		buf_puts(&b, " --pm ");
		quote(&b, file[i].path);
	}
	buf_puts(&b, " -- /bin/sh -c ");
	quote(&b, c->o.recover);
	buf_add(&b, "", 1);
	text = runner_capture(r, cell, b.p, &err);
	buf_free(&b);
	/* The last line says that all went well. */
	size_t len = text ? strlen(text) : 0;
	if (len < 4 || strcmp(text + len - 4, "end\n") != 0) {
		free(text);
		return NULL;
	}
	text[len - 4] = 0;
	return text;
}

static bool stop(void *arg)
{
	(void)arg;
	return campaign_interrupted();
}

void campaign_hooks(struct campaign *c)
{
	c->hooks = (struct crash_hooks){ .arg = c,
					 .known = known,
					 .tested = tested,
					 .caused = caused,
					 .progress = progressed,
					 .stop = stop,
					 .reads = reads };
	keep_counts(c);
}

int campaign_finish(struct campaign *c, struct err *err)
{
	if (campaign_db_begin(c->db, err))
		return -1;
	int bad = put_findings(c, err) ||
		  put_counts(c, crash_counts(c->crash)->cut ? "stopped" : "finished", err);
	return campaign_db_commit(c->db, err) || bad ? -1 : 0;
}

/* ---- looking at it afterwards ---- */

char *campaign_find(const char *dir, struct err *err)
{
	glob_t g;
	char *best = NULL;
	time_t newest = 0;
	if (dir)
		return xstrdup(dir);
	if (glob("*/campaign.db", 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++) {
			struct stat st;
			if (stat(g.gl_pathv[i], &st) || (best && st.st_mtime < newest))
				continue;
			newest = st.st_mtime;
			free(best);
			best = xstrdup(g.gl_pathv[i]);
			*strrchr(best, '/') = 0;
		}
		globfree(&g);
	}
	if (!best)
		err_set(err, EXIT_USAGE,
			"there is no crash campaign in the current folder; name its folder");
	return best;
}

struct lookup {
	const char *id;
	char *json;
	unsigned n;
};

static void match(void *arg, const struct campaign_db_finding *f)
{
	struct lookup *l = arg;
	if (strncmp(f->id, l->id, strlen(l->id)) != 0)
		return;
	if (l->n++ == 0)
		l->json = xstrdup(f->finding);
}

char *campaign_finding(struct campaign *c, const char *id, struct err *err)
{
	struct lookup l = { .id = id };
	if (campaign_db_each_finding(c->db, match, &l, err) == 0 && l.n != 1) {
		err_set(err, EXIT_USAGE,
			l.n ? "%s is the beginning of several ids in %s"
			    : "there is no finding %s in %s",
			id, c->dir);
		free(l.json);
		return NULL;
	}
	return l.json;
}

struct finding *campaign_crash_finding(struct campaign *c, const char *id, struct err *err)
{
	char *json = campaign_finding(c, id, err);
	struct finding *f = json ? report_finding_parse(json, err) : NULL;
	free(json);
	if (!f || (f->crash && f->crash->state))
		return f;
	err_set(err, EXIT_USAGE, "finding %s was not found by a crash", id);
	finding_free(f);
	return NULL;
}
