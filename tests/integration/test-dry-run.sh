#!/usr/bin/env bash
# P10: a dry run is the run. Some hundred runs of every mixture (how it was told, how it ended, what
# its tree holds, who keeps it, what else it left), drawn from a printed seed: what --dry-run says of
# each, verdict and reason, is what the pass then does, and nothing else is touched. And of all the
# system calls that a dry run makes, none changes anything.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
command -v strace >/dev/null || tap_skip_all "strace is not installed"

seed=${SBX_TEST_SEED:-$((RANDOM * 32768 + RANDOM))} each=${SBX_TEST_RUNS:-40}
RANDOM=$((seed % 32768))
echo "# seed $seed, $each runs of each setting (SBX_TEST_SEED, SBX_TEST_RUNS)"

pick() { # variable, words
	local -n to=$1
	shift
	# shellcheck disable=SC2034 # it is the caller's
	to=${*:$((RANDOM % $# + 1)):1}
}

ago() { date --utc --date "@$(($(date +%s) - $1))" +%FT%TZ; }

# ------------------------------------------------------------------------------------ one run of many

make_tree() { # run, what it holds
	local tree
	tree=$(tree "$1")
	add_worktree "$1"
	case $2 in
	dirty) echo changed >>"$tree/README.md" ;;
	untracked) echo new >"$tree/new file" ;;
	ignored) mkdir "$tree/scratch" && echo x >"$tree/scratch/x" ;;
	unpushed) commit_work "$1" ;;
	detached)
		git -C "$tree" checkout --quiet --detach
		commit_work "$1"
		;;
	esac
}

# What happens to a tree after it was registered.
spoil_tree() { # run, what
	local tree
	tree=$(tree "$1")
	case $2 in
	half) rm -r "$tree/src" ;;
	no_pointer) rm "$tree/.git" ;;
	no_record) rm -r "$repo/worktrees/$1" ;;
	missing) rm -r "$tree" ;;
	replaced)
		mv "$tree" "$world/away-$1"
		cp -r "$world/away-$1" "$tree"
		;;
	link)
		mv "$tree" "$world/away-$1"
		ln -s "$world/away-$1" "$tree"
		;;
	esac
}

# shellcheck disable=SC2317 # called by name
keep_it() { # run, how
	case $2 in
	pin) reap pin "$1" --reason test >/dev/null ;;
	keep) : >"$root/$1.keep" ;;
	keep_ended) printf '[pin]\nuntil = %s\n' "$(ago 60)" >"$root/$1.keep" ;;
	keep_rubbish) echo '[pin' >"$root/$1.keep" ;;
	locked) git -C "$repo" worktree lock --reason 'a person' "$(tree "$1")" 2>/dev/null || true ;;
	esac
}

marker_of() { # run, created, outcome and end or nothing
	{
		printf '[run]\nid = %s\ncreated = %s\nttl = 2h\nrepo = %s\nbranch = sbx/%s\n' \
			"$1" "$(ago "$2")" "$repo" "$1"
		[ -z "${3:-}" ] || printf 'outcome = %s\nfinished = %s\n' "$3" "$(ago "$4")"
	} >"$root/$1.sbx"
}

tell_of() { # run, how it is told, how it ended
	local created=360000 outcome='' end=0
	case $3 in
	ok_young) outcome=ok end=60 ;;
	ok_old) outcome=ok end=7200 ;;
	failed_young) outcome=failed end=7200 ;;
	failed_old) outcome=failed end=180000 ;;
	active) created=600 ;;
	quiet) created=20000 ;;
	abandoned) ;;
	future) if [ "$2" = marker ]; then created=-900000; else created=600; fi ;; # none is registered so
	esac
	case $2 in
	row | both)
		register_run "$1" --created "@$(($(date +%s) - created))" --ttl 2h ${cgroup_of:+"${cgroup_of[@]}"}
		[ -z "$outcome" ] || reap finish "$1" "--$outcome" --at "@$(($(date +%s) - end))" >/dev/null
		[ "$2" = both ] || rm -f "$root/$1.sbx"
		;;
	marker) marker_of "$1" "$created" "$outcome" "$end" ;;
	rubbish) echo '[run' >"$root/$1.sbx" ;;
	nobody) ;;
	esac
}

