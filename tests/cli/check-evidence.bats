#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What check concludes from what programs do: programs-check/evidence.c, whose names say nothing.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/plain" "$PROGRAMS/evidence.c"
	build "$BIN/inlined" "$PROGRAMS/evidence.c" -O2 -DFLAT
	build "$BIN/optimised" "$PROGRAMS/evidence.c" -O2
}

# is WORD…: these ways, after a correct one, show what is marked, and nothing graver than a note besides.
is() {
	local how
	for how in plain inlined optimised; do
		check_json r.json -- "$BIN/$how" pool fine "$@"
		same "marked evidence.c $*" 'found r.json ".level != \"note\""' || { echo "$how"; return 1; }
	done
}

@test "a correct program in a strange style: nothing found" {
	is
	is silent
	is echoed
}

@test "helpers are told by what they do: the finding is where they are used" {
	is twice
	is spilt
	check_json r.json -- "$BIN/plain" pool fine twice spilt
	jq -e '[.findings[].stack[] | select(.helper) | .function] | unique | contains(["pour", "ripple"])' r.json
}

@test "a helper may take its address as a number; a function with stores in its code is none" {
	is numbered
	is ripe
	holdfast record -o t -- "$BIN/plain" pool fine numbered ripe
	run -0 holdfast dump t --summary
	output_has "seep (evidence.c), called from 2 places: only flushes at the address"
	output_has "ripple (evidence.c), called from 1 place: does nothing to persistent memory but flush"
	output_has "breathe (evidence.c)"
	output_lacks "ripen (evidence.c)"
	run -0 holdfast dump t --summary --json
	echo "$output" | jq -e '[.helpers[] | select(.why and .callers) | .function] | contains(["seep", "pour"]) and (contains(["ripen"]) | not)'
}

@test "a flush of a variable in place of what was stored says what it was meant for" {
	check_json r.json -- "$BIN/plain" pool fine aside
	jq -e '.findings[] | select(.kind == "flush-of-volatile") | .level == "warning" and (.advice | contains("what aside (evidence.c:"))' r.json
}

@test "--helper and --no-helper overrule it" {
	check_json r.json --no-helper 'rip*' -- "$BIN/plain" pool fine twice
	jq -e '[.findings[].location.function] == ["ripple"]' r.json
	check_json r.json --helper mark -- "$BIN/plain" pool fine many
	jq -e '[.findings[].location.function] | sort == ["by_hand", "many", "many"]' r.json
}

@test "one finding for a statement, with all its call paths, and counts that add up" {
	is many
	check_json r.json -- "$BIN/plain" pool fine many
	jq -e '.findings | length == 1 and (.[0].paths | length) >= 3 and ([.[0].paths[].count] | add) == .[0].count' r.json
	run -1 holdfast check -- "$BIN/plain" pool fine many
	output_has "called by"
}

@test "every writer of a lost byte is named, exact to the byte" {
	is halves
	is over
	check_json r.json -- "$BIN/plain" pool fine over
	jq -e --argjson line "$(sed -n '/earlier \*\//=' "$PROGRAMS/evidence.c")" \
		'.findings[0].related | map(select(.role == "writer")) | length == 1 and .[0].location.line == $line' r.json
}

@test "locks, and what only a neighbour's flush persists, are no errors" {
	is neighbour
	check_json r.json -- "$BIN/plain" pool fine locked
	same "marked evidence.c locked" 'found r.json ".level == \"note\""'
	jq -e '[.findings[].why[].row] | index("lock")' r.json
}

@test "bytes that are stored again as they are lose nothing; one that differs does" {
	is piecemeal
	is nibbled
}

@test "a flush for what a helper copied is not made for a hint beside it" {
	is hinted
}

@test "that some callers of a setter persist what it stored says nothing of the others" {
	is handed
}

@test "a number that no lock holds is not taken for one, whatever instruction stores it" {
	is swapped
	is piled
}

@test "blocks that are written once, by who persists something else, are data; words are not" {
	is filled
	is penned
	is entered
	check_json r.json -- "$BIN/plain" pool fine filled
	jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] == ["data"])' r.json
	check_json r.json -- "$BIN/plain" pool fine entered
	jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] == ["once", "followed"])' r.json
}

@test "one word at a fixed place that is flushed for its own sake, and overwritten before it is" {
	is flagged
	is grafted
}

