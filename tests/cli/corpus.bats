#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The corpus as a benchmark: adapters, what is judged, progress, and going on where it was.
load common

setup_file() {
	export CORPUS=$HOLDFAST_SOURCE/corpus PYTHONDONTWRITEBYTECODE=1
}

# eval_with ADAPTER OPTIONS…: the log's labels, with binaries and results of their own.
eval_with() {
	local adapter=$1
	shift
	"$CORPUS/eval" --tool "$adapter" --only 'log-*' --bin "$BATS_FILE_TMPDIR/bin" --out "$PWD/results" "$@"
}

# adapter NAME CODE: one in Python that has misuse and runs CODE with `request`, and `findings` to fill.
adapter() {
	cat >"$1" <<-END
		#!/usr/bin/env python3
		import json, os, sys, time
		if sys.argv[1] == "--about":
		    sys.exit(print(json.dumps({"tool": "$1", "analyses": ["misuse"]})))
		request, findings = json.load(open(sys.argv[1])), []
		$2
		print(json.dumps({"findings": findings}))
	END
	chmod +x "$1"
}

@test "the adapter that README.md shows finds what it says" {
	sed -n '/^```python$/,/^```$/p' "$CORPUS/README.md" | sed '1d;$d' >twice
	[ "$(wc -l <twice)" -le 20 ]
	chmod +x twice
	run -0 --separate-stderr eval_with ./twice
	grep -qxF "    ${lines[-1]}" "$CORPUS/README.md"
	output_has "| redundant-fence | 1 | 1 | 0 | 0 | 0 |"
	output_has "| ordering | 3 | 0 | 0 | 0 | 3 |"
	jq -e '.tool == "twice 1.0" and (.bugs[] | select(.id == "log-fence-twice") | .verdicts.misuse == "found")' results/eval.json
	jq -e '.bugs[] | select(.id == "log-upd-no-fence") | .verdicts == {"misuse": "missed", "output": "not available"}' results/eval.json
}

@test "the statement counts, not only the class; traps and clean programs count, too" {
	adapter place 'findings.append({"analysis": "misuse", "classes": ["missing-fence"], "stack": [{"file": "log.c", "line": 1}]})'
	run -1 eval_with ./place
	output_has "| missing-fence | 1 | 0 | 1 | 0 | 0 |"
	output_has "log-upd-no-fence (missing-fence, corpus/raw/log/log.c:"
	output_has "misuse: elsewhere; reported: missing-fence log.c:1"
	output_has "- trap log-checksum (ops): missing-fence"
	output_has "0 of 12 bugs found, 2 false positives"
}

@test "output: no checker is asked, but what is in the pool, or what later operations print" {
	line=$(sed -n '/BUG(log-upd-no-fence)/=' "$CORPUS/raw/log/log.c")
	cat >says <<-END
		#!/usr/bin/env python3
		import json, subprocess, sys
		if sys.argv[1] == "--about":
		    sys.exit(print(json.dumps({"tool": "says", "analyses": ["output"]})))
		request, findings = json.load(open(sys.argv[1])), []
		assert request["recover"] is None and request["analyses"] == ["output"]
		subprocess.run(request["run"], check=True, stdout=-1)
		said = subprocess.run(request["probe"], shell=True, check=True, stdout=-1, text=True).stdout
		if request["case"].endswith("BUG_LOG_UPD_NO_FENCE"):
		    assert said == "1: 12\\n1: 12\\n" and "continue" not in request, said
		    findings.append({"analysis": "output", "classes": [], "stack": [{"file": "log.c", "line": $line}]})
		if "TRAP" in request["case"]:
		    assert request["continue"].endswith(" {ops}") and open(request["ops"]).read()
		print(json.dumps({"findings": findings, "counts": {"compared": 7}}))
	END
	chmod +x says
	run -0 eval_with ./says --quick
	output_has "| output | 3 | 1 | 0 | 2 |"
	output_has "Output, with no checker: older 1 of 3. Campaigns on correct programs: 2, 0 of them"
	output_has "Crash states compared: 21 on bugs, 14 on correct programs"
	output_has "1 of 12 bugs found, 0 false positives"
}

@test "an adapter that fails, or prints something else, is said" {
	adapter fails 'sys.exit("no licence")'
	run -1 eval_with ./fails
	output_has "## Could not be run"
	output_has "log-fence-twice (ops): adapter: status 1: no licence"
	adapter nonsense 'findings.append({"stack": 3})'
	run -1 eval_with ./nonsense
	output_has "adapter: status 0: "
}

