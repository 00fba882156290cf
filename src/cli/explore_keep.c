/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of an exploration: its settings, every input that took a way of its own, and the
 * findings, each with its input as files. What is new is safe about a second later. To go on,
 * the inputs are run once more: that gives the engine the tree of paths that it had.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explore.h"
#include "report/report.h"

#define KEEP_EVERY 1.0 /* seconds */

/* ---- settings ---- */

static int save_settings(struct explore *x, struct err *err)
{
	char key[32], count[32];
	int bad = campaign_db_set(x->db, "verb", "explore", err) ||
		  campaign_db_set(x->db, "cwd", x->cwd, err);
	for (const struct cli_option *o = explore_options; o->name && !bad; o++) {
		char *text = explore_kept(o) ? settings_text(o, x->o) : NULL;
		if (text)
			bad = campaign_db_set(x->db, o->name, text, err);
		free(text);
	}
	snprintf(count, sizeof count, "%zu", x->argc);
	bad = bad || campaign_db_set(x->db, "argc", count, err);
	for (size_t i = 0; i < x->argc && !bad; i++) {
		snprintf(key, sizeof key, "argv.%zu", i);
		bad = campaign_db_set(x->db, key, x->argv[i], err);
	}
	return bad ? -1 : 0;
}

/* What was given anew must be what it was. */
static int load_setting(struct explore *x, const struct cli_option *o, struct err *err)
{
	char *given = settings_text(o, x->o);
	const char *kept = campaign_db_get(x->db, o->name);
	int bad = 0;
	if (given && (!kept || strcmp(given, kept) != 0))
		bad = err_set(err, EXIT_USAGE,
			      "--%s is '%s' in this exploration; start another with --fresh",
			      o->name, kept ? kept : "");
	else if (kept && !given)
		settings_set(&x->own, o, x->o, kept);
	free(given);
	return bad;
}

int explore_load(struct explore *x, struct err *err)
{
	const char *text = campaign_db_get(x->db, "verb");
	if (!text || strcmp(text, "explore") != 0)
		return err_set(err, EXIT_USAGE, "%s holds no exploration", x->shown);
	for (const struct cli_option *o = explore_options; o->name; o++)
		if (explore_kept(o) && load_setting(x, o, err))
			return -1;
	text = campaign_db_get(x->db, "argc");
	x->argc = text ? strtoul(text, NULL, 10) : 0;
	x->argv = xcalloc(x->argc + 1, sizeof *x->argv);
	for (size_t i = 0; i < x->argc; i++) {
		char key[32];
		snprintf(key, sizeof key, "argv.%zu", i);
		text = campaign_db_get(x->db, key);
		char *own = xstrdup(text ? text : "");
		VEC_PUSH(&x->own, own);
		x->argv[i] = own;
	}
	text = campaign_db_get(x->db, "cwd");
	free(x->cwd);
	x->cwd = xstrdup(text ? text : "/");
	return x->argc ? 0 : err_set(err, EXIT_USAGE, "%s holds no exploration", x->shown);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* Only what explorations put there. */
static void clear_folder(const struct explore *x)
{
	static const char *const ours[] = { "findings", "crash", "try" };
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		char *path = xasprintf("%s/%s", x->dir, ours[i]);
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		free(path);
	}
}

int explore_open(struct explore *x, struct err *err)
{
	const struct campaign_opts *o = &x->o->crash;
	enum campaign_db_mode mode = o->resume  ? CAMPAIGN_DB_RESUME
				     : o->fresh ? CAMPAIGN_DB_FRESH
						: CAMPAIGN_DB_NEW;
	if (o->resume && o->fresh)
		return err_set(err, EXIT_USAGE, "--resume and --fresh exclude each other");
	if (!o->resume && explore_mkdir(x->dir, err))
		return -1;
	if (!(x->db = campaign_db_open(x->dir, mode, err)))
		return -1;
	if (mode == CAMPAIGN_DB_RESUME) {
		x->resumed = true;
		return explore_load(x, err) || campaign_db_begin(x->db, err);
	}
	clear_folder(x);
	return campaign_db_begin(x->db, err) || save_settings(x, err);
}

/* ---- inputs ---- */

static uint64_t input_key(const struct explore *x, const struct symbolic_input *in)
{
	uint64_t key = hash_mix(hash_bytes(in->byte, in->n), x->phase + 1);
	return hash_mix(key, hash_bytes(in->now, x->plan->source.n * sizeof *in->now));
}

