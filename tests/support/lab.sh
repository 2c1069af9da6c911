# For system tests: such a script runs twice, outside, where it has a systemd booted, and with --inside in
# there. Sourced from the root of the tree; brings tap.sh.
#
#   outside() {
#   	lab_stage
#   	lab_install
#   	lab_boot --timeout 300
#   }
#
# (Not joined by &&: set -e would not hold within, and without a stage the host would be installed to.)
#
# shellcheck shell=bash
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh

stage='' # outside: what the lab sees as /stage; it goes when the script ends

lab_stage() {
	[ "$(id -u)" = 0 ] || tap_skip_all "only root can boot a systemd"
	stage=$(mktemp -d)
	trap 'rm -rf "$stage"' EXIT
}

lab_install() { make -s -j"$(nproc)" DESTDIR="${stage:?}" install >&2; }

lab_boot() { # options of the lab [-- arguments behind --inside]
	local options=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
	[ $# = 0 ] || shift
	tests/lab/boot-lab.sh "${options[@]}" --bind-ro "$PWD" --bind "$stage:/stage" -- \
		bash "$PWD/tests/system/${0##*/}" --inside "$@"
}
