# SPDX-License-Identifier: BSD-3-Clause
# What people type. Meson and Ninja do the work, in build/ and build-asan/ (whose warnings are
# off: the sanitizers cause false ones, and build/ has them all as errors).

PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all deps demo test bench eval corpus install uninstall dist deb deb-test site clean fmt

all: build/build.ninja
	@ninja -C build -k 0 $(if $(V),-v,--quiet)

# What tests need is left out where no tests are built: make MESONFLAGS=-Dtests=false
deps:
	@scripts/deps $(if $(findstring -Dtests=false,$(MESONFLAGS)),build)

build/build.ninja: | deps
	meson setup build $(MESONFLAGS)

build-asan/build.ninja: | deps
	meson setup build-asan -Db_sanitize=address,undefined -Dwarning_level=0 -Dtracer=false

install: all
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	DESTDIR=$(abspath $(DESTDIR)) meson install -C build

uninstall:
	@scripts/uninstall build

# A tarball of what is committed: the same bytes for the same commit.
dist:
	@scripts/dist

# A Debian package of what is committed, in dist/.
deb:
	@scripts/deps deb
	@scripts/deb

# The newest package in dist/ on a bare Debian, in a chroot.
deb-test:
	@ls dist/holdfast_*.deb >/dev/null 2>&1 || $(MAKE) deb
	@scripts/deb-test

# The documents as a site, in dist/site.
site: all
	@scripts/site build/holdfast

demo: all
	@demo/run

test: all build-asan/build.ninja
	@ninja -C build-asan -k 0 $(if $(V),-v,--quiet)
	@$(if $(LONG),HOLDFAST_LONG=1) scripts/run-tests $(TESTS)

bench: all
	@bench/run

eval: all
	@corpus/eval $(if $(QUICK)$(BLIND),--quick) $(if $(BLIND),--blind $(BLIND)) $(EVALFLAGS)
	$(if $(BLIND),,@corpus/repair $(if $(QUICK),--quick))
	$(if $(BLIND)$(QUICK),,@corpus/controls --markdown build/eval/controls.md)

# Every corpus program with both compilers, unoptimised and optimised, and under sanitizers.
corpus: all
	@corpus/matrix $(if $(QUICK),--quick)

fmt: deps
	@scripts/format

clean:
	rm -rf build build-asan dist
