#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Going on after a crash: programs-crash/shelf.c, which does what a file says, and which nothing checks.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -g -O1 -mclflushopt -pthread -I "$HOLDFAST_SOURCE/include" -o "$BIN/shelf" "$PROGRAMS/shelf.c"
}

# ops LINE…: the operations file.
ops() {
	printf '%s\n' "$@" >ops
}

usual() {
	ops 'put 1' 'put 2' 'put 3' 'del' 'put 4' 'put 5' 'list'
}

go_on() {
	echo "$BIN/shelf $pool $1 {ops}"
}

# shelf REPORT WAY OPTIONS…: a campaign on a new pool.
shelf() {
	local report=$1 way=$2
	shift 2
	rm -rf t "$pool"
	crash_json "$report" -o t --continue "$(go_on "$way")" --ops-file ops "$@" -- "$BIN/shelf" "$pool" "$way" ops
}

# "KIND LINE" of each finding.
found() {
	jq -r '.findings[] | "\(.kind) \(.location.line)"' "$1"
}

# The line that bears a way's mark.
expected() {
	sed -n "s|.*@$1 \([a-z-]*\).*|\1|;T;=;p" "$PROGRAMS/shelf.c" | paste - - | sed 's|\(.*\)\t\(.*\)|\2 \1|'
}

# What {ops} holds for the first finding of a report.
suffix() {
	holdfast replay --recover 'cat {ops}' "$(first_id "$1")" t 2>/dev/null
}

@test "a correct program goes on as if the operation had happened, or had not" {
	usual
	shelf r.json good
	jq '{findings, incomplete, stats}' r.json
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 12' r.json
	wait_nothing_left
}

@test "damage that only later operations meet is found; a probe does not see it" {
	usual
	shelf r.json latent
	[ -n "$(expected latent)" ]
	diff <(found r.json) <(expected latent)
	jq -e '.findings[0].witness.verdict == "differs"' r.json
	jq -e '.findings[0].witness.output | contains("it should be '\''5 4 2 1 end'\''")' r.json
	ops 'list'
	cp ops list
	usual
	crash_json r.json -o u --probe "$BIN/shelf $pool good $PWD/list" -- "$BIN/shelf" "$pool" latent ops
	jq -e '.findings == []' r.json
}

@test "a finding names the operation and its line, and is replayed with the operations that follow" {
	usual
	shelf r.json hasty
	diff <(found r.json) <(expected hasty)
	n=$(jq '.findings[0].witness.operation.index' r.json) # which one does not matter
	line=$(sed -n "${n}p" ops)
	jq -e --arg what "operation $n (id $((100 + n)), '$line') has neither happened nor not happened" '.findings[0].message | endswith($what)' r.json
	jq -e --arg line "$line" --argjson n "$n" \
		'.findings[0].witness.operation == {index: $n, id: (100 + $n), input: $line, fate: "in flight"}' r.json
	diff <(suffix r.json) <(tail -n +"$((n + 1))" ops)
	run -1 holdfast replay "$(first_id r.json)" t
	output_has "what is in the pool is wrong again"
	run -0 holdfast replay --recover 'test -e {ops} && cat {pool} >/dev/null' "$(first_id r.json)" t
}

@test "--suffix limits the operations that are run" {
	usual
	shelf r.json hasty --suffix 2
	diff <(suffix r.json) <(sed -n 4,5p ops) # the first that shows something within two
	shelf r.json latent --suffix 1
	jq -e '.findings == []' r.json # two more puts, and a look, are needed
}

@test "the file's header is passed on; blank lines, comments, Windows line ends and a last line without end are fine" {
	usual
	(printf '# what is done\n\n' && sed '$!s/$/\r\n/;3s/^/# note\n/' ops | head -c -1) >odd
	[ "$(tail -c 4 odd)" = list ]
	grep -q $'put 1\r' odd
	cp ops plain
	cp odd ops
	shelf r.json hasty
	diff <(found r.json) <(expected hasty)
	n=$(jq '.findings[0].witness.operation.index' r.json)
	line=$(sed -n "${n}p" plain)
	jq -e --arg part "(id $((100 + n)), '$line')" '.findings[0].message | contains($part)' r.json
	run ! grep "not sure" err
	cmp <(suffix r.json) <(sed -n "/^$(sed -n "$((n + 1))p" plain)/,\$p" odd)
	shelf r.json hasty --ops-skip 1
	[ "$(suffix r.json | head -1)" = '# what is done' ]
	n=$(jq '.findings[0].witness.operation.index' r.json)
	cmp <(suffix r.json) <(head -1 odd && sed -n "/^$(sed -n "$((n + 1))p" plain)/,\$p" odd)
}

