#!/usr/bin/env bash
# The verbs that keep the books, with the real program: what they say, write, refuse and answer.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

out='' # of the last run of `got`

# Runs the program and checks its exit code; what it printed is in $out.
got() { # exit code, arguments
	local wanted=$1 code=0
	shift
	out=$(reap "$@" 2>&1) || code=$?
	same "exit $wanted" "exit $code" || {
		echo "$out"
		return 1
	}
}

got_and_says() { # exit code, pattern, arguments
	got "$1" "${@:3}" && says "$2" "$out"
}

# The books and everything beside them are byte for byte as they were.
changes_nothing() { # command
	local before after
	before=$(books)
	"$@"
	after=$(books)
	same "$before" "$after"
}

books() {
	snapshot "$root"
	sqlite3 -readonly "$world/reap.db" .dump
}

marker_has() { says "^$2\$" "$(cat "$root/$1.sbx")"; }
no_file() { [ ! -e "$1" ]; }
entries() { reap log "$1" --json | jq -r '.entries[].action' | paste -sd' '; }

usage_errors() {
	check "no arguments of a verb are a usage error" got_and_says 2 "needs a run" pin
	check "an unknown verb is a usage error that guesses" got_and_says 2 "is 'list' meant" lst
	check "a path traversal in a run id is a usage error" \
		got_and_says 2 "no run identifier" register ../../etc
	check "an option of another verb is a usage error" got_and_says 2 "does not go with" renew r --max 1
	check "help goes to standard output" \
		same "" "$(reap pin --help 2>&1 >/dev/null)"
	check "every verb has help" each_verb_has_help
	check "the version is told" got_and_says 0 '^sbx-reap [0-9]' --version
	check "a full standard output is an error" exits 1 full_output
}

each_verb_has_help() {
	local verb
	for verb in list why pin unpin pins register renew finish forget log hold resume salvages restore probe check stats; do
		got_and_says 0 "^Usage: sbx-reap $verb" "$verb" --help || return 1
	done
}

full_output() { reap --help >/dev/full; }

settings_errors() {
	local verb
	printf '[policy]\nttl = soon\n' >"$world/bad.ini"
	for verb in "" list "why r" "pin r" "unpin r" pins "register r" "renew r" "finish r --ok" \
		"forget r" log hold resume check; do
		# shellcheck disable=SC2086 # verb and operand
		config=$world/bad.ini check "bad settings are told by '$verb' with file and line" \
			got_and_says 65 'bad.ini:2: ' $verb
	done
	config=$world/gone.ini check "settings that are not there are an error" \
		got_and_says 65 'gone.ini' list
}

registering() {
	add_worktree r1
	check "a directory of the run's name is its worktree" \
		got_and_says 0 "^r1 registered: until .*worktree $root/r1, branch sbx/r1" register r1
	check "the marker names the repository" marker_has r1 "repo = $repo"
	check "the marker names the branch" marker_has r1 "branch = sbx/r1"
	check "the same call again is success" got_and_says 0 "was registered already" register r1
	git -C "$root/r1" switch --quiet --create other
	check "the branch stays that of the first call" \
		got_and_says 0 "already.*branch sbx/r1" register r1
	check "another worktree is refused and changes nothing" \
		changes_nothing got 1 register r1 --worktree "$root/r2"
	check "another creation time is refused and changes nothing" \
		changes_nothing got 1 register r1 --created -3h
	check "a worktree outside every root is refused and changes nothing" \
		changes_nothing got_and_says 2 "below no .* root" register r9 --worktree /tmp/r9
	check "a root itself is no worktree" \
		changes_nothing got 2 register r9 --worktree "$root"
	check "a path outside every root is refused" \
		changes_nothing got_and_says 2 "path_root" register r1 --path /var/lib
	check "a cgroup named by its directory is recorded by its path" \
		got_and_says 0 "cgroup $cgroup_locator/r1" register r1 --cgroup "$cgroup/r1"
	rm "$root/r1.sbx"
	check "a call that was killed before the marker is completed by the same call" \
		got 0 register r1
	check "the marker is there again" marker_has r1 "cgroup = $cgroup_locator/r1"
	check "a resource of another run is refused" \
		changes_nothing got_and_says 1 "r1" register r2 --cgroup "$cgroup_locator/r1"
}

