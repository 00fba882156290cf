#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Custom oracles: the plug-in API, plug-ins that fail, and the shipped ones on libpmemobj.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/misuse" "$PROGRAMS/misuse.c" -pthread
	oracle "$BIN/good.so" "$PROGRAMS/faulty.c" -DFAULT=SEGV -DIN=NOWHERE '-DNAME="good"'
	mkdir "$BIN/t"
	cd "$BIN" || exit
	holdfast record -q -o t -- "$BIN/misuse" pool clean fence-twice missing-both
}

@test "a plug-in that does not exist, or is none" {
	run -2 holdfast check --oracle missing.so -- "$BIN/misuse" pool say
	output_has "cannot load the oracle missing.so"
	output_lacks hello
	echo text >text.so
	run -2 holdfast check --oracle text.so -- "$BIN/misuse" pool say
	output_has "cannot load the oracle ./text.so"
	echo 'int holdfast_other;' >other.c
	oracle other.so other.c
	run -2 holdfast check --oracle ./other.so -- "$BIN/misuse" pool say
	output_has "other.so is no oracle"
	output_lacks hello
	run -2 holdfast check --oracle "$BIN/good.so" --oracle ./other.so "$BIN/t"
	output_has "other.so is no oracle"
}

@test "a plug-in of another API version" {
	oracle later.so "$PROGRAMS/faulty.c" -DAPI=7 -DFAULT=SEGV -DIN=START
	run -2 holdfast check --oracle later.so -- "$BIN/misuse" pool say
	output_has "later.so is made for version 7"
	output_has "this is version 3"
	output_lacks hello
}

# faulty FAULT CALLBACK: the plug-in's failure is reported, and nothing else is lost.
faulty() {
	local in=${2^^}
	oracle bad.so "$PROGRAMS/faulty.c" -DFAULT="$1" -DIN="$in" '-DNAME="bad-one"'
	HOLDFAST_ORACLE_TIMEOUT=1 run -1 timeout 600 "$HOLDFAST" check --json r.json --sarif r.sarif --html r.html \
		--oracle ./bad.so --oracle "$BIN/good.so" "${subject[@]}"
	output_has "bad.so: the oracle bad-one"
	jq -e --arg what "$3" --arg callback "$2()" '[.findings[] | select(.kind == "plugin-failed")] |
		length == 1 and (.[0].level == "warning") and
		(.[0].message | contains("bad-one") and contains($callback) and contains($what))' r.json
	found r.json '.kind | test("missing|redundant")' >others
	same "marked misuse.c fence-twice missing-both" "cat others"
	# what it said before is kept; the other one, which comes after it, goes on
	local before=2
	[ "$2" != start ] || before=1
	[ "$(jq '[.findings[] | select(.kind == "before-the-fault")] | map(.count) | add' r.json)" -eq "$before" ]
	jq -e '.runs[0].results | length > 0' r.sarif >/dev/null
	[ -s r.html ]
}

@test "a plug-in that crashes in store(), flush(), start() or end()" {
	subject=("$BIN/t")
	for callback in store flush start end; do
		faulty SEGV "$callback" "Segmentation fault"
	done
	faulty ABORT store Aborted
	subject=(-- "$BIN/misuse" pool clean fence-twice missing-both)
	faulty SEGV store "Segmentation fault"
}

@test "a plug-in that overflows the stack" {
	subject=("$BIN/t")
	faulty OVERFLOW store "Segmentation fault"
	faulty OVERFLOW end "Segmentation fault"
}

@test "a plug-in that does not return" {
	subject=("$BIN/t")
	faulty LOOP end "did not return"
	subject=(-- "$BIN/misuse" pool clean fence-twice missing-both)
	faulty LOOP store "did not return"
}

