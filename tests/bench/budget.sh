# shellcheck shell=bash
# Passes over very many files with a time budget.

budget_workspaces=$([ -n "$short" ] && echo 5 || echo 100)

budget_rows() {
	row budget-end 1.05 wall "a pass over $budget_files files with a budget of $budget_s s, beside the budget" \
		budget 'end' 'ours sleep' 1
	row budget-total 1.1 wall 'all passes with that budget, beside one without' budget 'total' 'ours whole' 1
}

budget_open() {
	place_open ext4 "$((budget_files / 2000 + 2000))M" $((budget_files + budget_files / 10 + 100000))
	# What is packed first would be measured otherwise, and packing begins anew in each pass.
	workspaces_new "[policy]
keep_ok = 0s
unsaved = discard
[limits]
time_budget = ${budget_s}s"
	sed 's/^time_budget = .*/time_budget = 1d/' "$books/reap.ini" >"$books/whole.ini"
}

budget_restore() { # contender, what
	local n files=$((budget_files / budget_workspaces))
	[ "$1" != sleep ] || return 0
	rm -rf "$root" "$books"/state.db*
	mkdir "$root"
	for ((n = 1; n <= budget_workspaces; n++)); do
		"$bench/make_tree" packages "$root/run-$n" "$files" $((files / 100 + 1)) empty
		reap register "run-$n" --no-container --created -3h --ttl 1h
		reap finish "run-$n" --ok --at -1h
	done
	place_settle
}

# A pass that leaves a run in the middle ends with 1.
# shellcheck disable=SC2016 # for the loop's own shell
budget_command() { # contender, what
	case $1-$2 in
	ours-end) command=(sh -c '"$@" || [ $? = 1 ]' sh "$reaper" --yes --config "$books/reap.ini") ;;
	ours-total) command=(sh -c 'for pass in $(seq 200); do
		"$1" --yes --config "$2" || [ $? = 1 ] || exit
		[ -n "$(find "$3" -mindepth 1 -not -name .sbx-trash -print -quit)" ] || exit 0
		done; exit 1' sh "$reaper" "$books/reap.ini" "$root") ;;
	sleep-*) command=(sleep "$budget_s") ;;
	whole-*) command=("$reaper" --yes --config "$books/whole.ini") ;;
	esac
}

budget_proof() { # contender, what
	case $1-$2 in
	ours-end) [ -n "$short" ] || [ "$(rows_of 'SELECT count(*) FROM run')" -gt 0 ] ||
		complain 'the budget was enough for all; --files wants more' ;;
	sleep-*) ;;
	*) nothing_left ;;
	esac
}

budget_close() { place_close; }
