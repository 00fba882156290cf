/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Causes in words, under a model of file systems: what is lost is a write, a size, or a change of names,
 * and what is missing is a sync.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crash/explain.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* ---- changes ---- */

/* The two names of a rename, or the one that came or went. */
struct names {
	const char *from, *to; /* NULL: none */
	uint32_t folder;
};

static struct names names_at(const struct crash_history *h, uint64_t event)
{
	struct names n = { NULL, NULL, TRACE_NOTHING };
	const struct trace_entry *e;
	for (size_t i = 0; (e = trace_tree_entry(h->tree, i)); i++) {
		size_t k = BISECT(j, e->at.n, j == 0 || e->at.p[j].event < event);
		if (k == e->at.n || e->at.p[k].event != event)
			continue;
		if (e->at.p[k].thing == TRACE_NOTHING)
			n.from = e->name;
		else
			n.to = e->name;
		if (n.folder == TRACE_NOTHING || e->at.p[k].thing != TRACE_NOTHING)
			n.folder = e->folder;
	}
	return n;
}

static char *names_words(const struct crash_history *h, uint64_t event)
{
	struct names n = names_at(h, event);
	if (n.from && n.to)
		return xasprintf("rename(%s, %s)", n.from, n.to);
	if (n.to)
		return xasprintf("the new name %s", n.to);
	return n.from ? xasprintf("unlink(%s)", n.from) : xstrdup("a change of names");
}

/* The file whose size the line is; CRASH_NO_FILE: it has names. */
uint32_t crash_sized_file(const struct crash_history *h, uint32_t line)
{
	for (uint32_t i = 0; i < h->file.n; i++)
		if (h->size_line[i] == line)
			return i;
	return CRASH_NO_FILE;
}

static char *size_words(const struct crash_history *h, uint32_t file, uint64_t event)
{
	const struct crash_extent *x = &h->extent[file];
	size_t i = BISECT(k, x->change.n, h->change.p[x->change.p[k]].event < event);
	uint64_t size = i < x->change.n ? h->change.p[x->change.p[i]].size : 0;
	return xasprintf("the new size of %s (%" PRIu64 " bytes)", base_name(h->file.p[file].path),
			 size);
}

static char *write_words(const struct crash_history *h, size_t piece, uint32_t file)
{
	size_t i = crash_event_begin(h, piece), end = crash_event_end(h, piece);
	uint64_t bytes = 0;
	for (; i < end; i++) {
		struct crash_piece p = crash_piece_at(h, i);
		if (h->line.p[p.line].file == file)
			bytes += p.len;
	}
	return xasprintf("the write of %" PRIu64 " bytes to %s", bytes,
			 base_name(h->file.p[file].path));
}

char *crash_change_words(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	uint32_t file = h->line.p[p.line].file;
	if (file != h->meta)
		return write_words(h, piece, file);
	file = crash_sized_file(h, p.line);
	return file == CRASH_NO_FILE ? names_words(h, p.event) : size_words(h, file, p.event);
}

/* What to sync for it: "fsync(tmp)", "fsync of the folder of db". */
static char *sync_words(const struct crash_history *h, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	uint32_t file = h->line.p[p.line].file;
	struct names n;
	if (file == h->meta)
		file = crash_sized_file(h, p.line);
	if (file != CRASH_NO_FILE)
		return xasprintf("fsync(%s)", base_name(h->file.p[file].path));
	n = names_at(h, p.event);
	return xasprintf("fsync of the folder of %s", n.to ? n.to : n.from ? n.from : "?");
}

/* ---- findings ---- */

