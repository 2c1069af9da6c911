#!/usr/bin/env bash
# `check --new-database` where not all can be read in: what it was and what would be right is said, the
# exit code is 1, the database works, and nothing goes for what is missing in it.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

world_new ''
second=$world/second lost=$world/lost
mkdir "$second" "$lost"
sed -i "s|^root = $root\$|&\nroot = $second\nroot = $lost|" "$world/reap.ini"

due() { # run
	mkdir "$(tree "$1")"
	reap register "$1" --created -3h --ttl 1h >/dev/null
	reap finish "$1" --ok --at -2h >/dev/null
}
for run in plain rubbish same other; do
	due "$run"
done
cp "$root/same.sbx" "$second/same.sbx"
sed "s|^finished = .*|finished = 2020-01-01T00:00:00Z|" "$root/other.sbx" >"$second/other.sbx"
echo rubbish >"$root/rubbish.sbx"
printf '[pin]\nuntil = rubbish\n' >"$root/plain.keep"
reap pin kept --for never >/dev/null
rm "$world/reap.db"
mv "$lost" "$world/away"

code=0
said=$(reap check --new-database 2>&1) || code=$?
check "not all was read in: 1" same 1 "$code"
check "how much was, and was not, is said" \
	says 'new database .*: 1 run, 1 pin and 0 salvages read in, 7 not' "$said"
check "the marker that cannot be read is named" says "not read in: .*rubbish.sbx" "$said"
check "the pin that cannot be read is named" says "not read in: .*plain.keep" "$said"
check "two markers that say the same are named" \
	says "not read in: run same has two markers, in $root and in $second; remove one" "$said"
check "two markers that contradict each other are named" \
	says "not read in: run other has two markers, in $root and in $second; remove one" "$said"
check "a root that cannot be opened is named" says "root $lost: not read in" "$said"
check "what would be right is said" says "goes on keeping its run by itself; mend or remove it" "$said"
check "the new database is whole" says "^ok +database" "$said"
check "of a run with two markers there is no row" \
	same "plain" "$(sqlite3 "$world/reap.db" 'SELECT run FROM run ORDER BY run' | paste -sd' ')"

mv "$world/away" "$lost"
reap >"$world/said" 2>&1 || true
for run in plain rubbish same other; do
	check "$run is kept by its file" test -d "$(tree "$run")"
done
check "as refused: rubbish" says 'rubbish .*refused' "$(cat "$world/said")"
check "as refused: two of the same" says 'same .*refused' "$(cat "$world/said")"
check "as refused: two others" says 'other .*refused' "$(cat "$world/said")"
check "as pin_unknown" says 'plain .*pin_unknown' "$(cat "$world/said")"

# What would be right, done.
rm "$second/same.sbx" "$second/other.sbx" "$root/plain.keep" "$root/rubbish.sbx"
reap >"$world/said" 2>&1 || true
for run in plain same other; do
	check "$run goes when that is mended" test ! -e "$(tree "$run")"
done
check "of what has no marker any more nothing is known" test -d "$(tree rubbish)"
tap_done
