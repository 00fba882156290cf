#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast crash: what it finds, its options, and recovery commands and programs of all sorts.
load crash-common

setup_file() {
	build_app
}

check() {
	echo "$BIN/app check $pool $*"
}

# ---- what it finds ----

@test "a correct program: nothing found, status 0; its output is its own, the counts are shown" {
	run -0 --separate-stderr holdfast crash -o t --recover "$(check)" -- "$BIN/app" run "$pool" good good
	[ "$output" = "done" ]
	[[ $stderr == *"recovery sees the image"* ]]
	[[ $stderr == *"failure points on"* ]]
	[[ $stderr == *"nothing found"* ]]
	[ -e t/trace ]
	[ -e t/campaign.db ]
	# what recovery did to the pool is undone: check clears `valid`
	[ "$(od -An -tu8 -j64 -N8 "$pool" | tr -d ' ')" = 1 ]
	wait_nothing_left
}

@test "--budget in seconds ends what is under way, too, and says what it leaves" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order >/dev/null
	# it hangs for an hour, and nobody waits for that
	for seconds in 4 16 64; do # more where a busy machine does not come to a state in that time
		run -3 holdfast crash --fresh --timeout 1h --budget ${seconds}s --json r.json --recover "$(check hang)" t
		[[ $output == *"before the first crash state"* ]] || break
	done
	output_has "the budget ended it, with "
	output_has "unexplained"
	jq -e '.stats.failed > 0 and (.findings | length) == 0' r.json
}

@test "what there is to do is said first; 10 minutes are the budget if there is none" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good good >/dev/null
	holdfast crash --json r.json --recover "$(check)" t >out 2>err
	said=$(sed -n 's/.*about \([0-9]*\) images to test, which takes about .*; it ends after 10 minutes in any case/\1/p' err)
	[ "$said" -eq "$(jq '.stats.generated - .stats.same' r.json)" ]
	# all of them are known by now
	holdfast crash --resume --budget none t >out 2>err
	grep -q "about 0 images to test" err
	! grep -q "minutes" err || false
	run -0 holdfast crash --fresh --budget 4 --recover "$(check)" t
	output_has "the budget is enough for about 4 of them, the most telling first"
}

@test "each bug is found once, of the right kind, with both stores named" {
	for pair in "ordering order" "missing-flush no-flush" "atomicity halves"; do
		# shellcheck disable=SC2086
		set -- $pair
		rm -rf t "$pool"
		crash_json r.json -o t --recover "$(check)" -- "$BIN/app" run "$pool" good "$2" good
		diff <(cause r.json) <(cause_of "$1" "$2")
		jq -e '.findings[0].level == "error" and .findings[0].witness.type == "crash"' r.json
		jq -e '.findings[0].message | test("recovery fails with status 1")' r.json
		jq -e '.verb == "crash" and .incomplete == null and .stats.tested > 3' r.json
	done
}

@test "without debug information, two stores are told apart by module and offset" {
	strip -o stripped "$BIN/app"
	run -1 holdfast crash -o t --recover "$PWD/stripped check $pool" -- ./stripped run "$pool" order
	read -r later earlier <<<"$(grep -o 'stripped+0x[0-9a-f]*' <<<"$(grep 'if the store at' <<<"$output")" | paste -s)"
	[ -n "$earlier" ]
	[ "$later" != "$earlier" ]
	output_has "state       before event "
	output_has "no debug information: compile with -g"
}

@test "what closes a window and is then never persistent is a cause of its own" {
	crash_json r.json -o t --recover "$(check)" -- "$BIN/app" run "$pool" good forgets good good
	diff <(cause r.json) <(
		cause_of atomicity forgets
		echo "missing-flush lost $(marked forgets lost)"
	)
}

@test "all of them together: one finding each, in words too" {
	run -1 holdfast crash -o t --json r.json --recover "$(check)" -- "$BIN/app" run "$pool" many
	diff <(cause r.json) <(
		cause_of atomicity halves
		cause_of missing-flush no-flush
		cause_of ordering order
	)
	output_has "[ordering]"
	output_has "app.c:$(marked order persisted)"
	output_has "app.c:$(marked order lost)"
	output_has "holdfast replay"
	output_has "3 errors"
}

