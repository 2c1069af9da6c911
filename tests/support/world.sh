# shellcheck shell=bash
# A throw-away world for tests in shell. Source it, call world_new, then check() away, and tap_done at
# the end. Everything is removed on exit, also after a failure or a signal.
#
# Environment, set by scripts/run-tests: SBX_REAP, the program; SBX_TEST_ENGINE, an engine's socket.
# SBX_TEST_ID names the cgroup of a test in a pid namespace, where $$ is not its own on the host.

# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

: "${SBX_REAP:?the program to test; scripts/run-tests sets it}"

world='' cgroup='' cgroup_locator='' repo='' root=''
cgroup_mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)

# ---------------------------------------------------------------------------------------- the world

world_remove() {
	trap - EXIT
	trap '' INT TERM HUP
	local id
	for id in $(jobs -p); do
		kill -KILL "$id" || true
	done 2>/dev/null
	{ wait; } 2>/dev/null
	if [ -e "$world/containers" ]; then # written down as they were made
		while read -r id; do
			engine -X DELETE "containers/$id?force=1&v=1" >/dev/null 2>&1 || true # most are gone
		done <"$world/containers"
	fi
	[ -z "$cgroup" ] || cgroup_remove "$cgroup"
	[ -z "$world" ] || rm -rf --one-file-system "$world"
}

cgroup_remove() {
	local try
	[ ! -e "$1/cgroup.kill" ] || echo 1 >"$1/cgroup.kill"
	for ((try = 0; try < 200; try++)); do
		find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
		[ -d "$1" ] || return 0
		sleep 0.05
	done
	echo "# left behind: $1"
}

# Git without this machine's settings, and a bare repository with one commit.
world_repo() {
	export GIT_CONFIG_GLOBAL=$world/gitconfig GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
	git config --global user.name test
	git config --global user.email test@localhost
	git config --global init.defaultBranch main
	git config --global advice.detachedHead false
	git init --quiet "$world/seed"
	mkdir "$world/seed/src"
	echo 'the readme' >"$world/seed/README.md"
	echo 'int main(void) { return 0; }' >"$world/seed/src/main.c"
	echo '/scratch/' >"$world/seed/.gitignore"
	git -C "$world/seed" add --all
	git -C "$world/seed" commit --quiet --message 'the first commit'
	git clone --quiet --bare "$world/seed" "$repo"
}

# world_new [SETTING-LINES]: a root, a repository, a cgroup, and settings that know them.
world_new() {
	trap world_remove EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	world=$(mktemp -d) root=$world/workspaces repo=$world/repo.git
	chmod 755 "$world" # looked at by other users too
	mkdir "$root"
	cgroup_locator=/sbx-test-${SBX_TEST_ID:-$$}
	mkdir "$cgroup_mount$cgroup_locator"
	cgroup=$cgroup_mount$cgroup_locator
	world_repo
	settings "$world/reap.ini" "${1:-}"
}

settings() { # file, more lines: an own database for each file's name
	cat >"$1" <<-EOF
		[state]
		database = ${1%.ini}.db
		[workspaces]
		root = $root
		repo = $repo
		[cgroups]
		root = ${cgroup_locator#/}
		${2:-}
	EOF
	# How full the disk of this machine is shall change no test but those of that.
	[[ ${2:-} == *'[disk]'* ]] || printf '[disk]\nhigh = 100%%\nlow = 99%%\n' >>"$1"
}

# The program, by the world's settings. Never a terminal, so it acts.
reap() { "$SBX_REAP" "$@" --config "${config:-$world/reap.ini}" </dev/null; }

engine() { # curl options, and last the path of a request
	curl --silent --show-error --fail --max-time 60 --unix-socket "${SBX_TEST_ENGINE#unix://}" \
		-H 'Content-Type: application/json' "${@:1:$#-1}" "http://engine/v1.41/${*: -1}"
}

# ----------------------------------------------------------------------------------------- its runs

tree() { echo "$root/$1"; }

add_worktree() { # run
	git -C "$repo" worktree add --quiet -b "sbx/$1" "$(tree "$1")" >/dev/null 2>&1
}

commit_work() { # run: a commit of its own on its branch
	echo "the work of $1" >"$(tree "$1")/work.txt"
	git -C "$(tree "$1")" add --all
	git -C "$(tree "$1")" commit --quiet --message "$1: its work"
}

register_run() { # run, more arguments of register
	reap register "$1" --worktree "$(tree "$1")" --repo "$repo" --branch "sbx/$1" "${@:2}" >/dev/null
}

add_container() { # run; sets `container`
	container=$(engine -d "{\"Image\":\"sbx-test\",\"Labels\":{\"sbx.run\":\"$1\"}}" \
		"containers/create?name=$1" | jq -r .Id)
	echo "$container" >>"$world/containers"
}

add_cgroup() { mkdir "$cgroup/$1"; } # run; in /proc/PID/cgroup it is $cgroup_locator/RUN

containers_of_all() { engine 'containers/json?all=1' | jq -r '.[].Labels["sbx.run"] // empty'; }

# Everything that stands in the world but the database, with every byte and time.
snapshot() { # the path to look at, default: roots and repository
	[ $# -gt 0 ] || set -- "$root" "$repo"
	find "$@" -printf '%P %y %i %m %U %s %T@ %l\n' | sort
	find "$@" -type f -print0 | sort -z | xargs -0r sha256sum
}
