/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of an exploration: its command, every input that took a path of its own, and the
 * findings, each with its input as files. To resume, the inputs are run once more: that gives
 * the engine the tree of paths that it had.
 */
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explore/folder.h"
#include "report/report.h"

/* ---- opening and closing ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void explore_folder_clear(const struct explore_folder *f, const char *name)
{
	char *path = xasprintf("%s/%s", f->dir, name);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

static char *absolute(const char *path, struct err *err)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	char *whole = *path == '/' ? xstrdup(path) : cwd ? xasprintf("%s/%s", cwd, path) : NULL;
	if (!whole)
		err_errno(err, EXIT_PROGRAM, "the current folder has no name");
	free(cwd);
	return whole;
}

struct explore_folder *explore_folder_open(const char *shown, enum campaign_db_mode mode,
					   struct err *err)
{
	struct explore_folder *f = xcalloc(1, sizeof *f);
	bool new = mode == CAMPAIGN_DB_NEW || mode == CAMPAIGN_DB_FRESH;
	struct err ignored;
	f->shown = xstrdup(shown);
	f->resumed = mode == CAMPAIGN_DB_RESUME;
	f->kept = now_seconds();
	if (!(f->dir = absolute(shown, err)) || (new &&make_folders(f->dir, err)) ||
	    !(f->db = campaign_db_open(f->dir, mode, err)) ||
	    (mode != CAMPAIGN_DB_READ && campaign_db_begin(f->db, err))) {
		explore_folder_close(f, &ignored);
		return NULL;
	}
	/* Only what explorations put there. */
	static const char *const ours[] = { "findings", "crash", EXPLORE_TRY };
	for (size_t i = 0; new &&i < sizeof ours / sizeof *ours; i++)
		explore_folder_clear(f, ours[i]);
	return f;
}

struct campaign_db *explore_folder_db(struct explore_folder *f)
{
	return f->db;
}

const char *explore_folder_shown(const struct explore_folder *f)
{
	return f->shown;
}

int explore_folder_close(struct explore_folder *f, struct err *err)
{
	int bad = campaign_db_close(f->db, err);
	for (char **word = f->argv; word && *word; word++)
		free(*word);
	hmap_free(&f->inputs);
	campaign_chart_free(&f->chart);
	free(f->argv);
	free(f->cwd);
	free(f->dir);
	free(f->shown);
	free(f);
	return bad;
}

/* ---- the command ---- */

bool explore_is(struct campaign_db *db)
{
	const char *verb = campaign_db_get(db, "verb");
	return verb && !strcmp(verb, "explore");
}

int explore_folder_save(struct explore_folder *f, const char *const *argv, const char *cwd,
			struct err *err)
{
	char key[32], count[32];
	size_t n = 0;
	int bad = campaign_db_set(f->db, "verb", "explore", err) ||
		  campaign_db_set(f->db, "cwd", cwd, err);
	for (; argv[n] && !bad; n++) {
		snprintf(key, sizeof key, "argv.%zu", n);
		bad = campaign_db_set(f->db, key, argv[n], err);
	}
	snprintf(count, sizeof count, "%zu", n);
	return bad || campaign_db_set(f->db, "argc", count, err) ? -1 : 0;
}

static char *get(struct explore_folder *f, const char *key, const char *otherwise)
{
	const char *text = campaign_db_get(f->db, key);
	return xstrdup(text ? text : otherwise);
}

int explore_folder_load(struct explore_folder *f, const char *const **argv, const char **cwd,
			struct err *err)
{
	const char *text = campaign_db_get(f->db, "argc");
	size_t n = text ? strtoul(text, NULL, 10) : 0;
	if (!explore_is(f->db) || !n)
		return err_set(err, EXIT_USAGE, "%s holds no exploration", f->shown);
	f->argv = xcalloc(n + 1, sizeof *f->argv);
	for (size_t i = 0; i < n; i++) {
		char key[32];
		snprintf(key, sizeof key, "argv.%zu", i);
		f->argv[i] = get(f, key, "");
	}
	f->cwd = get(f, "cwd", "/");
	*argv = (const char *const *)f->argv;
	*cwd = f->cwd;
	return 0;
}

/* ---- inputs ---- */

static uint64_t input_key(const struct explore_plan *p, const struct symbolic_input *in)
{
	uint64_t key = hash_mix(hash_bytes(in->byte, in->n), p->phase + 1);
	return hash_mix(key, hash_bytes(in->now, p->source.n * sizeof *in->now));
}

int explore_folder_input(struct explore_folder *f, const struct explore_plan *p,
			 const struct symbolic_input *in, struct err *err)
{
	struct buf what = { 0 };
	uint64_t known;
	if (hmap_get(&f->inputs, input_key(p, in), &known))
		return 0;
	buf_printf(&what, "%u", p->phase);
	for (size_t i = 0; i < p->source.n; i++)
		buf_printf(&what, " %u", in->now[i]);
	buf_add(&what, "", 1);
	struct campaign_db_input row = { f->next_input++, what.p, in->byte, in->n };
	int bad = campaign_db_put_input(f->db, &row, err);
	buf_free(&what);
	return bad;
}

/* "PHASE NOW NOW …"; false: it is not of the plan's phase, or damaged. */
static bool parse_input(const struct explore_plan *p, const struct campaign_db_input *row,
			struct symbolic_input *in)
{
	char *end;
	if (strtoul(row->what, &end, 10) != p->phase || row->n != p->n)
		return false;
	*in = (struct symbolic_input){ .n = p->n };
	for (size_t i = 0; i < p->source.n; i++) {
		in->now[i] = (uint32_t)strtoul(end, &end, 10);
		if (in->now[i] > p->source.p[i].len)
			return false;
	}
	in->byte = xmalloc(p->n + 1);
	if (p->n)
		memcpy(in->byte, row->bytes, p->n);
	return true;
}

