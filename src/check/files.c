/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are written, renamed and synced, under a model of file systems:
 *
 *   missing-fsync     what replaces a file by rename was written and not synced before
 *   late-persist      what is synced before the program answers, mostly, is not before some of its answers; where several
 *                     threads answer, each for what it has written itself, and for those who never answer
 *   redundant-fsync   nothing was written, and no name changed, since the last sync of the same file or folder
 *
 * A suspicion each: programs have files that they can do without. Files that are mapped are for the others.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/internal.h"

enum { IN_TIME, LATE, USED, VAIN }; /* tallies: of places that write, and of places that sync */

struct node {
	uint64_t written;  /* event + 1 of the newest write that is not synced; 0: none */
	model_where where; /* … its place */
	model_where asked; /* the place of the newest write, … */
	uint64_t writer;   /* … its process and thread, … */
	bool fresh;        /* … is newer than the writer's last answer, … */
	bool told;         /* … and somebody else has answered since */
	bool synced;       /* once, at least, … */
	bool touched;      /* … and something has changed since */
	bool mapped;
};
/* Answers of others than the writer: they count if it turns out that this one never answers. */
struct doubt {
	uint64_t writer;
	model_where where;
	uint32_t count[2]; /* IN_TIME, LATE */
};
struct check_disk {
	VEC(struct node) node;
	VEC(struct doubt) doubt;
	struct hmap doubt_at; /* where and writer -> doubt */
	struct hmap answers;  /* process and thread -> 1 */
	struct hmap folder;   /* hash of its path -> node */
};

struct check_disk *check_disk_new(void)
{
	return xcalloc(1, sizeof(struct check_disk));
}

void check_disk_free(struct check_disk *f)
{
	if (!f)
		return;
	VEC_FREE(&f->node);
	VEC_FREE(&f->doubt);
	hmap_free(&f->doubt_at);
	hmap_free(&f->answers);
	hmap_free(&f->folder);
	free(f);
}

static struct node *node_of(struct check_disk *f, uint64_t id)
{
	while (id < TRACE_NO_NODE && f->node.n <= id)
		VEC_PUSH(&f->node, (struct node){ 0 });
	return id < TRACE_NO_NODE ? &f->node.p[id] : NULL;
}

static void hit(struct oracle_state *o, enum finding_kind kind, model_where where, model_where with,
		const struct trace_event *e)
{
	bool fresh;
	struct cause *k = check_cause_hit(o, kind, where, &fresh);
	if (!fresh)
		return;
	k->event = e->num;
	k->thread = e->thread;
	k->extra = (uint64_t)with + 1;
	VEC_PUSH(&o->check->wanted, where);
	VEC_PUSH(&o->check->wanted, with);
}

static uint64_t who(const struct trace_event *e)
{
	return (uint64_t)e->process << 32 | e->thread;
}

/* ---- events ---- */

static void touch_folder(struct check_disk *f, const uint8_t *path, size_t n)
{
	uint64_t id;
	while (n && path[n - 1] != '/')
		n--;
	if (n && hmap_get(&f->folder, hash_bytes(path, n > 1 ? n - 1 : n), &id))
		f->node.p[id].touched = true;
}

static void name_event(struct oracle_state *o, struct check_disk *f, const struct trace_event *e)
{
	struct check *c = o->check;
	struct node *n = node_of(f, e->arg[0]);
	const uint8_t *zero = e->size ? memchr(e->data, 0, e->size) : NULL;
	size_t first = zero ? (size_t)(zero - e->data) : e->size;
	const struct trace_node_def *def = trace_node(c->defs, (uint32_t)e->arg[0]);
	if (!n || !def)
		return;
	if (def->kind == TRACE_IS_FOLDER && e->kind != TRACE_NODE_UNLINK && !zero)
		hmap_put(&f->folder, hash_bytes(e->data, e->size), e->arg[0]);
	if (e->kind == TRACE_NODE_THERE)
		return;
	n->touched = true;
	touch_folder(f, e->data, first);
	if (zero)
		touch_folder(f, zero + 1, e->size - first - 1);
	if (e->kind == TRACE_NODE_MOVE && e->arg[1] < TRACE_NO_NODE && n->written && !n->mapped)
		hit(o, FINDING_MISSING_FSYNC, n->where, model_where_of(c->model, e), e);
}

static void write_event(struct oracle_state *o, struct node *n, const struct trace_event *e)
{
	n->where = n->asked = model_where_of(o->check->model, e);
	n->written = e->num + 1;
	n->touched = n->fresh = true;
	n->told = false;
	n->writer = who(e);
}

static void clean(struct node *n)
{
	n->written = 0;
	n->touched = false;
	n->synced = true;
}

static void sync_event(struct oracle_state *o, struct check_disk *f, const struct trace_event *e)
{
	struct node *n = node_of(f, e->arg[0]);
	model_where where = model_where_of(o->check->model, e);
	for (size_t i = 0; e->arg[1] == TRACE_SYNC_EVERYTHING && i < f->node.n; i++)
		clean(&f->node.p[i]);
	if (!n || n->mapped || e->arg[1] > TRACE_SYNC_DATA)
		return;
	bool vain = n->synced && !n->touched && !e->arg[3];
	oracle_tally(o, where)[vain ? VAIN : USED]++;
	if (vain)
		hit(o, FINDING_REDUNDANT_FSYNC, where, where, e);
	clean(n);
}

