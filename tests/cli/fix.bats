#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast fix: a patch that repairs what was found, and its proof.

load common

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	printf '==1== pmemcheck\n' >none # a log without findings: the source is opened all the same
	run holdfast fix --source . none
	[[ $output != *libclang* ]] || skip "holdfast was built without libclang"
	rm none
}

# A folder app with store.c, built with these flags, and a recording of it.
recorded() {
	mkdir -p app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/store.c" app/
	printf 'all: store\nstore: store.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror %s -o $@ $<\n' "$*" >app/Makefile
	make -s -C app
	printf '[{"directory": "%s", "file": "store.c", "command": "cc -g -O1 %s -c store.c"}]\n' \
		"$PWD/app" "$*" >app/compile_commands.json
	holdfast record -q -o t -- app/store pool >/dev/null
}

# The patch p.patch, applied to app, compiles without a warning by both compilers, and check finds no error.
patch_is_good() {
	patch -s -p1 -d app <p.patch
	for cc in gcc clang; do
		make -s -B -C app CC=$cc
	done
	rm -f pool
	run -0 holdfast check --fail-on error app/store pool
}

@test "a missing flush is added after the store" {
	recorded -DNO_FLUSH
	run -0 holdfast fix --source app --patch p.patch t
	output_has "planned: store is never flushed [missing-flush]"
	grep '^+	flush(&p->value\[i\], sizeof(p->value\[i\]));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch_is_good
}

@test "a missing fence is added after the flush" {
	recorded -DNO_FENCE
	run -0 holdfast fix --source app --patch p.patch t
	grep '^+	fence();$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch_is_good
}

@test "both are added as the program has them" {
	recorded -DNO_PERSIST
	run -0 holdfast fix --source app --patch p.patch t
	grep '^+	persist(&p->value\[i\], sizeof(p->value\[i\]));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch_is_good
}

@test "what is repaired is not repaired again, and a correct program is left alone" {
	recorded -DNO_PERSIST
	holdfast fix --source app --apply t
	make -s -C app
	rm -f pool
	holdfast record -q -o t2 -- app/store pool
	run -0 --separate-stderr holdfast fix --source app t2
	[ -z "$output" ]
	rm -rf app t t2 pool
	recorded
	run -0 --separate-stderr holdfast fix --source app t
	[ -z "$output" ]
}

