#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The header for programs under test, and the scripts that guard the source tree.
load common

# A small tree with the real rules.
tree() {
	mkdir -p tree/scripts tree/src/base tree/src/trace tree/include
	grep -E '^(libc|include|src/base|src/trace|public)\b' "$HOLDFAST_SOURCE/scripts/layers.txt" >tree/scripts/layers.txt
	echo '#include <stdio.h>' >tree/src/base/base.h
	echo '#include "base/base.h"' >tree/src/trace/trace.c
}

check_includes() {
	"$HOLDFAST_SOURCE/scripts/check-includes" tree
}

@test "check-includes: a tree that keeps the rule passes" {
	tree
	run -0 check_includes
}

@test "check-includes: what depends upwards fails" {
	tree
	echo '#include "trace/trace.h"' >tree/src/base/up.c
	run -1 check_includes
	output_has "src/base/up.c:1"
	output_has "below"
}

@test "check-includes: a third-party header outside its folder fails" {
	tree
	echo '#include <zstd.h>' >tree/src/base/z.c
	run -1 check_includes
	output_has "only src/trace may use it"
	echo '#include <unheard_of.h>' >tree/src/base/z.c
	run -1 check_includes
	output_has "unknown third-party header"
}

@test "check-includes: a private header of another folder fails" {
	tree
	echo >tree/src/base/internal.h
	echo '#include "base/internal.h"' >tree/src/trace/peek.c
	run -1 check_includes
	output_has "private to src/base"
}

@test "check-includes: files that are limited to some headers" {
	tree
	echo 'files src/trace/plug_*.c only base/base.h trace/plug.h' >>tree/scripts/layers.txt
	echo >tree/src/trace/plug.h
	echo >tree/src/trace/trace.h
	printf '#include <stdlib.h>\n#include "trace/plug.h"\n' >tree/src/trace/plug_one.c
	run -0 check_includes
	echo '#include "trace/trace.h"' >>tree/src/trace/plug_one.c
	run -1 check_includes
	output_has "src/trace/plug_one.c:3"
	output_has "may include only base/base.h trace/plug.h"
}

@test "check-includes: an unlisted folder fails" {
	tree
	mkdir -p tree/src/new tree/tracer/attic
	run -1 check_includes
	output_has "src/new is not in"
	output_has "tracer/attic is not in"
	rmdir tree/tracer/attic tree/src/new
	echo src/old >>tree/scripts/layers.txt
	run -1 check_includes
	output_has "there is no folder src/old"
}

@test "check-includes: recording knows no symbols, and the tracer's rooms are its own" {
	tree
	mkdir -p tree/tracer/record tree/tracer/world
	grep -E '^tracer/(record|world)' "$HOLDFAST_SOURCE/scripts/layers.txt" >>tree/scripts/layers.txt
	echo '#include "record/record.h"' >tree/tracer/world/world.h
	run -0 check_includes
	echo '#include "world/world.h"' >tree/tracer/record/emit.c
	run -1 check_includes
	output_has "tracer/record/emit.c:1"
	output_has "tracer/record may include only"
	rm tree/tracer/record/emit.c
	echo '#include "record/record.h"' >tree/src/trace/up.c
	run -1 check_includes
	output_has "for the tracer alone"
}

@test "check-style: no licence, a long function, blanks at the end" {
	mkdir -p tree/src/base
	cd tree
	{
		printf 'int f(void)\n{\n'
		for ((i = 0; i < 60; i++)); do printf '\t;\n'; done
		printf '} \n}\n'
	} >src/base/f.c
	run -1 "$HOLDFAST_SOURCE/scripts/check-style" .
	output_has "no SPDX"
	output_has "f has 61 lines"
	output_has "blanks"
}

@test "check-style: files of the front end are small" {
	mkdir -p tree/src/base tree/src/cli
	cd tree
	{
		echo '/* SPDX-License-Identifier: BSD-3-Clause */'
		for ((i = 0; i < 250; i++)); do echo 'extern int n;'; done
	} >src/base/f.h
	run -0 "$HOLDFAST_SOURCE/scripts/check-style" .
	mv src/base/f.h src/cli
	run -1 "$HOLDFAST_SOURCE/scripts/check-style" .
	output_has "src/cli/f.h: 251 lines, 250 is the limit"
}

