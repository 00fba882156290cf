#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What the documents show is what the tool prints, and what they point to is there.
load common

examples() {
	ln -s "$(dirname "$HOLDFAST")" build
	ln -s "$HOLDFAST_SOURCE/demo" demo
	ln -s "$HOLDFAST_SOURCE/include" include
	PATH=$PWD/build:$PATH
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

@test "the tutorial: found, fixed, in CI" {
	examples docs/TUTORIAL.md
}

@test "the site: a page for each document and verb, and every link leads somewhere" {
	run -0 "$HOLDFAST_SOURCE/scripts/site" "$HOLDFAST" site
	[ -f site/tutorial.html ] && [ -f site/help-crash.html ]
	/usr/bin/python3 - site <<-'END'
		import html.parser, pathlib, sys, urllib.parse
		class Page(html.parser.HTMLParser):
		    def __init__(self, path):
		        super().__init__()
		        self.links, self.ids, self.tables = [], set(), 0
		        self.feed(path.read_text())
		    def handle_starttag(self, tag, attributes):
		        named = dict(attributes)
		        self.ids.add(named.get("id"))
		        self.links += [named[k] for k in ("href", "src") if k in named]
		        self.tables += tag == "table"
		site = pathlib.Path(sys.argv[1])
		pages = {path.name: Page(path) for path in site.glob("*.html")}
		for name, page in pages.items():
		    for link in page.links:
		        file, _, section = urllib.parse.unquote(link).partition("#")
		        if ":" in file:
		            continue
		        assert not file or (site / file).exists(), (name, link)
		        target = pages.get(file or name)
		        assert not section or section in target.ids, (name, link)
		assert pages["index.html"].tables >= 3 and pages["ci.html"].tables >= 2
		assert len(pages) > 30, len(pages)
	END
}

@test "the examples of docs/MIGRATING.md" {
	examples docs/MIGRATING.md
}

# words OPTION VERB: what the option takes, and what each word means, a line each.
words() {
	holdfast help --man "$2" | sed 's/\\-/-/g' | awk -v option=".B --$1 " '
		index($0, option) == 1 { on = 1 }
		/^\.RE/ { on = 0 }
		on && named { print name "\t" $0; named = 0 }
		on && /^\.B [^-]/ { name = substr($0, 4); named = 1 }'
}

# The document has a row for each word, with its meaning.
has_rows() {
	local document=$HOLDFAST_SOURCE/$1 name about n=0
	while IFS=$'\t' read -r name about; do
		grep -qF "| \`$name\` | $about" "$document" || {
			echo "$1 has no row: | \`$name\` | $about"
			return 1
		}
		n=$((n + 1))
	done < <(words "$2" "$3")
	[ "$n" -gt 1 ]
}

@test "the tables of the documents are those of the tool" {
	has_rows docs/CRASH.md strategy crash
	has_rows docs/CRASH.md points crash
	has_rows docs/CRASH.md model crash
	has_rows docs/EXPLORE.md strategy explore
	has_rows docs/CRASH.md view crash
	has_rows docs/EQUIVALENCE.md judge crash
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

@test "every function that a walk through the sources names is in the file that it names" {
	cd "$HOLDFAST_SOURCE"
	grep -o '`[a-z0-9_/]*\.c:[a-z0-9_]*`' docs/ARCHITECTURE.md | tr -d '`' | sort -u >"$BATS_TEST_TMPDIR/named"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -gt 50 ]
	while IFS=: read -r file function; do
		[ -e "$file" ] || file=src/$file
		grep -Eq "^[A-Za-z].*[ *]$function\([^;]*\$" "$file" || {
			echo "there is no $function() in $file"
			return 1
		}
	done <"$BATS_TEST_TMPDIR/named"
}

@test "reports, levels and kinds of findings are documented" {
	while IFS=$'\t' read -r name about; do
		[ "$name" = none ] || tr '\n' ' ' <"$HOLDFAST_SOURCE/docs/REPORTS.md" | grep -qF "\`$name\` ($about)"
	done < <(words fail-on check)
	for format in $(holdfast help check | sed -n 's/^ *--\([a-z]*\) FILE *write a.*report.*/\1/p'); do
		grep -q "^| \`--$format FILE\` |" "$HOLDFAST_SOURCE/docs/REPORTS.md"
	done
	for kind in $(holdfast help --man | sed -n '/^.SH FINDINGS/,/^.SH EXIT/s/^\.BR \([^ ]*\) .*/\1/p' | tr -d '\\'); do
		grep -q "\`$kind\`" "$HOLDFAST_SOURCE/README.md"
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