registering_beside_markers() {
	printf '[run]\nid = hand\ncreated = 2026-01-02T03:04:05Z\nttl = 5h\n' >"$root/hand.sbx"
	check "registering what a marker records takes over its times" got 0 register hand
	check "the marker still says when it began" marker_has hand "created = 2026-01-02T03:04:05Z"
	echo rubbish >"$root/broken.sbx"
	check "a marker that cannot be read is refused and stays" \
		changes_nothing got_and_says 1 "broken.sbx" register broken
	check "forget is the way out of it" got_and_says 0 "is forgotten" forget broken
	check "then its marker is gone" no_file "$root/broken.sbx"
}

renewing_and_finishing() {
	got 0 register r3 --ttl 1h
	check "a heartbeat says until when" got_and_says 0 "^r3 renewed: until" renew r3
	check "renew --ttl moves the deadline" got_and_says 0 "(5h)" renew r3 --ttl 5h
	check "of an unknown run nothing can be renewed" got_and_says 1 "not on record" renew nobody
	check "of an unknown run no end can be recorded" got_and_says 1 "not on record" finish nobody --ok
	check "an end is recorded" got_and_says 0 "^r3 finished: failed" finish r3 --failed
	check "in the marker too" marker_has r3 "outcome = failed"
	check "the same end again is success" got_and_says 0 "already: failed" finish r3 --failed
	check "another end is refused and changes nothing" changes_nothing got 1 finish r3 --ok
	got 0 register r3b --created -2h
	check "an end before the beginning is refused and changes nothing" \
		changes_nothing got_and_says 1 "began at" finish r3b --ok --at -3h
	check "what is finished is not renewed" changes_nothing got 1 renew r3
	check "what is finished is not registered" changes_nothing got 1 register r3 --pid $$
	check "history has it all but heartbeats" same "registered renewed finished" "$(entries r3)"
}

markers_alone() {
	printf '[run]\nid = m1\ncreated = 2026-01-02T03:04:05Z\nttl = 5h\n' >"$root/m1.sbx"
	check "a marker has no place for a sign of life" \
		changes_nothing got_and_says 1 "marker alone" renew m1
	check "renew --ttl rewrites the marker" got_and_says 0 "(2h)" renew m1 --ttl 2h
	check "finish rewrites the marker" got 0 finish m1 --ok --at 2026-01-02T05:00:00Z
	printf '[run]\nid = m2\ncreated = 2026-01-02T03:04:05Z\n' >"$root/m2.sbx"
	check "an end before the beginning is refused here too" \
		changes_nothing got_and_says 1 "began later" finish m2 --ok --at 2026-01-02T03:00:00Z
	check "with the time given" marker_has m1 "finished = 2026-01-02T05:00:00Z"
	check "no row is made by that" same "" "$(entries m1)"
	check "the same end again is success" \
		changes_nothing got_and_says 0 already finish m1 --ok --at 2026-01-02T05:00:00Z
	check "another end is refused" changes_nothing got 1 finish m1 --failed
	check "its worktree cannot be forgotten alone" \
		changes_nothing got 1 forget m1 --resource "worktree=$root/m1"
}

forgetting() {
	got 0 register r4 --container c1 --container c2
	check "one resource can be forgotten" \
		got_and_says 0 "container c1 is forgotten" forget r4 --resource container=c1
	check "in the marker too" same "" "$(grep c1 "$root/r4.sbx")"
	check "twice is success" got_and_says 0 "was not on record" forget r4 --resource container=c1
	check "a run can be forgotten" got_and_says 0 "^r4 is forgotten" forget r4
	check "with its marker" no_file "$root/r4.sbx"
	check "what is not on record is forgotten with success" \
		got_and_says 0 "was not on record" forget r4
	add_worktree r5
	got 0 register r5
	check "forgetting removes nothing else" got 0 forget r5
	check "the tree stays" test -e "$root/r5/.git"
}

