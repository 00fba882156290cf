#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
load common

@test "the program's output and exit status pass through" {
	run -7 --separate-stderr holdfast record -o t -- "$VICTIM" pool say hello warn oops store 3 exit 7
	[ "$output" = hello ]
	[[ $stderr == *oops* ]]
	[[ $stderr == *"holdfast dump t"* ]]
	is_whole t
}

@test "-q says nothing" {
	run -0 holdfast record -q -o t -- "$VICTIM" pool say hello store 3
	[ "$output" = hello ]
}

@test "death by signal N is status 128+N, and the trace is whole" {
	run -134 holdfast record -o t -- "$VICTIM" pool store 3 raise 6
	output_has "signal 6"
	is_whole t
}

@test "without -o the folder is PROGRAM-N.hft, the first free N" {
	run -0 holdfast record -- "$VICTIM" pool store 1
	run -0 holdfast record -- "$VICTIM" pool store 1
	[ -d victim-0.hft ]
	[ -d victim-1.hft ]
	rm -r victim-0.hft
	run -0 holdfast record -- "$VICTIM" pool store 1
	[ -d victim-0.hft ]
}

@test "several at once in one folder: each has its own" {
	local i
	for i in 1 2 3 4 5 6; do
		holdfast record -q -- "$VICTIM" "pool$i" store "$i" 3>&- &
		pids[i]=$!
	done
	for i in 1 2 3 4 5 6; do
		wait "${pids[i]}"
	done
	for i in 0 1 2 3 4 5; do
		is_whole "victim-$i.hft"
	done
	[ "$(for i in victim-*.hft; do holdfast dump --json "$i" | jq -c .command; done | sort -u | wc -l)" -eq 6 ]
}

@test "a program's name of 252 bytes, or with an end in the middle of a character, is cut" {
	local name
	name=$(printf 'n%.0s' {1..252})
	cp "$VICTIM" "$name"
	timeout 600 "$HOLDFAST" record -q -- "./$name" pool store 3
	is_whole ./*-0.hft
	name=$(printf 'ä%.0s' {1..126})
	cp "$VICTIM" "$name"
	timeout 600 "$HOLDFAST" record -q -- "./$name" pool store 3
	is_whole ./ä*-0.hft
	ls -d ä*-0.hft | iconv -f UTF-8 -t UTF-16 >/dev/null
	# nothing is left behind where the program cannot be run
	run -3 holdfast record -- ./no-such-program
	[ ! -e no-such-program-0.hft ]
}

@test "limits that a program sets are those that it has; what Valgrind needs does not count" {
	cat >limits.c <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/resource.h>
		static void show(int what)
		{
			struct rlimit r;
			getrlimit(what, &r);
			printf("%d: %llu %llu\n", what, (unsigned long long)r.rlim_cur, (unsigned long long)r.rlim_max);
		}
		static void set(int what, rlim_t cur, rlim_t max)
		{
			struct rlimit r = { cur, max };
			int bad = setrlimit(what, &r);
			printf("%d %llu %llu: %d\n", what, (unsigned long long)r.rlim_cur, (unsigned long long)r.rlim_max, bad);
			show(what);
		}
		int main(void)
		{
			show(RLIMIT_NOFILE);
			set(RLIMIT_NOFILE, 500, 600); /* as servers do */
			set(RLIMIT_NOFILE, 600, 600);
			set(RLIMIT_NOFILE, 601, 600);
			set(RLIMIT_AS, 100 << 20, 100 << 20);
			char *p = malloc(40 << 20);
			printf("%d\n", p != NULL);
			set(RLIMIT_CPU, 1, 1);
			for (volatile long i = 0; i < 20000000; i++)
				;
			return 0;
		}
	EOF
	cc -O1 -o limits limits.c
	ulimit -n 1000
	./limits >native
	holdfast record -q -o t -- ./limits >recorded
	diff native recorded
	ulimit -Sn 700
	./limits >native
	holdfast record -q -o u -- ./limits >recorded
	diff native recorded
}

@test "control characters of names do not get to the terminal" {
	local evil=$'po\e]0;evil\aol\e[31m' verb
	cp "$VICTIM" "./$evil"
	clean() {
		"$HOLDFAST" "$@" >out 2>&1 || true
		[ -s out ]
		! LC_ALL=C grep -aq $'[\001-\010\013-\037\177]' out || {
			echo "$*:"
			cat -v out
			return 1
		}
	}
	clean record -o "t$evil" -- "./$evil" "$evil" store 3
	clean dump "t$evil"
	grep -aqF 'po?]0;evil?ol?[31m' out
	clean dump --events 0-5 "t$evil"
	clean check "t$evil"
	clean record -- "no$evil"
	clean "no$evil"
	clean crash --recover "cat '$evil'" "t$evil"
	clean status "t$evil"
	clean show "t$evil"
	# to programs, names are as they are
	holdfast dump --json "t$evil" | jq -e --arg evil "$evil" '.files[0].path | endswith($evil)'
}

