#!/usr/bin/env bash
# What limits a whole plan, with the real program: a hold, the brake, and a disk that is too full.
set -euo pipefail
# Mounts are made in a namespace of its own, so that they end with it.
[ "${SBX_OWN_MOUNTS:-}" = "$PPID" ] || SBX_OWN_MOUNTS=$$ exec unshare --mount --propagation private \
	--fork --kill-child "$0" "$@"
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
command -v strace >/dev/null || tap_skip_all "strace is not installed"

moment() { date --utc --date "$1" +%FT%TZ; }
books() { sqlite3 "${config%.ini}.db" "$1"; } # SQL
run_field() { jq -r --arg run "$2" ".runs[] | select(.run == \$run) | $3" "$1"; }
with_reason() { jq -r --arg reason "$2" '.runs[] | select(.reason == $reason) | .run' "$1" | paste -sd' '; }
reasons() { jq -r '.runs[] | "\(.run) \(.verdict) \(.reason)"' "$1"; }
# One run that fell due an hour ago and is nothing but its marker.
mark() { # run
	printf '[run]\nid = %s\ncreated = %s\nfinished = %s\noutcome = ok\n' \
		"$1" "$(moment '-3 hours')" "$(moment '-1 hour')" >"$root/$1.sbx"
}
mark_many() { # how many: r1, r2 …
	local i
	mark r1
	for ((i = 2; i <= $1; i++)); do
		sed "s/^id = .*/id = r$i/" "$root/r1.sbx" >"$root/r$i.sbx"
	done
}
marked() { find "$root" -name 'r*.sbx' | wc -l; }

# The runs whose path stands.
stand() { find "$root" -mindepth 1 -maxdepth 1 -name '*.d' -printf '%f\n' | sort | sed 's/\.d$//' | paste -sd' '; }

# A pass; its JSON is $world/pass, what it says besides $world/said, its exit code $code.
pass() {
	code=0
	reap --json "$@" >"$world/pass" 2>"$world/said" || code=$?
}
dry() {
	code=0
	reap --dry-run --json >"$world/plan" 2>&1 || code=$?
}

use() { # name, more settings: other books, the same root
	config=$world/$1.ini
	settings "$config" "${2:-}"
}