@test "a plug-in that calls exit" {
	subject=("$BIN/t")
	for callback in store start end; do
		faulty EXIT "$callback" "called exit()"
		faulty LEAVE "$callback" "called exit()"
	done
	subject=(-- "$BIN/misuse" pool clean fence-twice missing-both)
	faulty EXIT store "called exit()"
}

@test "a plug-in that waits for something" {
	subject=("$BIN/t")
	faulty BLOCK store "did not return"
}

@test "a plug-in that crashes, ends, loops or waits when it is loaded, or unloaded: named, before anything is run" {
	while read -r fault what; do
		for when in LOADING UNLOADING; do
			oracle bad.so "$PROGRAMS/faulty.c" -DFAULT="$fault" -DIN="$when"
			HOLDFAST_ORACLE_TIMEOUT=1 run -2 timeout 600 "$HOLDFAST" check --oracle ./bad.so -- "$BIN/misuse" pool say
			output_has "cannot load the oracle ./bad.so: it $what"
			output_lacks hello
		done
	done <<-'EOF'
		SEGV crashed while it was loaded (Segmentation fault)
		ABORT crashed while it was loaded (Aborted)
		EXIT called exit(0) while it was loaded
		LOOP did not return from loading within 1 s
		BLOCK did not return from loading within 1 s
	EOF
	# among those that load by themselves it is left out, with a word
	mkdir own
	oracle own/bad.so "$PROGRAMS/faulty.c" -DFAULT=SEGV -DIN=LOADING
	HOLDFAST_ORACLES=$PWD/own run -1 holdfast check "$BIN/t"
	output_has "cannot load the oracle $PWD/own/bad.so: it crashed"
}

@test "a plug-in that loops or crashes within the host's functions" {
	sed 's|zero = 0;|host->report(0, host->where(0), 0, "%d", zero++);|' "$PROGRAMS/faulty.c" >loops.c
	oracle loops.so loops.c -DFAULT=LOOP -DIN=STORE
	HOLDFAST_ORACLE_TIMEOUT=1 run -1 timeout 600 "$HOLDFAST" check --json r.json --oracle ./loops.so "$BIN/t"
	jq -e '[.findings[] | select(.kind == "plugin-failed")][0].message | contains("did not return from store()")' r.json
	jq -e '.summary.error == 1' r.json
	sed 's|.*(volatile int \*)8 = 1;|host->report(0, host->where(0), 77777777, "%s", (char *)8);|' "$PROGRAMS/faulty.c" >prints.c
	oracle prints.so prints.c -DFAULT=SEGV -DIN=STORE -Wno-format
	run -1 holdfast check --json r.json --oracle ./prints.so "$BIN/t"
	jq -e '[.findings[] | select(.kind == "plugin-failed")][0].message | contains("crashed in store()")' r.json
	jq -e '.summary.error == 1' r.json
}

@test "a plug-in may say nonsense: places, processes and kinds that do not exist" {
	sed 's|.*(volatile int \*)8 = 1;|nonsense();|; s|^static void fail|static void nonsense(void)\n{\n\
		struct holdfast_line l; struct holdfast_source s; char c;\n\
		host->report(5, 1, 0, "kind"); host->report(0, 99999999, 0, "place"); host->report(0, 1, 99999999, "related");\n\
		host->source(99999999, \&s); host->line(0xffffffffu, 64, \&l); host->value(77, 64, \&c, 1);\n\
		host->describe(0xfffffff0u, 64); host->is_pm(0xfffffff0u, 64);\n}\n&|' "$PROGRAMS/faulty.c" >nonsense.c
	for callback in STORE END; do
		oracle nonsense.so nonsense.c -DFAULT=SEGV -DIN=$callback
		run -1 holdfast check --json r.json --oracle ./nonsense.so "$BIN/t"
		output_lacks crashed
		jq -e '.summary.error == 1 and ([.findings[] | select(.kind == "plugin-failed")] | length) == 0' r.json
	done
}

