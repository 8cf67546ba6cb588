package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// linkedModule is a module as listed by the Go tool.
type linkedModule struct {
	Path, Version string
	Time          time.Time
	Main          bool
}

// ask runs the Go tool in the workspace.
func ask(t *testing.T, args ...string) []byte {
	t.Helper()
	return askIn(t, "../..", []string{"GOFLAGS="}, args...)
}

// askIn runs the Go tool in a folder and returns its output. It works without the network unless env has another
// GOPROXY; if the Go tool fails, the test is skipped. The settings are those of a release: without C, where Pebble
// has zstd in Go.
func askIn(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), []string{"GOPROXY=off", "CGO_ENABLED=0"}, env)
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		t.Skipf("the module cache lacks what go %s is asked for: %s", strings.Join(args[:2], " "), failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// linked returns the modules that the program links.
func linked(t *testing.T) (list []linkedModule) {
	t.Helper()
	out := ask(t, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".", "./cmd/cantle", "./cantletest")
	paths := strings.Fields(string(out))
	slices.Sort(paths)
	d := json.NewDecoder(bytes.NewReader(ask(t, append([]string{"list", "-m", "-json"}, slices.Compact(paths)...)...)))
	for {
		var m linkedModule
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
}

// TestOldModules checks that every linked module is younger than a year at the date of old.txt, or listed there with
// its version and the reason.
func TestOldModules(t *testing.T) {
	b, err := os.ReadFile("old.txt")
	if err != nil {
		t.Fatal(err)
	}
	var reviewed time.Time
	listed := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if date, ok := strings.CutPrefix(line, "reviewed "); ok {
			if reviewed, err = time.Parse(time.DateOnly, date); err != nil {
				t.Fatal(err)
			}
		} else if line != "" && line[0] != '#' {
			name, why, ok := strings.Cut(line, ": ")
			if !ok || why == "" || listed[name] {
				t.Errorf("old.txt: %q is no line of its own with a module, a version and a reason", line)
			}
			listed[name] = true
		}
	}
	modules := linked(t)
	if len(modules) < 50 {
		t.Fatalf("only %d modules are linked", len(modules))
	}
	for _, m := range modules {
		if m.Time.IsZero() {
			t.Skipf("the module cache does not say when %s %s was made: run go mod download", m.Path, m.Version)
		}
		name := m.Path + " " + m.Version
		if old := m.Time.Before(reviewed.AddDate(-1, 0, 0)); old && !listed[name] {
			t.Errorf("%s is of %s: lift it (go run ./scripts/modules), or list it in scripts/modules/old.txt with the reason", name, m.Time.Format(time.DateOnly))
		} else if !old && listed[name] {
			t.Errorf("old.txt lists %s, which is younger than a year", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("old.txt lists %s, which is not linked", name)
	}
}