@test "a million lines, of which the program reads a few" {
	usual
	echo stop >>ops
	seq -f 'put %.0f' 1000000 >>ops
	shelf r.json latent
	diff <(found r.json) <(expected latent)
	grep -q "1000008 lines, but the run has 7 operations" err
	[ "$(suffix r.json | wc -l)" = 200 ]
}

@test "a campaign goes on without asking again" {
	usual
	shelf whole.json latent
	shelf r.json latent --budget 9
	crash_json r.json --resume t
	same_findings whole.json r.json
	jq -e '.stats.resumed > 0' r.json
	mkdir other
	cd other
	crash_json ../r.json --resume ../t
	cd ..
	same_findings whole.json r.json
	jq -e --slurpfile whole whole.json '.stats.tested < $whole[0].stats.tested / 2' r.json
}

@test "recovery, probe and operations: all are run, in this order, and all judge" {
	ops 'list'
	cp ops list
	usual
	local probe="$BIN/shelf $pool good $PWD/list"
	for way in good hasty latent; do
		shelf r.json "$way" --recover "test -s $pool" --probe "$probe"
		diff <(found r.json) <(expected "$way")
	done
	shelf r.json hasty --probe "$probe"
	diff <(found r.json) <(expected hasty)
	shelf r.json latent --probe "$probe"
	jq -e '.findings[0].witness.output | startswith("line 3 of what --continue prints is ")' r.json
	shelf r.json good --recover "test -s $pool" --probe "echo 1; test ! -e $pool.mark" \
		--continue "echo 2; touch $pool.mark; test -s {ops} || true"
	jq -e '.findings == []' r.json
	shelf r.json hasty --judge status
	jq -e '.findings == []' r.json
}

@test "test works with --continue alone; what check suspects is proved by it" {
	usual
	rm -rf t
	report_json test r.json -o t --continue "$(go_on forgets)" --ops-file ops -- "$BIN/shelf" "$pool" forgets ops
	jq -e --argjson line "$(grep -n 'head.next = i;' "$PROGRAMS/shelf.c" | cut -d: -f1)" \
		'[.findings[] | select(.verdict.state == "proved") | .location.line] == [$line]' r.json
}

@test "what is not the same each time is refused, and may be ignored" {
	usual
	run -3 holdfast crash -o t --continue "$(go_on clock)" --ops-file ops -- "$BIN/shelf" "$pool" good ops
	output_has "on the image of the begin of the first operation is not the same each time: line 2 is 'at "
	output_has "--ignore REGEX"
	shelf r.json good --continue "$(go_on clock)" --ignore 'at [0-9.]*'
	jq -e '.findings == []' r.json
}

@test "commands and files that make no sense" {
	usual
	run -2 holdfast crash --continue "$BIN/shelf $pool good ops" --ops-file ops -- true
	output_has "needs {ops}"
	run -2 holdfast crash --continue "$(go_on good)" -- true
	output_has "--continue needs --ops-file FILE"
	run -2 holdfast crash --recover true --ops-file ops -- true
	output_has "--ops-file is for --continue"
	run -2 holdfast crash -o a --continue "$(go_on good)" --ops-file nowhere -- "$BIN/shelf" "$pool" good ops
	output_has "nowhere"
	printf '\n \r\n' >empty
	run -2 holdfast crash -o b --continue "$(go_on good)" --ops-file empty -- "$BIN/shelf" "$pool" good ops
	output_has "there is no operation in"
	run -2 holdfast crash -o c --continue "$(go_on good)" --ops-skip 100 --ops-file ops -- "$BIN/shelf" "$pool" good ops
	output_has "behind the lines that --ops-skip leaves out"
	run -3 holdfast crash -o d --continue "$(go_on good); exit 6" --ops-file ops -- "$BIN/shelf" "$pool" good ops
	output_has "ends with status 6"
	run -3 holdfast crash -o e --continue "no-such-program {ops}" --ops-file ops -- "$BIN/shelf" "$pool" good ops
	printf 'put 1\nput \0002\n' >zero
	run -2 holdfast crash -o f --continue "$(go_on good)" --ops-file zero -- "$BIN/shelf" "$pool" good ops
	output_has "zero bytes"
}

