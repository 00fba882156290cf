/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at campaigns afterwards: which folder, which finding. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "campaign/internal.h"
#include "report/report.h"

bool campaign_is(const char *dir)
{
	struct stat st;
	char *path = xasprintf("%s/campaign.db", dir);
	bool is = !stat(path, &st) && S_ISREG(st.st_mode);
	free(path);
	return is;
}

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

char *campaign_db_finding_json(struct campaign_db *db, const char *id, struct err *err)
{
	struct lookup l = { .id = id };
	if (campaign_db_each_finding(db, match, &l, err) == 0 && l.n != 1) {
		err_set(err, EXIT_USAGE,
			l.n ? "%s is the beginning of several ids in %.*s"
			    : "there is no finding %s in %.*s",
			id, (int)(strrchr(db->path, '/') - db->path), db->path);
		free(l.json);
		return NULL;
	}
	return l.json;
}

/* Why there is no image to look at. */
static int no_image(const struct finding *f, struct err *err)
{
	char *why = f->verdict ? finding_verdict_text(f->verdict)
			       : xstrdup("it is about the run, not about a store that is lost");
	err_set(err, EXIT_USAGE, "finding %s has no crash image; %s%s%s", f->id, why,
		f->replay ? "; what led to it: " : "", f->replay ? f->replay : "");
	free(why);
	return -1;
}

struct finding *campaign_finding(struct campaign *c, const char *id, struct err *err)
{
	char *json = campaign_db_finding_json(c->db, id, err);
	struct finding *f = json ? report_finding_parse(json, err) : NULL;
	free(json);
	if (!f || (f->crash && f->crash->state))
		return f;
	no_image(f, err);
	finding_free(f);
	return NULL;
}
