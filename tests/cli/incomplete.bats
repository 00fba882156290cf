#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Silence is not safety: what "nothing found" speaks of, --incomplete, --ci, and runs that were broken off.
load crash-common

setup_file() {
	build_app
	${CC:-cc} -g -O0 -mclflushopt -pthread -o "$BIN/misuse" "$HOLDFAST_SOURCE/tests/cli/programs-check/misuse.c"
}

# The status of the job in $pid.
ended() {
	status=0
	wait "$pid" || status=$?
}

# The program under the tracer; holdfast's only child.
tracer() {
	pgrep -P "$pid"
}

# says_last TEXT: the last line of err is that, with numbers of events as N.
says_last() {
	local last
	last=$(tail -n 1 err | sed 's/in [0-9]* events/in N events/')
	[ "$last" = "$1" ] || {
		echo "the last line is: $last"
		return 1
	}
}

# ---- what was looked at ----

@test "check: nothing found in what, and what was not looked at" {
	holdfast check --json r.json -- "$BIN/misuse" pool clean 2>err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread"
	jq -e '.looked | test("^ in [0-9]+ events: 1 mapped PM file")' r.json
	holdfast check -- "$BIN/misuse" pool own 2>err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 2 threads in one schedule"
	holdfast check -- "$VICTIM" pool store 3 fork 3 2>err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread; not looked at: 1 child process that was not followed (--follow-forks)"
	holdfast check --follow-forks -- "$VICTIM" pool store 3 fork 3 2>err
	says_last "nothing found in N events: 1 mapped PM file, 2 processes, 2 threads in one schedule"
	holdfast check -- sh -c 'exec "$0" pool clean' "$BIN/misuse" 2>err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread"
	holdfast check -- true 2>err
	says_last "nothing found in N events: 0 mapped PM files, 1 process, 1 thread"
}

@test "check on a recording says the same; findings are not followed by it" {
	holdfast record -q -o t -- "$VICTIM" pool store 3 fork 3
	holdfast check t >err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread; not looked at: 1 child process that was not followed (--follow-forks)"
	run -1 holdfast check -- "$BIN/misuse" pool missing-both
	output_lacks " events: "
}

@test "crash: nothing found in what, and what the budget or a blind recovery left" {
	holdfast crash -o t --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" good >out 2>err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread"
	holdfast crash --fresh --budget 1 --recover "$BIN/app check $pool" t >err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread; not looked at: the crash states that were left"
	holdfast crash --fresh --recover true t >err
	says_last "nothing found in N events: 1 mapped PM file, 1 process, 1 thread; not looked at: what a recovery that reads the PM files would say"
}

@test "explore: on how many paths, and what is left" {
	holdfast explore -j 1 -o d --max-paths 3 --sym-stdin 12 -- "$EXPLORE_PROGRAMS/parser" pool 2>err
	grep -Eq '^nothing found on [0-9]+ paths?, each in one schedule; not looked at: [0-9]+ branches left to try' err
}

# ---- --incomplete, --ci ----

@test "--incomplete error: status 3 where nothing was found; findings are still status 1" {
	run -0 holdfast check -- "$BIN/misuse" pool clean fail
	run -0 holdfast check --incomplete warn -- "$BIN/misuse" pool clean fail
	run -3 holdfast check --incomplete error -- "$BIN/misuse" pool clean fail
	output_has "incomplete: the program ended with status 7"
	run -3 holdfast check -q --incomplete error -- "$BIN/misuse" pool clean fail
	output_has "incomplete: the program ended with status 7"
	run -0 holdfast check --incomplete error -- "$BIN/misuse" pool clean
	run -1 holdfast check --incomplete error -- "$BIN/misuse" pool missing-both fail
	run -2 holdfast check --incomplete never -- "$BIN/misuse" pool clean
	output_has "--incomplete takes warn|error"
	holdfast record -q -o t -- "$BIN/app" run "$pool" good
	for verb in crash test; do
		# one crash image: those that only show that recovery is a judge do not count
		run -0 holdfast "$verb" --fresh --budget 1 --json r.json --recover "$BIN/app check $pool" t
		jq -e '.stats.generated >= 1' r.json
		run -3 holdfast "$verb" --fresh --budget 1 --incomplete error --recover "$BIN/app check $pool" t
		output_has "incomplete: the budget ended it"
		# nothing was tested: no verdict, whatever --incomplete says
		run -3 holdfast "$verb" --fresh --budget 1ms --recover "$BIN/app check $pool" t
		output_has "the budget ended it before the first crash state"
	done
	run -3 holdfast explore -j 1 -o d --max-paths 3 --incomplete error --sym-stdin 12 -- "$EXPLORE_PROGRAMS/parser" pool
	output_has "incomplete: "
}

