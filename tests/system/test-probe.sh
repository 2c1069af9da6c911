#!/usr/bin/env bash
# sbx-reap probe on a booted systemd: well under a confined unit; and where the unit is loosened, reaps
# nothing, or cannot be tried, every pass is held until somebody resumes.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	lab_stage
	lab_install
	lab_boot --timeout 580
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces around=/srv/sbx/.sbx-probe
drop_in=/run/systemd/system/sbx-reap.service.d/zz-test.conf

# The walls that a probe looks for, whatever the unit has of them; a test takes one down.
confine() { # more lines of [Service]
	mkdir -p "${drop_in%/*}"
	printf '[Service]\n%s\n' ProtectSystem=strict \
		'ReadWritePaths=-/var/lib/sbx -/srv/sbx' RestrictAddressFamilies=AF_UNIX "$@" >"$drop_in"
	systemctl daemon-reload
	systemctl reset-failed sbx-reap.service 2>/dev/null || true
}

# On tmpfs: on the lab's overlay a file and its directory are on different devices.
make_world() {
	mount -t tmpfs -o mode=755 tmpfs /srv
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	confine
}

# Sets `code` and `said`; not called by check, which would keep them to itself.
probe() {
	systemctl reset-failed sbx-reap.service sbx-reap-probe.service 2>/dev/null || true
	code=0
	systemctl start sbx-reap-probe.service 2>/dev/null ||
		code=$(systemctl show --property ExecMainStatus --value sbx-reap-probe.service)
	journalctl --sync
	said=$(journalctl --cursor-file=/run/probe.cursor --unit sbx-reap-probe.service --no-pager --output cat)
}

ended() { # exit code
	same "$1" "$code" && return 0
	echo "$said"
	journalctl --unit sbx-reap.service --no-pager --lines 20
	return 1
}

all_ok() {
	local check
	for check in due pinned outside earlier write connect; do
		says "^ok +$check " "$said" || return 1
	done
	none_is_bad
}

none_is_bad() { ! grep -qE '^(FAILED|cannot run)' <<<"$said"; }
canaries() { find "$root" -maxdepth 1 -name "sbx-probe-$1-*" | wc -l; }
mounts() { awk -v at="$root/" -v or="$around/" 'index($5, at) == 1 || index($5, or) == 1' /proc/1/mountinfo | wc -l; }
nothing_is_left() { [ ! -e "$around" ] && [ "$(mounts)" = 0 ] && [ "$(canaries due)" = 0 ]; }
held() { # pattern: by the probe, with this reason; and a pass acts on nothing
	says "held.*sbx-reap probe.*$1" "$(sbx-reap list 2>&1; true)"
}
due_run() {
	mkdir -p "$root/due"
	sbx-reap register due --created -3h --ttl 1h --no-container >/dev/null
	sbx-reap finish due --ok --at -2h >/dev/null
}
stays() { ! sbx-reap --yes >/dev/null 2>&1 && [ -e "$root/due" ]; }
goes() { sbx-reap --yes >/dev/null 2>&1 && [ ! -e "$root/due" ]; }

all_is_well() {
	probe
	check "under a confined unit the probe is well" ended 0
	check "with every check it has" all_ok
	check "nothing is left but the pinned canary" nothing_is_left
	check "which is in no pin any more" same 0 "$(sbx-reap pins | grep -c sbx-probe)"
	check "each finding is in the history" same 6 "$(sbx-reap log | grep -cE ' probe .*: ok: ')"
	check "and nothing is held" bash -c '! sbx-reap list 2>&1 | grep -q held'
	check "the next pass takes the rest" systemctl start sbx-reap.service
	check "so that nothing is left" same 0 "$(canaries '*')"
}