pinning() {
	check "a run that is not known is pinned, and it is said" \
		got_and_says 0 "no such run is known yet" pin early
	check "a known one is pinned until then" got_and_says 0 \
		'^r1 is pinned until .* \(1d\) by ann: look at it$' \
		pin r1 --for 1d --by ann --reason 'look at it'
	check "its file stands beside the workspace" test -f "$root/r1.keep"
	check "a pin without end says so" got_and_says 0 "without end" pin r2 --for never
	check "who pins is the user by default" says "by = $(id -un)" "$(cat "$root/r2.keep")"
	: >"$root/handmade.keep"
	check "all pins are listed, the mirrors once" \
		same "r1 early handmade r2" "$(reap pins --json | jq -r '.pins[].run' | paste -sd' ')"
	check "whether the run is known is told" same "true false false false" \
		"$(reap pins --json | jq -r '.pins[].known' | paste -sd' ')"
	printf '\0rubbish' >"$root/odd.keep"
	check "a pin is not written over what cannot be read" got_and_says 1 "pin of odd holds" pin odd
	check "so it is still there" says "rubbish" "$(tr -d '\0' <"$root/odd.keep")"
	check "a pin that cannot be read needs a person" got_and_says 1 "odd +unreadable" pins
	check "unpin ends it all the same" got_and_says 0 "odd is unpinned" unpin odd
	check "a pin leaves what somebody made by hand" \
		got_and_says 0 'handmade.keep is not of this pin' pin handmade --for 1h
	check "which keeps when the pin has ended" same "" "$(cat "$root/handmade.keep")"
	check "and those made by hand" got_and_says 0 "is unpinned" unpin handmade
	check "no file is left of it" no_file "$root/handmade.keep"
	check "unpin of nothing is success" got_and_says 0 "was not pinned" unpin handmade
}

# Several at once: all rows or none, and those that a filter chooses only when that is meant.
pinning_several() {
	got 0 register p1 --created -5d
	got 0 register p2 --created -4d
	got 0 finish p1 --failed --at -3d
	got 0 finish p2 --failed --at -2d
	add_worktree p2
	head -c 300000 /dev/urandom >"$root/p2/large"
	check "several are pinned by one call" got_and_says 0 '^p2 is pinned' pin p1 p2 p3 --for 5h
	check "each with its file beside it" test -f "$root/p1.keep" -a -f "$root/p2.keep"
	check "what is wrong with one name pins none" changes_nothing got 2 pin p1 p2 ../p4 --for never
	check "what holds most is listed first" same p2 "$(reap pins --json | jq -r '.pins[0].run')"
	check "with its bytes, and what is not there without" same 'true null' "$(reap pins --json | jq -r \
		'[(.pins[] | select(.run == "p2") | .bytes > 300000), (.pins[] | select(.run == "p3") | .bytes)] | map(tostring) | join(" ")')"
	check "and what ends within a day is marked" got_and_says 0 'p2 .*ends soon' pins
	check "a list says so, too" says '^the pin of p2 by .* \(in 4h' "$(reap list || true)"
	check "all that hold more than a limit are told of" held_too_much
	check "unpin of several, one of which had none" \
		got_and_says 0 '^p4 was not pinned' unpin p1 p2 p3 p4
	check "no file of them is left" no_file "$root/p2.keep"
	check "a filter that chooses several says which, and does nothing" changes_nothing \
		got_and_says 1 'these are 2 runs' pin --if-reason finished_failed --older 1d
	check "their names go to standard output" same 'p1 p2' \
		"$(reap pin --if-reason finished_failed --older 1d 2>/dev/null | paste -sd' ' || true)"
	check "with --yes they are pinned" got_and_says 0 '^p1 is pinned' \
		pin --if-reason finished_failed --older 1d --yes --for never
	check "one that is chosen alone needs no --yes" got_and_says 0 '^p1 is unpinned' \
		unpin --older 110h --state finished --if-reason pinned
	check "what cannot be seen may be one of them: that is told" seen_in_part
	check "what chooses none says so" got_and_says 0 'no run is like that' unpin --older 3650d
	check "no other one lost its pin" test -f "$root/p2.keep"
	add_worktree p5
	register_run p5 --created -4d
	got 0 finish p5 --failed --at -2d
	check "a filter chooses by repository, too" got_and_says 0 '^p5 is pinned' \
		pin --in-repo "$repo" --if-reason finished_failed
	check "none of another" got_and_says 0 'no run is like that' pin --in-repo /nowhere
	got 0 unpin p5
	got 0 forget p5
	git -C "$repo" worktree remove --force "$root/p5"
	got 0 unpin p2
	got 0 forget p1
	got 0 forget p2
	check "a pin of one that is not known yet keeps it when it is" later_is_kept
}