@test "every strategy finds an order bug but prefix, which finds the torn update" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order halves >/dev/null
	for strategy in auto ahead exhaustive random; do
		crash_json r.json --fresh --strategy "$strategy" --recover "$(check)" t
		diff <(cause r.json) <(cause_of atomicity halves; cause_of ordering order)
	done
	crash_json r.json --fresh --strategy behind --recover "$(check)" t
	cause r.json | grep -q "$(cause_of ordering order)"
	crash_json r.json --fresh --strategy prefix --recover "$(check)" t
	diff <(cause r.json) <(cause_of atomicity halves)
	run -2 holdfast crash --fresh --strategy clever --recover "$(check)" t
	output_has "prefix|lost|ahead|behind|representative|random|exhaustive"
}

@test "exhaustive with and without reduction: the same causes" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order no-flush halves >/dev/null
	crash_json with.json --strategy exhaustive --recover "$(check)" t
	crash_json without.json --fresh --no-reduce --strategy exhaustive --recover "$(check)" t
	same_findings with.json without.json
	[ "$(jq '.findings | length' with.json)" -eq 3 ]
}

@test "--model eadr: only the order of stores counts" {
	crash_json r.json -o t --model eadr --recover "$(check)" -- "$BIN/app" run "$pool" order no-flush halves
	diff <(cause r.json) <(cause_of atomicity halves)
	jq -e '.model == "eadr"' r.json
}

@test "--only, --after, --max-per-path and --points narrow down and widen" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order halves order halves order >/dev/null
	crash_json all.json --recover "$(check)" t
	crash_json only.json --fresh --only 'halves' --recover "$(check)" t
	diff <(cause only.json) <(cause_of atomicity halves)
	crash_json one.json --fresh --max-per-path 1 --recover "$(check)" t
	crash_json store.json --fresh --points store --recover "$(check)" t
	[ "$(jq .stats.points only.json)" -lt "$(jq .stats.points all.json)" ]
	[ "$(jq .stats.points one.json)" -lt "$(jq .stats.points all.json)" ]
	[ "$(jq .stats.points store.json)" -gt "$(jq .stats.points all.json)" ]
	same_findings all.json store.json
	last=$(holdfast dump --events --json t | jq -s '.[-1].event // (length - 1)')
	run holdfast crash --fresh -q --after "$last" --recover "$(check)" t
	[ "$status" -ne 1 ]
	run holdfast crash --fresh -q --only 'no_such_*' --recover "$(check)" t
	[ "$status" -ne 1 ]
}

@test "--budget: so many images, and the report says that it was cut" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good good good >/dev/null
	run -0 holdfast crash --budget 5 --json r.json --recover "$(check)" t
	output_has "the budget ended it"
	jq -e '.stats.tested <= 12 and (.incomplete | test("budget"))' r.json
	for bad in 0 x 5y -3; do
		run -2 holdfast crash --fresh --budget "$bad" --recover "$(check)" t
	done
}

@test "--fail-on none: findings, and status 0" {
	run -0 holdfast crash -o t --fail-on none --json r.json --recover "$(check)" -- "$BIN/app" run "$pool" order
	jq -e '.summary.error == 1' r.json
}

# ---- how recovery fails ----

@test "a recovery that crashes: the signal, and where" {
	crash_json r.json -o t --recover "$(check segv)" -- "$BIN/app" run "$pool" order
	diff <(cause r.json) <(cause_of ordering order)
	jq -e '.findings[0].message | test("signal 11")' r.json
	run -0 holdfast show "$(first_id r.json)" t
	! command -v gdb >/dev/null || output_has "instead"
}

@test "a recovery that hangs, and one that writes without end" {
	crash_json r.json -o t --timeout 3s --recover "$(check hang)" -- "$BIN/app" run "$pool" order order order good
	diff <(cause r.json) <(cause_of ordering order)
	jq -e '.findings[0].message | test("does not end")' r.json
	# only what is reported was waited for
	jq -e '.stats.hung > 3 and .stats.waited == 1' r.json
	rm -f "$pool"
	crash_json r.json -o u --output-cap 64K --recover "$(check flood)" -- "$BIN/app" run "$pool" order
	diff <(cause r.json) <(cause_of ordering order)
	jq -e '.findings[0].message | test("without end")' r.json
	wait_nothing_left
}

