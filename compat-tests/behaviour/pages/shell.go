package pages

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// prompt is set as the prompt of the shells, to find the ends of outputs.
const prompt = "@@> "

// shell is a running mongosh, into which the js blocks of a page are typed.
type shell struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	marks int
}

// defaultURI is the connection string of the shell for a js block that names none.
const defaultURI = "mongodb://127.0.0.1:27017/test"

// typed types the statements of a js block into the shell that is connected to the block's address.
func (r *reader) typed(t *testing.T, b *block, text string) {
	t.Helper()
	uri := b.uri
	if uri == "" {
		uri = defaultURI
	}
	if uri = r.withFreePorts(uri); r.shells[uri] == nil {
		r.shells[uri] = r.open(t, uri)
	}
	for _, st := range statements(text) {
		statement := st.text
		printed := r.shells[uri].run(t, statement)
		_, want, compared := strings.Cut(lastLine(statement), " // ")
		switch {
		case compared && !holds(want, printed) && casefile.Rewriting() && !strings.Contains(printed, "\n") && !failed(printed):
			r.differences[b.line+st.end] = printed
		case compared && !holds(want, printed):
			t.Errorf("%s:%d: %s\nprinted %s", r.page.name, b.line, statement, printed)
		case !compared && failed(printed):
			t.Errorf("%s:%d: %s\nfailed:\n%s", r.page.name, b.line, statement, printed)
		}
	}
}

// failed recognizes an error in the output of the shell.
func failed(printed string) bool {
	return strings.Contains(printed, "Error: ") || strings.Contains(printed, "Error[") || strings.Contains(printed, "MongoServerError")
}

// statement is one statement of a js block, which is typed into the shell; end is the number of its last line in the
// block, counted from 1.
type statement struct {
	text string
	end  int
}

// statements splits a js block into statements. A line that is indented or begins with a closing bracket belongs to
// the line before. Empty lines, and lines that begin with //, are left out.
func statements(text string) (out []statement) {
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		n++
		switch {
		case line == "", strings.HasPrefix(line, "//"):
		case len(out) > 0 && strings.ContainsRune(" \t)]}", rune(line[0])):
			out[len(out)-1].text += "\n" + line
			out[len(out)-1].end = n
		default:
			out = append(out, statement{line, n})
		}
	}
	return out
}

// lastLine returns the last line of a statement.
func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// open starts a shell.
func (r *reader) open(t *testing.T, uri string) *shell {
	t.Helper()
	cmd := exec.Command(harness.Mongosh(t), uri, "--quiet", "--norc")
	cmd.Dir, cmd.Env = r.folder, r.env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &shell{cmd: cmd, in: in, lines: make(chan string, 1024)}
	go func() {
		defer close(s.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			s.lines <- scan.Text()
		}
	}()
	s.run(t, fmt.Sprintf("prompt = %q", prompt))
	return s
}

// run types a statement and returns its output.
func (s *shell) run(t *testing.T, statement string) string {
	t.Helper()
	s.marks++
	mark := fmt.Sprintf("@@ done %d", s.marks)
	fmt.Fprintf(s.in, "%s\nprint(%q)\n", statement, mark)
	limit := time.After(blockLimit)
	var printed strings.Builder
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("%s\nended the shell, which printed\n%s", statement, printed.String())
			}
			for strings.HasPrefix(line, prompt) || strings.HasPrefix(line, "... ") {
				line = line[4:]
			}
			if strings.HasSuffix(line, mark) {
				return strings.TrimSpace(printed.String())
			}
			printed.WriteString(line + "\n")
		case <-limit:
			t.Fatalf("%s\ndid not come to its end; the shell printed\n%s", statement, printed.String())
		}
	}
}

// close ends the shell.
func (s *shell) close() {
	s.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	for range s.lines { // until its output ends
	}
	_ = s.cmd.Wait()
}