make_run() { # run
	local told ended holds spoilt kept cgroup_of=()
	pick told row row row row both both both marker marker marker nobody rubbish
	pick ended ok_young ok_old ok_old ok_old failed_young failed_old failed_old active quiet abandoned \
		abandoned abandoned future
	pick holds clean clean clean dirty untracked ignored unpushed detached
	pick spoilt no no no no no no no no no half no_pointer no_record missing replaced link
	pick kept no no no no no no no no no no no pin keep keep_ended keep_rubbish locked
	make_tree "$1" "$holds"
	if ((RANDOM % 3 == 0)); then
		add_cgroup "$1"
		cgroup_of=(--cgroup "$cgroup_locator/$1")
	fi
	tell_of "$1" "$told" "$ended"
	spoil_tree "$1" "$spoilt"
	keep_it "$1" "$kept"
	if ((RANDOM % 12 == 0)) && [ -d "$(tree "$1")" ]; then # a stranger at work
		(cd "$(tree "$1")" && exec sleep 300) &
	fi
	echo "$1 $told $ended $holds $spoilt $kept ${cgroup_of[*]}" >>"$world/made"
}

# ----------------------------------------------------------------------------------- what was said

decisions() { jq -r '.runs[] | "\(.run) \(.verdict) \(.reason)"' "$1" | sort; }

# Whether what a workspace held before is what it holds now.
same_files() { # run
	local before after
	before=$(grep -F " $1/" "$world/before" || true)
	after=$(grep -F " $1/" "$world/after" || true)
	[ "$before" = "$after" ]
}

# A run that was to go and went, or one that was to stay and is as it was.
contradictions() { # report of the dry run, of the pass
	local run verdict result
	jq -r '.runs[] | "\(.run) \(.verdict) \(.result)"' "$2" | while read -r run verdict result; do
		case $verdict-$result in
		reap-reaped) [ ! -e "$(tree "$run")" ] || echo "$run: reaped, and its tree is there" ;;
		reap-partial) [ -e "$(tree "$run")" ] || echo "$run: partial, and its tree is gone" ;;
		stop-kept | keep-null) ;;
		*) echo "$run: $verdict, and the result is $result: $(jq -r --arg run "$run" \
			'.runs[] | select(.run == $run) | .error' "$2")" ;;
		esac
	done
	stands >"$world/after"
	# Verdicts may be equal and both wrong: what was kept is compared byte for byte.
	jq -r '.runs[] | select(.verdict == "keep") | .run' "$1" | while read -r run; do
		same_files "$run" || echo "$run: kept, and not as it was"
	done
}

# "HASH RUN/FILE" and "MODE RUN/FILE" of every workspace.
stands() {
	(
		cd "$root"
		find . -mindepth 1 -path './*/*' -type f -print0 | sort -z | xargs -0r sha256sum | sed 's|  \./| |'
		find . -mindepth 1 -path './*/*' -printf '%M:%i:%T@ %P\n' | sort
	)
}

