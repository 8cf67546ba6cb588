package abuse

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// withWrites is the process argument with which every fourth operation of a probe updates a document; all others
// read one.
const withWrites = "writes"

// TestMain runs the tests, or the probe if this process was started as one: then its arguments are the server's
// address and perhaps withWrites.
func TestMain(m *testing.M) {
	if _, args, ok := testenv.Process(); ok {
		writes = slices.Contains(args, withWrites)
		runProbe(args[0])
		return
	}
	os.Exit(m.Run())
}

// interval holds the number and the latencies of the probe's reads and updates in a period.
type interval struct {
	Reads    int
	P50, P99 time.Duration
	Most     time.Duration
	Failure  string // the first error
}

// probe is the client whose latency the test measures: in a process of its own, it reads one
// document after the other at a slow pace; with withWrites, it updates every fourth.
type probe struct {
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
}

// pace is the time between two reads.
const pace = 2 * time.Millisecond

// newReadProbe starts a probe that only reads.
func newReadProbe(t *testing.T, s *harness.Server) *probe { return startProbe(t, s.URI) }

func startProbe(t *testing.T, args ...string) *probe {
	v := &probe{cmd: testenv.Again(t, args...)}
	v.cmd.Stderr = os.Stderr
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		v.in, err = v.cmd.StdinPipe()
	}
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	v.out = bufio.NewScanner(out)
	if !v.out.Scan() || v.out.Text() != "ready" {
		t.Fatalf("the victim says %q", v.out.Text())
	}
	return v
}

// interval returns the number and the latencies of the probe's reads and updates since the last call.
func (v *probe) interval(t *testing.T) (l interval) {
	t.Helper()
	if _, err := io.WriteString(v.in, "lap\n"); err != nil || !v.out.Scan() {
		t.Fatalf("the victim is gone: %v, %v", err, v.out.Err())
	}
	if err := json.Unmarshal(v.out.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (v *probe) end() {
	_ = v.in.Close()
	_ = v.cmd.Wait()
}

// runProbe is the probe's process: it reads or updates documents until its input ends, and prints the statistics
// of an interval for each line of input.
func runProbe(uri string) {
	fail := func(err error) {
		fmt.Println(err)
		os.Exit(1)
	}
	c, err := harness.Connect(uri, options.Client().SetMaxPoolSize(4))
	if err != nil {
		fail(err)
	}
	coll := c.Database("quiet").Collection(fmt.Sprint("c", os.Getpid()))
	var docs []any
	for i := range 1000 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "s", Value: strings.Repeat("x", 200)}})
	}
	if _, err := coll.InsertMany(context.Background(), docs); err != nil {
		fail(err)
	}
	var mu sync.Mutex
	var took []time.Duration
	var failure string
	go func() {
		for i := 0; ; i++ {
			time.Sleep(pace)
			begun := time.Now()
			err := use(coll, i)
			mu.Lock()
			took = append(took, time.Since(begun))
			if err != nil && failure == "" {
				failure = err.Error()
			}
			mu.Unlock()
		}
	}()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		mu.Lock()
		l := interval{Reads: len(took), Failure: failure}
		if slices.Sort(took); len(took) > 0 {
			l.P50, l.P99, l.Most = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
		}
		took, failure = nil, ""
		mu.Unlock()
		if err := json.NewEncoder(os.Stdout).Encode(l); err != nil {
			fail(err)
		}
	}
}

// use reads a document, or changes it.
func use(coll *mongo.Collection, i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	byID := bson.D{{Key: "_id", Value: i % 1000}}
	if writes && i%4 == 0 {
		_, err := coll.UpdateOne(ctx, byID, bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: i}}}})
		return err
	}
	return coll.FindOne(ctx, byID).Err()
}

var writes bool

// giveWay gives this process, which abuses the server, the lowest scheduling priority, so that it slows the probe
// down only through the server.
func giveWay(t *testing.T) {
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(tasks) == 0 {
		t.Log("abusers, server and victim share the processor alike: the times say little")
		return
	}
	for _, task := range tasks { // all present threads; those started later inherit the priority
		if id, err := strconv.Atoi(filepath.Base(task)); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, 19)
		}
	}
}
