#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What check concludes where a later call, or a call for other bytes, flushes the line: programs-check/rounds.c, and libpmemobj.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/plain" "$PROGRAMS/rounds.c"
	build "$BIN/optimised" "$PROGRAMS/rounds.c" -O2
}

@test "a store fence that waits for nothing shows a missing flush, also where the next flush always covers the line" {
	is rounds.c warning joined
}

@test "a function that stores with atomic instructions only, and flushes, is no helper" {
	is rounds.c error chained
}

@test "what is flushed a round later, for something else, was forgotten" {
	is rounds.c error left
	jq -e '[.findings[].why[]?.row] | index("left")' r.json
}

@test "what leads to something that is persisted was forgotten, where the next call flushes the line before it" {
	is rounds.c error sunk
	jq -e '[.findings[].why[]?.row] | index("link")' r.json
}

@test "a lock is a note: it need not survive, and cannot be moved" {
	is rounds.c note guarded
	run -0 holdfast check -- "$BIN/plain" pool guarded
	output_has "a lock that is not persisted: recovery must release it"
}

@test "what was persisted only when it was made, and is stored again and again, is no error" {
	is rounds.c warning drifted
	jq -e '[.findings[].why[]?.row] | index("seldom")' r.json
}

# A table whose count, flag and slots share a line, as libpmemobj places it; -DDROP leaves out one of the calls.
tables() {
	cat >table.c <<-'EOF'
	#include <libpmemobj.h>
	struct table { uint64_t seed, stem, count, dirty, room, slot[8]; };
	int main(int c, char **v)
	{
	    PMEMobjpool *p = pmemobj_create(v[1], "t", PMEMOBJ_MIN_POOL, 0600);
	    if (!p) return 9;
	    struct table *t = pmemobj_direct(pmemobj_root(p, sizeof *t));
	    PMEMoid other = pmemobj_root(p, 4096);
	    t = pmemobj_direct(other);
	    t->seed = t->count = t->dirty = 7;
	    pmemobj_persist(p, t, sizeof *t);
	    for (int i = 0; i < 9; i++) {
	        t->dirty = 1;
	#ifndef DROP
	        pmemobj_persist(p, &t->dirty, 8);
	#endif
	        ((uint64_t *)t)[64 + i * 8] = i + 1;
	        pmemobj_persist(p, (uint64_t *)t + 64 + i * 8, 8);
	        t->count++;
	        pmemobj_persist(p, &t->count, 8);
	        t->dirty = 0;
	        pmemobj_persist(p, &t->dirty, 8);
	    }
	    t->room = 5;
	    pmemobj_memset_persist(p, t->slot, 0x11, 8);
	    pmemobj_persist(p, &t->room, 8);
	    pmemobj_close(p);
	    return 0;
	}
	EOF
	gcc -g "$@" table.c -o table -lpmemobj
	check_json r.json -- ./table pool
}

@test "a call that names other bytes of the line persists none but these on purpose" {
	tables -DDROP
	jq -e '[.findings[] | select(.level != "note") | [.kind, .location.line]] == [["missing-flush", 13]]' r.json
	jq -e '[.findings[].why[]?.row] | index("unasked")' r.json
}

@test "a call whose line is clean only because another call named bytes beside it is not to be removed" {
	tables
	jq -e '[.findings[] | select(.level != "note")] == []' r.json
	jq -e '[.findings[] | select(.location.line == 26) | .kind] | sort == ["redundant-fence", "redundant-flush"]' r.json
}

# vain [OPTIONS]: flushes in vain, sometimes, by chance and always.
vain() {
	cat >vain.c <<-'EOF'
	#include <fcntl.h>
	#include <immintrin.h>
	#include <stdint.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static uint64_t *p;
	static void persist(void *a) { _mm_clflushopt(a); _mm_sfence(); }
	static void some(int i)
	{
	    if (i % 2) p[0] = i;
	    persist(&p[0]);
	}
	static void other(int i) { p[9] = i; persist(&p[9]); }
	static void near(int i) { p[8] = i; other(i); persist(&p[8]); }
	static void beside(int i) { persist(&p[8]); }
	static void always(int i)
	{
	    p[16] = i;
	    persist(&p[16]);
	    persist(&p[16]);
	}
	int main(int c, char **v)
	{
	    int fd = open(v[1], O_RDWR | O_CREAT, 0600);
	    if (ftruncate(fd, 4096)) return 9;
	    p = mmap(0, 4096, 3, MAP_SHARED, fd, 0);
	    for (int i = 0; i < 6; i++) {
	        some(i);
	        near(i);
	        beside(i);
	        always(i);
	    }
	    return 0;
	}
	EOF
	gcc -g -mclflushopt vain.c -o vain
	check_json r.json "$@" -- ./vain pool
}

@test "remove a flush only where all are in vain, for a reason in the code: not 3 of 6, not by a neighbour's" {
	vain
	jq -e '[.findings[] | select(.kind == "redundant-flush") | [.location.line, .level]] | sort ==
		[[11, "note"], [14, "performance"], [15, "note"], [20, "performance"]]' r.json
	jq -e '[.findings[] | select(.kind == "redundant-fence" and .location.line == 15) | .level] == ["note"]' r.json
	jq -e '[.findings[] | select(.location.line == 11) | .message] | any(test("3 of 6 flushes here are in vain"))' r.json
	jq -e '[.findings[] | select(.location.line == 15) | .message] | any(test("a flush of something else in the same line"))' r.json
	jq -e '[.findings[] | select(.advice == "Remove the flush.") | .location.line] | sort == [14, 20]' r.json
}

@test "advice is in the words of the model and of the library" {
	cat >word.c <<-'EOF'
	#include <fcntl.h>
	#include <sys/mman.h>
	#include <unistd.h>
	#ifdef OBJ
	#include <libpmemobj.h>
	#elif defined PMEM
	#include <libpmem.h>
	#endif
	int main(int c, char **v)
	{
	    int fd = open(v[1], O_RDWR | O_CREAT, 0600);
	    if (ftruncate(fd, 8192)) return 9;
	    long *p = mmap(0, 8192, 3, MAP_SHARED, fd, 0);
	    p[0] = 1;
	#ifdef OBJ
	    pmemobj_errormsg();
	#endif
	#ifdef PMEM
	    pmem_persist(p, 8);
	#elif defined OBJ
	    asm volatile("clflush %0; sfence" : "+m"(*p));
	#else
	    msync(p, 4096, MS_SYNC);
	#endif
	    p[0] = 2;
	    return 0;
	}
	EOF
	gcc -g -DPMEM word.c -o word -lpmem
	check_json r.json -- ./word pool
	jq -e '[.findings[].advice] | any(test("pmem_persist\\(\\) it after the store"))' r.json
	gcc -g -DOBJ word.c -o word -lpmemobj
	check_json r.json -- ./word pool
	jq -e '[.findings[].advice] | any(test("pmemobj_persist\\(\\) it after the store, or TX_ADD it before"))' r.json
	gcc -g word.c -o word
	check_json r.json --model msync -- ./word pool
	jq -e '[.findings[].advice] | any(test("msync\\(\\) its page"))' r.json
}