@test "an atomic instruction that stores what may be offsets is a suspicion" {
	is ended
	check_json r.json -- "$BIN/plain" pool fine ended
	jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] | index("atomic-offset"))' r.json
}

@test "a fence that has nothing to wait for was meant for the stores before it" {
	is awaited
	is paired
	check_json r.json -- "$BIN/plain" pool fine awaited
	jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] | index("awaited"))' r.json
}

@test "what a flush of something else persists by chance was forgotten, unless somebody knows of both" {
	is strayed
	is relied
	is unchanged
	is crowded
	check_json r.json -- "$BIN/plain" pool fine strayed
	jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] | contains(["beside", "stray"]))' r.json
}

@test "what others overwrite before it was persistent was forgotten, unless somebody knows of both" {
	is replaced
	is tended
	check_json r.json -- "$BIN/plain" pool fine replaced
	jq -e '.findings[0] | .level == "warning" and ([.why[].row] | contains(["beside", "replaced"]))
		and any(.related[]; .role == "overwritten")' r.json
}

@test "a count that is seldom persisted is a suspicion; a flag is none, nor what comes after the flush" {
	is counted
	is bruised
	is weighed
	for how in plain inlined optimised; do
		check_json r.json -- "$BIN/$how" pool fine counted
		jq -e '.findings[0].level == "warning" and ([.findings[0].why[].row] | index("counter"))' r.json
		check_json r.json -- "$BIN/$how" pool fine bruised
		jq -e '.findings[0].level == "error"' r.json
	done
}

@test "a flush that is missing in a line that the caller goes on to flush: the fence is not to be removed" {
	is halved
	is stacked
	check_json r.json -- "$BIN/plain" pool fine halved
	jq -e '[.findings[] | [.level, [.why[].row]]] == [["warning", ["same-bytes", "awaited", "replaced"]]]' r.json
}

@test "a field of an object that is pointed to, and that only other flushes cover, is a suspicion" {
	is glimpsed
	check_json r.json -- "$BIN/plain" pool fine glimpsed
	jq -e '[.findings[] | [.level, [.why[].row]]] == [["warning", ["left-out"]]]' r.json
}

@test "a suspicion of an error makes the status 1, as an error does; --fail-on says otherwise" {
	run -1 holdfast check --junit r.xml -- "$BIN/plain" pool fine filled
	output_has "0 errors, 0 performance, 1 warning"
	grep -q '<testsuite [^>]*failures="1"' r.xml
	run -0 holdfast check --fail-on performance --junit r.xml -- "$BIN/plain" pool fine filled
	grep -q '<testsuite [^>]*failures="0"' r.xml
	run -1 holdfast check -q --fail-on warning -- "$BIN/plain" pool fine filled
}

@test "an object that a pointer leads to and that is never persisted is an error" {
	is published
	check_json r.json -- "$BIN/plain" pool fine published
	jq -e '[.findings[] | select(.kind == "missing-flush")] | all(.level == "error") and length == 2' r.json
	run -1 holdfast check -- "$BIN/plain" pool fine published
	output_has "why error"
}

@test "fences in vain, unless the missing flush before them says it all" {
	is empty
	is forgotten
}

@test "a lock in the C library is no fence by intent" {
	is unfenced
	run -1 holdfast check -- "$BIN/plain" pool fine unfenced
	output_has "completed only by the lock in"
}

@test "a long report shows one of a function in full, the like below it, and ends with the files" {
	{
		echo '#include <fcntl.h>'
		echo '#include <sys/mman.h>'
		echo '#include <unistd.h>'
		echo '#include <immintrin.h>'
		echo 'static void many(volatile long *p)'
		echo '{'
		for i in {0..13}; do # each is persisted once, and then lost
			echo "	for (int k = 0; k < 2; k++)"
			echo "		p[$i * 8] = k + 1, k ? 0 : (_mm_clflush((void *)&p[$i * 8]), 0);"
		done
		echo '}'
		echo 'int main(int c, char **v) { int fd = open(v[c - 1], O_RDWR | O_CREAT, 0600);'
		echo 'if (ftruncate(fd, 4096)) return 9; many(mmap(0, 4096, 3, MAP_SHARED, fd, 0)); return 0; }'
	} >many.c
	build many many.c
	run -1 holdfast check -- ./many pool
	output_has "14 errors"
	[ "$(grep -c '^error: ' <<<"$output")" -eq 1 ]
	[ "$(grep -c '^  also  many.c:.*, [0-9a-f]*  p\[' <<<"$output")" -eq 13 ]
	[ "$(wc -l <<<"$output")" -lt 60 ]
	grep -q '^many.c  *14 ' <<<"$output"
	run -1 holdfast check --top 20 -- ./many pool
	[ "$(grep -c '^error: ' <<<"$output")" -eq 14 ]
}

