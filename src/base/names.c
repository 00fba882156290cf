/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that people choose from by name. */
#include <string.h>

#include "base/base.h"

size_t name_find(name_at *at, const char *name, size_t len)
{
	const char *known, *about;
	for (size_t i = 0; (known = at(i, &about)); i++)
		if (strlen(known) == len && !memcmp(known, name, len))
			return i;
	return SIZE_MAX;
}

bool names_known(name_at *at, const char *names, const char *separator)
{
	for (;;) {
		size_t len = strcspn(names, separator);
		if (name_find(at, names, len) == SIZE_MAX)
			return false;
		if (!names[len])
			return true;
		names += len + 1;
	}
}
