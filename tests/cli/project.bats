#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The project file: run, ci, init, and HOLDFAST_OPTIONS.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/misuse" "$PROGRAMS/misuse.c" -pthread
}

# A project with a run that finds something and one that does not.
project() {
	cat >holdfast.toml <<-END
		# for all
		pm = "*/pool"

		[run.bad]
		program = ["$BIN/misuse", "pool", "missing-both"]

		[run.good]
		program = "$BIN/misuse pool 'clean'"   # a command line
	END
}

@test "run: by name, from a folder below, in the folder of the file" {
	project
	mkdir -p a/b
	cd a/b
	run -1 holdfast run bad
	output_has "[missing-flush-and-fence]"
	[ -e ../../pool ]
	run -0 holdfast run good
	output_has "nothing found"
	run -0 holdfast run bad --fail-on=none
	run -0 holdfast run
	output_has "check    $BIN/misuse pool missing-both"
	run -2 holdfast run god
	output_has "has no run 'god'; did you mean 'good'?; there is: bad, good"
}

@test "a key is an option of the verb: the nearest is named, with the line" {
	printf '[run.x]\nprogram = "true"\nrecover = "true"\nbuget = "1m"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:4: 'buget' is no option of test; did you mean 'budget'?"
	printf '[run.x]\nprogram = "true"\nbudget = "1m"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:3: 'budget' is no option of check, but of test"
	printf '[run.x]\nprogram = "true"\nrecovr = "true"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "'recovr' is no option of check; did you mean 'recover', of test?"
	printf '[run.x]\nprogram = "true" or\nnotes = true\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:2: 'or' was not expected here"
	printf 'modle = "adr"\n' >holdfast.toml
	run -2 holdfast run
	output_has "did you mean 'model'?"
	printf '[run.x]\nprogram = "true"\nnotes = 1\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:3: 'notes' takes true or false"
	printf '[run.x]\nverb = "dump"\nprogram = "true"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "'dump' is no verb that finds something"
	printf '[runs.x]\nprogram = "true"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:1: there are the tables [run.NAME] and [ci]"
	printf '[run.""]\nprogram = "true"\n' >holdfast.toml
	run -2 holdfast ci
	output_has "holdfast.toml:1: a run needs a name: [run.NAME]"
	printf '[run.x]\nnotes = true\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:1: [run.x] has no program"
	printf '[run.x]\nprogram = "true | false"\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:2: only a shell can do this"
	printf '[run.x\n' >holdfast.toml
	run -2 holdfast run x
	output_has "holdfast.toml:1: ']' is missing"
	rm holdfast.toml
	mkfifo holdfast.toml # nobody writes to it
	run -2 timeout 60 "$HOLDFAST" run x
	output_has "'holdfast init' writes one"
}

@test "ci: all runs, one report, one status" {
	project
	printf '\n[ci]\njunit = "r.xml"\n' >>holdfast.toml
	mkdir aside
	export TMPDIR=$PWD/aside
	run -1 holdfast ci --json r.json
	output_has "bad: 1 finding, status 1"
	output_has "good: 0 findings, status 0"
	jq -e '.verb == "ci" and (.findings | length) == 1 and .findings[0].kind == "missing-flush-and-fence"' r.json
	jq -e '.runs[0].results | length == 1' holdfast.sarif
	grep -q 'failures="1"' r.xml
	run -0 holdfast ci good
	output_lacks "run bad"
	run -0 holdfast ci -q --baseline r.json
	jq -e '[.runs[0].results[] | has("suppressions")] == [true]' holdfast.sarif
	run -2 holdfast ci nobody
	output_has "has no run 'nobody'"
	rmdir aside # nothing is left there
	run -4 holdfast ci
	output_has "cannot make $PWD/aside/holdfast-ci."
}

@test "ci: the same finding of two runs is one; a run that cannot be done makes the status 3" {
	project
	printf '[run.again]\nprogram = ["%s", "pool", "missing-both"]\n' "$BIN/misuse" >>holdfast.toml
	run -1 holdfast ci -q --json r.json bad again
	jq -e '(.findings | length) == 1 and .findings[0].count == 2' r.json
	printf '[run.gone]\nprogram = "./nothing-here"\n' >>holdfast.toml
	run -3 holdfast ci -q --json r.json good gone
	jq -e '.incomplete == "gone: it could not be done"' r.json
	run -1 holdfast ci -q good gone bad
}

@test "ci: a signal ends the run under way; what was found before is reported, nothing is left" {
	project
	printf '[run.slow]\nprogram = ["sh", "-c", "touch begun; while :; do sleep 0.1; done"]\n[run.last]\nprogram = "true"\n' >>holdfast.toml
	mkdir aside
	export TMPDIR=$PWD/aside
	for sig in TERM INT; do
		rm -f begun
		setsid env --default-signal=INT "$HOLDFAST" ci -q --json r.json >out 2>&1 &
		until [ -e begun ]; do sleep 0.1; done
		kill -$sig $!
		status=0
		wait $! || status=$?
		[ $status = 1 ]
		jq -e '.findings | length == 1' r.json
		jq -e '.incomplete | test("slow: .*signal") and endswith("last: it was not begun")' r.json
	done
	rmdir aside
}

@test "init writes a file that works, and leaves one alone that is there" {
	run -0 holdfast init --name first -- "$BIN/misuse" pool missing-both
	run -0 holdfast run
	output_has "first"
	run -1 holdfast run first
	output_has "[missing-flush-and-fence]"
	cp holdfast.toml before
	run -2 holdfast init
	output_has "is there already"
	cmp holdfast.toml before
	mkdir other
	cd other
	run -3 holdfast init -- ./nothing-here
	[ ! -e holdfast.toml ]
	run -2 holdfast init --name ''
	output_has "a run needs a name"
	[ ! -e holdfast.toml ]
	run -0 holdfast init
	run -0 holdfast run
	output_has "./app run pool"
	rm holdfast.toml
	run -0 holdfast init --name 'x y' --recover "grep '\"' pool" -- echo 'a "b' '\c'
	run -0 holdfast run
	output_has "x y"
	output_has "test     echo 'a \"b' '\\c'"
}

@test "HOLDFAST_OPTIONS: for verbs that have the option; the command line wins" {
	export HOLDFAST_OPTIONS="--fail-on=none --budget=1m --json='r 1.json'"
	run -0 holdfast check -q -- "$BIN/misuse" pool missing-both
	jq -e '.findings | length == 1' 'r 1.json'
	run -1 holdfast check -q --fail-on error -- "$BIN/misuse" pool missing-both
	run -0 holdfast doctor --json
	export HOLDFAST_OPTIONS=--nonsense
	run -2 holdfast check -- "$BIN/misuse" pool clean
	output_has "HOLDFAST_OPTIONS: '--nonsense' is no option"
	export HOLDFAST_OPTIONS="--json 'x"
	run -2 holdfast check -- "$BIN/misuse" pool clean
	output_has "HOLDFAST_OPTIONS: a quote is not closed"
}
