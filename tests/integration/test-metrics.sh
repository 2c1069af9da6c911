#!/usr/bin/env bash
# What Prometheus is told of a pass, with the real program: by whom, when, whole, and in its format.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

world_new ""
prom=$world/prom
mkdir "$prom"
file=$prom/sbx_reap.prom
with_metrics=$'[metrics]\n'textfile=$file
settings "$world/reap.ini" "$with_metrics"

books() { sqlite3 "$world/reap.db" "$1"; } # SQL
has() { grep -qxF -- "$1" "$file" || { cat "$file" && return 1; }; } # line
lacks() { ! grep -qE -- "^$1" "$file"; }
names() { find "$prom" -mindepth 1 -printf '%f\n' | sort | paste -sd' '; }
valid() { promtool check metrics <"$file"; }
value() { awk -v name="$1" '$1 == name { print $2 }' "$file"; }
mark() { # run, when it ended
	printf '[run]\nid = %s\ncreated = %s\nfinished = %s\noutcome = ok\n' "$1" \
		"$(date --utc --date '-9 hours' +%FT%TZ)" "$(date --utc --date "$2" +%FT%TZ)" >"$root/$1.sbx"
}

mark r1 '-1 hour'
mark r2 '-1 minute'

reap --dry-run >/dev/null
reap list >/dev/null
check "neither a dry run nor a list writes it" test ! -e "$file"

before=$(date +%s)
reap >/dev/null
check "a pass writes it" test -s "$file"
check "in Prometheus' format" valid
check "readable for all" same 644 "$(stat --format %a "$file")"
check "with what it did" has 'sbx_reap_results{result="reaped"} 1'
check "with what stays" has 'sbx_reap_decisions{reason="retained"} 1'
check "with what was done ever" has 'sbx_reap_runs_reaped_total{reason="finished_ok"} 1'
check "with when it ended" test "$(value sbx_reap_last_pass_timestamp_seconds)" -ge "$before"
check "and that nothing was to complain of" test "$(value sbx_reap_last_success_timestamp_seconds)" -ge "$before"
check "nothing lies beside it" same sbx_reap.prom "$(names)"

reap >/dev/null
check "a pass that does nothing has its counts from before" has 'sbx_reap_runs_reaped_total{reason="finished_ok"} 1'
check "and results of its own" has 'sbx_reap_results{result="reaped"} 0'

: >"$prom/.sbx_reap.prom.sbx-new-abcdef"
touch "$prom/other.prom"
reap >/dev/null
check "what a killed pass left half written is swept away, and nothing else" \
	same 'other.prom sbx_reap.prom' "$(names)"

rm "$file"
reap --run r2 >/dev/null
check "a pass of selected runs writes none: all others are filtered in it" test ! -e "$file"

reap --dry-run --json >"$world/plan.json"
reap --plan "$world/plan.json" >/dev/null
check "and neither does one of an approved plan" test ! -e "$file"

reap hold --reason "a look" >/dev/null
reap >/dev/null || true
check "a pass that is held tells of the hold" has 'sbx_reap_hold 1'
reap resume >/dev/null

reap >/dev/null
chmod 700 "$prom" && chown nobody "$prom"
reap >/dev/null
check "it belongs to its directory's owner" same nobody "$(stat --format %U "$file")"

check "check finds its directory" says "^ok +metrics +$file" "$(reap check 2>&1 || true)"
mv "$prom" "$world/elsewhere"
said=$(exits 1 reap 2>&1 >/dev/null) && code=0 || code=1
check "where it cannot be written the pass ends with 1" same 0 "$code"
check "and says so" says 'metrics are those of an earlier pass: .*sbx_reap.prom' "$said"
check "check says it, too" says '^bad +metrics' "$(reap check 2>&1 || true)"
ln -s "$world/elsewhere" "$prom"
rm "$world/elsewhere/sbx_reap.prom"
reap >/dev/null 2>&1 || true
check "no symlink leads to it" test ! -e "$file"
rm "$prom"
mv "$world/elsewhere" "$prom"

mv "$world/reap.db" "$world/away"
check "a pass without its database" exits 65 reap
check "says that it ran" test -s "$file"
check "in the format" valid
check "how it ended" has 'sbx_reap_last_pass_exit_code 65'
check "and what it could not see" has "sbx_reap_source_up{source=\"store\",at=\"$world/reap.db\"} 0"
check "without a word on what it does not know" lacks 'sbx_reap_runs'
mv "$world/away" "$world/reap.db"

books 'DELETE FROM history'
reap >/dev/null
check "what is trimmed from the history stays counted" has 'sbx_reap_runs_reaped_total{reason="finished_ok"} 1'
tap_done
