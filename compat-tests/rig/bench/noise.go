package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// noise is a process that inserts into a collection at a given rate. It is separate from the measuring process,
// whose timers and garbage collection it would disturb, and has the lowest priority, because in production it would
// be another machine: the rest of its influence on the measured client then comes from the server.
type noise struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// pressCommand is the argument that makes this program a noise process.
const pressCommand = "press"

// startNoise starts a noise process. Errors: errors of the process.
func startNoise(uri, coll string) (*noise, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &noise{cmd: exec.Command(self, pressCommand, uri, coll)}
	n.cmd.Stderr = os.Stderr
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewReader(out)
	return n, n.cmd.Start()
}

// rate sets the inserts per second; 0 pauses. With backOff the driver retries refused inserts, otherwise they
// are dropped at once. It returns the number of inserts sent since the last call.
func (n *noise) rate(perSecond float64, backOff bool) (sent int64, err error) {
	if _, err := fmt.Fprintln(n.in, perSecond, backOff); err != nil {
		return 0, err
	}
	line, err := n.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

func (n *noise) stop() {
	n.in.Close()
	n.cmd.Wait()
}

// serveNoise runs the noise process: it reads lines of rate and backOff until its input ends.
func serveNoise(uri, coll string) error {
	if err := lowestPriority(); err != nil {
		return err
	}
	ctx := context.Background()
	load := func(float64, bool) (end func()) { return func() {} }
	for _, retry := range []bool{false, true} {
		m, err := harness.Connect(uri, options.Client().SetMaxPoolSize(64).SetRetryWrites(retry))
		if err != nil {
			return err
		}
		defer m.Disconnect(ctx)
		c, other := m.Database("bench").Collection(coll), load
		load = func(perSecond float64, backOff bool) (end func()) {
			if backOff != retry {
				return other(perSecond, backOff)
			}
			under, stop := context.WithCancel(ctx)
			wait := press(under, c, perSecond, &sent)
			return func() { stop(); wait() }
		}
	}
	end := func() {}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var perSecond float64
		var backOff bool
		if _, err := fmt.Sscan(in.Text(), &perSecond, &backOff); err != nil {
			return err
		}
		end()
		fmt.Println(sent.Swap(0))
		if end = func() {}; perSecond > 0 {
			end = load(perSecond, backOff)
		}
	}
	end()
	return nil
}

// sent counts the inserts of serveNoise.
var sent atomic.Int64

// settleTime is the time that a change of load gets to take effect.
const settleTime = 200 * time.Millisecond
