# sandbox-fcgi: run strangers' Python behind nginx. `make help` lists what
# can be made.

VERSION = 0.1
PORT = 8080
BUILD = build

# The system's Python: the one that its libraries are packaged for.
PYTHON = /usr/bin/python3

CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wformat=2 -Wundef
HARDENING = -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
	-fstack-clash-protection -fPIE
BASE = -std=gnu11 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Ifcgi -Ichild \
	-I$(BUILD)/data $(WARNINGS) -MMD -MP -ffile-prefix-map=$(CURDIR)=.
LDFLAGS = -pie -Wl,-z,relro,-z,now

FCGI = main config master cgroup worker http request form json report \
	verdict capture collect run ready usage sink reply html events status \
	metrics about listen scoreboard log text machine siphash market market_request \
	market_answer market_policy market_fetch market_cache market_rate \
	market_key notify
CHILD = main zygote confine leaf root filter probe python native png memory \
	touch die
SHARED = title
DATA = $(patsubst %,$(BUILD)/data/%.inc,openapi.json tool.json reply.css \
	reply.css.sha256)
# What takes memory and gives memory, and is tested so.
PURE = config request form json report verdict capture sink reply html \
	status metrics about scoreboard log text machine siphash market_request \
	market_answer market_policy

FCGI_FLAGS = $(shell pkg-config --cflags gmime-3.0)
FCGI_LIBS = $(shell pkg-config --libs fcgi libcjson inih libcurl gmime-3.0)
CHILD_FLAGS = $(shell pkg-config --cflags python3-embed libseccomp \
	libdeflate)
CHILD_LIBS = $(shell pkg-config --libs python3-embed libseccomp \
	libdeflate)