remove_all() {
	[ -z "$world" ] || umount -l "$world"/*/ 2>/dev/null || true
	world_remove
}
world_new ""
trap remove_all EXIT

# --------------------------------------------------------------------------------------------- hold

use hold
mark_many 3
mark r4
: >"$root/r4.keep"
check "hold says until when, by whom and why" \
	says '^every pass is held until .* \(1h\) by ada: the mirror is down$' \
	"$(reap hold --for 1h --by ada --reason 'the mirror is down')"
pass
check "under a hold a pass exits 1" same 1 "$code"
check "what is due is held" same 'r1 r2 r3' "$(with_reason "$world/pass" held)"
check "what is kept anyway keeps its own reason" same pinned "$(run_field "$world/pass" r4 .reason)"
check "nothing is gone" same 4 "$(marked)"
check "the pass stands in the books" same 1 "$(books 'SELECT count(*) FROM pass WHERE exit_code = 1')"
check "JSON says who, why and until when" same '["ada","the mirror is down"] 3600' \
	"$(jq -r '.hold | "\([.by, .reason]) \((.until | fromdate) - (.since | fromdate))"' "$world/pass")"
for how in --yes '--run r1' '--run r1 --early'; do
	# shellcheck disable=SC2086 # two words
	check "a hold holds a pass with $how too" exits 1 reap $how
done
check "and still nothing is gone" same 4 "$(marked)"
books "INSERT INTO salvage (run, generation, made_s, form, tree, path, bytes)
	VALUES ('gone', 1, 1000, 'archive', '$root/gone', '$world/salvage/gone,1.tar.zst', 0)"
reap >/dev/null || true
check "nor does what was salvaged end" same 1 "$(books 'SELECT count(*) FROM salvage')"
check "the table says it" says '^held by ada since .* until .*: the mirror is down$' "$(reap list || true)"
check "list exits 1" exits 1 reap list
check "why names the rule" says '^  9  yes a person holds every pass' "$(reap why r1)"
check "why says who holds" says '^held by ada' "$(reap why r1)"
check "why --json has the reason" same held "$(reap why r1 --json | jq -r .reason)"
check "check mentions it" says '^warn  hold .*by ada' "$(reap check || true)"
check "other verbs go on" exits 0 reap register new --ttl 1h
reap forget new >/dev/null
check "a second hold replaces the first, and says so" \
	says '^that replaces the hold by ada since .*: the mirror is down$' "$(reap hold --by bob)"
check "without an end it lasts until somebody resumes" \
	says '^held by bob since .* until .sbx-reap resume.$' "$(reap list || true)"
check "the same hold again replaces nothing" exits 1 grep -q replaces <(reap hold --by bob)
check "resume says what it does" same 'passes act again' "$(reap resume)"
check "resume of nothing is 0" exits 0 reap resume
check "and says so" same 'nothing was held' "$(reap resume)"
check "the log has who held and resumed" same 'held held resumed' \
	"$(reap log --json | jq -r '.entries[] | select(.action | IN("held", "resumed")) | .action' | paste -sd' ')"
reap hold --for 1s >/dev/null
sleep 1.1
check "a hold that has ended holds no more" same null "$(reap list --json | jq .hold)"
pass
check "then a pass goes on" same '0 1' "$code $(marked)"
check "and drops it from the books" same 0 "$(books 'SELECT count(*) FROM hold')"
check "and what was salvaged long ago ends" same 0 "$(books 'SELECT count(*) FROM salvage')"
check "which the log knows" says 'it ended' "$(reap log | grep resumed | tail -n 1)"
check "a negative length is usage" exits 2 reap hold --for -1h
check "so is a run" exits 2 reap hold r1
rm -f "$root"/r*

# ------------------------------------------------------------------- a hold while a pass is at work

for run in a b c; do
	mkdir "$root/$run.d"
	echo x >"$root/$run.d/f"
	reap register "$run" --path "$root/$run.d" --created -3h >/dev/null
	reap finish "$run" --ok --at -1h >/dev/null
done
ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null -e trace=renameat2 \
	-e inject=renameat2:delay_enter=2000000 "$SBX_REAP" --json --config "$config" \
	</dev/null >"$world/pass" 2>/dev/null &
slow=$!
until [ "$(books 'SELECT count(*) FROM run WHERE claim_begun_s IS NOT NULL' 2>/dev/null)" = 1 ]; do
	kill -0 "$slow" 2>/dev/null || break
done
reap hold >/dev/null
code=0
wait "$slow" || code=$?
check "a hold that begins while a pass is at work ends it after its run" \
	same 'a reap finished_ok b keep held c keep held' "$(reasons "$world/pass" | paste -sd' ')"
check "it exits 1" same 1 "$code"
check "the run it was at is gone, the others are whole" same 'b c' "$(stand)"
reap resume >/dev/null
reap >/dev/null
check "after resume the rest goes" same '' "$(find "$root" -name '*.d')"

# -------------------------------------------------------------------------------------------- brake

use brake
mark_many 60
dry
check "a dry run says that the brake will hold" same '1 60' \
	"$code $(jq '[.runs[] | select(.reason == "brake")] | length' "$world/plan")"
check "and changes nothing" test ! -e "$world/brake.db"
pass
check "60 due runs of 60 trip the brake" same '1 60' \
	"$code $(jq '[.runs[] | select(.reason == "brake")] | length' "$world/pass")"
check "nothing is gone" same 60 "$(marked)"
check "JSON says since when, until when and how many" same '60 60 900' \
	"$(jq -r '.brake | "\(.due) \(.proven) \((.until | fromdate) - (.since | fromdate))"' "$world/pass")"
check "an alert is given" says '^sbx-reap: brake: 60 of 60 runs' "$(cat "$world/said")"
pass
check "the next pass keeps them too" same '1 60' "$code $(marked)"
check "without another alert" same '' "$(cat "$world/said")"
check "the table says it" says '^brake: 60 of 60 .* they stay until .*; --yes and --run pass it$' \
	"$(reap list || true)"
check "why names the rule" says '^  11 yes too much is due at once.*: keep, brake$' "$(reap why r7)"
check "why has the line too" says '^brake: 60 of 60' "$(reap why r7)"
check "it is tripped from its first trip on" same 1 \
	"$(books 'SELECT count(*) FROM history WHERE action = '"'braked'")"
reap --run r1 >/dev/null
check "--run passes it" same 59 "$(marked)"
books 'UPDATE brake SET tripped_s = tripped_s + 86400'
pass
check "a clock that was set back does not hold for ever" same 1 \
	"$(books "SELECT tripped_s BETWEEN unixepoch() - 60 AND unixepoch() FROM brake")"
books 'UPDATE brake SET tripped_s = tripped_s - 900'
pass
check "after brake_hold they go" same '0 0' "$code $(marked)"
check "it is remembered until there is no backlog" same 1 "$(books 'SELECT count(*) FROM brake')"
pass
check "then the brake is ready again" same '0 0' "$code $(books 'SELECT count(*) FROM brake')"
check "and the log knows when" says 'released' "$(reap log)"

use few $'[limits]\nbrake_runs = 4\nbrake_share = 50%'
mark_many 4
pass
check "as many as brake_runs do not trip it" same '0 0' "$code $(marked)"
mark_many 10
for i in 1 2 3 4 5; do : >"$root/r$i.keep"; done
pass
check "nor do more that are no larger share of all" same '0 5' "$code $(marked)"
rm -f "$root"/r*
mark_many 6
check "--yes passes it" exits 0 reap --yes
check "wholly" same '0 0' "$(marked) $(books 'SELECT count(*) FROM brake')"
mark_many 6
script --quiet --return --command "$SBX_REAP --config $config" /dev/null <<<y >"$world/prompt" || true
check "at the prompt a person is told" says 'an unattended pass would keep them until' "$(cat "$world/prompt")"
check "and may go on" same 0 "$(marked)"
mark_many 6
: >"$world/journal"
stream=$(stat --format %d:%i "$world/journal")
JOURNAL_STREAM=$stream reap >/dev/null 2>"$world/journal" || true
check "in the journal the alert has its priority" says '^<3>sbx-reap: brake' "$(cat "$world/journal")"
rm -f "$root"/r*
use unbraked $'[limits]\nbrake_runs = 0\nbrake_share = 0%'
mark_many 6
check "with brake_runs = 0 there is no brake" exits 0 reap
check "at all" same 0 "$(marked)"

# ----------------------------------------------------------------------------------------- pressure

# small NAME OPTIONS SETTINGS: a small filesystem with a root of its own, and settings for it.
small() {
	mkdir "$world/$1"
	mount -t tmpfs -o "mode=755,$2" sbx-test "$world/$1"
	mkdir "$world/$1/ws" "$world/$1-unused"
	root=$world/$1/ws
	use "$1" "[policy]
unsaved = keep
$3"
}

# A run that ended and is retained, with so much in a path of its own.
ended() { # run, when, MiB, files, outcome
	local i
	mkdir "$root/$1.d"
	[ "$3" = 0 ] || head -c "$3"M /dev/zero >"$root/$1.d/data"
	for ((i = 0; i < $4; i++)); do : >"$root/$1.d/$i"; done
	reap register "$1" --path "$root/$1.d" --created -30h >/dev/null
	reap finish "$1" "--${5:-failed}" --at "$2" >/dev/null
}

small bytes size=20m $'[disk]\nhigh = 70%\nlow = 60%'
ended young -1h 3 0
ended older -4h 3 0
ended oldest -5h 3 0
ended pinned -6h 3 0
reap pin pinned >/dev/null
add_worktree dirty
register_run dirty --created -30h
head -c 2M /dev/zero >"$(tree dirty)/draft"
reap finish dirty --failed --at -7h >/dev/null
mkdir "$root/live.d"
head -c 2M /dev/zero >"$root/live.d/data"
reap register live --path "$root/live.d" --ttl 9h >/dev/null
dry
check "on a full disk retained runs are pressed, the one that ended first first, until below low" \
	same 'older oldest' "$(with_reason "$world/plan" pressure)"
check "which relieves it" same "[\"$root\",0.7,0.6,true] 0" \
	"$(jq -c '.pressure[] | [.at, .high, .low, .relieved]' "$world/plan") $code"
check "the share is that of df" same "$(df --output=pcent "$root" | tail -n 1 | tr -dc 0-9)" \
	"$(jq '.pressure[].used_bytes_share * 100 | ceil' "$world/plan")"
check "unsaved work that cannot go is said" same 'dirty retained' \
	"$(run_field "$world/plan" dirty '"\(.work) \(.reason)"')"
check "the table says it" says "^pressure: $root has used 8.*%; what goes brings it below low = 60%$" \
	"$(reap list || true)"
check "why names the rule" says '^  10 yes its filesystem is too full: reap, pressure$' "$(reap why oldest)"
check "why of one that stays says retained" says '^young: keep, retained$' "$(reap why young)"
pass --run young
check "a pass for one run presses nobody" same '0 older oldest pinned young live' \
	"$code $(stand | tr ' ' '\n' | grep -v live | paste -sd' ') live"
reap --dry-run --json --plan "$world/plan" >"$world/approved" || true
check "an approved plan presses those that it names" same 'older oldest true' \
	"$(with_reason "$world/approved" pressure) $(jq .pressure[].relieved "$world/approved")"
jq '.runs |= map(select(.run == "older"))' "$world/plan" >"$world/narrow"
reap --dry-run --json --plan "$world/narrow" >"$world/approved" || true
check "and no other" same older "$(with_reason "$world/approved" pressure)"
reasons "$world/plan" >"$world/planned"
pass
check "the pass does what the dry run said" same "$(cat "$world/planned")" "$(reasons "$world/pass")"
check "and exits 0" same 0 "$code"
check "those are gone and nobody else" same 'live pinned young' "$(stand)"
check "the tree with unsaved work is whole" test -e "$(tree dirty)/draft"
check "the log has the reason" says 'reaped +pressure' "$(reap log oldest)"
pass
check "then the disk is not full any more" same '0 []' "$code $(jq -c .pressure "$world/pass")"
ended due -20m 6 0 ok
pass
check "what is due anyway counts first" same '0 live pinned young' "$code $(stand)"
head -c 8M /dev/zero >"$world/bytes/filler"
pass
check "when not enough can go, what can goes, and it is said" same '1 false live pinned' \
	"$code $(jq .pressure[].relieved "$world/pass") $(stand)"
check "in words too" says 'does not bring it below low = 60%' "$(reap list || true)"
check "list exits 1" exits 1 reap list
reap hold >/dev/null
rm "$world/bytes/filler"
ended held -5h 8 0
pass
check "under a hold nothing is pressed" same '1 false retained' \
	"$code $(jq .pressure[].relieved "$world/pass") $(run_field "$world/pass" held .reason)"
reap resume >/dev/null

small inodes size=20m,nr_inodes=200 $'[disk]\nhigh = 50%\nlow = 40%'
ended young -1h 0 30
ended old -5h 1 30
ended pinned -6h 0 40
reap pin pinned >/dev/null
ended bulky -7h 9 0
dry
check "inodes count like bytes" same 'bulky old' "$(with_reason "$world/plan" pressure)"
pass
check "the pass presses the same" same '0 pinned young' "$code $(stand)"
check "JSON has their share" says '^0\.5' "$(jq .pressure[].used_inodes_share "$world/pass")"

small off size=20m $'[disk]\nhigh = 100%\nlow = 99%'
ended old -5h 15 0
pass
check "high = 100% is off" same '0 old' "$code $(stand)"
tap_done