# Calls that change something, among those that were traced; nothing: there is none.
changes() { # trace
	grep -aE '^([0-9]+ +)?[a-z_0-9]+\(' "$1" | sed -E 's/^[0-9]+ +//' | grep -avE ' = -1 E' | grep -aE \
		-e '^(unlink|unlinkat|rename|renameat|renameat2|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat)\(' \
		-e '^(mknod|mknodat|chmod|fchmod|fchmodat|fchmodat2|chown|fchown|lchown|fchownat|utime|utimes)\(' \
		-e '^(utimensat|futimesat|truncate|ftruncate|fallocate|creat|setxattr|lsetxattr|fsetxattr)\(' \
		-e '^(removexattr|lremovexattr|fremovexattr|mount|umount|umount2|move_mount|mount_setattr)\(' \
		-e '^(fsync|fdatasync|sync|syncfs|copy_file_range|sendfile|splice|flock|kill|tkill|tgkill)\(' \
		-e '^(pidfd_send_signal|execve|execveat|reboot|sethostname|clock_settime|settimeofday)\(' \
		-e '^(open|openat|openat2)\(.*O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)' \
		-e '^fcntl\(.*F_WRLCK' -e '^ioctl\(.*(SETFLAGS|SNAP_|SUBVOL)' \
		-e '^(write|writev|pwrite64|pwritev)\(([3-9]|[0-9]{2,}),' |
		grep -avE '^execve\("[^"]*sbx-reap"|"/dev/(null|tty)"|"/proc/self/[a-z_]*", O_RDWR' || true
}

# ------------------------------------------------------------------------------------------ the test

one_setting() { # [policy] unsaved
	local before
	# A pass of an earlier setting has left its rows; every setting has a database of its own.
	config=$world/$1.ini
	settings "$config" "[policy]
unsaved = $1"
	: >"$world/made"
	for ((i = 0; i < each; i++)); do
		make_run "$1-$i"
	done
	before=$(snapshot "$root" "$repo" "$world"/"$1".db*)
	stands >"$world/before"
	reap --dry-run --json >"$world/dry.json" || true
	check "unsaved = $1: a dry run leaves every byte and time of files, repository and database" \
		same "$before" "$(snapshot "$root" "$repo" "$world"/"$1".db*)"
	reap list --json >"$world/list.json" || true
	check "unsaved = $1: list says the same as --dry-run" \
		same "$(decisions "$world/dry.json")" "$(decisions "$world/list.json")"
	ASAN_OPTIONS=detect_leaks=0 strace -f -o "$world/trace" "$SBX_REAP" --dry-run --json \
		--config "$config" >"$world/traced.json" </dev/null 2>/dev/null || true
	check "unsaved = $1: traced, it says so too" \
		same "$(decisions "$world/dry.json")" "$(decisions "$world/traced.json")"
	check "unsaved = $1: none of its $(wc -l <"$world/trace") system calls changes anything" \
		same '' "$(changes "$world/trace" | head -n 20)"
	reap --json >"$world/pass.json" || true
	check "unsaved = $1: the pass decides each run as the dry run did, with the same reason" \
		same "$(decisions "$world/dry.json")" "$(decisions "$world/pass.json")"
	check "unsaved = $1: and that is what happened to each" \
		same '' "$(contradictions "$world/dry.json" "$world/pass.json")"
	echo "# $(jq -rs '.[0].runs | group_by(.reason) | map("\(length) \(.[0].reason)") | join(", ")' \
		"$world/dry.json")"
	check "unsaved = $1: of $each runs some go and some stay" test "$(jq --argjson few "$((each / 40))" \
		'.totals.reap > $few and .totals.keep > $few' "$world/dry.json")" = true
	rm -f "$root"/*.sbx "$root"/*.keep
	find "$root" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
	rm -rf "$repo/worktrees" # locked ones too
}

world_new ""
for unsaved in salvage keep discard; do
	one_setting "$unsaved"
done

# The tracer's filter itself: what a real pass does must be seen by it, or it would see nothing.
config=$world/filter.ini
settings "$config"
add_worktree seen
register_run seen --created -3h --ttl 1h
reap finish seen --ok --at -2h >/dev/null
ASAN_OPTIONS=detect_leaks=0 strace -f -o "$world/trace" "$SBX_REAP" --run seen --config "$config" \
	>/dev/null 2>&1 </dev/null || true
check "the same look at a real pass finds what it changes" \
	says 'renameat2' "$(changes "$world/trace")"
tap_done