@test "--ci: SARIF, incomplete is an error, and a budget" {
	run -3 holdfast check --ci -- "$BIN/misuse" pool clean fail
	jq -e '.runs | length == 1' holdfast.sarif
	rm holdfast.sarif
	run -0 holdfast check --ci --incomplete warn --sarif other.sarif -- "$BIN/misuse" pool clean fail
	[ ! -e holdfast.sarif ]
	[ -e other.sarif ]
	holdfast record -q -o t -- "$BIN/app" run "$pool" good
	run -0 holdfast test --ci --recover "$BIN/app check $pool" t
	jq -e '.runs | length == 1' holdfast.sarif
	run -3 holdfast crash --ci --fresh --budget 1 --recover "$BIN/app check $pool" t
}

@test "--ci: no colour, on a terminal, too" {
	needs_terminal
	run -1 script -qec "TERM=xterm '$HOLDFAST' check -- '$BIN/misuse' pool missing-both" typescript
	grep -q $'\033\\[' typescript
	run -1 script -qec "TERM=xterm '$HOLDFAST' check --ci -- '$BIN/misuse' pool missing-both" typescript
	run ! grep -q $'\033\\[' typescript
}

@test "--ci: what would go on for ever has a budget" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good
	background "$HOLDFAST" crash --ci --strategy random --json r.json --recover "$BIN/app check $pool" t
	tested() { holdfast status --json t | jq -e '.tested > 3'; }
	wait_for tested
	[ "$(campaign_setting t budget)" = 5m ]
}

# ---- the self-check ----

# forks STATUS VERB [OPTION…]: on a new pool, to which a child writes more than its parent
forks() {
	rm -f pool
	run "-$1" holdfast "${@:2}" -- "$VICTIM" pool store 3 fork 5
}

@test "a file that is not what was recorded: said, incomplete, and status 3 with --incomplete error" {
	differs="$PWD/pool is not what was recorded: .* byte.* the first at 0x.* likely cause: a child process that was not recorded"
	forks 0 record -o t
	grep -q "warning: $differs" <<<"$output"
	forks 3 record -f -o t --incomplete error
	forks 3 record -q -f -o t --incomplete error
	# the trace knows it
	report_json check r.json t
	jq -e --arg t "$differs" '.incomplete | test($t)' r.json
	run -3 holdfast check -q --incomplete error t
	report_json crash r.json --recover "test -e $PWD/pool" t
	jq -e --arg t "$differs" '.incomplete | test($t)' r.json
	forks 0 check --json r.json
	jq -e --arg t "$differs" '.incomplete | test($t)' r.json
	forks 3 check --incomplete error
	forks 0 test --json r.json -o t2 --recover "test -e $PWD/pool"
	jq -e --arg t "$differs" '.incomplete | test($t)' r.json
	# and not where all is told
	forks 0 record -o t3 --incomplete error --follow-forks
	output_lacks "is not what was recorded"
	forks 0 check --incomplete error --follow-forks --json r.json
	jq -e '.incomplete == null' r.json
}

# ---- what is known before ----

@test "a report that cannot be written is said before anything runs" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good
	mkdir folder
	for path in missing/r.json folder /proc/r.json; do
		run -2 holdfast check --json "$path" -- "$BIN/misuse" pool clean say
		output_has "cannot write the report $path"
		output_lacks hello
		run -2 holdfast crash --sarif "$path" --recover "$BIN/app check $pool" t
		output_has "cannot write the report $path"
		[ ! -e t/campaign.db ]
		run -2 holdfast explore -o e --html "$path" --sym-stdin 2 -- "$EXPLORE_PROGRAMS/parser" pool
		[ ! -e e ]
	done
	echo old >r.json
	run -2 holdfast check --json r.json --sarif missing/r -- "$BIN/misuse" pool clean
	[ "$(cat r.json)" = old ]
	[ "$(ls -A | grep -c r.json)" -eq 1 ]
}

@test "files may not grow (ulimit -f): it is said, with status 4, and does not end holdfast by a signal" {
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	run -4 bash -c 'ulimit -f 1; "$HOLDFAST" check --json r.json t'
	output_has "cannot write the report r.json: File too large"
	output_has "1 error"
	holdfast record -q -o u -- "$BIN/app" run "$pool" good
	export pool
	for verb in crash test; do
		run bash -c 'ulimit -f 16; "$HOLDFAST" '"$verb"' --fresh --recover "$BIN/app check $pool" u'
		[ "$status" -eq 3 ] || [ "$status" -eq 4 ]
		output_has "too large"
	done
	# the program has the limit, and the signal, as ever
	run -153 bash -c '"$HOLDFAST" record -q -o v -- sh -c "ulimit -f 1; exec head -c 5000 /dev/zero" >zeros'
}

