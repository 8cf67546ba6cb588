package drivers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/pair"
)

// failovers are the programs, by folder, whose clients write through a promotion.
var failovers = map[string][]string{
	"node":   {"node", "failover.mjs"},
	"python": {"venv/bin/python", "failover.py"},
	"java":   {"java", "-XX:TieredStopAtLevel=1", "-cp", "target/classes:target/dependency/*", "client.Failover"},
}

// clientsEach is the number of clients of each program.
const clientsEach = 2

// selection is an option of the connection string that lets drivers on a busy machine wait for the new primary.
const selection = "&serverSelectionTimeoutMS=180000"

// TestFailover kills a primary and promotes its follower while clients of several drivers write. They have the addresses of both
// servers, and no code for the change: none is there twice, what is lost is newer than what was shown as covered, and no write
// fails. Only the driver for Node may report a lost connection, once for each client: it retries no write of a connection that is lost after
// another one to the same server.
func TestFailover(t *testing.T) {
	p := pair.InFolder(t)
	acks := &pair.Acks{}
	var running []*writing
	var names []string
	for i := range programs {
		args, ok := failovers[programs[i].folder]
		if !ok {
			continue
		}
		dir, missing := programs[i].ready(t)
		if missing != "" {
			t.Log(missing)
			continue
		}
		running = append(running, startWriting(t, dir, args, p.URI()+selection, acks))
		names = append(names, programs[i].folder)
	}
	clients := clientsEach * len(running)
	var shown pair.Shown
	acks.Await(p, clients, pair.PerDoc, time.Time{}, func() error { return shown.Look(p) })
	copies := shown.Copies
	acks.Await(p, clients, 1, time.Now(), func() error {
		if err := shown.Look(p); err != nil {
			return err
		}
		if shown.Copies < copies+2 {
			return fmt.Errorf("%d copies of the log", shown.Copies)
		}
		return nil
	})
	lost := time.Now()
	p.Burn()
	killed := time.Now()
	p.Promote()
	acks.Await(p, clients, pair.PerDoc, killed, func() error { return nil })
	for i, w := range running {
		if err := w.end(); err != nil {
			t.Errorf("%s: %v", names[i], err)
		}
	}
	loss := acks.Judge(t, p.Direct(p.Follower), shown, lost, killed)
	failed := map[string]int{} // by client
	for _, text := range acks.Errors() {
		t.Log(text)
		client, _, _ := strings.Cut(strings.TrimPrefix(text, "error "), " ")
		if failed[client]++; failed[client] > 1 || !strings.HasPrefix(client, "node") || !strings.Contains(text, "MongoNetworkError") {
			t.Errorf("%s got an error: %s", client, text)
		}
	}
	t.Logf("%s: %d writes, the last %v of them lost (%d), none acknowledged for %v",
		strings.Join(names, ", "), loss.Acked, loss.Age.Round(time.Millisecond), loss.Lost, loss.Down.Round(time.Millisecond))
}

// writing is a running program whose clients write.
type writing struct {
	cmd  *exec.Cmd
	in   io.Closer
	read chan struct{} // closed when all output was read
}

// startWriting starts a program, whose output is recorded in acks.
func startWriting(t *testing.T, dir string, args []string, uri string, acks *pair.Acks) *writing {
	t.Helper()
	w := &writing{cmd: exec.Command(args[0], args[1:]...), read: make(chan struct{})}
	w.cmd.Dir, w.cmd.Env, w.cmd.Stderr = dir, append(os.Environ(), "CANTLE_URI="+uri), os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.in = in
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	go func() {
		defer close(w.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var client string
			var x pair.Write
			var millis int64
			if _, err := fmt.Sscan(lines.Text(), &client, &x.N, &x.At.T, &x.At.I, &millis); err != nil {
				acks.Fail(lines.Text())
				continue
			}
			x.By = time.UnixMilli(millis)
			acks.Add(client, x)
		}
	}()
	return w
}

// end lets the program end, which closes its clients.
func (w *writing) end() error {
	_ = w.in.Close()
	<-w.read
	return w.cmd.Wait()
}
