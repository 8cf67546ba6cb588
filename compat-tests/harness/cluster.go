package harness

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// clusterPrefix begins the line that says where a simulated cluster is.
const clusterPrefix = "tikvfaked ready "

// clusterPrograms are the server with the engine for TiKV, and the simulated cluster.
var clusterPrograms = sync.OnceValues(func() (paths [2]string, err error) {
	if paths[0], err = Build("invariants,tikv"); err != nil {
		return paths, err
	}
	root, err := Root()
	if err != nil {
		return paths, err
	}
	paths[1] = filepath.Join(root, ".cache", "bin", "tikvfaked")
	cmd := exec.Command("go", "build", "-o", paths[1], "./compat-tests/tikvfake/tikvfaked")
	cmd.Dir = root
	return paths, cmd.Run()
})

// startOnCluster starts a server over a simulated cluster of its own, which ends with the test.
func startOnCluster(tb testing.TB, o Options) *Server {
	tb.Helper()
	programs, err := clusterPrograms()
	if err != nil {
		tb.Fatal(err)
	}
	cluster := exec.Command(programs[1], "127.0.0.1:0")
	out, err := cluster.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cluster.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cluster.Process.Kill()
		_ = cluster.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	place, ok := strings.CutPrefix(strings.TrimSpace(line), clusterPrefix)
	if err != nil || !ok {
		tb.Fatalf("the simulated cluster says %q, %v", line, err)
	}
	o.Storage = place
	s, err := LaunchBinary(programs[0], o)
	if err != nil {
		tb.Fatal(err)
	}
	stopAfter(tb, s)
	return s
}
