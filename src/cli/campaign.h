/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crash campaign: a trace, a recovery command, the settings, and the results in one folder.
 * Used by crash and test, which run it, and by status, show, replay and diff, which look at it.
 */
#ifndef HOLDFAST_CLI_CAMPAIGN_H
#define HOLDFAST_CLI_CAMPAIGN_H

#include "cli/choices.h"
#include "cli/settings.h"
#include "crash/crash.h"
#include "campaign/campaign.h"

struct campaign_opts {
	/* kept with the campaign, so that it can be gone on with and replayed */
	const char *recover, *strategy, *model, *points, *budget;
	const char *timeout, *memory, *output_cap, *expect_exit, *fail_regex, *view;
	const char *recover_client, *port, *ready, *stop;
	struct cli_list only;
	uint64_t max_per_path, after, seed, random;
	bool fast, same_address, no_reduce;
	/* of this run only */
	uint64_t jobs;
	bool resume, fresh;
};

/* The rows that are kept, by name; T has a `struct campaign_opts crash`. */
#define CAMPAIGN_SETTINGS(T)                                                                        \
	{ "recover",                                                                                \
	  0,                                                                                        \
	  CLI_TEXT,                                                                                 \
	  "CMD",                                                                                    \
	  offsetof(T, crash.recover),                                                               \
	  "the program's own recovery, or any checker: it sees the crash image at the pool's "      \
	  "original path; {pool} in it stands for that path" },                                     \
		{ "strategy",                                                                       \
		  0,                                                                                \
		  CLI_CHOICE,                                                                       \
		  NULL,                                                                             \
		  offsetof(T, crash.strategy),                                                      \
		  "which crash states to test",                                                     \
		  &choices_strategy },                                                              \
		{ "budget",                                                                         \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "TIME|STATES",                                                                    \
		  offsetof(T, crash.budget),                                                        \
		  "stop after this time (90s, 10m, 2h) or this many images; random goes on till "   \
		  "then" },                                                                         \
		{ "points",       0, CLI_CHOICE, NULL, offsetof(T, crash.points), "where to crash", \
		  &choices_points },                                                                \
		{ "max-per-path",                                                                   \
		  0,                                                                                \
		  CLI_NUMBER,                                                                       \
		  "N",                                                                              \
		  offsetof(T, crash.max_per_path),                                                  \
		  "crash at most N times at the same point with the same call path, spread over "   \
		  "the run; 8 without it" },                                                        \
		{ "only",                                                                           \
		  0,                                                                                \
		  CLI_LIST,                                                                         \
		  "FUNC|FILE",                                                                      \
		  offsetof(T, crash.only),                                                          \
		  "only points with a function or file on their call path that matches; may be "    \
		  "given several times" },                                                          \
		{ "after",                                                                          \
		  0,                                                                                \
		  CLI_NUMBER,                                                                       \
		  "N",                                                                              \
		  offsetof(T, crash.after),                                                         \
		  "only points from event N on" },                                                  \
		{ "model",                                                                          \
		  0,                                                                                \
		  CLI_CHOICE,                                                                       \
		  NULL,                                                                             \
		  offsetof(T, crash.model),                                                         \
		  "what survives a crash",                                                          \
		  &choices_model },                                                                 \
		{ "timeout",                                                                        \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "TIME",                                                                           \
		  offsetof(T, crash.timeout),                                                       \
		  "a recovery that takes longer hangs; 10s without it" },                           \
		{ "memory",                                                                         \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "SIZE",                                                                           \
		  offsetof(T, crash.memory),                                                        \
		  "limit of a recovery's private memory (4G); none without it" },                   \
		{ "output-cap",                                                                     \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "SIZE",                                                                           \
		  offsetof(T, crash.output_cap),                                                    \
		  "a recovery that writes more is ended; 16M without it" },                         \
		{ "expect-exit",                                                                    \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "LIST",                                                                           \
		  offsetof(T, crash.expect_exit),                                                   \
		  "exit statuses of a recovery that are fine (0,3-5); 0 without it" },              \
		{ "fail-regex",                                                                     \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "REGEX",                                                                          \
		  offsetof(T, crash.fail_regex),                                                    \
		  "a recovery whose output matches has failed" },                                   \
		{ "recover-client",                                                                 \
		  0,                                                                                \
		  CLI_TEXT,                                                                         \
		  "CMD",                                                                            \
		  offsetof(T, crash.recover_client),                                                \
		  "the recovery command is a server: CMD is run once it is up (--port, --ready), "  \
		  "and judges it" },                                                                \
		{ "same-address",                                                                   \
		  0,                                                                                \
		  CLI_FLAG,                                                                         \
		  NULL,                                                                             \
		  offsetof(T, crash.same_address),                                                  \
		  "map each PM file in recovery at the address that it had when recorded; done "    \
		  "anyway where the program asked for that address" },                              \
		{ "fast-recover",                                                                   \
		  0,                                                                                \
		  CLI_FLAG,                                                                         \
		  NULL,                                                                             \
		  offsetof(T, crash.fast),                                                          \
		  "start the recovery program once and fork it at main for each image" },           \
		{ "seed", 0, CLI_NUMBER, "N", offsetof(T, crash.seed), "for random" },              \
		{ "random",                                                                         \
		  0,                                                                                \
		  CLI_NUMBER,                                                                       \
		  "N",                                                                              \
		  offsetof(T, crash.random),                                                        \
		  "random states per point; 32 without it" },                                       \
		{ "no-reduce",                                                                      \
		  0,                                                                                \
		  CLI_FLAG,                                                                         \
		  NULL,                                                                             \
		  offsetof(T, crash.no_reduce),                                                     \
		  "exhaustive: test states that recovery cannot tell apart, too" },                 \
	{                                                                                           \
		"view", 0, CLI_CHOICE, NULL, offsetof(T, crash.view),                               \
			"how recovery gets to see the image", &choices_view                         \
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

struct campaign {
	struct campaign_opts o;
	char *dir; /* as given */
	struct trace_reader *reader;
	struct crash *crash;
	struct runner *runner;
	struct campaign_db *db;
	struct hmap known; /* image hash -> verdict, of an earlier run */
	struct crash_hooks hooks;
	struct settings_own own; /* settings that were read from the store */
	char **command;          /* of the program under test */
	size_t ncommand;
	double started, said, kept;
	double recording;     /* seconds that it took, if it was made now */
	double tested_before; /* images, in earlier runs of the campaign */
	bool whole;
	bool blind; /* recovery never looked at the files */
};

/* Settings must make sense, before anything is run. */
int campaign_check(const struct campaign_opts *, struct err *);
/* Opens the trace and the store; settings come from the store unless it is new. */
int campaign_open(struct campaign *, const char *dir, const struct campaign_opts *,
		  enum campaign_db_mode, struct err *);
/* Only the store, to look at: also that of an exploration. */
int campaign_peek(struct campaign *, const char *dir, struct err *);
/* Reads the history. */
int campaign_history(struct campaign *, struct err *);
/* The same, and starts `cells` cells. */
int campaign_start(struct campaign *, unsigned cells, struct err *);
/* Sanity, then all states. */
int campaign_run(struct campaign *, struct err *);
void campaign_report(struct campaign *, struct finding_set *);
/* Lines about what was done, for the report; xmalloc'ed. Returns how many. */
#define CAMPAIGN_NOTES 8
size_t campaign_notes(const struct campaign *, char *notes[CAMPAIGN_NOTES]);
/* Why it says less than it could, or NULL; xmalloc'ed. */
char *campaign_incomplete(const struct campaign *);
void campaign_close(struct campaign *);

/* A campaign's folder: the given one, or the newest in the current folder; xmalloc'ed. */
char *campaign_find(const char *dir, struct err *);
/* The finding whose id begins so, as JSON; xmalloc'ed. */
char *campaign_finding(struct campaign *, const char *id, struct err *);
/* The same, parsed; it has a crash state. */
struct finding *campaign_crash_finding(struct campaign *, const char *id, struct err *);

#endif
