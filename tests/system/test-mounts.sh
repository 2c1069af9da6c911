#!/usr/bin/env bash
# Installed with `make install` on a booted systemd: a pass of the real unit, which may not unmount, has
# PID 1 take down what is mounted in a workspace, and what is behind it stays whole.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	lab_stage
	lab_install
	lab_boot --timeout 300
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces repo=/srv/git/app.git shared=/srv/shared

# On tmpfs: on the lab's overlay a file and its directory are on different devices.
make_world() {
	mount -t tmpfs -o mode=755 tmpfs /srv
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	systemctl daemon-reload
	mkdir -p /srv/git /etc/sbx/reap.d "$shared"
	printf '[workspaces]\nrepo = %s\n' "$repo" >/etc/sbx/reap.d/lab.ini
	git config --global user.name test
	git config --global user.email test@localhost
	git init --quiet /srv/git/seed
	echo /scratch/ >/srv/git/seed/.gitignore
	git -C /srv/git/seed add .gitignore
	git -C /srv/git/seed commit --quiet --message first
	git clone --quiet --bare /srv/git/seed "$repo"
	echo precious >"$shared/file"
}

make_run() { # run
	git -C "$repo" worktree add --quiet -b "sbx/$1" "$root/$1" 2>/dev/null
	mkdir -p "$root/$1/scratch/of the-run"
	sbx-reap register "$1" --repo "$repo" --created -30h --ttl 2h >/dev/null
	sbx-reap finish "$1" --failed --at -29h >/dev/null
}

pass() { systemctl start sbx-reap.service || { journalctl --unit sbx-reap.service --no-pager | tail; false; }; }
mounts_in() { awk -v at="$root/$1/" 'index($5, at) == 1 { n++ } END { print n + 0 }' /proc/1/mountinfo; }
goes() { [ ! -e "$root/$1" ] && [ "$(mounts_in "$1")" = 0 ]; }
whole() { same precious "$(cat "$shared/file")"; }
knows() { # seconds, mount point: until systemd has seen it
	local try
	for ((try = $1 * 10; try > 0; try--)); do
		systemctl is-active --quiet "$(systemd-escape --path --suffix=mount "$2")" && return 0
		sleep 0.1
	done
	return 1
}

inside() {
	make_world
	make_run bound
	at="$root/bound/scratch/of the-run"
	mount --bind "$shared" "$at"
	mkdir -p "$root/bound/scratch/memory"
	mount -t tmpfs none "$root/bound/scratch/memory"
	mkdir "$root/bound/scratch/memory/inner"
	mount --bind "$shared" "$root/bound/scratch/memory/inner"
	knows 10 "$root/bound/scratch/memory/inner"
	check "the unit has no capability to unmount" \
		bash -c '! systemctl show --property CapabilityBoundingSet sbx-reap.service | grep -qi sys_admin'
	check "a pass takes down what is mounted in a workspace" pass
	check "and the workspace goes" goes bound
	check "what was behind the mounts is whole" whole

	make_run busy
	make_run other
	at="$root/busy/scratch/of the-run"
	mount --bind "$shared" "$at"
	knows 10 "$at"
	sleep 1000 7<"$at/file" &
	check "a mount in use makes the pass fail" bash -c '! systemctl start sbx-reap.service'
	check "it stays" same 1 "$(mounts_in busy)"
	check "and so does the tree" test -e "$root/busy/.git"
	check "the journal names it, and who uses it" says "of the-run.* pid $! \\(sleep\\)" \
		"$(journalctl --unit sbx-reap.service --no-pager)"
	check "another run goes" goes other
	kill -KILL "$!"
	wait "$!" 2>/dev/null || true
	check "once it is free a pass succeeds" pass
	check "and the run goes" goes busy
	check "what was behind the mount is whole" whole

	make_run apart
	at="$root/apart/scratch/of the-run"
	mount --bind "$shared" "$at"
	knows 10 "$at"
	check "a pass in a mount namespace of its own goes through PID 1, too" \
		systemd-run --quiet --wait --pipe -p PrivateMounts=yes sbx-reap
	check "and the host has it no more" goes apart
	check "what was behind it is whole" whole
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
