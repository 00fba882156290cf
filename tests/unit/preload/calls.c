/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every sort of function that takes a path, in a folder that the library covers; says what
 * is not as it should be. OUTSIDE is a folder that is not covered.
 *
 *   ./old  "old\n"     ./dir/deep  "deep\n"     ./held  locked by somebody else
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad;
static char here[4096];
static const char *outside;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("%s:%d: %s: %s\n", __func__, __LINE__, #what, strerror(errno));     \
			bad = 1;                                                                   \
		}                                                                                  \
	} while (0)

static char *content(const char *path)
{
	static char buf[256];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(buf, 1, sizeof buf - 1, f) : 0;
	if (f)
		fclose(f);
	buf[n] = '\0';
	return buf;
}

static bool is(const char *path, const char *text)
{
	return !strcmp(content(path), text);
}

static void put(const char *path, const char *mode, const char *text)
{
	FILE *f = fopen(path, mode);
	CHECK(f);
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void streams(void)
{
	put("old", "a", "more\n");
	CHECK(is("old", "old\nmore\n"));
	put("stream", "w", "x");
	FILE *f = freopen("stream", "a", fopen("/dev/null", "w"));
	CHECK(f);
	if (f) {
		fputs("y", f);
		fclose(f);
	}
	CHECK(is("stream", "xy"));
}

static void temporary(void)
{
	char name[] = "tmp-XXXXXX.c", dir[] = "tmp-XXXXXX";
	int fd = mkstemps(name, 2);
	struct stat st;
	CHECK(fd >= 0 && !access(name, W_OK));
	close(fd);
	CHECK(mkdtemp(dir) && !stat(dir, &st) && S_ISDIR(st.st_mode));
	CHECK(!rmdir(dir) && !unlink(name) && access(name, F_OK));
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	CHECK(fd >= 0 && write(fd, "named", 5) == 5);
	snprintf(dir, sizeof dir, "/proc/%d", 0);
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	CHECK(!linkat(AT_FDCWD, link, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	CHECK(is("named", "named"));
	close(fd);
}

static int counted;

static int count(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	counted += strstr(path, "walk") != NULL;
	return 0;
}

static int only_new(const struct dirent *e)
{
	return !strncmp(e->d_name, "new", 3);
}

static void folders(void)
{
	struct dirent **list = NULL;
	glob_t g;
	CHECK(!mkdir("dir/walk", 0755) && !mkdir("dir/walk/in", 0755));
	put("dir/walk/new1", "w", "1");
	put("dir/walk/in/new2", "w", "2");
	CHECK(scandir("dir/walk", &list, only_new, alphasort) == 1);
	CHECK(!glob("d*/walk/*", 0, NULL, &g) && g.gl_pathc == 2 &&
	      !strcmp(g.gl_pathv[0], "dir/walk/in"));
	CHECK(!nftw("dir", count, 8, FTW_PHYS) && counted == 4);
	CHECK(!rename("dir/deep", "dir/walk/deep") && access("dir/deep", F_OK));
	CHECK(is("dir/walk/deep", "deep\n"));
	DIR *d = opendir("dir");
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	CHECK(n == 1);
	rewinddir(d);
	CHECK(telldir(d) == 0 && readdir(d) && dirfd(d) >= 0);
	closedir(d);
}

static void working_directory(void)
{
	char buf[4096], want[4200];
	CHECK(!mkdir("place", 0755) && !chdir("place"));
	snprintf(want, sizeof want, "%s/place", here);
	CHECK(getcwd(buf, sizeof buf) && !strcmp(buf, want));
	put("inner", "w", "inner");
	CHECK(is("../place/inner", "inner") && is("../old", "old\nmore\n"));
	char *real = realpath("../place/./inner", NULL);
	strcat(want, "/inner");
	CHECK(real && !strcmp(real, want));
	CHECK(readlink("/proc/self/cwd", buf, sizeof buf) == (ssize_t)strlen(here) + 6);
	CHECK(!chdir(here));
}

static void shared_memory(void)
{
	int fd = shm_open("/hf-preload-test", O_CREAT | O_RDWR, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, 4096) && !access("/dev/shm/hf-preload-test", F_OK));
	close(fd);
	CHECK(!shm_unlink("/hf-preload-test") && access("/dev/shm/hf-preload-test", F_OK));
	sem_t *s = sem_open("/hf-preload-test", O_CREAT, 0600, 2);
	CHECK(s != SEM_FAILED && !sem_trywait(s));
	sem_t *again = sem_open("/hf-preload-test", 0);
	int v = 0;
	CHECK(again != SEM_FAILED && !sem_getvalue(again, &v) && v == 1);
	CHECK(!sem_close(s) && !sem_close(again));
	CHECK(sem_open("/hf-preload-test", O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED);
}

static void sockets(void)
{
	static const char *const names[] = {
		"sock", "dir/a-name-that-is-quite-long-but-still-a-name-for-a-socket-as-such"
	};
	for (int i = 0; i < 2; i++) {
		struct sockaddr_un a = { .sun_family = AF_UNIX }, b;
		socklen_t n = sizeof b;
		int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
		strcpy(a.sun_path, names[i]);
		CHECK(!bind(s, (struct sockaddr *)&a, sizeof a) && !listen(s, 1));
		CHECK(!connect(c, (struct sockaddr *)&a, sizeof a));
		CHECK(bind(c, (struct sockaddr *)&a, sizeof a) && errno == EADDRINUSE);
		CHECK(!getsockname(s, (struct sockaddr *)&b, &n) && b.sun_family == AF_UNIX);
		close(s);
		close(c);
		CHECK(!unlink(names[i]));
	}
}

/* What was there cannot be locked or changed through a descriptor that only reads it. */
static void descriptors(void)
{
	struct stat st;
	int fd = open("held", O_RDONLY);
	char link[64], buf[4096];
	CHECK(fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB));
	CHECK(!fchmod(fd, 0640) && !fstat(fd, &st) && (st.st_mode & 0777) == 0640);
	CHECK(!stat("held", &st) && (st.st_mode & 0777) == 0640);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, buf, sizeof buf - 1);
	buf[n > 0 ? n : 0] = '\0';
	CHECK(!strncmp(buf, here, strlen(here)) && !strcmp(buf + strlen(here), "/held"));
	close(fd);
	fd = open("held", O_RDONLY);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	int again = open(link, O_WRONLY | O_TRUNC);
	CHECK(again >= 0 && write(again, "mine", 4) == 4 && is("held", "mine"));
	close(again);
	close(fd);
	CHECK(!truncate("held", 2) && is("held", "mi"));
	CHECK(!utimes("held", (const struct timeval[2]){ { 7, 0 }, { 7, 0 } }) &&
	      !stat("held", &st) && st.st_mtime == 7);
}

static void by_number(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "raw", O_CREAT | O_WRONLY, 0600);
	struct stat st;
	CHECK(fd >= 0 && syscall(SYS_write, fd, "raw", 3) == 3 && !close(fd));
	CHECK(is("raw", "raw") && !syscall(SYS_newfstatat, AT_FDCWD, "raw", &st, 0));
	CHECK(!syscall(SYS_unlink, "raw") && access("raw", F_OK));
	CHECK(!mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) || errno);
}

