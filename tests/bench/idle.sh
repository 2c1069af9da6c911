# shellcheck shell=bash
# Passes in which nothing is due.

idle_rows() {
	row idle 1.0 wall "nothing due, $idle_runs workspaces on record, an engine configured" idle '' 'ours git'
	row idle-history 1.1 wall "the same runs with $history_rows rows of history" history '' 'ours few'
}

# So many worktrees of a small repository, on the books and alive.
idle_make() { # more settings
	local n
	workspaces_new "repo = $place/repo
${1:-}"
	repo_new 3
	repo_worktrees "$idle_runs"
	reap register run-1 --repo "$repo" --ttl 7d
	books_copy_run "$idle_runs"
}

# The past of runs that are gone, over the days before: three rows each.
books_add_history() { # database, rows
	sqlite3 "$1" <<-SQL
		WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < $2)
		INSERT INTO history (at_s, pass, run, generation, action, reason, bytes)
			SELECT unixepoch() - 86400 * 60 + n * 5000000 / $2, 'past', 'past-' || (n / 3), 1,
				CASE n % 3 WHEN 0 THEN 'registered' WHEN 1 THEN 'finished' ELSE 'reaped' END,
				CASE n % 3 WHEN 2 THEN 'finished_ok' END, 4096
			FROM number;
	SQL
}

idle_open() {
	engine_up podman
	place_open ext4
	idle_make "[containers]
engine = unix://$(<"$scratch/socket")"
	reap # the first pass notes what it sees
}

idle_restore() { place_settle; }

idle_command() { # contender
	case $1 in
	ours) command=("$reaper" --yes --config "$books/reap.ini") ;;
	git) command=(git -C "$repo" worktree list) ;;
	esac
}

idle_proof() { # contender
	case $1 in
	ours) grep -q "^$idle_runs runs: 0 reaped, .* $idle_runs kept" "$scratch/out" ||
		complain "not an idle pass: $(tail -n 1 "$scratch/out")" ;;
	git) [ "$(wc -l <"$scratch/out")" = $((idle_runs + 1)) ] || complain 'not all were listed' ;;
	esac
}

idle_close() {
	place_close
	engine_down podman
}

# --------------------------------------------------------------- the same, with a long history and a short one

history_open() {
	place_open ext4
	idle_make
	reap
	cp -a "$books" "$books.few"
	sed -i "s|$books/|$books.few/|" "$books.few/reap.ini"
	books_add_history "$books/state.db" "$history_rows"
	books_add_history "$books.few/state.db" 1000
}

history_restore() { place_settle; }

history_command() { # contender
	case $1 in
	ours) command=("$reaper" --yes --config "$books/reap.ini") ;;
	few) command=("$reaper" --yes --config "$books.few/reap.ini") ;;
	esac
}

history_proof() { idle_proof ours; }
history_close() { place_close; }