@test "check-style: what an editor or a merge left behind" {
	mkdir -p tree/src/base tree/docs
	cd tree
	echo '/* SPDX-License-Identifier: BSD-3-Clause */' >src/base/f.c
	run -0 "$HOLDFAST_SOURCE/scripts/check-style" .
	for name in src/base/f.c.orig docs/a.md.rej Makefile~ f.bak; do
		touch "$name"
		run -1 "$HOLDFAST_SOURCE/scripts/check-style" .
		output_has "$name: a leftover"
		rm "$name"
	done
}

@test "check-style: exported symbols have the prefix of their folder" {
	mkdir -p tree/src/base tree/src/trace tree/build/src/base tree/build/src/trace
	cd tree
	echo '/* SPDX-License-Identifier: BSD-3-Clause */' | tee src/base/f.c >src/trace/f.c
	archive() { # FOLDER CODE
		echo "$2" | gcc -x c -c -o f.o -
		rm -f "build/src/$1/lib$1.a"
		ar cr "build/src/$1/lib$1.a" f.o
	}
	archive base 'int anything;'
	archive trace 'static int own; int trace_it(void) { return own; }'
	run -0 "$HOLDFAST_SOURCE/scripts/check-style" .
	output_has "2 symbols"
	archive trace 'int trace_it, tracer; int it(void) { return 0; }'
	run -1 "$HOLDFAST_SOURCE/scripts/check-style" .
	output_has "src/trace: it is exported and does not begin with trace_"
	output_has "src/trace: tracer is exported"
	output_lacks "trace_it is"
}

@test "declarations: no blank line after those that begin a block" {
	printf '%s\n' 'struct s {' '	int a;' '' '	int b;' '};' '' 'static int f(struct s *s)' '{' \
		'	struct s copy = *s, *p =' '		&copy;' '	VEC(int) v = { 0 };' '' '	const char *const list[] = {' '		"a",' '' '		"b",' '	};' '' \
		'	if (p) {' '		unsigned long n; /* of it */' '' '		return (int)n;' '	}' '' \
		'	for (;;) {' '		int x = 0;' '' '		/* said */' '		f(x);' '' '		f(x);' '	}' '}' >f.c
	run -1 "$HOLDFAST_SOURCE/scripts/declarations" f.c
	output_has "f.c:12:"
	output_has "f.c:21:"
	[ "${#lines[@]}" -eq 2 ]
	cp f.c was.c
	run -0 "$HOLDFAST_SOURCE/scripts/declarations" --fix f.c
	run -0 "$HOLDFAST_SOURCE/scripts/declarations" f.c
	run -1 diff was.c f.c
	[ "$(grep '^[<>]' <<<"$output")" = $'< \n< \n< ' ]
	[ "$(diff was.c f.c | grep '^[0-9]' | tr '\n' ' ')" = "12d11 18d16 21d18 " ]
}

@test "run-tests: failures are shown and counted, no tests is a failure" {
	mkdir -p tree/scripts tree/build/meson-info tree/build-asan/meson-info
	cp "$HOLDFAST_SOURCE/scripts/run-tests" tree/scripts
	echo '[]' | tee tree/build/meson-info/intro-tests.json >tree/build-asan/meson-info/intro-tests.json
	run -1 tree/scripts/run-tests
	output_has "0 passed, 0 failed"
	cat >tree/build/meson-info/intro-tests.json <<-'END'
		[{"name": "tap", "cmd": ["printf", "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n"],
		  "env": {}, "workdir": null, "timeout": 9, "protocol": "tap"},
		 {"name": "cut", "cmd": ["printf", "1..2\nok 1 - a\n"],
		  "env": {}, "workdir": null, "timeout": 9, "protocol": "tap"},
		 {"name": "slow", "cmd": ["sleep", "9"],
		  "env": {}, "workdir": null, "timeout": 1, "protocol": "exitcode"},
		 {"name": "good", "cmd": ["true"],
		  "env": {}, "workdir": null, "timeout": 9, "protocol": "exitcode"}]
	END
	run -1 tree/scripts/run-tests
	output_has "failed: build: tap: b"
	output_has "1 of 2 planned cases ran"
	output_has "no end after 1 seconds"
	output_has "skipped: build: tap: c"
	[ "${lines[-1]}" = "3 passed, 3 failed, 1 skipped" ]
}

