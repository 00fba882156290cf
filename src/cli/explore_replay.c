/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdfast replay, for a finding of an exploration: the program with the finding's input, first
 * without the tracer, on the terminal; then, if it is a misuse of PM, under check.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/explore.h"

static void say_native(const struct explore_native *n)
{
	if (n->hung)
		msg_info("the program did not end in time");
	else if (n->signal)
		msg_info("the program was ended by signal %d (%s)", n->signal,
			 strsignal(n->signal));
	else
		msg_info("the program ended with status %d", n->status);
}

/* Under check: 1 it shows, 0 it does not. */
static int check_again(struct explore_replay *r, bool pin, struct err *err)
{
	bool other_path;
	int shows = explore_replay_check(r, &other_path, err);
	if (shows < 0)
		return -1;
	if (other_path)
		msg_warn("this run took another way than the exploration's%s",
			 pin ? ""
			     : ": does the program depend on time or chance? "
			       "'explore --pin' fixes them");
	msg_info(shows ? "check finds it again" : "check does not find it this time");
	return shows;
}

static int replay(struct explore_replay *r, bool gdb, bool pin, struct err *err)
{
	struct explore_native n = { 0 };
	int ran = explore_replay_native(r, gdb, &n, err);
	if (ran < 0)
		return -1;
	if (!ran) {
		msg_info("memory that the program names is only symbolic under the tracer");
		return check_again(r, pin, err);
	}
	if (gdb)
		return 0;
	say_native(&n);
	int shows = explore_replay_died(r, &n);
	if (shows < 0)
		return check_again(r, pin, err);
	if (!shows)
		msg_info("it did not happen this time");
	return shows;
}

int explore_replay_cli(const char *dir, const char *id, bool gdb, char **campaign, struct err *err)
{
	struct explore_cli o = { 0 };
	struct explore_setup s = { .cli = &o };
	struct explore_replay *r = NULL;
	int shows = -1;
	*campaign = NULL;
	if ((s.folder = explore_folder_open(dir, CAMPAIGN_DB_READ, err)) &&
	    !explore_setup_load(&s, err) && !explore_setup(&s, err))
		r = explore_replay_open(&s.opts, s.folder, id, err);
	if (r && explore_replay_campaign(r)) {
		*campaign = xstrdup(explore_replay_campaign(r));
		shows = 0;
	} else if (r) {
		shows = replay(r, gdb, o.pin, err);
	}
	if (r)
		explore_replay_free(r);
	explore_setup_free(&s);
	return shows;
}
