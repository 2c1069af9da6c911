#!/bin/bash
# The examples of the manual pages do what the pages say of them, as they stand there. (Those with sbx-run
# need a systemd: system/test-sbx-run.sh.)
set -u
# shellcheck source=tests/support/host.sh
. "$(dirname "$0")/../support/host.sh"
host_enter "$@"
cd "$sources" || exit

# Each block of a page's EXAMPLES becomes a file, $host/PAGE.1 and so on.
extract() {
	awk -v name="$host/${1##*/}" '
		/^\.Sh / { inside = $2 == "EXAMPLES" }
		!inside { next }
		/^\.Dl / { n++; sub(/^\.Dl /, ""); print > (name "." n); next }
		/^\.Bd / { n++; block = 1; next }
		/^\.Ed/ { block = 0; next }
		block { print > (name "." n) }' "$1"
	sed -i 's/\\e/\\/g; s/^\\&//; s/\\&//g; s/\\-/-/g' "$host/${1##*/}".[0-9]*
}

blocks() { find "$host" -maxdepth 1 -name "${1##*/}.[0-9]*" | wc -l; }

example() { # PAGE.N: what it says; its exit code is this one's
	echo "$1" >>"$host/tried"
	(cd "$HOME" && sh -e "$host/$1" 2>&1)
}

of_run() { # run, query: of the plan
	sbx-reap list --json 2>/dev/null | jq -r --arg run "$1" ".runs[] | select(.run == \$run) | $2"
}

settings_page() {
	local said
	useradd --no-create-home ci
	mkdir -p /srv/sbx/team-a/workspaces /var/lib/prometheus/node-exporter
	echo sbx-reap.ini.5.1 >>"$host/tried"
	install -m 644 "$host/sbx-reap.ini.5.1" /etc/sbx/reap.d/teams.ini
	said=$(example sbx-reap.ini.5.2)
	check "the settings of the example are taken" says '^ok +settings ' "$said"
	check "its roots are seen" says '^ok +root .*/srv/sbx/team-a/workspaces' "$said"
	check "and it is of no consequence yet" says '^0 runs' "$said"
	rm /etc/sbx/reap.d/teams.ini
}

harness() {
	local said
	host_command run-the-agent 'echo done >work && git add work && git commit -q -m work'
	check "the harness of sbx-reap(8) works" example sbx-reap.8.3
	check "its run has a tree" test -e /srv/sbx/workspaces/r1/README.md
	check "and is on record with its end" same 'finished ok' "$(of_run r1 '"\(.state) \(.outcome)"')"
	said=$(example sbx-reap.8.1)
	check "the examples of on-call see that it goes tonight" says '^r1 .* reap +finished_ok' "$said"
	check "and why not now" says '^r1: keep, retained' "$said"
	check "it is kept until the end of the week" says '^r1 is pinned until .*\(5d\)' "$(example sbx-reap.8.2)"
	check "that is a pin with its reason" same 'race in the parser' "$(of_run r1 .pin.reason)"
	sbx-reap unpin r1 >/dev/null
	sbx-reap --run r1 --early >/dev/null </dev/null
	check "and a pass cleans up" test ! -e /srv/sbx/workspaces/r1
}

markers() {
	git -C /srv/git/app branch -q -D sbx/r1 # it had work, and stayed
	host_command run-the-agent 'exit 0'
	check "the harness of sbx-reap-marker(5) works" example sbx-reap-marker.5.1
	check "its run is on record with its end, by its marker alone" same 'finished ok retained' \
		"$(of_run r1 '"\(.state) \(.outcome) \(.reason)"')"
	check "a pin is a file" example sbx-reap-marker.5.2
	check "and keeps" same pinned "$(of_run r1 .reason)"
	check "a pin with its end is a file, too" example sbx-reap-marker.5.3
	check "and says so" same 'ada, race in the parser, 2027-01-01T00:00:00Z' \
		"$(of_run r1 '.pin | "\(.by), \(.reason), \(.until)"')"
	rm /srv/sbx/workspaces/r1.keep
	sbx-reap --run r1 --early >/dev/null </dev/null
	check "a pass takes tree and marker" test ! -e /srv/sbx/workspaces/r1 -a ! -e /srv/sbx/workspaces/r1.sbx
}

# Killed where the agent is at work.
killed() {
	sed 's/^run=r1/run=r2/; s/(cd .*run-the-agent).*/kill -KILL $$/' "$host/sbx-reap-marker.5.1" >"$host/killed"
	{ sh -e "$host/killed"; } 2>/dev/null & # so that the shell does not tell of its end
	wait $! 2>/dev/null
	check "killed in the middle, it left a run that is on record" same 'active live' \
		"$(of_run r2 '"\(.state) \(.reason)"')"
	check "and abandoned a day after its deadline" says '^r2 .* reap +abandoned' \
		"$(sbx-reap list --now +26h1m)"
	check "not before" says '^r2 .* keep +retained' "$(sbx-reap list --now +25h50m)"
}

for page in reaper/*.[58]; do extract "$page"; done
settings_page
harness
markers
killed
check "every example was tried" same "$(($(blocks reaper/sbx-reap.8) - 1 + $(blocks sbx-reap.ini.5) + $(blocks sbx-reap-marker.5)))" \
	"$(sort -u "$host/tried" | wc -l)"
tap_done
