#!/usr/bin/env bash
# Threads that share what they should not: the tests of what works in threads, watched by ThreadSanitizer
# (`make threaded`), which tells it from the children of a test, too.
set -euo pipefail
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export TSAN_OPTIONS=log_path=$reports/race

no_report() {
	cat "$reports"/race.* 2>/dev/null || return 0
	rm -f "$reports"/race.*
	return 1
}

for program in crew rmtree rmtree_crew; do
	# The sanitizer wants addresses that kernels of today may give away: vm.mmap_rnd_bits.
	check "test_$program does all it should" \
		setarch --addr-no-randomize "build/thread/tests/unit/test_$program"
	check "and no two of its threads are in the same place at once" no_report
done
tap_done
