#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A crash campaign as a whole: kept, gone on with, looked at and reported.
load crash-common

setup_file() {
	build_app
	# one finished campaign that tests look at; they do not change it
	export DONE=$BATS_FILE_TMPDIR/done
	mkdir "$DONE"
	cd "$DONE" || exit
	"$HOLDFAST" crash -q -o t --json r.json --sarif r.sarif --html r.html --recover "$BIN/app check $DONE/pool" \
		-- "$BIN/app" run "$DONE/pool" many >/dev/null || [ $? -eq 1 ]
}

check() {
	echo "$BIN/app check $pool $*"
}

done_id() {
	jq -r ".findings[] | select(.kind == \"$1\").id" "$DONE/r.json"
}

@test "these tests notice what is left behind" {
	nothing_left
	mkdir /dev/shm/holdfast-l3ft.x
	run nothing_left
	rmdir /dev/shm/holdfast-l3ft.x
	[ "$status" -eq 1 ]
	output_has "/dev/shm/holdfast-l3ft.x"
	background sleep 1000
	sleeps() { [ "$(cat "/proc/$pid/comm")" = sleep ]; }
	wait_for sleeps
	run nothing_left
	kill -KILL "$pid"
	[ "$status" -eq 1 ]
	output_has "sleep 1000"
}

# ---- two at a time ----

@test "results that are there are not overwritten: --resume or --fresh" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	run -2 holdfast crash --resume t
	output_has "no campaign to go on with"
	run -1 holdfast crash -q --recover "$(check)" t
	run -2 holdfast crash -q --recover "$(check)" t
	output_has "--resume goes on, --fresh starts anew"
	run -1 holdfast crash -q --fresh --recover "$(check)" t
	run -1 holdfast crash -q --resume t
	run -2 holdfast crash --resume --strategy prefix t
	output_has "--fresh"
	run -2 holdfast crash -q -o t --recover "$(check)" -- "$BIN/app" run "$pool" order
}

@test "options may stand behind a recording; behind a program they are its own" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	run -1 holdfast crash t -q --recover "$(check)" --json r.json
	jq -e '.findings | length > 0' r.json
	run -1 holdfast crash --resume t -q
	run -2 holdfast crash --resume t --no-such-option
	output_has "unknown option --no-such-option"
	echo 'echo "$@" >words' >tell
	holdfast record -q -o u sh tell -q --json >/dev/null
	[ "$(cat words)" = "-q --json" ]
}

@test "two campaigns in one folder at once: the second one is told" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many >/dev/null
	background "$HOLDFAST" crash -q --recover "$(check slow) slow slow slow" t
	running() { holdfast status t >now && grep -q ": running" now && grep -q "images tested: [1-9]" now; }
	wait_for running
	run -2 holdfast crash --fresh --recover "$(check)" t
	output_has "another campaign runs in t"
	run -2 holdfast crash --resume t
	output_has "another campaign runs in t"
	# looking is fine
	run -0 holdfast status t
	output_has "running"
	run -0 holdfast show t
	kill -KILL "$pid"
	wait "$pid" || true
	run -0 holdfast status t
	output_has "interrupted"
	output_has "--resume t"
	run -1 holdfast crash -q --resume t
	wait_nothing_left
}

# ---- interrupted ----

# A campaign of a few seconds: the trace of one, in the folder whole, and what an undisturbed run finds.
long_campaign() {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many grow many grow many >/dev/null
	cp -r t whole
	crash_json whole.json --recover "$(check slow slow)" whole
	[ "$(jq '.findings | length' whole.json)" -eq 3 ]
}

# HOLDFAST_KILLS=100 for a long one, by hand.
@test "kill -9 at ten random moments, then --resume: the same findings, and nothing is left" {
	long_campaign
	holdfast crash -q --budget 3 --recover "$(check slow slow)" t >/dev/null 2>&1 || [ $? -eq 1 ]
	local before
	kept() { holdfast status --json t | jq '.tested // 0'; }
	more() { [ "$(kept)" -gt "$((before + RANDOM % 4))" ] || ! kill -0 "$pid" 2>/dev/null; }
	for ((round = 0; round < ${HOLDFAST_KILLS:-10}; round++)); do
		before=$(kept)
		background "$HOLDFAST" crash -q --resume t
		wait_for more
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		wait_nothing_left
		run -0 holdfast status t
	done
	crash_json r.json --resume t
	same_findings whole.json r.json
	jq -e '.stats.resumed > 20 and .incomplete == null' r.json
	[ "$(jq '.stats.tested' r.json)" -lt "$(jq '.stats.tested' whole.json)" ]
	# and what is kept is the same, too
	run -1 holdfast replay "$(first_id r.json)" t
	wait_nothing_left
}

