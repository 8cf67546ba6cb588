package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/manual"
)

// completing has, for each shell, a script that prints its completions of a command line whose last word is
// incomplete. The script gets the file with the completions as $1, then the words.
var completing = map[string]string{
	"bash": `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cantle; printf '%s\n' "${COMPREPLY[@]}"`,
	"fish": `source $argv[1]; complete -C (string join -- ' ' $argv[2..]) | string replace -r '\t.*' ''`,
	// It needs a terminal: zsh prints the list only when Tab is pressed in one.
	"zsh": `zmodload zsh/zpty; file=$1; shift; words="$*"
zpty z zsh -f -i
zpty -w z "PS1=; unsetopt zle_bracketed_paste; LISTMAX=10000; autoload -U compinit; compinit -u -D; source $file; zstyle ':completion:*' list-packed no; zstyle ':completion:*' menu no; setopt no_list_beep; stty cols 400 rows 400; print re''ady"
zpty -r z out '*ready*'
zpty -w -n z "$words"$'\t\t'
sleep 1
zpty -w -n z $'\x15'; zpty -w z "print do''ne"
zpty -r z out '*done*'
print -r -- "$out"; zpty -d z`,
}

// Completions, as the shells themselves print them.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data.json", "folder/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for shell, script := range completing {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(err)
			}
			var printed, errs strings.Builder
			if status := verbStatus(t, "completion", "", &printed, &errs, shell); status != 0 {
				t.Fatal(errs.String())
			}
			file := filepath.Join(t.TempDir(), "completions")
			if err := os.WriteFile(file, []byte(printed.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ typed, offers, not string }{
				{"cantle ", "serve partitions help version", "--data"},
				{"cantle res", "restore", "report"},
				{"cantle serve --tls-m", "--tls-mode", "--tls-ca-file"},
				{"cantle serve --tls-mode ", "allowTLS requireTLS", "--data"},
				{"cantle import --type c", "csv", "json"},
				{"cantle dump --", "--out --gzip", "--drop"},
				{"cantle dump --out ", "folder", "data.json"},
				{"cantle estimate ", "data.json", "--queries"},
				{"cantle completion ", "powershell zsh", "data.json"},
				{"cantle help im", "import", "export"},
			} {
				if shell == "zsh" && len(strings.Fields(c.offers)) == 1 {
					continue // it inserts the only completion, and lists nothing
				}
				words := strings.Split(c.typed, " ")
				args := append([]string{"-c", script}, append([]string{"x", file}, words...)...)
				if shell == "fish" {
					args = append([]string{"-N", "-c", script, file}, words...)
				}
				cmd := exec.CommandContext(t.Context(), shell, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb")
				out, err := cmd.CombinedOutput()
				got := strings.Fields(strings.ReplaceAll(string(out), "folder/", "folder"))
				for _, want := range strings.Fields(c.offers) {
					if !slices.Contains(got, want) {
						t.Errorf("%q: %s is not offered, %v:\n%s", c.typed, want, err, out)
					}
				}
				if slices.Contains(got, c.not) {
					t.Errorf("%q: %s is offered:\n%s", c.typed, c.not, out)
				}
			}
		})
	}
	var out, errs strings.Builder
	if status := verbStatus(t, "completion", "", &out, &errs, "csh"); status != 2 || !strings.Contains(errs.String(), "bash, fish, powershell, zsh") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	for _, shell := range manual.Shells { // each page lists all shells
		text := manual.Completion(shell, Commands())
		for _, c := range Commands() {
			if !strings.Contains(text, c.Name) {
				t.Errorf("%s: no %s", shell, c.Name)
			}
			for _, g := range c.Groups {
				g.Flags.VisitAll(func(f *pflag.Flag) {
					if !strings.Contains(text, f.Name) {
						t.Errorf("%s: no flag %s of %s", shell, f.Name, c.Name)
					}
				})
			}
		}
	}
}

// The man pages are valid for the programs that format them.
func TestPagesForMan(t *testing.T) {
	dir := t.TempDir()
	pages := manual.Pages(manual.Edition{Version: "1.0.0", Date: "2026-01-02"}, Commands())
	if len(pages) != len(Commands())+1 {
		t.Errorf("%d pages of %d commands", len(pages), len(Commands()))
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
