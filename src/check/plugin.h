/* SPDX-License-Identifier: BSD-3-Clause */
/* Custom oracles, as load.c and plugin.c see them. */
#ifndef HOLDFAST_CHECK_PLUGIN_H
#define HOLDFAST_CHECK_PLUGIN_H

#include "check/internal.h"

struct plugin {
	const struct holdfast_oracle *oracle;
	char *path;
	bool waits; /* loads by itself, and what it is about was not called yet */
	char *why;  /* … what was called */
	void *state;
	struct oracle_state findings;
	struct finding_kind_info *kind;
	unsigned nkinds;
	VEC(char *) message; /* by cause */
	VEC(uint64_t) related;
	bool dead;
	char death[160];
	model_where death_where;
	uint64_t death_event; /* + 1; 0: between events, which has no place */
};

/* A plug-in that has a callback for a kind of events. */
struct plugin_listener {
	struct plugin *plugin;
	void (*tell)(void *, const struct holdfast_event *);
	const char *what; /* the callback's name */
	bool outside;     /* only while no watched function runs */
};
/* Events as plug-ins see them, by what they have: the rest of each stays zero. */
enum { PLUGIN_PLAIN, PLUGIN_CALL, PLUGIN_RETURN, PLUGIN_EVENTS };

struct plugins {
	struct check *check;
	VEC(struct plugin *) v;
	VEC(const char *) watch;
	struct hmap values; /* what the run has stored, see values.c */
	const struct trace_event *event;
	unsigned awake; /* plug-ins that do not wait */
	bool asked;     /* one of them may ask for values */
	VEC(struct plugin_listener) listener[TRACE_KINDS];
	bool inside_too
		[TRACE_KINDS]; /* some listener wants them while watched functions run, too */
	VEC(uint32_t) depth;   /* watched functions that run, by the model's threads */
	struct holdfast_event shown[PLUGIN_EVENTS];
};

int check_plugin_patience(void);                            /* seconds for a callback */
void check_plugin_start(struct plugins *, struct plugin *); /* it does not wait any more */
void check_plugins_stop(struct plugins *);                  /* none will be called again */

#endif
