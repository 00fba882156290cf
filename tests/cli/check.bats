#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/misuse" "$PROGRAMS/misuse.c" -pthread
	build "$BIN/cxx" "$PROGRAMS/cxx.cc"
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -e err ] || cat err
	[ -z "${pid:-}" ] || kill -KILL -- "-$pid" 2>/dev/null || true
}

# The status of the job in $pid.
ended() {
	status=0
	wait "$pid" || status=$?
}

@test "a clean program: nothing found, status 0; its output and input are its own" {
	run -0 --separate-stderr holdfast check -- "$BIN/misuse" pool clean say
	[ "$output" = hello ]
	[[ $stderr == *"to stderr"* ]]
	[[ $stderr == *"nothing found"* ]]
	[[ $stderr != *incomplete* ]]
	echo "some input" >input
	run -0 --separate-stderr holdfast check --stdin input cat
	[ "$output" = "some input" ]
}

@test "the program's own status does not matter, but is said" {
	run -0 --separate-stderr holdfast check -- "$BIN/misuse" pool clean fail
	[ -z "$output" ]
	[[ $stderr == *"the program ended with status 7"* ]]
	[[ $stderr == *"nothing found"* ]]
}

@test "live, the report goes to stderr; with a folder, to stdout" {
	run -1 --separate-stderr holdfast check -- "$BIN/misuse" pool missing-both
	[ -z "$output" ]
	[[ $stderr == *"[missing-flush-and-fence]"* ]]
	[[ ${stderr_lines[-1]} == "1 error, 0 performance, 0 warnings" ]]
	[ ! -e misuse-0.hft ]
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	run -1 --separate-stderr holdfast check t
	output_has "[missing-flush-and-fence]"
	[ -z "$stderr" ]
	run -1 --separate-stderr holdfast check -q t
	[ -z "$output$stderr" ]
}

@test "each misuse is found at its very line, and nothing else" {
	for way in missing-flush missing-fence missing-both transient flush-clean flush-twice \
		flush-nt flush-dram fence-twice; do
		check_json r.json -- "$BIN/misuse" pool clean "$way"
		same "marked misuse.c $way" "found r.json"
		[ -n "$(found r.json)" ]
	done
	# where nothing at all is persisted, the file may not be meant to be
	check_json r.json -- "$BIN/misuse" fresh transient
	[ "$(jq -r '.findings[].kind' r.json)" = file-never-persisted ]
}

@test "all of them at once: one finding each" {
	# what one way leaves flushed, a fence of the next one completes: those with none are last
	ways=(clean missing-flush transient flush-clean flush-twice flush-nt flush-dram fence-twice missing-fence)
	check_json r.json -- "$BIN/misuse" pool "${ways[@]}"
	same 'marked misuse.c "${ways[@]}"' "found r.json"
	check_json r.json -- "$BIN/misuse" pool "${ways[@]:0:8}" missing-both
	same 'marked misuse.c "${ways[@]:0:8}" missing-both' "found r.json"
}

@test "flush in one thread, fence in another: an error under adr, and none if the flushing thread fences" {
	check_json r.json -- "$BIN/misuse" pool cross
	same "marked misuse.c cross" "found r.json"
	run -0 holdfast check -- "$BIN/misuse" pool own
	output_has "nothing found"
	run -0 holdfast check --fail-on error --model eadr -- "$BIN/misuse" pool cross
}

@test "--model eadr: what is stored is safe" {
	for way in missing-flush missing-both missing-fence; do
		check_json r.json --model eadr -- "$BIN/misuse" pool "$way"
		[ "$(jq '.summary.error' r.json)" -eq 0 ]
		[ "$(jq -r .model r.json)" = eadr ]
		jq -e '[.findings[].kind] | unique == ["redundant-fence", "redundant-flush"]' r.json
	done
}

@test "--model msync: only msync makes a store persistent" {
	check_json r.json --model msync -- "$BIN/misuse" pool sync
	[ "$(jq '.findings | length' r.json)" -eq 0 ]
	check_json r.json --model msync -- "$BIN/misuse" pool sync clean
	jq -e '[.findings[].kind] == ["missing-flush"]' r.json
	check_json r.json --model adr -- "$BIN/misuse" pool clean
	[ "$(jq '.findings | length' r.json)" -eq 0 ]
}

