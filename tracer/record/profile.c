/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the instructions that store to PM store to other memory, by calling context: a flush behind such an
 * instruction would run as often in vain. With --hf-profile each store that does not go to PM is counted here, and at
 * the end the counts that matter are told as VOLATILE events:
 *
 *   - of the instructions that have stored to PM at any time;
 *   - of all others in the functions, by their entry, in which there was such a store: a copy of another length takes
 *     another way through memcpy.
 *
 * Which those are is only known at the end, so all have to be counted. Stores at an address that comes from the stack
 * pointer are not: PM is not stored to like that (instrument.c). Nor are those of the kernel.
 */
#include "record.h"

struct count {
	UInt site, node;
	ULong n;
};

struct last {
	UInt count; /* index plus one */
	UInt node;
};

static struct {
	struct intern id; /* (site, node) -> index in count, plus one */
	struct count *count;
	UInt n, cap;
	struct last *last;   /* by site: what it counted last */
	UChar *pm;           /* by site: it has stored to PM */
	UInt sites;          /* in these */
	struct intern entry; /* of functions -> IN_PM: there was a store to PM in it */
} profile;

enum { IN_PM = 1, NOT_IN_PM };

static void room_for(UInt site)
{
	UInt old = profile.sites, now = old ? old : 4096;
	while (now <= site)
		now *= 2;
	profile.last = VG_(realloc)("hf.profile", profile.last, now * sizeof *profile.last);
	profile.pm = VG_(realloc)("hf.profile", profile.pm, now);
	VG_(memset)(profile.last + old, 0, (now - old) * sizeof *profile.last);
	VG_(memset)(profile.pm + old, 0, now - old);
	profile.sites = now;
}

static UInt count_of(UInt site, UInt node)
{
	ULong key[3] = { site, node, 0 };
	UInt *id = intern_at(&profile.id, key);
	if (*id)
		return *id;
	if (profile.n == profile.cap) {
		profile.cap = profile.cap ? profile.cap * 2 : 4096;
		profile.count = VG_(realloc)("hf.profile", profile.count,
					     profile.cap * sizeof *profile.count);
	}
	profile.count[profile.n++] = (struct count){ site, node, 0 };
	return *id = profile.n;
}

VG_REGPARM(1) void on_volatile(ULong site)
{
	UInt node = ctx_peek();
	if (UNLIKELY(site >= profile.sites))
		room_for((UInt)site);
	struct last *l = &profile.last[site];
	if (UNLIKELY(!l->count || l->node != node))
		*l = (struct last){ count_of((UInt)site, node), node };
	profile.count[l->count - 1].n++;
}

/* Is the function of this context one with a store to PM? Where it now is known to be, that is set. */
static Bool in_pm(UInt node, Bool now)
{
	ULong key[3] = { ctx_target(node), 0, 0 };
	UInt *is = intern_at(&profile.entry, key);
	if (now || !*is)
		*is = now && key[0] ? IN_PM : NOT_IN_PM;
	return *is == IN_PM;
}

/* An instruction is about to be recorded as a store to PM. */
static void stored(UInt site)
{
	UInt node = ctx_node();
	if (site >= profile.sites)
		room_for(site);
	profile.pm[site] = 1;
	in_pm(node, True);
}

void profile_setup(void)
{
	record.access = stored;
}

void profile_tell(void)
{
	static const ULong none[2] = { 0, 0 };
	if (opt.profile) /* that it was counted at all */
		emit(TRACE_VOLATILE, 0, 0, 0, 2, none, NULL, 0);
	for (UInt i = 0; i < profile.n; i++) {
		struct count *c = &profile.count[i];
		ULong args[2] = { c->node, c->n };
		if (c->n && (profile.pm[c->site] || in_pm(c->node, False)))
			emit(TRACE_VOLATILE, 0, c->site, 0, 2, args, NULL, 0);
		c->n = 0; /* exec may fail, and then it goes on */
	}
}

void profile_forked(void)
{
	for (UInt i = 0; i < profile.n; i++)
		profile.count[i].n = 0;
}
