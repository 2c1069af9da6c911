# shellcheck shell=bash
# Looking: the list of very many workspaces, and the sizes of large ones.

list_rows() {
	row list 1.0 wall "list --json of $listed workspaces" list '' 'ours dump'
	row list-memory 1.0 memory "memory of it, the peer's and 200 bytes a run" list '' 'ours dump'
	row sizes 0.6 wall "sizes of $sized workspaces of $sized_files files" sizes '' 'ours du'
}

# Directories, markers and rows as register makes them, the first by itself.
list_open() {
	place_open ext4
	workspaces_new
	seq -f "$root/run-%.0f" "$listed" | xargs mkdir
	reap register run-1 --no-container --ttl 7d
	books_copy_run "$listed"
	place_warm "$root"
}

list_restore() { place_settle; }

# shellcheck disable=SC2016 # for the peer's own shell
list_command() { # contender
	case $1 in
	ours) command=("$reaper" list --json --config "$books/reap.ini") ;;
	dump) command=(sh -ec 'ls -lR --color=never "$1"; sqlite3 "$2" .dump' sh "$root" "$books/state.db") ;;
	esac
}

list_proof() { # contender
	case $1 in
	ours) [ "$(jq '[.runs[] | select(.verdict == "keep" and .reason != "refused")] | length' "$scratch/out")" = \
		"$listed" ] || complain 'not all were listed as they are' ;;
	dump) [ "$(grep -c '^INSERT INTO run ' "$scratch/out")" = "$listed" ] || complain 'not all were dumped' || return
		# what the goal grants a run, on top of what the peer needs
		awk -v more=$((listed * 200 / 1024)) '{ $3 += more; print }' "$scratch/cost" >"$scratch/cost.more"
		mv "$scratch/cost.more" "$scratch/cost" ;;
	esac
}

list_close() { place_close; }

# ------------------------------------------------------------------------------- sizes of large ones

sizes_open() {
	local n
	place_open ext4
	workspaces_new
	for ((n = 1; n <= sized; n++)); do
		"$bench/make_tree" packages "$root/run-$n" "$sized_files" $((sized_files / 20))
	done
	reap register run-1 --no-container --ttl 7d
	books_copy_run "$sized"
	place_warm "$root"
}

sizes_restore() { place_settle; }

# shellcheck disable=SC2016 # for the peer's own shell
sizes_command() { # contender
	case $1 in
	ours) command=("$reaper" list --json --size --config "$books/reap.ini") ;;
	du) command=(sh -ec 'for tree in "$1"/run-*; do [ -f "$tree" ] || du --summarize --block-size=1 "$tree"; done' \
		sh "$root") ;;
	esac
}

# Files and directories of a tree, by du; directories are no part of what is said here.
sizes_proof() { # contender
	local size
	case $1 in
	ours) size=$(jq '[.runs[].bytes] | add' "$scratch/out") ;;
	du) size=$(awk '{ all += $1 } END { printf "%.0f", all }' "$scratch/out") ;;
	esac
	[ "$size" -gt $((sized * sized_files * 2048)) ] || complain "too small: $size"
}

sizes_close() { place_close; }
