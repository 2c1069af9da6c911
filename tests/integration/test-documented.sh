#!/bin/bash
# What the manual pages name is what the program has, and the other way round: verbs, options, exit codes,
# words, keys of markers and pins. The program is asked, by its help and by what it says is wrong. (Settings:
# unit/test_config_keys.c.)
set -u
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"
cd "$(dirname "$0")/../.." || exit

page=reaper/sbx-reap.8 marker_page=reaper/sbx-reap-marker.5

same_lists() { # two texts of lines, in any order
	local difference
	if [ -z "$1" ] || [ -z "$2" ]; then
		echo "there is nothing to compare"
		return 1
	fi
	difference=$(diff <(sort -u <<<"$1") <(sort -u <<<"$2")) && return 0
	printf '< %s   > %s\n%s\n' "$3" "$4" "$difference"
	return 1
}

# What of a section of a page stands between two patterns.
part() { # page, first line, last line
	sed -n "/^$2\$/,/^$3/p" "$1"
}

# ------------------------------------------------------------------------------ markers and pins

marker_says() { # name, lines: what the program says of that run
	printf '%b' "$2" >"$root/$1"
	reap why "${1%.*}" 2>&1
	rm "$root/$1"
}

page_keys() { # first line, last line: "key: the line below it"
	part "$marker_page" "$1" "$2" | awk '/^\.It Cm / { key = $3; getline; print key ": " $0 }'
}

keys_of() { cut -d: -f1 <<<"$1"; }

value_of() { # a value that the key can have
	case $1 in
	id) echo m1 ;;
	created | finished) echo 2026-01-01T00:00:00Z ;;
	ttl) echo 2h ;;
	repo) echo "$repo" ;;
	worktree | path) echo "$root/m1" ;;
	base) printf '%040d\n' 1 ;;
	outcome) echo ok ;;
	no_container) echo yes ;;
	cgroup) echo "$cgroup_locator/m1" ;;
	scope) echo m1.scope ;;
	*) echo word ;;
	esac
}

may_repeat() { # key: whether a marker may have it twice
	local whole='[run]\nid = m1\ncreated = 2026-01-01T00:00:00Z\n' value
	[[ $1 != id && $1 != created ]] || whole='[run]\n'
	value=$(value_of "$1")
	! grep -q 'may stand only once' <<<"$(marker_says m1.sbx "$whole$1 = $value\n$1 = $value\n")"
}

markers_agree() {
	local in_page key line
	in_page=$(page_keys '.Ss The marker' '.Ss Who may write it')
	check "every key of a marker is in sbx-reap-marker(5), and no other" same_lists \
		"$(marker_says m1.sbx '[run]\nid = m1\nno-such = 1\n' |
			sed -n '/no such key/{s/.*it has: *//p;q}' | tr ' ' '\n')" \
		"$(keys_of "$in_page")" program page
	while read -r line; do
		key=${line%%:*}
		if [[ $line == *'may repeat'* ]]; then
			check "$key may repeat" may_repeat "$key"
		else
			check "$key may stand once" exits 1 may_repeat "$key"
		fi
	done <<<"$in_page"
	check "id is required" says "'id' is missing" "$(marker_says m1.sbx '[run]\ncreated = @1\n')"
	check "created is required" says "'created' is missing" "$(marker_says m1.sbx '[run]\nid = m1\n')"
	check "nothing else is" same 'id created' "$(sed -n 's/: Required.*//p' <<<"$in_page" | paste -sd' ')"
	in_page=$(page_keys '.Ss The pin' '.Sh EXAMPLES')
	check "every key of a pin is in the page, and no other" same_lists \
		"$(marker_says m1.keep '[pin]\nno-such = 1\n' |
			sed -n '/a pin has /{s/.*a pin has //;s/ and /, /;s/, /\n/gp;q}')" \
		"$(keys_of "$in_page")" program page
}

# ------------------------------------------------------------------------------ verbs and options

program_verbs() { "$SBX_REAP" --help | sed -n '/^$/,$s/^  \([a-z]\{1,\}\)  *[a-z].*/\1/p'; }

program_options() { # [verb]: "--run RUN"
	"$SBX_REAP" "$@" --help | sed -n 's/^  *\(-[a-z], \)\{0,1\}\(--[a-z-]\{1,\}\( [A-Z][A-Z=]*\)\{0,1\}\)  *.*/\2/p'
}

# Those that go with every verb stand in no synopsis.
common() { grep -vxE -- '--(help|version|config FILE)'; }

# "--run RUN" of mdoc; what a verb does not say of the value of an option another one may.
options_in() {
	grep -oE 'Fl -[a-z-]+( Ar [A-Z]+( Ns = Ns Ar [A-Z]+)?)?' | sed 's/^Fl /-/; s/ Ar / /; s/ Ns = Ns Ar /=/'
}

