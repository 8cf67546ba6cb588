# Without the package bash-completion: its two functions that the script below uses.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
	_get_comp_words_by_ref() {
		local word
		words=("${COMP_WORDS[0]}")
		for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
			cword=$((${#words[@]} - 1))
			case $word/${words[cword]} in # bash splits words at these characters
			[=:]*/* | */*[=:]) words[cword]+=$word ;;
			*) words+=("$word") ;;
			esac
		done
		cword=$((${#words[@]} - 1)) cur=${words[cword]} prev=${words[cword-1]}
	}
fi
if ! declare -F _filedir >/dev/null; then
	_filedir() { compopt -o filenames 2>/dev/null; IFS=$'\n' read -rd '' -a COMPREPLY < <(compgen "${1:--f}" -- "$cur"); }
fi

