#!/usr/bin/env bash
# What was reclaimed and why, with the real program: what it counts, what it says, and the page for the
# weekly review, opened in a real browser. SBX_STATS_PICTURE names a directory for pictures of that.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
browser=$(command -v chromium-headless-shell) || tap_skip_all "no chromium-headless-shell is installed"

# Days are counted, and none must end in the middle of it.
left=$((86400 - $(date +%s) % 86400))
[ "$left" -gt 280 ] || sleep "$left"

world_new ""
page=$world/page/review.html
mkdir "$world/page"

books() { sqlite3 "$world/reap.db" "$1"; } # SQL
figure() { reap stats --since 28d --json | jq -c "$1"; } # what of the JSON
utc() { date --utc --date "$1" +%F; }

# ------------------------------------------------------------------------------------ nothing is there

nothing_yet() {
	check "where there has never been a database there is nothing" same '0 0 0' \
		"$(reap stats --json | jq -r '"\(.total.reaped) \(.total.leaks) \(.there.all.runs)"')"
	check "and it makes none" test ! -e "$world/reap.db"
	reap stats --html "$page"
	check "a page of nothing is a page" grep -q '</html>' "$page"
}

# ----------------------------------------------------------------------------------------- real passes

by_real_passes() {
	for run in ended forgotten alive; do
		add_worktree "$run"
		register_run "$run" --created -4d --ttl 1h
	done
	reap finish ended --ok --at -1d
	reap renew alive --ttl 1d
	reap pin alive --reason 'the <b>demo</b>' >/dev/null
	head -c 3000000 /dev/urandom >"$(tree alive)/large"
	reap >/dev/null
	check "a pass is counted by its causes" same \
		'{"finished_uncleaned":[1,1],"abandoned":[1,1],"over_deadline":[0,0],"orphan":[0,0],"other":[0,0]}' \
		"$(figure '.total.causes | map({(.cause): [.leaks, .reaped]}) | add')"
	check "with what was freed" test "$(figure .total.bytes_freed)" -gt 0
	check "of how many that were on record" same 3 "$(figure .total.registered)"
	check "that is a rate" same 66.667 "$(figure .total.leak_percent)"
	check "all of it today" same "[\"$(utc now)\",2]" \
		"$(figure '.spans[-1] | [.from, .reaped]')"
	check "before today there was nothing" same 0 "$(figure '[.spans[:-1][].reaped] | add')"
	check "and before those days nothing is known" same null "$(figure .before)"
	check "what is there is measured" test "$(figure .there.all.bytes)" -gt 3000000
	check "and its pinned part" same true "$(figure '.there.pinned.bytes == .there.all.bytes')"
	check "the largest is named" same '["alive",true]' "$(figure '.there.largest[0] | [.run, .pinned]')"
	check "metrics count the same" same "$(books 'SELECT sum(runs), sum(bytes) FROM tally')" \
		"$(books "SELECT sum(runs), sum(bytes) FROM tally_day WHERE action != 'registered'")"
}

# ------------------------------------------------------------------------------------------ long history

# Three months, of which the same was done each day; the moments are hours before now.
make_history() {
	books "WITH RECURSIVE d(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM d WHERE i < 90),
		k(n, action, reason, size) AS (VALUES (14, 'registered', NULL, 0),
			(5, 'reaped', 'finished_ok', 2147483648), (2, 'reaped', 'abandoned', 805306368),
			(1, 'reaped', 'orphan', 104857600)),
		c(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM c WHERE j < 14)
		INSERT INTO history (at_s, run, generation, action, reason, bytes)
		SELECT (unixepoch() / 86400 - i) * 86400 + 3600, 'h' || i || '-' || n || '-' || j, 1, action,
			reason, size * (2 + i % 7) / 4 FROM d, k, c WHERE j <= n + (i * 7 % 4) * (n = 5);
		INSERT INTO history (at_s, run, generation, action, reason, bytes)
		SELECT (unixepoch() / 86400 - 9) * 86400 + 60 * value, 'late' || value, 1, 'stopped',
			'over_deadline', 0 FROM generate_series(1, 9);
		INSERT INTO history (at_s, run, generation, action, reason, bytes)
		SELECT (unixepoch() / 86400 - 8) * 86400 + 60 * value, 'late' || value, 1, 'reaped',
			'finished_failed', 3221225472 FROM generate_series(1, 9);"
}

wide_lines() { # text, width
	local line
	while IFS= read -r line; do
		[ "${#line}" -le "$2" ] || { echo "$line" && return 1; }
	done <<<"$1"
}

