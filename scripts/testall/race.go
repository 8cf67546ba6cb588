package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// raced are the folders whose tests every change runs with the race detector.
var raced = []string{"/collection/catalog", "/shard", "/storage", "/wire"}

// race repeats tests with the race detector: those of the folders where goroutines meet, at night all.
func (r *run) race() error {
	if err := r.compilesC(); err != nil {
		return err
	}
	r.useLength()
	return r.testPackages(func(pkg string) bool { return r.speed == night || isRaced(pkg) }, []string{"-race"})
}

// isRaced reports whether a package is one of the folders.
func isRaced(pkg string) bool {
	return slices.ContainsFunc(raced, func(folder string) bool { return strings.HasPrefix(pkg+"/", module+folder+"/") })
}

// compilesC reports a C compiler that is missing and without which Go has no race detector.
func (r *run) compilesC() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	cmd, end := r.command("go", "env", "CC")
	defer end()
	named, err := cmd.Output()
	if err != nil {
		return err
	}
	compiler, _, _ := strings.Cut(strings.TrimSpace(string(named)), " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return lacking("a C compiler: the race detector is linked by cgo; Debian: apt install gcc libc6-dev")
	}
	r.env = append(r.env, "CGO_ENABLED=1", "GOFLAGS="+os.Getenv("GOFLAGS"))
	return nil
}
