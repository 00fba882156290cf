/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs show, each with the smallest input that shows it. */
#ifndef HOLDFAST_EXPLORE_FOUND_H
#define HOLDFAST_EXPLORE_FOUND_H

#include "explore/native.h"
#include "explore/slot.h"

/* A finding and the input that shows it. */
struct explore_hit {
	struct finding *f; /* in the set */
	struct symbolic_input input;
	uint64_t rank; /* of the input */
	unsigned phase;
	size_t nsources;
	uint64_t branches, trail; /* of its path */
	uint64_t death;           /* of a crash or hang: which one, see death.c */
	char *campaign;           /* folder of the crash campaign; NULL: none */
	bool kept;                /* its folder is as it should be */
};
void explore_hit_free(struct explore_hit *);
/* witness.c: all but the finding, as text for the database. */
char *explore_witness(const struct explore_hit *);
int explore_witness_parse(const char *text, struct explore_hit *, struct err *);

/* found.c */
struct explore_found {
	struct finding_set set;
	VEC(struct explore_hit) hit;
	struct hmap checked; /* runs, by their effect */
	bool news;           /* findings that are not kept yet */
	double checking;     /* seconds */
};
struct explore_hit *explore_hit(struct explore_found *, const struct finding *);
/* Adds a finding that this input shows; slot: of its run, may be NULL. Returns what it is in the set. */
struct finding *explore_found_add(struct explore_found *, struct finding *,
				  const struct explore_plan *, const struct symbolic_input *,
				  const struct explore_slot *, uint64_t path);
/* The hit has a better input from now on. */
void explore_hit_replace(struct explore_hit *, const struct explore_plan *,
			 const struct symbolic_input *, const struct explore_slot *);
/* What check finds in a run that no other run with the same effect has shown. */
int explore_found_check(struct explore_found *, struct explore_slot *, const struct explore_plan *,
			const struct check_opts *, uint64_t path, struct err *);
/* At the end: a store that a crash shows to be lost need not be reported by check, too. */
void explore_found_merge(struct explore_found *);
void explore_found_free(struct explore_found *);

/* death.c: places where runs crash or hang. */
struct explore_deaths {
	VEC(struct explore_death {
		uint64_t key;
		unsigned looks;    /* how many were made again, without the tracer */
		struct finding *f; /* NULL: it is none there */
	})
	v;
	unsigned looks; /* in all */
	uint64_t crashed, hung, tracer_only, lost;
};
bool explore_died(const struct launch_explorer_run *);
uint64_t explore_death_key(const struct explore_slot *, const struct launch_explorer_run *);
/* A run that crashed or hung; dir: for its input. */
int explore_death_look(struct explore_deaths *, struct explore_found *, struct explore_slot *,
		       const struct explore_stage *, const struct launch_explorer_run *,
		       const char *dir, uint64_t path, struct err *);
/* place.c: the call path in gdb's words. False: it knows no function of the program's. */
bool explore_place_gdb(const char *program, const char *text, struct finding_place *);
/* An instruction of its run; 0: nothing is said. */
void explore_place_at(const struct explore_slot *, uint64_t ip, uint32_t ctx,
		      struct finding_place *);
/* Where the run was last heard of. */
void explore_place_run(const struct explore_slot *, struct finding_place *);
/* The instructions of the program that the explorer runs. */
void explore_place_each(const struct explore_slot *, struct binary_view *, explore_priority_each *,
			void *);

/* A run that ended so shows the hit. */
bool explore_shows(const struct explore_hit *, struct explore_slot *, const struct check_opts *,
		   const struct launch_explorer_run *);

#endif
