#!/bin/bash
# test-scope.sh [BUILD]: what we do with systemd's units, under a really booted systemd.
#
# Builds tests/system/*.c, runs them and the cgroup tests in tests/lab/boot-lab.sh (a pure cgroup v2
# tree there) and prints TAP. BUILD is as in the Makefile, default build/dev.
set -u -o pipefail

source_dir=$(realpath "$(dirname "$0")/../..")
build=${1:-build/dev}
programs=(system/test_bus system/test_scope system/test_units system/test_triggers
	unit/test_cgroupfs unit/test_cgroup_backend unit/test_process_backend)

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root, to boot a systemd in a container"
	exit 0
fi

cd "$source_dir" || exit 1
make --silent BUILD="$build" "${programs[@]/#/$build/tests/}" >&2 || exit 1

# One stream of TAP out of several: plans are left out, results numbered anew.
run_all() {
	local program
	for program in "${programs[@]}"; do
		CMOCKA_MESSAGE_OUTPUT=TAP "$build/tests/$program" || echo "failed $program $?"
	done
}

if [ "${BOOT_LAB:-}" != "" ]; then
	run_all
	exit
fi
BOOT_LAB='' tests/lab/boot-lab.sh --bind "$source_dir" --chdir "$source_dir" -- \
	"$source_dir/tests/system/test-scope.sh" "$build" |
	awk '
	# These want what only the bare machine has, and run there.
	/^not ok [0-9]+ (- )?# SKIP / { print "# not in the lab: " $NF; next }
	/^# (not )?ok - / { next }
	/^ok / || /^not ok / {
		bad += /^not/
		result = /^not/ ? "not ok" : "ok"
		sub(/^(not )?ok [0-9]+ (- )?/, "")
		print result " " ++count " - " $0
		next
	}
	/^failed / { crashed = crashed " " $2; next }
	/^1\.\./ { next }
	{ print "# " $0 }
	END {
		if (!count || (crashed && !bad)) {
			print "not ok " ++count " - every program ran to its end:" crashed
			bad++
		}
		print "1.." count
		exit bad > 0
	}'
