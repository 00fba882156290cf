#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
load common

@test "--help lists the verbs and the exit statuses" {
	run -0 holdfast --help
	output_has "record"
	output_has "dump"
	output_has "Exit status"
	run -0 holdfast help
	output_has "usage: holdfast VERB"
}

@test "--version names a version" {
	run -0 holdfast --version
	[[ ${lines[0]} =~ ^holdfast\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[[ ${lines[1]} =~ ^reads\ traces\ of\ versions\ 1\ to\ [0-9]+,\ campaigns\ of\ version\ [0-9]+$ ]]
	# The documents and the newest changes are of this version.
	grep -qx "## ${lines[0]#holdfast }" "$HOLDFAST_SOURCE/CHANGELOG.md"
	grep -q "file, version $(sed 's/.* to \([0-9]*\),.*/\1/' <<<"${lines[1]}")," "$HOLDFAST_SOURCE/docs/TRACE_FORMAT.md"
}

@test "no verb: help on stderr, status 2" {
	run -2 --separate-stderr holdfast
	[ -z "$output" ]
	[[ $stderr == *"usage: holdfast VERB"* ]]
}

@test "help VERB and VERB --help say the same" {
	for verb in record dump; do
		run -0 holdfast help "$verb"
		output_has "usage: holdfast $verb"
		local first=$output
		run -0 holdfast "$verb" --help
		[ "$first" = "$output" ]
	done
}

@test "an unknown verb: a suggestion, status 2" {
	run -2 holdfast recrod
	output_has "did you mean 'record'"
	run -2 holdfast xyzzy
	output_has "unknown verb 'xyzzy'"
	output_lacks "did you mean"
	run -2 holdfast help recrod
	output_has "did you mean 'record'"
}

@test "an unknown option: a suggestion, status 2" {
	run -2 holdfast record --ouptut x -- true
	output_has "did you mean --output"
	run -2 holdfast record -Z -- true
	output_has "unknown option -Z"
}

@test "option arguments are checked" {
	run -2 holdfast record --cpu fast -- true
	output_has "clwb|clflushopt|clflush"
	run -2 holdfast record --force=1 -- true
	output_has "takes no argument"
	run -2 holdfast record --output
	output_has "needs DIR"
	run -2 holdfast record
	output_has "a program to run is needed"
}

@test "help that cannot be written: status 4" {
	[ -w /dev/full ] || skip "no /dev/full"
	run -4 bash -c '"$HOLDFAST" --help >/dev/full'
	output_has "cannot write"
}

@test "every verb has a man page that man accepts" {
	command -v man >/dev/null || skip "no man"
	for verb in "" $(holdfast --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		[ "$verb" = help ] && continue
		page=$(dirname "$HOLDFAST")/docs/man/holdfast${verb:+-$verb}.1
		run -0 --separate-stderr env LC_ALL=C.UTF-8 MANWIDTH=90 man --warnings -l "$page"
		output_has "NAME"
		[ -z "$stderr" ]
	done
}

complete_line() {
	source "$(dirname "$HOLDFAST")/docs/man/holdfast.bash"
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_holdfast
	echo "${COMPREPLY[*]}"
}

@test "bash completes verbs, options, choices, files and programs" {
	touch some-file
	[ "$(complete_line holdfast rec)" = record ]
	[ "$(complete_line holdfast record --follow)" = --follow-forks ]
	[ "$(complete_line holdfast record --cpu clw)" = clwb ]
	[ "$(complete_line holdfast record --stdin some)" = some-file ]
	[ "$(complete_line holdfast record -- some)" = some-file ]
	[[ " $(complete_line holdfast record -- tru) " == *" true "* ]]
	[ "$(complete_line holdfast help du)" = dump ]
}

@test "fish completes verbs, options, choices, files and programs" {
	command -v fish >/dev/null || skip "no fish"
	touch some-file
	complete_fish() {
		fish -c "source '$(dirname "$HOLDFAST")/docs/man/holdfast.fish'; complete -C '$*'" | cut -f1
	}
	[ "$(complete_fish holdfast rec)" = record ]
	[ "$(complete_fish holdfast record --follow)" = --follow-forks ]
	[ "$(complete_fish holdfast record --cpu clw)" = clwb ]
	[ "$(complete_fish holdfast record --stdin some)" = some-file ]
	[ "$(complete_fish holdfast record -- some)" = some-file ]
	complete_fish holdfast record -- tru | grep -qx true
	[ "$(complete_fish holdfast help du)" = dump ]
}

# What a line is after a tab, in an interactive zsh.
complete_zsh() {
	zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "PS1= PS2= RPS1= ; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; show() { zle complete-word; print -r -- \"<<\$BUFFER>>\"; zle kill-whole-line }; zle -N show; bindkey \"^I\" show; print rea\"\"dy"
		zpty -r shell out "*ready*"
		zpty -w -n shell "$2"$'"'\t'"'
		zpty -r shell out "*<<*>>*"
		out=${out##*<<}
		print -r -- "${out%%>>*}"
	' zsh "$(dirname "$HOLDFAST")/docs/man" "$*"
}

@test "zsh completes verbs, options, choices and files" {
	command -v zsh >/dev/null || skip "no zsh"
	needs_terminal
	touch some-file
	[ "$(complete_zsh holdfast rec)" = "holdfast record " ]
	[ "$(complete_zsh holdfast record --follow)" = "holdfast record --follow-forks " ]
	[ "$(complete_zsh holdfast record --cpu clw)" = "holdfast record --cpu clwb " ]
	[ "$(complete_zsh holdfast record --stdin some)" = "holdfast record --stdin some-file " ]
	[ "$(complete_zsh holdfast record -- some)" = "holdfast record -- some-file " ]
	[ "$(complete_zsh holdfast help du)" = "holdfast help dump " ]
}
