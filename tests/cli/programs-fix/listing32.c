/* SPDX-License-Identifier: BSD-3-Clause */
/* HIPPOCRATES, listing 3.2: a copy to PM by a library's function, which nobody persists. */
#include "pool.h"

struct note {
	uint64_t length;
	char text[200];
};

static void create(struct note *note)
{
	memset(note, 0, sizeof(*note));
	flush(note, sizeof(*note));
	fence();
}

static void assign(struct note *note, const char *text, size_t size, int changed)
{
	if (changed) {
		memcpy(note->text, text, size);
	}
}

int main(int argc, char **argv)
{
	struct note *note = (struct note *)pool_open(argv[argc - 1]);
	char text[180];
	memset(text, 'x', sizeof(text));
	create(note);
	assign(note, text, sizeof(text), argc);
	return 0;
}
