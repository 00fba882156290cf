#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What the documents show is what the tool prints, and what they point to is there.
load common

examples() {
	ln -s "$(dirname "$HOLDFAST")" build
	NO_COLOR=1 XDG_CACHE_HOME=$PWD/cache run -0 "$HOLDFAST_SOURCE/tests/cli/run-examples" "$HOLDFAST_SOURCE/$1" "$HOLDFAST_SOURCE"
}

@test "the README's examples" {
	examples README.md
}

@test "the examples of docs/CRASH.md" {
	examples docs/CRASH.md
}

@test "the examples of docs/EXPLORE.md" {
	examples docs/EXPLORE.md
}

@test "the how-to's strategy compiles" {
	awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$HOLDFAST_SOURCE/docs/HOWTO_ADD_STRATEGY.md" >strategy_newest.c
	grep -q crash_strategy_newest strategy_newest.c
	run -0 "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE= -Wall -Wextra -Wno-missing-field-initializers -Werror -fsyntax-only \
		-I "$HOLDFAST_SOURCE/src" -I "$HOLDFAST_SOURCE/include" strategy_newest.c
}

@test "the how-to's search strategy compiles" {
	awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$HOLDFAST_SOURCE/docs/HOWTO_ADD_SEARCH.md" >strategy_rare.c
	grep -q strategy_rare strategy_rare.c
	run -0 "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE= -Wall -Wextra -Wno-missing-field-initializers -Werror -fsyntax-only \
		-I "$HOLDFAST_SOURCE/src" -I "$HOLDFAST_SOURCE/include" strategy_rare.c
}

@test "every strategy is in the table of docs/CRASH.md or docs/EXPLORE.md, every verb in the README" {
	for strategy in $(holdfast help crash | sed -n 's/^ *--strategy //p' | tr '|' ' '); do
		grep -q "^| \`$strategy\` |" "$HOLDFAST_SOURCE/docs/CRASH.md"
	done
	for strategy in $(holdfast help explore | sed -n 's/^ *--strategy //p' | tr '|' ' '); do
		grep -q "^| \`$strategy\` |" "$HOLDFAST_SOURCE/docs/EXPLORE.md"
	done
	for verb in $(holdfast --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		grep -q "^| .*\`${verb}[\` ]" "$HOLDFAST_SOURCE/README.md"
	done
}

# Words in capitals stand for something.
@test "every file that the documents name exists" {
	cd "$HOLDFAST_SOURCE"
	for document in *.md docs/*.md corpus/*.md; do
		grep -o '`[^` ]*`' "$document" | tr -d '`' | grep -E '^[a-z0-9_./-]+(\.([ch]|py|txt|list|jsonl|bats|build)|/)$' | sort -u | while read -r name; do
			[ -e "$name" ] || [ -e "src/$name" ] || [ -e "$(dirname "$document")/$name" ] ||
				find include src tracer tests oracles scripts corpus bench docs -path "*/${name%/}" | grep -q . || {
				echo "$document: there is no $name"
				exit 1
			}
		done
	done
}

@test "every link between the documents leads somewhere" {
	cd "$HOLDFAST_SOURCE"
	for document in *.md docs/*.md corpus/*.md; do
		grep -o '](\([^)]*\))' "$document" | sed 's/^](//; s/)$//' | grep -v '^http' | while IFS='#' read -r file section; do
			target=${file:+$(dirname "$document")/$file}
			target=${target:-$document}
			[ -e "$target" ] || {
				echo "$document: there is no $file"
				exit 1
			}
			[ -z "$section" ] || grep '^#' "$target" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' | grep -qx -- "-$section\|--$section" || {
				echo "$document: there is no $file#$section"
				exit 1
			}
		done
	done
}