by_days() {
	local text
	make_history
	check "four weeks are told by days" same 28 "$(figure '.spans | length')"
	check "what was stopped leaked once" same '[9,9]' \
		"$(figure '.total.causes[] | select(.cause == "over_deadline") | [.leaks, .reaped]')"
	check "the days before are compared" same 392 "$(figure .before.registered)"
	check "a week is a week" same '[7,7]' \
		"$(reap stats --since 7d --json | jq -c '[.days, (.spans | length)]')"
	check "three months are told by weeks" same '[7,13]' \
		"$(reap stats --since 91d --json | jq -c '[.spans[0].days, (.spans | length)]')"
	check "totals are the sum of the bars" same true \
		"$(figure '.total.reaped == ([.spans[].reaped] | add) and .total.bytes_freed == ([.spans[].bytes_freed] | add)')"
	text=$(LC_ALL=C reap stats)
	check "the text has each day" same 28 "$(grep -c "^20..-..-..  " <<<"$text")"
	check "it fits 80 columns" wide_lines "$text" 80
	check "it is ASCII where nobody reads more" same '' "$(LC_ALL=C grep -P '[^\x20-\x7e]' <<<"$text")"
	check "with bars" says "^$(utc -9days) .*##" "$text"
	check "a moment may be named as such" same "\"$(utc -2days)\"" \
		"$(reap stats --since "$(utc -2days)T00:00:00Z" --json | jq .from)"
	check "what is no time is refused" exits 2 reap stats --since yesterday
	check "a page and JSON at once are refused" exits 2 reap stats --json --html "$page"
}

# A million rows more: only sums by days are read.
long_history() {
	local plan
	plan=$(books "EXPLAIN QUERY PLAN SELECT action, runs FROM tally_day WHERE day >= 20000 ORDER BY day, action, reason, cause")
	check "days are read from where they begin, in their order" same \
		"SEARCH tally_day USING PRIMARY KEY (day>?)" "$(tail -n 1 <<<"$plan" | sed 's/^[^S]*//')"
	check "there are few of them" test "$(books 'SELECT count(*) FROM tally_day')" -lt 500
}

# ------------------------------------------------------------------------------------------------ page

# What the browser makes of the page; what it complains of in $world/console.
look() { # more arguments
	timeout 300 "$browser" --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
		--user-data-dir="$world/browser" --enable-logging=stderr --log-level=0 "$@" "file://$page" \
		2>"$world/console"
}

element() { # id, of $world/dom: its text
	/usr/bin/python3 -c '
import html.parser, sys

class Reader(html.parser.HTMLParser):
    depth, text = 0, ""
    def handle_starttag(self, tag, attrs):
        if self.depth or dict(attrs).get("id") == sys.argv[1]:
            self.depth += 1
    def handle_endtag(self, tag):
        self.depth -= self.depth > 0
    def handle_data(self, data):
        self.text += data if self.depth else ""

reader = Reader()
reader.feed(open(sys.argv[2]).read())
print(" ".join(reader.text.split()))
' "$1" "$world/dom"
}

picture() { # name, more arguments
	look --hide-scrollbars --window-size=1200,1750 --screenshot="$world/$1.png" "${@:2}"
	[ -z "${SBX_STATS_PICTURE:-}" ] || cp "$world/$1.png" "$SBX_STATS_PICTURE/"
}

opened_in_a_browser() {
	local said
	said=$(reap stats --html "$page" 2>&1)
	check "a page is written without a word" same '' "$said"
	check "whole, readable for all, with nothing beside it" same 'review.html 644' \
		"$(find "$world/page" -mindepth 1 -printf '%f %m\n')"
	look --dump-dom >"$world/dom"
	check "a browser shows what was removed" same "$(figure .total.reaped)" "$(element gone)"
	check "and the leak rate" same "$(figure '.total.leak_percent * 10 | round / 10') in 100 runs" \
		"$(element leak-rate)"
	check "and what is pinned" says 'of all: pinned1' "$(element states)"
	check "and why there was something to reclaim" says 'over_deadline90\.3927' "$(element causes)"
	check "it draws a bar for each day, twice" same 56 "$(grep -o 'class="bar"' "$world/dom" | wc -l)"
	check "it has nothing to complain of" same '' "$(grep -i 'CONSOLE\|Refused\|net_error' "$world/console" || true)"
	picture light
	check "it can be looked at" test "$(stat --format %s "$world/light.png")" -gt 50000
	[ -z "${SBX_STATS_PICTURE:-}" ] || picture dark --blink-settings=preferredColorScheme=0
}

where_it_cannot_be_written() {
	check "a directory that is not there is an error" exits 1 reap stats --html "$world/none/page.html"
	ln -s "$world/none" "$world/page/link.html"
	mkfifo "$world/page/fifo"
	mknod "$world/page/null" c 1 3
	for name in link.html fifo null; do
		check "what is no file is not replaced: $name" exits 1 reap stats --html "$world/page/$name"
	done
	check "and they are what they were" test -L "$world/page/link.html" -a -p "$world/page/fifo" -a -c "$world/page/null"
	printf '[containers]\nengine = unix://%s/none.sock\n' "$world" >"$world/more"
	settings "$world/blind.ini" "$(cat "$world/more")"
	config=$world/blind.ini
	check "what could not be seen is told, and the exit code says so" exits 69 reap stats
	check "in the page, too" exits 69 reap stats --html "$page"
	check "by its name" grep -q "<td>containers at unix://$world/none.sock: " "$page"
	config=$world/reap.ini
}

nothing_yet
by_real_passes
by_days
long_history
opened_in_a_browser
where_it_cannot_be_written

tap_done
