#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What a program relies on: holdfast infer, the strategy 'invariants' and the kind broken-order, on programs-crash/relies.c.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -g -O0 -mclflushopt -I "$HOLDFAST_SOURCE/include" -o "$BIN/relies" "$PROGRAMS/relies.c"
	${CC:-cc} -g -O0 -o "$BIN/behaviours" "$PROGRAMS/behaviours.c"
}

at() {
	grep -n "@$1 " "$PROGRAMS/relies.c" | cut -d: -f1
}

probe() {
	echo "$BIN/relies $pool dump"
}

# belief RULE FIRST SECOND: held and broken, as infer --json has them in b.json.
belief() {
	jq -r --arg rule "$1" --arg first ":$(at "$2")" --arg second ":$(at "$3")" 'select(.rule == $rule and (.first | endswith($first))
		and (.second | endswith($second))) | "\(.held) \(.broken)"' b.json
}

@test "infer: the beliefs of a correct program, in words and as JSON" {
	holdfast record -q --deps -o t -- "$BIN/relies" "$pool" good 30
	run -0 holdfast infer t
	output_has "RO3  \`slot->key\` (relies.c:$(at key)) is persistent before \`slot->token\` (relies.c:$(at token)) is stored: 30 of 30 (seen 30×)"
	output_has "RO3  \`slot->value\` (relies.c:$(at value)) is persistent before \`slot->token\` (relies.c:$(at token)) is stored: 30 of 30"
	output_has "RA1  "
	holdfast infer --json t >b.json
	[ "$(belief RO3 key token)" = "30 0" ]
	[ "$(belief RO3 value token)" = "30 0" ]
	[ "$(belief RO3 value key)" = "0 30" ]
	run -0 holdfast infer -q --top 2 t
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == *"30 of 30"* ]]
}

@test "infer: records by itself; what is wrong is said" {
	run -0 --separate-stderr holdfast infer -o t -- "$BIN/relies" "$pool" good 3
	[[ $output == *"3 of 3"* ]]
	[[ $stderr == *"recorded"* ]]
	rm -rf t "$pool"
	holdfast record -q -o t -- "$BIN/relies" "$pool" good 3
	run -2 holdfast infer t
	output_has "has no dependences: record the program with --deps"
	run -2 holdfast infer
	output_has "a program to run or a trace is needed"
	run -2 holdfast crash --strategy invariants --probe "$(probe)" t
	output_has "has no dependences: record the program with --deps"
}

@test "explore records no dependences, and says so" {
	run -2 holdfast explore --sym-stdin 4 --recover true --crash-strategy lost+invariants -- "$BIN/relies" "$pool" good 3
	output_has "needs dependences, which explore does not record"
}

@test "the strategy finds a broken order with a quarter of the states that auto needs" {
	crash_json auto.json -o a --probe "$(probe)" -- "$BIN/relies" "$pool" hasty 30
	rm -f "$pool"
	crash_json inv.json -o i --strategy invariants --probe "$(probe)" -- "$BIN/relies" "$pool" hasty 30
	jq -e --argjson key "$(at key)" --argjson token "$(at token)" 'any(.findings[]; any(.related[]; .role == "persisted" and
		.location.line == $token) and any(.related[]; .role == "lost" and (.location.line == $key or .location.line == $key + 1)))' inv.json
	jq -e -s '.[1].stats.tested * 4 <= .[0].stats.tested' auto.json inv.json
}

@test "the strategy finds the one that differs, late in a long run, and nothing in a correct program" {
	crash_json inv.json -o i --strategy invariants --probe "$(probe)" -- "$BIN/relies" "$pool" once 60
	jq -e --argjson token "$(at token)" 'any(.findings[]; .location.line == $token)' inv.json
	rm -f "$pool"
	crash_json good.json -o g --strategy invariants --probe "$(probe)" -- "$BIN/relies" "$pool" good 60
	jq -e '.findings == [] and .stats.tested > 3' good.json
}

