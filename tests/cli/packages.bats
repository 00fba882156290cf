#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What takes minutes, and so is run by make test LONG=1, as .ci/run does: the Debian package, made and tried on a bare system;
# the newest Clang; and, if HOLDFAST_TEST_VALGRIND names the prefix of one, another Valgrind.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	[ -n "$HOLDFAST_LONG" ] || skip "takes minutes: make test LONG=1"
}

needs() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool"
	done
}

# Once for all tests: of what is committed.
package() {
	needs dpkg-buildpackage dh lintian git
	git -C "$HOLDFAST_SOURCE" rev-parse HEAD >/dev/null 2>&1 || skip "not a git checkout"
	[ -d "$BATS_FILE_TMPDIR/deb" ] || "$HOLDFAST_SOURCE/scripts/deb" "$BATS_FILE_TMPDIR/deb" >made 2>&1 || {
		cat made
		return 1
	}
	DEB=$(echo "$BATS_FILE_TMPDIR"/deb/*.deb)
}

# The mirror that apt uses answers.
needs_mirror() {
	local mirror
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
	python3 -c 'import sys, urllib.request
urllib.request.urlopen(sys.argv[1].rstrip("/") + "/dists/bookworm/Release", timeout=30).read(1)' "$mirror" 2>/dev/null ||
		skip "no mirror of Debian can be reached"
}

@test "the package is made, lintian has nothing to say, and all of it is there" {
	package
	run -1 grep -E '^[EW]:' made
	dpkg-deb -c "$DEB" | awk '{ print $6 }' >files
	for file in bin/holdfast libexec/holdfast/holdfast-amd64-linux include/holdfast.h include/holdfast/oracle.h include/holdfast/pmemcheck.h \
		share/man/man1/holdfast.1.gz share/man/man1/holdfast-crash.1.gz share/bash-completion/completions/holdfast.bash \
		share/zsh/vendor-completions/_holdfast share/fish/vendor_completions.d/holdfast.fish; do
		grep -qxF "./usr/$file" files || {
			echo "$file is missing"
			return 1
		}
	done
	grep -q '/holdfast\.pc$' files
	grep -q '/oracles/pmdk-.*\.so$' files
	dpkg-deb -f "$DEB" Depends | grep -q 'valgrind (<<'
}

@test "the package installs on a bare Debian, where an ordinary user finds the bug of the demo" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	needs debootstrap
	mkdir mounted
	unshare -m mount -t tmpfs tmpfs mounted 2>/dev/null || skip "cannot mount"
	needs_mirror
	package
	run "$HOLDFAST_SOURCE/scripts/deb-test" "$DEB"
	[ "$status" != 75 ] || skip "no packages could be had"
	[ "$status" = 0 ] || {
		echo "$output"
		return 1
	}
	output_has "smoke: well"
}

# The newest one that says its version in its name.
newest_clang() {
	compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -t- -k2 -n | tail -n 1
}

@test "the newest Clang builds all of it without a warning" {
	local clang
	clang=$(newest_clang)
	[ -n "$clang" ] || skip "no clang-NN"
	CC=$clang CXX=clang++${clang#clang} meson setup -Doptimization=0 -Ddebug=false build "$HOLDFAST_SOURCE" >log 2>&1 || {
		tail -20 log
		return 1
	}
	ninja -C build -k 0 >log 2>&1 || {
		grep -A5 -E 'error:|warning:|FAILED' log | head -60
		return 1
	}
	run -1 grep -E 'warning:' log
}

# tracer_test NAME WORD…: tests/tracer/test_NAME.py, those with one of the words in their names.
tracer_test() {
	run -0 python3 -B "$HOLDFAST_SOURCE/tests/tracer/test_$1.py" "${@:2}"
}

@test "another Valgrind: the tracer is built with it, and follows what programs do to files" {
	[ -n "$HOLDFAST_TEST_VALGRIND" ] || skip "HOLDFAST_TEST_VALGRIND names none"
	PKG_CONFIG_PATH=$HOLDFAST_TEST_VALGRIND/lib/pkgconfig meson setup -Dtests=false build "$HOLDFAST_SOURCE" >log 2>&1
	ninja -C build >>log 2>&1 || {
		tail -30 log
		return 1
	}
	export HOLDFAST=$PWD/build/holdfast TRACER_PROGRAMS=${EXPLORE_PROGRAMS%/*}/tracer
	tracer_test hostile hostile_faults hostile_calls hostile_files
	tracer_test names
	tracer_test kernel
	tracer_test stores
}
