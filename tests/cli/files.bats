#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Programs that keep their data in files, and sync them.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	for name in syncs replace answers anything sizes many faults order narrow scratch blocks; do
		${CC:-cc} -D_GNU_SOURCE -g -O0 -o "$BIN/$name" "$PROGRAMS/$name.c"
	done
}

@test "every way to sync is recorded, of files and of folders" {
	mkdir w && cd w
	holdfast record -q -o ../t -- "$BIN/syncs"
	cd ..
	holdfast dump --events t | sed -n 's/.* node-sync *node=\([^ ]*\).*\(how=.*len=[0-9]*\).*/\1 \2/p' >syncs
	diff syncs - <<'END'
0 how=0 offset=0x0 len=0
0 how=1 offset=0x0 len=0
0 how=2 offset=0x0 len=4096
3 how=0 offset=0x0 len=0
1 how=0 offset=0x0 len=3
1 how=0 offset=0x3 len=3
2 how=1 offset=0x64 len=3
0 how=1 offset=0x7 len=2
none how=3 offset=0x0 len=0
none how=3 offset=0x0 len=0
END
}

# files_json REPORT MODEL WAY OPTIONS…: crashes the program that replaces a file, in a folder of its own.
files_json() {
	local report=$PWD/$1 model=$2 way=$3
	shift 3
	mkdir -p "$model-$way" && cd "$model-$way"
	crash_json "$report" --model "$model" -o t --recover "$BIN/replace $way check" "$@" -- "$BIN/replace" "$way" run
	cd ..
}

kinds() {
	jq -r '[.findings[].kind] | sort | unique | join(" ")' "$1"
}

@test "a file that is replaced in the right way: nothing found" {
	for model in posix ext4; do
		for way in good new-name; do
			files_json r.json "$model" "$way"
			[ "$(kinds r.json)" = "" ]
			jq -e '.incomplete == null and .stats.tested > 5' r.json
		done
	done
}

# order_json REPORT MODEL WAY OPTIONS…: crashes order.c, beside a file that was synced before.
order_json() {
	local report=$PWD/$1 model=$2 way=$3
	shift 3
	rm -rf o && mkdir o && cd o
	head -c 3000 /dev/zero >db
	crash_json "$report" --model "$model" -o t "$@" -- "$BIN/order" "$way" run
	cd ..
}

@test "file systems differ: whether names that are not synced come with those that are, and data before a rename" {
	for model in posix:missing-dir-fsync ext4: xfs: btrfs:missing-dir-fsync; do
		order_json r.json "${model%:*}" names --recover "$BIN/order names check"
		[ "$(kinds r.json)" = "${model#*:}" ]
	done
	jq -e '.findings[0].message | test("^if the new name third .* while the new name first .* is not|^if the new name second .* while the new name first .* is not|^if the new name first .* is lost")' r.json
	for model in posix:missing-fsync ext4: xfs:missing-fsync btrfs:; do
		order_json r.json "${model%:*}" replace --recover "$BIN/order replace check"
		[ "$(kinds r.json)" = "${model#*:}" ]
	done
	for model in xfs btrfs; do
		files_json r.json $model good
		[ "$(kinds r.json)" = "" ]
	done
}

@test "a file that one process writes and another one syncs" {
	mkdir w && cd w
	cat >save <<'END'
echo 'all of it' >tmp
sync tmp
mv tmp db
sync .
END
	crash_json ../r.json --model posix --follow-forks -o t --recover 'test ! -e db || grep -qx "all of it" db' -- /bin/sh save
	[ "$(kinds ../r.json)" = "" ]
	sed -i '/^sync tmp/d' save && rm -rf t db
	crash_json ../r.json --model posix --follow-forks -o t --recover 'test ! -e db || grep -qx "all of it" db' -- /bin/sh save
	[ "$(kinds ../r.json)" = missing-fsync ]
}

@test "operations that a child does and its parent answers" {
	order_json r.json posix children --follow-forks --probe "$BIN/order children check"
	[ "$(kinds r.json)" = "" ]
	cd o && holdfast dump t --ops | grep -q '^3 operations: what is done from one answer to the next'
}

@test "operations that a child does and answers by itself; what it answers before it syncs" {
	for way in workers: early:lost-operation; do
		order_json r.json posix "${way%:*}" --follow-forks --probe "$BIN/order ${way%:*} check"
		grep -qx "${way#*:}" <<<"$(jq -r '.findings[].kind' r.json)"
		holdfast dump o/t --ops | grep -q '^3 operations: what is done from one answer to the next'
	done
}

