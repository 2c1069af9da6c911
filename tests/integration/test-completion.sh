#!/bin/bash
# Completion in a real bash, zsh and fish: each is asked what it offers behind a line, as a person does who
# presses the key. That the program itself offers what it takes comes first.
set -u
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"
cd "$(dirname "$0")/../.." || exit
completion=$PWD/units/completion

tell_runs() {
	local run
	for run in r1 r2 done1; do
		mkdir "$(tree "$run")"
		reap register "$run" --no-container >/dev/null
	done
	reap finish done1 --ok >/dev/null
	reap pin r2 --by ada >/dev/null
	mkdir "$(tree nobody)"
	printf '[run]\nid = told\ncreated = 2026-01-01T00:00:00Z\n' >"$root/told.sbx"
	touch "$root/kept.keep" "$root/no run.keep"
}

# ---------------------------------------------------------------------------------- the program

offers() { "$SBX_REAP" complete "$@" | cut -f 1 | sort | paste -sd' '; }
with_config() { offers --config "$world/reap.ini" "$@"; }

from_help() { # [verb]: its options; --version, which all have, is told of in the general help alone
	{
		echo --version
		"$SBX_REAP" "$@" --help | sed -n 's/^  *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
	} | sort -u | paste -sd' '
}

program() {
	local verb verbs
	verbs=$("$SBX_REAP" complete '' | cut -f 1)
	check "verbs are those of the help" same "$("$SBX_REAP" --help | grep -oE '^  [a-z]+ ' | tr -d ' ' | sort | paste -sd' ')" \
		"$(sort <<<"$verbs" | paste -sd' ')"
	for verb in $verbs; do
		check "the options of $verb are those of its help" same "$(from_help "$verb")" \
			"$(offers "$verb" -)"
	done
	check "an option that was given is not offered again" same '--yes' "$(offers --ye)$(offers --yes --ye)"
	check "one that may repeat is" same '--run' "$(offers --run r1 --ru)"
	check "runs are those on record, told of, or there" same 'done1 nobody r1 r2 told' "$(with_config why '')"
	check "as they begin" same 'r1 r2' "$(with_config why r)"
	check "behind an option" same 'r1 r2' "$(with_config --run r)"
	check "behind '='" same '--run=r1 --run=r2' "$(with_config --run=r)"
	check "those to unpin are the pinned ones" same 'kept r2' "$(with_config unpin '')"
	check "those to finish have no end" same 'r1 r2' "$(with_config finish '')"
	check "a run has its state beside it" same "$(printf 'done1\tok')" \
		"$("$SBX_REAP" complete --config "$world/reap.ini" why d)"
	check "states" same 'active claimed finished unregistered' "$(offers list --state '')"
	check "reasons, but not twice" same 'live,locked' "$(offers list --reason live,l)"
	check "keys turned round" same '-size -state' "$(offers list --sort -s)"
	check "columns" same 'run,by run,bytes' "$("$SBX_REAP" complete list --columns run,b | paste -sd' ')"
	check "the reason of a pin is nobody's to guess" same '' "$(offers pin r1 --reason '')"
	check "kinds" same 'container= cgroup=' "$("$SBX_REAP" complete forget r1 --resource c | sort -r | paste -sd' ')"
	check "files are the shell's" same ':files' "$(offers --plan '')"
	check "so are directories" same ':directories:directories' "$(offers restore r1 '')$(offers list --repo=/)"
	check "what is no verb has nothing" same '' "$(offers no-such '')"
}

quiet() {
	local before rubbish
	before=$(snapshot "$world")
	rubbish=$(printf 'x%.0s' {1..5000})
	check "wrong settings are no words on a terminal" same '' \
		"$("$SBX_REAP" complete why --config /no/such/file '' 2>&1)"
	check "nor is a line of rubbish" same '' "$("$SBX_REAP" complete why --"$rubbish" $'\e[31m' "$rubbish" 2>&1)"
	check "nothing at all is no error" exits 0 "$SBX_REAP" complete
	check "it changes nothing" same "$before" "$(with_config why '' >/dev/null; snapshot "$world")"
	cp "$world/reap.db" "$world/saved.db"
	printf 'rubbish' | dd of="$world/reap.db" conv=notrunc status=none
	check "a damaged database is no words either" same '' \
		"$("$SBX_REAP" complete --config "$world/reap.ini" why '' 2>&1)"
	mv "$world/saved.db" "$world/reap.db"
	sqlite3 "$world/reap.db" 'BEGIN EXCLUSIVE' \
		".shell touch $world/locked; until [ -e $world/go ]; do sleep 0.05; done" &
	until [ -e "$world/locked" ]; do sleep 0.02; done
	check "one that is locked is not waited for long" same '' \
		"$(timeout 60 "$SBX_REAP" complete --config "$world/reap.ini" why '' 2>&1)"
	touch "$world/go"
	wait
}