@test "what was interrupted goes on where it was, with the same tool only" {
	export ASKED=$PWD/asked
	adapter slow 'open(os.environ["ASKED"], "a").write(request["case"] + "\n")
while request["case"].endswith("TWICE") and os.path.exists(os.environ["ASKED"] + ".wait"): time.sleep(0.01)'
	touch asked.wait
	background "$CORPUS/eval" --tool ./slow --only 'log-*' --bin "$BATS_FILE_TMPDIR/bin" --out "$PWD/results" -j 1
	wait_for grep -q TWICE asked
	kill -INT "$pid"
	! wait "$pid"
	grep -q "eval: stopped; .* of 14 cases are kept" err
	before=$(grep -vc TWICE asked)
	[ "$before" -ge 1 ]
	rm asked.wait
	run -0 eval_with ./slow -j 1
	output_has "eval: $before of 14 cases ($before of them before)"
	[ "$(sort -u asked | wc -l)" -eq 14 ]
	[ "$(wc -l <asked)" -eq 15 ]
	# All was said: the next one begins anew.
	run -0 eval_with ./slow -j 1
	[ "$(wc -l <asked)" -eq 29 ]
}

@test "kept answers are not used for another tool, another binary, or with --fresh" {
	python3 - "$CORPUS" "$PWD" <<-'END'
		import pathlib, shutil, sys
		sys.path.insert(0, sys.argv[1])
		import cases, corpus, judge
		work = pathlib.Path(sys.argv[2])
		tool = work / "tool"
		tool.write_text('#!/bin/sh\necho \'{"tool": "t", "analyses": ["misuse"], "findings": [], "files": ["' + str(work / "part") + '"]}\'\n')
		tool.chmod(0o755)
		(work / "part").write_text("1")
		label = next(l for l in corpus.load_labels() if l["id"] == "log-fence-twice")
		binary = work / "bin" / label["program"] / label["flag"]
		binary.parent.mkdir(parents=True)
		binary.write_text("1")

		def place(**plan):
		    runner = judge.Runner(judge.Tool(tool), corpus.Tree(), work / "bin", work / "kept")
		    runner.close()
		    return runner.place(next(cases.Plan(**{"quick": True, "seconds": 1, "bug_seconds": 1, "correct_seconds": 1, "replays": 1, **plan}).bug(label)))

		first = place()
		assert place() == first
		seen = {first, place(quick=False)}
		(work / "part").write_text("2")
		seen.add(place())
		binary.write_text("2")
		seen.add(place())
		tool.write_text(tool.read_text() + "# more\n")
		seen.add(place())
		assert len(seen) == 5, seen
	END
	export ASKED=$PWD/asked
	adapter counts 'open(os.environ["ASKED"], "a").write("x")
if request["case"].endswith("TWICE"): sys.exit(9)'
	run -1 eval_with ./counts
	[ "$(wc -c <asked)" -eq 14 ]
	mkdir -p results/kept
	touch results/kept/something
	run -1 eval_with ./counts --fresh
	[ ! -e results/kept/something ]
}

@test "progress: a line now and then, one that is written over on a terminal" {
	python3 - "$CORPUS" "$PWD" <<-'END'
		import io, pathlib, sys, time
		sys.path.insert(0, sys.argv[1])
		import cases, progress
		class Terminal(io.StringIO):
		    def isatty(self):
		        return True
		def case(name):
		    return cases.Case(name, "ops", "raw/log", "clean", ["misuse"], {}, {})
		some = [case("a"), case("b"), case("c"), case("d")]
		path = pathlib.Path(sys.argv[2]) / "seconds.json"
		plain = progress.Progress(some, 2, path, lambda _: 100, io.StringIO())
		plain.show()
		assert plain.out.getvalue() == "", "too soon"
		plain.show(now=True)
		assert plain.out.getvalue() == "eval: 0 of 4 cases, 0 s so far, about 3 min to go: \n", plain.out.getvalue()
		for c in some[:2]:
		    plain.begin(c)
		    plain.end(c, {"elapsed": 400.0})
		plain.begin(some[2])
		assert 300 < plain.left() < 400, "it is slower than was thought"
		assert plain.text().endswith(" to go: c, ops")
		plain.end(some[2], {"elapsed": 1.0, "kept": True})
		assert "3 of 4 cases (1 of them before)" in plain.text()
		plain.close()
		again = progress.Progress(some, 1, path, lambda _: 100, Terminal())
		assert 999 < again.left() < 1001, again.left()
		again.show()
		again.close()
		assert again.out.getvalue().startswith("\reval: 0 of 4") and again.out.getvalue().endswith("\r\033[K")
	END
}