@test "a failure with nothing else to report is still reported" {
	oracle bad.so "$PROGRAMS/faulty.c" -DFAULT=SEGV -DIN=START
	run -1 holdfast check --fail-on warning --json r.json --sarif r.sarif --oracle ./bad.so -- true
	output_has "crashed in start()"
	[ "$(jq -r '.findings[].kind' r.json)" = plugin-failed ]
}

@test "the host's answers: source, line, value, describe, is_pm; all kinds of callbacks" {
	build asked "$PROGRAMS/asked.c"
	oracle asks.so "$PROGRAMS/asks.c"
	holdfast record -q -o t --watch 'watched_*' -- ./asked pool
	for subject in t asked; do
		rm -f pool
		holdfast check -q --notes --json r.json --oracle ./asks.so "./$subject" $([ $subject = t ] || echo pool) || [ $? -eq 1 ]
		at() { sed -n "/@$1 /=" "$PROGRAMS/asked.c"; }
		answer() { jq -r --argjson line "$(at "$1")" '.findings[] | select(.kind == "answer" and .location.line == $line).message' r.json; }
		tail=" pm 1 dram 0"
		[ "$(answer first)" = "first_step: pool+0x40 size 8 bytes 88 value 8:1122334455667788 beyond 0 dirty ff pending 0 ever 0$tail nt 0 atomic 0 line $(at first)" ]
		[ "$(answer flush)" = "flush 64 aligned 1 dirty 0 pending ff ever 0" ]
		[ "$(answer second)" = "second_step: pool+0x44 size 1 bytes ab value 1:ab beyond 0 dirty 10 pending 0 ever ff$tail nt 0 atomic 0 line $(at second)" ]
		[ "$(answer third)" = "second_step: pool+0x50 size 8 bytes 01 value 8:1 beyond 0 dirty 10 pending ff0000 ever ff$tail nt 1 atomic 0 line $(at third)" ]
		jq -e '[.findings[].message] | index("call watched_sum(40, 2)")' r.json
		jq -e '[.findings[] | select(.kind == "counts")] | length == 1 and .[0].level == "error" and
			.[0].message == "stores 3 flushes 1 fences 2 calls 1 rets 1 maps 1 unmaps 1"' r.json
		jq -e --argjson line "$(at first)" '[.findings[] | select(.kind == "counts")][0].related[0].location.line == $line' r.json
		jq -e '[.findings[].message] | (index("no such kind") or index("no such place")) | not' r.json
	done
}

@test "an oracle that has no use for what happens in watched functions does not see it" {
	build asked "$PROGRAMS/asked.c"
	oracle outside.so "$PROGRAMS/asks.c" '-DMORE="second_step",'
	run -1 holdfast check --json r.json --oracle ./outside.so -- ./asked pool
	jq -e '[.findings[] | select(.kind == "counts")][0].message | startswith("stores 1 flushes 1 ")' r.json
}

@test "custom kinds are suppressed like others" {
	echo 'before-the-* *' >supp
	run -0 holdfast check --fail-on none --json r.json --suppress supp --oracle "$BIN/good.so" "$BIN/t"
	output_lacks "[before-the-fault]"
	jq -e '[.suppressed[].kind] | index("before-the-fault") != null' r.json
}

