# shellcheck shell=bash
# A host of its own, for what has to be done at the real paths, as the manual says it: /etc, /srv, /var/lib,
# /var/tmp and the home are this test's, and so is the whole cgroup tree. Source it, call host_enter "$@"
# first, then check() away, and tap_done at the end. Nothing is left, also after a failure or a signal.

# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

: "${SBX_REAP:?the program to test; scripts/run-tests sets it}"
sources=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")

host=${SBX_HOST:-} host_cgroup=''
cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)

host_leave() {
	trap - EXIT
	trap '' INT TERM HUP
	local try
	[ ! -e "$host_cgroup/cgroup.kill" ] || echo 1 >"$host_cgroup/cgroup.kill"
	{ wait; } 2>/dev/null
	for ((try = 0; try < 200; try++)); do
		find "$host_cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
		[ -d "$host_cgroup" ] || break
		sleep 0.05
	done
	[ ! -d "$host_cgroup" ] || echo "# left behind: $host_cgroup"
	rm -rf --one-file-system "$host"
}

# The test again, in namespaces of its own; whatever it starts is in its group, and ends with it.
host_outside() {
	local code=0
	trap host_leave EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	host=$(mktemp -d)
	host_cgroup=$cgroup_mount/sbx-test-$$
	mkdir "$host_cgroup"
	(
		echo "$BASHPID" >"$host_cgroup/cgroup.procs"
		SBX_HOST=$host exec unshare --mount --cgroup --propagation private "$0" "$@"
	) &
	wait $! || code=$?
	exit "$code"
}

host_bind() { # where, and what is there from now on
	mkdir -p "$2"
	chmod 755 "$2"
	mount --bind "$2" "$1"
}

host_enter() {
	[ -n "$host" ] || host_outside "$@"
	cp -a /etc "$host/etc"
	host_bind /etc "$host/etc"
	host_bind /srv "$host/srv"
	host_bind /var/lib "$host/lib"
	host_bind /var/tmp "$host/tmp"
	umount "$cgroup_mount"
	mount -t cgroup2 none "$cgroup_mount"
	mkdir -p "$host/bin" "$host/home" /etc/sbx/reap.d /srv/sbx/workspaces /srv/git /var/tmp/sbx
	ln -s "$(realpath "$SBX_REAP")" "$host/bin/sbx-reap"
	export PATH=$host/bin:$PATH HOME=$host/home
	unset XDG_CONFIG_HOME XDG_STATE_HOME
	host_settings
	host_git
}

# As installed, but that how full the disk of this machine is changes no test.
host_settings() {
	install -m 644 "$sources/units/reap.ini" /etc/sbx/reap.ini
	printf '[disk]\nhigh = 100%%\nlow = 99%%\n' >/etc/sbx/reap.d/disk.ini
}

# A repository with one commit where the manual has it.
host_git() {
	git config --global user.name test
	git config --global user.email test@localhost
	git config --global init.defaultBranch main
	git config --global advice.detachedHead false
	git init --quiet /srv/git/app
	echo 'the readme' >/srv/git/app/README.md
	git -C /srv/git/app add --all
	git -C /srv/git/app commit --quiet --message 'the first commit'
}

# A command of that name, of these lines.
host_command() {
	printf '#!/bin/sh\n%s\n' "$2" >"$host/bin/$1"
	chmod 755 "$host/bin/$1"
}