@test "commands that write, print megabytes, hang or flood on some images" {
	usual
	# what it writes does not last: images are the same for all
	shelf r.json good --continue "$(go_on good) && rm -f $pool && mkdir $pool"
	jq -e '.findings == []' r.json
	# the line that differs is named, far behind what is shown
	shelf r.json latent --continue "seq 200000 && $(go_on latent)"
	diff <(found r.json) <(expected latent)
	jq -e '.findings[0].witness.output | startswith("line 200003 is ") and length < 9000' r.json
	# a loop in the list: in some images it never ends
	shelf r.json latent --timeout 5s --continue "$(go_on latent) >out && cat out && if grep -q '5 4 5 4' out; then cat; fi </dev/zero >/dev/null"
	jq -e '[.findings[].witness.verdict] == ["hung"]' r.json
	shelf r.json latent --output-cap 100k --continue "$(go_on latent) >out && cat out && if grep -q '5 4 5 4' out; then yes; fi"
	jq -e '[.findings[].witness.verdict] == ["flooded"]' r.json
	wait_nothing_left
}

@test "crashes before the first operation are judged by status; after the last one, only a probe tells" {
	ops 'put 1' 'put 2'
	printf 'list\n' >list
	shelf r.json forgets --probe "$BIN/shelf $pool good $PWD/list"
	jq -e '[.findings[].kind] == ["lost-operation"]' r.json
	shelf r.json forgets
	jq -e '.findings == []' r.json # nothing ever looks
	usual
	shelf r.json good --points all
	jq -e '.findings == [] and .incomplete == null' r.json
	# making the pool takes two steps, which its owner does not hide
	shelf r.json steps --points all --probe "od -An -tu8 -N8 -j24 $pool 2>/dev/null || true"
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 10' r.json
}

@test "a finding in words, and in SARIF, has the operation" {
	usual
	rm -rf t "$pool"
	run -1 holdfast crash -o t --sarif r.sarif --continue "$(go_on latent)" --ops-file ops -- "$BIN/shelf" "$pool" latent ops
	output_has "operation   4 (id 104): del, in flight"
	jq -e '[.runs[].results[].properties.operation] | .[0].input == "del" and .[0].index == 4' r.sarif
	run -0 holdfast show t
}

@test "operations that overlap: any of them may have happened, in any order, and nothing else" {
	ops 'put 1' 'put 2' 'put 3' 'put 4' 'list' 'list'
	shelf r.json two --continue "$(go_on good)"
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 20' r.json
	run ! grep "overlap" err
	shelf r.json two-hasty --continue "$(go_on good)"
	diff <(found r.json) <(expected hasty)
	jq -e '.findings[0].witness.operation | .fate == "overlap" and .last == .index + 1 and .input == "put \(.index)"' r.json
	run -0 holdfast show "$(first_id r.json)" t
	output_has ", which overlap"
	jq -e '.findings[0].message | test("of operations [0-9] to [0-9], which overlap, no part that may have happened explains")' r.json
	run -1 holdfast replay "$(first_id r.json)" t
	output_has "what is in the pool is wrong again"
	# lines that are not those of the run tell nothing
	sed 's/put/put 7/' ops >others
	rm -rf u "$pool"
	run -0 holdfast crash -o u --continue "$(go_on good)" --ops-file others -- "$BIN/shelf" "$pool" two-hasty ops
	output_has "in which operations of several threads overlap"
	# a probe does, too, as they take turns at a lock: each is there from its first store until what it stores is guaranteed
	printf 'list\n' >list
	rm -rf u "$pool"
	run -0 holdfast crash -o u --probe "$BIN/shelf $pool good $PWD/list" -- "$BIN/shelf" "$pool" two ops
	! grep "operations of several threads overlap" <<<"$output"
	rm -rf u "$pool"
	crash_json r.json -o u --probe "$BIN/shelf $pool good $PWD/list" -- "$BIN/shelf" "$pool" two-hasty ops
	diff <(found r.json) <(expected hasty)
}