@test "the how-to's example compiles and works" {
	awk '/^```c$/ { on = 1; next } on && /^```$/ { exit } on' "$HOLDFAST_SOURCE/docs/HOWTO_ADD_ORACLE.md" >big-stores.c
	grep -q big-dirty-store big-stores.c
	oracle big-stores.so big-stores.c
	cat >app.c <<-'END'
		#include <fcntl.h>
		#include <immintrin.h>
		#include <stddef.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#include "holdfast.h"

		__attribute__((target("avx"))) static void op(char *p, int n, int persist)
		{
			HOLDFAST_OP_BEGIN(n);
			_mm256_storeu_si256((__m256i *)p, _mm256_set1_epi8(1)); /* @big */
			if (persist) {
				_mm_clflushopt(p);
				_mm_sfence();
			}
			HOLDFAST_OP_END(n);
		}

		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			char *p = ftruncate(fd, 4096) ? NULL : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			op(p, 1, 1);
			op(p + 64, 2, argc > 2);
			return 0;
		}
	END
	build app app.c -I"$HOLDFAST_SOURCE/include" -mavx
	holdfast check -q --json r.json --oracle ./big-stores.so -- ./app pool || [ $? -eq 1 ]
	jq -e --argjson line "$(sed -n '/@big/=' app.c)" '[.findings[] | select(.kind == "big-dirty-store")] |
		length == 1 and .[0].location.line == $line and (.[0].message | contains("pool+0x40 is dirty"))' r.json
	run -0 holdfast check --fail-on warning --oracle ./big-stores.so -- ./app pool2 all
	output_has "nothing found"
}

# pmdk REPORT WAY…: tx.c with the oracles that load by themselves, live into REPORT.json, recorded into stored-REPORT.json
pmdk() {
	local name=$1
	shift
	rm -rf tx-pool t
	check_json "$name.json" -- ./tx tx-pool "$@"
	rm -f tx-pool
	holdfast record -q -o t -- ./tx tx-pool "$@"
	check_json "stored-$name.json" t
	same "essence $name.json" "essence stored-$name.json"
}

@test "Debian's libpmemobj: a correct program gives nothing, mistakes are named by their line" {
	for level in -O0 -O2; do
		build tx "$PROGRAMS/tx.c" $level -lpmemobj
		pmdk ok
		[ -z "$(found ok.json)" ]
		for way in unlogged twice; do
			pmdk "$way" "$way"
			same "marked tx.c $way" "found $way.json"
		done
		pmdk outside outside
		same "marked tx.c outside" "found outside.json '.kind != \"missing-flush\"'"
		pmdk both twice unlogged
		same "marked tx.c twice unlogged" "found both.json"
	done
	jq -e '.findings[] | select(.kind == "redundant-log") | .related[0].location.function == "twice"' both.json
	# stripped, the library's calls are still seen
	strip tx
	pmdk stripped twice unlogged
	[ "$(jq -r '[.findings[].kind] | sort | join(" ")' stripped.json)" = "redundant-log unlogged-store" ]
}

@test "oracles load by themselves where libpmemobj is used, and only there; a line says so" {
	build tx "$PROGRAMS/tx.c" -lpmemobj
	run -1 holdfast check -- ./tx pool twice
	output_has "oracles loaded by themselves: pmdk-atomic-op, pmdk-redundant-log (the program calls pmemobj_create"
	output_has "[redundant-log]"
	rm -f pool
	run -0 holdfast check --oracle none -- ./tx pool twice
	output_lacks "loaded by themselves"
	output_lacks "[redundant-log]"
	rm -f pool
	run -1 holdfast test --recover true -o t -- ./tx pool twice
	output_has "loaded by themselves"
	output_has "[redundant-log]"
	rm -rf pool r
	holdfast record -q -o r -- ./tx pool twice # a pool that is opened by another process's program is judged, too
	run -1 holdfast check r
	output_has "[redundant-log]"
	run -0 holdfast check --oracle none r
	run -1 holdfast check "$BIN/t"
	output_lacks "loaded by themselves"
}