walls_are_down() {
	confine ReadWritePaths=/run/sbx-probe
	probe
	check "a unit that may write elsewhere fails the probe" ended 1
	check "as what it did" says '^FAILED +write +.*not kept from writing' "$said"
	check "and the network is still blocked" says '^ok +connect ' "$said"
	check "every pass is held from then on" held 'write: FAILED'
	due_run
	check "so that nothing is reaped" stays
	confine
	probe
	check "a probe of a held reaper cannot run" ended 1
	check "and says why" says '^cannot run +set-up +passes are held by sbx-reap probe' "$said"
	sbx-reap resume >/dev/null
	check "passes act again once somebody resumes" goes
	probe
	check "and the probe is well again" ended 0

	confine PrivateNetwork=no IPAddressDeny= RestrictAddressFamilies= \
		'RestrictAddressFamilies=AF_UNIX AF_INET'
	probe
	check "a unit that may connect fails the probe" ended 1
	check "as the endpoint has heard it" says '^FAILED +connect .*a credential came through' "$said"
	sbx-reap resume >/dev/null

	confine PrivateNetwork=yes RestrictAddressFamilies= 'RestrictAddressFamilies=AF_UNIX AF_INET'
	probe
	check "so does one that only finds nobody there" ended 1
	check "since that is the wrong reason" says '^FAILED +connect .*wrong reason.*connect: E(CONNREFUSED|TIMEDOUT)' "$said"
	sbx-reap resume >/dev/null
}

no_pass() {
	confine ExecStart= ExecStart=/bin/true
	probe
	check "a unit that reaps nothing fails the probe" ended 1
	check "as what is left" says '^FAILED +due .*the tree, the marker.*its record' "$said"
	check "and since it did not answer" says '^cannot run +pass .*no pass .*answered' "$said"
	check "passes are held" held 'due: FAILED'
	confine
	sbx-reap resume >/dev/null
	probe
	check "the next probe is well, and what that one left is gone" ended 0
	check "what the four probes that failed made outside is left for a person" same "4 4" "$(find "$around" -mindepth 1 -maxdepth 1 | wc -l) $(mounts)"

	systemctl mask --quiet --runtime sbx-reap.service
	probe
	check "a unit that is masked fails the probe" ended 1
	check "before anything is made" says '^cannot run +set-up .*masked' "$said"
	systemctl unmask --quiet --runtime sbx-reap.service
	sbx-reap resume >/dev/null
}

# Stopped while it waits for the pass, which is stuck.
killed_midway() {
	confine ExecStart= 'ExecStart=/bin/sleep 1000'
	systemctl start --no-block sbx-reap-probe.service
	until [ "$(systemctl show --property ActiveState --value sbx-reap.service)" = activating ]; do
		[ "$(systemctl show --property ActiveState --value sbx-reap-probe.service)" != failed ] || break
		sleep 0.1
	done
	systemctl kill --signal KILL sbx-reap-probe.service
	systemctl stop sbx-reap.service
	confine
	check "a probe that was just killed holds nothing yet" systemctl start sbx-reap.service
	# An hour ago the host may not have been up yet, which is another case; then the clock was set back.
	hour=-3600
	[ "$(cut -d. -f1 /proc/uptime)" -gt 4000 ] || hour=4000
	sqlite3 /var/lib/sbx/state.db "UPDATE probe SET asked_s = asked_s + $hour"
	due_run
	check "but one that was not judged in an hour does" stays
	check "in so many words" held 'never judged'
	check "check tells that one was broken off" says '^warn +probe +a probe was broken off' "$(sbx-reap check; true)"
	check "and what those that failed left, with the commands" same 4 "$(sbx-reap check | grep -cE 'sbx-reap unpin sbx-probe-pinned-')"
	sbx-reap resume >/dev/null
	check "once" goes
	probe
	check "the next probe is well" ended 0
	check "and took away what that one left outside" same "4 4" "$(find "$around" -mindepth 1 -maxdepth 1 | wc -l) $(mounts)"
	check "and its pin, but not those of the ones that failed" same 4 "$(sbx-reap pins | grep -c sbx-probe)"
}