@test "the kinds that classes.jsonl translates exist, and each class has a label or is one's other name" {
	jq -r '.holdfast[]' "$CORPUS/classes.jsonl" | sort -u >kinds
	while read -r kind; do
		grep -qF "\"$kind\"" "$HOLDFAST_SOURCE/src/finding/finding.h" "$HOLDFAST_SOURCE"/oracles/*.c
	done <kinds
	jq -r '.class, .also[]?' "$CORPUS/labels.jsonl" | sort -u | grep -vx none >used
	jq -r '.class' "$CORPUS/classes.jsonl" | sort | diff - used
}

# pmemcheck_log: what it prints, by its manual, for log.c's function at these lines.
pmemcheck_log() {
	sed 's/^/==4242== /' <<-'END'
		pmemcheck-1.0, a simple persistent store checker
		Command: ./app run pool

		Number of stores not made persistent: 2
		Stores not made persistent properly:
		[0]    at 0x10926E: set (app.c:12)
		   by 0x1092F0: main (app.c:30)
			Address: 0x6600040	size: 8	state: DIRTY
		[1]    at 0x109280: set (in /usr/bin/app)
		   by 0x1092F8: main (app.c:31)
			Address: 0x6600080	size: 4	state: FLUSHED
		Total memory not made persistent: 12

		Number of redundantly flushed stores: 1
		Stores flushed multiple times:
		[0]    at 0x109299: set (/src/my app.c:14)
			Address: 0x66000c0	size: 8	state: FLUSHED

		Number of unnecessary flushes: 2
		[0]    at 0x1092A0: set (app.c:15)
			Address: 0x6600100	size: 64
		[1]    at 0x1092A0: set (app.c:15)
			Address: 0x6600140	size: 64

		Number of overwritten stores: 1
		Overwritten stores before they were made persistent:
		[0]    at 0x10926E: set (app.c:12)
			Address: 0x6600040	size: 8	state: DIRTY

		Number of stores made outside of transactions: 1
		Stores made outside of transactions:
		[0]    at 0x10926E: set (app.c:13)
			Address: 0x6600040	size: 8
		ERROR SUMMARY: 7 errors
	END
}

@test "pmemcheck: its log in neutral words" {
	pmemcheck_log >log
	run -0 "$CORPUS/adapters/pmemcheck.py" --log log
	echo "$output" >answer
	jq -e '[.findings[].kind] == ["not persistent, DIRTY", "not persistent, FLUSHED", "flushed twice", "unnecessary flush", "overwritten",
		"outside of transactions"]' answer
	jq -e '.findings[0].classes == ["missing-flush", "missing-flush-and-fence", "transient-data"]' answer
	jq -e '.findings[0].stack == [{"function": "set", "file": "app.c", "line": 12}, {"function": "main", "file": "app.c", "line": 30}]' answer
	jq -e '.findings[1] | .classes == ["missing-fence"] and .stack[0].file == null and .stack[1].line == 31' answer
	jq -e '.findings[2].stack[0] == {"function": "set", "file": "/src/my app.c", "line": 14}' answer
	jq -e '[.findings[].analysis] == ["misuse", "misuse", "misuse", "misuse", "misuse", "oracle"]' answer
}

@test "pmemcheck: scored like any other" {
	line=$(grep -n 'BUG(log-upd-no-fence)' "$CORPUS/raw/log/log.c" | cut -d: -f1)
	cat >valgrind <<-END
		#!/bin/sh
		[ "\$1" = --version ] && exec echo valgrind-3.15
		for word; do case \$word in --log-file=*) log=\${word#*=} ;; esac; done
		case \$* in
		*BUG_LOG_UPD_NO_FENCE*) printf '==1== %s\n' 'Number of stores not made persistent: 1' \
			'[0]    at 0x1: upd ($CORPUS/raw/log/log.c:$line)' '	Address: 0x2	size: 8	state: FLUSHED' ;;
		*BUG_LOG_FENCE_TWICE*) exit 1 ;;
		*) echo '==1== Number of stores not made persistent: 0' ;;
		esac >\$log
	END
	chmod +x valgrind
	PMEMCHECK=$PWD/valgrind run -1 eval_with "$CORPUS/adapters/pmemcheck.py"
	output_has "Scoreboard of pmemcheck of valgrind-3.15"
	output_has "| missing-fence | 1 | 1 | 0 | 0 | 0 |"
	output_has "log-fence-twice (ops): misuse: status 1"
	output_has "1 of 12 bugs found, 0 false positives"
}

@test "with other names: files and flags have them, lines are the same, and places are found again" {
	line=$(sed -n '/BUG(log-fence-twice)/=' "$CORPUS/raw/log/log.c")
	adapter renamed "
		text = json.dumps([request['sources'], request['define']])
		assert 'log.c' not in text and 'BUG' not in text, text
		assert all('pm_' not in open(s).read() for s in request['sources'])
		findings.append({'analysis': 'misuse', 'classes': ['redundant-fence'], 'stack': [{'file': request['sources'][0], 'line': $line}]})"
	sed -i 's/^\t*//' renamed
	run -1 --separate-stderr eval_with ./renamed --blind 5 --builds gcc-O0
	output_has "| redundant-fence | 1 | 1 | 0 | 0 | 0 |"
	output_has "eval: gcc-O0: 1 of 12 bugs found"
	[ ! -e results/blind-5/gcc-O0/bin ] # nobody needs them any more
	run -2 eval_with ./renamed --blind --builds tcc
	output_has "there are only gcc-O0, gcc-O2, clang-O0, clang-O2"
}

