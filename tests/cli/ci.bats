#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Holdfast in CI: the action for GitHub, the template for GitLab, CTest and Meson.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/misuse" "$PROGRAMS/misuse.c" -pthread
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	mkdir -p bin
	ln -sf "$HOLDFAST" bin/holdfast
	PATH=$PWD/bin:$PATH
}

# project WAY…: a project file with a run of each way of the program.
project() {
	printf 'pm = "*/pool"\n' >holdfast.toml
	for way; do
		printf '[run.%s]\nprogram = "%s pool %s"\n' "$way" "$BIN/misuse" "$way" >>holdfast.toml
	done
}

# github STEP: a step of the action, as a runner does it.
github() {
	GITHUB_OUTPUT=$PWD/output GITHUB_STEP_SUMMARY=$PWD/summary GITHUB_PATH=$PWD/path RUNNER_TEMP=$PWD/temp \
		"$HOLDFAST_SOURCE/packaging/github/$1"
}

@test "GitHub: the steps fail for new findings only, and leave SARIF and a summary" {
	project missing-both
	github run
	grep -qx status=1 output
	grep -qx sarif=holdfast.sarif output
	grep -q '^| error | missing-flush-and-fence | ' summary
	jq -e '.runs[0].results | length > 0' holdfast.sarif
	# Now it is known: the baseline has it, and goes on having it.
	for _ in 1 2; do
		rm -f output summary
		github run
		grep -qx status=0 output
		grep -q '^### Holdfast: nothing found (' summary
		jq -e '.findings == [] and (.suppressed | length > 0)' holdfast.json
	done
	# Another one is new.
	project missing-both missing-fence
	rm -f output summary
	github run
	grep -qx status=1 output
	grep -q '| missing-fence |' summary
	! grep -q '| missing-flush-and-fence |' summary
}

@test "GitHub: a run that cannot be done leaves the baseline alone" {
	project clean
	echo kept >.holdfast-baseline.json
	echo 'program =' >>holdfast.toml
	github run
	grep -qx status=2 output
	! grep -q sarif output
	[ "$(cat .holdfast-baseline.json)" = kept ]
}

@test "GitHub: one comment, which is replaced" {
	cat >bin/gh <<-'END'
		#!/bin/sh
		echo "$@" >>gh.log
		case $* in *--edit-last*) [ -e commented ] || exit 1 ;; esac
		touch commented
	END
	chmod +x bin/gh
	echo summary >holdfast.md
	HOLDFAST_PULL=7 github comment
	HOLDFAST_PULL=7 github comment
	[ "$(grep -c -- --edit-last gh.log)" = 2 ]
	[ "$(grep -vc -- --edit-last gh.log)" = 1 ]
	grep -q '^pr comment 7 --body-file holdfast.md$' gh.log
}

@test "GitHub: the action's steps are files that are there, and use inputs that it has" {
	/usr/bin/python3 - "$HOLDFAST_SOURCE/packaging/github" <<-'END'
		import os, re, sys, yaml
		folder = sys.argv[1]
		text = open(folder + "/action.yml").read()
		action = yaml.safe_load(text)
		assert action["runs"]["using"] == "composite"
		names = {s["id"] for s in action["runs"]["steps"] if "id" in s}
		for step in action["runs"]["steps"]:
		    assert ("uses" in step) != ("run" in step), step
		    if "run" in step:
		        assert step["shell"] == "sh", step
		        assert "${{" not in step["run"], "an expression in a script is an injection"
		        for script in re.findall(r"GITHUB_ACTION_PATH/(\w+)", step["run"]):
		            assert os.access(f"{folder}/{script}", os.X_OK), script
		    else:
		        assert re.search(r"@v\d+$", step["uses"]), step
		assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
		assert set(re.findall(r"steps\.(\w+)\.", text)) <= names
		assert action["runs"]["steps"][-1]["name"] == "Verdict"
	END
}

