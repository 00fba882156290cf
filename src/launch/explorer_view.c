/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an explored program sees of the file system: all that is there, but what it changes is
 * its own and gone with it. Its working directory is covered, the folders that its arguments and
 * the symbolic files are in, /tmp, /var/tmp and /dev/shm; a symbolic file is a file of ours that
 * is mounted where the program looks for it.
 *
 * The cell of src/sandbox is the fork server's. The tool gets its plan and a descriptor of its
 * private folder: each child makes the same mounts again in a namespace of its own.
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

int launch_explorer_view_choose(struct launch_explorer *e, struct err *err)
{
	struct err why = { 0 };
	const struct sandbox_view *v;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++) {
		if (!(v->flags & SANDBOX_MOUNTS) || sandbox_view_works(v, &why))
			continue;
		e->view = v;
		return 0;
	}
	return err_set(err, EXIT_PROGRAM, "runs cannot be kept apart: %s", why.text);
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

int launch_explorer_view_enter(const struct launch_explorer *e, struct explorer_files *files,
			       struct err *err)
{
	struct sandbox_space space = sandbox_space_of(e->view, has_socket(e), false);
	struct sandbox_strings path = { 0 };
	places place = { 0 };
	char *cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_errno(err, EXIT_PROGRAM, "the working directory is gone");
	find_places(e, &place);
	find_files(e, cwd, &path);
	struct sandbox_cell *c =
		sandbox_cell_new(&(struct sandbox_opts){ .view = e->view,
							 .file = (const char *const *)path.p,
							 .nfile = path.n,
							 .place = place.p,
							 .nplace = place.n,
							 .replayed = true });
	space.keep = true;
	struct sym_control *control = e->control;
	if (sandbox_space_enter(&space, err) || sandbox_cell_open(c, err) ||
	    make_files(e, c, &path, files, err) || sandbox_cell_show(c, err) ||
	    sandbox_cell_rows(c, control->mount, SYM_MAX_MOUNTS, &control->nmounts, err))
		return -1;
	if (chdir(cwd))
		return err_errno(err, EXIT_PROGRAM, "cannot enter %s", cwd);
	return sandbox_cell_base(c); /* memory is not given back: exec will be the end of it */
}