@test "live and from a recording: the same findings" {
	for ways in "missing-flush" "missing-both flush-clean transient fence-twice" "cross" "team" \
		"lose clean missing-fence" "flush-nt flush-dram" "lose crash"; do
		rm -rf t pool lost-pool
		# shellcheck disable=SC2086
		check_json live.json -- "$BIN/misuse" pool $ways
		rm -f pool lost-pool
		# shellcheck disable=SC2086
		holdfast record -q -o t -- "$BIN/misuse" pool $ways >/dev/null 2>&1 || true
		check_json stored.json t
		[ "$(jq '.findings | length' live.json)" -gt 0 ]
		if [ "$ways" = team ]; then # the threads' order is not the same each time
			same "jq -c '[.findings[] | [.id, .kind, .count, .location.line]]' live.json" \
				"jq -c '[.findings[] | [.id, .kind, .count, .location.line]]' stored.json"
			[ "$(jq '.findings[0].count' live.json)" -eq 4 ]
		else
			same "essence live.json" "essence stored.json"
		fi
		jq -e '.findings[0].witness.replay | test("^holdfast dump t --events")' stored.json >/dev/null
	done
}

@test "--fail-on: the status by level" {
	holdfast record -q -o error -- "$BIN/misuse" pool missing-both
	holdfast record -q -o performance -- "$BIN/misuse" pool fence-twice
	holdfast record -q -o clean -- "$BIN/misuse" pool clean
	oracle warns.so "$PROGRAMS/faulty.c" -DFAULT=SEGV -DIN=NOWHERE
	run -1 holdfast check -q error
	run -1 holdfast check -q performance
	run -0 holdfast check -q clean
	for level in error performance warning; do
		run -1 holdfast check -q --fail-on "$level" error
		run -0 holdfast check -q --fail-on "$level" clean
	done
	run -0 holdfast check -q --fail-on none error
	run -0 holdfast check -q --fail-on error performance
	run -1 holdfast check -q --fail-on performance performance
	run -1 holdfast check -q --fail-on warning performance
	run -0 holdfast check -q --oracle warns.so clean
	run -1 holdfast check -q --oracle warns.so --fail-on warning clean
	run -2 holdfast check --fail-on nothing clean
	output_has "error|performance|warning|none"
}

@test "--json, --sarif and --html are written, all at once" {
	run -1 holdfast check -q --json r.json --sarif r.sarif --html r.html -- "$BIN/misuse" pool missing-both
	jq -e '.verb == "check" and .model == "adr" and .summary.error == 1 and .incomplete == null' r.json
	jq -e '.command[1:] == ["pool", "missing-both"]' r.json
	jq -e '.version == "2.1.0" and (.runs[0].results | length) == 1' r.sarif
	[ "$(jq -r '.runs[0].results[0].partialFingerprints["holdfast/v1"]' r.sarif)" = "$(jq -r '.findings[0].id' r.json)" ]
	grep -q "$(jq -r '.findings[0].id' r.json)" r.html
	grep -qi '</html>' r.html
	[ -z "$(find . -name '.r.*')" ]
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	run -1 --separate-stderr holdfast check --json - t
	echo "$output" | jq -e '.summary.error == 1'
	run -1 --separate-stderr holdfast check --json - -- "$BIN/misuse" pool missing-both
	echo "$output" | jq -e '.summary.error == 1'
}

@test "a report that cannot be written: a clear error, before anything is done" {
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	run -2 holdfast check --json no/folder/r.json --sarif r.sarif --html r.html t
	output_has "cannot write the report no/folder/r.json"
	output_lacks "[missing-flush-and-fence]"
	[ ! -e r.sarif ]
	mkdir folder
	run -2 holdfast check -q --html folder t
	output_has "folder"
	run -4 holdfast check -q --json /dev/full t
	output_has "No space left"
}

