#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Names and files in crash images: as they were at the crash, whether they are PM or not.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -D_GNU_SOURCE -g -O0 -o "$BIN/beside" "$PROGRAMS/beside.c"
}

# clean WAY OPTIONS…: nothing is found, and all of the run was looked at.
clean() {
	local way=$1
	shift
	mkdir -p "$way" && cd "$way"
	crash_json r.json -o t "$@" --recover "$BIN/beside check $way" -- "$BIN/beside" run "$way"
	jq -e '.findings == []' r.json || { jq '[.findings[] | .message]' r.json; false; }
	jq -e '.incomplete == null and .stats.tested > 3' r.json
	cd ..
}

@test "a log beside the pool is as long as it was at the crash: nothing found" {
	clean log
	clean late
}

@test "a pool that replaces another, by rename, by exchange, by a link, in a folder, by the name in a file" {
	for way in replace exchange link folder plain; do
		clean "$way"
	done
}

@test "the same without namespaces" {
	for way in log replace exchange link folder plain; do
		clean "$way" --view preload
	done
}

@test "a file that points to a pool which is not complete yet: found" {
	mkdir forget && cd forget
	crash_json r.json -o t --recover "$BIN/beside check forget" -- "$BIN/beside" run forget
	jq -e '.findings | length > 0' r.json
	run -1 holdfast replay --keep image "$(first_id r.json)" t
	output_has "the name of a pool that is empty"
	cd image # it has the names of the moment, too
	run -1 "$BIN/beside" check forget
	output_has "the name of a pool that is empty"
}

@test "more files than are kept: that is said" {
	mkdir many && cd many
	ulimit -n 640 # each file takes descriptors
	crash_json r.json -o t --recover "$BIN/beside check many" -- "$BIN/beside" run many
	jq -e '.findings == []' r.json
	jq -e '.incomplete | test("recovery sees it as it is now, not as it was at the crash")' r.json
	run -3 holdfast crash -q --incomplete error -o u --recover "$BIN/beside check many" -- "$BIN/beside" run many
}

@test "check says the same of a recording as of a run, whatever is written beside PM" {
	mkdir log && cd log
	report_json check live.json -- "$BIN/beside" run log
	rm -f pool log
	holdfast record -q -o t -- "$BIN/beside" run log
	report_json check read.json t
	diff <(essence live.json) <(essence read.json)
}
