#!/usr/bin/env bash
# sbx-reap check where something is missing: each said once, with what is lost and what would be right;
# and a pass does the rest.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
strace -o /dev/null true 2>/dev/null || tap_skip_all "strace cannot trace here"

# What systemd is known by, and neither a bus nor a journal; and no cgroup v2.
# shellcheck disable=SC2016 # expands elsewhere
without_much() { # command
	unshare --mount bash -c '
		umount --lazy "$0" && mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"' \
		"$cgroup_mount" "$@"
}

check_without() { # system call, its answer
	ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e "trace=$1" -e "inject=$1:error=$2" \
		"$SBX_REAP" check --config "$world/reap.ini" 2>&1 || true
}

lines() { grep -cE "$1" <<<"$2" || true; }

# word, loss, remedy, what was said: that is there, and in one finding.
once() {
	same 1 "$(lines "^(warn|bad ) +$1 " "$4")" && same 1 "$(lines "$2" "$4")" && same 1 "$(lines "$3" "$4")"
}

world_new ''
cat >>"$world/reap.ini" <<END
[containers]
engine = unix://$world/none.sock
END

said=$(reap check || true)
check "the kernel has all that is needed" says "^ok +kernel +Linux" "$said"
check "an engine that is dead" once containers 'its containers are unseen' 'start it, or take it out' "$said"

said=$(without_much "$SBX_REAP" check --config "$world/reap.ini" || true)
check "no cgroup v2" once 'cgroup v2' 'neither seen nor ended' 'mount -t cgroup2' "$said"
check "… which is said of nothing else" same 0 "$(lines '^[a-z]+ +cgroups ' "$said")"
check "no bus" once systemd 'cannot be stopped' 'systemctl start dbus.socket' "$said"
check "no journal" once journal 'is lost, but for sbx-reap log' 'systemctl start systemd-journald.socket' "$said"

said=$(check_without openat2 ENOSYS)
check "a kernel without openat2" once kernel 'nothing is read or removed' 'Linux 5.6 brought it' "$said"
said=$(check_without pidfd_open ENOSYS)
check "a kernel without pidfds" once kernel 'so nothing is looked at' 'Linux 5.3 brought it' "$said"
said=$(check_without landlock_create_ruleset ENOSYS)
check "a kernel without Landlock" once landlock 'without a second wall' 'lsm=landlock' "$said"
said=$(check_without faccessat,faccessat2 ENOENT)
check "a kernel without cgroup.kill" once cgroup.kill 'frozen and killed one by one' 'Linux 5.14 brought it' "$said"

add_worktree r1
register_run r1 --created -3h --ttl 1h --no-container
reap finish r1 --ok --at -2h >/dev/null
without_much "$SBX_REAP" --yes --config "$world/reap.ini" >"$world/out" 2>&1 || true
check "a pass without any of these does its work" test ! -e "$(tree r1)"
tap_done