@test "suppressions: by id, by kind and function; a stale entry is reported" {
	holdfast record -q -o t -- "$BIN/misuse" pool fence-twice missing-both
	run -1 holdfast check -q --json r.json t
	id=$(jq -r '.findings[] | select(.kind == "missing-flush-and-fence").id' r.json)
	printf '# known\nid %s # this one\nredundant-* fence_* misuse.c\n' "$id" >supp
	run -0 holdfast check --suppress supp --json s.json t
	output_has "2 suppressed"
	output_lacks "suppresses nothing"
	jq -e '(.findings | length) == 0 and (.suppressed | length) == 2 and .summary.suppressed == 2' s.json
	printf 'missing-flush-and-fence missing_both\nmissing-fence nobody\n' >supp
	run -1 holdfast check --suppress supp t
	output_has "supp:2 suppresses nothing any more: missing-fence nobody"
	output_lacks "[missing-flush-and-fence]"
	output_has "[redundant-fence]"
}

@test "suppressions that cannot be read stop before the program runs" {
	echo "missing-flush" >short
	run -2 holdfast check --suppress short -- "$BIN/misuse" pool missing-both say
	output_has "short:1"
	output_has "needs a function"
	output_lacks hello
	echo "id 12" >bad-id
	run -2 holdfast check --suppress bad-id -- "$BIN/misuse" pool say
	output_has "16 hex digits"
	run -2 holdfast check --suppress missing -- "$BIN/misuse" pool say
	output_has "cannot open the suppressions missing"
	output_lacks hello
}

@test "--gen-suppressions writes a file that suppresses everything" {
	ways=(clean fence-twice flush-clean transient missing-both)
	run -1 --separate-stderr holdfast check --gen-suppressions -- "$BIN/misuse" pool "${ways[@]}"
	echo "$output" >supp
	[ "$(grep -c ^id supp)" -eq 4 ]
	run -0 holdfast check --fail-on warning --suppress supp -- "$BIN/misuse" pool "${ways[@]}"
	output_has "4 suppressed"
	output_lacks "suppresses nothing"
	cd "$PROGRAMS" # where the source is: the file goes with it to other machines
	run -1 --separate-stderr holdfast check --gen-suppressions -- "$BIN/misuse" "$BATS_TEST_TMPDIR/pool" missing-both
	output_has "in missing_both, misuse.c:"
}

@test "--baseline shows only what is new" {
	run -1 holdfast check -q --json old.json -- "$BIN/misuse" pool fence-twice missing-both
	run -0 holdfast check --baseline old.json -- "$BIN/misuse" pool fence-twice missing-both
	output_lacks "[missing-flush-and-fence]"
	run -1 holdfast check -q --baseline old.json --json new.json -- "$BIN/misuse" pool flush-twice fence-twice missing-both
	same "marked misuse.c flush-twice" "found new.json"
	# the next baseline has the old ones too
	run -0 holdfast check -q --baseline new.json -- "$BIN/misuse" pool flush-twice fence-twice missing-both
}

@test "a baseline that is not ours: status 2 before the program runs" {
	echo '{"version": "2.1.0", "runs": []}' >sarif
	echo 'not json' >text
	: >empty
	for file in sarif text empty; do
		run -2 holdfast check --baseline "$file" -- "$BIN/misuse" pool say
		output_has "$file is not a JSON report of holdfast"
		output_lacks hello
	done
	echo '{"holdfast": "9", "schema": 9, "findings": []}' >later
	run -2 holdfast check --baseline later -- "$BIN/misuse" pool say
	output_has "schema 9"
	run -2 holdfast check --baseline missing -- "$BIN/misuse" pool say
	output_has "missing"
}

@test "identities survive edits elsewhere and a rebuild" {
	ways=(missing-flush transient flush-twice fence-twice missing-both)
	check_json old.json -- "$BIN/misuse" pool "${ways[@]}"
	mkdir moved
	awk '/^static void missing_/ { print "\n/* a new\n   comment */\nint unused_" NR ";\n" } { print }
		/= 2; \/\* @missing-both/ { print "\t/* a remark */" }' "$PROGRAMS/misuse.c" |
		sed 's|/\* @missing-both.*\*/|   // said otherwise|' >moved/misuse.c
	build moved/misuse moved/misuse.c -pthread
	check_json new.json -- moved/misuse pool "${ways[@]}"
	same "jq -r '.findings[] | .kind + .id' old.json | sort" "jq -r '.findings[] | .kind + .id' new.json | sort"
	run ! same "found old.json" "found new.json"
	sed -i 's/l->word\[0\] = 2;\( *\/\/ said\)/l->word[0] = 1 + 1;\1/' moved/misuse.c
	build moved/misuse moved/misuse.c -pthread
	check_json changed.json -- moved/misuse pool "${ways[@]}"
	[ "$(comm -3 <(jq -r '.findings[].id' new.json | sort) <(jq -r '.findings[].id' changed.json | sort) | wc -l)" -eq 2 ]
}