@test "the separator -- is optional; the program's options are its own" {
	run -0 holdfast record -q -o t "$VICTIM" pool say --help
	[ "$output" = --help ]
	run -0 holdfast record -q -o u -- env printf '%s\n' -o x -- --force
	[ "${lines[*]}" = "-o x -- --force" ]
}

@test "programs are found on PATH, and see the name they were called by" {
	run -0 holdfast record -q -- sh -c 'echo "$0"' me
	[ "$output" = me ]
	[ -d sh-0.hft ]
	run -0 holdfast record -q -o t -- sh -c 'echo "$0"'
	[ "$output" = sh ]
}

@test "the environment and the working folder are the program's own" {
	env -u LD_PRELOAD env | grep -v -e ^_= | sort >before
	holdfast record -q -o t -- env |
		grep -v -e ^_= -e ^VALGRIND_ -e ^LD_PRELOAD= -e ^PMEM_IS_PMEM_FORCE= -e ^GLIBC.*_FORCE_NEW= |
		sort >after
	diff before after
	run -0 holdfast record -q -o u -- pwd -P
	[ "$output" = "$(pwd -P)" ]
}

@test "user settings of valgrind do not disturb" {
	echo "--tool=memcheck --no-such-option" >.valgrindrc
	VALGRIND_OPTS=--leak-check=full run -0 holdfast record -q -o t -- "$VICTIM" pool say hello
	[ "$output" = hello ]
}

@test "PMEM_IS_PMEM_FORCE is set, said, and left alone on request" {
	run -0 holdfast record -o t -- sh -c 'echo "force=$PMEM_IS_PMEM_FORCE"'
	output_has "force=1"
	output_has "PMEM_IS_PMEM_FORCE=1 was set"
	PMEM_IS_PMEM_FORCE=0 run -0 holdfast record -o u -- sh -c 'echo "force=$PMEM_IS_PMEM_FORCE"'
	output_has "force=0"
	output_lacks "was set"
	run -0 holdfast record --no-pmem-force -o v -- sh -c 'echo "force=$PMEM_IS_PMEM_FORCE"'
	output_lacks "force=1"
	output_lacks "was set"
}

@test "standard input is the program's, or --stdin FILE" {
	echo "from a file" >input
	run -0 holdfast record -q -o t --stdin input -- "$VICTIM" - cat .
	[ "$output" = "from a file" ]
	run -0 bash -c 'echo piped | "$HOLDFAST" record -q -o u -- "$VICTIM" - cat .'
	[ "$output" = piped ]
}

@test "a statically linked program" {
	run -3 holdfast record -o t -- "$VICTIM_STATIC" pool store 5 exit 3
	is_whole t
	output_has store
}

@test "a script is run by its interpreter" {
	printf '#!/bin/sh\necho "script $1"\n' >script
	chmod +x script
	run -0 holdfast record -q -o t -- ./script x
	[ "$output" = "script x" ]
}

@test "a program that touches no persistent memory: a note that helps" {
	run -0 holdfast record -o t -- true
	output_has "never wrote persistent memory"
	run -0 holdfast record -o u --pm '/nowhere/*' -- "$VICTIM" pool store 3
	output_has "never wrote persistent memory"
	output_has "--pm"
	run -0 holdfast record -o v -- "$VICTIM" - fork 0
	output_has "--follow-forks"
}

@test "--pm chooses the files" {
	run -0 holdfast record -o t --pm "$PWD/po*" -- "$VICTIM" pool store 3
	output_lacks "never wrote"
}

@test "--follow-forks records children" {
	run -0 holdfast record -o t -- "$VICTIM" pool fork 3
	output_has "never wrote persistent memory"
	run -0 holdfast record -o u --follow-forks -- "$VICTIM" pool fork 3
	output_lacks "never wrote"
	is_whole u
}

@test "a daemon that is left behind does not keep record waiting" {
	SECONDS=0
	holdfast record -o t -- "$VICTIM" pool store 1 daemon 30 >out 2>&1 3>&-
	[ "$SECONDS" -lt 15 ]
	is_whole t
}

@test "a pool of 4 GiB, sparse: a small trace" {
	VICTIM_BYTES=$((4 << 30)) run -0 holdfast record -o t -- "$VICTIM" pool store 100
	is_whole t
	[ "$(du -sk t | cut -f1)" -lt 4096 ]
}

@test "writing persistent memory after unmapping it: the program's crash, a whole trace" {
	run -139 holdfast record -o t -- "$VICTIM" pool store 3 unmap . store 1
	is_whole t
}

@test "the program replaced by exec is recorded on" {
	run -0 holdfast record -q -o t -- "$VICTIM" pool store 3 exec true
	is_whole t
}

