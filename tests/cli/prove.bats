#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What check suspects, crashes prove or refute: programs-crash/suspect.c.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -g -O0 -mclflushopt -o "$BIN/suspect" "$PROGRAMS/suspect.c"
}

# prove RECOVERY WAY…: the report is r.json, the campaign t.
prove() {
	local how=$1
	shift
	rm -rf t "$pool"
	report_json test r.json -o t --recover "$BIN/suspect $how" -- "$BIN/suspect" run "$pool" "$@"
}

# The line of suspect.c that bears a mark.
line() {
	grep -n "@$1 \*/" "$PROGRAMS/suspect.c" | cut -d: -f1
}

# has MARK FILTER: the finding at that line is so.
has() {
	jq -e "[.findings[] | select(.location.line == $(line "$1"))] | length == 1 and (.[0] | $2)" r.json >/dev/null || {
		jq -c '.findings[] | {level, kind, line: .location.line, verdict, why: [.why[]?.row], witness: .witness.type}' r.json
		return 1
	}
}

id_of() {
	jq -r ".findings[] | select(.location.line == $(line "$1")).id" r.json
}

@test "proved: an error, with a crash that replays; and no second finding for the same cause" {
	prove "check $pool" good lost
	jq -e '.findings | length == 1' r.json
	has lost '.level == "error" and .kind == "missing-flush" and .verdict.state == "proved" and .verdict.states > 0'
	has lost '.witness.type == "crash" and .witness.status == 1 and ([.related[].role] | index("lost") and index("persisted"))'
	has lost '[.why[].row] == ["recovery-reads"]'
	id=$(id_of lost)
	run -1 holdfast replay "$id" t
	output_has "recovery failed again with status 1"
	run -0 holdfast diff "$id" t
	output_has "0, should be 42"
	run -0 holdfast show "$id" t
	output_has "verdict "
	output_has "proved: if the store at lost"
	run -1 holdfast test --fresh --strategy proof --recover "$BIN/suspect check $pool" t
	output_has "proved: "
}

@test "the id does not depend on the verdict" {
	prove "check $pool" good lost
	id=$(id_of lost)
	rm "$pool"
	prove "forget $pool" good lost
	report_json test r2.json --fresh --budget 1ms --recover "$BIN/suspect check $pool" t
	jq -e --arg id "$id" '.findings[] | select(.id == $id).verdict.state == "open"' r2.json
}

@test "harmless: one level down, with how many states; there is no image to replay" {
	prove "check $pool" good note
	has note '.level == "warning" and .verdict.state == "harmless" and .verdict.states == 1 and .verdict.stores == 1'
	has note '[.why[].row] == ["same-bytes", "recovery-reads"]'
	id=$(id_of note)
	run -0 holdfast test --fresh --recover "$BIN/suspect check $pool" t
	output_has "harmless for this recovery: it handles the one crash state tried, which loses it"
	output_has "why warning"
	output_has "what check suspects of stores: 0 proved, 1 harmless for this recovery, 0 open"
	run -1 holdfast test --fresh --fail-on warning --recover "$BIN/suspect check $pool" t
	for verb in replay diff; do
		run -2 holdfast "$verb" "$id" t
		output_has "finding $id has no crash image; harmless for this recovery: it handles"
		output_has "holdfast dump t --events"
	done
	run -0 holdfast show "$id" t
	output_has "harmless for this recovery"
	run -0 holdfast show t
	[[ $output =~ $id\ .*\[harmless\] ]]
}

@test "many stores: all at once, and some of them one at a time" {
	prove "check $pool" many
	has note '.verdict.state == "harmless" and .verdict.stores == 40 and .verdict.lost == 12 and .verdict.states > 12'
	has note '.verdict.text | contains("all at once and 12 of 40 one at a time")'
	prove "check $pool" note many # on two call paths
	has note '.verdict.stores == 41 and .verdict.lost == 12'
}

@test "what recovery ignores or overwrites is evidence, to the byte" {
	prove "check $pool" good scratch # a neighbour in the line is read
	has scratch '.level == "warning" and .verdict.state == "harmless" and [.why[].row] == ["recovery-ignores"]'
	prove "forget $pool" good lost
	has lost '([.why[].row] | index("recovery-overwrites")) and .verdict.state == "harmless"'
}

@test "open: another store is lost with it, and that is what fails" {
	prove "check $pool" good pair
	has "pair fatal" '.verdict.state == "proved"'
	has "pair harmless" '.level == "error" and .verdict.state == "open" and (.verdict.text | contains("for another reason: if the store at pair"))'
	jq -e '.findings[0].verdict.state == "proved"' r.json # the order of the report
	run -2 holdfast replay "$(id_of "pair harmless")" t
	output_has "has no crash image; open: "
}

@test "open: recovery reads nothing of the files, or the budget ended first" {
	prove blind good note
	has note '.level == "error" and .verdict.state == "open" and (.verdict.text | contains("reads nothing of the files"))'
	rm -rf t "$pool"
	report_json test r.json -o t --budget 1ms --recover "$BIN/suspect check $pool" -- "$BIN/suspect" run "$pool" good note
	has note '.level == "error" and .verdict.state == "open" and (.verdict.text | contains("0 of 1 crash states"))'
}

@test "status counts the verdicts, and a resumed campaign keeps them" {
	rm -rf t "$pool"
	report_json test r.json -o t --budget 1ms --recover "$BIN/suspect check $pool" -- "$BIN/suspect" run "$pool" good lost note
	run -0 holdfast status t
	output_has "misuse of stores: 0 proved, 0 harmless for this recovery, 2 open"
	output_has "go on with: holdfast test --resume t"
	for verb in test crash; do
		report_json "$verb" r.json --resume t
		has lost '.verdict.state == "proved"'
		has note '.verdict.state == "harmless"'
		run -0 holdfast status t
		output_has "misuse of stores: 1 proved, 1 harmless for this recovery, 0 open"
		run -0 holdfast status --json t
		jq -e '.proved == 1 and .harmless == 1 and .open == 0' <<<"$output"
	done
	run -0 holdfast show "$(id_of note)" t
	output_has "harmless for this recovery"
}

@test "SARIF and HTML have the verdict, and crash alone has nothing to prove" {
	rm -f "$pool"
	run -1 holdfast test -q --sarif r.sarif --html r.html -o t --recover "$BIN/suspect check $pool" -- "$BIN/suspect" run "$pool" good lost note
	jq -e '[.runs[0].results[].properties.proof] == ["proved", "harmless"]' r.sarif
	jq -e '.runs[0].results[0].message.text | contains("Proved: if the store at lost")' r.sarif
	jq -e '[.runs[0].results[].level] == ["error", "warning"]' r.sarif
	grep -q '"verdict"' r.html
	run -2 holdfast crash --fresh --strategy proof --recover "$BIN/suspect check $pool" t
	output_has "the strategy 'proof' needs what check finds: use holdfast test"
}

@test "a file of which nothing is persisted is one finding, whatever recovery reads of it" {
	prove "check $pool" raw raw
	jq -e '.findings | length == 1' r.json
	has raw '.kind == "file-never-persisted" and .verdict == null'
	run -2 holdfast replay "$(id_of raw)" t
	output_has "has no crash image; it is about the run, not about a store that is lost"
}

@test "correct programs have no verdicts" {
	prove "check $pool" good good
	jq -e '.findings == []' r.json
}
