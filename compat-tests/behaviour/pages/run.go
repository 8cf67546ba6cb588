package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// blockLimit bounds the duration of a block.
const blockLimit = 3 * time.Minute

// reader runs the blocks of one page.
type reader struct {
	page        *page
	root        string // of the repository
	folder      string
	env         []string
	ports       map[string]string // free ports by the ports of the page
	shells      map[string]*shell // by address
	output      string            // the output of the last block
	differences map[int]string    // output of lines of js that differs from the page, by the number of the line
}

// newReader prepares the folder of a page and starts its server.
func newReader(t *testing.T, p *page) *reader {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{page: p, root: root, folder: filepath.Join(root, ".cache", "pages", strings.TrimSuffix(filepath.Base(p.name), ".md")), ports: map[string]string{}, shells: map[string]*shell{}, differences: map[int]string{}}
	bin := filepath.Join(r.folder, ".bin")
	home := filepath.Join(r.folder, ".home")
	if err := errors.Join(os.RemoveAll(r.folder), os.MkdirAll(bin, 0o755), os.MkdirAll(home, 0o755)); err != nil {
		t.Fatal(err)
	}
	harness.MongoshHome(t, home)
	r.env = append(harness.Environment(), "HOME="+home, "NO_COLOR=1", "PAGE_BINARY="+binary, "PAGE_LOGS="+r.folder+"/.logs",
		"PAGE_LISTEN="+r.withFreePorts("127.0.0.1:27017"), "PATH="+bin+":"+os.Getenv("PATH"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // keep those outside of the new home
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
	r.write(t, filepath.Join(bin, "cantle"), inBackground)
	if err := os.Symlink(filepath.Join(bin, "cantle"), filepath.Join(r.folder, "cantle")); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(p.blocks, func(b *block) bool { return b.skip == "" && strings.Contains(b.text, "mongosh ") }) {
		if err := os.Symlink(harness.Mongosh(t), filepath.Join(bin, "mongosh")); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { r.stop(t) })
	if !p.none {
		r.bash(t, "cantle serve "+r.withFreePorts(strings.Join(append([]string{"--memory"}, p.server...), " ")))
	}
	return r
}

// inBackground is the script that blocks run as cantle: for cantle serve it starts the server in the background,
// after it has stopped an earlier server at the same address, as the reader of the page would.
const inBackground = `#!/usr/bin/env bash
case " $* " in
" serve "*) ;;
*) exec "$PAGE_BINARY" "$@" ;;
esac
case " $* " in *" --help "* | *" --check-config "*) exec "$PAGE_BINARY" "$@" ;; esac
listen= config= before=
for word in "$@"; do
	case "$word" in --listen=*) listen=${word#*=} ;; --config=*) config=${word#*=} ;; esac
	case "$before" in --listen) listen=$word ;; --config) config=$word ;; esac
	before=$word
done
if [ -z "$listen" ] && [ -n "$config" ]; then listen=$(sed -n 's/^listen: *//p' "$config"); fi
if [ -z "$listen" ]; then listen=$PAGE_LISTEN; set -- "$@" --listen "$listen"; fi
mkdir -p "$PAGE_LOGS"
name=$PAGE_LOGS/$(echo "$listen" | tr -c 'a-zA-Z0-9\n' _)
if [ -e "$name.pid" ]; then
	kill "$(cat "$name.pid")" 2>/dev/null
	while kill -0 "$(cat "$name.pid")" 2>/dev/null; do sleep 0.02; done
	cat "$name.log" >>"$name.before"
fi
"$PAGE_BINARY" "$@" >"$name.log" 2>&1 </dev/null &
echo $! >"$name.pid"
for _ in $(seq 1500); do
	if grep -q '^cantle ready' "$name.log"; then exec grep '^cantle ' "$name.log"; fi
	if ! kill -0 $! 2>/dev/null; then wait $!; status=$?; rm "$name.pid"; cat "$name.log" >&2; exit $status; fi
	sleep 0.02
done
echo "the server did not start" >&2
exit 1
`

// stop stops the shells and the servers of a page, and checks that the logs of the servers have no errors.
func (r *reader) stop(t *testing.T) {
	for _, s := range r.shells {
		s.close()
	}
	pids, _ := filepath.Glob(filepath.Join(r.folder, ".logs", "*.pid"))
	for _, file := range pids {
		text, _ := os.ReadFile(file)
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Error(err)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGTERM)
		for end := time.Now().Add(30 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("a server did not end within 30 s of SIGTERM: %s", file)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
	logs, _ := filepath.Glob(filepath.Join(r.folder, ".logs", "*"))
	for _, file := range logs {
		text, _ := os.ReadFile(file)
		if mark := harness.TroubleIn(string(text)); mark != "" {
			t.Errorf("%s contains %q", file, mark)
		}
	}
}

// do runs one block.
func (r *reader) do(t *testing.T, b *block) {
	t.Helper()
	text := r.withFreePorts(b.text)
	switch {
	case b.skip != "":
		t.Logf("%s:%d: not run: %s", r.page.name, b.line, b.skip)
	case b.file != "":
		r.write(t, filepath.Join(r.folder, b.file), text)
	case b.output:
		if !holds(text, r.output) {
			t.Errorf("%s:%d: expected\n%s\nprinted\n%s", r.page.name, b.line, text, r.output)
		}
	case b.language == "sh":
		r.output = r.bash(t, text)
	case b.language == "js":
		r.typed(t, b, text)
	case b.language == "go":
		r.output = r.gopher(t, b, text)
	case b.language == "mjs":
		r.install(t, "node", "node_modules", npm)
		r.write(t, r.scratch(b, "program.mjs"), text)
		r.output = r.bash(t, "node "+r.scratch(b, "program.mjs"))
	case b.language == "py":
		r.install(t, "python", "venv", pip)
		r.write(t, r.scratch(b, "program.py"), text)
		r.output = r.bash(t, "venv/bin/python "+r.scratch(b, "program.py"))
	}
}

// Commands that install the drivers of other languages.
var (
	npm = []string{"npm install --no-package-lock --no-audit --no-fund --loglevel=error"}
	pip = []string{"rm -rf venv", "python3 -m venv venv", "venv/bin/pip install -q --disable-pip-version-check -r requirements.txt"}
)

// installing is held during an installation: pages share what is installed.
var installing sync.Mutex

// install installs a language's driver in the folder of the page.
func (r *reader) install(t *testing.T, language, part string, fetch []string) {
	t.Helper()
	link := filepath.Join(r.folder, part)
	if _, err := os.Lstat(link); err == nil {
		return
	}
	dir := filepath.Join(r.root, ".cache", "pages-"+language)
	installing.Lock()
	defer installing.Unlock()
	p := harness.Program{Folder: filepath.Join("libraries", language), Fetch: fetch}
	if err := p.Ready(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, part), link); err != nil {
		t.Fatal(err)
	}
}

// scratch returns the path of a file for one block, in a folder of the block's own.
func (r *reader) scratch(b *block, name string) string {
	return filepath.Join(r.folder, fmt.Sprintf("line%d", b.line), name)
}

// gopher runs a block of Go, as a program or, if it imports testing, as tests. The block's folder lies within this
// module, so that it can import the module's packages.
func (r *reader) gopher(t *testing.T, b *block, text string) string {
	t.Helper()
	if strings.Contains(text, "\"testing\"") {
		r.write(t, r.scratch(b, "page_test.go"), text)
		return r.bash(t, fmt.Sprintf("go test -count=1 ./line%d", b.line))
	}
	r.write(t, r.scratch(b, "main.go"), text)
	return r.bash(t, fmt.Sprintf("go run ./line%d", b.line))
}

// bash runs a script, which must succeed, and returns the text that it printed.
func (r *reader) bash(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), blockLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = r.folder, r.env
	// The output goes to a file and not to a pipe: a server that the script leaves in the background would keep a
	// pipe open.
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	printed, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%s\nended with %v and printed\n%s", script, err, printed)
	}
	return string(printed)
}

// write writes a file and makes its folder.
func (r *reader) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// addresses matches the addresses that are replaced.
var addresses = regexp.MustCompile(`\b(127\.0\.0\.1|localhost|0\.0\.0\.0):(\d{4,5})\b`)

// withFreePorts replaces the ports of the page by free ports.
func (r *reader) withFreePorts(text string) string {
	return addresses.ReplaceAllStringFunc(text, func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		if r.ports[port] == "" {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return address
			}
			_, r.ports[port], _ = net.SplitHostPort(l.Addr().String())
			l.Close()
		}
		return host + ":" + r.ports[port]
	})
}

// holds reports whether an output equals the expected one, in which … stands for anything within a line, and a line
// of … for any lines. Blanks at the ends of lines do not count.
func holds(want, got string) bool {
	var pattern bytes.Buffer
	for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if i > 0 {
			pattern.WriteString(`\n`)
		}
		if line = strings.TrimRight(line, " "); line == "…" {
			pattern.WriteString(`(?s:.*)`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(strings.Join(lines, "\n"))
}
