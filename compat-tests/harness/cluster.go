package harness

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// clusterPrefix begins the line that says where a simulated cluster is.
const clusterPrefix = "tikvfaked ready "

// onCluster reports that servers are to keep their data in TiKV, as CANTLE_STORAGE says. With
// "tikv" that is in simulated clusters, which are processes of their own: one for each data
// directory that a server is told of, and one for each server that has none. With
// tikv://PD,PD it is a real cluster, in which each of them is a keyspace.
func onCluster() bool {
	scheme, _, _ := strings.Cut(os.Getenv("CANTLE_STORAGE"), ":")
	return scheme == "tikv"
}

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

// clusters are the places of those for data directories.
var clusters struct {
	sync.Mutex
	of map[string]string
}

// placeOnCluster is where a server of these options keeps its data.
func placeOnCluster(data string) (string, error) {
	clusters.Lock()
	defer clusters.Unlock()
	if place := clusters.of[data]; data != "" && place != "" {
		return place, nil
	}
	place, err := newPlace()
	if data != "" && err == nil {
		if clusters.of == nil {
			clusters.of = map[string]string{}
		}
		clusters.of[data] = place
	}
	return place, err
}

// keyspaces numbers those that this process has made in a real cluster.
var keyspaces atomic.Int64

// newPlace is where nobody has anything yet.
func newPlace() (string, error) {
	real := os.Getenv("CANTLE_STORAGE")
	if real == "tikv" {
		return startCluster()
	}
	return fmt.Sprintf("%s/test-%d-%d-%d", strings.TrimRight(real, "/"), time.Now().UnixNano(), os.Getpid(), keyspaces.Add(1)), nil
}

// startCluster starts a simulated cluster, which ends with this process.
func startCluster() (place string, err error) {
	programs, err := clusterPrograms()
	if err != nil {
		return "", err
	}
	cluster := exec.Command(programs[1], "127.0.0.1:0", "until-stdin-ends")
	if _, err = cluster.StdinPipe(); err != nil { // never closed
		return "", err
	}
	out, err := cluster.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cluster.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	place, ok := strings.CutPrefix(strings.TrimSpace(line), clusterPrefix)
	if err != nil || !ok {
		return "", fmt.Errorf("the simulated cluster says %q, %w", line, err)
	}
	return place, nil
}
