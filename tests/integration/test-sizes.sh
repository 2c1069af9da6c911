#!/usr/bin/env bash
# What a pass measured is shown for an hour without measuring anew, says so, and decides nothing; only a
# pass writes it down.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

books() { sqlite3 "$world/reap.db" "$1"; }
noted() { books "SELECT group_concat(run, ' ') FROM (SELECT run FROM size ORDER BY run)"; }
age_by() { books "UPDATE size SET at_s = at_s - $1"; } # seconds

fill() { head -c "$2" /dev/urandom >"$(tree "$1")/scratch"; } # run, bytes

add_run() { # run, bytes
	mkdir "$(tree "$1")"
	fill "$@"
	reap register "$1" --worktree "$(tree "$1")" --no-container >/dev/null
}

replace() { # run: the same tree once more, in the same place
	cp -a "$(tree "$1")" "$world/copy"
	rm -r "$(tree "$1")"
	mv "$world/copy" "$(tree "$1")"
}

of_run() { # run, members, more arguments of list
	reap list --json "${@:3}" | jq -rc ".runs[] | select(.run == \"$1\") | [$2]"
}
cell() { reap list | awk -v run="$1" '$1 == run { print $4 }'; }
measured() { of_run "$1" .bytes --size | tr -d '[]'; }

nobody_writes() {
	local before
	before=$(sha256sum "$world/reap.db")
	reap list --size
	reap --dry-run --size --json
	reap why large
	same "$before" "$(sha256sum "$world/reap.db")"
}

world_new ''
add_run small 100000
add_run large 900000
mkdir "$(tree strange)" # nobody's: another one in its place contradicts nothing
fill strange 300000

check "list, a dry run and why note nothing" nobody_writes
reap >/dev/null
check "a pass that measures nothing notes nothing" same "" "$(noted)"
check "and nothing is shown" same - "$(cell large)"
reap --size >/dev/null
check "a pass notes what it measures" same "large small strange" "$(noted)"
at=$(books "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', at_s, 'unixepoch') FROM size LIMIT 1")
size=$(measured large)

check "the table has it, with a mark" says '^~8[0-9]{2}K$' "$(cell large)"
check "and says what the mark means" says "^'~': as a pass measured it within the last hour" "$(reap list)"
check "but not where no size is shown" same "" "$(reap list --columns run,state | grep '^.~' || true)"
check "JSON has it, and since when" same "[$size,\"$at\"]" "$(of_run large .bytes,.bytes_at)"
check "so has a dry run" same "$size $at" \
	"$(reap --dry-run --json | jq -r '.runs[] | select(.run == "large") | "\(.bytes) \(.bytes_at)"')"
check "the order is by it" same "large strange small" "$(reap list --json --sort -size | jq -r '[.runs[].run] | join(" ")')"
check "why tells it and since when" says "^  size +8[0-9]{2}K \[a pass, $at\]$" "$(reap why large)"
check "why --json too" same "[$size,\"$at\"]" "$(reap why large --json | jq -c '[.bytes, .bytes_at]')"

fill large 2000000
check "it is what was measured, not what is there" same "[$size,\"$at\"]" "$(of_run large .bytes,.bytes_at)"
check "--size measures now" same "[true,null]" "$(of_run large ".bytes > $size,.bytes_at" --size)"
check "the size that is no more true is not of the totals" same 0 "$(reap list --json | jq .totals.kept_bytes)"

replace strange
check "that of another tree is not shown" same "[null,null]" "$(of_run strange .bytes,.bytes_at)"
check "nor by why, which measures then" says '^  size +[23][0-9]{2}K \[measured now\]$' "$(reap why strange)"
reap >/dev/null
check "a pass that measures nothing leaves what there is" same "large small strange" "$(noted)"
reap --size >/dev/null
check "the next one that does has the other tree" says '^~[23][0-9]{2}K$' "$(cell strange)"

age_by 3590
check "up to an hour it is shown" says '^~' "$(cell large)"
age_by 20
check "after an hour it is not" same "- []" "$(cell large) $(of_run large .bytes,.bytes_at | tr -d 'nul,')"
age_by -7200
check "nor one from the future" same - "$(cell large)"

reap --size >/dev/null
reap finish small --ok >/dev/null
reap --run small --early >/dev/null
check "of what is gone nothing is left" same "large strange" "$(noted)"

# A size that would be far too much for them decides nothing.
books "UPDATE size SET bytes = 1 << 50"
reap pin large --for 3d >/dev/null
printf '[policy]\npinned_bytes_warn = 1G\n' >>"$world/reap.ini"
check "the limit to what pins hold looks itself" same "" "$(reap list | grep 'pins hold' || true)"
check "and what it finds is what is shown" says '^[0-9.]+M$' "$(cell large)"
reap >/dev/null
check "a pass notes what that limit had it measure" same 1 \
	"$(books "SELECT bytes < 1 << 30 FROM size WHERE run = 'large'")"
tap_done
