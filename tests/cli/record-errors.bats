#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What cannot be recorded: a clear message, the documented status, nothing half-written.
load common

teardown() {
	if [ -z "${keeps:-}" ]; then
		[ ! -e t ]
	fi
}

@test "no such program" {
	run -3 holdfast record -o t -- ./missing
	output_has "no such program: ./missing"
	run -3 holdfast record -o t -- surely-not-on-path
	output_has "no program 'surely-not-on-path' on PATH"
	run -3 holdfast record -o t -- ""
	output_has "empty"
}

@test "not executable, a folder, a device" {
	cp "$VICTIM" plain
	chmod -x plain
	run -3 holdfast record -o t -- ./plain
	output_has "not executable"
	run -3 holdfast record -o t -- ./
	output_has "folder"
	run -3 holdfast record -o t -- /dev/null
	output_has "not a regular file"
}

# elf CLASS MACHINE TYPE: an executable file with an ELF header of these, in ./elf
elf() {
	python3 - "$@" <<-'END'
		import struct, sys
		cls, machine, kind = map(int, sys.argv[1:])
		ident = b"\x7fELF" + bytes([cls, 1, 1]) + bytes(9)
		open("elf", "wb").write(ident + struct.pack("<HHI", kind, machine, 1) + bytes(100))
	END
	chmod +x elf
}

@test "a 32-bit program" {
	elf 1 3 2
	run -3 holdfast record -o t -- ./elf
	output_has "32-bit"
}

@test "a program for another machine, an object file, a damaged header" {
	elf 2 183 2
	run -3 holdfast record -o t -- ./elf
	output_has "another machine"
	elf 2 62 1
	run -3 holdfast record -o t -- ./elf
	output_has "not a program"
	truncate -s 20 elf
	run -3 holdfast record -o t -- ./elf
	output_has "damaged"
}

@test "neither program nor script" {
	echo "just text" >text
	: >empty
	chmod +x text empty
	run -3 holdfast record -o t -- ./text
	output_has "neither an ELF program nor a script"
	run -3 holdfast record -o t -- ./empty
	output_has "neither an ELF program nor a script"
}

@test "a script whose interpreter is missing, 32-bit, or itself" {
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run -3 holdfast record -o t -- ./script
	output_has "no such program: /no/such/interpreter"
	elf 1 3 2
	printf '#!%s\n' "$PWD/elf" >script
	run -3 holdfast record -o t -- ./script
	output_has "32-bit"
	printf '#!%s\n' "$PWD/script" >script
	run -3 holdfast record -o t -- ./script
	output_has "bad interpreter line"
}

@test "a set-user-ID program" {
	cp "$VICTIM" suid
	chmod u+s suid
	run -3 holdfast record -o t -- ./suid
	output_has "set-user-ID"
}

@test "valgrind is not on PATH, or that is another: the one that the tracer was linked with" {
	mkdir bin
	PATH=$PWD/bin run -0 "$HOLDFAST" record -o one -- "$VICTIM" pool store 1
	printf '#!/bin/sh\necho valgrind-2.0.0\n' >bin/valgrind
	chmod +x bin/valgrind
	PATH=$PWD/bin:$PATH run -0 holdfast record -o two -- "$VICTIM" pool store 1
}

@test "valgrind is of another version, broken, or missing" {
	printf '#!/bin/sh\necho valgrind-2.0.0\n' >valgrind
	chmod +x valgrind
	HOLDFAST_VALGRIND=$PWD/valgrind run -3 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "valgrind-2.0.0"
	output_has "was built for valgrind-3"
	output_has "accepts Valgrind 3.19 to 3."
	printf '#!/bin/sh\nexit 1\n' >valgrind
	HOLDFAST_VALGRIND=$PWD/valgrind run -3 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "not a working valgrind"
	HOLDFAST_VALGRIND=$PWD/missing run -3 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "HOLDFAST_VALGRIND"
}

@test "the tracer is missing" {
	HOLDFAST_LIBEXEC=$PWD run -3 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "no tracer in HOLDFAST_LIBEXEC"
	cp "$HOLDFAST" alone
	run -3 ./alone record -o t -- "$VICTIM" pool store 1
	output_has "cannot find the tracer"
}

@test "the tracer does not start" {
	mkdir libexec
	printf '#!/bin/sh\nexit 1\n' >libexec/holdfast-amd64-linux
	chmod +x libexec/holdfast-amd64-linux
	HOLDFAST_LIBEXEC=$PWD/libexec run -3 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "the tracer did not start"
}

@test "input that cannot be read" {
	run -2 holdfast record -o t --stdin missing -- "$VICTIM" pool cat .
	output_has "cannot read missing"
}

@test "the output folder exists; --force replaces a trace and nothing else" {
	keeps=yes
	run -0 holdfast record -q -o t -- "$VICTIM" pool store 1
	run -2 holdfast record -o t -- "$VICTIM" pool store 1
	output_has "t exists"
	is_whole t
	run -0 holdfast record -q --force -o t -- "$VICTIM" pool store 2
	is_whole t

	mkdir mine
	echo precious >mine/letter
	run -2 holdfast record --force -o mine -- "$VICTIM" pool store 1
	output_has "not a trace"
	run -2 holdfast record --force -o mine/letter -- "$VICTIM" pool store 1
	output_has "not a folder"
	[ "$(cat mine/letter)" = precious ]
}

@test "a trace with a stranger's file in it is not replaced" {
	keeps=yes
	run -0 holdfast record -q -o t -- "$VICTIM" pool store 1
	echo precious >t/letter
	run -2 holdfast record --force -o t -- "$VICTIM" pool store 1
	output_has "letter"
	[ "$(cat t/letter)" = precious ]
	is_whole t
}

@test "an empty folder may be used" {
	keeps=yes
	mkdir t
	run -0 holdfast record -q -o t -- "$VICTIM" pool store 1
	is_whole t
}

@test "the output folder cannot be made" {
	: >file
	run -2 holdfast record -o file/t -- "$VICTIM" pool say ran
	output_lacks ran
	run -2 holdfast record -o missing/t -- "$VICTIM" pool say ran
	output_lacks ran
	mkdir locked
	chmod 555 locked
	if [ "$(id -u)" = 0 ]; then
		run -2 holdfast record -o /proc/t -- "$VICTIM" pool say ran
	else
		run -2 holdfast record -o locked/t -- "$VICTIM" pool say ran
	fi
	output_lacks ran
}

# A file system of 1 MiB at ./small, in a mount namespace of its own.
in_small() {
	unshare "${unshare[@]}" bash -c 'mount -t tmpfs -o size=1m none small && "$@"' small "$@"
}

@test "the disk is full: the program runs on, the trace is marked, status 4" {
	keeps=yes
	mkdir small
	unshare=(--mount)
	[ "$(id -u)" = 0 ] || unshare=(--mount --map-root-user)
	in_small true 2>/dev/null || skip "cannot mount a small file system"
	run -0 in_small bash -c '
		"$HOLDFAST" record -o small/t -- "$VICTIM" "$PWD/pool" flood 2000000 say done
		echo "status $?"
		"$HOLDFAST" dump small/t
		echo "dump status $?"'
	output_has "done"
	output_has "status 4"
	output_has "No space left"
	output_has "recording stopped early"
	output_has "Recorded   cut short"
	output_lacks "dump status 4"
}