@test "what one function does from answer to answer is an operation, not each of its system calls" {
	for way in save: removes:half-operation; do
		order_json r.json posix "${way%:*}" --budget 150 --probe "$BIN/order ${way%:*} check"
		[ "$(kinds r.json)" = "${way#*:}" ]
		holdfast dump o/t --ops | grep -q '^3 operations: what is done from one answer to the next'
	done
	jq -e ".findings[0].location.line == $(grep -n @removes "$PROGRAMS/order.c" | cut -d: -f1) or any(.findings[0].related[]; .location.line == $(grep -n @removes "$PROGRAMS/order.c" | cut -d: -f1))" r.json
}

@test "a head of many blocks that is there before its data: one write is ahead as a whole" {
	for way in good: early:ordering; do
		rm -rf b && mkdir b && cd b && head -c 40960 /dev/zero >blocks
		crash_json ../r.json --model posix --strategy ahead --budget 40 -o t --recover "$BIN/blocks ${way%:*} check" -- "$BIN/blocks" "${way%:*}" run
		cd ..
		[ "$(kinds r.json)" = "${way#*:}" ]
	done
	for what in head blocks; do
		jq -e "[.. | .line? // empty] | index($(grep -n "/\* @$what" "$PROGRAMS/blocks.c" | cut -d: -f1))" r.json
	done
}

@test "asynchronous writes, and splice: what was there before them is known" {
	for way in aio splice; do
		mkdir $way && cd $way && head -c 8192 /dev/urandom >blocks && cp blocks ../before
		holdfast record -q -o ../t-$way -- "$BIN/blocks" $way run
		holdfast dump ../t-$way --image ../i-$way --at 0 && holdfast dump ../t-$way --image ../j-$way
		cmp ../before "$(find ../i-$way -name blocks)" && cmp blocks "$(find ../j-$way -name blocks)"
		run -1 cmp -s ../before blocks
		cd ..
	done
}

@test "fdatasync brings a rename on XFS, and not on ext4, unless the size has changed since" {
	for case in ext4:own: ext4:data:lost-operation xfs:data: ext4:save:; do
		IFS=: read -r model way kind <<<"$case"
		order_json r.json "$model" "$way" --probe "$BIN/order $way check"
		[ "$(kinds r.json)" = "$kind" ]
	done
}

@test "a rename without fsync: found, in words about files, with both calls" {
	for model in posix ext4; do
		files_json r.json "$model" no-fsync
		[ "$(kinds r.json)" = missing-fsync ]
		jq -e '.findings[0].message | test("^if rename\\(tmp, db\\) at .* is on disk while .* tmp.* is not, recovery fails")' r.json
		jq -e '.findings[0].advice == "fsync(tmp) is missing before rename(tmp, db)"' r.json
		jq -e "[.findings[0].related[] | select(.role == \"lost\").location.line] == [$(grep -n @write "$PROGRAMS/replace.c" | cut -d: -f1)]" r.json
		jq -e "[.findings[0].related[] | select(.role == \"persisted\").location.line] == [$(grep -n @rename "$PROGRAMS/replace.c" | cut -d: -f1)]" r.json
	done
	cd ext4-no-fsync
	run -1 holdfast replay --keep image "$(first_id ../r.json)" t
	output_has "db has 0 bytes"
	[ -f image/*/db ] && [ ! -s image/*/db ]
}

@test "an fsync that comes after the rename; a file that is written in place, or cut first" {
	files_json r.json posix late
	[ "$(kinds r.json)" = ordering ]
	files_json r.json posix over
	[ "$(kinds r.json)" = atomicity ]
	files_json r.json ext4 cut
	[ "$(kinds r.json)" = atomicity ]
}

@test "the folder is not synced: what was answered is lost" {
	mkdir w && cd w
	crash_json ../r.json --model posix -o t --probe "$BIN/replace no-dir print" -- "$BIN/replace" no-dir run
	[ "$(kinds ../r.json)" = lost-operation ]
	jq -e 'any(.findings[]; .advice | test("fsync of the folder of db is missing"))' ../r.json
}

# check_files_json REPORT PROGRAM ARGUMENTS…
check_files_json() {
	local report=$PWD/$1
	shift
	rm -rf c && mkdir c && cd c
	report_json check "$report" --model posix -- "$BIN/$@"
	cd ..
}

@test "a size by itself lags behind: strategies try that, too" {
	for how in posix:behind ext4:behind ext4:exhaustive; do
		rm -rf w && mkdir w && cd w
		crash_json ../r.json --model "${how%:*}" --strategy "${how#*:}" --budget 100 -o t --recover "$BIN/sizes check" -- "$BIN/sizes" run
		cd ..
		jq -e 'any(.findings[]; .message | test("new size of file"))' r.json
	done
}

