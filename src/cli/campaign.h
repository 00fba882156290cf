/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of crash campaigns, and what is said about them. */
#ifndef HOLDFAST_CLI_CAMPAIGN_H
#define HOLDFAST_CLI_CAMPAIGN_H

#include "campaign/campaign.h"
#include "cli/choices.h"

struct campaign_opts {
	/* settings of the campaign, which are kept with it */
	const char *recover, *strategy, *model, *points, *budget;
	const char *timeout, *memory, *output_cap, *expect_exit, *fail_regex, *view;
	const char *probe, *go_on, *ops_file, *ignore, *judge, *ops_calls, *ops_way;
	const char *recover_client, *port, *ready, *stop;
	struct cli_list only;
	const char *shard;
	uint64_t max_per_path, after, seed, random, ops_skip, suffix;
	bool fast, same_address, no_reduce;
	/* of this run only */
	uint64_t jobs;
	bool resume, fresh;
};

/* The settings, by the names that campaigns have for them; T has a `struct campaign_opts crash`. */
#define CAMPAIGN_SETTINGS(T)                                                                          \
	{ "recover",                                                                                  \
	  0,                                                                                          \
	  CLI_TEXT,                                                                                   \
	  "CMD",                                                                                      \
	  offsetof(T, crash.recover),                                                                 \
	  "the program's own recovery, or any checker: it sees the crash image at the pool's "        \
	  "original path; {pool} in it stands for that path" },                                       \
		{ "strategy",                                                                         \
		  0,                                                                                  \
		  CLI_CHOICE,                                                                         \
		  NULL,                                                                               \
		  offsetof(T, crash.strategy),                                                        \
		  "which crash states to test; several take turns: lost+behind",                      \
		  &choices_strategy },                                                                \
		{ "budget",                                                                           \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "TIME|STATES|none",                                                                 \
		  offsetof(T, crash.budget),                                                          \
		  "stop after this time (90s, 10m, 2h) or this many images; random goes on till "     \
		  "then. 10m without it, and none is until all is tested" },                          \
		{ "shard",                                                                            \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "K/N",                                                                              \
		  offsetof(T, crash.shard),                                                           \
		  "test only the K-th of N parts of the crash states; holdfast merge joins them" },   \
		{ "points",       0, CLI_CHOICE, NULL, offsetof(T, crash.points), "where to crash",   \
		  &choices_points },                                                                  \
		{ "max-per-path",                                                                     \
		  0,                                                                                  \
		  CLI_NUMBER,                                                                         \
		  "N",                                                                                \
		  offsetof(T, crash.max_per_path),                                                    \
		  "crash at most N times at the same point with the same call path, spread over "     \
		  "the run; 8 without it" },                                                          \
		{ "only",                                                                             \
		  0,                                                                                  \
		  CLI_LIST,                                                                           \
		  "FUNC|FILE",                                                                        \
		  offsetof(T, crash.only),                                                            \
		  "only points with a function or file on their call path that matches; may be "      \
		  "given several times" },                                                            \
		{ "after",                                                                            \
		  0,                                                                                  \
		  CLI_NUMBER,                                                                         \
		  "N",                                                                                \
		  offsetof(T, crash.after),                                                           \
		  "only points from event N on" },                                                    \
		{ "model",                                                                            \
		  0,                                                                                  \
		  CLI_CHOICE,                                                                         \
		  NULL,                                                                               \
		  offsetof(T, crash.model),                                                           \
		  "what survives a crash",                                                            \
		  &choices_model },                                                                   \
		{ "timeout",                                                                          \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "TIME",                                                                             \
		  offsetof(T, crash.timeout),                                                         \
		  "a recovery that takes longer hangs; 10s without it" },                             \
		{ "memory",                                                                           \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "SIZE",                                                                             \
		  offsetof(T, crash.memory),                                                          \
		  "limit of a recovery's private memory (4G); none without it" },                     \
		{ "output-cap",                                                                       \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "SIZE",                                                                             \
		  offsetof(T, crash.output_cap),                                                      \
		  "a recovery that writes more is ended; 16M without it" },                           \
		{ "expect-exit",                                                                      \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "LIST",                                                                             \
		  offsetof(T, crash.expect_exit),                                                     \
		  "exit statuses of a recovery that are fine (0,3-5); 0 without it" },                \
		{ "fail-regex",                                                                       \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "REGEX",                                                                            \
		  offsetof(T, crash.fail_regex),                                                      \
		  "a recovery whose output matches has failed" },                                     \
		{ "probe",                                                                            \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "CMD",                                                                              \
		  offsetof(T, crash.probe),                                                           \
		  "prints what is in the pool, after --recover or without one: on a crash image "     \
		  "it must be what it was before the operation in flight, or after it" },             \
		{ "continue",                                                                         \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "CMD",                                                                              \
		  offsetof(T, crash.go_on),                                                           \
		  "goes on after the crash, after --recover and --probe or without them: {ops} in "   \
		  "it is a file with the operations that follow the one in flight, and what it "      \
		  "prints must be what it prints if that one had not begun, or had ended" },          \
		{ "ops-file",                                                                         \
		  0,                                                                                  \
		  CLI_FILE,                                                                           \
		  "FILE",                                                                             \
		  offsetof(T, crash.ops_file),                                                        \
		  "the operations that the program is given, one a line, for --continue" },           \
		{ "ops-skip",                                                                         \
		  0,                                                                                  \
		  CLI_NUMBER,                                                                         \
		  "N",                                                                                \
		  offsetof(T, crash.ops_skip),                                                        \
		  "its first N lines are no operations but a header, which {ops} has, too" },         \
		{ "suffix",                                                                           \
		  0,                                                                                  \
		  CLI_NUMBER,                                                                         \
		  "N",                                                                                \
		  offsetof(T, crash.suffix),                                                          \
		  "at most so many operations are in {ops}; 200 without it" },                        \
		{ "ignore",                                                                           \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "REGEX",                                                                            \
		  offsetof(T, crash.ignore),                                                          \
		  "what is printed is compared without the parts of lines that match" },              \
		{ "judge",                                                                            \
		  0,                                                                                  \
		  CLI_CHOICE,                                                                         \
		  NULL,                                                                               \
		  offsetof(T, crash.judge),                                                           \
		  "how recovery is judged; output with --probe or --continue",                        \
		  &choices_judge },                                                                   \
		{ "ops-calls", 0, CLI_TEXT, "GLOB,…", offsetof(T, crash.ops_calls), OPS_CALLS_HELP }, \
		{ "ops-way",    0, CLI_CHOICE, NULL, offsetof(T, crash.ops_way), OPS_WAY_HELP,        \
		  &choices_ways },                                                                    \
		{ "recover-client",                                                                   \
		  0,                                                                                  \
		  CLI_TEXT,                                                                           \
		  "CMD",                                                                              \
		  offsetof(T, crash.recover_client),                                                  \
		  "the recovery command is a server: CMD is run once it is up (--port, --ready), "    \
		  "and judges it" },                                                                  \
		{ "same-address",                                                                     \
		  0,                                                                                  \
		  CLI_FLAG,                                                                           \
		  NULL,                                                                               \
		  offsetof(T, crash.same_address),                                                    \
		  "map each PM file in recovery at the address that it had when recorded; done "      \
		  "anyway where the program asked for that address" },                                \
		{ "fast-recover",                                                                     \
		  0,                                                                                  \
		  CLI_FLAG,                                                                           \
		  NULL,                                                                               \
		  offsetof(T, crash.fast),                                                            \
		  "start the recovery program once and fork it at main for each image" },             \
		{ "seed", 0, CLI_NUMBER, "N", offsetof(T, crash.seed), "for random" },                \
		{ "random",                                                                           \
		  0,                                                                                  \
		  CLI_NUMBER,                                                                         \
		  "N",                                                                                \
		  offsetof(T, crash.random),                                                          \
		  "random states per point; 32 without it" },                                         \
		{ "no-reduce",                                                                        \
		  0,                                                                                  \
		  CLI_FLAG,                                                                           \
		  NULL,                                                                               \
		  offsetof(T, crash.no_reduce),                                                       \
		  "exhaustive: test states that recovery cannot tell apart, too" },                   \
	{                                                                                             \
		"view", 0, CLI_CHOICE, NULL, offsetof(T, crash.view),                                 \
			"how recovery gets to see the image", &choices_view                           \
	}

