package mongosh

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// scriptsPerShell is the number of scripts that one shell runs, because a shell takes about a second to start. Each
// script still has a server of its own.
const scriptsPerShell = 8

// shellSecondsMax bounds the run of one shell with all its scripts.
const shellSecondsMax = 300

// script is one .js file and what it printed.
type script struct {
	name   string // file name without .js
	source string
	flags  []string // for its server
	server *harness.Server
	output string
	ran    bool // the script began and ended
}

func TestScripts(t *testing.T) {
	shell := harness.Mongosh(t)
	all := read(t)
	for first := 0; first < len(all); first += scriptsPerShell {
		batch := all[first:min(first+scriptsPerShell, len(all))]
		t.Run(fmt.Sprintf("shell%d", first/scriptsPerShell+1), func(t *testing.T) {
			rest := runShell(t, shell, batch)
			for _, s := range batch {
				t.Run(s.name, func(t *testing.T) { compare(t, s, rest) })
			}
		})
	}
}

// read returns all scripts by name.
func read(t *testing.T) []*script {
	paths, err := filepath.Glob("*.js")
	if err != nil {
		t.Fatal(err)
	}
	var out []*script
	for _, path := range paths {
		if path == "prelude.js" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := &script{name: strings.TrimSuffix(path, ".js"), source: string(text)}
		for line := range strings.Lines(s.source) {
			if flags, ok := strings.CutPrefix(line, "// server:"); ok {
				s.flags = append(s.flags, strings.Fields(flags)...)
			}
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		t.Fatal("no scripts")
	}
	return out
}

// Marks around a script's output.
const (
	beginMark = "@@ begin "
	endMark   = "@@ end "
)

// runShell runs a batch of scripts in one shell and stores the output of each. It returns the output outside of any
// script, such as an error message of the shell.
func runShell(t *testing.T, shell string, batch []*script) string {
	prelude, err := os.ReadFile("prelude.js")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(prelude)
	for _, s := range batch {
		s.server = harness.Start(t, harness.Options{Args: s.flags})
		uri, _ := json.Marshal(withDatabase(s.server.URI))
		fmt.Fprintf(&b, "\nprint(%q);\ntry {\n  db = connect(%s);\n  (() => {\n%s\n  })();\n} catch (error) {\n  print(`uncaught: ${error}`);\n}\nprint(%q);\n",
			beginMark+s.name, uri, s.source, endMark+s.name)
	}
	home := t.TempDir()
	harness.MongoshHome(t, home)
	file := filepath.Join(home, "all.js")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), shellSecondsMax*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "--nodb", "--quiet", "--norc", file)
	cmd.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	rest := split(string(out), batch)
	if err != nil {
		rest += fmt.Sprintf("\nmongosh: %v", err)
	}
	return rest
}

// withDatabase returns a connection string with the database test added, for any number of hosts.
func withDatabase(uri string) string {
	at := strings.LastIndex(uri, "/") + 1
	return uri[:at] + "test" + uri[at:]
}

// split stores the output between the marks of each script in the batch, and returns the rest of the text.
func split(text string, batch []*script) string {
	var rest strings.Builder
	var current *script
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), beginMark); ok {
			for _, s := range batch {
				if s.name == name {
					current = s
				}
			}
			continue
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), endMark); ok && current != nil && current.name == name {
			current.ran = true
			current = nil
			continue
		}
		if current == nil {
			rest.WriteString(line)
			continue
		}
		current.output += line
	}
	return rest.String()
}

// compare compares a script's output with its .out file; with -rewrite, it writes that file.
func compare(t *testing.T, s *script, rest string) {
	got := normalize(s.output, time.Now())
	if !s.ran {
		t.Fatalf("the script did not come to its end; it printed\n%s\nand the shell said\n%s", got, rest)
	}
	path := s.name + ".out"
	if casefile.Rewriting() {
		if strings.Contains(got, "uncaught: ") {
			t.Errorf("not accepted, the script failed:\n%s", got)
			return
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\nthe script printed:\n%s", err, got)
	}
	if diff := casefile.Diff(string(want), got); diff != "" {
		t.Errorf("%s.js (- expected, + got):\n%s\nIf the new output is right, run the test again with -rewrite.", s.name, diff)
	}
}
