/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaigns apart from their database: settings that are resumed, findings that are merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "campaign/campaign.h"

static char root[] = "/tmp/holdfast-campaign-XXXXXX";
static struct err err;

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

/* ---- settings ---- */

static void test_settings_by_name(void **state)
{
	struct campaign_settings s = { 0 }, other = { 0 };
	(void)state;
	assert_null(campaign_settings_get(&s, "recover"));
	campaign_settings_put(&s, "recover", "./app check");
	campaign_settings_put(&s, "only", "a\nb");
	campaign_settings_put(&s, "recover", "./app fsck");
	assert_int_equal(s.n, 2);
	assert_string_equal(campaign_settings_get(&s, "recover"), "./app fsck");
	campaign_settings_put(&other, "recover", "true");
	campaign_settings_put(&other, "seed", "3");
	campaign_settings_copy(&other, &s);
	campaign_settings_free(&s);
	assert_int_equal(other.n, 3);
	assert_string_equal(campaign_settings_get(&other, "recover"), "./app fsck");
	assert_string_equal(campaign_settings_get(&other, "only"), "a\nb");
	campaign_settings_free(&other);
}

static void test_settings_are_resumed(void **state)
{
	struct campaign_settings kept = { 0 }, given = { 0 };
	struct campaign_db *db = campaign_db_open(root, CAMPAIGN_DB_NEW, &err);
	(void)state;
	assert_non_null(db);
	campaign_settings_put(&kept, "recover", "./app check");
	campaign_settings_put(&kept, "seed", "7");
	assert_int_equal(campaign_settings_save(db, &kept, &err), 0);

	campaign_settings_put(&given, "seed", "7");
	assert_int_equal(campaign_settings_resume(db, "recover", "campaign", &given, &err), 0);
	assert_int_equal(campaign_settings_resume(db, "seed", "campaign", &given, &err), 0);
	assert_int_equal(campaign_settings_resume(db, "model", "campaign", &given, &err), 0);
	assert_string_equal(campaign_settings_get(&given, "recover"), "./app check");
	assert_null(campaign_settings_get(&given, "model"));

	campaign_settings_put(&given, "seed", "8");
	assert_int_equal(campaign_settings_resume(db, "seed", "campaign", &given, &err), -1);
	assert_string_equal(err.text, "--seed is '7' in this campaign; start another with --fresh");
	campaign_settings_put(&given, "model", "eadr");
	assert_int_equal(campaign_settings_resume(db, "model", "campaign", &given, &err), -1);
	assert_string_equal(err.text, "--model is '' in this campaign; start another with --fresh");
	campaign_settings_free(&kept);
	campaign_settings_free(&given);
	assert_int_equal(campaign_db_close(db, &err), 0);
}

/* The counter of the same name does not take the setting's place. */
static void test_points_is_a_setting_and_a_counter(void **state)
{
	struct campaign_settings kept = { 0 }, given = { 0 };
	struct campaign_db *db = campaign_db_open(root, CAMPAIGN_DB_FRESH, &err);
	(void)state;
	assert_non_null(db);
	/* As campaigns were kept before the setting had a key of its own. */
	assert_int_equal(campaign_db_set(db, "points", "op", &err), 0);
	assert_int_equal(campaign_settings_resume(db, "points", "campaign", &given, &err), 0);
	assert_string_equal(campaign_settings_get(&given, "points"), "op");
	campaign_settings_free(&given);
	assert_int_equal(campaign_db_set(db, "points", "71", &err), 0);
	assert_int_equal(campaign_settings_resume(db, "points", "campaign", &given, &err), 0);
	assert_null(campaign_settings_get(&given, "points"));

	campaign_settings_put(&kept, "points", "store");
	assert_int_equal(campaign_settings_save(db, &kept, &err), 0);
	assert_string_equal(campaign_db_get(db, "points"), "71");
	assert_int_equal(campaign_settings_resume(db, "points", "campaign", &given, &err), 0);
	assert_string_equal(campaign_settings_get(&given, "points"), "store");
	campaign_settings_free(&kept);
	campaign_settings_free(&given);
	assert_int_equal(campaign_db_close(db, &err), 0);
}

