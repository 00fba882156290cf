#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
load common

@test "the demo shows a note becoming durable, finds both bugs, replays one, and leaves no litter" {
	mkdir tmp
	TMPDIR=$PWD/tmp run -0 "$HOLDFAST_SOURCE/demo/run"
	output_has "Recorded   whole"
	output_has "Flushes    clwb 6"
	[[ $output =~ op-begin\ +id=1\ +at\ .*main\ \(notes\.c: ]]
	[[ $output =~ store\ .*\ at\ append\ \(notes\.c:[0-9]+\)\ \<\ main\ \(notes\.c: ]]
	[[ $output =~ flush\ clwb\ .*\ flush_range\ \(notes\.c:[0-9]+\)\ \<\ append ]]
	output_has "[ordering]"
	output_has "[missing-flush]"
	output_has "harmless for this recovery"
	output_has "1 error, 1 performance, 1 warning"
	output_has "report.html"
	output_has "recovery failed again with status 1"
	[ "${lines[-1]}" = "buy milk" ]
	[ -z "$(ls tmp)" ]
}

@test "each --cpu takes the program's other path" {
	notes=$(dirname "$HOLDFAST")/demo/notes
	for cpu in clwb clflushopt clflush; do
		run -0 holdfast record -q --cpu "$cpu" -o "$cpu" -- "$notes" pool add hello
		run -0 holdfast dump "$cpu"
		output_has "Flushes    $cpu "
	done
}