seen_in_part() {
	settings "$world/part.ini" $'[workspaces]\nroot = '"$world/gone"
	mv "$world/reap.db" "$world/part.db" && mv "$world/reap.db.stamp" "$world/part.db.stamp"
	config=$world/part.ini got_and_says 69 'p1 is pinned' pin --older 110h --state finished --for never --yes &&
		config=$world/part.ini got_and_says 69 'p1 is unpinned' unpin --older 110h --state finished --if-reason pinned --yes
	local code=$?
	mv "$world/part.db" "$world/reap.db" && mv "$world/part.db.stamp" "$world/reap.db.stamp"
	return "$code"
}

held_too_much() {
	settings "$world/few.ini" $'[policy]\npinned_bytes_warn = 100K'
	mv "$world/reap.db" "$world/few.db" && mv "$world/reap.db.stamp" "$world/few.db.stamp"
	config=$world/few.ini got_and_says 0 'pins hold [0-9]+K, more than pinned_bytes_warn = 100K' list &&
		config=$world/few.ini got_and_says 0 'more than pinned_bytes_warn = 100K$' pins
	local code=$?
	mv "$world/few.db" "$world/reap.db" && mv "$world/few.db.stamp" "$world/reap.db.stamp"
	return "$code"
}

later_is_kept() {
	got_and_says 0 'no such run is known yet' pin later && got 0 register later --created -9d --ttl 1h &&
		got_and_says 0 'later: keep, pinned' why later && got 0 unpin later && got 0 forget later
}

# The row stands when the file beside the workspace cannot be written.
pinning_without_a_mirror() {
	mkdir "$root/r6.keep" # a directory is in the way
	check "a mirror that cannot be written is told" got_and_says 1 "pin of r6 holds" pin r6
	check "and the pin stands" says '"run": "r6"' "$(reap pins --json 2>/dev/null || true)"
	rmdir "$root/r6.keep"
	got 0 unpin r6
}

reading() {
	check "the log is JSON of the promised form" jq -e \
		'.schema == 1 and (.entries | length > 5) and (.entries[0] | has("at") and has("action"))' \
		<(reap log --json)
	local now
	now=$(date --utc +%FT%TZ)
	# shellcheck disable=SC2016 # the variables are jq's
	check "the log can be cut by time" jq -e --arg now "$now" --slurpfile all <(reap log --json) \
		'all(.entries[]; .at >= $now) and (.entries | length) < ($all[0].entries | length)' \
		<(reap log --json --since "$now")
	check "an unprivileged reader makes no file" reads_without_privilege
}

reads_without_privilege() {
	local before
	before=$(find "$world" -printf '%P %y\n' | sort)
	"${unprivileged[@]}" "$program" log --config "$world/reap.ini" | grep -q registered &&
		"${unprivileged[@]}" "$program" pins --config "$world/reap.ini" | grep -q ann &&
		same "$before" "$(find "$world" -printf '%P %y\n' | sort)"
}

# A second root, and the first one's disk is away: a marker must not be made in the other one.
losing_a_root() {
	mkdir "$world/other"
	settings "$world/two.ini" "[workspaces]
root = $world/other"
	add_worktree r8
	config=$world/two.ini got 0 register r8
	mv "$root" "$root.away"
	config=$world/two.ini check "an end is recorded when the root is away, and that is said" \
		got_and_says 69 "root $root cannot be opened" finish r8 --ok
	config=$world/two.ini check "a pin too, with success: its row holds" got 0 pin r8
	check "nothing is written into another root" same "" "$(ls "$world/other")"
	mv "$root.away" "$root"
	config=$world/two.ini check "the same call again completes the marker" \
		got_and_says 0 "already: ok" finish r8 --ok
	check "in its own root" marker_has r8 "outcome = ok"
	config=$world/two.ini got 0 unpin r8
	config=$world/two.ini got 0 forget r8
}

