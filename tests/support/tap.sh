# shellcheck shell=bash
# TAP for tests in shell: check() for each sentence, tap_done at the end.

tap_count=0 tap_failed=0

tap_skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}

# check SENTENCE COMMAND...: the sentence holds when the command answers 0. What it prints is shown
# when it does not.
check() {
	local sentence=$1 output
	shift
	tap_count=$((tap_count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $tap_count - $sentence"
	else
		echo "not ok $tap_count - $sentence"
		printf '%s\n' "$*" "$output" | sed 's/^/# /'
		tap_failed=$((tap_failed + 1))
	fi
}

same() { # what was wanted, what is
	[ "$1" = "$2" ] && return 0
	printf 'wanted: %s\nfound:  %s\n' "$1" "$2"
	return 1
}

# Runs a command that must end with this exit code.
exits() {
	local wanted=$1 code=0
	shift
	"$@" || code=$?
	same "exit $wanted" "exit $code"
}

says() { # pattern, text
	grep -qE -- "$1" <<<"$2" && return 0
	printf 'nothing matches %s in:\n%s\n' "$1" "$2"
	return 1
}
