package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/doctor"
	"github.com/cantledb/cantle/cmd/cantle/tikvengine"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

const doctorHelp = `Looks at what a server needs and says what to do: its settings, the folder of the data
and its format, room and sync latency of the disk (measured), memory, limits, clock, huge
pages, certificates and addresses of this machine. Nothing is changed. Run it as the user
that the server runs as, with the flags or the file of settings that it is started with:
every flag of cantle serve may be given.

A server that answers at these addresses is asked as well: how it is, how its clock goes,
and which drivers are connected. With a URI only that one is asked, wherever it is.

  cantle doctor --config /etc/cantle/cantle.conf      the service of this machine
  cantle doctor --data ./db --json                    before there is one, for a program
  cantle doctor mongodb://root@db.example.com/        a server elsewhere

The exit status is 1 if something must be mended (FAULT), and 0 otherwise.
`

func doctorVerb(f *pflag.FlagSet) action {
	cfg := daemon.Config{Remotes: []daemon.Remote{tikvengine.Engine()}}
	cfg.Flags(f)
	f.VisitAll(func(x *pflag.Flag) { x.Hidden = x.Name != "config" && x.Name != "data" })
	asJSON := f.Bool("json", false, "print an object for programs instead of a table")
	limit := f.Duration("timeout", 5*time.Second, "how long to wait for a server")
	return func(ctx context.Context, s Streams) error {
		var found []doctor.Finding
		switch f.NArg() {
		case 0:
			places, err := daemon.Load(f, nil)
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					found = append(found, doctor.Finding{Check: "settings", State: doctor.Fault, Found: strings.TrimSpace(line), Advice: "mend them; cantle serve --check-config looks again"})
				}
			}
			found = append(found, doctor.Machine(ctx, &cfg, places)...)
			found = append(found, examineLocal(ctx, &cfg, *limit)...)
		case 1:
			found = examine(ctx, f.Arg(0), *limit)
		default:
			return usageErrorf("expected at most one connection string, as in\n\n  cantle doctor mongodb://127.0.0.1:27017/")
		}
		return reportFindings(s.Out, found, *asJSON)
	}
}

// faultsError is the number of faults, which have been printed already.
type faultsError int

func (n faultsError) Error() string { return columns.Plural(int(n), "fault") + " to mend" }

// reportFindings prints the findings. Errors: faultsError.
func reportFindings(out io.Writer, found []doctor.Finding, asJSON bool) error {
	count := map[doctor.State]int{}
	for _, x := range found {
		count[x.State]++
	}
	if asJSON {
		type one struct {
			Check  string       `json:"check"`
			State  doctor.State `json:"state"`
			Found  string       `json:"found"`
			Advice string       `json:"advice,omitempty"`
		}
		all := struct {
			Faults   int   `json:"faults"`
			Warnings int   `json:"warnings"`
			Checks   []one `json:"checks"`
		}{count[doctor.Fault], count[doctor.Warning], []one{}}
		for _, x := range found {
			all.Checks = append(all.Checks, one(x))
		}
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	} else {
		printFindings(out, found)
		if count[doctor.Fault]+count[doctor.Warning] == 0 {
			fmt.Fprintln(out, "\nnothing to do")
		} else {
			fmt.Fprintf(out, "\n%s, %s\n", columns.Plural(count[doctor.Fault], "fault"), columns.Plural(count[doctor.Warning], "warning"))
		}
	}
	if n := count[doctor.Fault]; n > 0 {
		return faultsError(n)
	}
	return nil
}

// printFindings prints a line for each finding, and its advice below it.
func printFindings(out io.Writer, found []doctor.Finding) {
	const indent = 22
	for _, x := range found {
		state := string(x.State)
		if x.State == doctor.Fault {
			state = "FAULT"
		}
		line := fmt.Sprintf("%-7s  %-12s ", state, x.Check)
		flags.Wrap(out, line, indent, x.Found)
		if x.Advice != "" {
			flags.Wrap(out, strings.Repeat(" ", indent)+"→ ", indent+2, x.Advice)
		}
	}
}
