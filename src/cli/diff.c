/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast diff: what a finding's crash image lacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/campaign.h"

struct diff_cli {
	bool all;
};

static const struct cli_option diff_options[] = {
	{ "all", 0, CLI_FLAG, NULL, offsetof(struct diff_cli, all),
	  "also lost stores whose bytes are the same in both images, or are stored again" },
	{ NULL },
};

static int cmd_diff(int argc, char **argv);

const struct cli_verb verb_diff = {
	.name = "diff",
	.run = cmd_diff,
	.summary = "what a finding's crash image lacks",
	.usage = "[options] ID [DIR]",
	.about =
		"Shows in which fields the crash image of the finding ID differs from the image with "
		"nothing lost at the same moment: each store that is lost, with its statement, the "
		"type that the debug information tells, and the value in either image. What check found has a "
		"crash image only where a crash proved it; otherwise the reason is said, with status 2.",
	.examples = "holdfast diff 3f9c app-0.hft\twhich stores are missing?\n",
	.options = diff_options,
};

struct walk {
	struct campaign *c;
	bool all;
	unsigned n;
};

static uint64_t number(const uint8_t *bytes, uint32_t len)
{
	uint64_t v = 0;
	memcpy(&v, bytes, len < 8 ? len : 8);
	return v;
}

static void print_text(const uint8_t *bytes, uint32_t len)
{
	putchar('"');
	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\')
			putchar(bytes[i]);
		else
			printf("\\x%02x", bytes[i]);
	putchar('"');
}

static void print_value(const uint8_t *bytes, uint32_t len, enum srcloc_encoding how, bool hex)
{
	uint64_t v = number(bytes, len);
	double d;
	float f;
	if (how == SRCLOC_CHAR)
		print_text(bytes, len);
	else if (how == SRCLOC_FLOAT && len == 8)
		printf("%g", (memcpy(&d, &v, 8), d));
	else if (how == SRCLOC_FLOAT && len == 4)
		printf("%g", (double)(memcpy(&f, &v, 4), f));
	else if (how == SRCLOC_SIGNED && len < 8 && v >> (len * 8 - 1))
		printf("%" PRId64, (int64_t)(v | ~0ull << (len * 8)));
	else if (how == SRCLOC_SIGNED)
		printf("%" PRId64, (int64_t)v);
	else
		printf(hex ? "0x%" PRIx64 : "%" PRIu64, v);
}

static void print_values(const struct crash_lost *lost, enum srcloc_encoding how)
{
	bool hex = how == SRCLOC_POINTER || number(lost->has, lost->len) > UINT32_MAX ||
		   number(lost->should, lost->len) > UINT32_MAX;
	print_value(lost->has, lost->len, how, hex);
	printf(", should be ");
	print_value(lost->should, lost->len, how, hex);
	putchar('\n');
}

static void print_lost(void *arg, const struct crash_lost *lost)
{
	struct walk *w = arg;
	const struct srcloc_frame *f = crash_lost_frame(campaign_crash(w->c), lost);
	const char *slash = strrchr(lost->path, '/');
	const char *statement = f && f->file ? finding_source_line(f->file, f->line) : NULL;
	struct srcloc_lvalue lv = { 0 };
	char where[512];
	bool same = lost->len <= 8 && !memcmp(lost->has, lost->should, lost->len);
	if (!w->all && (same || lost->again))
		return;
	w->n++;
	bool typed = statement &&
		     srcloc_trace_lvalue(crash_srcloc(campaign_crash(w->c)), f, statement, &lv);
	bool fits = typed && (lv.size == lost->len || lv.encoding == SRCLOC_CHAR);
	printf("%s+0x%" PRIx64 "  ", slash ? slash + 1 : lost->path, lost->off);
	if (typed)
		printf("%s%s%s%s%s%s  ", lv.type ? lv.type : "", lv.type && *lv.member ? "." : "",
		       lv.member, lv.member_type ? " (" : "", lv.member_type ? lv.member_type : "",
		       lv.member_type ? ")" : "");
	if (lost->len <= 8)
		print_values(lost, fits ? lv.encoding : SRCLOC_UNSIGNED);
	else
		printf("%u bytes\n", lost->len);
	if (f)
		printf("    %s%s%s\n", srcloc_text(f, where, sizeof where), statement ? ": " : "",
		       statement ? statement + strspn(statement, " \t") : "");
}

static int diff(struct walk *w, const char *id, struct err *err)
{
	struct finding *f = campaign_finding(w->c, id, err);
	int bad = !f || campaign_history(w->c, err) ||
		  crash_diff(campaign_crash(w->c), f->crash->state, print_lost, w, err);
	if (!bad && !w->n)
		printf("nothing is lost: the crash comes between two stores of the program\n");
	if (f)
		finding_free(f);
	return bad;
}

static int cmd_diff(int argc, char **argv)
{
	struct diff_cli o = { 0 };
	struct walk w = { 0 };
	struct err err;
	int status = cli_parse(&verb_diff, &o, &argc, &argv);
	if (status != CLI_GO)
		return status;
	if (argc < 1 || argc > 2)
		return cli_usage(&verb_diff, "the ID of a finding is needed");
	char *dir = campaign_find(argc > 1 ? argv[1] : NULL, &err);
	if (!dir)
		return cli_fail(&err);
	w.all = o.all;
	stdout_printable(true);
	status = EXIT_NOTHING;
	w.c = campaign_open(dir, NULL, CAMPAIGN_DB_READ, &err);
	if (!w.c || diff(&w, argv[0], &err))
		status = cli_fail(&err);
	stdout_printable(false);
	campaign_close(w.c);
	free(dir);
	return status;
}
