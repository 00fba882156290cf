/* SPDX-License-Identifier: BSD-3-Clause */
/* A finding's input as text for the database: lines of a word and its values. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore/found.h"

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

/* ---- one function for each word ---- */

static void take_phase(struct explore_hit *hit, const char *value)
{
	hit->phase = (unsigned)strtoul(value, NULL, 10);
}

static void take_branches(struct explore_hit *hit, const char *value)
{
	hit->branches = strtoull(value, NULL, 10);
}

static void take_trail(struct explore_hit *hit, const char *value)
{
	hit->trail = strtoull(value, NULL, 16);
}

static void take_death(struct explore_hit *hit, const char *value)
{
	hit->death = strtoull(value, NULL, 16);
}

static void take_now(struct explore_hit *hit, const char *value)
{
	hit->nsources = 0;
	for (char *end; hit->nsources < SYM_MAX_SOURCES; value = end) {
		unsigned long now = strtoul(value, &end, 10);
		if (end == value)
			break;
		hit->input.now[hit->nsources++] = (uint32_t)now;
	}
}

static void take_bytes(struct explore_hit *hit, const char *hex)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	free(hit->input.byte);
	hit->input.byte = xcalloc(n + 1, 1);
	hit->input.n = n;
	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		hit->input.byte[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

static void take_campaign(struct explore_hit *hit, const char *value)
{
	free(hit->campaign);
	hit->campaign = xstrdup(value);
}

static const struct word {
	const char *name;
	void (*take)(struct explore_hit *, const char *value);
} words[] = {
	{ "phase", take_phase },       { "branches", take_branches }, { "trail", take_trail },
	{ "death", take_death },       { "now", take_now },           { "bytes", take_bytes },
	{ "campaign", take_campaign },
};

int explore_witness_parse(const char *text, struct explore_hit *hit, struct err *err)
{
	char *own = xstrdup(text), *rest = own;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *name = strsep(&line, " ");
		for (size_t i = 0; line && i < sizeof words / sizeof *words; i++)
			if (!strcmp(words[i].name, name))
				words[i].take(hit, line);
	}
	free(own);
	return hit->input.byte ? 0 : err_set(err, EXIT_USAGE, "the finding's input is damaged");
}
