package manual

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/serve/flags"
)

// Shells are the shells for which Completion has a script.
var Shells = []string{"bash", "fish", "powershell", "zsh"}

// Completion returns the script that lets a shell complete the commands, their flags and the values of these; ""
// for a shell that is not in Shells.
func Completion(shell string, commands []flags.Command) string {
	switch shell {
	case "bash":
		return bash(commands)
	case "fish":
		return fish(commands)
	case "powershell":
		return powershell(commands)
	case "zsh":
		return zsh(commands)
	}
	return ""
}

// names returns the names of the commands.
func names(commands []flags.Command) (out []string) {
	for _, c := range commands {
		out = append(out, c.Name)
	}
	return append(out, "help")
}

func bash(commands []flags.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of cantle for bash: source <(cantle completion bash)
_cantle() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags=
	COMPREPLY=()
	if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "%s" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
`, strings.Join(names(commands), " "))
	reply := func(how string) string { return "COMPREPLY=($(compgen " + how + ` -- "$cur"))` }
	for _, c := range commands {
		fmt.Fprintf(&b, "\t%s)\n\t\tcase $prev in\n", c.Name)
		all := []string{"--help"}
		for _, x := range flagsOf(c) {
			all = append(all, x.Names...)
			does := ":"
			switch kindOf(x) {
			case nothing:
				continue
			case oneOf:
				does = reply(`-W "` + strings.Join(x.Choices, " ") + `"`)
			case aFile:
				does = reply("-f")
			case aFolder:
				does = reply("-d")
			}
			fmt.Fprintf(&b, "\t\t%s) %s; return ;;\n", strings.Join(x.Names, " | "), does)
		}
		fmt.Fprintf(&b, "\t\tesac\n\t\tflags=\"%s\"\n", strings.Join(all, " "))
		does := ":"
		switch kind, words := argumentsOf(c); kind {
		case oneOf:
			does = reply(`-W "` + strings.Join(words, " ") + `"`)
		case aFile:
			does = reply("-f")
		case aFolder:
			does = reply("-d")
		}
		fmt.Fprintf(&b, "\t\tcase $cur in -*) ;; *) %s ;; esac\n\t\t;;\n", does)
	}
	fmt.Fprintf(&b, "\thelp) %s ;;\n\tesac\n\tcase $cur in -*) %s ;; esac\n}\ncomplete -o filenames -F _cantle cantle\n",
		reply(`-W "`+strings.Join(names(commands), " ")+`"`), reply(`-W "$flags"`))
	return b.String()
}

func zsh(commands []flags.Command) string {
	var b strings.Builder
	b.WriteString("#compdef cantle\n# Completion of cantle for zsh: cantle completion zsh > \"${fpath[1]}/_cantle\"\n_cantle() {\n\tlocal -a commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "\t\t%s\n", quoted(c.Name+":"+c.Summary))
	}
	b.WriteString("\t\t'help:show the flags of a command'\n\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n" +
		"\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in\n")
	plain := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`)
	for _, c := range commands {
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments -S '--help[show the flags]'", c.Name)
		for _, x := range flagsOf(c) {
			for _, name := range x.Names {
				spec := name
				if kindOf(x) != nothing && strings.HasPrefix(name, "--") {
					spec += "="
				}
				spec += "[" + plain.Replace(brief(x)) + "]"
				switch kindOf(x) {
				case oneOf:
					spec += ":" + plain.Replace(x.Value) + ":(" + strings.Join(x.Choices, " ") + ")"
				case aFile:
					spec += ":file:_files"
				case aFolder:
					spec += ":folder:_files -/"
				case anything:
					spec += ":" + plain.Replace(x.Value) + ": "
				}
				if strings.Contains(x.Usage, "several times") || strings.Contains(x.Usage, "repeated") {
					spec = "*" + spec
				}
				fmt.Fprintf(&b, " \\\n\t\t\t%s", quoted(spec))
			}
		}
		switch kind, words := argumentsOf(c); kind {
		case oneOf:
			fmt.Fprintf(&b, " \\\n\t\t\t%s", quoted("1:argument:("+strings.Join(words, " ")+")"))
		case aFile:
			b.WriteString(" \\\n\t\t\t'*:argument:_files'")
		case aFolder:
			b.WriteString(" \\\n\t\t\t'*:argument:_files -/'")
		}
		b.WriteString("\n\t\t;;\n")
	}
	b.WriteString("\thelp) _describe command commands ;;\n\tesac\n}\n" +
		"if [ \"$funcstack[1]\" = _cantle ]; then _cantle \"$@\"; else compdef _cantle cantle; fi\n")
	return b.String()
}

