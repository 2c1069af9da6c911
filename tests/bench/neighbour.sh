# shellcheck shell=bash
# What a neighbour's work loses while a pass removes trees on the same disk: a compile, and a writer that waits
# for the disk after each block. The pass runs as sbx-reap.service has it.

neighbour_rows() { # at most 15 % of its rate is 1 / 0.85 of its time
	row neighbour 1.18 wall 'a compile and a writer with fsync, beside a pass' neighbour '' 'ours alone'
}

neighbour_open() {
	place_open ext4
	workspaces_new "[policy]
keep_ok = 0s"
	command -v gcc >/dev/null || unmeasured 'gcc is missing (scripts/install-deps build)'
}

neighbour_restore() { # contender
	local n files=$((neighbour_files / 10))
	rm -rf "$root" "$books"/state.db*
	mkdir "$root"
	[ "$1" = ours ] || { place_settle && return; }
	for ((n = 1; n <= 10; n++)); do
		"$bench/make_tree" packages "$root/run-$n" "$files" $((files / 20 + 1)) empty
		reap register "run-$n" --no-container --created -3h --ttl 1h
		reap finish "run-$n" --ok --at -1h
	done
	place_settle
	nice -n 10 ionice --class idle "$reaper" --yes --config "$books/reap.ini" >"$scratch/pass.log" 2>&1 </dev/null &
	pass=$!
}

# shellcheck disable=SC2016 # for the neighbour's own shell
neighbour_command() {
	command=(sh -ec '
		dd if=/dev/zero of="$1/written" bs=4k count="$2" oflag=dsync status=none &
		for n in $(seq "$3"); do
			gcc -O2 -std=gnu17 -D_GNU_SOURCE -DSBX_REAP_VERSION=\"0\" -Ireaper -I. -c reaper/os/rmtree.c -o "$1/object"
		done
		wait $!' sh "$place" "$neighbour_writes" "$neighbour_compiles")
}

neighbour_proof() { # contender
	[ -s "$place/written" ] && [ -s "$place/object" ] || complain 'the neighbour did not do its work' || return
	[ "$1" = ours ] || return 0
	if kill -KILL "$pass" 2>/dev/null; then
		wait "$pass" || true
	else
		[ -n "$short" ] || complain 'the pass was over before its neighbour'
	fi
}

neighbour_close() { place_close; }
