#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast serve: what it serves, to whom, and how it ends. serve.py is the client.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir "$BIN"
	${CC:-cc} -g -O1 -I "$HOLDFAST_SOURCE/include" -o "$BIN/notes" "$HOLDFAST_SOURCE/demo/notes.c"
	cd "$BATS_FILE_TMPDIR" || return
	"$HOLDFAST" test -q -o done.hft --recover "$BIN/notes my.notes check" -- "$BIN/notes" my.notes add tea add milk done 1 || [ $? = 1 ]
	rm my.notes
	"$HOLDFAST" record -o plain.hft -- "$BIN/notes" my.notes add tea done 1
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	mkdir tmp
	export TMPDIR=$PWD/tmp
	SERVER=
}

teardown() {
	[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || :
}

# serve ARGUMENTS…: in the background; URL is where.
serve() {
	setsid "$HOLDFAST" serve --port 0 "$@" >url 2>err 3>&- &
	SERVER=$!
	for _ in $(seq 600); do
		[ ! -s url ] || break
		sleep 0.05
	done
	URL=$(cat url)
	[[ $URL == http://127.0.0.1:*/ ]]
}

client() {
	python3 "$HOLDFAST_SOURCE/tests/cli/serve.py" "$URL" "$@"
}

# The server has ended, with all its processes, and has left nothing behind.
ended() {
	wait "$SERVER"
	! pgrep -s "$SERVER" >/dev/null
	SERVER=
	[ -z "$(ls tmp)" ]
}

@test "a campaign that is over: its page, its findings, its charts; nothing is changed; Ctrl-C ends it" {
	cp -r "$BATS_FILE_TMPDIR/done.hft" .
	(cd done.hft && md5sum -- campaign.db trace) >before
	serve done.hft
	client get / | grep -q '<title>Holdfast report</title>'
	client get report.json >r.json
	jq -e '.verb == "test" and (.command | index("milk")) and .incomplete == null and (.notes | length > 3)' r.json
	diff <(jq -r '(.findings + .suppressed)[].id' r.json | sort) <(holdfast show --json done.hft | jq -r .id | sort)
	jq -e '.findings[0].excerpt.lines | length > 3' r.json
	jq -e '.chart.columns[0] == "seconds" and (.chart.rows[-1][3] >= 1)' r.json
	jq -e '.findings[] | select(.kind == "ordering").witness | (.fields[0].object == "struct note") and (.lines | length == 2)' r.json
	client news events 1 >news
	jq -e '.state == "finished" and .running == false and .figures.causes == 1 and .levels.error == 1' news
	kill -INT "$SERVER"
	ended
	(cd done.hft && md5sum -- campaign.db trace) | diff before -
}

@test "a campaign that runs in another process is shown as it goes: figures, findings, its end" {
	cat >recover <<-END
		#!/bin/sh
		[ ! -e slow ] || sleep 0.2
		exec "$BIN/notes" my.notes check
	END
	chmod +x recover
	touch slow
	serve .
	client news events 1 | jq -e '.places == []'
	holdfast crash -q --jobs 1 -o new.hft --recover ./recover -- "$BIN/notes" my.notes add tea add milk 3>&- &
	campaign=$!
	client until events '.places[0].name == "new.hft" and .places[0].running'
	client until c/new.hft/events '.state == "running" and .figures.tested > 2 and .chart.rows[-1][1] > 2' >one
	client get c/new.hft/report.json | jq -e '.incomplete == "it is still running"'
	rm slow
	client until c/new.hft/events '.state == "finished" and .levels.error == 1' >two
	[ "$(jq -r .version one)" != "$(jq -r .version two)" ]
	wait "$campaign" || [ $? = 1 ]
	client get c/new.hft/report.json | jq -e '.incomplete == null and .findings[0].kind == "ordering"'
	kill "$SERVER"
	ended
}

@test "folders below the folder, a recording by what check says, an exploration" {
	mkdir -p "below/a folder" empty .hidden
	cp -r "$BATS_FILE_TMPDIR/plain.hft" "below/a folder/<b>&%41"
	cp -r "$BATS_FILE_TMPDIR/done.hft" below
	cp -r "$BATS_FILE_TMPDIR/done.hft" .hidden
	ln -s "$BATS_FILE_TMPDIR/done.hft" link
	holdfast explore -q --max-paths 2 --sym-arg 3:1 -o explored -- "$BIN/notes" my.notes add t || [ $? -le 1 ]
	serve .
	client news events 1 >news
	[ "$(jq -r '.places | map(.name) | sort | .[]' news)" = "$(printf '%s\n' 'below/a folder/<b>&%41' below/done.hft explored)" ]
	[ "$(jq -r '.places | sort_by(.name) | map(.kind) | join(" ")' news)" = "recording campaign exploration" ]
	client get / | grep -q '<ul id="places"'
	client get 'c/below/a%20folder/%3Cb%3E%26%2541/report.json' >r.json
	jq -e '.verb == "check"' r.json
	diff <(jq -r '.findings[].id' r.json | sort) <(holdfast check -q --json - "below/a folder/<b>&%41" | jq -r '.findings[].id' | sort)
	[ "$(find tmp -type f | wc -l)" = 1 ]
	jq -r '.places[].path' news | grep -qxF 'below/a%20folder/%3Cb%3E%26%2541'
	client get 'c/below/a%20folder/%3Cb%3E%26%2541/report.json' | cmp - r.json
	client get c/explored/report.json | jq -e '.verb == "explore" and .chart.columns[1] == "paths" and (.command | length > 2)'
	kill -TERM "$SERVER"
	ended
}

@test "folders whose names are no UTF-8 are shown, and their pages open" {
	cp -r "$BATS_FILE_TMPDIR/plain.hft" $'caf\xe9'
	cp -r "$BATS_FILE_TMPDIR/plain.hft" $'caf\xe8'
	serve .
	client news events 1 >news
	[ "$(jq -r '.places | map(.path) | sort | join(" ")' news)" = "caf%E8 caf%E9" ]
	client get c/caf%E9/report.json | jq -e '.verb == "check"'
	client get c/caf%E8/ | grep -q '<title>Holdfast report</title>'
	client news c/caf%E9/events 1 | jq -e '.state == "recorded" and .path == "caf%E9"'
	kill "$SERVER"
	ended
}

@test "what is asked for wrongly, from elsewhere or in bad faith does no harm" {
	cp -r "$BATS_FILE_TMPDIR/done.hft" "$BATS_FILE_TMPDIR/plain.hft" .
	echo secret >secret
	serve .
	client hostile secret
	client news c/done.hft/events 1 | jq -e '.state == "finished"'
	# A database that is none, and a trace that is none.
	mkdir broken torn
	echo nonsense >broken/campaign.db
	echo nonsense >torn/trace
	client status 500 c/broken/report.json c/torn/report.json c/torn/
	client status 200 / c/done.hft/
	# What is no longer there is said to be so.
	rm -r plain.hft
	client status 404 c/plain.hft/
	kill "$SERVER"
	ended
}

@test "many clients at a time, and more than it takes; they end with it" {
	serve "$BATS_FILE_TMPDIR/done.hft"
	client crowd 100
	client news events 1 | jq -e '.state == "finished"' # they are gone, others are welcome
	client hold 20 "$SERVER"
	ended
}

@test "a port that is taken, a folder that is none, options that make no sense" {
	serve .
	port=${URL%/}
	port=${port##*:}
	run -2 holdfast serve --port "$port" .
	output_has "port $port is in use by another program; --port 0 takes one that is free"
	run -2 holdfast serve nowhere
	output_has "cannot serve nowhere: No such file"
	run -2 holdfast serve url
	output_has "it is no folder"
	run -2 holdfast serve --port 70000
	output_has "--port takes a number up to 65535"
	run -2 holdfast serve a b
	run ! python3 - "$port" <<-END
		import socket, sys
		own = [a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET) if not a[4][0].startswith("127.")]
		ok = [a for a in own if socket.socket().connect_ex((a, int(sys.argv[1]))) == 0]
		sys.exit(0 if ok else 1)
	END
}