int explore_keep_input(struct explore *x, const struct symbolic_input *in, struct err *err)
{
	struct buf what = { 0 };
	uint64_t known;
	if (hmap_get(&x->inputs, input_key(x, in), &known))
		return 0;
	buf_printf(&what, "%u", x->phase);
	for (size_t i = 0; i < x->plan->source.n; i++)
		buf_printf(&what, " %u", in->now[i]);
	buf_add(&what, "", 1);
	struct campaign_db_input row = { x->next_input++, what.p, in->byte, in->n };
	int bad = campaign_db_put_input(x->db, &row, err);
	buf_free(&what);
	return bad;
}

/* "PHASE NOW NOW …"; false: it is not of this phase, or damaged. */
static bool parse_input(const struct explore_plan *p, unsigned phase,
			const struct campaign_db_input *row, struct symbolic_input *in)
{
	char *end;
	if (strtoul(row->what, &end, 10) != phase || row->n != p->n)
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

static void seed_again(void *arg, const struct campaign_db_input *row)
{
	struct explore *x = arg;
	struct symbolic_input in;
	if (row->number >= x->next_input)
		x->next_input = row->number + 1;
	if (!parse_input(x->plan, x->phase, row, &in))
		return;
	symbolic_seed(x->sym, &in);
	hmap_put(&x->inputs, input_key(x, &in), row->number);
	symbolic_input_free(&in);
	x->paths_before++;
}

int explore_seeds_kept(struct explore *x, struct err *err)
{
	return campaign_db_each_input(x->db, seed_again, x, err);
}

struct export_to {
	struct explore *x;
	struct explore_plan *plan;
	unsigned phase;
	uint64_t n;
	int bad;
	struct err *err;
};

static void export_one(void *arg, const struct campaign_db_input *row)
{
	struct export_to *e = arg;
	struct symbolic_input in;
	unsigned phase = (unsigned)strtoul(row->what, NULL, 10);
	if (e->bad)
		return;
	if (!e->plan || e->phase != phase) {
		explore_plan_free(e->plan);
		e->phase = phase;
		e->plan = explore_plan_new(e->x->o, e->x->argv, phase, e->err);
		if (!e->plan) {
			e->bad = -1;
			return;
		}
	}
	if (!parse_input(e->plan, phase, row, &in))
		return;
	char *dir = xasprintf("%s/%05" PRIu64, e->x->o->export_dir, row->number + 1);
	e->bad = explore_files(e->x, e->plan, &in, dir, e->err);
	e->n++;
	symbolic_input_free(&in);
	free(dir);
}

int explore_export(struct explore *x, struct err *err)
{
	struct export_to e = { .x = x, .err = err };
	if (!x->o->export_dir)
		return 0;
	int bad = explore_mkdir(x->o->export_dir, err) ||
		  campaign_db_each_input(x->db, export_one, &e, err) || e.bad;
	explore_plan_free(e.plan);
	if (!bad)
		msg_info("%" PRIu64 " inputs are in %s, each with a script that runs the program",
			 e.n, x->o->export_dir);
	return bad ? -1 : 0;
}

/* ---- findings ---- */

char *explore_witness(const struct explore_hit *hit)
{
	struct buf b = { 0 };
	buf_printf(&b, "phase %u\nbranches %" PRIu64 "\ntrail %" PRIx64 "\ndeath %" PRIx64 "\nnow",
		   hit->phase, hit->branches, hit->trail, hit->death);
	for (size_t i = 0; i < hit->nsources; i++)
		buf_printf(&b, " %u", hit->input.now[i]);
	buf_puts(&b, "\nbytes ");
	for (size_t i = 0; i < hit->input.n; i++)
		buf_printf(&b, "%02x", hit->input.byte[i]);
	if (hit->campaign)
		buf_printf(&b, "\ncampaign %s", hit->campaign);
	buf_puts(&b, "\n");
	buf_add(&b, "", 1);
	return b.p;
}

static void parse_bytes(const char *hex, struct symbolic_input *in)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	in->byte = xcalloc(n + 1, 1);
	in->n = n;
	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		in->byte[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

int explore_witness_parse(const char *text, struct explore_hit *hit, struct err *err)
{
	const char *line = text;
	while (line && *line) {
		const char *value = line + strcspn(line, " \n");
		char *end;
		if (!strncmp(line, "phase ", 6)) {
			hit->phase = (unsigned)strtoul(value, NULL, 10);
		} else if (!strncmp(line, "branches ", 9)) {
			hit->branches = strtoull(value, NULL, 10);
		} else if (!strncmp(line, "trail ", 6)) {
			hit->trail = strtoull(value, NULL, 16);
		} else if (!strncmp(line, "death ", 6)) {
			hit->death = strtoull(value, NULL, 16);
		} else if (!strncmp(line, "now ", 4)) {
			for (size_t i = 0; *value == ' ' && i < SYM_MAX_SOURCES; i++, value = end)
				hit->input.now[i] = (uint32_t)strtoul(value, &end, 10),
				hit->nsources = i + 1;
		} else if (!strncmp(line, "bytes ", 6)) {
			free(hit->input.byte);
			parse_bytes(value + 1, &hit->input);
		} else if (!strncmp(line, "campaign ", 9)) {
			free(hit->campaign);
			hit->campaign = xasprintf("%.*s", (int)strcspn(value + 1, "\n"), value + 1);
		}
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return hit->input.byte ? 0 : err_set(err, EXIT_USAGE, "the finding's input is damaged");
}

static int keep_files(struct explore *x, struct explore_hit *hit, struct err *err)
{
	struct finding *f = hit->f;
	struct finding_input *w = f->input;
	if (hit->kept || hit->phase != x->phase || !x->plan)
		return 0;
	char *dir = xasprintf("%s/findings/%s", x->dir, f->id);
	int bad = explore_files(x, x->plan, &hit->input, dir, err);
	free(dir);
	free(w->text);
	free(w->folder);
	w->text = explore_text(x->plan, &hit->input);
	w->folder = xasprintf("%s/findings/%s", x->shown, f->id);
	free(f->replay);
	f->replay = xasprintf("holdfast replay %s %s", f->id, x->shown);
	hit->kept = !bad;
	return bad;
}

static int keep_findings(struct explore *x, struct err *err)
{
	int bad = campaign_db_clear_findings(x->db, err);
	for (size_t i = 0; i < x->hit.n && !bad; i++) {
		struct explore_hit *hit = &x->hit.p[i];
		bad = keep_files(x, hit, err);
		char *json = bad ? NULL : report_finding_json(hit->f);
		char *witness = bad ? NULL : explore_witness(hit);
		struct campaign_db_finding row = { hit->f->id, json, witness };
		bad = bad || campaign_db_put_finding(x->db, &row, err);
		free(json);
		free(witness);
	}
	x->news = false;
	return bad;
}

/* ---- how far it is ---- */

static int put_number(struct explore *x, const char *key, double value, struct err *err)
{
	char text[32];
	snprintf(text, sizeof text, "%.10g", value);
	return campaign_db_set(x->db, key, text, err);
}

static int keep_counts(struct explore *x, const char *state, struct err *err)
{
	struct symbolic_stats s = explore_stats(x);
	return campaign_db_set(x->db, "state", state, err) ||
	       campaign_db_set(x->db, "at", x->o->strategy ? x->o->strategy : "pm", err) ||
	       put_number(x, "runs", (double)s.runs, err) ||
	       put_number(x, "paths", (double)s.paths, err) ||
	       put_number(x, "candidates", (double)s.candidates, err) ||
	       put_number(x, "queries", (double)s.solve.queries, err) ||
	       put_number(x, "blocks", (double)s.blocks, err) ||
	       put_number(x, "pm_sites", (double)s.pm, err) ||
	       put_number(x, "behaviours", (double)s.behaviours, err) ||
	       put_number(x, "findings", (double)x->set.v.n, err) ||
	       put_number(x, "seconds", now_seconds() - x->begun, err);
}

int explore_keep_now(struct explore *x, bool all, struct err *err)
{
	double now = now_seconds();
	if (!all && now - x->kept < KEEP_EVERY)
		return 0;
	x->kept = now;
	int bad = ((x->news || all) && keep_findings(x, err)) || keep_counts(x, "running", err);
	return campaign_db_commit(x->db, err) || bad || campaign_db_begin(x->db, err) ? -1 : 0;
}

int explore_keep_end(struct explore *x, struct err *err)
{
	bool through = !x->cut && !explore_interrupted();
	char *path = xasprintf("%s/coverage.csv", x->dir), *tried = xasprintf("%s/try", x->dir);
	int bad = keep_counts(x, through ? "finished" : "stopped", err);
	bad = campaign_db_commit(x->db, err) || bad;
	bad = bad || explore_csv(x, path, err) || (x->o->csv && explore_csv(x, x->o->csv, err));
	nftw(tried, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(tried);
	free(path);
	return bad ? -1 : 0;
}