@test "without --apply nothing in the source changes" {
	recorded -DNO_PERSIST
	(cd app && sha256sum ./*) >before
	holdfast fix --source app --build 'make -s' t >p.patch
	(cd app && sha256sum ./*) >after
	diff before after
	git apply --check --directory app p.patch
}

@test "with --build the patch is proved" {
	recorded -DNO_PERSIST
	run -0 holdfast fix --source app --build 'make -s' --test 'test -x store' --patch p.patch t
	output_has "repaired: store is never persisted"
	output_has "12 flushes and 11 fences before, 13 and 12 after"
	patch_is_good
}

@test "a fix that brings another error with it is thrown out, though no fix is for the store that it harms" {
	recorded -DNO_PERSIST
	printf '%s\n' 'more = $(shell test $$(grep -c "persist.&p->value.i" store.c) -lt 2 || echo -DNO_CLEAR)' \
		'store: store.c' '	$(CC) -g -O1 -DNO_PERSIST $(more) -o $@ $<' >app/Makefile
	run -1 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "taken out: with the patch there is another error: missing-flush at clear (store.c:"
	output_has "0 repaired, 1 taken out"
	[ ! -s p.patch ]
}

@test "a build that fails is shown, with the patch and without" {
	recorded -DNO_PERSIST
	run -3 holdfast fix --source app --build 'echo no compiler; false' --patch p.patch t
	output_has "no compiler"
	run -1 holdfast fix --source app --build 'make -s && test "$(grep -c "persist(&p->value.i." store.c)" = 1' --patch p.patch t
	output_has "taken out: with the patch the build ends with status 1"
	run -1 holdfast fix --source app --build 'make -s' --test 'echo wrong answer; exit 7' --patch p.patch t
	output_has "wrong answer"
	output_has "taken out: with the patch the test ends with status 7"
	[ ! -s p.patch ]
}

@test "one finding of several, by its id" {
	recorded -DNO_PERSIST
	run -0 holdfast fix --source app --only ffffffffffffffff --patch p.patch t
	[ ! -s p.patch ]
	id=$(holdfast check --json - t | jq -r '.findings[0].id') || true
	run -0 holdfast fix --source app --only "${id:0:6}" --patch p.patch t
	[ -s p.patch ]
}

@test "a report is as good as a recording" {
	recorded -DNO_FENCE
	holdfast check -q --json r.json t || true
	run -0 holdfast fix --source app --patch p.patch r.json
	patch_is_good
	echo '{"no": "report"}' >no.json
	run -2 holdfast fix --source app no.json
	output_has "is not a JSON report of holdfast"
}

@test "a source that is newer than the program is not touched" {
	recorded -DNO_PERSIST
	touch -d '+1 hour' app/store.c
	run -1 holdfast fix --source app --patch p.patch t
	output_has "was changed after the program was built"
	[ ! -s p.patch ]
	run -0 holdfast fix --source app --changed --patch p.patch t
	[ -s p.patch ]
}

@test "a folder that is not the program's source is refused" {
	recorded -DNO_PERSIST
	mkdir other
	run -2 holdfast fix --source other --patch p.patch t
	output_has "other has no file of the program's source: --source names its folder"
	[ ! -e p.patch ]
}

@test "a file that is read-only is left alone" {
	recorded -DNO_PERSIST
	chmod 444 app/store.c
	run -1 holdfast fix --source app --apply --patch p.patch t
	output_has "store.c is read-only"
	[ ! -s p.patch ]
}

@test "interrupted, a proof leaves nothing behind" {
	recorded -DNO_PERSIST
	sha256sum app/store.c >before
	mkdir tmp
	mkfifo never
	TMPDIR=$PWD/tmp "$HOLDFAST" fix --source app --apply --build "touch '$PWD/begun'; exec cat '$PWD/never'" t >said 2>&1 &
	pid=$!
	until [ -e begun ]; do kill -0 $pid; done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" != 0 ]
	[ -z "$(ls tmp)" ]
	sha256sum -c before
}

@test "line ends, blanks in paths" {
	recorded -DNO_PERSIST
	sed -i 's/$/\r/' app/store.c
	make -s -C app
	mkdir 'a b'
	mv app 'a b/app'
	sed -i "s,/app\",/a b/app\"," 'a b/app/compile_commands.json'
	rm -rf t pool
	make -s -B -C 'a b/app'
	holdfast record -q -o t -- 'a b/app/store' pool
	run -0 holdfast fix --source 'a b/app' --build 'make -s' --patch p.patch t
	output_has "repaired"
	patch -s -p1 --binary -d 'a b/app' <p.patch
	[ "$(grep -vc $'\r$' 'a b/app/store.c')" = 0 ]
}

@test "an order that nothing holds to is repaired, and a crash proves it" {
	recorded -DNO_ORDER
	holdfast crash -q --recover 'app/store pool check' t || true
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired: a later store can persist before an earlier one that recovery needs [ordering]"
	grep -A1 '^+	fence();$' p.patch | grep '^ .*p->count++'
}

@test "what does nothing is removed only where that is sure" {
	recorded -DTWICE
	run -0 --separate-stderr holdfast fix --source app t
	[ -z "$output" ]
	run -0 holdfast fix --performance --source app --build 'make -s' --patch p.patch t
	[ "$(grep -c '^-	' p.patch)" = 2 ]
	[ "$(grep -c '^+	' p.patch)" = 0 ]
	output_has "removed: the statement right before it does the same"
}

@test "a loop over an array is one flush of its range" {
	recorded -DNO_CLEAR
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	[ "$(grep -c '^+' p.patch)" -le 3 ]
	grep '^+	flush(' p.patch
}

@test "hoisted: the call with persistent memory alone" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/hoist.c" app/
	printf 'hoist: hoist.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -o $@ $<\n' >app/Makefile
	make -s -C app
	holdfast record -q --profile-sites -o t -- app/hoist pool >/dev/null
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+	modify_pm(pm_addr);$' p.patch
	grep '^+	fence();$' p.patch
	[ "$(grep -c '^+.*flush(' p.patch)" = 1 ]
}

@test "hoisted: where several calls lead there, each of them" {
	mkdir app
	cp "$HOLDFAST_SOURCE"/tests/cli/programs-fix/pool.h app/
	sed 's/^	modify(pm_addr);/&\n	fence();\n	modify(pm_addr + 64);\n	fence();/' \
		"$HOLDFAST_SOURCE"/tests/cli/programs-fix/listing35.c >app/store.c
	printf 'store: store.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -o $@ $<\n' >app/Makefile
	make -s -C app
	holdfast record -q --profile-sites -o t -- app/store pool
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "2 flushes and 3 fences before, 4 and 3 after"
	[ "$(grep -c '^+	modify_pm(pm_addr' p.patch)" = 2 ]
	patch_is_good
}

@test "with libpmemobj: logged in a transaction, persisted outside, in the library's words" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-check/tx.c" app/
	printf 'tx: tx.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -o $@ $< -lpmemobj\n' >app/Makefile
	make -s -C app
	holdfast record -q -o t1 -- app/tx pool unlogged
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t1
	output_has "repaired: store in a transaction that is not in its undo log"
	grep -A1 '^+		pmemobj_tx_add_range_direct(&root->sum, sizeof(root->sum));$' p.patch | grep '^ .*root->sum = 77;'
	rm -f pool
	holdfast record -q -o t2 -- app/tx pool outside
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t2
	output_has "repaired: object changed outside a transaction"
	grep '^+	pmemobj_persist(pop, &root->sum, sizeof(root->sum));$' p.patch
}

@test "with the model msync, a sync" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/sync.c" app/
	printf 'sync: sync.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -o $@ $<\n' >app/Makefile
	make -s -C app
	holdfast record -q -o t -- app/sync pool
	run -0 holdfast fix --model msync --source app --build 'make -s' --patch p.patch t
	output_has "repaired: store is never persisted"
	grep '^+	keep(&p->value, sizeof(p->value));$' p.patch
}

@test "pmemcheck's log" {
	recorded -DNO_PERSIST
	line=$(grep -n 'p->value\[i\] = v;' app/store.c | cut -d: -f1)
	cat >log <<-LOG
		==7== pmemcheck-1.0, a simple persistent store checker
		==7== Command: app/store pool
		==7== Number of stores not made persistent: 1
		==7== Stores not made persistent properly:
		==7== [0]    at 0x10926E: set (store.c:$line)
		==7==    by 0x1092F0: main (store.c:75)
		==7== 	Address: 0x6600040	size: 8	state: DIRTY
		==7== Total memory not made persistent: 8
	LOG
	run -0 holdfast fix --source app --patch p.patch log
	patch_is_good
}

@test "SARIF has the changes" {
	recorded -DNO_PERSIST
	holdfast fix -q --source app --sarif r.sarif t >p.patch
	jq -e '.runs[0].results[0].fixes[0].artifactChanges[0].replacements[0].insertedContent.text | contains("persist")' r.sarif
}

@test "check and test say how to repair" {
	recorded -DNO_PERSIST
	run -1 holdfast check t
	output_has "to repair it: holdfast fix t"
}

# A folder app with a program of programs-fix, built with these flags, and a recording of it.
built() {
	file=$1
	shift
	mkdir -p app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/$file" app/
	compiler='$(CC)'
	[[ $file != *.cc ]] || compiler='$(CC) -xc++'
	printf 'store: %s\n\t%s -g -O1 -Wall -Wextra -Werror %s -o $@ $<\n' "$file" "$compiler" "$*" >app/Makefile
	[[ $file != *.cc ]] || sed -i 's/\$</$< -lstdc++/' app/Makefile
	make -s -C app
	printf '[{"directory": "%s", "file": "%s", "command": "cc -g -O1 %s -c %s"}]\n' \
		"$PWD/app" "$file" "$*" "$file" >app/compile_commands.json
	holdfast record -q -o t -- app/store pool >/dev/null
}

@test "a store in the condition of a loop" {
	built forms.c -DLOOP
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+	while ((result = p->word\[i\] = i, persist(&p->word\[i\], sizeof(p->word\[i\])), result))$' p.patch
	patch_is_good
}

@test "stores in the header of a for" {
	built forms.c -DHEADER
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	grep '^+	for (.*p->used++, persist(&p->used, sizeof(p->used)))$' p.patch
	patch_is_good
}

@test "members that a constructor initialises" {
	built ctor.cc
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+		persist(&this->key, sizeof(this->key));$' p.patch
	grep '^+		persist(&this->value, sizeof(this->value));$' p.patch
	patch_is_good
}

@test "what std::swap and std::exchange store to" {
	built swap.cc
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+	persist(&w->word\[a\], .*); persist(&w->word\[b\], .*);$' p.patch
	[ "$(grep -c '^+.*persist' p.patch)" = 2 ]
	patch_is_good
	rm -rf t pool
	holdfast record -q -o t -- app/store pool >/dev/null
	run -0 holdfast fix --source app --patch p.patch t
	[ ! -s p.patch ]
}

@test "a store that a copy passes by has its flush in the copy" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/pool.h" app/
	built shared.c
	rm -rf t pool
	holdfast record -q --profile-sites -o t -- app/store pool >/dev/null
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "in a copy of what is called"
	patch -s -p1 -d app -o - <p.patch | sed -n '/^static.* fill_pm(/,/^}/p' >copy
	[ "$(grep -c 'flush(' copy)" = 2 ]
	patch_is_good
}

@test "two stores in one line, both of which lack something: one after the other" {
	built forms.c -DLINE
	perl -0pi -e 's/\{\n\t\t(p->word\[0\] = 3;)\n\t\t(p->word\[9\] = 4;)\n\t\}/{ $1 $2 }/' app/forms.c
	for round in 1 2; do
		make -s -B -C app
		rm -rf t pool
		holdfast record -q -o t -- app/store pool >/dev/null
		run -0 holdfast fix --source app --apply t
		output_has "1 planned"
	done
	grep '^	if (p->ready) { p->word\[0\] = 3; persist(&p->word\[0\], .*); p->word\[9\] = 4; persist(&p->word\[9\], .*); }' app/forms.c
	printf '' >p.patch
	patch_is_good
}

@test "behind a copy function of the program's own, one flush of its range" {
	built forms.c -DCOPY
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "after the call, of the range"
	output_has "'sizeof(source)' is a number of bytes: the call passes a sizeof"
	grep '^+	persist(p->word + 6, sizeof(source));$' p.patch
	[ "$(grep -c '^+.*persist' p.patch)" = 1 ]
	patch_is_good
}

@test "a copy function that counts words is not told bytes" {
	built forms.c -DWORDS
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+.*persist(to, n \* sizeof(to\[0\]));$' p.patch
	patch_is_good
}

@test "… also where it takes two at a time" {
	built forms.c -DUNROLLED
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	run ! grep 'persist(.*, 10);$' p.patch
	patch_is_good
}

@test "… through pointers to bytes, in groups or byte by byte" {
	for form in GROUPS SINGLES; do
		built forms.c -D$form
		run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
		output_has "repaired"
		run ! grep 'persist(.*, 10);$' p.patch
		patch_is_good
		rm -rf app t pool
	done
}

@test "parts of a struct that is not aligned are flushed as a whole" {
	built forms.c -DPARTS
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	grep '^+	persist(pair, sizeof(\*pair));$' p.patch
	[ "$(grep -c '^+.*persist' p.patch)" = 1 ]
	patch_is_good
}

@test "a file that is generated is left alone" {
	recorded -DNO_PERSIST
	sed -i '1i /* Made of store.in by a script: DO NOT EDIT. */' app/store.c
	make -s -B -C app
	rm -rf t pool
	holdfast record -q -o t -- app/store pool >/dev/null
	run -1 holdfast fix --source app --patch p.patch t
	output_has "store.c says that it is generated"
	[ ! -s p.patch ]
	sed -i '1c #line 3 "store.c"' app/store.c
	make -s -B -C app
	rm -rf t pool
	holdfast record -q -o t -- app/store pool >/dev/null
	run -1 holdfast fix --source app --patch p.patch t
	output_has "is generated: it has a #line in line 1"
	[ ! -s p.patch ]
}

@test "of a file that another is generated from, the reason is given" {
	recorded -DNO_PERSIST
	mv app/store.c app/store.in
	printf 'store: store.in\n\t(echo "#line 1 \\"store.in\\""; cat store.in) >store.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -DNO_PERSIST -o $@ store.c\n' >app/Makefile
	make -s -B -C app
	rm -rf t pool
	holdfast record -q -o t -- app/store pool >/dev/null
	sha256sum app/store.c >before
	run holdfast fix --source app --apply --patch p.patch t
	[ "$status" -le 1 ]
	sha256sum -c before
}

@test "in the words of the program: a macro, but not one that stores" {
	built words.c -DMACRO
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+	PERSIST(&w->last, sizeof(w->last));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch_is_good
}

@test "in the words of the program: a function that counts lines is told lines" {
	built words.c -DLINES
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep '^+	write_lines(&w->last, 1);$' p.patch
	grep '^+	write_lines(w->record + 2, ((unsigned long)(w->record + 2) % 64 + 3 \* sizeof(\*w->record) + 63) / 64);$' p.patch
	output_has "9 flushes and 2 fences before, 13 and 4 after"
	rm app/compile_commands.json # debug information does not have -D; which part was compiled tells it
	run -0 holdfast fix --source app --patch again.patch t
	diff p.patch again.patch
	patch_is_good
}

@test "an object that a function fills in is flushed behind the call, without a copy of the function" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/words.c" app/
	printf 'store: words.c\n\t$(CC) -g -O1 -fno-inline -Wall -Wextra -Werror -o $@ $<\n' >app/Makefile
	make -s -C app
	holdfast record -q --profile-sites -o t -- app/store pool
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "after the call, of the range that it writes"
	grep '^+	PERSIST(&w->record\[1\], sizeof(w->record\[1\]));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch_is_good
}

