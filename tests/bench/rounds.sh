# shellcheck shell=bash
# Rows of the table, and how each is measured: its contenders in turn, in another order each round, each on
# a freshly restored place, whole processes from start to end. scripts/bench sources it, and the families.
#
# A family of rows is a word, and functions that begin with it. They get the row's terms and set -e holds:
#
#   FAMILY_open TERMS                  makes what all rounds need; `unmeasured WHY` when it cannot be had
#   FAMILY_restore CONTENDER TERMS     as before the work; not timed
#   FAMILY_command CONTENDER TERMS     sets `command`, which is timed; and `names`, a directory, when the
#                                      time counts until the last directory in it has left its place
#   FAMILY_proof CONTENDER TERMS       fails when the command did not do the whole work
#   FAMILY_close TERMS
#
# The first contender of a row is what is built here, the second is what the goal is a ratio to; the others
# must not be ahead of the first.

# Variables of scripts/bench: scratch, rounds, bench, out, trace.

rows=()
declare -gA row_goal=() row_metric=() row_title=() row_family=() row_terms=() row_contenders=() row_rounds=()

row() { # name, goal, wall|names|memory, what is measured, family, terms, contenders [rounds at most]
	rows+=("$1")
	row_goal[$1]=$2 row_metric[$1]=$3 row_title[$1]=$4
	row_family[$1]=$5 row_terms[$1]=$6 row_contenders[$1]=$7
	row_rounds[$1]=${8:-$rounds}
}

unmeasured() { # why; ends the measuring of this row
	printf '%s\n' "$*" >"$scratch/why"
	exit 77
}

complain() { # what is not as it should be
	printf '%s\n' "$*" >&2
	return 1
}

# One sample: row, round, contender, seconds, CPU seconds, KiB, seconds until the last name was free.
take_sample() { # row, round, contender, terms
	local name=$1 round=$2 contender=$3 family=${row_family[$1]} code=0 options=()
	shift 3
	command=() names=''
	"${family}_restore" "$contender" "$@"
	"${family}_command" "$contender" "$@"
	[ -z "$trace" ] || [ "$contender" != ours ] ||
		command=(strace --follow-forks --summary-only --summary-wall-clock --output "$out/$name.strace" "${command[@]}")
	[ -z "$names" ] || options=(--empty "$names")
	"$bench/timed" "$scratch/cost" "${options[@]}" "${command[@]}" \
		>"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
	if ! { [ "$code" = 0 ] && "${family}_proof" "$contender" "$@"; }; then
		echo "$contender: exit code $code, or not all of its work: ${command[*]}" >&2
		tail -n 5 "$scratch/err" >&2
		return 1
	fi
	printf '%s\t%s\t%s\t%s\n' "$name" "$round" "$contender" "$(tr ' ' '\t' <"$scratch/cost")" \
		>>"$scratch/samples.tsv"
}

# In a process of its own, so that what a family sets is gone with its row.
measure_rounds() { # row
	local name=$1 family=${row_family[$1]} round at contenders terms
	read -ra contenders <<<"${row_contenders[$name]}"
	read -ra terms <<<"${row_terms[$name]}"
	"${family}_open" "${terms[@]}"
	for ((round = 0; round < rounds && round < row_rounds[$name]; round++)); do
		for at in "${!contenders[@]}"; do
			take_sample "$name" "$round" "${contenders[(at + round) % ${#contenders[@]}]}" \
				"${terms[@]}"
		done
	done
	"${family}_close" "${terms[@]}"
}

# Says how it went in one line of rows.tsv.
measure() { # row
	local code=0 state=measured
	rm -f "$scratch/why"
	measure_rounds "$1" 2>"$scratch/said" & # called in a condition it would go on after what fails
	wait $! || code=$?
	case $code in
	0) ;;
	77) state="not measured: $(<"$scratch/why")" ;;
	*)
		state="error: $(tail -n 7 "$scratch/said" | tr '\n\t' '; ')"
		cp "$scratch/said" "$out/$1.err"
		;;
	esac
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "${row_goal[$1]}" "${row_metric[$1]}" "${row_title[$1]}" \
		"${row_contenders[$1]}" "$state" >>"$scratch/rows.tsv"
}