@test "--loads records what is read, too" {
	printf '%4096d' 7 >pool
	run -0 holdfast record -o t -- "$VICTIM" other store 3
	run -0 holdfast dump t
	output_lacks " load "
	run -0 holdfast record --loads --pm '*/pool' -o u -- cat pool
	run -0 holdfast dump u --events
	[[ $output == *"file-read"*"/pool offset=0x0 len=4096"* ]]
	cat >read.c <<-'END'
		#include <fcntl.h>
		#include <sys/mman.h>
		int main(void)
		{
			char *p = mmap(0, 4096, PROT_READ, MAP_SHARED, open("pool", O_RDONLY), 0);
			return p[200] != ' ';
		}
	END
	cc -o read read.c
	run -0 holdfast record --loads --pm '*/pool' -o w -- ./read
	run -0 holdfast dump w --events
	[[ $output == *" load "*"pool+0xc0 "*"size=64"*"at main"* ]]
	run -0 holdfast dump w
	output_has "load 1"
}

@test "--deps records what stores and branches come from" {
	cat >deps.c <<-'END'
		#include <fcntl.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(void)
		{
			int fd = open("pool", O_RDWR | O_CREAT, 0666);
			if (ftruncate(fd, 4096))
				return 1;
			volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			p[1] = p[0] + 3;
			if (p[2] == 0)
				p[p[1]] = 7;
			return 0;
		}
	END
	cc -g -O1 -o deps deps.c
	run -0 holdfast record --deps -o t -- ./deps
	output_lacks "dropped"
	run -0 holdfast dump t --events
	[[ $output =~ ([0-9]+)\ \ T1\ \ \ load\ +pool\+0x0\  ]]
	output_has ", from ${BASH_REMATCH[1]}  at main (deps.c:10)"
	[[ $output =~ ([0-9]+)\ \ T1\ \ \ load\ +pool\+0x10\  ]]
	[[ $output =~ branch\ +to=0x[0-9a-f]+,\ from\ ${BASH_REMATCH[1]}\ \ at\ main ]]
	[[ $output =~ ([0-9]+)\ \ T1\ \ \ load\ +pool\+0x8\  ]]
	output_has ", address from ${BASH_REMATCH[1]}  at main (deps.c:12)"
	run -0 holdfast check --fail-on none t
	run -2 holdfast record --deps --loads -- ./deps
	output_has "--loads"
}

@test "answers that a program would keep in its buffer are seen with --line-buffered; its stores are the same" {
	cat >answers.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char line[64];
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			if (argc < 2 || ftruncate(fd, 4096))
				return 2;
			volatile uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			while (fgets(line, sizeof line, stdin)) {
				++*p;
				__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
				printf("%d\n", (int)*p);
			}
			return 0;
		}
	C
	cc -g -O1 -o answers answers.c
	printf 'a\nb\nc\n' >lines
	holdfast record -q --stdin lines -o t -- ./answers pool >out
	run -0 holdfast dump --ops --ops-way requests t
	output_has "no operations were found"
	rm pool
	holdfast record -q --line-buffered --stdin lines -o u -- ./answers pool >out2
	cmp out out2
	run -0 holdfast dump --ops u
	output_has "3 operations: from what it reads, a line or a packet, until it answers"
	output_has "'b' -> '2'"
	diff <(holdfast dump t --events --json | jq -c 'select(.kind == "store") | [.offset, .size, .data]') \
		<(holdfast dump u --events --json | jq -c 'select(.kind == "store") | [.offset, .size, .data]')
	rm pool
	run -0 holdfast crash -o v --ops-way requests --probe "od -An -tu8 -N8 pool" --stdin lines -- ./answers pool
	output_has "judged: 3 operations: from what it reads"
	cc -static -g -O1 -o fixed answers.c
	rm pool
	run -0 holdfast record --line-buffered --stdin lines -o w -- ./fixed pool
	output_has "the program's output cannot be made line-buffered: "
}

@test "what threads say to each other, by a pipe, a pair of sockets or an eventfd, is no answer" {
	cat >self.c <<-'C'
		#include <stdint.h>
		#include <stdio.h>
		#include <sys/eventfd.h>
		#include <sys/socket.h>
		#include <unistd.h>
		int main(void)
		{
			int p[2], s[2], e = eventfd(0, 0);
			uint64_t one = 1;
			char c;
			if (pipe(p) || socketpair(AF_UNIX, SOCK_STREAM, 0, s) || read(0, &c, 1) != 1)
				return 2;
			if (write(e, &one, 8) != 8 || read(e, &one, 8) != 8 || write(p[1], "p", 1) != 1 || read(p[0], &c, 1) != 1)
				return 3;
			if (write(s[0], "s", 1) != 1 || read(s[1], &c, 1) != 1 || write(1, "answer\n", 7) != 7)
				return 4;
			return 0;
		}
	C
	cc -o self self.c
	echo question | holdfast record -q -o t -- ./self | cat
	holdfast dump t --events --json | jq -r 'select(.kind == "input" or .kind == "output") | .kind' >kinds
	diff kinds <(printf 'input\noutput\n')
}