@test "check: what replaces a file by rename is not synced; a warning, with the write and the rename" {
	check_files_json r.json replace no-fsync run
	[ "$(kinds r.json)" = missing-fsync ]
	jq -e '.findings[0].level == "warning"' r.json
	jq -e ".findings[0].location.line == $(grep -n @write "$PROGRAMS/replace.c" | cut -d: -f1)" r.json
	jq -e "[.findings[0].related[] | select(.role == \"rename\").location.line] == [$(grep -n @rename "$PROGRAMS/replace.c" | cut -d: -f1)]" r.json
	for way in good new-name over; do
		check_files_json r.json replace "$way" run
		[ "$(kinds r.json)" = "" ]
	done
}

@test "check: an answer before the sync, where others come after it; syncs of what is clean" {
	check_files_json r.json answers late
	[ "$(kinds r.json)" = late-persist ]
	check_files_json r.json answers twice
	[ "$(kinds r.json)" = redundant-fsync ]
	jq -e ".findings[0].level == \"performance\" and .findings[0].location.line == $(grep -n @twice "$PROGRAMS/answers.c" | cut -d: -f1)" r.json
	check_files_json r.json answers scratch
	[ "$(kinds r.json)" = "" ]
	check_files_json r.json answers threads # each answers for itself
	[ "$(kinds r.json)" = "" ]
}

@test "images are made from each other; replay makes them anew, and recovery says the same" {
	local n=0
	for seed in 1 3; do
		for model in posix ext4; do
			mkdir "$model$seed" && cd "$model$seed"
			crash_json r.json --model "$model" --budget 100 -o t --recover "$BIN/anything check" -- "$BIN/anything" run "$seed"
			for id in $(jq -r '.findings[:3][].id' r.json); do
				run -1 holdfast replay "$id" t
				n=$((n + 1))
			done
			cd ..
		done
	done
	[ "$n" -gt 5 ]
}

@test "where it is lost that a file was cut, no cell shows what was stored after that, nor does the next image keep it" {
	mkdir w && cd w
	crash_json r.json -j 1 --model posix --budget 150 -o t --recover "$BIN/anything check" -- "$BIN/anything" run 3
	[ "$(jq '.findings | length' r.json)" -gt 0 ]
	for id in $(jq -r '.findings[].id' r.json); do
		run -1 holdfast replay "$id" t
	done
}

# sqlite_json REPORT MODE SYNCHRONOUS: Debian's sqlite3, as it is.
sqlite_json() {
	rm -rf db && mkdir db && cd db
	echo "pragma journal_mode=$2; pragma synchronous=$3; create table t(a, b); insert into t values(1, 'one'); update t set b = 'two';" >sql
	crash_json "../$1" --model posix --budget 60 -o t --recover "sqlite3 db 'pragma integrity_check' | grep -x ok" -- sqlite3 -init /dev/null db '.read sql'
	cd ..
}

@test "sqlite3 syncs what it must; with synchronous=OFF it does not" {
	command -v sqlite3 >/dev/null || skip "no sqlite3"
	sqlite_json r.json delete FULL
	[ "$(kinds r.json)" = "" ]
	sqlite_json r.json wal FULL
	[ "$(kinds r.json)" = "" ]
	sqlite_json r.json delete OFF
	[ "$(kinds r.json)" != "" ]
}

@test "hundreds of files: each is as it was, and nothing is left out" {
	mkdir w && cd w
	crash_json ../r.json --model ext4 --strategy prefix --budget 20 -o t --recover "$BIN/many check" -- "$BIN/many" run
	jq -e '.findings == [] and (.incomplete // "" | test("as it is now") | not)' ../r.json
}

# fault_json REPORT WAY FAULT OPTIONS…: crashes faults.c, whose disk fails.
fault_json() {
	local report=$PWD/$1 way=$2 fault=$3
	shift 3
	rm -rf f && mkdir f && cd f
	crash_json "$report" --fault "$fault" -o t --recover "$BIN/faults $way check" "$@" -- "$BIN/faults" "$way" run
	cd ..
}