# A unit that does its work, and something else as well.
does_too() { # command, which finds the trees of the canaries at $pinned, and the file outside at $outside
	cat >/run/does-too <<-END
		for pinned in $root/sbx-probe-pinned-*/; do :; done
		for outside in $around/*/kept/canary; do :; done
		$1
	END
	confine 'ExecStartPre=/bin/sh -e /run/does-too'
}

# shellcheck disable=SC2016 # expands in the unit
damage() {
	local it check command named
	for it in 'pinned|echo more >>$pinned/file|file' 'pinned|rm $pinned/directory/inner/file|inner' \
		'outside|chmod 644 $outside|canary' 'outside|rm $outside|kept'; do
		IFS='|' read -r check command named <<<"$it"
		forget_canaries
		does_too "$command"
		probe
		check "a unit that does '$command' fails the probe" ended 1
		check "as $check, by name" says "^FAILED +$check .*$named" "$said"
		check "while the due one went" says '^ok +due ' "$said"
		check "passes are held" held "$check: FAILED"
		sbx-reap resume >/dev/null
	done
	forget_canaries
	confine
	probe
	check "and once nothing does, all is well" ended 0
}

# What probes that failed left for a person, who has looked.
forget_canaries() {
	local at
	for at in "$root"/sbx-probe-pinned-*/; do
		[ ! -e "$at" ] || sbx-reap unpin "$(basename "$at")" >/dev/null
	done
	sbx-reap --yes >/dev/null 2>&1 || true
	for at in "$around"/*/shown; do
		[ ! -e "$at" ] || umount "$at"
	done
	rm -rf "$around"
}

limits() { # settings of [limits]
	mkdir -p /etc/sbx/reap.d
	printf '[limits]\n' >/etc/sbx/reap.d/limits.ini
	printf '%s\n' "$@" >>/etc/sbx/reap.d/limits.ini
}
due_runs() { # numbers: due for longer than a canary
	local i
	for i; do
		mkdir -p "$root/due-$i"
		sbx-reap register "due-$i" --created -3h --ttl 1h --no-container >/dev/null
		sbx-reap finish "due-$i" --ok --at -2h >/dev/null
	done
}
nobody_holds() { ! grep -q held <<<"$(sbx-reap list 2>&1)"; }
put_off() { # pattern
	check "puts the probe off" ended 69
	check "as what has no turn" says "^put off +due .*$1" "$said"
	check "nothing is bad" none_is_bad
	check "nothing is held" nobody_holds
	check "it leaves nothing outside" test ! -e "$around"
	check "nor a pin" bash -c '! sbx-reap pins | grep -q sbx-probe'
}

no_turn() {
	limits brake_runs=2 brake_share=1% brake_hold=1h
	due_runs 1 2 3
	probe
	echo "# the brake"
	put_off "kept it as 'brake'"
	check "and the walls were tried" says '^ok +write .*' "$said"
	rm /etc/sbx/reap.d/limits.ini
	check "a pass without brake takes both canaries, and what is mounted there" systemctl start sbx-reap.service
	check "so that nothing is left" same "0 0" "$(canaries '*') $(mounts)"

	limits brake_runs=0 max_runs=1
	due_runs 4 5 6 7 8
	probe
	echo "# max_runs"
	put_off "kept it as 'deferred'"
	rm /etc/sbx/reap.d/limits.ini
	check "the next one is well" systemctl start sbx-reap-probe.service
}

probe_state() { systemctl show --property ActiveState --value sbx-reap-probe.service; }
until_passing() {
	until [ "$(systemctl show --property ActiveState --value sbx-reap.service)" = activating ]; do
		[ "$(probe_state)" != failed ] || return 1
		sleep 0.1
	done
}

stopped() {
	confine ExecStart= 'ExecStart=/bin/sleep 1000'
	systemctl start --no-block sbx-reap-probe.service
	until_passing
	systemctl stop sbx-reap-probe.service
	journalctl --sync
	code=$(systemctl show --property ExecMainStatus --value sbx-reap-probe.service)
	said=$(journalctl --cursor-file=/run/probe.cursor --unit sbx-reap-probe.service --no-pager --output cat)
	echo "# systemctl stop of the probe"
	put_off 'the probe was asked to stop'
	systemctl stop sbx-reap.service
	confine
	sqlite3 /var/lib/sbx/state.db 'UPDATE probe SET asked_s = asked_s - 3600'
	check "nor does a pass hold for it an hour later" systemctl start sbx-reap.service
	check "so that nothing is left" same "0 0" "$(canaries '*') $(mounts)"

	confine 'ExecStartPre=/bin/sleep 3'
	systemctl start --no-block sbx-reap-probe.service
	until_passing
	systemctl stop sbx-reap.service
	until [ "$(probe_state)" != activating ]; do sleep 0.1; done
	check "a pass that somebody stops is begun again, and all is well" same inactive "$(probe_state)"
	confine
}

inside() {
	make_world
	all_is_well
	no_turn
	stopped
	walls_are_down
	no_pass
	killed_midway
	damage
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