@test "kill -9 while the program is recorded: nothing is left running" {
	for delay in 0.05 0.2 0.5; do
		rm -rf t
		background "$HOLDFAST" crash -q -o t --recover "$(check)" -- "$BIN/app" run "$pool" order wait
		sleep "$delay"
		kill -KILL "$pid"
		wait "$pid" || true
		wait_nothing_left
	done
}

@test "SIGINT, SIGTERM, SIGHUP: it ends in order, reports what it has, and can go on" {
	long_campaign
	tested() { [ "$(holdfast status --json t | jq '.tested // 0')" -gt 8 ]; }
	for signal in INT TERM HUP; do
		for try in 2 4 8 16 32; do # it may have been quicker than the signal
			rm -rf r.json t/campaign*
			background "$HOLDFAST" crash --json r.json --recover "$(check $(yes slow | head -n "$try"))" t
			wait_for tested
			kill -"$signal" "$pid" || true
			status=0
			wait "$pid" || status=$?
			tail -v -n +1 err
			jq -e '.incomplete == null' r.json || break
		done
		[ "$status" -eq "$(jq 'if .findings == [] then 3 else 1 end' r.json)" ]
		jq -e '.incomplete | test("interrupted")' r.json
		wait_nothing_left
		crash_json r.json --resume t
		same_findings whole.json r.json
		jq -e '.stats.resumed > 0' r.json
	done
}

@test "a signal when the campaign has ended: the report is finished all the same, but for a second one" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	mkfifo page
	for signals in 1 2; do
		background "$HOLDFAST" crash -q --fresh --html page --recover "$(check)" t
		exec 9<page
		head -c 1 <&9 >r.html # more than fits into the pipe is still to come
		for ((i = 0; i < signals; i++)); do
			kill -TERM "$pid"
			sleep 0.1
		done
		cat <&9 >>r.html
		status=0
		wait "$pid" || status=$?
		tail -n 1 r.html
		[ "$status" -eq $((signals == 1 ? 1 : 128 + 15)) ]
		[ "$signals" -eq 2 ] || tail -n 1 r.html | grep -q '</html>'
	done
}

@test "the disk is full: status 4, it is said, and --resume goes on once there is room" {
	mkdir small
	unshare=(--mount)
	[ "$(id -u)" = 0 ] || unshare=(--mount --map-root-user)
	unshare "${unshare[@]}" mount -t tmpfs none small 2>/dev/null || skip "cannot mount a small file system"
	pool=$PWD/small/pool
	run -0 unshare "${unshare[@]}" bash -c '
		set -e
		cd small
		mount -t tmpfs -o size=100m none .
		cd "$PWD"
		"$HOLDFAST" record -q -o t -- "$BIN/app" run "$PWD/pool" many grow many >/dev/null
		cp -r t ../whole
		"$HOLDFAST" crash -q --json ../whole.json --recover "$BIN/app check $PWD/pool" ../whole || [ $? -eq 1 ]
		mount -o remount,size=$(($(df -k --output=used . | tail -n 1) + 120))k .
		status=0
		"$HOLDFAST" crash --recover "$BIN/app check $PWD/pool" t || status=$?
		echo "status $status"
		mount -o remount,size=100m .
		"$HOLDFAST" crash -q --json ../r.json --resume t || [ $? -eq 1 ]'
	output_has "campaign.db: no space left"
	output_has "status 4"
	same_findings whole.json r.json
}

@test "a budget, and more of it later: as if it had never stopped" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many >/dev/null
	cp -r t whole
	crash_json whole.json --recover "$(check)" whole
	crash_json r.json --budget 10 --recover "$(check)" t
	jq -e '.incomplete != null' r.json
	run -0 holdfast status t
	output_has "stopped"
	crash_json r.json --resume --budget 15 t
	jq -e '.incomplete != null' r.json
	crash_json r.json --resume t
	same_findings whole.json r.json
	jq -e '.incomplete == null and .stats.resumed >= 15' r.json
	run -0 holdfast status t
	output_has "finished"
}