@test "--fault eio:fsync: to go on, or to sync again, is an error; to stop, or to write again, is none" {
	for model in posix ext4; do
		for way in ignore retry; do
			fault_json r.json $way eio:fsync:2 --model $model
			[ "$(kinds r.json)" = unhandled-fault ]
			jq -e '.findings[0].message | test("^after fsync\\(log\\) failed with EIO at save .*: if ")' r.json
			jq -e "[.findings[0].related[] | select(.role == \"fault\").location.line] == [$(grep -n @sync "$PROGRAMS/faults.c" | cut -d: -f1)]" r.json
		done
		for way in stop rewrite; do
			fault_json r.json $way eio:fsync:2 --model $model
			[ "$(kinds r.json)" = "" ]
			jq -e '.incomplete == null and .stats.tested > 5' r.json
		done
	done
	fault_json r.json retry eio:fsync:2 --model ext4
	cd f
	run -1 holdfast replay "$(first_id ../r.json)" t
	output_has "number 0 is not in the log"
}

@test "--fault short-write and enospc: what is not written is written later, or missed" {
	for fault in short-write short-write:1+ enospc:5000; do
		fault_json r.json stop $fault --model posix
		[ "$(kinds r.json)" = "" ]
	done
	holdfast dump --events f/t >events
	grep -q ' fault .*node=0 .*error=28 ' events
	[ "$(stat -c %s f/log)" -lt 5000 ]
	fault_json r.json once short-write --model posix
	[ "$(kinds r.json)" = unhandled-fault ]
	jq -e '.findings[0].message | test("^after write\\(log\\) wrote only 2048 bytes at put ")' r.json
}

@test "--fault: what makes no sense, and what does not happen, is said" {
	mkdir w && cd w
	for fault in eio eio:fly eio:fsync:0 eio:fsyncs short-write: enospc enospc:1X; do
		run -2 holdfast crash --model posix --fault $fault --recover true -- "$BIN/faults" stop run
		output_has "--fault $fault: it is eio:CALL"
	done
	run -3 holdfast crash --model posix --fault eio:fsync:99 --recover true -o t -- "$BIN/faults" stop run
	output_has "the run has no such call"
}

# narrow_json REPORT OPTIONS…: the state needs the log, which is not synced.
narrow_json() {
	local report=$PWD/$1
	shift
	rm -rf n && mkdir n && cd n
	crash_json "$report" --model posix -o t "$@" --recover 'test ! -e data/state || grep -qx begun logs/log' -- "$BIN/narrow"
	cd ..
}

@test "--persist: only files that match, or lie in folders that do, are recorded and differ after a crash" {
	narrow_json all.json
	[ "$(kinds all.json)" != "" ]
	for which in "--persist stage --persist */data/*" "--persist data --persist logs/stage --persist */logs/stage"; do
		set -f
		narrow_json r.json $which
		set +f
		[ "$(kinds r.json)" = "" ]
		[ "$(jq .stats.tested r.json)" -lt "$(jq .stats.tested all.json)" ]
		holdfast dump --events n/t >events
		grep -q 'node-move' events && ! grep -q 'begun' events
	done
	narrow_json r.json --persist logs --persist data
	[ "$(kinds r.json)" = "$(kinds all.json)" ]
}

@test "--persist: a file that only gets a name that matches, and no file that does, are said" {
	mkdir w && cd w
	run -0 holdfast crash --model posix --persist state -o t --recover 'test ! -e data/state || grep -q whole data/state' -- "$BIN/narrow"
	output_has "--persist matches $PWD/data/state, but not its name before"
	cd .. && mkdir l && cd l
	run -0 holdfast crash --model posix --persist state -o t --recover 'test ! -e data/state || grep -q whole data/state' -- "$BIN/narrow" link
	output_has "--persist matches $PWD/data/state, but not its name before"
	cd .. && mkdir v && cd v
	run -3 holdfast crash --model posix --persist '*/other/*' -o t --recover true -- "$BIN/narrow"
	output_has "--persist */other/*: the program changes no file that matches"
	run -0 holdfast record --persist nowhere -o u -- "$BIN/narrow"
	output_has "--persist nowhere: the program changes no file"
}

@test "what the program makes and removes in /tmp is no state, unless data lies there as well" {
	local prefix
	prefix=$(mktemp -u /tmp/holdfast-scratch.XXXXXX)
	mkdir w v d && cd w
	crash_json ../r.json --model posix -o t --recover "! test -e $prefix.work" -- "$BIN/scratch" "$prefix"
	[ "$(kinds ../r.json)" = "" ]
	jq -e '.incomplete == null' ../r.json
	cd ../v
	crash_json ../s.json --model posix --budget 100 -o t --recover "! test -e $prefix.work" -- "$BIN/scratch" "$prefix" keep
	rm "$prefix.data"
	[ "$(kinds ../s.json)" != "" ]
	cd ../d
	crash_json ../s.json --model posix --budget 100 -o t --recover "! test -e scratch.work" -- "$BIN/scratch" scratch
	[ "$(kinds ../s.json)" != "" ]
}