/* Files are never the same in a covered folder and outside, even through links. */
static void boundary(void)
{
	char out[4200], link[4200];
	snprintf(out, sizeof out, "%s/file", outside);
	snprintf(link, sizeof link, "%s/link", outside); /* to old */
	CHECK(rename("old", out) && errno == EXDEV);
	CHECK(rename(out, "new") && errno == EXDEV);
	CHECK(link[0] && symlink(out, "to-out") == 0 && is("to-out", "out\n"));
	CHECK(linkat(AT_FDCWD, "old", AT_FDCWD, out, 0) && (errno == EXDEV || errno == EEXIST));
	put(link, "a", "linked\n");
	CHECK(is("old", "old\nmore\nlinked\n"));
}

static void map(void)
{
	int fd = open("dir/walk/deep", O_RDWR);
	char *p = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	p[0] = 'D';
	CHECK(!msync(p, 4, MS_SYNC) && is("dir/walk/deep", "Deep\n"));
	close(fd);
}

static int ended(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Programs see what we see, whatever their environment. */
static void programs(void)
{
	static char *const none[] = { NULL };
	char *const grep[] = { (char *)"grep", (char *)"-q", (char *)"linked", (char *)"old",
			       NULL };
	pid_t pid = fork();
	if (pid == 0) {
		execve("/bin/grep", grep, none);
		_exit(99);
	}
	CHECK(ended(pid) == 0);
	pid = vfork();
	if (pid == 0) {
		execlp("grep", "grep", "-q", "linked", "old", (char *)NULL);
		_exit(99);
	}
	CHECK(ended(pid) == 0);
	CHECK(!posix_spawnp(&pid, "grep", NULL, NULL, grep, none) && ended(pid) == 0);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT, 0600);
	char *const echo[] = { (char *)"echo", (char *)"hello", NULL };
	CHECK(!posix_spawn(&pid, "/bin/echo", &actions, NULL, echo, none) && ended(pid) == 0);
	CHECK(is("spawned", "hello\n"));
	CHECK(system("test -s spawned && env -i /bin/sh -c 'echo shell >> spawned'") == 0);
	FILE *f = popen("rm spawned; cat old | tail -n 1", "r");
	char line[64] = "";
	CHECK(f && fgets(line, sizeof line, f) && !strcmp(line, "linked\n"));
	if (f)
		pclose(f);
	CHECK(access("spawned", F_OK));
	/* a script, and one without a first line */
	put("script", "w", "#!/bin/sh\ntest -e old\n");
	put("plain", "w", "test -e old\n");
	CHECK(!chmod("script", 0755) && !chmod("plain", 0755));
	CHECK(system("./script") == 0);
	pid = fork();
	if (pid == 0) {
		execlp("./plain", "plain", (char *)NULL);
		_exit(99);
	}
	CHECK(ended(pid) == 0);
}

static void library(void)
{
	void *m = dlopen("libm.so.6", RTLD_NOW);
	CHECK(m);
	Dl_info info = { 0 };
	if (m)
		CHECK(dladdr(dlsym(m, "sqrt"), &info) && info.dli_fname);
	char command[4200];
	snprintf(command, sizeof command, "cp '%s' ./own.so", info.dli_fname);
	CHECK(system(command) == 0);
	CHECK(dlopen("./own.so", RTLD_NOW));
}

static void *bring(void *arg)
{
	int fd = open("held", O_RDWR);
	(void)arg;
	CHECK(fd >= 0);
	close(fd);
	for (int i = 0; i < 50; i++) {
		struct stat st;
		CHECK(!stat("old", &st) && !access("dir", X_OK));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, bring, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	outside = argc > 1 ? argv[1] : "";
	if (!getcwd(here, sizeof here))
		return 2;
	streams();
	temporary();
	folders();
	working_directory();
	shared_memory();
	sockets();
	descriptors();
	by_number();
	boundary();
	map();
	programs();
	library();
	threads();
	puts(bad ? "bad" : "good");
	return bad;
}