@test "a recovery that is slow on some images does not hang" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	run -0 holdfast crash -o t --json r.json --recover "$(check) || sleep 0.9" t
	output_has "nothing found"
	output_lacks "flaky"
	jq -e '.stats.waited == 0' r.json
	crash_json r.json --fresh --recover "$(check) || { sleep 0.9; exit 1; }" t
	diff <(cause r.json) <(cause_of ordering order)
	jq -e '.findings[0].message | test("status 1")' r.json
	# a hang that was believed too soon is forgotten by those who go on, too
	crash_json s.json --resume t
	diff <(jq -r '.findings[].id' r.json) <(jq -r '.findings[].id' s.json)
}

@test "--expect-exit and --fail-regex decide what a failure is" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	run -0 holdfast crash -q --expect-exit 0,1 --recover "$(check)" t
	run -1 holdfast crash -q --fresh --expect-exit 0-5 --fail-regex 'wrong: cell [0-9]' --recover "$(check)" t
	run -2 holdfast crash -q --fresh --expect-exit x --recover "$(check)" t
	run -2 holdfast crash -q --fresh --fail-regex '(' --recover "$(check)" t
	output_has "regular expression"
}

@test "a recovery that is flaky is said to be" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many grow many >/dev/null
	run holdfast crash --recover "$(check flaky)" t
	output_has "flaky"
}

@test "--fast-recover gives the same findings" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" many >/dev/null
	crash_json slow.json --recover "$(check)" t
	crash_json fast.json --fresh --fast-recover --recover "$(check)" t
	same_findings slow.json fast.json
	wait_nothing_left
}

@test "a shell command, a script and words with blanks as recovery" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	crash_json plain.json --recover "$(check)" t
	crash_json shell.json --fresh --recover "cd / && $(check) >/dev/null || exit 1" t
	same_findings plain.json shell.json
	mkdir "with blanks"
	cp "$BIN/app" "with blanks/app"
	crash_json blanks.json --fresh --recover "'with blanks/app' check \"\$PWD/pool\"" t
	same_findings plain.json blanks.json
}

# ---- bad input ----

@test "usage: no recovery, no program, things that exclude each other" {
	run -2 holdfast crash -- "$BIN/app" run "$pool" order
	output_has "--recover CMD is needed"
	[ ! -e pool ]
	run -2 holdfast crash --recover true
	output_has "a program to run or a trace is needed"
	run -2 holdfast crash --recover true --recover-client true -- "$BIN/app" run "$pool" order
	output_has "--port or --ready"
	run -2 holdfast crash --resume --recover true -- "$BIN/app" run "$pool" order
	output_has "--resume"
	[ ! -e pool ]
	run -2 holdfast crash --timeout 0 --recover true -- "$BIN/app" run "$pool" order
	run -2 holdfast crash --memory much --recover true -- "$BIN/app" run "$pool" order
	output_has "much"
	run -3 holdfast crash --recover true -- ./missing
	output_has "no such program: ./missing"
	mkdir empty
	run -2 holdfast crash --recover true empty
	output_has "empty"
}

@test "recovery command not found: status 3, before the program is run" {
	for command in ./missing surely-not-on-path ./plain; do
		: >plain
		rm -rf t
		run -3 holdfast crash -o t --recover "$command $pool" -- "$BIN/app" run "$pool" order
		output_has "${command#./}"
		[ ! -e t ] && [ ! -e "$pool" ]
	done
	run -3 holdfast crash --fresh --recover "surely-not-on-path && true" t
	run -2 holdfast crash --fresh --recover " " t
}

@test "a recovery that always fails: status 3, and why" {
	run -3 holdfast crash -o t --json r.json --recover "$(check fail)" -- "$BIN/app" run "$pool" good
	output_has "ends with status 7"
	output_has "without any crash"
	[ ! -e r.json ]
	run -3 holdfast crash -o u --recover "sh -c 'kill -SEGV \$\$'" -- "$BIN/app" run "$pool" good
	output_has "signal 11"
}