synopsis_options() { # [verb]; of the default one what stands before the first verb
	part "$page" '.Sh SYNOPSIS' '.Sh DESCRIPTION' | sed 's/Fl -for Cm never//' | awk -v verb="${1:-}" '
		/^\.Nm/ { now = "" } /^\.Cm / { now = $2 } now == verb' | options_in
}

described_options() { part "$page" '.Ss Options' '.Ss The table' | grep '^\.It Fl' | options_in; }

names() { cut -d' ' -f1; }
tick='`'

verbs_agree() {
	local verbs verb options all
	verbs=$(program_verbs)
	check "every verb is in the page's synopsis, and no other" same_lists "$verbs" \
		"$(part "$page" '.Sh SYNOPSIS' '.Sh DESCRIPTION' | sed -n 's/^\.Cm \([a-z]*\)$/\1/p')" program page
	check "every verb is described, and no other" same_lists "$verbs" \
		"$(part "$page" '.Ss Verbs' '.Ss Options' | sed -n 's/^\.It Cm \([a-z]*\).*/\1/p')" program page
	check "every verb is in the README" same_lists "$verbs" \
		"$(part README.md '## The verbs' '## ' | grep '^|' | grep -oE "${tick}[a-z]+[${tick} ]" |
			tr -d "$tick " | grep -xF "$verbs")" program README
	options=$(program_options)
	check "the options of a pass are in the synopsis, and no others" same_lists \
		"$(common <<<"$options")" "$(synopsis_options)" program page
	all=$options
	for verb in $verbs; do
		options=$(program_options "$verb")
		all+=$'\n'$options
		options=$(common <<<"$options")
		[ -n "$options$(synopsis_options "$verb")" ] || continue
		check "the options of $verb are in its synopsis, and no others" same_lists \
			"$options" "$(synopsis_options "$verb")" program page
	done
	check "every option is described in the page, and no other" same_lists "$(names <<<"$all")" \
		"$(described_options | names)" program page
}

# ------------------------------------------------------------------------------ one screen

fits() { # lines, words
	local help
	help=$("$SBX_REAP" "${@:2}" --help)
	awk -v most="$1" 'length > 80 { print "longer than 80: " $0; bad = 1 }
		END { if (NR > most) print NR " lines"; exit NR > most || bad }' <<<"$help"
}

# On a terminal of 24 lines the prompt stands below.
helps_fit() {
	local verb
	check "the help is 40 lines of 80" fits 40
	for verb in $(program_verbs); do
		check "that of $verb fits a screen" fits 23 "$verb"
	done
}

# ------------------------------------------------------------------------------ exit codes, words

exit_codes_agree() {
	local codes
	codes=$(sed -n 's/^\tEXIT_[A-Z]* = \([0-9]*\).*/\1/p' reaper/exit_code.h)
	codes+=$'\n'$(sed -n 's/^\tEXIT_USAGE = \([0-9]*\).*/\1/p' reaper/exit_code.h)
	check "every exit code is in the page, and no other" same_lists "$codes" \
		"$(part "$page" '.Sh EXIT STATUS' '.Sh EXAMPLES' | sed -n 's/^\.It \([0-9]*\)$/\1/p')" program page
}

# What an option says to a word that it does not know.
words_of() { "$SBX_REAP" list "$1" no-such 2>&1 | sed -n 's/.* are //p' | sed 's/, /\n/g'; }

words_agree() {
	check "every reason is in the page, and no other" same_lists "$(words_of --reason)" \
		"$(part "$page" '.Ss Reasons' '.Ss Limits of a plan' | sed -n 's/^\.It Cm //p' | sed 's/ , /\n/')" \
		program page
	check "every column is in the page, and no other" same_lists "$(words_of --columns)" \
		"$(part "$page" '.Ss The table' '.Ss Reasons' | sed -n 's/^\.It Cm //p' | tr '[:upper:]' '[:lower:]')" \
		program page
	check "every state is in the page" same_lists "$(words_of --state)" \
		"$(grep -A 4 '^only runs in these states\|^show only runs in these states' "$page" |
			sed -n 's/^\.Pq Cm \(.*\) ,$/\1/p' | sed 's/ , /\n/g')" program page
	check "every key of --sort is in the page" same_lists "$(words_of --sort)" \
		"$(part "$page" '.It Fl -sort Ar KEYS' '.It Fl -columns' | sed -n '/^the order, by/,/^\.Ql/p' |
			sed -n 's/^\.Cm //p' | sed 's/ ;$//; s/ , /\n/g')" program page
}

world_new ''
markers_agree
verbs_agree
helps_fit
exit_codes_agree
words_agree
tap_done
