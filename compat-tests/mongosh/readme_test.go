package mongosh

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestReadme types the js blocks of the README into a shell, line by line, as a
// reader would. A line that ends with a comment must print what the comment says;
// no line may fail.
func TestReadme(t *testing.T) {
	shell := find(t)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := codeLines(string(text), "js")
	if len(lines) < 5 {
		t.Fatalf("only %d lines of js in the README", len(lines))
	}
	var input strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&input, "%s\nprint(%q + %d)\n", line, beginMark, i)
	}

	home := settings(t)
	server := harness.Start(t, harness.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), shellSecondsMax*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, strings.TrimSuffix(server.URI, "/")+"/test", "--quiet", "--norc")
	cmd.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	cmd.Stdin = strings.NewReader(input.String())
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mongosh: %v\n%s", err, out)
	}

	rest := string(out)
	for i, line := range lines {
		printed, after, ok := strings.Cut(rest, fmt.Sprintf("%s%d\n", beginMark, i))
		if !ok {
			t.Fatalf("%s\ndid not come to its end; the shell printed\n%s", line, rest)
		}
		rest = after
		_, printed, _ = strings.Cut(printed, "> ") // the prompt
		printed, _, _ = strings.Cut(printed, "[direct: ")
		printed = strings.TrimSpace(printed)
		if strings.Contains(printed, "Error: ") || strings.Contains(printed, "Error[") || strings.Contains(printed, "MongoServerError") {
			t.Errorf("%s\nfailed:\n%s", line, printed)
		}
		if _, want, ok := strings.Cut(line, " // "); ok && printed != want {
			t.Errorf("%s\nprinted %s", line, printed)
		}
	}
}

// codeLines returns the lines of all fenced blocks of a language.
func codeLines(markdown, language string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "```"+language:
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && line != "":
			out = append(out, line)
		}
	}
	return out
}
