/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors as text for people, and the exit status they ask for. */
#include <errno.h>
#include <string.h>

#include "base/base.h"

static void set(struct err *err, int status, const char *fmt, va_list ap)
{
	err->status = status;
	err->plain = false;
	vsnprintf(err->text, sizeof err->text, fmt, ap);
}

int err_set(struct err *err, int status, const char *fmt, ...)
{
	va_list ap;
	if (!err)
		return -1;
	va_start(ap, fmt);
	set(err, status, fmt, ap);
	va_end(ap);
	return -1;
}

int err_errno(struct err *err, int status, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;
	if (!err)
		return -1;
	va_start(ap, fmt);
	set(err, status, fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(saved));
	errno = saved;
	return -1;
}