enum finding_kind crash_files_kind(const struct crash_history *h, const struct crash_cause *cause,
				   bool covered)
{
	struct crash_piece lost;
	if (cause->flaky)
		return FINDING_RECOVERY_FLAKY;
	if (cause->prefix)
		return cause->wrong_order ? FINDING_ORDERING : FINDING_ATOMICITY;
	if (!cause->lost.n)
		return FINDING_ATOMICITY;
	lost = crash_piece_at(h, cause->lost.p[0]);
	if (cause->persisted != UINT32_MAX && !crash_is_meta(h, lost.line) &&
	    crash_piece_at(h, cause->persisted).event == lost.event)
		return FINDING_ATOMICITY; /* one write, torn */
	if (covered)
		return cause->neither || cause->persisted == UINT32_MAX ? FINDING_ATOMICITY
									: FINDING_ORDERING;
	return crash_is_meta(h, lost.line) && crash_sized_file(h, lost.line) == CRASH_NO_FILE
		       ? FINDING_MISSING_DIR_FSYNC
		       : FINDING_MISSING_FSYNC;
}

static bool is_lost(const struct crash_history *h, const struct crash_state *s, uint32_t piece)
{
	uint32_t line = crash_piece_at(h, piece).line;
	size_t i = BISECT(k, s->at.n, s->at.p[k].line < line);
	return i < s->at.n && s->at.p[i].line == line &&
	       s->at.p[i].version < crash_number_of(h, piece);
}

/* Of the write that is lost, some blocks are on disk. */
static bool is_torn(const struct crash_history *h, const struct crash_cause *cause)
{
	size_t lost = 0, there = 0;
	if (!cause->lost.n || crash_is_meta(h, crash_piece_at(h, cause->lost.p[0]).line))
		return false;
	size_t i = crash_event_begin(h, cause->lost.p[0]), end = crash_event_end(h, i);
	for (; i < end; i++) {
		if (crash_is_meta(h, crash_piece_at(h, i).line))
			continue;
		if (is_lost(h, &cause->state, (uint32_t)i))
			lost++;
		else
			there++;
	}
	return lost && there;
}

static bool same_event(const struct crash_history *h, uint32_t a, uint32_t b)
{
	return crash_piece_at(h, a).event == crash_piece_at(h, b).event;
}

char *crash_files_message(const struct crash_history *h, const struct crash_cause *cause,
			  const char *at_a, const char *at_b, const char *does)
{
	char *a = at_a ? crash_change_words(h, cause->persisted) : NULL, *text;
	char *b = at_b ? crash_change_words(h, cause->lost.p[0]) : NULL;
	if (cause->prefix && a && b)
		text = xasprintf("if a crash comes after %s at %s and before %s at %s, %s", a, at_a,
				 b, at_b, does);
	else if (cause->prefix && a)
		text = xasprintf("if a crash comes after %s at %s, %s", a, at_a, does);
	else if (b && is_torn(h, cause) &&
		 (!a || same_event(h, cause->persisted, cause->lost.p[0])))
		text = xasprintf("if only a part of %s at %s is on disk, %s", b, at_b, does);
	else if (a && b)
		text = xasprintf("if %s at %s is on disk while %s at %s is not, %s", a, at_a, b,
				 at_b, does);
	else if (b)
		text = xasprintf("if %s at %s is lost, %s", b, at_b, does);
	else
		text = xasprintf("%s on a crash state", does);
	free(a);
	free(b);
	return text;
}

char *crash_files_advice(const struct crash_history *h, const struct crash_cause *cause,
			 enum finding_kind kind)
{
	char *a, *sync, *text;
	if (!cause->lost.n || cause->flaky)
		return NULL;
	if (kind == FINDING_ATOMICITY)
		return xstrdup("write to a new file and rename it, or keep a log, so that the "
			       "change takes effect as a whole");
	a = cause->persisted != UINT32_MAX ? crash_change_words(h, cause->persisted) : NULL;
	sync = sync_words(h, cause->lost.p[0]);
	if (kind == FINDING_ORDERING && cause->prefix)
		text = xstrdup("make the two changes in the other order, with a sync between them");
	else if (kind == FINDING_ORDERING && a)
		text = xasprintf("%s is needed before %s; it comes only later", sync, a);
	else
		text = xasprintf("%s is missing%s%s", sync, a ? " before " : "", a ? a : "");
	free(a);
	free(sync);
	return text;
}
