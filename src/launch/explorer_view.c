/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an explored program sees of the file system: all that is there, but what it changes is
 * its own and gone with it. Its working directory is covered, the folders that its arguments and
 * the symbolic files are in, /tmp, /var/tmp and /dev/shm; a symbolic file is a file of ours that
 * is mounted where the program looks for it.
 *
 * The cell of src/sandbox is the fork server's. The tool gets its plan and a descriptor of its
 * private folder: each child makes the same mounts again in a namespace of its own. Where there
 * are no namespaces, a preloaded library shows the cell, and the tool gives each child a folder
 * of its own in it (tracer/world/preload.c).
 */
#include "launch/explorer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef VEC(struct sandbox_place) places;

static bool is_file(const struct launch_explorer *e, size_t source)
{
	return e->opts.source[source].kind == SYM_SRC_FILE;
}

static bool has_socket(const struct launch_explorer *e)
{
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (e->opts.source[i].kind == SYM_SRC_SOCKET)
			return true;
	return false;
}

int launch_explorer_view_choose(struct launch_explorer *e, const char *program, struct err *err)
{
	struct err why = { 0 };
	const struct sandbox_view *v;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++) {
		if (v->flags & SANDBOX_MOVED || sandbox_view_works(v, &why))
			continue;
		char *refused = sandbox_view_refuses(v, program);
		e->view = refused ? NULL : v;
		if (refused)
			err_set(&why, EXIT_PROGRAM, "%s, and no namespaces are allowed here",
				refused);
		free(refused);
		if (e->view) {
			e->fresh |= !launch_explorer_beside(e);
			return 0;
		}
	}
	return err_set(err, EXIT_PROGRAM, "runs cannot be kept apart: %s", why.text);
}

const char *launch_explorer_view(const struct launch_explorer *e, const char **lacks)
{
	*lacks = e->view->lacks;
	return e->view->text;
}

bool launch_explorer_beside(const struct launch_explorer *e)
{
	return !has_socket(e) || e->view->flags & SANDBOX_NET;
}

static void add(places *p, const char *path)
{
	VEC_PUSH(p, ((struct sandbox_place){ .path = path }));
}

/* Arguments may be paths, also behind a "--name=". */
static void find_places(const struct launch_explorer *e, places *p)
{
	add(p, ".");
	add(p, "/tmp");
	add(p, "/var/tmp");
	add(p, "/dev/shm");
	for (const char *const *a = e->opts.run.argv + 1; *a; a++) {
		const char *equals = strchr(*a, '=');
		add(p, *a);
		if (equals)
			add(p, equals + 1);
	}
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (is_file(e, i))
			add(p, e->opts.source[i].path);
}

/* The symbolic files by their absolute paths, in the order of the sources. */
static void find_files(const struct launch_explorer *e, const char *cwd, struct sandbox_strings *s)
{
	for (size_t i = 0; i < e->opts.nsource; i++) {
		const char *path = e->opts.source[i].path;
		if (is_file(e, i))
			VEC_PUSH(s, *path == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path));
	}
}

/* They begin with what is there. */
static int make_files(const struct launch_explorer *e, struct sandbox_cell *c,
		      const struct sandbox_strings *path, struct explorer_files *files,
		      struct err *err)
{
	for (size_t i = 0, n = 0; i < e->opts.nsource; i++) {
		files->fd[i] = -1;
		if (!is_file(e, i))
			continue;
		files->fd[i] = sandbox_cell_image(c, n, err);
		if (files->fd[i] < 0)
			return -1;
		if (sandbox_copy_file(path->p[n], files->fd[i]))
			return err_errno(err, EXIT_PROGRAM, "cannot show a symbolic file as %s",
					 path->p[n]);
		sandbox_cell_name(c, n, path->p[n]);
		n++;
	}
	return 0;
}

/* The namespaces are this process's, if the view has any. */
static struct sandbox_cell *open_cell(const struct launch_explorer *e, struct explorer_files *files,
				      struct err *err)
{
	bool mounts = e->view->flags & SANDBOX_MOUNTS;
	struct sandbox_space space = sandbox_space_of(e->view, has_socket(e), false);
	struct sandbox_strings path = { 0 };
	places place = { 0 };
	char *cwd = getcwd(NULL, 0);
	if (!cwd) {
		err_errno(err, EXIT_PROGRAM, "the working directory is gone");
		return NULL;
	}
	find_places(e, &place);
	find_files(e, cwd, &path);
	struct sandbox_cell *c =
		sandbox_cell_new(&(struct sandbox_opts){ .view = e->view,
							 .file = (const char *const *)path.p,
							 .nfile = path.n,
							 .place = place.p,
							 .nplace = place.n,
							 .replayed = mounts });
	space.keep = true;
	bool bad = sandbox_space_enter(&space, err) || sandbox_cell_open(c, err) ||
		   make_files(e, c, &path, files, err) || sandbox_cell_show(c, err) || chdir(cwd);
	sandbox_strings_free(&path);
	VEC_FREE(&place);
	free(cwd);
	if (bad)
		sandbox_cell_end(c);
	return bad ? NULL : c;
}

int launch_explorer_view_enter(const struct launch_explorer *e, struct explorer_files *files,
			       struct err *err)
{
	struct sym_control *control = e->control;
	struct sandbox_cell *c = open_cell(e, files, err);
	if (!c || sandbox_cell_rows(c, control->mount, SYM_MAX_MOUNTS, &control->nmounts, err))
		return -1;
	return sandbox_cell_base(c); /* memory is not given back: exec will be the end of it */
}

/* ---- without namespaces: the cell is holdfast's ---- */

int launch_explorer_view_open(struct launch_explorer *e, struct err *err)
{
	struct explorer_files files;
	launch_explorer_view_close(e);
	if (e->view->flags & SANDBOX_MOUNTS)
		return 0;
	e->cell = open_cell(e, &files, err);
	if (!e->cell)
		return -1;
	for (size_t i = 0; i < e->opts.nsource; i++)
		if (is_file(e, i))
			e->file[i].fd = files.fd[i];
	e->guard = sandbox_cell_guard(e->cell, err);
	return e->guard < 0 ? -1 : 0;
}

void launch_explorer_view_use(const struct launch_explorer *e)
{
	struct sandbox_strings env = { 0 };
	const char *old = getenv("LD_PRELOAD");
	sandbox_cell_env(e->cell, &env);
	for (size_t i = 0; i < env.n; i++) {
		bool list = old && *old && !strncmp(env.p[i], "LD_PRELOAD=", 11);
		putenv(list ? xasprintf("%s:%s", env.p[i], old) : xstrdup(env.p[i]));
	}
	sandbox_strings_free(&env);
}

void launch_explorer_view_ended(const struct launch_explorer *e, uint32_t run)
{
	if (!e->cell)
		return;
	char *own = xasprintf("%s/c%u", sandbox_cell_home(e->cell), run);
	sandbox_remove_tree(AT_FDCWD, own);
	free(own);
}

void launch_explorer_view_close(struct launch_explorer *e)
{
	if (e->cell)
		sandbox_cell_end(e->cell);
	e->cell = NULL;
	if (e->guard >= 0)
		close(e->guard);
	e->guard = -1;
}
