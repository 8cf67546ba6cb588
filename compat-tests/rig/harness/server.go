package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/wire/defects"
)

// readyPrefix begins the line on standard output that holds the server's connection string.
const readyPrefix = "cantle ready "

// Bounds on waiting for a server. They are generous: a busy machine is no failure.
const (
	startSecondsMax = 60
	stopSecondsMax  = 30
)

// Options are the settings with which a server is started.
type Options struct {
	Data    string   // data directory; "" keeps everything in memory
	Storage string   // the address of a cluster for the data, for --storage; "" for Data
	Args    []string // further flags of `cantle serve`
	Env     []string // further NAME=value pairs for the server's environment
	Defects bool     // allows defects in the server's log, which fail any other test
	Servers int      // servers in the process that share a simulated TiKV cluster, regardless of CANTLE_STORAGE; 0 is one
}

// Server is one running server process.
type Server struct {
	URI  string   // connection string, as the server printed it
	Addr string   // host:port out of URI
	More []string // connection strings of further addresses

	// Peers are the addresses of the peers in the same process, if Options.Servers is set. URI then names
	// all servers.
	Peers []string

	// CosmosURI is the connection string of the second address, of a server that
	// was started with --cosmos-listen.
	CosmosURI string

	cmd  *exec.Cmd
	stop func() error // for a Hosted server
	log  tail
	done chan struct{} // closed when the process has been waited for
	err  error         // result of the wait; read after done
}

// Start starts a server for a test and stops it when the test ends. The test fails if the server does not start,
// panics, or exits with an error. With CANTLE_URI set, Start returns the server at that address instead, and skips a
// test that requests a data directory or flags; with CANTLE_STORAGE the data are in a TiKV cluster.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	if uri := testenv.URI(); uri != "" {
		if o.Data != "" || len(o.Args) > 0 {
			tb.Skip("CANTLE_URI is set, and this test needs a server of its own")
		}
		s, err := external(uri)
		if err != nil {
			tb.Fatal(err)
		}
		return s
	}
	return StartRetry(tb, func() Options { return o }, 1)
}

// StartAt is Start for a server that reports itself as a release of MongoDB.
func StartAt(tb testing.TB, r release.Release) *Server {
	tb.Helper()
	return Start(tb, Options{Args: compatible(nil, r)})
}

// compatible adds the flag that makes a server report itself as a release.
func compatible(flags []string, r release.Release) []string {
	if r == release.Default {
		return flags
	}
	return append(slices.Clip(flags), "--compat", r.String())
}

// StartRetry is Start for options that name ports. Another process may take such a port before the server does: after
// a failed start StartRetry calls options again and starts another server. times bounds the attempts.
func StartRetry(tb testing.TB, options func() Options, times int) *Server {
	tb.Helper()
	if _, err := Binary(); err != nil { // before ports are chosen: it takes a while
		tb.Fatal(err)
	}
	var s *Server
	var err error
	for range times {
		if s, err = Launch(options()); err == nil {
			break
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	stopAfter(tb, s)
	return s
}

// stopAfter stops a server when the test ends.
func stopAfter(tb testing.TB, s *Server) {
	tb.Cleanup(func() {
		err := s.Stop()
		if tb.Failed() || err != nil {
			tb.Logf("last lines of the server's log:\n%s", s.Log())
		}
		if err != nil {
			tb.Errorf("stopping the server: %v", err)
		}
	})
}

// Launch starts a server outside a test; the caller stops it.
func Launch(o Options) (*Server, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	binary, o, leave, err := stored(binary, o)
	if err != nil {
		return nil, err
	}
	s, err := LaunchBinary(binary, o)
	if err != nil {
		leave()
		return nil, err
	}
	go func() {
		<-s.done
		leave()
	}()
	return s, nil
}

// LaunchBinary starts the given executable and returns when it has printed that
// it is ready.
func LaunchBinary(binary string, o Options) (*Server, error) {
	args := []string{"serve", "--listen", "127.0.0.1:0"}
	if o.Servers > 0 {
		args = append([]string{fmt.Sprintf("--servers=%d", o.Servers)}, args...)
	}
	switch {
	case o.Storage != "":
		args = append(args, "--storage", o.Storage)
	case o.Data == "":
		args = append(args, "--memory")
	default:
		args = append(args, "--data", o.Data)
	}
	s := &Server{cmd: exec.Command(binary, append(args, o.Args...)...), done: make(chan struct{})}
	if o.Defects {
		s.log.allowed = defects.Mark
	}
	s.cmd.Env = append(Environment(), o.Env...)
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	wanted := []*string{&s.URI}
	if slices.ContainsFunc(args, isCosmosListen) || slices.ContainsFunc(o.Args, isCosmosListen) {
		wanted = append(wanted, &s.CosmosURI)
	}
	others := ""
	if o.Servers > 0 {
		wanted = append(wanted, &others)
	}
	ready := make(chan []string, len(wanted))
	go s.watch(out, ready)
	deadline := time.After(startSecondsMax * time.Second)
	for i, uri := range wanted {
		select {
		case uris := <-ready:
			switch *uri = uris[0]; {
			case i == 0:
				s.More = uris[1:]
			case uri == &others:
				s.Peers = uris
			}
		case <-s.done:
			return nil, fmt.Errorf("the server ended before it was ready: %v\n%s", s.err, s.Log())
		case <-deadline:
			s.Kill()
			return nil, fmt.Errorf("no %q line within %d s\n%s", readyPrefix, startSecondsMax, s.Log())
		}
	}
	u, err := url.Parse(s.URI)
	if err != nil {
		s.Kill()
		return nil, fmt.Errorf("ready line: %w", err)
	}
	s.Addr = u.Host
	return s, s.join()
}

// join makes the connection string list all servers that share the store.
func (s *Server) join() error {
	for i, uri := range s.Peers {
		u, err := url.Parse(uri)
		if err != nil {
			return fmt.Errorf("ready line: %w", err)
		}
		s.Peers[i] = u.Host
	}
	s.URI = strings.Replace(s.URI, s.Addr, strings.Join(append([]string{s.Addr}, s.Peers...), ","), 1)
	return nil
}

// isCosmosListen recognises the flag that opens the second address.
func isCosmosListen(arg string) bool {
	return strings.HasPrefix(strings.TrimLeft(arg, "-"), "cosmos-listen")
}

// Environment returns the environment of this process without the CANTLE_ variables, which are settings of
// the server: a test sets its server explicitly.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CANTLE_") })
}

// external describes a server that was started outside of the tests.
func external(uri string) (*Server, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	return &Server{URI: uri, Addr: u.Host}, nil
}

// watch copies the server's output to the log, sends as many ready lines as the channel holds, and waits for
// the process.
func (s *Server) watch(out io.Reader, ready chan<- []string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 64<<10), 4<<20)
	for found := 0; lines.Scan(); {
		if uris, ok := strings.CutPrefix(lines.Text(), readyPrefix); ok && found < cap(ready) {
			ready <- strings.Fields(uris)
			found++
		}
		_, _ = s.log.Write(append(lines.Bytes(), '\n'))
	}
	_, _ = io.Copy(io.Discard, out)
	s.err = s.cmd.Wait()
	close(s.done)
}

