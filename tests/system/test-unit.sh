#!/usr/bin/env bash
# Installed with `make install` on a booted systemd: the unit as it is does the whole job, of every kind
# of resource, and from inside its sandbox nothing else can be done.
#
#   tests/system/test-unit.sh [OPTION=VALUE]...    with further lines in the unit, to see what they break:
#                                                  'CapabilityBoundingSet=~CAP_KILL' ProtectSystem=no
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	: "${SBX_TEST_ENGINE:?the socket of an engine; scripts/test starts one}"
	lab_stage
	lab_install
	"${CC:-cc}" -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -o "$stage/probe" tests/system/sandbox_probe.c
	lab_boot --timeout 400 --bind "$(dirname "${SBX_TEST_ENGINE#unix://}"):/engine" \
		--setenv "SBX_TEST_ENGINE=unix:///engine/$(basename "$SBX_TEST_ENGINE")" -- "$@"
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces repo=/srv/git/app.git shared=/srv/shared paths=/var/tmp/sbx
slice=/sys/fs/cgroup/sbx.slice

# On tmpfs: on the lab's overlay a file and its directory are on different devices.
put_in_place() { # more lines for the unit
	mount -t tmpfs -o mode=755 tmpfs /srv
	mkdir -p "$paths" /etc/sbx/reap.d /run/systemd/system/sbx-reap.service.d
	mount -t tmpfs -o mode=755 tmpfs "$paths"
	cp -r /stage/etc /stage/usr /
	systemd-sysusers
	systemd-tmpfiles --create
	[ $# = 0 ] || printf '%s\n' '[Service]' "$@" >/run/systemd/system/sbx-reap.service.d/with.conf
	cat >/etc/sbx/reap.d/lab.ini <<-END
		[workspaces]
		repo = $repo
		path_root = $paths
		[policy]
		keep_ok = 0s
		[containers]
		engine = $SBX_TEST_ENGINE
		label = sbx.run-$HOSTNAME-$$
		[disk]
		high = 100%
		low = 99%
	END
	systemctl daemon-reload
}

# Below a directory that only root may pass, and nobody's: it is written as nobody.
make_repo() {
	git config --global user.name test
	git config --global user.email test@localhost
	git config --global --add safe.directory '*'
	mkdir -m 700 /srv/git
	git init --quiet /srv/git/seed
	echo /scratch/ >/srv/git/seed/.gitignore
	git -C /srv/git/seed add .gitignore
	git -C /srv/git/seed commit --quiet --message first
	git clone --quiet --bare /srv/git/seed "$repo"
	mkdir "$shared"
	echo precious >"$shared/file"
}

expired_run() { # run, more arguments of register
	git -C "$repo" worktree add --quiet -b "sbx/$1" "$root/$1" 2>/dev/null
	mkdir "$root/$1/scratch"
	sbx-reap register "$1" --repo "$repo" --created -30h --ttl 2h "${@:2}" >/dev/null
}

# The agents work as nobody, in trees and directories of their own.
agent() { # unit, tree
	systemd-run --quiet --uid=nobody --slice=sbx.slice --working-directory="$root/$2" --unit="$1" \
		sleep 1000
}

engine() { # curl options, and last the path of a request
	curl --silent --show-error --fail --max-time 60 --unix-socket "${SBX_TEST_ENGINE#unix://}" \
		-H 'Content-Type: application/json' "${@:1:$#-1}" "http://engine/v1.41/${*: -1}"
}

# Of every kind of resource one, and of each what needs one of the unit's capabilities.
make_whole() {
	local id
	mkdir "$paths/whole"
	touch "$paths/whole/file"
	expired_run whole --path "$paths/whole" --cgroup /sbx.slice/leak.service --scope leak.scope
	echo work >"$root/whole/new.txt"
	mkdir -m 1777 "$root/whole/scratch/sticky" && touch "$root/whole/scratch/sticky/file"
	mkdir "$root/whole/scratch/bound" && mkdir "$root/whole/scratch/memory"
	chown -R nobody:nogroup "$root/whole" "$paths/whole" "$repo"
	chmod 500 "$root/whole/scratch" "$paths/whole"
	chattr +a "$root/whole/scratch/sticky"
	mount --bind "$shared" "$root/whole/scratch/bound"
	mount -t tmpfs none "$root/whole/scratch/memory"
	agent leak.service whole
	systemd-run --quiet --scope --uid=nobody --slice=sbx.slice --unit=leak.scope sleep 1000 &
	within 20 systemctl is-active --quiet leak.scope
	id=$(engine -d "{\"Image\":\"sbx-test\",\"Cmd\":[\"sleep\",\"1000\"],\"Labels\":{\"$label\":\"whole\"}}" \
		containers/create | jq -r .Id)
	engine -X POST "containers/$id/start"
	sbx-reap finish whole --ok >/dev/null # now, since the container was made in the run's span
}

make_others() {
	expired_run occupied
	sbx-reap finish occupied --failed --at -29h >/dev/null
	agent stranger.service occupied
	git -C "$repo" worktree add --quiet -b sbx/overdue "$root/overdue" 2>/dev/null
	agent overdue.service overdue
	sbx-reap register overdue --repo "$repo" --created -3h --ttl 2h \
		--pid "$(systemctl show --property MainPID --value overdue.service)" >/dev/null
	chown -R nobody:nogroup "$repo"
}

within() { # seconds, command: until it holds
	local try
	for ((try = $1 * 10; try > 0; try--)); do
		"${@:2}" && return 0
		sleep 0.1
	done
	return 1
}

pass() { systemctl start sbx-reap.service || { journalctl --unit sbx-reap.service --no-pager | tail -n 30; false; }; }
gone() { [ ! -e "$1" ]; }
inactive() { ! systemctl is-active --quiet "$1"; }
mounts_in() { awk -v at="$root/$1/" 'index($5, at) == 1 { n++ } END { print n + 0 }' /proc/1/mountinfo; }
containers() { engine 'containers/json?all=1' | jq -r ".[].Labels[\"$label\"] // empty"; }
branches() { git -C "$repo" for-each-ref --format '%(refname:short)' "refs/heads/sbx/$1"; }
salvaged() { # run, file
	git -C "$repo" for-each-ref --format '%(refname)' "refs/sbx/salvage/$1" |
		while read -r ref; do git -C "$repo" show "$ref:$2"; done
}

the_whole_job() {
	check "one pass under the unit succeeds" pass
	check "the workspace goes, whoever owns it" gone "$root/whole"
	check "git's record of it goes" gone "$repo/worktrees/whole"
	check "and its branch" same '' "$(branches whole)"
	check "unsaved work was salvaged before" same work "$(salvaged whole new.txt)"
	check "as the repository's owner, who can go on with it" \
		same '' "$(find "$repo" ! -user nobody -o ! -group nogroup)"
	check "its container goes" same '' "$(containers)"
	check "its cgroup goes" gone "$slice/leak.service"
	check "its scope goes" inactive leak.scope
	check "its path goes" gone "$paths/whole"
	check "what was mounted in it is unmounted on the host" same 0 "$(mounts_in whole)"
	check "what was behind the mount is whole" same precious "$(cat "$shared/file")"
	check "a process of another user is seen to work in a tree, which stays" test -d "$root/occupied"
	check "an overdue run's process is stopped" inactive overdue.service
	check "and its tree stays" test -d "$root/overdue"
}

# What the probe says of each attempt, under the very options of the unit.
probe() {
	sed "s|^ExecStart=.*|ExecStart=/usr/bin/sandbox_probe $1|" /usr/lib/systemd/system/sbx-reap.service \
		>/run/systemd/system/sbx-probe.service
	cp -r /run/systemd/system/sbx-reap.service.d /run/systemd/system/sbx-probe.service.d
	install /stage/probe /usr/bin/sandbox_probe
	systemctl daemon-reload
	systemctl start sbx-probe.service || true
	journalctl --sync
	journalctl --unit sbx-probe.service --output cat --no-pager
}

refused() { # attempt, what it must answer
	same "$1 $2" "$(grep "^$1 " <<<"$answers")"
}

nothing_else() {
	local attempt
	answers=$(probe "$(systemctl show --property MainPID --value stranger.service)")
	for attempt in write-{etc,usr,home,srv,tmp,cgroup}; do
		check "it cannot $attempt" refused "$attempt" EROFS
	done
	for attempt in use-network use-network6 use-netlink use-packets; do
		check "it cannot $attempt" refused "$attempt" EAFNOSUPPORT
	done
	for attempt in mount unmount chroot new-namespace new-user enter-namespace trace read-memory \
		load-module load-bpf use-ring set-clock reboot set-hostname become-other own-other add-key \
		lock-memory raise-priority be-real-time make-device make-code gain-capability \
		gain-privileges; do
		check "it cannot $attempt" refused "$attempt" EPERM
	done
	check "nothing of that was done" bash -c '! ls -d /{etc,usr/sbin,root,srv,tmp}/sbx-reap.probe 2>/dev/null'
}

# A root that the unit does not know of, with a name that it has to quote.
elsewhere() {
	local other='/opt/own "100%" of it' said
	mount -t tmpfs -o mode=755 tmpfs /opt
	mkdir -p "$other/far"
	printf '[workspaces]\nroot = %s\n' "$other" >/etc/sbx/reap.d/other.ini
	sbx-reap register far --worktree "$other/far" --created -30h --ttl 2h --no-container >/dev/null
	sbx-reap finish far --ok --at -29h >/dev/null
	check "check finds a root that the unit may not write to" exits 1 sbx-reap check
	said=$(sbx-reap check || true)
	check "and names it" says 'unit .*may not write to /opt/own' "$said"
	sed -n '/\[Service\]/,$ s/^ *//p' <<<"$said" >/run/systemd/system/sbx-reap.service.d/paths.conf
	systemctl daemon-reload
	check "with the lines that it shows it is content" sbx-reap check
	check "and a pass succeeds" pass
	check "and removes what lies there" gone "$other/far"
}

inside() {
	label=sbx.run-$HOSTNAME-$$
	put_in_place "$@"
	make_repo
	make_whole
	make_others
	the_whole_job
	nothing_else
	elsewhere
	check "systemd-analyze finds it exposed by 2.3 of 10 at most" \
		systemd-analyze security --no-pager --threshold=23 sbx-reap.service
	tap_done
}

if [ "${1:-}" = --inside ]; then inside "${@:2}"; else outside "$@"; fi
