#!/usr/bin/env bash
# For a user without root, on a booted systemd: a manager of his own that lingers, his settings and state, his
# slice, and what can be proved of his trees and what cannot.
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

home=/home/ada uid=1500 root=/home/ada/workspaces repo=/home/ada/app

as_ada() {
	runuser -u ada -- env -i HOME="$home" PATH="$PATH" XDG_RUNTIME_DIR="/run/user/$uid" \
		DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/$uid/bus" "$@"
}

until_it() { # command: until it holds; a test that waits for ever is ended by the lab
	until "$@"; do sleep 0.05; done
}

make_world() {
	mount -t tmpfs -o mode=755 tmpfs /home
	cp -r /stage/. /
	systemctl daemon-reload
	useradd --create-home --uid "$uid" ada
	chmod 755 "$home"
	loginctl enable-linger ada
	ip link add host0 type bridge # the lab has no more than lo
	until_it test -S "/run/user/$uid/bus"
	as_ada mkdir -p "$home/.config/sbx/reap.d" "$root"
	as_ada tee "$home/.config/sbx/reap.ini" >/dev/null <<-END
		[workspaces]
		root = $root
		[policy]
		lease = 1s
		keep_ok = 1s
		keep_failed = 1s
	END
	as_ada git init --quiet "$repo"
	as_ada git -C "$repo" -c user.name=test -c user.email=test@localhost \
		commit --quiet --allow-empty --message first
}

run_it() { # run, command: its exit code
	local code=0
	as_ada sbx-run "$1" --repo "$repo" -- "${@:2}" </dev/null >&2 || code=$?
	echo "$code"
}

field() { as_ada sbx-reap list --json 2>/dev/null | jq -r --arg run "$1" ".runs[] | select(.run == \$run) | .$2"; }
pass() { as_ada systemctl --user start sbx-reap.service; }
result() { as_ada systemctl --user show --property ExecMainStatus --value sbx-reap.service; }
due() { [ "$(field "$1" verdict)" = reap ]; }
gone() { [ ! -e "$root/$1" ] && [ ! -e "$root/$1.sbx" ] && [ ! -e "$repo/.git/worktrees/$1" ]; }
unit_known() { as_ada systemctl --user list-units --all --no-legend --plain | grep -q "^sbx-run-$1.service"; }
elsewhere() { as_ada tee "$home/.config/sbx/reap.d/user.ini" >/dev/null <<<$'[workspaces]\nunseen = elsewhere'; }

# Rootless: ada's own Podman, behind a socket of hers.
make_engine() {
	local name
	mkdir -p /root/image/bin
	cp /bin/busybox /root/image/bin/
	for name in sh id cat ls touch; do ln -s busybox "/root/image/bin/$name"; done
	tar -C /root/image -c . | as_ada podman import --quiet - sbx-test >/dev/null 2>&1
	as_ada systemctl --user start podman.socket
	as_ada tee "$home/.config/sbx/reap.d/engine.ini" >/dev/null <<-END
		[containers]
		engine = unix:///run/user/$uid/podman/podman.sock
	END
}

containers() { as_ada podman ps --all --format '{{.Names}} {{.Labels}}'; }

# shellcheck disable=SC2016 # expands in the container
what_is_not_trusted() {
	local code=0
	make_engine
	echo hush >"$home/token" && chown ada "$home/token"
	as_ada sbx-run far --repo "$repo" --untrusted --image sbx-test --secret "token=$home/token" -- \
		sh -c 'id -u; cat "$CREDENTIALS_DIRECTORY/token" .git/HEAD; ls /sys/class/net; ls /home || echo "no host"
			touch work; exit 5' >/root/far </dev/null || code=$?
	check "an untrusted command of a user is in a rootless container, and its exit code is passed on" \
		same "5 failed" "$code $(field far outcome)"
	check "where it is the user, on a branch of a clone, with its secret, without network or host" \
		same "$uid hush ref: refs/heads/sbx/far lo no host" "$(tr '\n' ' ' </root/far | sed 's/ $//')"
	check "the repository knows nothing of it" bash -c '! grep -q . <<<"$(git -C "$0" -c safe.directory=* for-each-ref refs/heads/sbx/far)"' "$repo"
	check "its container has the label" says "^sbx-far .*sbx.run:far" "$(containers)"
	until_it due far
	pass 2>/dev/null || true
	check "a pass takes its tree" gone far
	check "and its container" same "" "$(containers)"
}

