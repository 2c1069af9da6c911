#!/usr/bin/env bash
# TimeoutStartSec= of the unit is reached, on a booted systemd: a pass that waits for an engine ends; one
# that cannot end is killed in the middle of a removal; and the next start finishes the work.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	lab_stage
	lab_install
	lab_boot --timeout 500
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces group=/sys/fs/cgroup/system.slice/sbx-reap.service

# What accepts connections to the engine's socket, as far as a client can see, and never answers.
engine_that_never_answers() {
	cat >/run/systemd/system/engine.socket <<-END
		[Socket]
		ListenStream=/run/engine.sock
	END
	cat >/run/systemd/system/engine.service <<-END
		[Service]
		ExecStart=sleep infinity
	END
	systemctl daemon-reload
	systemctl start engine.socket
}

make_world() {
	mount -t tmpfs -o mode=755,nr_inodes=2m tmpfs /srv
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	mkdir -p /etc/sbx/reap.d /etc/systemd/system/sbx-reap.service.d
	printf '[policy]\nunsaved = discard\n' >/etc/sbx/reap.d/lab.ini
	engine_that_never_answers
}

limits() { # TimeoutStartSec, TimeoutStopSec
	printf '[Service]\nTimeoutStartSec=%s\nTimeoutStopSec=%s\n' "$1" "$2" \
		>/etc/systemd/system/sbx-reap.service.d/lab.conf
	systemctl daemon-reload
	systemctl reset-failed sbx-reap.service 2>/dev/null || true
}

expired_run() { # run
	mkdir -p "$root/$1/src"
	echo work >"$root/$1/src/file"
	sbx-reap register "$1" --created -30h --ttl 2h --no-container >/dev/null
	sbx-reap finish "$1" --ok --at -28h >/dev/null
}

large_run() { # run, directories of 5,000 files
	local i
	expired_run "$1"
	for ((i = 0; i < $2; i++)); do
		mkdir "$root/$1/$i"
		(cd "$root/$1/$i" && seq 5000 | xargs touch)
	done
}

property() { systemctl show --property "$1" --value sbx-reap.service; }
result() { echo "$(property Result) $(property ExecMainCode) $(property ExecMainStatus)"; }
failed() { [ "$(property ActiveState)" = failed ]; }
gone() { [ ! -e "$root/$1" ] && [ ! -e "$root/$1.sbx" ]; }
set_aside() { [ ! -e "$root/large/0" ]; }

until_it() { # command: until it holds; a test that waits for ever is ended by the lab
	until "$@"; do sleep 0.02; done
}

nothing_in_trash() { [ -z "$(find "$root/.sbx-trash" -mindepth 1 2>/dev/null)" ]; }
reaped_once() { same 1 "$(sbx-reap log "$1" --json | grep -c '"action": "reaped"')"; }

a_pass_that_waits_is_stopped() {
	expired_run early
	printf '[containers]\nengine = unix:///run/engine.sock\n[limits]\nengine_timeout = 5m\n' \
		>/etc/sbx/reap.d/engine.ini
	limits 3s 60s
	systemctl start --no-block sbx-reap.service
	until_it failed
	# 1 69: by its own exit, with a report that says what it could not see.
	check "a pass that only looks ends at once when TimeoutStartSec is reached" \
		same "timeout 1 69" "$(result)"
	rm /etc/sbx/reap.d/engine.ini
	limits 5min 15s
	check "the next start succeeds" systemctl start sbx-reap.service
	check "and finishes the work" gone early
	check "which is on the books once" reaped_once early
}

# Frozen, so that it does not get SIGTERM: as stuck as what waits for a dead mount.
a_pass_that_is_stuck_is_killed() {
	large_run large 40
	expired_run other
	limits 20s 2s
	systemctl start --no-block sbx-reap.service
	until_it set_aside
	echo 1 >"$group/cgroup.freeze"
	until_it failed
	check "a pass that is stuck is killed after TimeoutStopSec" same "timeout 2 9" "$(result)"
	check "in the middle of a removal" bash -c "[ -n \"\$(find '$root' -name 4999)\" ]"
	limits 5min 15s
	check "the next start succeeds" systemctl start sbx-reap.service
	check "and finishes the removal" gone large
	check "of which nothing is left aside" nothing_in_trash
	check "and which is on the books once" reaped_once large
	check "the others are gone, too" gone other
}

inside() {
	make_world
	a_pass_that_waits_is_stopped
	a_pass_that_is_stuck_is_killed
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
