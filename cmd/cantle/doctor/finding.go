package doctor

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/serve/daemon"
)

// State is the severity of a finding.
type State string

// States, from good to bad.
const (
	Good    State = "ok"
	Note    State = "note"    // worth knowing, nothing to do
	Warning State = "warning" // it works, and could fail or be slow some day
	Fault   State = "fault"   // the server does not start, refuses clients, or would lose data
)

// Finding is the result of one check.
type Finding struct {
	Check  string // the name of the check: "space"
	State  State
	Found  string
	Advice string // what to do, "" if nothing
}

// newFinding makes a finding.
func newFinding(check string, state State, format string, args ...any) Finding {
	return Finding{Check: check, State: state, Found: fmt.Sprintf(format, args...)}
}

// do adds advice.
func (f Finding) do(format string, args ...any) Finding {
	f.Advice = fmt.Sprintf(format, args...)
	return f
}

// Machine checks the parts of this machine that a server with these settings depends on, within a second or two.
// places has the place where each setting was made.
func Machine(ctx context.Context, c *daemon.Config, places daemon.Origins) (out []Finding) {
	out = append(out, settings(c, places)...)
	folder, running := "", false
	if c.KeepsFiles() {
		var more []Finding
		folder, more = folderOf(c.Data)
		out = append(out, more...)
		more, running = format(c.Data)
		out = append(out, more...)
		if folder != "" {
			out = append(out, space(folder)...)
			out = append(out, syncs(ctx, folder, c.Sync)...)
		}
	}
	out = append(out, memory()...)
	out = append(out, descriptors(c.MaxConns)...)
	out = append(out, hugePages(hugePagesFolder)...)
	out = append(out, clock(folder)...)
	out = append(out, certificatesOf(c)...)
	return append(out, ports(ctx, c, running)...)
}

// settings returns the errors in the settings.
func settings(c *daemon.Config, places daemon.Origins) (out []Finding) {
	for _, err := range c.Faults() {
		out = append(out, newFinding("settings", Fault, "%v", places.Explain(err)).do("correct the settings and check them with cantle serve --check-config"))
	}
	if out == nil {
		out = append(out, newFinding("settings", Good, "%s", places))
	}
	return out
}

// size prints bytes for people.
func size(n uint64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f, unit = f/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, []string{"", "KB", "MB", "GB", "TB"}[unit])
}
