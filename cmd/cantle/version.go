package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/cantledb/cantle/cmd/cantle/daemon"
)

// printVersion prints which program this is: its version, and the commit and the time of
// the commit where the Go tool knew them.
func printVersion(out io.Writer) {
	fmt.Fprintln(out, "cantle", daemon.Version)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	if commit := built["vcs.revision"]; commit != "" {
		if built["vcs.modified"] == "true" {
			commit += ", changed"
		}
		fmt.Fprintf(out, "commit %s\ndate   %s\n", commit, built["vcs.time"])
	}
	fmt.Fprintf(out, "built  %s for %s/%s\n", info.GoVersion, runtime.GOOS, runtime.GOARCH)
}
