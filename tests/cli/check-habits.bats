#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What check concludes of what others are used to: programs-check/habits.c and guards.cc, and libpmemobj's calls that link objects.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/plain" "$PROGRAMS/habits.c"
	build "$BIN/optimised" "$PROGRAMS/habits.c" -O2
}

@test "what lookups store again and again, and nobody persists, is no error" {
	is habits.c warning leafed
	jq -e '[.findings[].why[]?.row] | index("idle")' r.json
	is habits.c performance admired
	jq -e '[.findings[].why[]?.row] | index("statistic")' r.json
}

@test "a count that is written back now and then is a note" {
	check_json r.json -- "$BIN/plain" pool tallied
	jq -e '[.findings[] | .level] | unique == ["note"]' r.json
}

@test "a lock that has a version is a lock" {
	is habits.c note revised
}

@test "a mark that is taken back once its word is persistent need not be persisted" {
	for how in plain optimised; do
		check_json r.json -- "$BIN/$how" pool linked
		[ -z "$(found r.json)" ]
	done
}

@test "small numbers of atomic instructions are no lock's where the program persists such" {
	is habits.c warning turned
	jq -e '[.findings[].why[]?.row] | index("atomic-data")' r.json
}

@test "a word that a file begins with, beside what is persisted, was forgotten; a hint or the process there was not" {
	is habits.c warning sealed
	is habits.c performance hinted
	is habits.c performance owned
}

@test "a flag that is cleared time and again is no count" {
	is habits.c error unmarked
	jq -e '[.findings[].why[]?.row] | index("counter") == null' r.json
}

@test "of a setter's users, the one that forgets to persist is judged by itself" {
	check_json r.json -- "$BIN/plain" pool plucked
	same "marked habits.c plucked" "found r.json '.level == \"warning\"'"
	jq -e '[.findings[].stack[].function] | index("pluck") and (index("stick") == null)' r.json
}

@test "a call that was made a jump is found at its line" {
	is habits.c performance ended fenced
}

@test "a guard for objects of any type, or of one, flushes for its user" {
	local opt
	for opt in -O0 -O2; do
		build "$BIN/guards" "$PROGRAMS/guards.cc" "$opt"
		check_json r.json -- "$BIN/guards" pool
		jq -e '[.findings[].location.function] | unique | map(sub("\\(.*"; "")) == ["deep::shake", "deep::shut"]' r.json
		if [ "$opt" = -O0 ]; then
			same "marked guards.cc guards guards-fence" "found r.json"
		fi
	done
}

@test "what a call that links an object flushes by the way was not persisted on purpose" {
	cat >link.c <<-'EOF'
	#include <libpmemobj.h>
	TOID_DECLARE(struct bead, 1);
	struct bead { uint64_t key, what; POBJ_LIST_ENTRY(struct bead) on; };
	POBJ_LIST_HEAD(string, struct bead);
	struct root { struct string all; uint64_t pad[8]; };
	static int make(PMEMobjpool *p, void *at, void *n)
	{
	    struct bead *b = at;
	    b->key = *(uint64_t *)n;
	    b->what = b->key * 5;
	#ifndef DROP
	    pmemobj_persist(p, b, 16);
	#endif
	    return 0;
	}
	int main(int c, char **v)
	{
	    PMEMobjpool *p = pmemobj_create(v[1], "b", PMEMOBJ_MIN_POOL, 0600);
	    if (!p) return 9;
	    struct root *r = pmemobj_direct(pmemobj_root(p, sizeof *r));
	    for (uint64_t i = 1; i < 12; i++)
	        POBJ_LIST_INSERT_NEW_HEAD(p, &r->all, on, sizeof(struct bead), make, &i);
	    pmemobj_close(p);
	    return 0;
	}
	EOF
	gcc -g link.c -o link -lpmemobj
	gcc -g -DDROP link.c -o drop -lpmemobj
	check_json r.json -- ./link pool
	jq -e '[.findings[] | select(.level != "note")] == []' r.json
	rm pool
	check_json r.json -- ./drop pool
	jq -e '[.findings[] | select(.level != "note") | [.kind, .location.line]] | sort == [["missing-flush", 9], ["missing-flush", 10]]' r.json
}
