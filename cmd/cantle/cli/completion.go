package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/manual"
	"github.com/cantledb/cantle/cmd/cantle/tikvengine"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

const completionHelp = `Prints a script with which a shell completes the commands of cantle, their flags and the
values of flags. Packages install it; otherwise add this to the start file of the shell:

  bash         source <(cantle completion bash)
  zsh          source <(cantle completion zsh)
  fish         cantle completion fish | source
  powershell   cantle completion powershell | Out-String | Invoke-Expression
`

// Commands returns all commands of the program, including serve.
func Commands() []flags.Command {
	out := []flags.Command{daemon.Command(tikvengine.Engine())}
	for _, v := range Verbs() {
		out = append(out, v.Command())
	}
	return out
}

func completionVerb(f *pflag.FlagSet) action {
	return func(_ context.Context, s Streams) error {
		if f.NArg() != 1 || !slices.Contains(manual.Shells, f.Arg(0)) {
			return usageErrorf("expected one of %s", strings.Join(manual.Shells, ", "))
		}
		_, err := fmt.Fprint(s.Out, manual.Completion(f.Arg(0), Commands()))
		return err
	}
}