@test "oracles by name: shipped ones, those of HOLDFAST_ORACLES, groups; one that loads by itself" {
	build tx "$PROGRAMS/tx.c" -lpmemobj
	run -1 holdfast check --oracle none --oracle pmdk-redundant-log -- ./tx pool twice unlogged
	output_has "[redundant-log]"
	output_lacks "[unlogged-store]"
	rm -f pool
	run -1 holdfast check --oracle none --oracle pmdk -- ./tx pool twice unlogged
	output_has "[redundant-log]"
	output_has "[unlogged-store]"
	run -2 holdfast check --oracle nosuch -- ./tx pool
	output_has "cannot load the oracle nosuch: there is no such file, and no plug-in of that name"
	mkdir -p mine/sub
	oracle mine/good.so "$PROGRAMS/faulty.c" -DFAULT=SEGV -DIN=NOWHERE '-DNAME="good"'
	HOLDFAST_ORACLES=/nowhere:$PWD/mine run -1 holdfast check --oracle good "$BIN/t"
	output_has "[before-the-fault]"
	HOLDFAST_ORACLES=$PWD/mine run -1 holdfast check "$BIN/t"
	output_lacks "[before-the-fault]" # it does not load by itself
	sed 's|^const struct holdfast_oracle|static const char *const calls[] = { "misuse_nothing", "main", 0 };\n&|; s|^\t\.api.*|&\n\t.automatic = calls, .watch = calls,|' \
		"$PROGRAMS/faulty.c" >self.c
	oracle mine/self.so self.c -DFAULT=SEGV -DIN=NOWHERE '-DNAME="self"'
	HOLDFAST_ORACLES=$PWD/mine run -1 holdfast check -- "$BIN/misuse" pool2 clean fence-twice missing-both
	output_has "loaded by themselves: self (the program calls main"
	echo text >mine/broken.so
	HOLDFAST_ORACLES=$PWD/mine run -1 holdfast check "$BIN/t"
	output_has "cannot load the oracle $PWD/mine/broken.so"
}

@test "oracles are found after make install" {
	DESTDIR=$PWD/root meson install -C "$(dirname "$HOLDFAST")" --no-rebuild --quiet
	installed=$(find root -name holdfast -path '*/bin/*')
	build tx "$PROGRAMS/tx.c" -lpmemobj
	run -1 "$installed" check -- ./tx pool twice
	output_has "loaded by themselves: pmdk-atomic-op, pmdk-redundant-log"
	rm -f pool
	run -1 "$installed" check --oracle none --oracle pmdk-redundant-log -- ./tx pool twice
	output_has "[redundant-log]"
}

@test "a plug-in of version 1 of the interface still works" {
	oracle old.so "$PROGRAMS/faulty.c" -DAPI=1 -DFAULT=SEGV -DIN=NOWHERE '-DNAME="old"'
	run -1 holdfast check --oracle ./old.so "$BIN/t"
	output_has "[before-the-fault]"
}

@test "pools: raw flushes are as good as calls, and atomic counters are not objects" {
	for level in -O0 -O2; do
		build pool "$PROGRAMS/pool.c" $level -lpmemobj
		for way in raw forgotten size; do
			rm -f obj
			check_json "$way.json" -- ./pool obj $way
		done
		[ -z "$(found raw.json)" ]
		same "marked pool.c forgotten" "found forgotten.json"
		[ -z "$(found size.json '.level == "error" or (.kind | test("tx|unlogged"))')" ]
	done
}

@test "a program that has libpmemobj built in" {
	build tx "$PROGRAMS/tx.c" -Wl,-Bstatic -lpmemobj -lpmem -Wl,-Bdynamic -lndctl -ldaxctl -pthread
	pmdk ok
	[ -z "$(found ok.json)" ]
	pmdk both twice unlogged
	same "marked tx.c twice unlogged" "found both.json"
}

@test "--include-libs: what libpmemobj flushes and fences in vain itself, placed in it" {
	build tx "$PROGRAMS/tx.c" -lpmemobj
	check_json without.json --notes -- ./tx pool
	[ -z "$(found without.json '.kind | test("redundant-f")')" ]
	rm -f pool
	check_json with.json --notes --include-libs -- ./tx pool
	jq -e '[.findings[] | select(.kind | test("redundant-f"))] | length > 0 and
		all(.location.module | test("libpmem"))' with.json
	jq -e '.summary.error == 0' with.json
}