# ---- broken off ----

@test "check: the tracer is killed, and nothing was found: status 3" {
	background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool clean ready forever
	wait_for test -e ready
	kill -KILL "$(tracer)"
	ended
	[ "$status" -eq 3 ]
	jq -e '.findings == [] and (.incomplete | test("signal 9"))' r.json
}

@test "check: the tracer fails, with a status and no signal: status 3, and it is not called the program's" {
	cat >valgrind <<-EOF
		#!/bin/bash
		[[ \$* == *misuse* ]] || exec "$(command -v valgrind)" "\$@"
		"$(command -v valgrind)" "\$@" &
		while [ ! -e ready ]; do sleep 0.05; done
		kill -KILL \$!
		wait
		exit 1
	EOF
	chmod +x valgrind
	run -3 env HOLDFAST_VALGRIND="$PWD/valgrind" "$HOLDFAST" check -- "$BIN/misuse" pool clean ready forever
	output_has "nothing found"
	output_has "incomplete: the tracer ended with status 1 before the program did"
	rm ready
	run -3 env HOLDFAST_VALGRIND="$PWD/valgrind" "$HOLDFAST" record -o t -- "$BIN/misuse" pool clean ready forever
	output_has "error: the tracer ended with status 1 before the program did"
	# a program that ends with the same status, or any, is not the tracer
	for code in 1 3 255; do
		run "-$code" holdfast record -f -o t -- "$VICTIM" pool store 1 exit "$code"
		output_lacks tracer
		run -0 holdfast check -- "$VICTIM" pool store 1 exit "$code"
		output_has "incomplete: the program ended with status $code"
		run -3 holdfast check --incomplete error -- "$VICTIM" pool store 1 exit "$code"
	done
}

@test "check: a signal to holdfast ends the program: status 3, unless it ends in order" {
	background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool clean ready forever
	wait_for test -e ready
	kill -TERM "$pid"
	ended
	[ "$status" -eq 3 ]
	jq -e '.incomplete | test("signal 15")' r.json
	rm ready
	background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool clean polite ready forever
	wait_for test -e ready
	kill -TERM "$pid"
	ended
	[ "$status" -eq 0 ]
	jq -e '.incomplete == null' r.json
}

@test "check, crash: a recording that is cut short, or whose tracer was killed: status 3" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good
	cp -r t cut
	truncate -s -20 cut/trace
	run -3 holdfast check cut
	output_has "incomplete: "
	run -3 holdfast crash --recover "$BIN/app check $pool" cut
	output_has "incomplete: "
	background "$HOLDFAST" record -q -o killed -- "$BIN/misuse" pool2 clean ready forever
	wait_for test -e ready
	kill -KILL "$(tracer)"
	ended
	[ "$status" -eq 137 ]
	run -3 holdfast check killed
	output_has "incomplete: the recording ends before the program did"
	run -3 holdfast test --recover "test -s $PWD/pool2" killed
	output_has "incomplete: "
}

@test "test: the tracer is killed while it records: status 3" {
	background "$HOLDFAST" test -o t --json r.json --recover "grep -q . $PWD/pool" -- "$BIN/misuse" pool clean ready forever
	wait_for test -e ready
	kill -KILL "$(tracer)"
	ended
	cat err
	[ "$status" -eq 3 ]
}

@test "crash: interrupted, and nothing was found yet: status 3" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good good good good
	for signal in INT TERM; do
		cp -r t "$signal"
		background "$HOLDFAST" crash -j 1 --json r.json --recover "$BIN/app check $pool slow && sleep 0.5" "$signal"
		tested() { [ "$(holdfast status --json "$signal" | jq '.tested // 0')" -gt 1 ]; }
		wait_for tested
		kill -"$signal" "$pid"
		ended
		[ "$status" -eq 3 ]
		jq -e '.findings == [] and (.incomplete | test("interrupted"))' r.json
	done
}

@test "explore: interrupted, and nothing was found: status 3" {
	background "$HOLDFAST" explore -j 1 -o d --sym-stdin 12 --json r.json -- "$EXPLORE_PROGRAMS/parser" pool
	has_paths() { [ "$(holdfast status --json d | jq .paths)" -ge 3 ]; }
	wait_for has_paths
	kill -INT "$pid"
	ended
	[ "$status" -eq 3 ]
	jq -e '.findings == [] and (.incomplete | test("interrupted"))' r.json
}