@test "a recovery that fails on an empty start only: that is not held against the program" {
	run -0 holdfast crash -o t --recover "test -s $pool && $(check)" -- "$BIN/app" run "$pool" good good
	rm -f "$pool"
	crash_json r.json -o u --recover "test -s $pool && $(check)" -- "$BIN/app" run "$pool" good order
	diff <(cause r.json) <(cause_of ordering order)
}

@test "a recovery that reads stdin gets nothing, and does not take ours" {
	run -0 bash -c "yes | timeout 600 \"\$HOLDFAST\" crash -q -o t --recover '$(check stdin)' -- '$BIN/app' run '$pool' good"
	rm -f "$pool"
	run -1 bash -c "yes | timeout 600 \"\$HOLDFAST\" crash -q -o u --recover '$(check stdin)' -- '$BIN/app' run '$pool' order"
}

@test "a recovery that writes all over the place: nothing of it lasts" {
	crash_json r.json -o t --recover "$(check litter)" -- "$BIN/app" run "$pool" good order
	diff <(cause r.json) <(cause_of ordering order)
	[ ! -e pool.litter ]
	[ ! -e litter ]
	wait_nothing_left
}

@test "a recovery that unlinks its pool: the next state has it again" {
	crash_json r.json -o t --recover "cp $pool copy; rm $pool; $BIN/app check copy" -- "$BIN/app" run "$pool" good order
	diff <(cause r.json) <(cause_of ordering order)
	[ -s pool ]
	[ ! -e copy ]
}

@test "a recovery that spawns daemons: they are killed" {
	crash_json r.json -o t --recover "$(check daemon)" -- "$BIN/app" run "$pool" good order
	diff <(cause r.json) <(cause_of ordering order)
	wait_nothing_left
}

@test "a program that never touches persistent memory: status 3, and it is said" {
	run -3 holdfast crash -o t --recover true -- "$BIN/app" run "$pool" none
	output_has "never wrote persistent memory"
	run -3 holdfast crash -o u --recover true --pm '/no/such/*' -- "$BIN/app" run "$pool" good
	output_has "never wrote persistent memory"
}

@test "a pool that grows: states before and after" {
	crash_json r.json -o t --recover "$(check)" -- "$BIN/app" run "$pool" good order grow good order halves grow good
	diff <(cause r.json) <(cause_of atomicity halves; cause_of ordering order)
	rm -f "$pool"
	crash_json r.json -o u --strategy exhaustive --recover "$(check)" -- "$BIN/app" run "$pool" good grow good grow good
	[ -z "$(cause r.json)" ]
	# the second page's bug needs the second page
	rm -f "$pool"
	crash_json r.json -o v --recover "$(check)" -- "$BIN/app" run "$pool" good grow order
	diff <(cause r.json) <(cause_of ordering order)
	run -1 holdfast replay "$(first_id r.json)" v
}

@test "a pool that was there before: the run begins with what it held" {
	"$BIN/app" run "$pool" good good
	cp "$pool" before
	# the first two cells are stored again with the same values: no state is new before the third
	crash_json r.json -o t --recover "$(check)" -- "$BIN/app" run "$pool" good good order
	diff <(cause r.json) <(cause_of ordering order)
	run -1 holdfast replay --keep image "$(first_id r.json)" t
	cmp -n 384 image/pool before
}

@test "a program that is killed: what was recorded is tested" {
	background "$HOLDFAST" crash -o t --json r.json --recover "$(check)" -- "$BIN/app" run "$pool" good order wait
	wait_for grep -q waits out
	kill -KILL "$(pgrep -P "$pid" | head -1)"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 1 ]
	diff <(cause r.json) <(cause_of ordering order)
	jq -e '.incomplete | test("signal 9")' r.json
}

@test "a stored trace whose binary has changed: said, and places are not invented" {
	cp "$BIN/app" app
	holdfast record -q -o t -- ./app run "$pool" order >/dev/null
	sed 's|^#define PAGES|\n\n\n#define PAGES|' "$APP_SOURCE" >app.c
	${CC:-cc} -g -O0 -mclflushopt -o app app.c
	run -1 holdfast crash --json r.json --recover "./app check $pool" t
	output_has "app has changed since it was recorded"
	jq -e '[.findings[].related[].location.line // empty] == []' r.json
	rm app
	run holdfast crash --fresh --json r.json --recover "$(check)" t
	[ "$status" -le 1 ]
}