static void doubt(struct check_disk *f, const struct node *n)
{
	uint64_t key = hash_mix(n->asked, n->writer), i;
	if (!hmap_get(&f->doubt_at, key, &i)) {
		hmap_put(&f->doubt_at, key, i = f->doubt.n);
		VEC_PUSH(&f->doubt, ((struct doubt){ .writer = n->writer, .where = n->asked }));
	}
	f->doubt.p[i].count[n->written ? LATE : IN_TIME]++;
}

/* What was written since the last answer, before this one. */
static void answer(struct oracle_state *o, struct check_disk *f, const struct trace_event *e)
{
	uint64_t known;
	hmap_put(&f->answers, who(e), 1);
	for (size_t i = 0; i < f->node.n; i++) {
		struct node *n = &f->node.p[i];
		bool own = n->writer == who(e);
		if (!n->fresh || n->mapped ||
		    (!own && (n->told || hmap_get(&f->answers, n->writer, &known))))
			continue;
		n->fresh = !own;
		n->told = true;
		if (own)
			oracle_tally(o, n->asked)[n->written ? LATE : IN_TIME]++;
		else
			doubt(f, n);
		if (n->written)
			hit(o, FINDING_LATE_PERSIST, n->asked, model_where_of(o->check->model, e),
			    e);
	}
}

/* Who never answers has worked for those who do. */
static void settle_doubts(struct oracle_state *o, struct check_disk *f)
{
	uint64_t known;
	for (size_t i = 0; f && i < f->doubt.n; i++) {
		const struct doubt *d = &f->doubt.p[i];
		for (unsigned k = 0; k < 2 && !hmap_get(&f->answers, d->writer, &known); k++)
			oracle_tally(o, d->where)[k] += d->count[k];
	}
	if (f)
		f->doubt.n = 0;
}

void check_disk_event(struct oracle_state *o, struct check_disk *f, const struct trace_event *e)
{
	struct node *n = trace_node_arg(e->kind) ? node_of(f, e->arg[0]) : NULL;
	switch (e->kind) {
	case TRACE_NODE_THERE:
	case TRACE_NODE_NEW:
	case TRACE_NODE_LINK:
	case TRACE_NODE_MOVE:
	case TRACE_NODE_UNLINK: name_event(o, f, e); break;
	case TRACE_NODE_PM:
		if (n)
			n->mapped = true;
		break;
	case TRACE_NODE_WRITE:
	case TRACE_NODE_TRUNCATE:
	case TRACE_NODE_ALLOCATE:
		if (n)
			write_event(o, n, e);
		break;
	case TRACE_NODE_SYNC: sync_event(o, f, e); break;
	case TRACE_OUTPUT: answer(o, f, e); break;
	default: break;
	}
}

/* ---- findings ---- */

static struct finding *replaced(struct check *c, const struct cause *k)
{
	struct finding *f = check_cause_finding(
		c, k,
		"it is not synced when the file takes the place of another by rename: a crash may "
		"leave the new name with old, or no, data");
	f->level = FINDING_WARNING;
	f->advice = xstrdup("Call fsync on the file before it is renamed.");
	check_cause_relate(c, f, "rename", "replaces the other file", k->extra);
	return f;
}

static struct finding *late(struct check *c, const struct cause *k, const uint32_t *tally)
{
	if (!tally[LATE] || tally[IN_TIME] <= tally[LATE])
		return NULL;
	struct finding *f =
		check_cause_finding(c, k,
				    "the program answers before it is synced; in %" PRIu32
				    " of %" PRIu32 " instances it was in time",
				    tally[IN_TIME], tally[IN_TIME] + tally[LATE]);
	f->advice = xstrdup("Call fsync or fdatasync on the file before the answer.");
	check_cause_relate(c, f, "answer", "is given before the sync", k->extra);
	return f;
}

static struct finding *redundant(struct check *c, const struct cause *k, const uint32_t *tally)
{
	char text[96];
	struct finding *f =
		check_cause_finding(c, k, "nothing has changed since its last sync; %s in vain",
				    check_count_text(tally[VAIN], tally[VAIN] + tally[USED],
						     "syncs", text, sizeof text));
	if (tally[USED] || tally[VAIN] < 2) /* once may be to be sure, at the end */
		f->level = FINDING_NOTE;
	f->advice = xstrdup(tally[USED] ? "Sync only what was written." : "Remove the sync.");
	return f;
}

/* By call path: all go through the same few functions of the C library. */
static void report(struct oracle_state *o, struct finding_set *out)
{
	struct check *c = o->check;
	settle_doubts(o, c->files);
	for (size_t i = 0; i < o->causes.v.n; i++) {
		const struct cause *k = o->causes.v.p[i];
		const uint32_t *tally = oracle_tally(o, k->where);
		struct finding *f = k->kind == FINDING_MISSING_FSYNC  ? replaced(c, k)
				    : k->kind == FINDING_LATE_PERSIST ? late(c, k, tally)
								      : redundant(c, k, tally);
		if (f && f->level == FINDING_NOTE && !c->notes)
			finding_free(f);
		else if (f)
			finding_add(out, f);
	}
}

const struct check_oracle check_oracle_files = {
	.name = "files",
	.report = report,
};
