package harness

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// clusterPrefix begins the line that says where a simulated cluster is.
const clusterPrefix = "tikvfaked ready "

// What CANTLE_STORAGE says servers are to keep their data in; without it that is memory, or files
// in the data directory of a test. A real cluster is tikv://PD,PD, in which each server that has
// no data directory, and each data directory, has a keyspace of its own.
const (
	// within is a simulated TiKV cluster in the server's process. Where there is a data directory,
	// so that a later server has to find what an earlier one left, it is as with overSockets.
	within = "mock"
	// severalWithin are three servers over such a cluster, which clients have in one connection
	// string. Where there is a data directory it is as with overSockets, with one server.
	severalWithin = "mock-3"
	// overSockets is a simulated cluster as a process of its own, one for each server that has no data
	// directory, and one for each data directory.
	overSockets = "tikv"
	// troubled is the same with three stores, where all goes wrong that does in a real one.
	troubled = "tikv-faults"
)

// storageWanted is what CANTLE_STORAGE says.
func storageWanted() (string, error) {
	switch wanted := testenv.Storage(); {
	case wanted == "", wanted == within, wanted == severalWithin, wanted == overSockets, wanted == troubled, strings.HasPrefix(wanted, "tikv://"):
		return wanted, nil
	default:
		return "", fmt.Errorf("CANTLE_STORAGE is %q, and not one of %s, %s, %s, %s and tikv://PD,PD", wanted, within, severalWithin, overSockets, troubled)
	}
}

// stored changes the options of a server to what CANTLE_STORAGE says, and returns the program
// that can do that. leave ends what was started for this server only.
func stored(binary string, o Options) (program string, changed Options, leave func(), err error) {
	leave = func() {}
	wanted, err := storageWanted()
	if err != nil || o.Storage != "" || wanted == "" && o.Servers == 0 {
		return binary, o, leave, err
	}
	if o.Data == "" && wanted == severalWithin {
		o.Servers = 3
	}
	if o.Servers > 0 || o.Data == "" && wanted == within {
		program, err = withinProgram()
		return program, o, leave, err
	}
	o.Storage, leave, err = place(wanted, o.Data)
	o.Storage += "?exclusive=true" // one server at a time, as on files
	o.Data = ""
	return binary, o, leave, err
}

// The programs with a simulated cluster, each built when it is needed: the server with one in its
// process, and such a cluster alone.
var (
	withinProgram = sync.OnceValues(func() (string, error) {
		return build(tagged("cantle-within", testedTags), testedTags, "./compat-tests/rig/within/inprocess")
	})
	fakeProgram = sync.OnceValues(func() (string, error) {
		return build(tagged("tikvfaked", testedTags), testedTags, "./storage/tikvkv/tikvfake/tikvfaked")
	})
)

// clusters are the places of data directories.
var clusters struct {
	sync.Mutex
	of map[string]string
}

// keyspaces numbers those that this process has made in a real cluster.
var keyspaces atomic.Int64

// place is where a server with a data directory, or with none, keeps its data. leave ends the
// cluster of one that has none.
func place(wanted, data string) (where string, leave func(), err error) {
	leave = func() {}
	if data != "" {
		clusters.Lock()
		defer clusters.Unlock()
		if where := clusters.of[data]; where != "" {
			return where, leave, nil
		}
	}
	if real, ok := strings.CutPrefix(wanted, "tikv://"); ok {
		where = fmt.Sprintf("tikv://%s/test-%d-%d-%d", strings.TrimRight(real, "/"), time.Now().UnixNano(), os.Getpid(), keyspaces.Add(1))
	} else {
		var end func()
		var flags []string
		if wanted == troubled {
			flags = []string{"--trouble"}
		}
		if where, _, end, err = LaunchCluster(flags...); err != nil {
			return "", leave, err
		}
		if data == "" {
			leave = end
		}
	}
	if data != "" {
		if clusters.of == nil {
			clusters.of = map[string]string{}
		}
		clusters.of[data] = where
	}
	return where, leave, nil
}

// lives are the standard inputs of clusters: one that is closed ends its cluster, as the end of
// this process does. An open file that nobody has is closed.
var lives sync.Map

// SimulatedCluster starts a cluster that ends with the test: where it is, for --storage, and its
// process.
func SimulatedCluster(tb testing.TB) (where string, process *os.Process) {
	tb.Helper()
	where, process, end, err := LaunchCluster()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	return where, process
}

// LaunchCluster starts a simulated cluster outside of a test, with flags of tikvfaked: where it is, for
// --storage, and its process. It ends with end, or with this process.
func LaunchCluster(flags ...string) (where string, process *os.Process, end func(), err error) {
	program, err := fakeProgram()
	if err != nil {
		return "", nil, nil, err
	}
	cluster := exec.Command(program, append(flags, "--until-stdin-ends", "127.0.0.1:0")...)
	cluster.Stderr = os.Stderr // it says nothing unless it panics
	life, err := cluster.StdinPipe()
	if err != nil {
		return "", nil, nil, err
	}
	out, err := cluster.StdoutPipe()
	if err != nil {
		return "", nil, nil, err
	}
	if err := cluster.Start(); err != nil {
		return "", nil, nil, err
	}
	lives.Store(life, true)
	end = func() {
		lives.Delete(life)
		_ = life.Close()
		_ = cluster.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	where, ok := strings.CutPrefix(strings.TrimSpace(line), clusterPrefix)
	if err != nil || !ok {
		end()
		return "", nil, nil, fmt.Errorf("the simulated cluster says %q, %w", line, err)
	}
	return where, cluster.Process, end, nil
}
