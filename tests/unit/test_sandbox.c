/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans as data, views, readiness; what a program sees in a cell is tested with the runner. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/internal.h"

static char dir[] = "/tmp/holdfast-sandbox-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) && !mkdir("in", 0755) && !mkdir("in/deep", 0755) ? 0
											    : -1;
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") || sandbox_remove_tree(AT_FDCWD, dir);
}

/* ---- paths and mounts ---- */

static void paths(void **state)
{
	(void)state;
	assert_string_equal(sandbox_path_below("/a/b/c", "/a"), "b/c");
	assert_string_equal(sandbox_path_below("/a", "/a"), "");
	assert_string_equal(sandbox_path_below("/a", "/"), "a");
	assert_null(sandbox_path_below("/ab", "/a"));
	assert_null(sandbox_path_below("/", "/a"));
}

static void mounts(void **state)
{
	(void)state;
	static const char *const list[] = { "/", "/a/x", "/a/x/y", "/a/x", "/ab" };
	const struct sandbox_strings m = { (char **)list, 5, 5 };
	assert_true(sandbox_mount_between(&m, "/a", "/a/x/file"));
	assert_true(sandbox_mount_between(&m, "/a", "/a/x"));
	assert_false(sandbox_mount_between(&m, "/a", "/a/other"));
	assert_false(sandbox_mount_between(&m, "/a/x", "/a/x"));
	assert_true(sandbox_mount_outermost(&m, 1, "/a"));
	assert_false(sandbox_mount_outermost(&m, 2, "/a")); /* comes with the one around it */
	assert_false(sandbox_mount_outermost(&m, 3, "/a")); /* is there already */
	assert_false(sandbox_mount_outermost(&m, 4, "/a"));
	assert_false(sandbox_mount_outermost(&m, 0, "/"));
}

/* ---- plans ---- */

static struct sandbox_cell *cell(const char *view, const char *const *file, size_t nfile,
				 const struct sandbox_place *place, size_t nplace)
{
	return sandbox_cell_new(&(struct sandbox_opts){ .view = sandbox_view_named(view),
							.file = file,
							.nfile = nfile,
							.place = place,
							.nplace = nplace });
}

static const struct entry *entry(const struct row *r, const char *rel)
{
	for (size_t i = 0; i < r->entry.n; i++)
		if (!strcmp(r->entry.p[i].rel, rel))
			return &r->entry.p[i];
	return NULL;
}

/* One overlay serves all that is below it; what cannot be covered is left out if it may be. */
static void covered(void **state)
{
	(void)state;
	struct err err = { 0 };
	char *pool = xasprintf("%s/in/deep/new/pool", dir);
	const char *file[] = { pool };
	const struct sandbox_place place[] = { { "in/deep", true },
					       { "in", true },
					       { "/", true },
					       { "/dev", true },
					       { "none", false } };
	struct sandbox_cell *c = cell("mount", file, 1, place, 5);
	sandbox_cell_name(c, 0, pool);
	assert_int_equal(sandbox_plan(c, &err), 0);
	assert_int_equal(c->row.n, 1);
	const struct row *r = c->row.p;
	char *in = xasprintf("%s/in", dir);
	assert_int_equal(r->kind, ROW_OVERLAY);
	assert_string_equal(r->path, in);
	assert_false(r->optional); /* the file needs it */
	assert_int_equal(entry(r, "")->kind, ENTRY_FOLDER);
	assert_int_equal(entry(r, "deep")->kind, ENTRY_FOLDER);
	assert_non_null(entry(r, "deep")->like);
	assert_null(entry(r, "deep/new")->like); /* there is none like it */
	assert_int_equal(entry(r, "deep/new/pool")->kind, ENTRY_IMAGE);
	assert_int_equal(r->entry.n, 4);
	assert_string_equal(sandbox_cell_seen(c, 0), pool);
	sandbox_cell_end(c);
	free(in);
	free(pool);
}

/* A file that is seen elsewhere is not seen where it was left. */
static void leftover(void **state)
{
	(void)state;
	struct err err = { 0 };
	char *pool = xasprintf("%s/in/pool", dir), *now = xasprintf("%s/in/deep/now", dir);
	const char *file[] = { pool };
	close(creat(pool, 0644));
	struct sandbox_cell *c = cell("mount", file, 1, NULL, 0);
	sandbox_cell_name(c, 0, now);
	assert_int_equal(sandbox_plan(c, &err), 0);
	assert_int_equal(c->row.n, 1);
	assert_int_equal(entry(c->row.p, "pool")->kind, ENTRY_GONE);
	assert_int_equal(entry(c->row.p, "deep/now")->kind, ENTRY_IMAGE);
	sandbox_cell_end(c);
	unlink(pool);
	free(now);
	free(pool);
}

