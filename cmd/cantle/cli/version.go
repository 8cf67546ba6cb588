package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/daemon"
)

const versionHelp = `Prints the version, and the commit that the program was built from, if the build recorded it. With
-v it also prints the linked modules with their versions.
`

// commit and date are the commit that the program was built from, and its date. A release sets them with -ldflags.
// Otherwise they come from the Go tool's build information, if there is any.
var commit, date string

// version describes the build of this program, as --json prints it.
type version struct {
	Version  string         `json:"version"`
	Commit   string         `json:"commit,omitempty"`
	Date     string         `json:"date,omitempty"`
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Modules  []linkedModule `json:"modules"`
}

// ours is the path of the program's root module, and the prefix of the paths of its other modules, none of which
// cantle version -v lists.
const ours = "github.com/cantledb/cantle"

// linkedModule is a library: a module of others whose packages are linked into the program.
type linkedModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // as in go.sum
}

func versionVerb(f *pflag.FlagSet) action {
	verbose := f.BoolP("verbose", "v", false, "list the linked modules as well")
	asJSON := f.Bool("json", false, "print a JSON object, including the modules")
	return func(_ context.Context, s Streams) error {
		if f.NArg() > 0 {
			return usageErrorf("unexpected argument %q", f.Arg(0))
		}
		info, ok := debug.ReadBuildInfo()
		if !ok {
			info = &debug.BuildInfo{}
		}
		v := versionOf(info)
		if *asJSON {
			e := json.NewEncoder(s.Out)
			e.SetIndent("", "  ")
			return e.Encode(v)
		}
		return v.print(s.Out, *verbose)
	}
}

// print prints the version for people, with or without the modules.
func (v version) print(out io.Writer, modules bool) error {
	fmt.Fprintln(out, "cantle", v.Version)
	if v.Commit != "" {
		fmt.Fprintf(out, "commit %s\ndate   %s\n", v.Commit, v.Date)
	}
	fmt.Fprintf(out, "built  %s for %s\n", v.Go, v.Platform)
	if !modules {
		return nil
	}
	fmt.Fprintf(out, "\n%d modules are linked:\n\n", len(v.Modules))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range v.Modules {
		fmt.Fprintf(table, "%s\t%s\n", m.Path, m.Version)
	}
	return table.Flush()
}

// versionOf returns the description of this program's build, made from the build information that the linker stores.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: daemon.Version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: []linkedModule{}}
	if v.Commit == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Date = s.Value
			}
		}
	}
	for _, m := range info.Deps {
		if m.Path == ours || strings.HasPrefix(m.Path, ours+"/") {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		v.Modules = append(v.Modules, linkedModule{m.Path, m.Version, m.Sum})
	}
	return v
}