@test "deps: says what is missing and how it would be called" {
	printf '# comment\nlibc6 # here\nno-such-package-at-all\n' >list
	HOLDFAST_PACKAGES=$PWD/list run -1 "$HOLDFAST_SOURCE/scripts/deps" --check
	output_has "no-such-package-at-all"
	output_lacks "libc6"
	echo libc6 >list
	HOLDFAST_PACKAGES=$PWD/list run -0 "$HOLDFAST_SOURCE/scripts/deps" --check
	[ -z "$output" ]
}

@test "deps: a group is asked for by its name" {
	printf 'libc6\n[other]\nno-such-package-at-all\n' >list
	HOLDFAST_PACKAGES=$PWD/list run -0 "$HOLDFAST_SOURCE/scripts/deps" --check
	HOLDFAST_PACKAGES=$PWD/list run -1 "$HOLDFAST_SOURCE/scripts/deps" --check other
	output_has "no-such-package-at-all"
	HOLDFAST_PACKAGES=$PWD/list run -0 "$HOLDFAST_SOURCE/scripts/deps" --list other
	[ "$output" = no-such-package-at-all ]
	HOLDFAST_PACKAGES=$PWD/list run -2 "$HOLDFAST_SOURCE/scripts/deps" nothing
	output_has "no [nothing]"
}

@test "install and uninstall: what was installed is gone, and what was there stays" {
	build=$(dirname "$HOLDFAST")
	mkdir -p root/usr/local/lib
	touch root/usr/local/lib/other
	cp "$build/meson-logs/install-log.txt" log 2>/dev/null || true
	run -0 env DESTDIR="$PWD/root" meson install --no-rebuild -C "$build"
	root/usr/local/bin/holdfast --version
	PKG_CONFIG_PATH=$(dirname "$(find root -name holdfast.pc)") run -0 pkg-config --variable=oracledir holdfast
	output_has holdfast/oracles
	[ -f "root$output/pmdk-atomic-op.so" ]
	run -0 "$HOLDFAST_SOURCE/scripts/uninstall" "$build"
	[ "$(find root ! -type d)" = root/usr/local/lib/other ]
	[ -z "$(find root -type d -name holdfast)" ]
	run -1 "$HOLDFAST_SOURCE/scripts/uninstall" "$build"
	output_has "nothing was installed"
	[ ! -f log ] || cp log "$build/meson-logs/install-log.txt"
}

@test "dist: the same bytes for the same commit, with what make needs" {
	git -C "$HOLDFAST_SOURCE" rev-parse HEAD >/dev/null 2>&1 || skip "not a git checkout"
	run -0 "$HOLDFAST_SOURCE/scripts/dist" "$PWD/one"
	sleep 1.1
	run -0 "$HOLDFAST_SOURCE/scripts/dist" "$PWD/two"
	cmp one/*.tar.gz two/*.tar.gz
	tar -tzf one/*.tar.gz >names
	grep -q '^holdfast-[0-9.]*/Makefile$' names
	run -1 grep -q /build/ names
}

# fake NAME TEXT: a command of that name, first on PATH.
fake() {
	mkdir -p fakes
	printf '#!/bin/sh\n%s\n' "$2" >"fakes/$1"
	chmod +x "fakes/$1"
}

@test "deps: one list, in which every package has a name for each system" {
	for system in debian ubuntu fedora; do
		HOLDFAST_SYSTEM=$system run -0 "$HOLDFAST_SOURCE/scripts/deps" --list build test deb
		run -1 grep -Ev '^[A-Za-z0-9][A-Za-z0-9+.-]*$' <<<"$output"
	done
	# Every line is a name and then systems; nothing is there twice, and this machine has all of it.
	run -1 grep -Evn '^(#.*|\[[a-z]+\]|[a-z0-9+.-]+( +(ubuntu|fedora)=(-|[A-Za-z0-9+.,-]+))*|)$' "$HOLDFAST_SOURCE/packaging/packages.txt"
	[ -z "$(HOLDFAST_SYSTEM=debian "$HOLDFAST_SOURCE/scripts/deps" --list build test deb | sort | uniq -d)" ]
	run -0 "$HOLDFAST_SOURCE/scripts/deps" --check
	HOLDFAST_SYSTEM=fedora run -0 "$HOLDFAST_SOURCE/scripts/deps" --list build
	output_has valgrind-tools-devel
	output_lacks libc6-dev
}

