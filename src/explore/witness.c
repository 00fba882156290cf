/* SPDX-License-Identifier: BSD-3-Clause */
/* A finding's input as text for the database: lines of a word and its values. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

char *explore_witness(const struct explore_hit *hit)
{
	struct buf b = { 0 };
	buf_printf(&b, "phase %u\nbranches %" PRIu64 "\ntrail %" PRIx64 "\ndeath %" PRIx64 "\nnow",
		   hit->phase, hit->branches, hit->trail, hit->death);
	for (size_t i = 0; i < hit->nsources; i++)
		buf_printf(&b, " %u", hit->input.now[i]);
	buf_puts(&b, "\nbytes ");
	for (size_t i = 0; i < hit->input.n; i++)
		buf_printf(&b, "%02x", hit->input.byte[i]);
	if (hit->campaign)
		buf_printf(&b, "\ncampaign %s", hit->campaign);
	buf_puts(&b, "\n");
	buf_add(&b, "", 1);
	return b.p;
}

static void parse_bytes(const char *hex, struct symbolic_input *in)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	in->byte = xcalloc(n + 1, 1);
	in->n = n;
	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		in->byte[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

int explore_witness_parse(const char *text, struct explore_hit *hit, struct err *err)
{
	const char *line = text;
	while (line && *line) {
		const char *value = line + strcspn(line, " \n");
		char *end;
		if (!strncmp(line, "phase ", 6)) {
			hit->phase = (unsigned)strtoul(value, NULL, 10);
		} else if (!strncmp(line, "branches ", 9)) {
			hit->branches = strtoull(value, NULL, 10);
		} else if (!strncmp(line, "trail ", 6)) {
			hit->trail = strtoull(value, NULL, 16);
		} else if (!strncmp(line, "death ", 6)) {
			hit->death = strtoull(value, NULL, 16);
		} else if (!strncmp(line, "now ", 4)) {
			for (size_t i = 0; *value == ' ' && i < SYM_MAX_SOURCES; i++, value = end)
				hit->input.now[i] = (uint32_t)strtoul(value, &end, 10),
				hit->nsources = i + 1;
		} else if (!strncmp(line, "bytes ", 6)) {
			free(hit->input.byte);
			parse_bytes(value + 1, &hit->input);
		} else if (!strncmp(line, "campaign ", 9)) {
			free(hit->campaign);
			hit->campaign = xasprintf("%.*s", (int)strcspn(value + 1, "\n"), value + 1);
		}
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return hit->input.byte ? 0 : err_set(err, EXIT_USAGE, "the finding's input is damaged");
}
