package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/doctor"
	"github.com/cantledb/cantle/cmd/cantle/s3archive"
	"github.com/cantledb/cantle/cmd/cantle/tikvengine"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

const doctorHelp = `Checks the environment of a server and prints what to do: its settings, the data folder
and its format, free space and sync latency of the disk (measured), memory, limits, clock,
huge pages, certificates and addresses of this machine. Nothing is changed. Run it as the
server's user, with the server's flags or settings file: it accepts every flag of cantle
serve.

If a server answers at these addresses, its state, its clock and the connected drivers are
checked as well. With a URI only that server is checked, on this or another machine.

  cantle doctor --config /etc/cantle/cantle.conf      the service of this machine
  cantle doctor --data ./db --json                    before the first start, as JSON
  cantle doctor mongodb://root@db.example.com/        a server on another machine

The exit status is 1 if there is a problem to repair (FAULT), and 0 otherwise.
`

func doctorVerb(f *pflag.FlagSet) action {
	cfg := daemon.Config{Remotes: []daemon.Remote{tikvengine.Engine()}, OpenArchive: s3archive.Open}
	cfg.Flags(f)
	f.VisitAll(func(x *pflag.Flag) { x.Hidden, x.Annotations = x.Name != "config" && x.Name != "data", nil }) // without the topics of serve
	asJSON := f.Bool("json", false, "print a JSON object instead of a table")
	limit := f.Duration("timeout", 5*time.Second, "maximum time to wait for a server")
	return func(ctx context.Context, s Streams) error {
		var found []doctor.Finding
		switch f.NArg() {
		case 0:
			places, err := daemon.Load(f, os.Environ())
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					found = append(found, doctor.Finding{Check: "settings", State: doctor.Fault, Found: strings.TrimSpace(line), Advice: "correct the settings and check them with cantle serve --check-config"})
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

// reportFindings prints the findings.
// Errors: exitStatus 1 if there are faults.
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
	if count[doctor.Fault] > 0 {
		return exitStatus(1)
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
