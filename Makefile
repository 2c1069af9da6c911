# all check check-long soak bench lint format deb install uninstall clean; MODE=dev (default) or release; out of tree in build/.
#
#   make                  the program with sanitizers, build/dev/sbx-reap
#   make MODE=release     optimised and hardened, build/release/sbx-reap
#   make check            every unit and integration test of this MODE
#   make check-long       the same, where there is a longer form of it: hours (with MODE=release a quarter)
#   make soak SOAK_DAYS=7 so many days of a fleet in hours; build/soak has the picture
#   make bench            how fast it is beside what people use now; build/bench has the table and a picture
#   make deb              the Debian package, build/deb/sbx-reap_VERSION_ARCH.deb
#   make install          release build into DESTDIR and prefix (uninstall takes it away again)

MODE ?= dev
BUILD ?= build/$(MODE)
ifeq ($(origin CC),default)
CC := gcc
endif
PKG_CONFIG ?= pkg-config
VERSION := 0.1.0

prefix ?= /usr
bindir ?= $(prefix)/bin
sbindir ?= $(prefix)/sbin
datadir ?= $(prefix)/share
mandir ?= $(prefix)/share/man
unitdir ?= $(prefix)/lib/systemd/system
userunitdir ?= $(prefix)/lib/systemd/user
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
catalogdir ?= $(prefix)/lib/systemd/catalog
sysusersdir ?= $(prefix)/lib/sysusers.d
sysconfdir ?= /etc

PACKAGES := libgit2 sqlite3 libcurl jansson libsystemd inih libarchive zlib
# Foreign headers are system headers: their warnings are not ours to mend.
PACKAGE_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(PACKAGES)))
PACKAGE_LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES))

WARNINGS := -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wwrite-strings \
	-Wstrict-prototypes -Wold-style-definition -Wmissing-prototypes -Wmissing-declarations \
	-Wredundant-decls -Wnested-externs -Wswitch-enum -Wimplicit-fallthrough -Wcast-qual \
	-Wnull-dereference -Wdouble-promotion -Wconversion -Wno-sign-conversion -Werror
CFLAGS_dev := -Og -g3 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
LDFLAGS_dev := -fsanitize=address,undefined
CFLAGS_thread := -O2 -g -fsanitize=thread
LDFLAGS_thread := -fsanitize=thread
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
	$(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-fcf-protection) -fPIE
LDFLAGS_release := -pie -Wl,-z,relro,-z,now -Wl,--as-needed

# The language and the rules for every file; CFLAGS and LDFLAGS from outside come on top.
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSBX_REAP_VERSION='"$(VERSION)"' -Ireaper -I. \
	$(WARNINGS) $(PACKAGE_CFLAGS) $(CFLAGS_$(MODE)) $(CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_$(MODE)) $(LDFLAGS)

SOURCES := $(filter-out reaper/main.c,$(wildcard reaper/*.c reaper/*/*.c state/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
PROGRAM := $(BUILD)/sbx-reap
LIBRARY := $(BUILD)/libsbx-reap.a
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c tests/integration/test_*.c))

V ?= 0
ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),) # make -s
say = @
else ifeq ($(V),0)
say = @echo "  $(1) $(2)";
endif

.PHONY: all tests sweeps threaded fuzzers build-fuzzers build-bench check check-long soak bench lint format deb \
	install uninstall clean
.SECONDARY:

all: $(PROGRAM)

$(PROGRAM): $(BUILD)/reaper/main.o $(LIBRARY)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGE_LIBS)

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(BUILD)/tests/%.o: ALL_CFLAGS += -Itests/support

# Pure: nm -u shows nothing but assert (scripts/lint-symbols), also no stack protector's helper.
$(BUILD)/reaper/policy.o $(BUILD)/reaper/policy_limit.o: ALL_CFLAGS += -fno-stack-protector

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_SUPPORT) $(LIBRARY)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter-out $(LIBRARY),$^) \
		$(LIBRARY) $(PACKAGE_LIBS) -lcmocka

# The crew and the walk once more, with faults of the test's own in place of functions that they call,
# to see that the wall holds where they do not. Linked before the library, so in the library's place.
$(BUILD)/tests/broken/%.o: ALL_CFLAGS += -Dwalk_next=broken_walk_next \
	-Dgetdents64=broken_getdents64 -Ddir_open_below=broken_open_below \
	-Drmtree_crew=rmtree_crew_broken
$(BUILD)/tests/broken/%.o: reaper/os/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/tests/unit/test_rmtree_wall: $(BUILD)/tests/broken/rmtree.o \
	$(BUILD)/tests/broken/rmtree_crew.o