static void bad_plan(void **state)
{
	(void)state;
	struct err err = { 0 };
	const char *file[] = { "relative" };
	struct sandbox_cell *c = cell("mount", file, 1, NULL, 0);
	sandbox_cell_name(c, 0, "relative");
	assert_int_equal(sandbox_plan(c, &err), -1);
	assert_non_null(strstr(err.text, "absolute"));
	sandbox_cell_end(c);
}

/* ---- what is performed ---- */

/* In a process of its own, with the best view that has mounts. */
static void apart(void (*f)(const struct sandbox_view *))
{
	struct err why;
	const struct sandbox_view *v;
	for (size_t i = 0; (v = sandbox_view_at(i)); i++)
		if (v->flags & SANDBOX_MOUNTS && !sandbox_view_works(v, &why))
			break;
	if (!v)
		skip();
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		f(v);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void require(bool ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "# line %d is wrong (%s)\n", line, strerror(errno));
	_exit(1);
}
#define REQUIRE(x) require((x), __LINE__)

/* Rows as others get them, with a mount below a covered folder. */
static void perform(const struct sandbox_view *v)
{
	static struct mount_row row[8];
	struct sandbox_space space = sandbox_space_of(v, true, false);
	struct err err = { 0 };
	uint32_t n;
	char *input = xasprintf("%s/in/deep/input", dir), *sub = xasprintf("%s/in/sub", dir);
	char *in = xasprintf("%s/in", dir);
	const struct sandbox_place place = { in, false };
	mkdir(sub, 0755);
	REQUIRE(!sandbox_space_enter(&space, &err));
	REQUIRE(!mount("sub", sub, "tmpfs", 0, NULL));
	struct sandbox_cell *c =
		sandbox_cell_new(&(struct sandbox_opts){ .view = v,
							 .file = (const char *const *)&input,
							 .nfile = 1,
							 .place = &place,
							 .nplace = 1,
							 .replayed = true });
	REQUIRE(!sandbox_cell_open(c, &err));
	int fd = sandbox_cell_image(c, 0, &err);
	sandbox_cell_name(c, 0, input);
	bool locked = c->view->ops->spaces & CLONE_NEWUSER;
	REQUIRE(!sandbox_cell_show(c, &err) || locked);
	if (locked && err.status) /* an old kernel: no overlay over what holds other mounts */
		_exit(0);
	REQUIRE(!sandbox_cell_rows(c, row, 8, &n, &err) && n == 3);
	REQUIRE(row[0].kind == MOUNT_OVERLAY && !strcmp(row[0].path, in));
	REQUIRE(row[1].kind == MOUNT_BIND && !strcmp(row[1].path, sub));
	REQUIRE(row[2].kind == MOUNT_BIND && !strcmp(row[2].path, input));
	REQUIRE(sandbox_cell_rows(c, row, 2, &n, &err) == -1);
	REQUIRE(write(fd, "x", 1) == 1);
	char byte = 0;
	int other = open(input, O_RDONLY);
	REQUIRE(read(other, &byte, 1) == 1 && byte == 'x'); /* the very same file */
}

static void performed(void **state)
{
	(void)state;
	apart(perform);
	assert_int_equal(access("in/deep/input", F_OK), -1);
}

