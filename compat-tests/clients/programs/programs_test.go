package programs

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# The own test suites of programs: what passed, what failed, and what they skipped. See doc.go and programs.txt.
`

// minutesMax bounds the run of one program.
const minutesMax = 20

// usualPort is the address at which the tests of some programs expect the server, without a setting for it.
const usualPort = "127.0.0.1:27017"

// TestPrograms runs the test suites of all programs, and compares the results with the scoreboard.
func TestPrograms(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("it takes an hour: ./scripts/test --long or CANTLE_LONG=1 runs it")
	}
	testenv.SkipWithURI(t)
	rows, err := readTable(tableText)
	if err != nil {
		t.Fatal(err)
	}
	score := scoreboard.Begin(t, "scoreboard.txt")
	score.Floor = true
	var names []string
	for _, p := range rows {
		names = append(names, p.name)
		t.Run(p.name, func(t *testing.T) { p.judge(t, score) })
	}
	score.End(t, scoreboardHead, names, scoreboard.RowOf)
}

// judge installs a program, runs its tests against a server of their own, and takes the results.
func (p program) judge(t *testing.T, score *scoreboard.Scoring) {
	source := kinds[p.registry](p)
	source.Folder = filepath.Join("programs", p.name)
	dir := source.Ready(t)
	server := harness.Start(t, harness.Options{Args: append(p.listen(t), p.server...)})
	results, err := p.runner(t, dir, server).Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]scoreboard.Result{}
	for name, r := range results {
		if r.Outcome == scoreboard.Failed {
			t.Logf("%s::%s fails:\n%s", p.name, name, scoreboard.Tail(strings.Join(r.Said, "\n")))
		}
		named[p.name+"::"+name] = r
	}
	score.Take(t, p.name, p.name+"::", named)
}

// listen returns the flags for the server's address. It skips the test if the program needs a port that is taken.
func (p program) listen(t *testing.T) []string {
	if !p.port {
		return nil
	}
	l, err := net.Listen("tcp", usualPort)
	if err != nil {
		t.Skipf("the tests expect the server on %s, which another program has: %v", usualPort, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return []string{"--listen", usualPort}
}

// runner returns the runner of the tests below dir against a server. In arguments and variables, {uri} and
// {addr} are those of the server.
func (p program) runner(t *testing.T, dir string, server *harness.Server) scoreboard.Runner {
	uri := strings.TrimSuffix(server.URI, "/")
	fill := strings.NewReplacer("{uri}", uri, "{addr}", server.Addr)
	r := runners[p.run]
	env := []string{"LANG=C.UTF-8", "CI=1", "NO_COLOR=1"}
	if p.adopt {
		binary, err := harness.Binary()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, "CANTLE_BINARY="+binary)
	}
	for _, v := range p.env {
		env = append(env, fill.Replace(v))
	}
	return scoreboard.Runner{
		Name: p.run, Limit: minutesMax * time.Minute, Dir: filepath.Join(dir, "src"), Program: r.program, Env: env, Parse: r.parse,
		Args: func(report, _ string) []string {
			args := r.args(report)
			for _, arg := range p.args {
				args = append(args, fill.Replace(arg))
			}
			return args
		},
	}
}