@test "repair goes on where it was, and another build does again what was not repaired" {
	printf '==1== pmemcheck\n' >none
	run holdfast fix --source . none
	[[ $output != *libclang* ]] || skip "holdfast was built without libclang"
	repair() { "$CORPUS/repair" --only log-upd-no-fence --only log-del-unpersisted -j1 --out "$PWD/results" "$@"; }
	run -0 repair
	output_has "repair: 2 of 2 repaired"
	jq -c 'if .id == "log-del-unpersisted" then .verdict = "not repaired" else .patches = 77 end' results/repair.jsonl >changed
	cp changed results/repair.jsonl
	run -1 repair --resume
	output_has "repair: 1 of 2 repaired"
	jq -c '.build = "another"' changed >results/repair.jsonl
	run -0 repair --resume
	output_has "repair: 2 of 2 repaired"
	jq -se 'length == 2 and any(.patches == 77) and all(.verdict == "repaired")' results/repair.jsonl
	run -0 repair
	jq -se 'length == 2 and all(.patches == 1)' results/repair.jsonl
}

@test "only some analyses are asked for: bugs of files, which others see, are not available" {
	python3 - "$CORPUS" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import corpus, judge
		labels = [l for l in corpus.load_labels() if "models" in l and not {"misuse", "oracle"} & set(l["seen_by"])]
		assert labels
		for label in labels:
		    source, line = judge.marker(label)
		    got = judge.judge_bug(label, (source, line), {}, ["misuse", "oracle"])
		    assert got["verdict"] == "not available", got
	END
}

@test "controls: a row that is as expected, one that is not, and one whose package is not there" {
	dpkg-query -W sqlite3 >/dev/null 2>&1 || skip "sqlite3 is not installed as a package"
	cp "$CORPUS/controls" .
	head -1 "$CORPUS/controls.jsonl" >one
	{
		jq -c '.id = "good" | .expect = {posix: []}' one
		jq -c '.id = "bad" | .expect = {posix: ["ordering"]}' one
		jq -c '.id = "none" | .package = "no-such-package"' one
	} >controls.jsonl
	HOLDFAST=$HOLDFAST run -1 ./controls --budget 10 --markdown table.md
	output_has '| `good` | `posix` | nothing | nothing |'
	output_has '| `bad` | `posix` | `ordering` | nothing **!** |'
	output_has "left out, since not all of these are installed: no-such-package"
	output_has "controls: 1 of 2 are as expected"
	grep -q 'Of sqlite3 [0-9]' table.md
	run -0 ./controls --only none
	output_has "controls: 0 of 0"
	run -2 ./controls --only nothing
}