hostile_names() {
	local long odd
	long=$(printf 'a%.0s' {1..200}) odd=$'odd\e[31m\nname\xff'
	mkdir "$root/$long" "$root/$odd"
	touch "$root/$odd.sbx"
	reap list >"$world/list" || true
	check "no byte of a name reaches the terminal" exits 1 grep -qP '[^\n\x20-\x7e]' "$world/list"
	check "it is escaped once" grep -qF "'odd\x1b[31m\x0aname\xff' is no run identifier" "$world/list"
	check "a long name does not push the other rows aside" \
		test "$(grep '^r1 ' "$world/list" | wc -c)" -lt 140
	check "in JSON the exact bytes stand beside" same "$(printf %s "$odd" | base64)" \
		"$(reap list --json | jq -r '.runs[] | .run_b64 // empty')"
	check "check says which file is bad" got_and_says 1 "$root/odd.x1b.*sbx$" check
	rm -r "$root/${long:?}" "$root/${odd:?}" "$root/$odd.sbx"
}

# Asks on a terminal, with this input.
on_terminal() { # input, arguments
	TERM=dumb script -qec "$SBX_REAP --config $world/reap.ini ${*:2}" /dev/null <<<"$1"
}

asking() {
	add_worktree r9
	got 0 register r9 --created -3h --ttl 1h
	got 0 finish r9 --ok --at -2h
	check "'no' on a terminal is success and changes nothing" \
		changes_nothing says "Nothing was changed" "$(on_terminal n --run r9)"
	check "--run of what nobody knows is told" got_and_says 0 "nothing is known of run r99" -n --run r99
	check "--yes does not ask" says "reaped +finished_ok" "$(on_terminal '' --yes --run r9)"
	check "why of a run that is gone shows its history" got_and_says 1 "reaped finished_ok" why r9
	check "but no text where JSON was asked for" \
		same "" "$(reap why r9 --json 2>/dev/null || true)"
	mkdir "$world/reap.db.lock.d"
	mv "$world/reap.db.lock" "$world/lock" && mv "$world/reap.db.lock.d" "$world/reap.db.lock"
	check "a lock that is no file is bad state" got_and_says 65 "reap.db.lock" --run r9
	rmdir "$world/reap.db.lock"
}

# What a person asks at night: what is it, from where is that known, what would change it, and now?
explaining() {
	add_worktree w1
	got 0 register w1 --created -3d --ttl 1h
	got 0 pin w1 --by ann --for 3d
	check "why says who keeps it, and where that stands" got_and_says 0 'pin +by ann, .* \[row\]' why w1
	check "and when that ends, and what becomes of it then" \
		got_and_says 0 "\(in (2d 23h|3d)\) the pin by ann ends: reap, abandoned" why w1
	check "a source for each time" got_and_says 0 'deadline .* ago\) \[row\]' why w1
	check "what follows is what happens" unpinned_is_reaped
	check "every command of ours is taken as it stands" commands_are_taken w1
	printf '[run\n' >"$root/w2.sbx"
	check "of a marker that is not whole no owner is to blame" not_says chown "$(reap why w2)"
	printf '[run]\nid = w2\ncreated = 2026-01-02T03:04:05Z\n' >"$root/w2.sbx"
	chmod 666 "$root/w2.sbx"
	check "a marker that others may write is refused" got_and_says 0 'w2: keep, refused' why w2
	check "the commands that are offered mend it" trusted_again
	rm "$root/w2.sbx"
}

not_says() { ! says "$@" >/dev/null; }
next_of() { reap why "$1" --json | jq -r '.next[].command'; }

unpinned_is_reaped() {
	got 0 unpin w1 && got_and_says 0 'w1: reap, abandoned' why w1 &&
		got_and_says 0 'somebody pins it: keep, pinned' why w1
}

commands_are_taken() { # run
	local command
	while read -r command; do
		says "^sbx-reap .* --config $world/reap.ini\$" "$command" || return 1
		eval "set -- ${command#sbx-reap}"
		"$SBX_REAP" "$@" --help >/dev/null || return 1
	done < <(next_of "$1")
}

trusted_again() {
	local command
	while read -r command; do
		case $command in ch*) eval "$command" || return 1 ;; esac
	done < <(next_of w2)
	got_and_says 0 'w2: reap, abandoned' why w2
}