// PID returns the process id, 0 for a server that was not started here or is Hosted.
func (s *Server) PID() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// LogLines returns how many lines the server wrote so far.
func (s *Server) LogLines() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.n
}

// Log returns the last lines the server wrote.
func (s *Server) Log() string { return s.log.String() }

// Kill ends the process with SIGKILL and waits for it.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Wait waits for a process that ends by itself or by a client's command. It returns an error if the process ended
// with a failure or wrote a trouble mark to its log, or the error of ctx.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.trouble(s.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop signals the server to end and waits for it. It returns an error if the server does not end, ends with a
// failure, or wrote a trouble mark to its log. A second call, or a call after Kill, only checks the log; a second
// call for a Hosted server does nothing.
func (s *Server) Stop() error {
	if s.stop != nil {
		stop := s.stop
		s.stop = nil
		return s.trouble(stop())
	}
	if s.cmd == nil {
		return nil
	}
	select {
	case <-s.done:
		return s.trouble(nil)
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopSecondsMax*time.Second)
	defer cancel()
	select {
	case <-s.done:
		return s.trouble(s.err)
	case <-ctx.Done():
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // the goroutine stacks go to the log
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
			s.Kill()
		}
		return fmt.Errorf("the server did not end within %d s of SIGTERM", stopSecondsMax)
	}
}

// Trouble returns an error if the server's log shows a panic or the like, whatever the replies were. Stop
// checks the same.
func (s *Server) Trouble() error { return s.trouble(nil) }

// trouble adds a trouble mark in the log to the result of the process.
func (s *Server) trouble(err error) error {
	if mark, around := s.log.mark(); mark != "" {
		return errors.Join(err, fmt.Errorf("the server's log contains %q:\n%s", mark, around))
	}
	return err
}

// tailBytesMax bounds the part of a server's log that is kept.
const tailBytesMax = 64 << 10

// troubleMarks are texts in a log that fail a test, whatever the replies were.
var troubleMarks = []string{"panic:", "BUG:", "DATA RACE", "fatal error:", defects.Mark}

// TroubleIn returns the first of troubleMarks that a log contains, "" if there is none.
func TroubleIn(log string) string {
	for _, mark := range troubleMarks {
		if strings.Contains(log, mark) {
			return mark
		}
	}
	return ""
}

// aroundMax bounds what an error shows of the log behind a trouble mark.
const aroundMax = 4 << 10

// tail keeps the end of a log, and looks for trouble marks in each write to it.
type tail struct {
	mu   sync.Mutex
	text []byte
	seen string
	// around holds the log from the first trouble mark on, at most aroundMax bytes.
	around []byte
	// allowed is a trouble mark that the test expects.
	allowed string
	n       int // lines ever written
}

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == "" {
		if l.seen = TroubleIn(string(p)); l.seen == l.allowed {
			l.seen = ""
		}
	}
	if l.seen != "" {
		l.around = append(l.around, p[:min(len(p), aroundMax-len(l.around))]...)
	}
	l.n += bytes.Count(p, []byte{'\n'})
	l.text = append(l.text, p...)
	if over := len(l.text) - tailBytesMax; over > tailBytesMax {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

// String returns the last tailBytesMax bytes.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[max(0, len(l.text)-tailBytesMax):])
}

// mark returns the first trouble mark seen, with the log from there on.
func (l *tail) mark() (seen string, around []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen, bytes.Clone(l.around)
}