@test "what a flush covers besides the stores since the last fence, and besides the bytes of its function, is not persisted on purpose" {
	cat >slab.c <<-'EOF'
	#include <fcntl.h>
	#include <immintrin.h>
	#include <stdint.h>
	#include <sys/mman.h>
	#include <unistd.h>
	struct thing { uint32_t refs, kind; uint64_t body[7]; };
	struct slab { uint64_t map, free, pad[6]; struct thing thing[32]; };
	static struct slab *s;
	static void persist(void *p) { _mm_clflush(p); _mm_sfence(); }
	static struct thing *take(int i)
	{
	    s->thing[i].kind = 3;
	    persist(&s->thing[i]);
	    s->map |= 1u << i;
	    persist(&s->map);
	    s->free--; /* counted anew when the slab is opened, as refs is */
	    s->thing[i].refs = 1;
	    return &s->thing[i];
	}
	static void drop(struct thing *t)
	{
	    t->refs = 0;
	    s->map &= ~(1u << (t - s->thing));
	    persist(&s->map);
	    s->free++;
	}
	int main(int c, char **v)
	{
	    int fd = open(v[c - 1], O_RDWR | O_CREAT, 0600);
	    if (ftruncate(fd, 8192)) return 9;
	    s = mmap(0, 8192, 3, MAP_SHARED, fd, 0);
	    for (int i = 0; i < 20; i++) {
	        struct thing *t = take(i % 8);
	        if (i < 12) drop(t);
	    }
	    return 0;
	}
	EOF
	for level in 0 1 2; do
		gcc -g "-O$level" -msse2 slab.c -o slab
		check_json r.json -- ./slab pool
		jq -e '[.findings[] | select(.level == "error" or .level == "warning")] == []' r.json
	done
}

@test "what a function leaves open, and flushes the next time with something else, is a warning" {
	cat >grow.c <<-'EOF'
	#include <fcntl.h>
	#include <immintrin.h>
	#include <stdint.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static void persist(void *p) { _mm_clwb(p); _mm_sfence(); }
	static void grow(uint64_t *p)
	{
	    p[8]++;
	    persist(&p[8]);
	    p[0]++;
	    persist(&p[0]);
	    p[4]++;
	}
	int main(int c, char **v)
	{
	    int fd = open(v[c - 1], O_RDWR | O_CREAT, 0600);
	    if (ftruncate(fd, 4096)) return 9;
	    uint64_t *p = mmap(0, 4096, 3, MAP_SHARED, fd, 0);
	    for (int i = 0; i < 5; i++)
	        grow(p);
	    return 0;
	}
	EOF
	gcc -g -mclwb grow.c -o grow
	check_json r.json -- ./grow pool
	jq -e '[.findings[] | [.level, .location.line, [.why[].row]]] == [["warning", 13, ["stray", "covered", "counter"]]]' r.json
}

@test "--top shows the gravest in full and the others in a line each" {
	run -1 holdfast check --top 1 -- "$BIN/plain" pool fine over twice spilt
	[ "$(grep -c '^  call path' <<<"$output")" -eq 1 ]
	[ "$(grep -cE '^(error|performance|warning): ' <<<"$output")" -eq 3 ]
}

@test "one store tells nothing of how often its statement stores there: a hint in a record, set by what looks for it" {
	PYTHONDONTWRITEBYTECODE=1 make -s -C "$HOLDFAST_SOURCE/corpus" OUT="$BIN/corpus" INCLUDE="$HOLDFAST_SOURCE/include" \
		"$BIN/corpus/raw/packed/TRAP_PACKED_HINT"
	printf '%s\n' 'put 3 7' 'put 12 8' 'put 5 6' 'upd 3 1' 'get 12' >ops
	check_json r.json -- "$BIN/corpus/raw/packed/TRAP_PACKED_HINT" run pool ops
	jq -e '[.findings[] | select(.level == "error" or .level == "warning")] == []' r.json
}