# A name that is nobody's, but nearly somebody's.
guessing() {
	got 0 register agent-1042
	local verb
	for verb in "why" "renew" "finish --ok" "forget" "log" "restore" "unpin" "pin"; do
		[ "$verb" != unpin ] || got 0 pin agent-1042
		[ "$verb" != restore ] || salvaged agent-1042
		# shellcheck disable=SC2086 # verb and option
		check "'$verb' says which run may be meant" \
			says "is 'agent-1042' meant\\?" "$(reap $verb agent-1024 2>&1 || true)"
	done
	check "so does --run" got_and_says 0 "agent-1o42; is 'agent-1042'" -n --run agent-1o42
	check "a run that only the history knows is meant, too, where that is asked" \
		forgotten_is_guessed
	check "what may be meant is not done" says '^agent-1024 .*known' "$(reap pins)"
	got 0 unpin agent-1024
	sqlite3 "$world/reap.db" "DELETE FROM salvage WHERE run = 'agent-1042'"
}

salvaged() { # run: on the books alone
	sqlite3 "$world/reap.db" "INSERT INTO salvage (run, generation, made_s, form, tree, path, bytes)
		VALUES ('$1', 1, 1, 'archive', '/nowhere', '/nowhere/$1', 0)"
}

forgotten_is_guessed() {
	got 0 register build-77 && got 0 forget build-77 &&
		got_and_says 0 "is 'build-77' meant" log build-78 &&
		got_and_says 1 "'register' it first" renew build-78
}

register_with_closed_streams() { reap register closed 0<&- 1>&- 2>&-; }

closed_streams() {
	check "closed standard streams do not reach the database" register_with_closed_streams
	check "which is sound" got 0 check
}

all_at_once() {
	local i pids=()
	for i in {1..10}; do
		reap register "many$i" --container "c$i" >/dev/null 2>"$world/many$i.err" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || cat "$world"/many*.err
	done
	same 10 "$(reap log --json | jq '[.entries[] | select(.run // "" | startswith("many"))] | length')"
}

# Somebody holds the database for longer than anybody waits.
locked_database() {
	mkfifo "$world/hold"
	sqlite3 "$world/reap.db" <"$world/hold" &
	exec 9>"$world/hold"
	# With a time-out of its own, so that the look below cannot keep it from the lock.
	printf '.timeout 10000\nBEGIN EXCLUSIVE;\n' >&9
	local try
	for ((try = 0; try < 200; try++)); do
		sqlite3 -readonly "$world/reap.db" 'SELECT count(*) FROM run' >/dev/null 2>&1 || break
		sleep 0.05
	done
	check "a locked database is a failure that passes, and pin says what helps without it" \
		got_and_says 1 'r1 is NOT pinned.*r1.keep' pin r1
	exec 9>&-
	wait $!
}

losing_the_database() {
	check "check is content" got_and_says 0 "^ok +database" check
	check "a database is not made anew over one that is there" \
		got_and_says 65 "$world/reap.db" check --new-database
	rm "$world/reap.db"
	check "a lost database is told by check" got_and_says 65 "^bad +database" check
	check "a lost database is not an empty one" got 65 register r7
	check "a new one reads markers and pins in" \
		got_and_says 0 "new database .*: [0-9]+ runs, [0-9]+ pins and 0 salvages read in, 0 not" check --new-database
	check "a run is on record again" got_and_says 0 "worktree $root/r1" register r1
	check "its pin too" says '^r1 .* ann' "$(reap pins)"
	check "a run that was finished is finished" got_and_says 0 "already: failed" finish r3 --failed
	head -c 5000 /dev/urandom >"$world/reap.db"
	check "rubbish is no database" got 65 list
	check "and is not touched" same 5000 "$(stat -c %s "$world/reap.db")"
}

world_new ''
program=$world/sbx-reap # a build directory may be closed to others
cp "$SBX_REAP" "$program"
unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)
usage_errors
settings_errors
registering
registering_beside_markers
renewing_and_finishing
markers_alone
forgetting
pinning
pinning_several
pinning_without_a_mirror
reading
losing_a_root
hostile_names
asking
explaining
guessing
closed_streams
check "ten harnesses can register at once" all_at_once
locked_database
losing_the_database
tap_done
