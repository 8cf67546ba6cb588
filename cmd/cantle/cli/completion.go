package cli

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/flags"
)

const completionHelp = `Prints a script with which a shell completes the commands of cantle, their flags and the
values of flags. Packages install it; otherwise add this to the start file of the shell:

  bash         source <(cantle completion bash)
  zsh          source <(cantle completion zsh)
  fish         cantle completion fish | source
  powershell   cantle completion powershell | Out-String | Invoke-Expression
`

// Shells are the shells for which Completion has a script.
var Shells = []string{"bash", "fish", "powershell", "zsh"}

func completionVerb(f *pflag.FlagSet) action {
	return func(_ context.Context, s Streams) error {
		if f.NArg() != 1 || !slices.Contains(Shells, f.Arg(0)) {
			return usageErrorf("expected one of %s", strings.Join(Shells, ", "))
		}
		return Completion(s.Out, f.Arg(0))
	}
}

// withoutPackage is a part of the completion script for bash: it defines the two functions of the package
// bash-completion that the script uses, for machines on which the package is not installed.
//
//go:embed completion.bash
var withoutPackage string

// Completion prints the script by which a shell, one of Shells, completes the command line of cantle. To get the
// possible words, the script runs "cantle __complete".
func Completion(out io.Writer, shell string) error {
	root := &cobra.Command{Use: "cantle"}
	switch shell {
	case "bash":
		if _, err := fmt.Fprint(out, withoutPackage); err != nil {
			return err
		}
		return root.GenBashCompletionV2(out, true)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return root.GenZshCompletion(out)
}

// prepareCompletion defines which words complete the flags' values and the arguments of a command, and shortens the
// usage texts of flags, which shells print beside them.
func prepareCompletion(c *cobra.Command) {
	c.ValidArgsFunction = completeArguments
	c.Flags().VisitAll(func(x *pflag.Flag) {
		var value string
		value, x.Usage = pflag.UnquoteUsage(x)
		x.Usage = brief(x.Usage)
		if value == "file" {
			return // shells complete files if nothing else is defined
		}
		if x.Value.Type() == "func" {
			x.Value = repeatable{x.Value}
		}
		words, directive := flags.Choices(x), cobra.ShellCompDirectiveNoFileComp
		if value == "folder" {
			directive = cobra.ShellCompDirectiveFilterDirs
		}
		_ = c.RegisterFlagCompletionFunc(x.Name, cobra.FixedCompletions(words, directive)) // the flag exists
	})
}

// repeatable wraps the value of a flag so that completion offers the flag again after it was given: it seems to be a
// list.
type repeatable struct{ pflag.Value }

func (repeatable) GetSlice() []string { return nil }

// completeArguments returns the words that complete an argument of a command, as the command's usage names them: the
// words of "bash|zsh", or files, or folders.
func completeArguments(c *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, arguments, _ := strings.Cut(c.Use, " ")
	arguments = strings.TrimPrefix(arguments, "[flags] ")
	var words []string
	for alternative := range strings.SplitSeq(arguments, "|") {
		word, _, _ := strings.Cut(strings.TrimSpace(alternative), " ")
		if strings.Contains(arguments, "|") && !strings.HasPrefix(word, "URI") && word != "file" && word != "folder" {
			words = append(words, word)
		}
	}
	switch {
	case words != nil && len(before) == 0:
		return words, cobra.ShellCompDirectiveNoFileComp
	case strings.Contains(arguments, "file"), strings.Contains(arguments, ".json"):
		return nil, cobra.ShellCompDirectiveDefault
	case strings.Contains(arguments, "folder"):
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// briefMax is the maximum length of a description beside a completion.
const briefMax = 60

// brief returns the beginning of a flag's usage, for a list: up to the end of its first clause, and at most briefMax
// characters.
func brief(usage string) string {
	for _, end := range []string{". ", "; ", ": ", " (", ", such as "} {
		usage, _, _ = strings.Cut(usage, end)
	}
	if r := []rune(usage); len(r) > briefMax {
		usage = string(r[:briefMax-1]) + "…"
	}
	return usage
}