@test "a program that crashes: what was established is reported, what it had no time for is not" {
	for end in crash crash-by-kill; do
		run -1 holdfast check --json r.json -- "$BIN/misuse" pool lose "$end"
		output_has "incomplete: the program was ended by signal"
		same "marked misuse.c lose" "found r.json"
		jq -e '.incomplete | test("signal (11|9)")' r.json
	done
	holdfast record -q -o t -- "$BIN/misuse" pool lose crash || true
	check_json s.json t
	same "marked misuse.c lose" "found s.json"
}

# The program under the tracer; holdfast's only child.
program() {
	pgrep -P "$pid"
}

@test "the program is killed at random moments: the report is whole and has what was established" {
	for ((round = 0; round < 10; round++)); do
		rm -f ready r.json
		background "$HOLDFAST" check --json r.json --sarif r.sarif -- "$BIN/misuse" pool lose forever
		wait_for test -e ready
		sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
		kill -KILL "$(program)"
		ended
		[ "$status" -eq 1 ]
		jq -e '.incomplete | test("signal 9")' r.json
		same "marked misuse.c lose" "found r.json"
		jq -e . r.sarif >/dev/null
		grep -q "incomplete: the program was ended by signal 9" err
	done
}

@test "the program is killed while it starts: a report or a clear error" {
	for delay in 0 0.01 0.02 0.05 0.1 0.15; do
		rm -f r.json
		background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool forever
		wait_for program >/dev/null
		sleep "$delay"
		kill -KILL "$(program)"
		ended
		[ "$status" -eq 3 ]
		if grep -q "the tracer did not start" err; then
			[ ! -e r.json ]
		else
			jq -e '.incomplete | test("signal 9")' r.json
		fi
	done
}

@test "SIGTERM to holdfast is told to the program, and the report is written" {
	background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool lose polite forever
	wait_for test -e ready
	sleep 0.1
	kill -TERM "$pid"
	ended
	[ "$status" -eq 1 ]
	grep -q "told to end" out
	same "marked misuse.c lose" "found r.json"
	rm -f ready
	background "$HOLDFAST" check --json r.json -- "$BIN/misuse" pool lose forever
	wait_for test -e ready
	kill -TERM "$pid"
	ended
	[ "$status" -eq 1 ]
	jq -e '.incomplete | test("signal 15")' r.json
	same "marked misuse.c lose" "found r.json"
}

@test "holdfast is killed at random moments: report files are the old ones or whole, the program is gone" {
	holdfast record -q -o t -- "$BIN/misuse" pool fence-twice missing-both flush-twice team
	check_json whole.json t
	for ((round = 0; round < 25; round++)); do
		echo '"old"' >r.json
		cp r.json r.sarif
		rm -f r.html
		background "$HOLDFAST" check -q --json r.json --sarif r.sarif --html r.html t
		sleep "0.0$((round / 10))$((round % 10))"
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
		jq -e '. == "old" or (.findings | length) > 0' r.json
		jq -e '. == "old" or (.runs | length) == 1' r.sarif
		[ ! -e r.html ] || grep -qi '</html>' r.html
	done
	# in the very middle of writing: a limit on the size of files
	for form in json sarif html; do
		echo old >"r.$form"
		run bash -c "ulimit -f 1 -c 0; exec \"\$HOLDFAST\" check -q --$form r.$form t"
		[ "$status" -gt 1 ]
		[ "$(cat "r.$form")" = old ]
	done
	background "$HOLDFAST" check --json live.json -- "$BIN/misuse" pool lose forever
	wait_for test -e ready
	child=$(program)
	kill -KILL "$pid"
	wait "$pid" || true
	gone() { ! kill -0 "$child"; }
	wait_for gone
	[ ! -e live.json ]
}

@test "programs that cannot be run" {
	run -3 holdfast check -- ./missing
	output_has "no such program: ./missing"
	run -3 holdfast check --json r.json surely-not-on-path
	output_has "no program 'surely-not-on-path' on PATH"
	[ ! -e r.json ]
	run -2 holdfast check
	output_has "a program to run or a trace is needed"
}

