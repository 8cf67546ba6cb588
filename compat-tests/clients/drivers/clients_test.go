package drivers

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/testenv"
)

// runMinutesMax bounds the run of one program against one server, which takes one or two minutes on two free cores.
const runMinutesMax = 15

const matrixPath = "matrix.txt"

// programsAtOnce is the number of client programs, or variants of them, that are installed or run at the same time.
// They wait for registries, streams and time limits most of the time.
const programsAtOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", programsAtOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestClients(t *testing.T) {
	before, err := readMatrix(matrixPath)
	if err != nil {
		t.Fatal(err)
	}
	found := &findings{matrix: matrix{}}
	t.Cleanup(func() { found.judge(t, before) })
	for i := range programs {
		p := &programs[i]
		t.Run(p.folder, func(t *testing.T) {
			t.Parallel()
			p.test(t, found)
		})
	}
}

// judge compares the results of all client programs with the stored matrix; with -rewrite, it writes the matrix.
func (f *findings) judge(t *testing.T, before matrix) {
	fmt.Print(f.matrix.show())
	after := maps.Clone(before)
	maps.Copy(after, f.matrix)
	if casefile.Rewriting() {
		if err := os.WriteFile(matrixPath, []byte(after.print()), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	if diff := casefile.Diff(before.print(), after.print()); diff != "" {
		t.Errorf("%s (- expected, + got):\n%s\nIf that is right, run again with -rewrite, then go run ./scripts/gendocs.", matrixPath, diff)
	}
}

// test installs one client program, and runs it against each variant of the server.
func (p *program) test(t *testing.T, found *findings) {
	testenv.SkipWithURI(t)
	dir, missing := p.ready(t)
	if missing != "" {
		t.Skip(missing)
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		t.Run(v, func(t *testing.T) { p.against(t, v, root, dir, found) })
	}
}

// ready installs a client program, and returns its folder, or the reason why it cannot be run here.
func (p *program) ready(t *testing.T) (dir, missing string) {
	t.Helper()
	if p.long && !testenv.IsLong() {
		return "", "compiling the " + p.folder + " client takes minutes: ./scripts/test --long or CANTLE_LONG=1 runs it"
	}
	if name := p.installation().Missing(); name != "" {
		if p.always {
			t.Fatalf("%s is not installed; the tests need it", name)
		}
		return "", name + " is not installed" + p.hint
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(root, ".cache", "clients", p.folder)
	if err := p.installation().Ready(t.Context(), dir); errors.Is(err, harness.ErrFetch) && !p.always {
		return "", err.Error()
	} else if err != nil {
		t.Fatal(err)
	}
	return dir, ""
}

// findings is a matrix that several concurrent runs fill.
type findings struct {
	mu     sync.Mutex
	matrix matrix
}

func (f *findings) set(row, area, variant, result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.matrix[[3]string{row, area, variant}] = result
}

// against runs the client program once, against one variant of the server, and creates a subtest for every area.
func (p *program) against(t *testing.T, variant, root, dir string, found *findings) {
	t.Parallel()
	uri, one, personality, authority := "", "", variant, ""
	switch variant {
	case "secure":
		uri, authority = harness.StartSecure(t, "--enable-test-commands")
		personality = "mongodb"
	case several, balanced:
		s := harness.Start(t, harness.Options{Args: []string{"--enable-test-commands"}, Servers: 3})
		// On a busy machine, a server that answers 15 ms after the others is not chosen: here each of them is to work.
		uri, one, personality = s.URI+"?localThresholdMS=10000", "mongodb://"+s.Addr+"/", "mongodb"
		if variant == balanced {
			uri = harness.Balance(t, append(slices.Clone(s.Peers), s.Addr)...).URI()
		}
	default:
		s := harness.Start(t, harness.Options{Args: []string{"--enable-test-commands", "--cosmos-listen", "127.0.0.1:0",
			"--cosmos-lenient", "--cosmos-capabilities", "EnableMongoRetryableWrites,EnableMongo16MBDocumentSupport"}}) // drivers use more features than accounts have
		uri = s.URI
		if variant == "cosmos" {
			uri = s.CosmosURI
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), runMinutesMax*time.Minute)
	defer cancel()
	out, err := harness.Shell(ctx, dir, p.run, []string{"CANTLE_URI=" + uri, "CANTLE_ONE_URI=" + cmp.Or(one, uri), "CANTLE_PERSONALITY=" + personality,
		"CANTLE_CA_FILE=" + authority, "CANTLE_ROOT=" + root})
	for _, r := range p.rows {
		results := report(r.name, out)
		for _, area := range r.areas {
			if area == hosts && variant != several {
				continue
			}
			t.Run(r.name+"/"+area, func(t *testing.T) {
				result, reason, _ := strings.Cut(results[area], " ")
				if result == "" {
					result = "FAIL"
					reason = fmt.Sprintf("not reported; the program ended with %v", err)
				}
				found.set(r.name, area, variant, result)
				switch result {
				case "ok":
				case "skip":
					t.Skip(r.name + ": " + reason)
				default:
					t.Error(strings.ReplaceAll(reason, " | ", "\n"))
				}
			})
		}
	}
	if err != nil && !t.Failed() {
		t.Errorf("the program reports no failure and ended with %v", err)
	}
	if t.Failed() {
		t.Logf("the program printed\n%s", out)
	}
}

// report returns the results of a client's areas.
func report(client, out string) map[string]string {
	results := map[string]string{}
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, client+" "); ok {
			if area, result, ok := strings.Cut(strings.TrimSpace(rest), " "); ok {
				results[area] = result
			}
		}
	}
	return results
}
