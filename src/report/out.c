/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting a report out: valid UTF-8 whatever the names and sources hold, and never half a file.
 *
 * A report is written to a temporary file in the folder of its path, which is then renamed. What
 * is not a regular file (a pipe, /dev/null) is written in place; a symbolic link stays one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/internal.h"

/* Length of the UTF-8 sequence at p; 0 if it is none. */
static size_t sequence(const unsigned char *p)
{
	size_t n = *p < 0x80 ? 1 : (*p & 0xe0) == 0xc0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : 4;
	uint32_t code = n == 1 ? *p : *p & (0x7fu >> n);
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (*p > 0xf4 || (*p & 0xc0) == 0x80)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	return code < least[n] || code > 0x10ffff || (code & ~0x7ffu) == 0xd800 ? 0 : n;
}

void report_utf8(struct buf *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		size_t n = sequence(p);
		buf_add(out, n ? (const char *)p : "\xef\xbf\xbd", n ? n : 3);
		p += n ? n : 1;
	}
}

cJSON *report_text_item(const char *text)
{
	struct buf clean = { 0 };
	if (!text)
		return cJSON_CreateNull();
	report_utf8(&clean, text);
	buf_add(&clean, "", 1);
	cJSON *item = cJSON_CreateString(clean.p);
	buf_free(&clean);
	return item;
}

cJSON *report_add_text(cJSON *object, const char *name, const char *text)
{
	cJSON *item = report_text_item(text);
	cJSON_AddItemToObject(object, name, item);
	return item;
}

static int write_stdout(const char *data, size_t n, struct err *err)
{
	if (fwrite(data, 1, n, stdout) != n || fflush(stdout))
		return err_errno(err, EXIT_INTERNAL, "cannot write the report to stdout");
	return 0;
}

static int write_in_place(const char *path, const char *data, size_t n, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, EXIT_USAGE, "cannot write the report %s", path);
	int failed = write_all(fd, data, n);
	if (failed)
		err_errno(err, EXIT_INTERNAL, "cannot write the report %s", path);
	if (close(fd) && !failed)
		failed = err_errno(err, EXIT_INTERNAL, "cannot write the report %s", path);
	return failed;
}

/* Where the temporary file of a path would be, "XXXXXX" at its end. */
static char *aside_of(const char *path)
{
	const char *base = report_base(path);
	return xasprintf("%.*s.%.200s.XXXXXX", (int)(base - path), path, base);
}

static int write_aside(const char *path, const char *data, size_t n, struct err *err)
{
	char *aside = aside_of(path);
	mode_t mask = umask(0);
	int status = 0, fd;
	umask(mask);
	fd = mkostemp(aside, O_CLOEXEC);
	if (fd < 0) {
		err_errno(err, EXIT_USAGE, "cannot write the report %s", path);
		free(aside);
		return -1;
	}
	if (write_all(fd, data, n) || fchmod(fd, 0666 & ~mask))
		status = err_errno(err, EXIT_INTERNAL, "cannot write the report %s", path);
	if (close(fd) && !status)
		status = err_errno(err, EXIT_INTERNAL, "cannot write the report %s", path);
	if (!status && rename(aside, path))
		status = err_errno(err, EXIT_USAGE, "cannot write the report %s", path);
	if (status)
		unlink(aside);
	free(aside);
	return status;
}

int report_check_path(const char *path, struct err *err)
{
	struct stat st;
	bool bad;
	if (!strcmp(path, "-"))
		return 0;
	bool exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		bad = S_ISDIR(st.st_mode) || access(path, W_OK);
		errno = S_ISDIR(st.st_mode) ? EISDIR : errno;
	} else {
		char *real = exists ? realpath(path, NULL) : NULL;
		char *aside = aside_of(real ? real : path);
		int fd = mkostemp(aside, O_CLOEXEC);
		bad = fd < 0;
		if (!bad) {
			close(fd);
			unlink(aside);
		}
		free(aside);
		free(real);
	}
	return bad ? err_errno(err, EXIT_USAGE, "cannot write the report %s", path) : 0;
}

int report_write(const char *path, const char *data, size_t n, struct err *err)
{
	struct stat st;
	char *real;
	if (!strcmp(path, "-"))
		return write_stdout(data, n, err);
	bool exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode))
		return write_in_place(path, data, n, err);
	real = exists ? realpath(path, NULL) : NULL;
	int status = write_aside(real ? real : path, data, n, err);
	free(real);
	return status;
}

int report_write_json(const char *path, cJSON *tree, struct err *err)
{
	char *text = cJSON_Print(tree);
	struct buf out = { 0 };
	cJSON_Delete(tree);
	if (!text)
		return err_set(err, EXIT_INTERNAL, "cannot write the report %s: out of memory",
			       path);
	buf_puts(&out, text);
	buf_puts(&out, "\n");
	cJSON_free(text);
	int status = report_write(path, out.p, out.n, err);
	buf_free(&out);
	return status;
}

int report_write_printed(const struct report *r, void (*print)(const struct report *, FILE *),
			 const char *path, struct err *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);
	if (!mem)
		return err_errno(err, EXIT_INTERNAL, "cannot write the report %s", path);
	print(r, mem);
	fclose(mem);
	int status = report_write(path, text, n, err);
	free(text);
	return status;
}