@test "a full tmpfs: a clear error, and nothing is left" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount a small tmpfs"
	unshare -m true 2>/dev/null || skip "needs namespaces"
	"$BIN/app" run "$pool" good
	run unshare -m bash -c "mount -t tmpfs -o size=64k,mode=1777 none /dev/shm && exec \"\$HOLDFAST\" crash -o t --view subst \
		--recover '$BIN/app check {pool}' -- '$BIN/app' run '$pool' good grow good grow good grow good"
	[ "$status" -le 4 ]
	unshare -m bash -c "mount -t tmpfs -o size=16k,mode=1777 none /dev/shm && exec \"\$HOLDFAST\" crash --fresh --view subst \
		--recover '$BIN/app check {pool}' t" >out 2>err && return 1
	grep -qi "full\|no room\|no space" err
	wait_nothing_left
}

@test "damaged traces: an error or what there is, never a crash of ours" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order halves >/dev/null
	size=$(stat -c %s t/trace)
	for ((at = 60; at < size; at += size / 8)); do
		rm -rf bad
		cp -r t bad
		printf '\xa5\x5a\xff' | dd of=bad/trace bs=1 seek="$at" conv=notrunc status=none
		run timeout 600 "$HOLDFAST" crash --recover "$(check)" bad
		[ "$status" -le 3 ]
	done
}

# ---- how recovery sees the image ----

@test "--view: every way gives the same findings, and says which it is" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order halves >/dev/null
	crash_json auto.json --recover "$(check)" t
	for view in mount userns preload; do
		case $view in
		mount) works=(unshare -m true) said=namespace ;;
		userns) works=(unshare -rm true) said=namespace ;;
		*) works=(true) said="through a preloaded library: programs that are statically linked" ;;
		esac
		"${works[@]}" 2>/dev/null || continue
		run -1 holdfast crash --fresh --view "$view" --json r.json --recover "$(check)" t
		same_findings auto.json r.json
		output_has "$said"
	done
	run -1 holdfast crash --fresh --view subst --json r.json --recover "$BIN/app check {pool}" t
	same_findings auto.json r.json
	output_has "{pool}"
	run -2 holdfast crash --fresh --view subst --recover "$(check)" t
	output_has "{pool}"
	wait_nothing_left
}

@test "two files in two folders are one image, and absolute pointers between them stay right" {
	${CC:-cc} -g -O0 -mclflushopt -o apart "$PROGRAMS/apart.c"
	mkdir a b
	apart() { # REPORT WAY ADDRESS OPTIONS…
		rm -rf t a/A b/B
		crash_json "$1" -o t "${@:4}" --recover "./apart check a/A b/B" -- ./apart run a/A b/B "$2" ${3:+"$3"}
	}
	apart r.json good 0x200000000000
	jq -e '(.findings | length) == 0 and .stats.tested > 2' r.json
	apart r.json early 0x200000000000
	diff <(cause r.json) <(cause_of ordering early)
	run -1 holdfast replay --keep image "$(first_id r.json)" t
	[ -s image/a/A ] && [ -s image/b/B ]
	# the program did not ask for the address: only on demand
	apart r.json early "" --same-address
	diff <(cause r.json) <(cause_of ordering early)
	run -3 holdfast crash --fresh --recover "./apart check a/A b/B" t
	output_has "B was at"
}

@test "an ordinary user" {
	[ "$(id -u)" -eq 0 ] || skip "only root can become someone else"
	home=$(mktemp -d /tmp/holdfast-test-user.XXXXXX)
	cp "$BIN/app" "$home"
	chown -R 65534:65534 "$home"
	run -1 as_nobody "$home" "$HOLDFAST" crash -o t --json r.json --recover "./app check $home/pool" -- ./app run "$home/pool" order halves
	cp "$home/r.json" r.json
	run -1 as_nobody "$home" "$HOLDFAST" replay "$(first_id r.json)" t
	run -0 as_nobody "$home" "$HOLDFAST" crash -q -o u --recover "./app check $home/good" -- ./app run "$home/good" good
	owners=$(find "$home" ! -user 65534)
	rm -rf "$home"
	diff <(cause r.json) <(cause_of atomicity halves; cause_of ordering order)
	[ -z "$owners" ]
	wait_nothing_left
}