@test "--resume works from another folder" {
	mkdir here there
	cd here
	cp "$BIN/app" .
	holdfast record -q -o t -- ./app run pool order >/dev/null
	crash_json r.json --budget 3 --recover "./app check pool" t
	cd ../there
	run -1 holdfast crash -q --json ../r.json --resume ../here/t
	diff <(cause ../r.json) <(cause_of ordering order)
	run -1 holdfast replay "$(first_id ../r.json)" ../here/t
}

@test "-j 1 and -j 4 find the same" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many >/dev/null
	crash_json one.json -j 1 --recover "$(check)" t
	crash_json four.json --fresh -j 4 --recover "$(check)" t
	same_findings one.json four.json
}

# ---- looking at it ----

@test "status: in words and as JSON; the newest campaign is found by itself" {
	cd "$DONE"
	run -0 holdfast status t
	output_has "finished"
	output_has "causes: 3"
	run -0 holdfast status
	output_has "t: finished"
	run -0 holdfast status --json t
	echo "$output" | jq -e '.state == "finished" and .causes == 3 and .tested > 0 and (.recover | test("app check"))'
	cd "$BATS_TEST_TMPDIR"
	run -2 holdfast status
	output_has "no crash campaign in the current folder"
	mkdir empty
	run -2 holdfast status empty
	run -2 holdfast status missing
}

@test "show: the list, one finding, by the beginning of its id" {
	cd "$DONE"
	id=$(done_id ordering)
	run -0 holdfast show t
	[ "${#lines[@]}" -eq 3 ]
	output_has "$id"
	run -0 holdfast show "${id:0:6}" t
	output_has "[ordering]"
	output_has "app.c:$(marked order persisted)"
	output_has "wrong: cell"
	output_has "holdfast replay $id t"
	run -0 holdfast show --json "$id" t
	echo "$output" | jq -e ".id == \"$id\" and .kind == \"ordering\""
	run -2 holdfast show 0123456789abcdef t
	output_has "no finding"
}

@test "show: a folder with a name like an id is the folder" {
	holdfast crash -o b2 --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" order >out 2>err || true
	holdfast show b2 >list
	id=$(cut -c1-16 list | head -n 1)
	[ "${#id}" -eq 16 ]
	holdfast show "$id" b2 | grep -q "$id"
	mkdir "${id:0:2}" # no campaign is in it
	holdfast show "${id:0:2}" | grep -q "$id"
}

@test "replay: it fails again, ten times out of ten, and the pool is untouched" {
	cd "$DONE"
	before=$(sha256sum pool)
	for kind in ordering missing-flush atomicity; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			run -1 holdfast replay "$(done_id $kind)" t
			output_has "wrong: cell"
			output_has "status 1"
		done
	done
	[ "$(sha256sum pool)" = "$before" ]
	run -2 holdfast replay 0123456789abcdef t
	run -2 holdfast replay
	wait_nothing_left
}

@test "replay --keep and --recover: the image for other tools" {
	run -1 holdfast replay --keep "$PWD/image" "$(done_id ordering)" "$DONE/t"
	cp image/pool copy # check changes it
	run -1 "$BIN/app" check copy
	output_has "has no data"
	run -0 holdfast replay --recover "true" "$(done_id ordering)" "$DONE/t"
	run -1 holdfast replay --recover "grep -q nothing $DONE/pool" "$(done_id ordering)" "$DONE/t"
	run -0 holdfast replay --recover "cmp $DONE/pool $PWD/image/pool || true" "$(done_id ordering)" "$DONE/t"
	output_lacks differ
}

@test "replay --gdb" {
	holdfast crash -q -o t --json r.json --recover "$(check segv)" -- "$BIN/app" run "$pool" order >/dev/null || true
	run bash -c "printf 'run\nbacktrace\nkill\nquit\n' | timeout 600 \"\$HOLDFAST\" replay --gdb $(first_id r.json) t"
	output_has "SIGSEGV"
	output_has "instead"
	wait_nothing_left
}

@test "diff: which field is missing, with both values" {
	run -0 holdfast diff "$(done_id ordering)" "$DONE/t"
	output_has "app.c:$(marked order lost)"
	output_has "42"
	output_has "word"
	run -2 holdfast diff 0123456789abcdef "$DONE/t"
}

# ---- reports ----