@test "auto begins with it where dependences were recorded" {
	holdfast record -q --deps -o t -- "$BIN/relies" "$pool" hasty 5
	crash_json r.json --probe "$(probe)" t
	[ "$(python3 -c 'import sqlite3
print(sqlite3.connect("t/campaign.db").execute("select count(*) from verdict where strategy = ?", ("invariants",)).fetchone()[0] > 0)')" = True ]
}

@test "broken-order: the odd one out is a warning of check; a habit is none" {
	holdfast record -q --deps -o t -- "$BIN/relies" "$pool" once 60
	report_json check r.json t
	jq -e --argjson token "$(at token)" '[.findings[] | select(.kind == "broken-order")] | length == 1 and
		.[0].level == "warning" and .[0].location.line == $token' r.json
	for way in good hasty; do
		rm -rf t "$pool"
		holdfast record -q --deps -o t -- "$BIN/relies" "$pool" "$way" 60
		report_json check r.json t
		jq -e '[.findings[] | select(.kind == "broken-order")] == []' r.json
	done
}

@test "infer, check and crash take operations in the same way, and say which" {
	holdfast record -q --deps -o t -- "$BIN/relies" "$pool" good 30
	run -0 holdfast infer t
	output_has "60 operations: the program marks them"
	run -0 holdfast infer --ops-calls put t
	output_has "30 operations: calls of the functions that --ops-calls names (put 30)"
	run -0 holdfast infer --ops-calls work --json t
	output_has "1 operation: calls of"
	run -3 holdfast infer --ops-calls nothing t
	output_has "no function of that name stores to persistent memory; those that do, by themselves or by what they call:"
	run -0 holdfast check --ops-calls put t
	output_has "orders of: 30 operations: calls of"
	run -2 holdfast check --ops-calls put -- "$BIN/relies" "$pool" good 3
	output_has "go with a recording that 'holdfast record --deps' made"
	run -0 holdfast crash --fresh --strategy invariants --ops-calls put --recover "$(probe)" t
	output_has "orders of: 30 operations: calls of"
	run -0 holdfast crash --fresh --strategy invariants --ops-calls put --probe "$(probe)" t
	output_has "judged: 30 operations: calls of"
	run -3 holdfast crash --fresh --strategy invariants --ops-calls nothing --recover "$(probe)" t
	output_has "no function of that name stores to persistent memory"
}

# behave MODE…: a campaign of the program that SQUINT's figures and listings are in, in t, and r.json; the pool is there before.
behave() {
	rm -rf t "$pool"
	"$BIN/behaviours" "$pool" init
	crash_json r.json -j 1 --strategy representative --recover "$BIN/behaviours $pool check" -o t -- "$BIN/behaviours" "$pool" "$@"
}

# of TYPE: updates by field, behaviours, shapes and groups.
of() {
	jq -sr --arg type "$1" '[.[] | select(.type == $type)] | (map("\(.field) \(.updates)") | join(", ")) + "; \(.[0].behaviours) \(.[0].shapes) \(.[0].groups)"' types.json
}

@test "types: objects and fields of the run, structs in structs too, and how they were told" {
	behave figure
	holdfast infer --types --json t >types.json
	[ "$(of "struct x")" = "a 2, b 2, c 2, d 2; 3 3 1" ] # figure 4.5: three epochs; figure 4.6: one group
	[ "$(of "struct y")" = "q 1; 1 1 1" ]
	run -0 holdfast infer --types t
	output_has "9 updates, typed by: lvalue 9, overlap 0"
	output_has "struct x, 256 bytes (lvalue): 1 object, 8 updates in 3 behaviours of 3 shapes, 1 to test"
	run -0 holdfast infer -q --types --top 1 t
	[[ ${lines[0]} == "struct pool, "* ]]
	! grep -q "struct y" <<<"$output"
	behave nested # figure 4.4
	holdfast infer --types --json t >types.json
	[ "$(of "struct inner")" = "one 1, two 1; 1 1 1" ]
	[ "$(of "struct outer")" = "head 1, inner.one 1, inner.two 1; 1 1 1" ]
}

@test "types: without debug information, by function" {
	${CC:-cc} -O0 -o "$BIN/bare" "$PROGRAMS/behaviours.c"
	holdfast record -q -o t -- "$BIN/bare" "$pool" insert 3
	run -0 holdfast infer --types t
	output_has "insert (function): 9 updates in 3 behaviours of 1 shape, 1 to test"
}

@test "representative: figure 4.7, the six subsets that the order of the stores allows" {
	behave epoch
	jq -e '.findings == []' r.json
	[ "$(jq '.stats.generated - .stats.same' r.json)" = 6 ]
}

@test "representative: listings 4.1 to 4.3, and the statements that the failing one represents" {
	at() { grep -n "$1" "$PROGRAMS/behaviours.c" | head -1 | cut -d: -f1; }
	behave insert 5
	[ "$(jq -r '[.findings[].location.line] | unique | join(" ")' r.json)" = "$(at 'e->valid = 1')" ]
	behave replace
	holdfast infer --types --json t >types.json
	[ "$(of "struct entry")" = "key 3, value 3, valid 4; 4 3 1" ]
	# insert represents the others; as it fails, they are tested too
	[ "$(jq -r '[.findings[].location.function] | unique | join(" ")' r.json)" = "insert insert_ordered replace" ]
	behave ordered 5
	[ "$(jq -r '[.findings[].location.function] | unique | join(" ")' r.json)" = insert_ordered ]
}

@test "representative: --only narrows it down" {
	behave replace
	crash_json r.json --fresh --strategy representative --only replace --recover "$BIN/behaviours $pool check" t
	[ "$(jq -r '[.findings[].location.function] | unique | join(" ")' r.json)" = replace ]
}

@test "representative: of many subsets those that recovery cannot tell apart are left out" {
	behave wide
	jq -e '.findings == [] and .stats.generated < 300' r.json # those where up to two lines differ, of four times 2^11
}

@test "types: allocations of libpmemobj, by size and type number" {
	${CC:-cc} -g -O0 -o "$BIN/objects" "$PROGRAMS/objects.c" -lpmemobj
	holdfast record -q -o t -- "$BIN/objects" "$pool"
	run -0 holdfast infer --types t
	output_has "allocation of type 9, 40 bytes (allocation): 1 object, "
	holdfast infer --types --json t >types.json
	[ "$(jq -sr '[.[] | select(.type == "allocation of type 9") | .field] | sort | join(" ")' types.json)" = "+0x0 +0x10 +0x18 +0x20 +0x8" ]
}
