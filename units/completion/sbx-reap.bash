# Completion of sbx-reap for bash. What may stand there the program says itself (sbx-reap complete).

_sbx_reap() {
	local cur='' word line glued='' i
	local -a words=()
	# bash cuts words at = : and @, and wants back what stands behind the last of them.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == [=:@]* && ${#words[@]} -gt 0 ]] || [[ -n $glued ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		[[ $word == [=:@]* ]] && glued=1 || glued=''
	done
	cur=${words[-1]} word=${words[-1]##*[=:@]}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) mapfile -t COMPREPLY < <(compgen -f -- "${cur#--*=}") && compopt -o filenames ;;
		:directories) mapfile -t COMPREPLY < <(compgen -d -- "${cur#--*=}") && compopt -o filenames ;;
		*)
			line=${line%%$'\t'*}
			COMPREPLY+=("${line:$((${#cur} - ${#word}))}")
			;;
		esac
	done < <(PATH=$PATH:/usr/sbin command sbx-reap complete "${words[@]/#\~\//$HOME/}" 2>/dev/null)
	# A locator follows at once, and so may another of some words.
	case ${COMPREPLY[0]:-} in *=) compopt -o nospace ;; esac
	((${#words[@]} < 2)) || word=${words[-2]}
	case $word in --state | --reason | --sort | --columns) compopt -o nospace ;; esac
	return 0
}

complete -F _sbx_reap sbx-reap