PACKAGE = $(wildcard child/sandbox/*.py child/sandbox/fmp/*)

PRODUCT = $(BUILD)/sandbox-fcgi $(BUILD)/sandbox-child $(BUILD)/python/.done \
	$(BUILD)/matplotlib/.done

# What programs may import.
LIBRARIES = python3-numpy python3-pandas python3-matplotlib python3-scipy \
	python3-seaborn python3-statsmodels python3-sklearn python3-sympy \
	python3-networkx python3-cvxopt python3-numexpr python3-openpyxl \
	python3-xlsxwriter python3-docx python3-pil python3-dateutil \
	python3-tabulate
DEPENDENCIES = gcc libc6-dev make pkg-config libfcgi-dev libcjson-dev \
	libinih-dev libcurl4-openssl-dev libgmime-3.0-dev ca-certificates openssl \
	libseccomp-dev libdeflate-dev python3-dev $(LIBRARIES) fonts-noto-cjk \
	nginx libjs-codemirror
DEB_DEPENDENCIES = debhelper dh-python
TEST_DEPENDENCIES = libcmocka-dev python3-prometheus-client python3-pytest \
	python3-pytest-xdist python3-hypothesis python3-requests \
	python3-jsonschema fcgiwrap spawn-fcgi procps binutils curl faketime \
	python3-selenium chromium chromium-driver jq nodejs php-cli php-curl \
	apache2 lighttpd iproute2 bubblewrap python3-seccomp lintian man-db \
	groff-base mandoc systemd $(DEB_DEPENDENCIES)
BENCH_DEPENDENCIES = curl python3-ipykernel python3-jupyter-client
FUZZ_DEPENDENCIES = clang
LINT_DEPENDENCIES = clang clang-tidy cppcheck shellcheck pyflakes3 nodejs \
	prometheus

SECONDS = 600

.PHONY: help all deps run test check bench soak plugs curves fuzz pictures \
	clean install uninstall deb test-deps bench-deps fuzz-deps deb-deps \
	lint-deps lint valgrind sanitize reproducible
.DEFAULT_GOAL = help

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 16

all: $(PRODUCT) ## build both programs into build/

# A shell that starts this in the background has SIGINT ignored for it.
# FMP_KEY_FILE is a file with a key for market data; without one they are made up.
run: deps ## install what is missing, build, and serve on PORT (8080)
	@$(MAKE) --no-print-directory -s all
	@exec env --default-signal=INT nginx/run $(BUILD) $(PORT) $(FMP_KEY_FILE)

test: test-deps ## install what is missing, build, and run all tests
	@$(MAKE) --no-print-directory all $(BUILD)/test/sandbox-child \
		$(BUILD)/test/_sandbox.so check
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -q -p no:cacheprovider \
		-n 3 --dist loadfile tests

pictures: test-deps ## take the pictures of the page anew
	@$(MAKE) --no-print-directory -s all
	@$(PYTHON) -B tests/page/screenshots.py tests/page

deps: ## install the Debian packages that are missing, naming them first
	@nginx/install-missing $(DEPENDENCIES)

test-deps:
	@nginx/install-missing $(DEPENDENCIES) $(TEST_DEPENDENCIES)

bench-deps:
	@nginx/install-missing $(DEPENDENCIES) $(BENCH_DEPENDENCIES)

deb-deps:
	@nginx/install-missing $(DEPENDENCIES) $(DEB_DEPENDENCIES)

fuzz-deps:
	@nginx/install-missing $(DEPENDENCIES) $(FUZZ_DEPENDENCIES)

lint-deps:
	@nginx/install-missing $(DEPENDENCIES) $(LINT_DEPENDENCIES)

clean: ## remove build/
	rm -rf $(BUILD)

### The programs

FCGI_OBJECTS = $(FCGI:%=$(BUILD)/fcgi/%.o) $(SHARED:%=$(BUILD)/child/%.o)
CHILD_OBJECTS = $(CHILD:%=$(BUILD)/child/%.o) $(SHARED:%=$(BUILD)/child/%.o)

$(BUILD)/sandbox-fcgi: $(FCGI_OBJECTS)
	$(CC) $(LDFLAGS) -o $@ $^ $(FCGI_LIBS)

$(BUILD)/sandbox-child: $(CHILD_OBJECTS)
	$(CC) $(LDFLAGS) -o $@ $^ $(CHILD_LIBS)

$(BUILD)/fcgi/%.o: fcgi/%.c | $(DATA)
	@mkdir -p $(@D)
	$(CC) $(BASE) $(HARDENING) $(CFLAGS) $(FCGI_FLAGS) -c -o $@ $<

$(BUILD)/child/%.o: child/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(HARDENING) $(CFLAGS) $(CHILD_FLAGS) -c -o $@ $<

# Text that programs hold: as C strings, and what a browser knows a style by.
.SECONDARY: $(DATA)
$(BUILD)/data/%.inc: fcgi/%
	@mkdir -p $(@D)
	sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@

$(BUILD)/data/%.sha256.inc: fcgi/%
	@mkdir -p $(@D)
	openssl dgst -sha256 -binary $< | base64 | sed 's/.*/"&"/' >$@

# Its loops are written to become vector code.
$(BUILD)/%/png.o: CFLAGS += -O3

# The package, compiled, since nothing can be written beside it in a run.
$(BUILD)/python/.done: $(PACKAGE)
	@rm -rf $(@D) && mkdir -p $(@D)
	cd child && cp --parents $(PACKAGE:child/%=%) $(abspath $(@D))
	$(PYTHON) -m compileall -q -s $(@D) --invalidation-mode unchecked-hash \
		$(@D)/sandbox
	@touch $@

# matplotlib's list of fonts, which takes it seconds to make.
$(BUILD)/matplotlib/.done:
	@mkdir -p $(@D)
	MPLCONFIGDIR=$(@D) XDG_CACHE_HOME=$(abspath $(BUILD)/cache) \
		$(PYTHON) -c 'import matplotlib.font_manager'
	@touch $@

### Installing

# Afterwards, as root: systemd-sysusers; systemctl daemon-reload; systemctl
# enable --now sandbox-fcgi.socket sandbox-fcgi.service
PREFIX = /usr/local
TO = $(abspath $(DESTDIR)/$(PREFIX))
ETC = $(abspath $(DESTDIR)/etc)
MADE = $(BUILD)/install
FILE = install -D -m 644

# In build/install and below /etc. What is below /etc is the administrator's,
# who may have changed it.
ETC_FILES = sandbox-fcgi.conf nginx/snippets/sandbox-fcgi.conf \
	nginx/sites-available/sandbox-fcgi logrotate.d/sandbox-fcgi

install: $(PRODUCT) $(MADE) ## install below PREFIX (/usr/local) and /etc; DESTDIR goes before
	install -D -t $(TO)/sbin $(BUILD)/sandbox-fcgi
	install -D -t $(TO)/libexec/sandbox-fcgi $(BUILD)/sandbox-child
	cd $(BUILD) && find python matplotlib -type f ! -name .done -exec \
		$(FILE) {} $(TO)/libexec/sandbox-fcgi/{} \;
	$(FILE) -t $(TO)/share/sandbox-fcgi/html nginx/html/*
	$(FILE) -t $(TO)/share/man/man5 $(MADE)/sandbox-fcgi.conf.5
	$(FILE) -t $(TO)/share/man/man8 nginx/man/sandbox-fcgi.8
	$(FILE) -t $(TO)/lib/systemd/system $(MADE)/sandbox-fcgi.service \
		nginx/systemd/sandbox-fcgi.socket
	$(FILE) nginx/systemd/sysusers.conf $(TO)/lib/sysusers.d/sandbox-fcgi.conf
	set -e; for file in $(ETC_FILES); do test -e $(ETC)/$$file || \
		$(FILE) $(MADE)/etc/$$file $(ETC)/$$file; done

uninstall: $(MADE) ## remove what install made, but for files in /etc that were changed
	rm -rf $(TO)/libexec/sandbox-fcgi $(TO)/share/sandbox-fcgi
	rm -f $(TO)/sbin/sandbox-fcgi $(TO)/share/man/man5/sandbox-fcgi.conf.5 \
		$(TO)/share/man/man8/sandbox-fcgi.8 \
		$(TO)/lib/systemd/system/sandbox-fcgi.service \
		$(TO)/lib/systemd/system/sandbox-fcgi.socket \
		$(TO)/lib/sysusers.d/sandbox-fcgi.conf
	for file in $(ETC_FILES); do \
		! cmp -s $(MADE)/etc/$$file $(ETC)/$$file || rm $(ETC)/$$file; done

# Files that know PREFIX or come from others; made anew each time.
.PHONY: $(MADE)
$(MADE):
	rm -rf $@
	$(FILE) fcgi/sandbox-fcgi.conf $@/etc/sandbox-fcgi.conf
	$(FILE) nginx/sandbox-fcgi.conf $@/etc/nginx/snippets/sandbox-fcgi.conf
	$(FILE) nginx/systemd/logrotate.conf $@/etc/logrotate.d/sandbox-fcgi
	mkdir $@/etc/nginx/sites-available
	sed -n -e 's|include listen.conf|listen 127.0.0.1:8080|' \
		-e 's|include sandbox|include snippets/sandbox|' \
		-e 's|root html|root $(PREFIX)/share/sandbox-fcgi/html|' \
		-e '/^    server {/,/^    }/{s/^    //;p}' nginx/nginx.conf \
		>$@/etc/nginx/sites-available/sandbox-fcgi
	awk -f nginx/man/conf.awk fcgi/sandbox-fcgi.conf >$@/sandbox-fcgi.conf.5
	sed 's|/usr/sbin|$(PREFIX)/sbin|' nginx/systemd/sandbox-fcgi.service \
		>$@/sandbox-fcgi.service

DEB = $(BUILD)/deb

deb: deb-deps ## build a Debian package, for the Debian that this is, in build/deb/
	rm -rf $(DEB)
	mkdir -p $(DEB)/tree
	cp -r Makefile fcgi child nginx README.md $(DEB)/tree
	cp -r nginx/deb $(DEB)/tree/debian
	cp nginx/systemd/sandbox-fcgi.* $(DEB)/tree/debian
	cp nginx/systemd/sysusers.conf $(DEB)/tree/debian/sandbox-fcgi.sysusers
	sed "s/@LIBRARIES@/$$(echo $(LIBRARIES) | sed 's/ /, /g')/" \
		nginx/deb/control >$(DEB)/tree/debian/control
	cd $(DEB)/tree && MAKEFLAGS= dpkg-buildpackage -b -d -us -uc

### A child that can leave out any layer, for the tests of single layers

TEST_OBJECTS = $(CHILD:%=$(BUILD)/test/child/%.o) \
	$(SHARED:%=$(BUILD)/test/child/%.o)

$(BUILD)/test/sandbox-child: $(TEST_OBJECTS) $(BUILD)/python/.done \
		$(BUILD)/matplotlib/.done
	$(CC) $(LDFLAGS) -o $@ $(TEST_OBJECTS) $(CHILD_LIBS)
	rm -rf $(@D)/python $(@D)/matplotlib
	cp -r $(BUILD)/python $(BUILD)/matplotlib $(@D)/

$(BUILD)/test/child/%.o: child/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(HARDENING) $(CFLAGS) $(CHILD_FLAGS) -DTEST_LAYERS \
		-c -o $@ $<

# What the child has in C, for a plain python3.
$(BUILD)/test/_sandbox.so: child/native.c child/png.c child/native.h child/png.h
	@mkdir -p $(@D)
	$(CC) $(BASE) $(HARDENING) $(CFLAGS) -O3 -fPIC -shared $(CHILD_FLAGS) \
		-o $@ $(filter %.c,$^) -ldeflate

### Benchmarks

BENCHES = $(BUILD)/bench/confine $(BUILD)/bench/zygote

bench: bench-deps ## measure it all, in about five minutes
	@$(MAKE) --no-print-directory -s all $(BENCHES) $(BUILD)/bench/echo
	@$(AS_USER) $(BUILD)/bench/confine $(BUILD)/python/sandbox
	@$(AS_USER) $(BUILD)/bench/zygote $(BUILD)/python/sandbox \
		$(BUILD)/matplotlib
	@$(PYTHON) -B tests/bench/market.py
	@$(PYTHON) -B tests/bench/neighbours.py
	@$(PYTHON) -B tests/bench/ratios.py
	@$(PYTHON) -B tests/bench/overload.py

soak: deps ## run programs of all kinds for SECONDS (600), as root
	@$(MAKE) --no-print-directory -s all
	@$(PYTHON) -B tests/soak/soak $(SECONDS)

plugs: test-deps ## pull all plugs under load, as root
	@$(MAKE) --no-print-directory -s all
	@$(PYTHON) -B tests/soak/plugs.py

curves: deps ## draw the README's curves anew, as root
	@$(MAKE) --no-print-directory -s all
	@$(PYTHON) -B tests/bench/curves

# Programs that must not be started by root.
AS_USER = $(if $(filter 0,$(shell id -u)),setpriv --reuid www-data \
	--regid www-data --clear-groups)

$(BENCHES): $(BUILD)/bench/%: tests/bench/%.c \
		$(filter-out %/main.o,$(TEST_OBJECTS))
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -fPIE -DTEST_LAYERS -o $@ \
		$(filter %.c %.o,$^) $(CHILD_LIBS)

$(BUILD)/bench/echo: tests/bench/echo.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -fPIE -o $@ $< $(FCGI_LIBS)

### Unit tests, under sanitizers

UNITS = $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
SANITIZE = -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
PURE_OBJECTS = $(PURE:%=$(BUILD)/asan/%.o)

check: $(UNITS:%=$(BUILD)/unit/%) ## run the unit tests of the C modules
	@set -e; for unit in $^; do $$unit; done

$(BUILD)/asan/%.o: fcgi/%.c | $(DATA)
	@mkdir -p $(@D)
	$(CC) $(BASE) $(SANITIZE) $(FCGI_FLAGS) -c -o $@ $<

$(BUILD)/unit/%: tests/unit/test_%.c $(PURE_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(BASE) $(SANITIZE) -o $@ $(filter %.c %.o,$^) $(FCGI_LIBS) -lcmocka

$(BUILD)/asan/%.o: child/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(SANITIZE) -c -o $@ $<

$(BUILD)/unit/http: $(BUILD)/asan/http.o
$(BUILD)/unit/market_cache: $(BUILD)/asan/market_cache.o \
	$(BUILD)/asan/market_rate.o
$(BUILD)/unit/market_key: $(BUILD)/asan/market_key.o
$(BUILD)/unit/png: $(BUILD)/asan/png.o
$(BUILD)/unit/png: FCGI_LIBS += -ldeflate

### Fuzzing

FUZZ_SECONDS = 60
FUZZERS = $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

fuzz: fuzz-deps ## run each libFuzzer harness for a minute
	@$(MAKE) --no-print-directory $(FUZZERS:%=$(BUILD)/fuzz/%)
	@set -e; for fuzzer in $(FUZZERS); do \
		mkdir -p $(BUILD)/corpus/$$fuzzer; \
		$(BUILD)/fuzz/$$fuzzer -max_total_time=$(FUZZ_SECONDS) \
			-artifact_prefix=$(BUILD)/fuzz/ -print_final_stats=1 \
			$(BUILD)/corpus/$$fuzzer tests/fuzz/seeds/$$fuzzer; \
	done

$(BUILD)/fuzz/%: tests/fuzz/fuzz_%.c $(PURE:%=fcgi/%.c) | $(DATA)
	@mkdir -p $(@D)
	clang $(BASE) $(FCGI_FLAGS) -MF $@.d -g -O1 \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $@ \
		$(filter %.c,$^) $(FCGI_LIBS)

### Lint: what the usual tools find, each as an error

# fanalyzer does not see that what is allocated is handed on; the sanitizers and
# valgrind do.
ANALYZER = -fanalyzer -Wno-analyzer-malloc-leak -Werror
LINT_FLAGS = $(filter-out -MMD -MP,$(BASE)) $(FCGI_FLAGS) $(CHILD_FLAGS)
# Programs for a run, where names are that nobody has imported.
PROGRAMS = tests/cases/% tests/escape/attacks/% tests/escape/prelude.py \
	tests/market/programs/% tests/bench/preamble.py \
	tests/bench/curves_plot.py tests/soak/soak_plot.py
LINTED = $(patsubst %.c,$(BUILD)/lint/%.done,$(wildcard fcgi/*.c child/*.c))

lint: lint-deps ## look for faults with analyzers and linters
	@$(MAKE) --no-print-directory -s all $(LINTED)
	cppcheck -q --std=c11 --enable=warning,performance,portability \
		--error-exitcode=1 --inline-suppr --library=tests/cppcheck.xml \
		-D_GNU_SOURCE -D__GNUC__ -DVERSION='""' -Ifcgi -Ichild \
		-I$(BUILD)/data fcgi child
	shellcheck $$(grep -rlI '^#!/bin/\(ba\)\?sh' .ci nginx tests)
	pyflakes3 $(filter-out $(PROGRAMS),$(shell find child nginx tests \
		-name '*.py'))
	@mkdir -p $(BUILD)/lint
	for script in nginx/html/*.js; do \
		cp $$script $(BUILD)/lint/module.mjs && \
		node --check $(BUILD)/lint/module.mjs || exit 1; \
	done
	GATEWAY_INTERFACE=CGI/1.1 REQUEST_METHOD=GET SCRIPT_NAME=/metrics \
		$(BUILD)/sandbox-fcgi --config /dev/null </dev/null | \
		sed '1,/^\r$$/d' >$(BUILD)/lint/metrics
	test -s $(BUILD)/lint/metrics
	promtool check metrics <$(BUILD)/lint/metrics

$(BUILD)/lint/%.done: %.c $(wildcard fcgi/*.h child/*.h) .clang-tidy | $(DATA)
	@mkdir -p $(@D)
	gcc $(LINT_FLAGS) -O2 $(ANALYZER) -c -o /dev/null $<
	clang $(LINT_FLAGS) -Werror -fsyntax-only $<
	clang-tidy -quiet $< -- $(LINT_FLAGS) 2>/dev/null
	@touch $@

### The service under valgrind, and under sanitizers

valgrind: test-deps ## run the responder for 1,000 requests under valgrind
	@nginx/install-missing valgrind
	@$(MAKE) --no-print-directory -s all $(BUILD)/valgrind/openat2.so
	@$(PYTHON) -B tests/valgrind.py

$(BUILD)/valgrind/openat2.so: tests/valgrind_openat2.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -D_GNU_SOURCE -fPIC -shared -o $@ $<

# In Python's process too, whose libraries are as ever: what is looked at is our
# own C and, at run time, all that the libraries take of malloc and libc.
sanitize: test-deps ## run the tests with both programs under ASan and UBSan
	@$(MAKE) --no-print-directory all build-asan/test/sandbox-child \
		BUILD=build-asan HARDENING=-fPIE LDFLAGS='$(LDFLAGS) $(SANITIZE)' \
		CFLAGS='$(SANITIZE) -DSANITIZE_ADDRESS' \
		CHILD_LIBS='$(CHILD_LIBS) tests/sanitize.c'
	ASAN_OPTIONS=quarantine_size_mb=32:verify_asan_link_order=0 BUILD=build-asan \
		PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -q \
		-p no:cacheprovider -n 2 --dist loadfile -m "not unsanitized" \
		$(SANITIZE_TESTS)

# Not the others: png is for `make check`; page and pack are not of C.
SANITIZE_TESTS = $(addprefix tests/,web escape market office cases growth soak \
	pack/test_notify.py)

### The same sources give the same bytes, wherever they are

reproducible: deps ## build twice, in two directories, and compare
	@rm -rf $(BUILD)/twice
	for place in $(BUILD)/twice/one $(BUILD)/twice/another/place; do \
		mkdir -p $$place && cp -r Makefile fcgi child nginx $$place && \
		$(MAKE) --no-print-directory -s -C $$place BUILD=build \
			build/sandbox-fcgi build/sandbox-child build/python/.done || \
			exit 1; \
	done
	cd $(BUILD)/twice && for name in sandbox-fcgi sandbox-child python; do \
		diff -r one/build/$$name another/place/build/$$name || exit 1; \
	done
	@rm -r $(BUILD)/twice

-include $(filter-out $(MADE)/%,$(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d))