# shellcheck disable=SC2016 # expands elsewhere
inside() {
	cd / # where ada may not go, a pass of hers cannot tell where her own processes work
	make_world
	check "the settings and places of a user are as the XDG has them" \
		bash -c "$(declare -f as_ada); home=$home uid=$uid; as_ada sbx-reap check | grep -q '^ok *settings *$home/.config/sbx/reap.ini'"
	check "a user's command is a unit of the user's manager, and its exit code is passed on" \
		same 3 "$(run_it treed sh -c 'grep -q "user@1500.service/sbx.slice/sbx-run-treed.service" /proc/self/cgroup && exit 3')"
	check "it has no network and no home" same 0 \
		"$(run_it fenced sh -c '[ "$(grep -o "[a-z0-9]*:" /proc/net/dev)" = lo: ] && [ ! -e /home/ada/.config ]')"
	check "the books are in the user's home" test -s "$home/.local/state/sbx/state.db"
	check "a user cannot probe, and is told why" says "only root can probe: it mounts" "$(as_ada sbx-reap probe 2>&1)"
	check "which holds nothing" same null "$(as_ada sbx-reap list --json 2>/dev/null | jq -c .hold)"
	as_ada sbx-reap register bare --scope sbx-bare.service --ttl 1h --no-container >/dev/null
	as_ada systemd-run --user --quiet --unit=sbx-bare --slice=sbx.slice sleep 1000
	as_ada sbx-reap finish bare --ok >/dev/null
	until_it due bare
	pass 2>/dev/null || true
	check "what has no tree goes, with what it left running" bash -c '[ ! -e "$0" ] && ! pgrep -u ada -x sleep' "$root/bare.sbx"
	check "what has one stays, since who works in it cannot be known" same unknown "$(field treed reason)"
	check "the pass says that it is blind" same 69 "$(result)"
	check "and who could see it" \
		says "only root may see where" "$(journalctl --no-pager _SYSTEMD_USER_UNIT=sbx-reap.service)"

	chmod 755 "$root"/*
	elsewhere
	pass 2>/dev/null || true
	check "the word that strangers are elsewhere does not count for a tree that is open to them" \
		same 69 "$(result)"
	chmod 700 "$home"
	as_ada bash -c "cd $root/fenced && exec sleep 1001" &
	until_it pgrep -x -u ada sleep >/dev/null
	pass
	check "it does for one that is closed" gone treed
	check "also for its unit, which had failed" bash -c "! $(declare -f as_ada unit_known); home=$home uid=$uid; ! unit_known treed"
	check "but a process of the user's own that works in a tree keeps it" same live "$(field fenced reason)"
	pkill -x -u ada sleep
	wait
	mkdir "$root/fenced/of-root"
	touch "$root/fenced/of-root/file"
	pass 2>/dev/null || true
	check "what root left in a tree is named, with what is missing" \
		says "of-root/file .it belongs to uid 0.*without CAP_DAC_OVERRIDE" "$(field fenced error; as_ada sbx-reap why fenced)"
	chown -R ada "$root/.sbx-trash"
	as_ada sbx-reap --run fenced --early --yes >/dev/null || true
	check "and when that is done, it goes" gone fenced
	what_is_not_trusted
	as_ada systemctl --user enable --quiet --now sbx-reap.timer
	check "the user's timer waits, or has started a pass" as_ada systemctl --user is-active --quiet sbx-reap.timer
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
