package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/cantledb/cantle/cmd/cantle/daemon"
)

// commit and date are the commit that the program was built from and its time. A release
// sets them; otherwise the Go tool may know them.
var commit, date string

// printVersion prints which program this is: its version, and the commit and the time of
// the commit where they are known.
func printVersion(out io.Writer) {
	fmt.Fprintln(out, "cantle", daemon.Version)
	of, at := commit, date
	if info, ok := debug.ReadBuildInfo(); ok && of == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				of = s.Value
			case "vcs.time":
				at = s.Value
			}
		}
	}
	if of != "" {
		fmt.Fprintf(out, "commit %s\ndate   %s\n", of, at)
	}
	fmt.Fprintf(out, "built  %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