# The whole program as a function: a sweep calls it some thousand times, each in a child without exec.
SWEEPS := test_killed_everywhere test_every_call_fails
$(BUILD)/tests/whole/main.o: ALL_CFLAGS += -Dmain=program_main -Wno-missing-prototypes \
	-Wno-missing-declarations
$(BUILD)/tests/whole/main.o: reaper/main.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(SWEEPS:%=$(BUILD)/tests/integration/%): $(BUILD)/tests/whole/main.o

# Errands that only look need no child there (support/inplace.h).
$(BUILD)/tests/integration/test_model $(BUILD)/tests/integration/test_killed_everywhere: \
	ALL_LDFLAGS += -Wl,--wrap=errand_run

# No systemd is there to see a mount.
$(BUILD)/tests/unit/test_probe_canary_tidy: ALL_LDFLAGS += -Wl,--wrap=bus_mount_wait

# A systemd runs there, as far as it can tell.
$(BUILD)/tests/unit/test_bus: ALL_LDFLAGS += -Wl,--wrap=sd_booted

tests: all $(TESTS)

# The sweeps fit into every run of the tests without sanitizers.
sweeps: all
ifneq ($(BUILD),build/release)
	$(MAKE) MODE=release BUILD=build/release \
		$(patsubst %,build/release/tests/integration/%,$(SWEEPS) test_model)
endif

# What works in threads is watched by a sanitizer that does not go with the others.
THREADED := test_crew test_rmtree test_rmtree_crew
threaded:
	$(MAKE) MODE=thread BUILD=build/thread $(THREADED:%=build/thread/tests/unit/%)

# libFuzzer comes with clang; the library is built once more, so that it sees where an input leads.
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))

fuzzers:
	$(MAKE) CC=clang MODE=dev BUILD=build/fuzz CFLAGS=-fsanitize=fuzzer-no-link build-fuzzers

build-fuzzers: $(FUZZERS)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzz.o $(LIBRARY)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(PACKAGE_LIBS)

# What is measured, and what measures (scripts/bench).
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(LIBRARY)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PACKAGE_LIBS)

build-bench: all $(BENCHES)

# For clang-tidy and editors: the flags of every source, without a tool that watches the compiler.
C_FILES := $(wildcard reaper/*.c reaper/*/*.c state/*.c tests/*/*.c)
COMMA := ,
json_entry = {"directory": "$(CURDIR)", "file": "$(1)", "command": \
	"$(subst ",\",$(CC) $(ALL_CFLAGS) -Itests/support) -c $(1)"}

$(BUILD)/compile_commands.json: Makefile $(C_FILES)
	@mkdir -p $(@D)
	@: $(file >$@,[)$(foreach f,$(C_FILES),$(file >>$@,$(call json_entry,$f)$(if \
		$(filter $f,$(lastword $(C_FILES))),,$(COMMA))))$(file >>$@,])

check: tests sweeps threaded
	scripts/run-tests $(BUILD)

check-long: tests
	SBX_LONG=1 scripts/run-tests $(BUILD)

soak:
	$(MAKE) MODE=release BUILD=build/release build/release/tests/integration/test_soak
	scripts/soak

bench:
	$(MAKE) MODE=release BUILD=build/release build-bench
	scripts/bench

lint: ; scripts/lint

format: ; clang-format -i $$(git ls-files '*.c' '*.h')

deb: ; scripts/deb $(VERSION)

# The unit names the program where it was put; settings that are there are left alone. On the running
# system (no DESTDIR) the group and the directories are made and systemd is told; nothing is enabled
# or started.
INSTALL ?= install
INSTALLED = $(sbindir)/sbx-reap $(bindir)/sbx-run $(mandir)/man8/sbx-reap.8 $(mandir)/man1/sbx-run.1 \
	$(mandir)/man5/sbx-reap.ini.5 $(mandir)/man5/sbx-reap-marker.5 \
	$(datadir)/bash-completion/completions/sbx-reap $(datadir)/zsh/vendor-completions/_sbx-reap \
	$(datadir)/fish/vendor_completions.d/sbx-reap.fish \
	$(datadir)/sbx-reap/report.schema.json \
	$(unitdir)/sbx-reap.service \
	$(unitdir)/sbx-reap.timer $(unitdir)/sbx-reap-probe.service $(unitdir)/sbx-reap-probe.timer \
	$(userunitdir)/sbx-reap.service $(userunitdir)/sbx-reap.timer \
	$(tmpfilesdir)/sbx-reap.conf $(sysusersdir)/sbx-reap.conf \
	$(catalogdir)/sbx-reap.catalog $(datadir)/sbx-reap/sbx-reap.rules.yml $(datadir)/sbx-reap/sbx-reap.dashboard.json
SETTINGS = $(DESTDIR)$(sysconfdir)/sbx/reap.ini