struct again {
	struct explore_folder *f;
	const struct explore_plan *p;
	struct symbolic *engine;
};

static void seed_again(void *arg, const struct campaign_db_input *row)
{
	struct again *a = arg;
	struct symbolic_input in;
	if (row->number >= a->f->next_input)
		a->f->next_input = row->number + 1;
	if (!parse_input(a->p, row, &in))
		return;
	symbolic_seed(a->engine, &in);
	hmap_put(&a->f->inputs, input_key(a->p, &in), row->number);
	symbolic_input_free(&in);
	a->f->known++;
}

int explore_folder_seeds(struct explore_folder *f, const struct explore_plan *p,
			 struct symbolic *engine, struct err *err)
{
	struct again a = { f, p, engine };
	return f->resumed ? campaign_db_each_input(f->db, seed_again, &a, err) : 0;
}

struct export
{
	const struct explore_opts *o;
	const char *dir;
	struct explore_plan *plan;
	uint64_t n;
	int bad;
	struct err *err;
};

static void export_one(void *arg, const struct campaign_db_input *row)
{
	struct export *e = arg;
	struct symbolic_input in;
	unsigned phase = (unsigned)strtoul(row->what, NULL, 10);
	if (e->bad)
		return;
	if (!e->plan || e->plan->phase != phase) {
		explore_plan_free(e->plan);
		e->plan = explore_plan_new(&e->o->inputs, e->o->program.argv, phase, e->err);
		if (!e->plan) {
			e->bad = -1;
			return;
		}
	}
	if (!parse_input(e->plan, row, &in))
		return;
	char *dir = xasprintf("%s/%05" PRIu64, e->dir, row->number + 1);
	e->bad = explore_files(&e->o->program, e->plan, &in, dir, e->err);
	e->n++;
	symbolic_input_free(&in);
	free(dir);
}

int explore_export(const struct explore_opts *o, struct explore_folder *f, const char *dir,
		   uint64_t *n, struct err *err)
{
	struct export e = { .o = o, .dir = dir, .err = err };
	int bad = make_folders(dir, err) || campaign_db_each_input(f->db, export_one, &e, err) ||
		  e.bad;
	explore_plan_free(e.plan);
	*n = e.n;
	return bad ? -1 : 0;
}

/* ---- findings ---- */

static int put_files(struct explore_folder *folder, struct explore_hit *hit,
		     const struct explore_program *how, const struct explore_plan *p,
		     struct err *err)
{
	struct finding *f = hit->f;
	struct finding_input *w = f->input;
	if (hit->kept || !p || hit->phase != p->phase)
		return 0;
	char *dir = xasprintf("%s/findings/%s", folder->dir, f->id);
	int bad = explore_files(how, p, &hit->input, dir, err);
	free(dir);
	free(w->text);
	free(w->folder);
	w->text = explore_input_text(p, &hit->input);
	w->folder = xasprintf("%s/findings/%s", folder->shown, f->id);
	free(f->replay);
	f->replay = xasprintf("holdfast replay %s %s", f->id, folder->shown);
	hit->kept = !bad;
	return bad;
}

int explore_folder_findings(struct explore_folder *f, struct explore_found *found,
			    const struct explore_program *how, const struct explore_plan *p,
			    struct err *err)
{
	int bad = campaign_db_clear_findings(f->db, err);
	for (size_t i = 0; i < found->hit.n && !bad; i++) {
		struct explore_hit *hit = &found->hit.p[i];
		bad = put_files(f, hit, how, p, err);
		char *json = bad ? NULL : report_finding_json(hit->f);
		char *witness = bad ? NULL : explore_witness(hit);
		struct campaign_db_finding row = { hit->f->id, json, witness };
		bad = bad || campaign_db_put_finding(f->db, &row, err);
		free(json);
		free(witness);
	}
	found->news = false;
	return bad;
}

/* ---- how far it is ---- */

int explore_folder_counts(struct explore_folder *f, const char *state, const char *strategy,
			  const struct symbolic_stats *s, size_t findings, double seconds,
			  struct err *err)
{
	const struct {
		const char *key;
		double value;
	} count[] = {
		{ "runs", (double)s->runs },
		{ "paths", (double)s->paths },
		{ "candidates", (double)s->candidates },
		{ "queries", (double)s->solve.queries },
		{ "blocks", (double)s->blocks },
		{ "pm_sites", (double)s->pm },
		{ "behaviours", (double)s->behaviours },
		{ "findings", (double)findings },
		{ "seconds", seconds },
	};
	int bad = campaign_db_set(f->db, "state", state, err) ||
		  campaign_db_set(f->db, "at", strategy, err);
	for (size_t i = 0; !bad && i < sizeof count / sizeof *count; i++) {
		char text[32];
		snprintf(text, sizeof text, "%.10g", count[i].value);
		bad = campaign_db_set(f->db, count[i].key, text, err);
	}
	const double row[EXPLORE_COLUMNS] = {
		seconds,       (double)s->paths,      (double)s->blocks,
		(double)s->pm, (double)s->behaviours, (double)findings
	};
	if (!f->chart.name.n)
		campaign_chart_begin(&f->chart, explore_columns, EXPLORE_COLUMNS);
	return bad || (campaign_chart_add(&f->chart, row, strcmp(state, "running") != 0) &&
		       campaign_chart_save(&f->chart, f->db, err));
}
