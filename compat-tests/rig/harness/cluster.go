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

// clusterPrefix begins the line in which tikvfaked prints the address of a simulated cluster.
const clusterPrefix = "tikvfaked ready "

// Values of CANTLE_STORAGE, which selects where servers keep their data. Without it data are in memory, or in
// files in the data directory of a test. A real cluster is tikv://PD,PD; each server without a data
// directory, and each data directory, has a keyspace of its own there.
const (
	// within is a simulated TiKV cluster in the server's process. With a data directory, overSockets is used
	// instead, so that a later server finds what an earlier one has stored.
	within = "mock"
	// severalWithin is three servers over such a cluster, all of them in the connection string that clients
	// get. With a data directory it is one server with overSockets.
	severalWithin = "mock-3"
	// overSockets is a simulated cluster in a process of its own: one cluster for each server without a data
	// directory, and one for each data directory.
	overSockets = "tikv"
	// troubled is overSockets with three TiKV nodes and with the faults that a real cluster has.
	troubled = "tikv-faults"
)

// requestedStorage returns the value of CANTLE_STORAGE.
func requestedStorage() (string, error) {
	switch wanted := testenv.Storage(); {
	case wanted == "", wanted == within, wanted == severalWithin, wanted == overSockets, wanted == troubled, strings.HasPrefix(wanted, "tikv://"):
		return wanted, nil
	default:
		return "", fmt.Errorf("CANTLE_STORAGE is %q, and not one of %s, %s, %s, %s and tikv://PD,PD", wanted, within, severalWithin, overSockets, troubled)
	}
}

// stored changes the options of a server according to CANTLE_STORAGE, and returns the program that supports
// them. leave ends what was started for this server only.
func stored(binary string, o Options) (program string, changed Options, leave func(), err error) {
	leave = func() {}
	wanted, err := requestedStorage()
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
	o.Storage, leave, err = storageOf(wanted, o.Data)
	o.Storage += "?exclusive=true" // one server at a time, as on files
	o.Data = ""
	return binary, o, leave, err
}

// Programs with a simulated cluster, each built when it is needed: the server with a cluster in its process,
// and a cluster alone.
var (
	withinProgram = sync.OnceValues(func() (string, error) {
		return build(tagged("cantle-within", testedTags), testedTags, "./compat-tests/rig/within/inprocess")
	})
	fakeProgram = sync.OnceValues(func() (string, error) {
		return build(tagged("tikvfaked", testedTags), testedTags, "./storage/tikvkv/tikvfake/tikvfaked")
	})
)

// clusters maps data directories to the storage that stands for them.
var clusters struct {
	sync.Mutex
	of map[string]string
}

// keyspaces numbers the keyspaces that this process has made in a real cluster.
var keyspaces atomic.Int64

// storageOf returns the storage of a server: one per data directory, or a new one if data is "". leave ends a
// simulated cluster that was started without a data directory.
func storageOf(wanted, data string) (where string, leave func(), err error) {
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

// lives holds the standard inputs of clusters. A cluster ends when its input is closed, or when this process
// ends. The map keeps the files reachable: the garbage collector would close an unreachable file.
var lives sync.Map

// SimulatedCluster starts a cluster that ends with the test. It returns the address, for --storage, and the
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

// LaunchCluster starts a simulated cluster outside of a test, with flags of tikvfaked. It returns the
// address, for --storage, and the process. The cluster ends when end is called, or with this process.
func LaunchCluster(flags ...string) (where string, process *os.Process, end func(), err error) {
	program, err := fakeProgram()
	if err != nil {
		return "", nil, nil, err
	}
	cluster := exec.Command(program, append(flags, "--until-stdin-ends", "127.0.0.1:0")...)
	cluster.Stderr = os.Stderr // empty unless the cluster panics
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