func fish(commands []flags.Command) string {
	var b strings.Builder
	b.WriteString("# Completion of cantle for fish: cantle completion fish | source\ncomplete -c cantle -f\n")
	list := strings.Join(names(commands), " ")
	first := quoted("not __fish_seen_subcommand_from " + list)
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c cantle -n %s -a %s -d %s\n", first, c.Name, quoted(c.Summary))
	}
	fmt.Fprintf(&b, "complete -c cantle -n %s -a help -d 'show the flags of a command'\ncomplete -c cantle -n '__fish_seen_subcommand_from help' -a %s\n", first, quoted(list))
	for _, c := range commands {
		in := "complete -c cantle -n " + quoted("__fish_seen_subcommand_from "+c.Name)
		fmt.Fprintf(&b, "%s -l help -d 'show the flags'\n", in)
		for _, x := range flagsOf(c) {
			line := in
			for _, name := range x.Names {
				if long, ok := strings.CutPrefix(name, "--"); ok {
					line += " -l " + long
				} else {
					line += " -s " + name[1:]
				}
			}
			switch kindOf(x) {
			case oneOf:
				line += " -x -a " + quoted(strings.Join(x.Choices, " "))
			case aFile:
				line += " -r -F"
			case aFolder:
				line += " -x -a '(__fish_complete_directories)'"
			case anything:
				line += " -x"
			}
			fmt.Fprintf(&b, "%s -d %s\n", line, quoted(brief(x)))
		}
		switch kind, words := argumentsOf(c); kind {
		case oneOf:
			fmt.Fprintf(&b, "%s -a %s\n", in, quoted(strings.Join(words, " ")))
		case aFile:
			fmt.Fprintf(&b, "%s -F\n", in)
		case aFolder:
			fmt.Fprintf(&b, "%s -a '(__fish_complete_directories)'\n", in)
		}
	}
	return b.String()
}

func powershell(commands []flags.Command) string {
	var b strings.Builder
	b.WriteString(`# Completion of cantle for PowerShell: cantle completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName cantle -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $commands = [ordered]@{
`)
	apostrophes := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	for _, c := range commands {
		fmt.Fprintf(&b, "        %s = %s\n", apostrophes(c.Name), apostrophes(c.Summary))
	}
	b.WriteString("        'help' = 'show the flags of a command'\n    }\n    $flags = @{\n")
	var values []string
	for _, c := range commands {
		fmt.Fprintf(&b, "        %s = [ordered]@{ '--help' = 'show the flags'", apostrophes(c.Name))
		for _, x := range flagsOf(c) {
			for _, name := range x.Names {
				fmt.Fprintf(&b, "; %s = %s", apostrophes(name), apostrophes(brief(x)))
				if kindOf(x) == oneOf {
					values = append(values, fmt.Sprintf("        %s = %s\n", apostrophes(c.Name+" "+name), apostrophes(strings.Join(x.Choices, " "))))
				}
			}
		}
		b.WriteString(" }\n")
		if kind, words := argumentsOf(c); kind == oneOf {
			values = append(values, fmt.Sprintf("        %s = %s\n", apostrophes(c.Name+" "+c.Name), apostrophes(strings.Join(words, " "))))
		}
	}
	fmt.Fprintf(&b, `    }
    $values = @{
%s    }
    $words = @($commandAst.CommandElements | ForEach-Object { $_.ToString() })
    if ($wordToComplete -ne '') { $words = @($words | Select-Object -SkipLast 1) }
    $found = [ordered]@{}
    if ($words.Count -le 1) {
        $found = $commands
    } elseif ($values.ContainsKey("$($words[1]) $($words[-1])")) {
        foreach ($v in $values["$($words[1]) $($words[-1])"] -split ' ') { $found[$v] = $v }
    } elseif ($words[1] -eq 'help') {
        $found = $commands
    } elseif ($wordToComplete.StartsWith('-') -and $flags.ContainsKey($words[1])) {
        $found = $flags[$words[1]]
    }
    foreach ($name in $found.Keys) {
        if ($name.StartsWith($wordToComplete)) {
            [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $found[$name])
        }
    }
}
`, strings.Join(values, ""))
	return b.String()
}

// quoted quotes a text with apostrophes for shells of Unix.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
