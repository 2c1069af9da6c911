#!/bin/bash
# What nobody registered ages from when a pass first saw it, whatever shows it, and by the same moment
# in a forecast; so does what has a moment in the future.
set -u
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

of_run() { # run, more arguments
	reap --json "${@:2}" | jq -r --arg run "$1" \
		'.runs[] | select(.run == $run) | "\(.verdict) \(.reason)"'
}

world_new '[policy]
keep_orphan = 1h'
sed -i '/^\[workspaces\]/a adopt = worktrees' "$world/reap.ini"
add_worktree lone
check "what nobody registered is kept at first" same 'keep retained' "$(of_run lone)"
check "it still is when a pass saw it before" same 'keep retained' "$(of_run lone)"
check "and goes when it was first seen long ago" same 'reap orphan' \
	"$(of_run lone --dry-run --now +2h)"
seen=$(reap why lone --json | jq -r .facts.first_seen)
sleep 1.1 # moments are whole seconds
reap >/dev/null
check "a pass does not make it younger" same "$seen" "$(reap why lone --json | jq -r .facts.first_seen)"

rm -rf "$root/lone" "$repo/worktrees/lone"
printf '[run]\nid = ahead\ncreated = %s\nttl = 1h\n' "$(date -u -d '+9 days' +%FT%TZ)" \
	>"$root/ahead.sbx"
mkdir "$root/ahead"
check "a marker of the future waits" same 'keep clock' "$(of_run ahead)"
check "and after a day it is aged from when it was seen" same 'stop over_deadline' \
	"$(of_run ahead --dry-run --now +3d)"
tap_done