# ----------------------------------------------------------------------------------- the shells

# What bash puts in the place of the word under the cursor, by the function that `complete` names.
in_bash() { # a line
	bash --norc -c '
		. "$1"
		line=$2 COMP_WORDS=() COMP_LINE=$2 COMP_POINT=${#2}
		# As readline cuts it, with the default COMP_WORDBREAKS.
		while read -r word; do COMP_WORDS+=("$word"); done < <(grep -oE "[=:@]+|[^ =:@]+" <<<"$line")
		[[ $line != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		compopt() { :; } # readline is not there to be told
		function=$(complete -p sbx-reap | sed "s/.*-F \([^ ]*\) .*/\1/")
		"$function" sbx-reap "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$completion/sbx-reap.bash" "$1" 2>&1 | sort | paste -sd' '
}

in_fish() { fish --no-config -c "source $completion/sbx-reap.fish; complete -C '$1'" 2>&1 | cut -f 1 | sort | paste -sd' '; }

in_zsh() { # by a zsh on a terminal of its own, whose compadd writes down what it is given
	zsh -f "$world/ask.zsh" "$1" 2>&1 | sort | paste -sd' '
}

make_zsh() {
	cat >"$world/ask.zsh" <<-'END'
		zmodload zsh/zpty
		until_there() { # file
			local try
			for try in {1..600}; do [[ -e $1 ]] && return; sleep 0.1; done
			print "never came to $1"
			exit 1
		}
		say() { zpty -w shell "$1"; until_there "$2"; rm "$2"; }
		zpty shell zsh -f -i
		say "PS1= PS2=; fpath=(COMPLETION \$fpath); autoload -Uz compinit; compinit -u -d WORLD/dump; touch WORLD/1" \
			WORLD/1
		say 'compadd() { builtin compadd -O hits "$@"; (( $#hits )) && print -l -- $hits >>WORLD/hits; builtin compadd "$@" }; touch WORLD/2' WORLD/2
		say 'finish() { touch WORLD/4 }; zle -N finish; bindkey "^X" finish; bindkey "^I" complete-word; touch WORLD/3' WORLD/3
		: >WORLD/hits
		zpty -n -w shell "$1"$'\t\x18'
		until_there WORLD/4
		rm WORLD/4
		sort -u WORLD/hits
		zpty -d shell
	END
	sed -i "s|COMPLETION|$completion|; s|WORLD|$world|g" "$world/ask.zsh"
}

shells() {
	local shell
	mkdir -p "$world/bin" "$world/files/sub"
	touch "$world/files/plan.json"
	ln -s "$(realpath "$SBX_REAP")" "$world/bin/sbx-reap"
	export PATH=$world/bin:$PATH HOME=$world
	make_zsh
	for shell in bash fish zsh; do
		check "$shell: verbs" same 'pin pins probe' "$("in_$shell" 'sbx-reap p')"
		check "$shell: options" same '--since' "$("in_$shell" 'sbx-reap log --s')"
		check "$shell: runs" same 'r1 r2' "$("in_$shell" "sbx-reap --config $world/reap.ini why r")"
		check "$shell: pinned ones" same 'kept r2' "$("in_$shell" "sbx-reap --config $world/reap.ini unpin ")"
		check "$shell: words" same 'active,finished' "$("in_$shell" 'sbx-reap list --state active,f')"
		check "$shell: kinds" same 'worktree=' "$("in_$shell" 'sbx-reap forget r1 --resource w')"
		check "$shell: files" says "(^|/| )plan.json" "$("in_$shell" "sbx-reap --plan $world/files/p")"
		check "$shell: directories" says "(^|/| )sub" "$("in_$shell" "sbx-reap list --repo $world/files/")"
		check "$shell: and nothing else" exits 1 says plan.json "$("in_$shell" "sbx-reap list --repo $world/files/")"
		check "$shell: nothing for nothing" same '' "$("in_$shell" 'sbx-reap no-such ')"
	done
	check "bash: behind '='" same 'active,finished' "$(in_bash 'sbx-reap list --state=active,f')"
	check "fish: behind '='" same '--state=active,finished' "$(in_fish 'sbx-reap list --state=active,f')"
}

world_new ''
tell_runs
program
quiet
shells
tap_done
