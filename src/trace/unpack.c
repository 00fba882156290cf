/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All files as they were before an event, under their names of then, written to a folder. What all
 * the paths of a recording have in common at the front is left out: /data/pool and /data/logs/1
 * become OUTDIR/pool and OUTDIR/logs/1.
 */
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct writing {
	const struct trace_tree *tree;
	const struct trace_image *image;
	const char *dir;
	uint64_t at;
	char *common; /* the folder that all have in common, with a slash */
	char **first; /* per thing: where it is already */
	int bad;
	struct err *err;
};

static void join_name(void *arg, const struct trace_name *n)
{
	struct writing *w = arg;
	common_folder(&w->common, n->path);
}

static void find_common(struct writing *w, const struct trace_defs *defs)
{
	for (uint32_t i = 0; i < trace_files(defs); i++)
		if (*trace_file(defs, i)->path == '/')
			common_folder(&w->common, trace_file(defs, i)->path);
	trace_tree_names(w->tree, 0, join_name, w);
	trace_tree_names(w->tree, w->at, join_name, w);
	trace_tree_names(w->tree, UINT64_MAX, join_name, w);
}

static int put_file(struct writing *w, uint32_t thing, const char *path)
{
	uint32_t contents = trace_tree_contents(w->tree, thing, w->at);
	if (unlink(path) && errno != ENOENT)
		return err_errno(w->err, EXIT_USAGE, "cannot replace %s", path);
	if (w->first[thing]) {
		if (link(w->first[thing], path))
			return err_errno(w->err, EXIT_USAGE, "cannot make the link %s", path);
		return 0;
	}
	w->first[thing] = xstrdup(path);
	return trace_image_write_file(w->image, contents, path, w->err);
}

static int put_link(struct writing *w, const char *target, const char *path)
{
	unlink(path);
	if (symlink(target, path))
		return err_errno(w->err, EXIT_USAGE, "cannot make the link %s", path);
	return 0;
}

static void put(void *arg, const struct trace_name *n)
{
	struct writing *w = arg;
	if (w->bad || n->thing == TRACE_NOTHING)
		return;
	const struct trace_thing *g = trace_tree_thing(w->tree, n->thing);
	const struct trace_node_def *def = trace_node(trace_image_defs(w->image), g->node);
	if (g->lost) {
		msg_warn("%s: its contents are not in the trace", n->path);
		return;
	}
	char *path = place_below(w->dir, w->common, n->path);
	if (g->kind == TRACE_IS_FOLDER)
		mkdir(path, 0777);
	else if (g->kind == TRACE_IS_LINK)
		w->bad = put_link(w, def->target, path);
	else
		w->bad = put_file(w, n->thing, path);
	if (!w->bad && g->kind == TRACE_IS_FILE)
		msg_info("%s: %s, %llu bytes", n->path, path,
			 (unsigned long long)trace_image_size(
				 w->image, trace_tree_contents(w->tree, n->thing, w->at)));
	free(path);
}

int trace_unpack(struct trace_reader *r, const char *dir, uint64_t at, struct err *err)
{
	struct trace_tree *tree = trace_tree_read(r, err);
	struct trace_image *image = tree ? trace_image_new(r, err) : NULL;
	struct writing w = { tree, image, dir, at, .err = err, .bad = -1 };
	if (image && mkdir(dir, 0777) && errno != EEXIST)
		err_errno(err, EXIT_USAGE, "cannot make the folder %s", dir);
	else if (image)
		w.bad = trace_image_run(image, at, err);
	if (!w.bad) {
		find_common(&w, trace_defs(r));
		w.first = xcalloc(trace_tree_things(tree), sizeof *w.first);
		trace_tree_names(tree, at, put, &w);
	}
	for (size_t i = 0; w.first && i < trace_tree_things(tree); i++)
		free(w.first[i]);
	free(w.first);
	free(w.common);
	trace_image_free(image);
	trace_tree_free(tree);
	return w.bad;
}
