#!/usr/bin/env bash
# What containers left behind that nobody looks after any more: `check` names it with a command that
# removes it, and nothing else with it. In namespaces of its own, where all that is seen was made here.
set -euo pipefail
if [ "${1:-}" != --inside ] && [ "$(id -u)" = 0 ]; then
	export SBX_TEST_ID=$$
	unshare --mount --net --pid --fork --kill-child --mount-proc -- "$0" --inside
	exit
fi
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ "$(id -u)" = 0 ] || tap_skip_all "only root can make namespaces and mounts"
[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

id=$(printf '%064d' 7) # as an engine gives them
other=$(printf '%064d' 8)

# A /run of our own, and a /sys that shows our network namespace.
own_places() {
	mount -t tmpfs tmpfs /run
	mkdir /run/cgroups
	mount --rbind /sys/fs/cgroup /run/cgroups
	mount -t sysfs sysfs /sys
	mount --rbind /run/cgroups /sys/fs/cgroup
	mkdir -p /run/runc /run/crun /run/netns /run/user/1000/crun
}

started() { awk '{ print $22 }' "/proc/$1/stat"; } # pid: its start, as runtimes note it

# In that group, and nobody's child: ours, who are the first process here. Sets `orphan`.
orphan_in() { # group below the world's
	mkdir -p "$cgroup/$1"
	(
		(
			echo 0 >"$cgroup/$1/cgroup.procs"
			exec sleep 300
		) &
		echo $! >"$world/orphan"
	)
	orphan=$(<"$world/orphan")
}

look() { said=$(reap check | awk '/^[a-z]/ { on = /leftover/ } on'); } # what is left behind
names() { says "$1" "$said"; }           # pattern
names_not() { exits 1 names "$1" 2>&1; } # pattern
looks_and() { look && "$@"; }
is_rooted() { [ "$(stat -L -c %d "/proc/$1/root" 2>/dev/null)" = "$(stat -c %d "$world/overlay/busy/merged")" ]; }
eventually() { # command...; the limit only ends what hangs
	local try
	for ((try = 0; try < 600; try++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	"$@"
}

runtime_states() {
	local pid
	look
	check "where nothing was left behind that is said" names 'ok +leftovers +no container left'
	sleep 300 &
	pid=$!
	mkdir /run/runc/{ended,reused,alive} /run/crun/{user,garbage,half,pipe,link} \
		/run/user/1000/crun/rootless '/run/crun/not a name'
	echo "{\"init_process_pid\":99999,\"init_process_start\":5}" >/run/runc/ended/state.json
	echo "{\"init_process_pid\":$pid,\"init_process_start\":5}" >/run/runc/reused/state.json
	echo "{\"init_process_pid\":$pid,\"init_process_start\":$(started "$pid")}" >/run/runc/alive/state.json
	echo '{"pid":99999,"process-start-time":5}' | tee /run/user/1000/crun/rootless/status \
		'/run/crun/not a name/status' >/run/crun/user/status
	head -c 4096 /dev/urandom >/run/crun/garbage/status
	echo '{"pid":99999,"process-st' >/run/crun/half/status
	mkfifo /run/crun/pipe/status
	ln -s ../user/status /run/crun/link/status
	look
	check "state of a container whose process has ended is named" \
		names '^ +runc --root /run/runc delete --force ended$'
	check "also where its number is another's now" \
		names '^ +runc --root /run/runc delete --force reused$'
	check "that of a living one is not" names_not alive
	check "crun's is, too" names '^ +crun --root /run/crun delete --force user$'
	check "and a user's, for that user to remove" names \
		'^ +setpriv --reuid 1000 --regid 65534 --clear-groups -- crun --root /run/user/1000/crun delete --force rootless$'
	check "what cannot be read is no finding" names_not 'garbage|half|pipe|link|not a name'
	rm -rf /run/runc/* /run/crun/* /run/user/1000/crun/*
	kill "$pid"
}

mounts() {
	local chrooted merged="$world/overlay2/it's/merged" busy=$world/overlay/busy/merged place
	for place in "$merged" "$busy"; do
		mkdir -p "$place" "$place.low" "$place.up" "$place.work"
		mount -t overlay -o "lowerdir=$place.low,upperdir=$place.up,workdir=$place.work" \
			overlay "$place"
	done
	cp /bin/busybox "$busy/"
	chroot "$busy" /busybox sleep 300 &
	chrooted=$!
	check "(a process has its root there)" eventually is_rooted "$chrooted"
	look
	check "the root of a container that no process has is named, however it is spelled" \
		names "umount \\\$'.*/overlay2/it.x27s/merged'\$"
	check "as one that an engine may still know" names 'if no engine knows it'
	check "and not one that a process has" names_not overlay/busy
	eval "$(grep -o 'umount .*overlay2.*' <<<"$said")"
	check "the command removes it" exits 32 mountpoint -q "$merged"
	kill "$chrooted"
	eventually umount "$busy"
}

networks() {
	local name
	for name in netns-ended netns-busy vpn; do
		: >"/run/netns/$name"
	done
	unshare --net=/run/netns/netns-ended true
	unshare --net=/run/netns/vpn true
	unshare --net=/run/netns/netns-busy sleep 300 &
	check "(a process is in one of them)" eventually mountpoint -q /run/netns/netns-busy
	ip link add veth0 type veth peer name far0
	ip link add bridge0 type bridge
	ip link add veth1 type veth peer name far1
	ip link set veth1 master bridge0
	look
	check "a container's network namespace without a process is named" \
		names '^ +ip netns delete netns-ended$'
	check "one with a process is not" names_not netns-busy
	check "nor one that somebody made by hand" names_not vpn
	check "a virtual Ethernet device that leads nowhere is named" names '^ +ip link delete veth0$'
	check "one in a bridge is not" names_not veth1
	ip netns delete netns-ended
	ip link delete veth0
	kill %%
	look
	check "the commands remove them" names_not 'netns-ended|veth0'
}

# Two with a parent who looks after them: one in the container itself, and one outside of it.
watched_processes() {
	(
		echo 0 >"$cgroup/machine/payload/cgroup.procs"
		sleep 300
		true
	) &
	mkdir -p "$cgroup/docker/$other"
	(
		sleep 300 &
		echo $! >"$cgroup/docker/$other/cgroup.procs"
		wait
	) &
	eventually grep -q . "$cgroup/docker/$other/cgroup.procs"
}

processes() {
	reap register r1 --cgroup "$cgroup_locator/r1" --no-container >/dev/null
	reap register r2 --no-container >/dev/null
	orphan_in "r1/libpod-$id"
	orphan_in other/payload
	orphan_in machine/payload
	mkdir "$cgroup/machine/supervisor"
	watched_processes
	look
	check "a container's process without its monitor is named" names "^ +podman rm --force $id\$"
	check "so is what is left of a machine of systemd-nspawn" names "^ +kill -KILL $orphan\$"
	check "but no group that is only called as theirs" names_not other/payload
	check "and none that somebody watches over" names_not "$other"
	check "why says so of the run whose cgroup it is in" says "podman rm --force $id" "$(reap why r1)"
	check "and not of another" exits 1 says podman "$(reap why r2)"
	reap finish r1 --ok >/dev/null
	reap --yes --run r1 >/dev/null
	look
	check "what is in a registered cgroup goes with its run" names_not "$id"
	check "and nothing else" kill -0 "$orphan"
}

monitors() {
	cp /bin/busybox "$world/conmon"
	(exec -a sleep "$world/conmon" 300) &
	check "a monitor that has lost its container is named" eventually looks_and names "^ +kill $!\$"
	kill %%
}

own_places
world_new '[policy]
keep_ok = 0s'
runtime_states
mounts
networks
processes
monitors
tap_done
