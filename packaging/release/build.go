package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// git runs git in the checkout and returns its output.
func (r *release) git(args ...string) (string, error) { return r.command(nil, "git", args...) }

// command runs a program in the checkout and returns its output.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// binary returns the path of a platform's binary.
func (r *release) binary(p platform) string {
	return filepath.Join(r.out, "binaries", p.dashed(), p.program())
}

// binaries builds the program for every platform, from the modules of go.work and without the build tags of tests. It
// builds without C: so one compiler makes all binaries, they need no library of the system, and Pebble's caches and
// zstd in Go cost no more than those in C (./scripts/bench, workloads load and C).
func (r *release) binaries() error {
	commit := r.commit
	if r.changed {
		commit += ", changed"
	}
	flags := "-s -w -buildid=" +
		" -X github.com/cantledb/cantle/serve/daemon.Version=" + r.version +
		" -X 'github.com/cantledb/cantle/cmd/cantle/cli.commit=" + commit + "'" +
		" -X github.com/cantledb/cantle/cmd/cantle/cli.date=" + r.date.Format(time.RFC3339)
	for _, p := range r.platforms {
		if _, err := r.command(r.buildFor(p), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", r.binary(p), "./cmd/cantle"); err != nil {
			return err
		}
	}
	return nil
}

// plainBuild returns the environment variables of Go for a build without C and without the user's own settings.
func (r *release) plainBuild() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=" + filepath.Join(r.root, "go.work")}
}

// buildFor returns the variables for a build for a platform.
func (r *release) buildFor(p platform) []string {
	return append(r.plainBuild(), "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
}