install:
	$(MAKE) MODE=release BUILD=build/release all
	$(INSTALL) -D -m 755 build/release/sbx-reap $(DESTDIR)$(sbindir)/sbx-reap
	$(INSTALL) -D -m 755 scripts/sbx-run $(DESTDIR)$(bindir)/sbx-run
	$(INSTALL) -D -m 644 reaper/sbx-reap.8 $(DESTDIR)$(mandir)/man8/sbx-reap.8
	$(INSTALL) -D -m 644 reaper/sbx-reap.ini.5 $(DESTDIR)$(mandir)/man5/sbx-reap.ini.5
	$(INSTALL) -D -m 644 reaper/sbx-reap-marker.5 $(DESTDIR)$(mandir)/man5/sbx-reap-marker.5
	$(INSTALL) -D -m 644 scripts/sbx-run.1 $(DESTDIR)$(mandir)/man1/sbx-run.1
	$(INSTALL) -D -m 644 units/completion/sbx-reap.bash $(DESTDIR)$(datadir)/bash-completion/completions/sbx-reap
	$(INSTALL) -D -m 644 units/completion/_sbx-reap $(DESTDIR)$(datadir)/zsh/vendor-completions/_sbx-reap
	$(INSTALL) -D -m 644 units/completion/sbx-reap.fish $(DESTDIR)$(datadir)/fish/vendor_completions.d/sbx-reap.fish
	$(INSTALL) -D -m 644 reaper/report.schema.json $(DESTDIR)$(datadir)/sbx-reap/report.schema.json
	$(INSTALL) -D -m 644 units/sbx-reap.service $(DESTDIR)$(unitdir)/sbx-reap.service
	$(INSTALL) -D -m 644 units/sbx-reap.timer $(DESTDIR)$(unitdir)/sbx-reap.timer
	$(INSTALL) -D -m 644 units/user/sbx-reap.service $(DESTDIR)$(userunitdir)/sbx-reap.service
	sed -i 's|^ExecStart=/usr/sbin/|ExecStart=$(sbindir)/|' $(DESTDIR)$(userunitdir)/sbx-reap.service
	$(INSTALL) -D -m 644 units/user/sbx-reap.timer $(DESTDIR)$(userunitdir)/sbx-reap.timer
	$(INSTALL) -D -m 644 units/sbx-reap-probe.service $(DESTDIR)$(unitdir)/sbx-reap-probe.service
	$(INSTALL) -D -m 644 units/sbx-reap-probe.timer $(DESTDIR)$(unitdir)/sbx-reap-probe.timer
	sed -i 's|^ExecStart=/usr/sbin/|ExecStart=$(sbindir)/|' \
		$(DESTDIR)$(unitdir)/sbx-reap.service $(DESTDIR)$(unitdir)/sbx-reap-probe.service
	$(INSTALL) -D -m 644 units/sbx-reap.tmpfiles.conf $(DESTDIR)$(tmpfilesdir)/sbx-reap.conf
	$(INSTALL) -D -m 644 units/sbx-reap.sysusers.conf $(DESTDIR)$(sysusersdir)/sbx-reap.conf
	$(INSTALL) -D -m 644 units/sbx-reap.rules.yml $(DESTDIR)$(datadir)/sbx-reap/sbx-reap.rules.yml
	$(INSTALL) -D -m 644 units/sbx-reap.dashboard.json $(DESTDIR)$(datadir)/sbx-reap/sbx-reap.dashboard.json
	$(INSTALL) -D -m 644 units/sbx-reap.catalog $(DESTDIR)$(catalogdir)/sbx-reap.catalog
	[ -e $(SETTINGS) ] || $(INSTALL) -D -m 644 units/reap.ini $(SETTINGS)
	[ -n "$(DESTDIR)" ] || systemd-sysusers $(sysusersdir)/sbx-reap.conf
	[ -n "$(DESTDIR)" ] || systemd-tmpfiles --create $(tmpfilesdir)/sbx-reap.conf
	[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
	[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || journalctl --update-catalog

# Leaves the state (/var/lib/sbx), the workspaces, and settings that somebody changed.
uninstall:
	[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || [ ! -e $(unitdir)/sbx-reap.timer ] || \
		systemctl disable --now sbx-reap.timer sbx-reap-probe.timer
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rmdir --ignore-fail-on-non-empty $(DESTDIR)$(datadir)/sbx-reap 2>/dev/null || true
	! cmp -s units/reap.ini $(SETTINGS) || rm -f $(SETTINGS)
	rmdir --ignore-fail-on-non-empty $(DESTDIR)$(sysconfdir)/sbx 2>/dev/null || true
	[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload

clean: ; rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
