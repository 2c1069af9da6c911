# shellcheck shell=bash
# 200 runs in every state that a host has them in, told through the program's own verbs and files; on a host
# of its own (host.sh). What is asked about has a name; the rest has numbers.

ws=/srv/sbx/workspaces

hundreds_tree() { mkdir "$ws/$1" && echo work >"$ws/$1/file"; }

hundreds_time() { TZ=UTC printf '%(%Y-%m-%dT%H:%M:%SZ)T' $((EPOCHSECONDS - $1 * 60)); } # minutes ago

# A marker is a record as good as a row, and hundreds of them are written in a moment.
hundreds_marker() { # run, minutes since it began, more lines
	printf '[run]\nid = %s\ncreated = %s\nttl = 2h\nno_container = yes\n%b' "$1" \
		"$(hundreds_time "$2")" "${3:-}" >"$ws/$1.sbx"
}

hundreds_ended() { # run, minutes since then, outcome
	hundreds_marker "$1" $(($2 + 60)) "finished = $(hundreds_time "$2")\noutcome = $3\n"
}

hundreds_numbered() {
	local n
	for ((n = 1; n <= 41; n++)); do # over and due
		hundreds_tree "ok-$n" && hundreds_ended "ok-$n" 300 ok
	done
	for ((n = 1; n <= 60; n++)); do # failed lately, kept for a day
		hundreds_tree "failed-$n" && hundreds_ended "failed-$n" 180 failed
	done
	for ((n = 1; n <= 30; n++)); do # begun lately, quiet
		hundreds_tree "active-$n" && hundreds_marker "active-$n" 30
	done
	for ((n = 1; n <= 20; n++)); do # never said how they ended
		hundreds_tree "abandoned-$n" && hundreds_marker "abandoned-$n" 3000
	done
	for ((n = 1; n <= 15; n++)); do # nothing proves whose they are
		hundreds_tree "foreign-$n"
	done
	for ((n = 1; n <= 10; n++)); do # pinned by hand
		hundreds_tree "pinned-$n" && hundreds_ended "pinned-$n" 6000 failed
		printf '[pin]\nby = ada\nreason = look %s\n' "$n" >"$ws/pinned-$n.keep"
	done
	for ((n = 1; n <= 10; n++)); do # record and world contradict each other
		hundreds_tree "refused-$n" && hundreds_marker "refused-$n" 60 'id = again\n'
	done
	for ((n = 1; n <= 5; n++)); do # their clock was wrong
		hundreds_tree "clock-$n" && hundreds_marker "clock-$n" -2880
	done
}

# Those that somebody asks about.
hundreds_named() {
	git -C /srv/git/app worktree add -q -b sbx/dirty "$ws/dirty"
	sbx-reap register dirty --repo /srv/git/app --no-container --created -9h --ttl 1h >/dev/null
	echo precious >"$ws/dirty/notes"
	sbx-reap finish dirty --ok --at -8h >/dev/null
	hundreds_tree huge
	head -c 20M /dev/zero >"$ws/huge/core"
	sbx-reap register huge --no-container --created -30h --ttl 1h >/dev/null
	sbx-reap finish huge --failed --at -20h >/dev/null
	sbx-reap pin huge --by ben --reason 'the core dump' --for never >/dev/null
	hundreds_tree race
	sbx-reap register race --no-container --created -4h --ttl 1h >/dev/null
	sbx-reap finish race --failed --at -3h >/dev/null
	hundreds_tree lives
	sbx-reap register lives --no-container --ttl 2h --pid "$$" >/dev/null
	hundreds_tree late
	sleep 1000 &
	sbx-reap register late --no-container --created -9h --ttl 1h --pid $! >/dev/null
	hundreds_tree corrupt
	hundreds_ended corrupt 3000 failed
	printf 'rubbish' >"$ws/corrupt.keep"
	git -C /srv/git/app worktree add -q -b sbx/locked "$ws/locked"
	sbx-reap register locked --repo /srv/git/app --no-container --created -9h --ttl 1h >/dev/null
	sbx-reap finish locked --ok --at -8h >/dev/null
	git -C /srv/git/app worktree lock --reason 'ada looks at it' "$ws/locked"
	hundreds_tree stuck
	sbx-reap register stuck --no-container --created -9h --ttl 1h >/dev/null
	sbx-reap finish stuck --ok --at -8h >/dev/null
	mkdir "$ws/stuck/mounted"
	mkdir /srv/shared && touch /srv/shared/open
	mount --bind /srv/shared "$ws/stuck/mounted"
	tail -f "$ws/stuck/mounted/open" & # a mount in use is not detached
	hundreds_tree bare
	sbx-reap register bare --created -9h --ttl 1h >/dev/null # may have a container
	sbx-reap finish bare --ok --at -8h >/dev/null
}

hundreds() {
	hundreds_numbered
	hundreds_named
}
