package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/manual"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

// Kinds of words that a shell completes itself.
const (
	noFiles = ":4"
	files   = ":0"
	folders = ":16"
)

// The words that "cantle __complete" prints, which the completion scripts of all shells run.
func TestCompletion(t *testing.T) {
	complete := func(words ...string) (offered []string, kind string) {
		var out, errs strings.Builder
		if status := Run(t.Context(), append([]string{"__complete"}, words...), Streams{Out: &out, Err: &errs}, neverServe); status != 0 {
			t.Fatal(errs.String())
		}
		for line := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, word)
		}
		return offered, offered[len(offered)-1]
	}
	for _, c := range []struct{ typed, offers, not, kind string }{
		{"", "serve partitions help version", "--data", noFiles},
		{"res", "restore", "report", noFiles},
		{"serve --tls-m", "--tls-mode", "--tls-ca-file", noFiles},
		{"serve --tls-mode ", "allowTLS requireTLS", "--data", noFiles},
		{"serve --tls-mode=", "allowTLS requireTLS", "--data", noFiles},
		{"serve --compat ", "7.0 8.0", "--data", noFiles},
		{"serve --sync ", "always", "--data", noFiles},
		{"import --type ", "csv json", "--type", noFiles},
		{"bill --by ", "user tenant", "--by", noFiles},
		{"dump --", "--out --gzip --help", "--drop", noFiles},
		{"dump --nsInclude a --", "--nsInclude --out", "--drop", noFiles},
		{"dump --out a --", "--nsInclude", "--out", noFiles},
		{"dump -", "-j --out", "--drop", noFiles},
		{"dump --out ", "", "--gzip", folders},
		{"dump --queryFile ", "", "--gzip", files},
		{"dump --db ", "", "--gzip", noFiles},
		{"dump ", "", "--gzip", noFiles},
		{"estimate ", "", "--queries", files},
		{"lint ", "", "file", files},
		{"restore URI ", "", "--queries", folders},
		{"backup ", "list verify", "folder", noFiles},
		{"backup list ", "", "list", folders},
		{"completion ", "powershell zsh", "completion", noFiles},
		{"help im", "import", "export", noFiles},
	} {
		got, kind := complete(strings.Split(c.typed, " ")...)
		for _, want := range strings.Fields(c.offers) {
			if !slices.Contains(got, want) {
				t.Errorf("%q: %s is not offered: %q", c.typed, want, got)
			}
		}
		if slices.Contains(got, c.not) || kind != c.kind {
			t.Errorf("%q: %s, offered is %q", c.typed, kind, got)
		}
	}
	for _, command := range Program(neverServe).Commands() {
		for _, topic := range flags.Topics(command.Flags()) {
			for _, f := range topic.Flags {
				for _, name := range f.Names {
					if got, _ := complete(command.Name(), name); !slices.Contains(got, name) {
						t.Errorf("%s %s is not offered: %q", command.Name(), name, got)
					}
				}
			}
		}
	}
}

// neverServe is the server of tests that do not start one.
func neverServe(*daemon.Config, *pflag.FlagSet, error, Streams) int { return 1 }

// TestMain runs a verb instead of the tests if this test binary is started under the name cantle, as the shell of
// TestCompletionInBash does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "cantle" {
		os.Exit(Run(context.Background(), os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}, neverServe))
	}
	os.Exit(m.Run())
}

// The completion script for bash works without the package bash-completion, and completes words that bash splits,
// such as connection strings.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "here", "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	var script, errs strings.Builder
	if status := verbStatus(t, "completion", "", &script, &errs, "bash"); status != 0 {
		t.Fatal(errs.String())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"cantle":    os.Symlink(self, filepath.Join(dir, "cantle")),
		"here/file": os.WriteFile(filepath.Join(dir, "here", "file"), nil, 0o600),
		"script":    os.WriteFile(filepath.Join(dir, "script"), []byte(script.String()), 0o600),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	const complete = `compopt() { :; }; source ../script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); __start_cantle; echo "${COMPREPLY[@]}"`
	for typed, want := range map[string]string{
		"serve --tls-mode req":                "requireTLS",
		"serve --tls-mode = req":              "requireTLS",
		"dump --out ":                         "folder",
		"dump mongodb : //127.0.0.1:1/ --arc": "--archive",
		"help im":                             "import",
	} {
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-c", complete, "x", "cantle"}, strings.Split(typed, " ")...)...)
		cmd.Dir = filepath.Join(dir, "here")
		cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v:\n%s", typed, err, out)
		}
	}
}

// Each shell has a script.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range Shells {
		var out, errs strings.Builder
		if status := verbStatus(t, "completion", "", &out, &errs, shell); status != 0 || !strings.Contains(out.String(), "__complete") || !strings.Contains(out.String(), shell) {
			t.Errorf("%s: status %d: %s", shell, status, errs.String())
		}
	}
	var out, errs strings.Builder
	if status := verbStatus(t, "completion", "", &out, &errs, "csh"); status != 2 || !strings.Contains(errs.String(), "bash, fish, powershell, zsh") {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

// The man pages are valid for mandoc and groff, where these are installed.
func TestPagesForMan(t *testing.T) {
	dir := t.TempDir()
	commands := Program(neverServe).Commands()
	pages := manual.Pages(manual.Edition{Version: "1.0.0", Date: "2026-01-02"}, commands)
	if len(pages) != len(commands)+1 {
		t.Errorf("%d pages of %d commands", len(pages), len(commands))
	}
	for _, p := range pages {
		file := filepath.Join(dir, p.File)
		if err := os.WriteFile(file, []byte(p.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, check := range [][]string{{"mandoc", "-Tlint", "-Wwarning", file}, {"groff", "-man", "-ww", "-Tutf8", "-z", file}} {
			if _, err := exec.LookPath(check[0]); err != nil {
				continue
			}
			if out, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Error(fmt.Sprint(check), err, string(out))
			}
		}
	}
}

func TestBrief(t *testing.T) {
	for usage, want := range map[string]string{
		"folder to write to. Made when it is missing":                                       "folder to write to",
		"kind of a thing: a or b; it's [one] of *these*":                                    "kind of a thing",
		"say nothing | little":                                                              "say nothing | little",
		"so many at a time, and at such a length that it would not fit beside a completion": "so many at a time, and at such a length that it would not f…",
	} {
		if got := brief(usage); got != want {
			t.Errorf("%s: %q", usage, got)
		}
	}
}