@test "JSON, SARIF and HTML have the crash findings" {
	cd "$DONE"
	[ "$(jq '.runs[0].results | length' r.sarif)" -eq 3 ]
	diff <(jq -r '.runs[0].results[].partialFingerprints["holdfast/v1"]' r.sarif | sort) <(jq -r '.findings[].id' r.json | sort)
	diff <(jq -r '.runs[0].results[].ruleId' r.sarif | sort) <(jq -r '.findings[].kind' r.json | sort)
	for id in $(jq -r '.findings[].id' r.json); do
		grep -q "$id" r.html
	done
	grep -q "holdfast replay" r.html
	jq -e 'all(.findings[]; .witness.replay == "holdfast replay \(.id) t")' r.json
	jq -e 'all(.findings[]; any(.steps[]; .what == "crash") and any(.steps[]; .what == "persisted"))' r.json
	jq -e '.stats | .points > 0 and .tested > 0 and .generated >= .same and .seconds_recovery > 0' r.json
}

@test "the replay command of a report does replay" {
	cd "$DONE"
	PATH=$(dirname "$HOLDFAST"):$PATH
	run -1 bash -c "$(jq -r '.findings[0].witness.replay' r.json)"
}

@test "suppressions and a baseline hide crash findings" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order halves >/dev/null
	run -1 holdfast crash --gen-suppressions --recover "$(check)" t
	echo "$output" | grep ^id >supp
	[ "$(wc -l <supp)" -eq 2 ]
	run -0 holdfast crash -q --fresh --suppress supp --json r.json --recover "$(check)" t
	jq -e '.summary.suppressed == 2 and (.findings | length) == 0' r.json
	run -0 holdfast crash -q --fresh --baseline r.json --recover "$(check)" t
	echo "atomicity halves" >supp
	crash_json r.json --fresh --suppress supp --recover "$(check)" t
	diff <(cause r.json) <(cause_of ordering order)
	echo "atomicity" >supp
	run -2 holdfast crash --fresh --suppress supp --recover "$(check)" t
}

@test "ids are the same from run to run" {
	crash_json one.json -o t --recover "$(check)" -- "$BIN/app" run "$pool" many
	mkdir other
	pool=$PWD/other/pool
	crash_json two.json -o u --strategy exhaustive --budget 400 --recover "$(check)" -- "$BIN/app" run "$pool" many
	diff <(jq -r '.findings[].id' one.json | sort) <(jq -r '.findings[].id' two.json | sort)
}

@test "test: check and crash on one recording, one report; what both see is told once" {
	run -1 holdfast test -o t --json r.json --recover "$(check)" -- "$BIN/app" run "$pool" good order no-flush twice
	jq -e '.verb == "test"' r.json
	diff <(cause r.json '.witness.type == "crash"') <(cause_of missing-flush no-flush; cause_of ordering order)
	diff <(jq -r '.findings[] | select(.witness.type == "trace") | "\(.kind) \(.location.line)"' r.json | sort) <(
		echo "redundant-fence $(marked twice flush)"
		echo "redundant-flush $(marked twice flush)"
	)
	run -1 holdfast test --fresh -q --recover "$(check)" t
	rm -f "$pool"
	run -0 holdfast test -o u --recover "$(check)" -- "$BIN/app" run "$pool" good good
	output_has "nothing found"
	run -2 holdfast test -- "$BIN/app" run "$pool" good
}

@test "status: behaviours, the last cause, what is left; --csv has the causes over time, also of a campaign in pieces" {
	cd "$BATS_TEST_TMPDIR"
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order halves no-flush >/dev/null
	crash_json r.json --budget 15 --recover "$(check)" t
	run -0 holdfast status t
	output_has "estimate: "
	crash_json r.json --resume --budget none t
	run -0 holdfast status t
	output_has "last new cause: "
	output_has "representatives: "
	output_lacks "estimate"
	holdfast status --json t | jq -e '.behaviours >= .groups and .groups >= 1 and .representatives == .groups and .behaviour_failed > 0 and
		.followed >= 0 and .since_cause >= 0 and .seconds_left == 0 and .images > 0'
	holdfast status --csv t >csv
	[ "$(head -1 csv)" = "seconds,tested,failed,causes" ]
	# a line for each cause, and one for now; nothing goes down, though a resumed campaign begins anew
	[ "$(wc -l <csv)" -eq $((2 + $(jq '.findings | length' r.json))) ]
	sed 1d csv | cut -d, -f4 | sort -nc
	sed 1d csv | cut -d, -f2 | sort -nc
	[ "$(sed 1d csv | cut -d, -f4 | sort -u | wc -l)" -eq "$(jq '.findings | length' r.json)" ]
}