/* What cannot be unmounted is never taken for a folder of ours that may be removed. */
static void cannot_unmount(const struct sandbox_view *v)
{
	struct sandbox_space space = sandbox_space_of(v, false, false);
	struct err err = { 0 };
	char *pool = xasprintf("%s/in/deep/pool", dir);
	struct sandbox_cell *c = cell(v->name, (const char *const *)&pool, 1, NULL, 0);
	REQUIRE(!close(creat("in/deep/real", 0644)));
	REQUIRE(!sandbox_space_enter(&space, &err) && !sandbox_cell_open(c, &err));
	REQUIRE(sandbox_cell_image(c, 0, &err) >= 0);
	sandbox_cell_name(c, 0, pool);
	REQUIRE(!sandbox_cell_show(c, &err));
	/* The mounts of our folder are another namespace's now, and somebody is there. */
	pid_t pid = fork();
	if (pid == 0)
		pause();
	REQUIRE(pid > 0 && !unshare(CLONE_NEWNS));
	sandbox_cell_name(c, 0, NULL);
	REQUIRE(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

static void never_removed(void **state)
{
	(void)state;
	apart(cannot_unmount);
	assert_int_equal(unlink("in/deep/real"), 0);
}

/* In a plain chroot "/" is no mount point. */
static void in_chroot(const struct sandbox_view *v)
{
	static const struct sandbox_place tmp = { "/tmp", false };
	struct sandbox_space space = sandbox_space_of(v, false, false);
	struct err err = { 0 };
	char *proc = xasprintf("%s/proc", dir), *mine = xasprintf("%s/tmp", dir);
	REQUIRE(!mkdir(proc, 0755) && !mkdir(mine, 0755));
	REQUIRE(!sandbox_space_enter(&space, &err)); /* we may be in one already */
	REQUIRE(!mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	REQUIRE(!mount("proc", proc, "proc", 0, NULL));
	REQUIRE(!chroot(dir) && !chdir("/tmp"));
	pid_t pid = fork();
	if (pid == 0) {
		REQUIRE(!sandbox_space_enter(&space, &err));
		struct sandbox_cell *c = sandbox_cell_new(
			&(struct sandbox_opts){ .view = v, .place = &tmp, .nplace = 1 });
		REQUIRE(!sandbox_cell_open(c, &err) && !sandbox_cell_show(c, &err));
		REQUIRE(!chdir("/tmp") && !close(creat("file", 0644)));
		_exit(access("/tmp/file", F_OK) ? 1 : 0);
	}
	int status = 1;
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
	REQUIRE(access("/tmp/file", F_OK));
	struct sandbox_strings now = { 0 };
	sandbox_mounts_read(&now); /* nothing came back over the shared mounts */
	REQUIRE(now.n == 1 && !strcmp(now.p[0], "/proc"));
}

static void plain_chroot(void **state)
{
	(void)state;
	struct err why;
	if (geteuid() != 0 || sandbox_view_works(sandbox_view_at(0), &why))
		skip();
	apart(in_chroot);
}

/* A folder in a user namespace, with a mount below it, cannot be covered; those inside can. */
static void in_userns(const struct sandbox_view *v)
{
	struct sandbox_space outside = sandbox_space_of(v, false, false);
	struct sandbox_space space = sandbox_space_of(sandbox_view_named("userns"), false, false);
	struct err err = { 0 };
	char *in = xasprintf("%s/in", dir), *sub = xasprintf("%s/in/under", dir);
	char *pool = xasprintf("%s/in/deep/pool", dir);
	const struct sandbox_place place = { in, true };
	REQUIRE(!mkdir(sub, 0755) && !sandbox_space_enter(&outside, &err));
	REQUIRE(!mount("sub", sub, "tmpfs", 0, NULL));
	pid_t pid = fork();
	if (pid == 0) {
		struct sandbox_cell *c =
			sandbox_cell_new(&(struct sandbox_opts){ .view = space.view,
								 .file = (const char *const *)&pool,
								 .nfile = 1,
								 .place = &place,
								 .nplace = 1 });
		REQUIRE(!sandbox_space_enter(&space, &err) && !sandbox_cell_open(c, &err));
		REQUIRE(sandbox_cell_image(c, 0, &err) >= 0);
		sandbox_cell_name(c, 0, pool);
		REQUIRE(!sandbox_cell_show(c, &err) && c->row.n == 1 && !c->row.p[0].singly);
		REQUIRE(!chdir(dir) && !access("in/deep/pool", F_OK));
		REQUIRE(!close(creat("in/deep/new", 0644)));
		_exit(0);
	}
	int status = 1;
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
	REQUIRE(access("in/deep/new", F_OK));
}

static void hindered(void **state)
{
	(void)state;
	if (geteuid() != 0 || sandbox_view_works(sandbox_view_named("mount"), NULL) ||
	    sandbox_view_works(sandbox_view_named("userns"), NULL))
		skip();
	apart(in_userns);
}

/* ---- views ---- */

static void views(void **state)
{
	(void)state;
	size_t n = 0;
	for (const struct sandbox_view *v; (v = sandbox_view_at(n)); n++) {
		assert_ptr_equal(sandbox_view_named(v->name), v);
		assert_non_null(v->text);
		assert_non_null(v->about);
		assert_non_null(v->ops->make);
		assert_non_null(v->ops->plan);
	}
	assert_true(n >= 3);
	assert_null(sandbox_view_named("auto"));
	assert_string_equal(sandbox_view_at(0)->name, "mount");
	assert_string_equal(sandbox_view_at(n - 1)->name, "subst");
}

/* Who may not make namespaces is told why, whoever they are. */
static void refused(void **state)
{
	(void)state;
	struct err why = { 0 };
	const struct sandbox_view *v = sandbox_view_named("mount");
	if (geteuid() != 0) {
		assert_int_equal(sandbox_view_works(v, &why), -1);
		assert_non_null(strstr(why.text, "not permitted"));
	}
	assert_int_equal(sandbox_view_works(sandbox_view_named("subst"), &why), 0);
}

/* ---- servers ---- */

static void output(void **state)
{
	(void)state;
	struct err err = { 0 };
	assert_null(sandbox_ready_new(0, "[", 0, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	struct sandbox_ready *r = sandbox_ready_new(0, "^ready( [0-9]+)?$", 0, &err);
	static const char text[] = "not ready\nrea";
	sandbox_ready_saw(r, 0, text, sizeof text - 1);
	sandbox_ready_saw(r, 1, "dy\n", 3); /* another stream */
	assert_false(sandbox_ready_now(r));
	assert_int_equal(sandbox_ready_lacks(r, "it ended", &err), -1);
	assert_string_equal(err.text,
			    "it ended: no line of its output matched '^ready( [0-9]+)?$'");
	sandbox_ready_saw(r, 0, "dy", 2); /* it is there, even if more may come */
	assert_true(sandbox_ready_now(r));
	sandbox_ready_reset(r);
	assert_false(sandbox_ready_now(r));
	char *longer = xmalloc(100000);
	memset(longer, '-', 100000);
	sandbox_ready_saw(r, 0, longer, 100000);
	sandbox_ready_saw(r, 0, "\nready 7\n", 9);
	assert_true(sandbox_ready_now(r));
	free(longer);
	sandbox_ready_free(r);
	r = sandbox_ready_new(0, "x$", 0, &err);
	for (int i = 0; i < 2000; i++)
		sandbox_ready_saw(r, 1, "-", 1);
	sandbox_ready_saw(r, 1, "x", 1);
	assert_false(sandbox_ready_now(r)); /* too long for a prompt */
	sandbox_ready_ended(r, 1);
	assert_true(sandbox_ready_now(r));
	sandbox_ready_free(r);
}

static void port(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	bool six = true;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	unsigned number = ntohs(a.sin_port);
	struct sandbox_ready *both = sandbox_ready_new(number, "up", 0, &err);
	sandbox_ready_saw(both, 0, "up\n", 3);
	assert_false(sandbox_ready_now(both)); /* bound is not yet listening */
	assert_int_equal(sandbox_ready_lacks(both, "late", &err), -1);
	assert_non_null(strstr(err.text, "late: nothing listened on port"));
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(sandbox_listens(0, number, &six), number);
	assert_false(six);
	assert_int_equal(sandbox_listens(getpid(), number, NULL), number);
	assert_int_not_equal(sandbox_listens(0, 0, NULL), 0);
	assert_true(sandbox_ready_now(both));
	close(fd);
	assert_int_equal(sandbox_listens(0, number, NULL), 0);
	sandbox_ready_free(both);
}

static void signals(void **state)
{
	(void)state;
	assert_int_equal(sandbox_signal_named("TERM"), SIGTERM);
	assert_int_equal(sandbox_signal_named("SIGINT"), SIGINT);
	assert_int_equal(sandbox_signal_named("9"), SIGKILL);
	assert_int_equal(sandbox_signal_named("0"), 0);
	assert_int_equal(sandbox_signal_named("999"), 0);
	assert_int_equal(sandbox_signal_named("./stop now"), 0);
}

static void wire(void **state)
{
	(void)state;
	int pair[2], fd[SANDBOX_MAX_FDS], give[2];
	size_t n;
	char text[4] = "abc", got[4];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(give), 0);
	assert_int_equal(sandbox_send(pair[0], text, 4, give, 2), 0);
	assert_int_equal(sandbox_receive(pair[1], got, 4, fd, &n), 1);
	assert_string_equal(got, "abc");
	assert_int_equal(n, 2);
	assert_int_equal(write(fd[1], "z", 1), 1);
	assert_int_equal(read(give[0], got, 1), 1);
	assert_int_equal(sandbox_send(pair[0], text, 2, NULL, 0), 0);
	close(pair[0]);
	assert_int_equal(sandbox_receive(pair[1], got, 4, fd, &n), -1); /* cut short */
	assert_int_equal(n, 0);
	assert_int_equal(sandbox_receive(pair[1], got, 4, fd, &n), 0);
	close(pair[1]);
	assert_int_equal(sandbox_send(give[0], text, 4, NULL, 0), -1);
	for (int i = 0; i < 2; i++) {
		close(give[i]);
		close(fd[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),         cmocka_unit_test(mounts),
		cmocka_unit_test(covered),       cmocka_unit_test(leftover),
		cmocka_unit_test(bad_plan),      cmocka_unit_test(performed),
		cmocka_unit_test(never_removed), cmocka_unit_test(plain_chroot),
		cmocka_unit_test(hindered),      cmocka_unit_test(views),
		cmocka_unit_test(refused),       cmocka_unit_test(output),
		cmocka_unit_test(port),          cmocka_unit_test(signals),
		cmocka_unit_test(wire),
	};
	return cmocka_run_group_tests_name("sandbox", tests, setup, teardown);
}