@test "deps: Fedora's names, with dnf" {
	printf 'libc6-dev fedora=glibc-devel,glibc-static\nthere\ndebhelper fedora=-\n' >list
	export HOLDFAST_PACKAGES=$PWD/list HOLDFAST_SYSTEM=fedora
	fake rpm 'for last; do :; done; [ "$last" = there ]'
	fake dnf 'echo "dnf $*"'
	fake id 'echo 0'
	PATH=$PWD/fakes:$PATH run -0 "$HOLDFAST_SOURCE/scripts/deps"
	output_has "install glibc-devel glibc-static"
	output_lacks "there "
	PATH=$PWD/fakes:$PATH run -1 "$HOLDFAST_SOURCE/scripts/deps" --check
	output_has "  glibc-static"
	output_lacks debhelper
}

@test "deps: installs what is missing, with sudo where not root" {
	echo no-such-package-at-all >list
	export HOLDFAST_PACKAGES=$PWD/list
	fake apt-get 'echo "apt-get $*"'
	fake sudo 'echo "sudo $*"'
	fake id 'echo 0'
	PATH=$PWD/fakes:$PATH run -0 "$HOLDFAST_SOURCE/scripts/deps"
	output_has "apt-get -qq update"
	output_has "apt-get -qq install -y --no-install-recommends no-such-package-at-all"
	output_lacks sudo
	fake id 'echo 1000'
	PATH=$PWD/fakes:$PATH run -0 "$HOLDFAST_SOURCE/scripts/deps"
	output_has "sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install"
}

@test "deps: an installation that fails is said, with the list" {
	echo no-such-package-at-all >list
	export HOLDFAST_PACKAGES=$PWD/list
	fake apt-get 'exit 100'
	fake id 'echo 0'
	PATH=$PWD/fakes:$PATH run -1 "$HOLDFAST_SOURCE/scripts/deps"
	output_has "apt-get could not install"
	output_has "  no-such-package-at-all"
}

header_program() {
	cat >marks.c <<-'END'
		#include "holdfast.h"
		int main(void)
		{
			char data[8] = { 0 };
			int calls = 0;
			HOLDFAST_OP_BEGIN(1);
			HOLDFAST_PM(data, sizeof data);
			HOLDFAST_VOLATILE(data, sizeof data);
			HOLDFAST_OP_END(1);
			if (calls++)
				return 9;
			return HOLDFAST_RECORDING() ? 1 : 0;
		}
	END
	cp marks.c marks.cc
}

@test "holdfast.h: C99 and C++17 without a warning, nothing outside the tool" {
	header_program
	flags=(-Wall -Wextra -Wshadow -pedantic -Werror -O2 -I "$HOLDFAST_SOURCE/include")
	for build in "gcc -std=c99" "gcc -std=gnu11" "clang -std=c99" "g++ -std=c++17 marks.cc" \
		"clang++ -std=c++17 marks.cc" "gcc -DHOLDFAST_DISABLE" "g++ -DHOLDFAST_DISABLE marks.cc"; do
		[[ $build == *marks.cc ]] || build+=" marks.c"
		# shellcheck disable=SC2086
		run -0 ${build% *} "${flags[@]}" "${build##* }" -o marks
		[ -z "$output" ]
		run -0 ./marks
	done
}

@test "holdfast.h: HOLDFAST_RECORDING is 1 under the tool, HOLDFAST_DISABLE leaves no code" {
	header_program
	gcc -O2 -I "$HOLDFAST_SOURCE/include" marks.c -o marks
	run -1 holdfast record -q -o t -- ./marks
	gcc -O2 -DHOLDFAST_DISABLE -I "$HOLDFAST_SOURCE/include" -S marks.c -o marks.s
	run -1 grep -E 'rol|xchg' marks.s
}
