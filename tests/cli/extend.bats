#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# One of everything that can be added is added to a copy of the tree: one file, one row of a table, one line
# for the build, and nothing else. The files are those of the how-tos, where they show one. The tool must take
# it at the command line, and its help, man pages and completion must know it.
load common

# A whole file that a document shows: the block that has this word in it.
shown() {
	awk -v word="$2" '/^```c$/ { on = 1; text = ""; next }
		/^```$/ { if (on && index(text, word)) printf "%s", text; on = 0 }
		on { text = text $0 "\n" }' "$HOLDFAST_SOURCE/docs/$1"
}

# row FILE BEFORE NEW: one line more, before the one that begins so.
row() {
	grep -q "^[[:space:]]*$2" "$TREE/$1"
	sed -i "0,/^[[:space:]]*$2/s//$3\n&/" "$TREE/$1"
}

# Objects that the build made are taken along, so only what changes is compiled.
copy_tree() {
	mkdir -p "$TREE/build"
	tar -C "$HOLDFAST_SOURCE" --exclude=./build --exclude=./build-asan --exclude=./.git --exclude='*.hft' -cf - . |
		tar -C "$TREE" -xf -
	tar -C "$(dirname "$HOLDFAST")" --exclude=./tests --exclude=./corpus --exclude=./demo -cf - . |
		tar -C "$TREE/build" -xf -
	cp -a "$TREE" "$TREE.before"
}

add_format() {
	cat >"$TREE/src/report/ids.c" <<-'C'
		/* SPDX-License-Identifier: BSD-3-Clause */
		#include "report/internal.h"

		static int write_ids(const struct report *r, const char *path, struct err *err)
		{
			struct buf b = { 0 };

			for (size_t i = 0; i < r->findings->v.n; i++)
				buf_printf(&b, "%s\n", r->findings->v.p[i]->id);
			int status = report_write(path, b.p ? b.p : "", b.n, err);
			buf_free(&b);
			return status;
		}

		const struct report_format report_format_ids = {
			.name = "ids",
			.about = "write the ids of all findings",
			.write = write_ids,
		};
	C
	row src/report/formats.c 'X(html)' '\tX(ids) \\'
	row src/report/meson.build "'json.c'" "  'ids.c',"
}

add_verb() {
	cat >"$TREE/src/cli/greet.c" <<-'C'
		/* SPDX-License-Identifier: BSD-3-Clause */
		#include "cli/cli.h"

		static const struct cli_option greet_options[] = { { NULL } };

		static int cmd_greet(int argc, char **argv);

		const struct cli_verb verb_greet = {
			.name = "greet",
			.run = cmd_greet,
			.summary = "say hello",
			.usage = "NAME",
			.about = "Says hello.",
			.options = greet_options,
		};

		static int cmd_greet(int argc, char **argv)
		{
			char none;
			int status = cli_parse(&verb_greet, &none, &argc, &argv);
			if (status != CLI_GO)
				return status;
			printf("hello, %s\n", argc ? argv[0] : "world");
			return EXIT_NOTHING;
		}
	C
	row src/cli/verbs.c 'X(dump)' '\tX(greet) \\'
	row src/cli/meson.build "'help.c'" "  'greet.c',"
}

setup_file() {
	export TREE=$BATS_FILE_TMPDIR/tree
	copy_tree
	shown HOWTO_ADD_STRATEGY.md crash_strategy_newest >"$TREE/src/crash/strategy_newest.c"
	row src/crash/strategy.c 'X(exhaustive)' '\tX(newest) \\'
	row src/crash/meson.build "'strategy_prefix.c'" "  'strategy_newest.c',"
	shown HOWTO_ADD_SEARCH.md symbolic_searcher_rare >"$TREE/src/symbolic/search_rare.c"
	row src/symbolic/search.c 'X(new_code)' '\tX(rare) \\'
	row src/symbolic/meson.build "'search_turns.c'" "  'search_rare.c',"
	shown HOWTO_ADD_ORACLE.md check_oracle_wide >"$TREE/src/check/wide.c"
	row src/check/oracles.c 'X(many)' '\tX(wide) \\'
	row src/check/meson.build "'values.c'" "  'wide.c',"
	row src/model/ops.c '{ "msync"' '\t{ "nothing", "everything survives at once", .unit = TRACE_LINE },'
	add_format
	add_verb
	cd "$TREE"
	meson setup --reconfigure build . >log 2>&1 && ninja -C build holdfast docs/man/holdfast.1 \
		docs/man/holdfast-{check,crash,explore,greet}.1 docs/man/holdfast.bash >>log 2>&1 || {
		tail -n 40 log
		return 1
	}
	"$HOLDFAST" record -q -o "$BATS_FILE_TMPDIR/trace" -- "$(dirname "$HOLDFAST")/demo/notes" "$BATS_FILE_TMPDIR/my.notes" \
		add 'tea at four, and cake if there is any left by then' add 'buy milk'
	export TRACE=$BATS_FILE_TMPDIR/trace NOTES=$BATS_FILE_TMPDIR/my.notes
}

# The tool of the copy.
new() {
	"$TREE/build/holdfast" "$@"
}

# Help, man page and completion of VERB know WORD of OPTION, and what it means.
knows() {
	local verb=$1 option=$2 word=$3 about=$4
	new help "$verb" | grep -q "^ *--$option .*\b$word\b"
	new help "$verb" | tr -s ' \n' ' ' | grep -qF "$word $about"
	sed 's/\\-/-/g' "$TREE/build/docs/man/holdfast-$verb.1" | grep -A1 "^.B $word$" | grep -qx "$about"
	source "$TREE/build/docs/man/holdfast.bash"
	COMP_WORDS=(holdfast "$verb" "--$option" "${word%?}")
	COMP_CWORD=3
	_holdfast
	[[ " ${COMPREPLY[*]} " == *" $word "* ]]
}

@test "a crash strategy" {
	knows crash strategy newest "the lines stored to last, and nothing else"
	cp -r "$TRACE" t
	run -1 new crash --strategy newest --recover "$(dirname "$HOLDFAST")/demo/notes $NOTES check" t
	output_has "ordering"
	run -1 new crash --fresh --strategy lost+newest --recover "$(dirname "$HOLDFAST")/demo/notes $NOTES check" t
	run -2 new crash --strategy newst --recover true t
	output_has "|newest|"
}

@test "a search" {
	knows explore strategy rare "what was tried least"
	run new explore -o x -q --strategy rare+bfs --max-paths 3 --sym-stdin 1 -- "$EXPLORE_PROGRAMS/listing7" pool
	[ "$status" -le 1 ]
	run -2 new explore --strategy rar --sym-stdin 1 -- true
	output_has "|rare|"
}

@test "an oracle" {
	run new check --notes "$TRACE"
	output_has "a crash may tear this store"
	run holdfast check --notes "$TRACE"
	output_lacks "a crash may tear this store"
}

@test "a model" {
	for verb in check crash explore; do
		knows "$verb" model nothing "everything survives at once"
	done
	run -0 new check --model nothing --fail-on error "$TRACE"
	run -2 new check --model nothin "$TRACE"
	output_has "|nothing|"
}

@test "a report format" {
	new help check | grep -q -- "--ids FILE *write the ids of all findings"
	sed 's/\\-/-/g' "$TREE/build/docs/man/holdfast-check.1" | grep -A1 '^.B --ids FILE' | grep -q "write the ids"
	grep -q -- "--ids" "$TREE/build/docs/man/holdfast.bash"
	new check -q --notes --ids ids.txt --json r.json "$TRACE" || [ "$?" = 1 ]
	[ -s ids.txt ]
	while read -r id; do
		grep -q "$id" r.json
	done <ids.txt
}

@test "a verb" {
	run -0 new greet you
	[ "$output" = "hello, you" ]
	new --help | grep -q "greet *say hello"
	run -0 new help greet
	output_has "usage: holdfast greet NAME"
	grep -q "say hello" "$TREE/build/docs/man/holdfast-greet.1"
	grep -q "greet" "$TREE/build/docs/man/holdfast.1"
	grep -q "greet" "$TREE/build/docs/man/holdfast.bash"
}

@test "that took one file, one row and one build line each" {
	cd "$TREE"
	# five files, and one line more in each of six tables and of five meson.builds
	[ "$(diff -rq --exclude=build --exclude=log "$TREE.before" . | grep -c '^Only in')" = 5 ]
	[ "$(diff -rq --exclude=build --exclude=log "$TREE.before" . | grep -c '^Files')" = 11 ]
	[ "$(diff -r --exclude=build --exclude=log "$TREE.before" . | grep -c '^>')" = 11 ]
	[ "$(diff -r --exclude=build --exclude=log "$TREE.before" . | grep -c '^<')" = 0 ]
	run -0 scripts/check-includes
}