@test "in C++: a static method, also in files that only see it; methods and operators in a header" {
	mkdir app
	cp "$HOLDFAST_SOURCE"/tests/cli/programs-fix/scope* app/
	printf 'store: scope.cc scope_main.cc scope.h\n\t$(CC) -xc++ -g -O1 -Wall -Wextra -Werror -o $@ scope.cc scope_main.cc -lstdc++\n' >app/Makefile
	make -s -C app
	holdfast record -q -o t -- app/store pool
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "3 repaired"
	grep '^+		pm::Device::persist(&last, sizeof(last));$' p.patch
	grep '^+	pm::Device::persist(&h->gap\[3\], sizeof(h->gap\[3\]));$' p.patch
	patch_is_good
}

@test "a build with absolute paths builds the copy, not the source" {
	recorded -DNO_PERSIST
	sed -i "s,store.c,$PWD/app/store.c,; s,\$@,$PWD/app/\$@," app/Makefile
	unshare -rm true 2>/dev/null || unshare -m true || skip "no mount namespaces"
	(cd app && sha256sum ./*) >before
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired: store is never persisted"
	(cd app && sha256sum ./*) >after
	diff before after
	patch_is_good
}

@test "in templates: what debug information calls it; all of an array where nobody can say how much is written" {
	built generic.cc
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	grep '^+		pm::persist(&used, sizeof(used));$' p.patch
	grep '^+		pm::persist(text, sizeof(text));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 2 ]
	patch_is_good
}

@test "warnings are named, and repaired where that is asked for: parts of a small struct with one flush, through the program's pointer" {
	built ring.c -DPUT
	run -0 holdfast fix --source app --patch p.patch t
	output_has "4 left alone (--warnings repairs warnings, too)"
	run -0 holdfast fix --source app --warnings --build 'make -s' --patch p.patch t
	output_has "4 repaired"
	grep '^+	pm->flush(m, sizeof(\*m));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	patch -s -p1 -d app <p.patch
	[ "$(grep -B1 'pm->flush(m' app/ring.c | head -1)" = "		m->word[i] = (uint32_t)text[i];" ] # behind the loop
}

@test "a fence that follows when the operation has ended is too late" {
	built ring.c -DTAIL
	run -0 holdfast fix --source app --warnings --build 'make -s' --patch p.patch t
	output_has "the next fence comes after the operation has ended"
	grep '^+	pm->persist(&r->tail, sizeof(r->tail));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
}

@test "what the program's function flushes with is that function's; calls are written as the file writes them" {
	built ring.c -DPUT -DONE
	run -0 holdfast fix --source app --warnings --build 'make -s' --patch p.patch t
	grep '^+	flush_bytes(m, sizeof(\*m));$' p.patch
	[ "$(grep -c '^[-+][^-+]' p.patch)" = 1 ]
	sed -i '/#define/!s/\([a-z]\)(/\1 (/g' app/ring.c
	touch -r app/store app/ring.c
	run -0 holdfast fix --source app --warnings --patch p.patch t
	grep '^+	flush_bytes (m, sizeof (\*m));$' p.patch
}

@test "a flush whose fence comes too late, as a crash shows, gets one of its own" {
	built before.c -DUNORDERED
	rm -rf t pool
	run -1 holdfast test -q -j 1 --budget 60 -o t --recover 'app/store pool verify' -- app/store pool
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "with a fence, too: a crash has shown that the next one comes too late"
	grep '^+	persist(&d->a, sizeof(d->a));$' p.patch
}

# pairs FLAG: programs-fix/pairs.c built so, and crashed, with what it prints as the judge.
pairs() {
	mkdir -p app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/pairs.c" app/
	printf 'pairs: pairs.c\n\t$(CC) -g -O1 -mclflushopt -Wall -Wextra -Werror %s -o $@ $<\n' "$1" >app/Makefile
	make -s -C app
	rm -rf pool t
	run -1 holdfast crash -q -o t --ops-calls change --json r.json --probe "app/pairs pool dump" -- app/pairs pool fill
	rm -f pool
}

@test "an operation that a crash leaves in part is repaired where order is all that is missing" {
	pairs -DEARLY
	jq -e '.findings[0] | .kind == "half-operation" and .witness.because == "ordering"' r.json
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired: after a crash an operation has happened in part"
	# the report alone tells what is missing, too
	run -0 holdfast fix --source app --patch r.patch r.json
	output_has "1 planned"
	patch -s -p1 -d app <p.patch
	make -s -B -C app
	run -0 holdfast crash -q -o u --ops-calls change --probe "app/pairs pool dump" -- app/pairs pool fill
}

@test "… and gets advice where it is not" {
	pairs -DBARE
	jq -e '.findings[0] | .kind == "half-operation" and .witness.because == "atomicity"' r.json
	run -1 holdfast fix --source app --patch p.patch t
	output_has "belong together, and a crash comes between them whatever is flushed"
	[ ! -s p.patch ]
}

@test "a loop whose rounds fill in an element by a call is one flush of its range, indented as the file is" {
	built ring.c -DRESET
	sed -i 's/\t/    /g' app/ring.c
	touch -r app/store app/ring.c
	run -0 holdfast fix --source app --warnings --patch p.patch t
	grep '^+    if (n > 0) {$' p.patch
	grep '^+        pm->flush(r->message, n \* sizeof(r->message\[0\]));$' p.patch
}

@test "a loop that does more than store is one flush of its range, unless it persists something itself" {
	built forms.c -DNOTES
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired"
	grep -A1 '^ 	}$' p.patch | grep '^+	persist(p->word, 16 \* sizeof(p->word\[0\]));$'
	[ "$(grep -c '^+	' p.patch)" = 1 ]
	rm -r app t pool
	built forms.c -DWAITS
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	grep '^+		persist(&p->word\[i\], sizeof(p->word\[i\]));$' p.patch
}

@test "macros of instructions: of what is in one line by its type, and not where an expression is needed" {
	built gnu.c
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "3 repaired"
	output_has "8 flushes and 1 fences before, 12 and 5 after"
	grep '^+.*flush_range_ (&node\[2\].value, sizeof (node\[2\].value)), _mm_sfence ()' p.patch
	grep '^+  CLWB (&node\[i\]);$' p.patch
	grep '^+  uint64_t result = (node\[3\].value = v);$' p.patch
	grep '^+  if (result == 3)$' p.patch
	grep '^+.*flush_range_ (&node\[1\].value, sizeof (node\[1\].value)), _mm_sfence ()' p.patch
}

@test "what a transaction of libpmemobj changes is logged, not flushed, also where only its flush seems to be missing" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/reprice.c" app/
	printf 'reprice: reprice.c\n\t$(CC) -g -O1 -Wall -Wextra -Werror -o $@ $< -lpmemobj\n' >app/Makefile
	make -s -C app
	holdfast record -q -o t -- app/reprice pool
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "repaired: store is never flushed"
	grep -A1 '^+		pmemobj_tx_add_range_direct(&i->price, sizeof(i->price));$' p.patch | grep '^ .*i->price = price;'
}

@test "an object that is filled in by way of a pointer that moves is flushed once, behind the call" {
	mkdir app
	cp "$HOLDFAST_SOURCE/tests/cli/programs-fix/cursor.c" app/
	printf 'store: cursor.c\n\t$(CC) -g -O2 -Wall -Wextra -Werror -o $@ $<\n' >app/Makefile
	make -s -C app
	holdfast record -q --profile-sites -o t -- app/store pool >/dev/null
	run -0 holdfast fix --source app --build 'make -s' --patch p.patch t
	output_has "5 repaired"
	[ "$(grep -c '^+[^+]' p.patch)" = 1 ]
	grep '^+	pm_wb(&s->kv\[s->used\], sizeof(s->kv\[s->used\]));$' p.patch
}