@test "a trace of another version, or with a damaged header" {
	build restamp "$PROGRAMS/restamp.c"
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	cp -r t later
	./restamp later/trace 9
	run -2 holdfast check later
	output_has "format version 9"
	output_has "reads up to version 7"
	cp -r t damaged
	printf '\x09' | dd of=damaged/trace bs=1 seek=49 conv=notrunc status=none
	run -2 holdfast check --json r.json damaged
	output_has "damaged/trace"
	[ ! -e r.json ]
	./restamp t/trace 1 # the tool itself does no harm, and older versions are read
	run -1 holdfast check -q t
}

@test "a trace that is damaged or cut short: what there is, and the report says so" {
	holdfast record -q -o t -- "$BIN/misuse" pool lose missing-both team
	check_json whole.json t
	size=$(stat -c %s t/trace)
	cp -r t cut
	truncate -s $((size - 20)) cut/trace
	run -1 holdfast check --json r.json cut
	output_has "incomplete:"
	jq -e '.incomplete != null' r.json
	found r.json | grep -q "$(marked misuse.c lose)"
	for ((at = 60; at < size; at += size / 12)); do
		rm -rf bad r.json
		cp -r t bad
		printf '\xa5\x5a\xff' | dd of=bad/trace bs=1 seek="$at" conv=notrunc status=none
		run holdfast check --json r.json bad
		[ "$status" -le 3 ]
		if [ "$status" -ne 2 ]; then
			jq -e '.incomplete != null' r.json || same "essence whole.json" "essence r.json"
		else
			output_has "bad"
			[ ! -e r.json ]
		fi
	done
}

@test "a folder that holds no trace" {
	mkdir empty
	run -2 holdfast check empty
	output_has "empty"
	mkdir hollow
	: >hollow/trace
	run -2 holdfast check hollow
	output_has "hollow/trace"
	echo "some text that is long enough to be mistaken for a header of some kind" >hollow/trace
	run -2 holdfast check hollow
	output_has "hollow/trace"
}

@test "the source is gone, or changed since the build" {
	cp "$PROGRAMS/misuse.c" .
	build misuse misuse.c -pthread
	run -1 holdfast check -- ./misuse pool missing-both
	output_lacks "changed since the build"
	output_has "l->word[0] = 2;"
	touch -d "+1 hour" misuse.c
	run -1 holdfast check --html r.html -- ./misuse pool missing-both
	output_has "source changed since the build"
	grep -q "changed since the build" r.html
	rm misuse.c
	run -1 holdfast check --json r.json --html r.html --sarif r.sarif -- ./misuse pool missing-both
	output_has "misuse.c"
	output_has "cannot be read"
	same "marked misuse.c missing-both" "found r.json"
	[ "$(jq -r '.findings[0].id | length' r.json)" -eq 16 ]
}

@test "the program is changed or gone since it was recorded: said, and no places are made up" {
	cp "$PROGRAMS/misuse.c" .
	build misuse misuse.c -pthread -Wl,--build-id
	holdfast record -q -o t -- ./misuse pool missing-both
	sed -i '1i int added;' misuse.c
	build misuse misuse.c -pthread -Wl,--build-id
	run -1 holdfast check --json r.json t
	output_has "misuse has changed since it was recorded"
	[ "$(jq -r '.findings[0].location.line' r.json)" = null ]
	rm misuse
	run -1 holdfast check --json r.json t
	[ "$(jq -r '.findings[0].kind' r.json)" = missing-flush-and-fence ]
}

@test "a stripped program: kinds and counts stay, places are module and offset" {
	strip -o stripped "$BIN/misuse"
	check_json r.json -- ./stripped pool fence-twice missing-both
	[ "$(jq -r '[.findings[].kind] | sort | join(" ")' r.json)" = "missing-flush-and-fence redundant-fence" ]
	jq -e '.findings[0].location | (.module | endswith("stripped")) and (.offset | startswith("0x")) and (has("line") | not)' r.json
	cp r.json first.json
	check_json r.json -- ./stripped pool fence-twice missing-both
	same "jq .findings[].id first.json" "jq .findings[].id r.json"
	run -1 holdfast check -- ./stripped pool missing-both
	output_has "compile with -g"
}

