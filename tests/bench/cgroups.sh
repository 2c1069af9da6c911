# shellcheck shell=bash
# A cgroup full of processes, until it is gone.

cgroups_rows() {
	row cgroup 0.7 names "a cgroup of $crowd processes, until it is gone" crowd '' 'ours each'
}

crowd_open() {
	place_open tmpfs
	workspaces_new "[policy]
keep_ok = 0s"
}

crowd_restore() { # contender
	mkdir -p "$group/crowd" "$root/crowded"
	mkdir "$group/crowd/crowded"
	"$bench/crowd" fill "$group/crowd/crowded" "$crowd"
	[ "$(wc -l <"$group/crowd/crowded/cgroup.procs")" = "$crowd" ]
	[ "$1" = ours ] || return 0
	reap register crowded --no-container --cgroup "/${group##*/}/crowd/crowded" --created -3h --ttl 1h
	reap finish crowded --ok --at -1h
}

crowd_command() { # contender
	names=$group/crowd
	case $1 in
	ours) command=("$reaper" --yes --config "$books/reap.ini") ;;
	each) command=("$bench/crowd" end "$group/crowd/crowded") ;;
	esac
}

crowd_proof() { # contender
	[ ! -e "$group/crowd/crowded" ] || complain 'the group is still there' || return
	[ "$1" != ours ] || nothing_left
}

crowd_close() {
	rmdir "$group/crowd"
	place_close
}