/* A value that makes sense for each setting; those that are not here take any text. */
static const struct {
	const char *name, *good, *bad;
} values[] = {
	{ "recover", "true", "no-such-program-anywhere" },
	{ "budget", "5m", "five" },
	{ "budget", "none", "all" },
	{ "shard", "1/3", "4/3" },
	{ "budget", "300", "0" },
	{ "model", "eadr", "edar" },
	{ "timeout", "200ms", "0s" },
	{ "memory", "4G", "much" },
	{ "output-cap", "16M", "16X" },
	{ "expect-exit", "0,3-5", "3-" },
	{ "fail-regex", "error", "(" },
	{ "probe", "true", "no-such-program-anywhere" },
	{ "continue", "cat {ops}", "true" },
	{ "continue", "cat {ops}", "no-such-program-anywhere {ops}" },
	{ "ignore", "at [0-9]*", "(" },
	{ "judge", "output", "loudness" },
	{ "port", "7000", NULL },
	{ "view", "auto", "mirror" },
};

static void fill(struct campaign_settings *s)
{
	const char *name;
	for (size_t i = 0; (name = campaign_setting_name(i)); i++)
		campaign_settings_put(s, name, strcmp(name, "stop") == 0 ? "TERM" : "1");
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		campaign_settings_put(s, values[i].name, values[i].good);
	campaign_settings_put(s, "recover-client", "true");
}

static void test_settings_must_make_sense(void **state)
{
	struct campaign_settings s = { 0 };
	(void)state;
	assert_int_equal(campaign_check(&s, &err), -1);
	assert_non_null(strstr(err.text, "--recover CMD is needed"));
	fill(&s);
	if (campaign_check(&s, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		if (!values[i].bad)
			continue;
		campaign_settings_put(&s, values[i].name, values[i].bad);
		if (!campaign_check(&s, &err))
			fail_msg("--%s %s is accepted", values[i].name, values[i].bad);
		campaign_settings_put(&s, values[i].name, values[i].good);
	}
	campaign_settings_put(&s, "recoverr", "true");
	assert_int_equal(campaign_check(&s, &err), -1);
	assert_string_equal(err.text, "a campaign has no setting 'recoverr'");
	campaign_settings_free(&s);
}

/* ---- merging ---- */

static struct finding *add(struct finding_set *set, enum finding_kind kind, uint32_t line,
			   bool crash)
{
	struct srcloc_frame frame = { .function = "insert", .file = "/p/list.c", .line = line };
	struct finding *f = finding_new(finding_kind_info(kind));
	f->place = finding_place_copy((struct srcloc_where){ &frame, 1 });
	if (crash) {
		f->cause = xstrdup("failed 1");
		finding_crash(f)->verdict = xstrdup("failed");
	}
	return finding_add(set, f);
}

/* The crash says more about a store that both found to be unpersisted; other misuse is another matter. */
static void test_shown_by_crash(void **state)
{
	struct finding_set set = { 0 }, checked = { 0 };
	const struct {
		enum finding_kind kind;
		uint32_t line;
		bool shown;
	} rows[] = {
		{ FINDING_MISSING_FLUSH, 10, true },  { FINDING_LATE_PERSIST, 10, true },
		{ FINDING_TRANSIENT_DATA, 10, true }, { FINDING_REDUNDANT_FLUSH, 10, false },
		{ FINDING_MISSING_FLUSH, 20, false }, /* an ordering is another matter */
		{ FINDING_MISSING_FLUSH, 11, false },
	};
	(void)state;
	struct finding *fence = add(&set, FINDING_MISSING_FENCE, 10, true);
	add(&set, FINDING_ORDERING, 20, true);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct finding *f = add(&checked, rows[i].kind, rows[i].line, false);
		assert_ptr_equal(campaign_shown_by_crash(&set, f), rows[i].shown ? fence : NULL);
	}
	finding_set_free(&set);
	finding_set_free(&checked);
}

/* Without a crash that shows it, misuse stays; what check found shows nothing. */
static void test_only_crashes_show(void **state)
{
	struct finding_set set = { 0 };
	struct finding *f;
	(void)state;
	f = add(&set, FINDING_MISSING_FLUSH, 10, false);
	assert_null(campaign_shown_by_crash(&set, f));
	add(&set, FINDING_MISSING_FLUSH_AND_FENCE, 10, true);
	assert_non_null(campaign_shown_by_crash(&set, f));
	finding_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_by_name),
		cmocka_unit_test(test_settings_are_resumed),
		cmocka_unit_test(test_points_is_a_setting_and_a_counter),
		cmocka_unit_test(test_settings_must_make_sense),
		cmocka_unit_test(test_shown_by_crash),
		cmocka_unit_test(test_only_crashes_show),
	};
	return cmocka_run_group_tests_name("campaign", tests, setup, teardown);
}
