/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast explore: options, messages, and the way from one to src/explore and back.
 *
 *   explore_options.c     the verb and its options
 *   explore_setup.c       from the options to those of src/explore; which are kept with it
 *   explore.c             from the start to the report
 *   explore_say.c         the live line and the report
 *   explore_notes.c       … what it says of the exploration itself
 *   explore_priorities.c  --show-priorities
 *   explore_replay.c      holdfast replay, for what an input shows
 */
#ifndef HOLDFAST_CLI_EXPLORE_H
#define HOLDFAST_CLI_EXPLORE_H

#include "cli/campaign.h"
#include "cli/output.h"
#include "cli/check.h"
#include "cli/settings.h"
#include "explore/explore.h"

struct explore_cli {
	struct run_opts run;
	struct output_opts output;
	struct campaign_opts crash; /* recover and what belongs to it; resume, fresh, jobs */
	struct cli_list sym_arg, sym_args, sym_file, sym_env, sym_pm, packet, seed, range, oracle;
	uint64_t sym_stdin, sym_socket, max_paths, max_findings, random, max_targets;
	const char *strategy, *max_time, *max_memory, *timeout, *solver_timeout;
	const char *folder, *csv, *export_dir;
	bool sym_memory, printable, pin, no_fork, show_priorities, notes, include_libs, verify;
};
int explore_cli_main(int argc, char **argv);
extern const struct cli_verb verb_explore;

/* explore_setup.c */
struct explore_setup {
	struct explore_cli *cli;
	struct explore_opts opts;
	struct explore_folder *folder;
	struct settings_own own; /* settings that were kept */
	struct campaign_settings recover;
	struct run_opts run; /* as the program is launched: with what oracles watch */
	char **watch, *cwd;
};
/* The options for src/explore; the program and its folder are set already. */
int explore_setup(struct explore_setup *, struct err *);
/* The settings of a new exploration, into its folder; those of an old one, and its command. */
int explore_setup_save(struct explore_setup *, struct err *);
int explore_setup_load(struct explore_setup *, struct err *);
void explore_setup_free(struct explore_setup *);

/* explore_say.c */
struct explore_voice {
	const struct explore_cli *cli;
	double said;
};
extern const struct explore_hooks explore_say_hooks; /* arg: a struct explore_voice */
/* The report; returns the exit status. */
int explore_say_report(const struct explore_setup *, struct explore *, const struct output *);

/* explore_notes.c: texts are xmalloc'ed. */
#define EXPLORE_NOTES 16
#define EXPLORE_STATS 40
size_t explore_note_stats(const struct explore_result *, const struct symbolic_stats *, size_t jobs,
			  struct report_stat stat[EXPLORE_STATS]);
size_t explore_note_all(const struct explore_result *, const struct symbolic_stats *,
			const struct explore_opts *, char *notes[EXPLORE_NOTES]);
/* Why nothing is proved, even if nothing was found; NULL: all that there is was looked at. */
char *explore_note_incomplete(const struct explore_result *, const char *shown);
/* What the line "nothing found" says more. */
char *explore_note_looked(const struct explore_result *, const struct symbolic_stats *,
			  bool follow_forks);

/* explore_priorities.c */
void explore_priorities_print(struct explore *, FILE *);

/* explore_replay.c: 1 it shows again, 0 it does not, -1 err. *campaign: the folder of the crash
 * campaign that found it, which can replay it; xmalloc'ed, NULL: none. */
int explore_replay_cli(const char *dir, const char *id, bool gdb, char **campaign, struct err *);

/* explore.c: not 0 after Ctrl-C. */
extern volatile sig_atomic_t explore_signals;

#endif