@test "a C++ program: templates, exceptions, and a guard that flushes for its user" {
	check_json r.json -- "$BIN/cxx" pool
	same "marked cxx.cc cxx" "found r.json"
	jq -e '.findings[0].location.function | test("store::cell<.*>::set")' r.json
	printf '%s\n' 'missing-* "store::cell::set*"' 'redundant-flush "main"' >supp
	run -0 holdfast check --suppress supp -- "$BIN/cxx" pool
}

@test "a program that never touches PM: nothing was checked, and that is said" {
	run -0 holdfast check --json r.json -- true
	output_has "never wrote persistent memory"
	jq -e '.incomplete | contains("nothing to check")' r.json
}

@test "threads that an exit cuts off are not blamed for what they were doing" {
	for ((round = 0; round < 8; round++)); do
		run -0 holdfast check -- "$BIN/misuse" "pool$round" quit-while-busy
		output_has "nothing found"
	done
}

@test "holdfast is killed in the middle of a long run: what was established by then is in the reports" {
	background "$HOLDFAST" check -q --json r.json --html r.html -- "$BIN/misuse" pool lose forever
	wait_for test -e r.json
	wait_for test -e r.html
	kill -KILL "$pid"
	wait "$pid" || true
	jq -e '.incomplete | contains("still running")' r.json
	same "marked misuse.c lose" "found r.json"
}

@test "--format gcc: lines as compilers have them, for editors" {
	run -1 --separate-stderr holdfast check --format gcc -- "$BIN/misuse" pool missing-both
	[[ $stderr =~ programs-check/misuse.c:[0-9]+:[0-9]+:\ error:\ .*\[missing-flush-and-fence\] ]]
	[[ $stderr != *"call path"* ]]
	holdfast record -q -o t -- "$BIN/misuse" pool missing-both
	run -1 --separate-stderr holdfast check --format gcc t
	[[ $output == *"[missing-flush-and-fence]"* ]]
	run -2 holdfast check --format html t
	output_has "--format takes text|gcc, not 'html'"
}

@test "--junit and --code-quality: what counts fails, and the run is a case of its own" {
	run -1 holdfast check -q --junit r.xml --code-quality q.json --gcc r.txt -- "$BIN/misuse" pool missing-both
	python3 - <<'END'
import json, xml.etree.ElementTree as tree
suite = tree.parse("r.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
assert len(cases) == 2 and suite.get("tests") == "2" and suite.get("failures") == "1" and suite.get("errors") == "0"
failed = [case for case in cases if case.find("failure") is not None]
assert failed[0].find("failure").get("type") == "missing-flush-and-fence", failed[0].attrib
issue, = json.load(open("q.json"))
assert issue["check_name"] == "missing-flush-and-fence" and issue["severity"] == "critical"
assert issue["location"]["lines"]["begin"] > 1 and len(issue["fingerprint"]) == 16
END
	[ "$(grep -c 'missing-flush-and-fence' r.txt)" -eq 1 ]
	holdfast check -q --fail-on none --junit r.xml -- "$BIN/misuse" pool missing-both
	grep -q 'failures="0"' r.xml
	run -0 holdfast check -q --junit r.xml -- "$BIN/misuse" pool clean fail
	grep -q 'errors="0"' r.xml
	run -3 holdfast check -q --incomplete error --junit r.xml -- "$BIN/misuse" pool clean fail
	grep -q 'errors="1"' r.xml
}

@test "a comment in the source, --disable and --enable suppress" {
	sed 's|/\* @missing-both .*|/* holdfast: ignore missing-flush-and-fence - known */|' "$PROGRAMS/misuse.c" >misuse.c
	build ./misuse misuse.c -pthread
	run -0 holdfast check --sarif r.sarif -- ./misuse pool missing-both
	output_has "1 suppressed"
	[ "$(jq -r '.runs[0].results[0].suppressions[0].kind' r.sarif)" = inSource ]
	run -0 holdfast check --disable 'missing-*' -- "$BIN/misuse" pool missing-both
	output_has "1 suppressed"
	run -1 holdfast check --disable '*' --enable missing-flush-and-fence -- "$BIN/misuse" pool missing-both
	run -1 holdfast check --disable missing-flsh -- "$BIN/misuse" pool missing-both
	output_has "did you mean 'missing-flush'?"
}