#define CAMPAIGN_OPTIONS(T)                                                                        \
	CAMPAIGN_SETTINGS(T),                                                                      \
		{ "resume",                                                                        \
		  0,                                                                               \
		  CLI_FLAG,                                                                        \
		  NULL,                                                                            \
		  offsetof(T, crash.resume),                                                       \
		  "go on with the campaign in DIR, with its settings" },                           \
		{ "fresh",                                                                         \
		  0,                                                                               \
		  CLI_FLAG,                                                                        \
		  NULL,                                                                            \
		  offsetof(T, crash.fresh),                                                        \
		  "throw away the results of an earlier campaign in DIR" },                        \
	{                                                                                          \
		"jobs", 'j', CLI_NUMBER, "N", offsetof(T, crash.jobs),                             \
			"recoveries side by side; as many as there are cores without it"           \
	}

/* What was asked for, as a campaign takes it. */
void campaign_opts_settings(const struct campaign_opts *, struct campaign_settings *);

/* campaign_say.c: a campaign in words. */
void campaign_say_view(const struct campaign *);
void campaign_say_progress(void *, const struct campaign_progress *); /* for campaign_run */
/* screen.c: how far it is */
void campaign_say_screen(const struct campaign_progress *);
/* Lines about what was done, for the report; xmalloc'ed. `recording`: seconds that it took. Returns
 * how many. */
#define CAMPAIGN_NOTES 13
size_t campaign_say_notes(const struct campaign *, double recording, char *notes[CAMPAIGN_NOTES]);
/* Why it says less than it could, or NULL; xmalloc'ed. *broken: it was broken off. */
char *campaign_say_incomplete(const struct campaign *, bool *broken);
/* What was not looked at, or NULL; xmalloc'ed. */
char *campaign_say_left(const struct campaign *);

#endif