@test "GitLab: the job's script fails for new findings only, with code quality and JUnit" {
	/usr/bin/python3 - "$HOLDFAST_SOURCE/packaging/gitlab/holdfast.yml" >script <<-'END'
		import sys, yaml
		template = yaml.safe_load(open(sys.argv[1]))
		job = template["holdfast"]
		reports = job["artifacts"]["reports"]
		assert job["artifacts"]["when"] == "always"
		# A job that fails leaves its baseline, too; branches that are not protected see it, and do not put an older one in its place.
		cache = job["cache"]
		assert cache["when"] == "always" and cache["unprotect"] is True and cache["paths"] == [".holdfast-baseline.json"]
		policy = [rule["variables"][cache["policy"].strip("$")] for rule in job["rules"]]
		assert policy == ["pull-push", "pull"] and "CI_DEFAULT_BRANCH" in job["rules"][0]["if"]
		assert reports == {"junit": "holdfast.xml", "codequality": "gl-code-quality-report.json"}
		print("set -e")
		for name, value in template["variables"].items():
		    print(f"{name}='{value}'")
		print("\n".join(job["script"]))
	END
	export CI_DEFAULT_BRANCH=main CI_COMMIT_BRANCH=main
	project missing-both
	run -1 sh script
	jq -e '.[0].check_name == "missing-flush-and-fence"' gl-code-quality-report.json
	grep -q '<failure type="missing-flush-and-fence"' holdfast.xml
	run -0 sh script
	CI_COMMIT_BRANCH=change
	project missing-both missing-fence
	run -1 sh script
	run -1 sh script # it is new until it is on the main branch
}

@test "CTest: find_package, a test that passes and one that fails" {
	command -v cmake >/dev/null || skip "no cmake"
	cp "$PROGRAMS/misuse.c" .
	cat >CMakeLists.txt <<-END
		cmake_minimum_required(VERSION 3.20)
		project(example C)
		enable_testing()
		find_package(Holdfast REQUIRED)
		find_package(Threads REQUIRED)
		add_executable(misuse misuse.c)
		target_include_directories(misuse PRIVATE "$HOLDFAST_SOURCE/include")
		target_compile_options(misuse PRIVATE -g -mclwb -mclflushopt)
		target_link_libraries(misuse Threads::Threads)
		holdfast_test(NAME good COMMAND misuse pool clean)
		holdfast_test(NAME good-crash RECOVER "test -x '\$<TARGET_FILE:misuse>' && cksum pool" COMMAND misuse pool clean)
		holdfast_test(NAME bad OPTIONS --fail-on error COMMAND misuse pool missing-both)
	END
	cmake -S . -B "my out" -DHoldfast_DIR="$HOLDFAST_SOURCE/packaging/cmake" -DHOLDFAST_PROGRAM="$HOLDFAST" >log || cat log
	cmake --build "my out" >>log || cat log
	for _ in 1 2; do # each begins with an empty folder
		run ! ctest --test-dir "my out" -L holdfast --output-on-failure
		output_has "3 - bad (Failed)"
		output_has "67% tests passed, 1 tests failed out of 3"
		output_has "[missing-flush-and-fence]"
	done
}

@test "Meson: the snippet of docs/CI.md" {
	cp "$PROGRAMS/misuse.c" .
	{
		printf "project('example', 'c', default_options: ['buildtype=debug'])\n"
		printf "app = executable('app', 'misuse.c', dependencies: dependency('threads'),\n"
		printf "  include_directories: include_directories('include'), c_args: ['-mclwb', '-mclflushopt'])\n"
		sed -n '/^## Meson/,/^## Others/s/^    //p' "$HOLDFAST_SOURCE/docs/CI.md" |
			sed "s/'\"@0@\" check pool'/'test -x \"@0@\" \&\& cksum pool'/; s/'run', 'pool'/'pool', get_option('way')/"
	} >meson.build
	printf "option('way', type: 'string', value: 'clean')\n" >meson_options.txt
	ln -s "$HOLDFAST_SOURCE/include" include
	meson setup "my out" >log || cat log
	run -0 meson test -C "my out" --suite holdfast --print-errorlogs
	output_has "Ok:                 1"
	meson configure "my out" -Dway=missing-both
	HOLDFAST_OPTIONS=--fail-on=warning run -1 meson test -C "my out" --suite holdfast --print-errorlogs
	output_has "[missing-flush-and-fence]"
}
