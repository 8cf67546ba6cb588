package damage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// processTimeout is the maximum time for each operation of a server or program: if one takes longer, it hangs.
const processTimeout = 30 * time.Second

// server is a server process.
type server struct {
	cmd    *exec.Cmd
	uri    string // "" if it has not started
	status int    // exit status, if it did not start
	done   chan struct{}
	mu     sync.Mutex
	text   bytes.Buffer
}

func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *server) out() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// serve starts a server process on the folder dir, and waits until it answers or has ended.
func serve(t *testing.T, bin, dir string, flags ...string) *server {
	t.Helper()
	s := &server{done: make(chan struct{})}
	args := append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--cache-size", "16MB"}, flags...)
	s.cmd = exec.CommandContext(t.Context(), bin, args...)
	s.cmd.Stderr = s
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.done)
		for in := bufio.NewScanner(out); in.Scan(); {
			if uri, ok := strings.CutPrefix(in.Text(), "cantle ready "); ok {
				ready <- uri
			}
		}
		_ = s.cmd.Wait()
		s.status = s.cmd.ProcessState.ExitCode()
	}()
	select {
	case s.uri = <-ready:
	case <-s.done:
	case <-time.After(processTimeout):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done
		t.Fatalf("the start hangs:\n%s", s.out())
	}
	return s
}

func (s *server) client(t *testing.T) *mongo.Client {
	t.Helper()
	c, err := harness.Connect(s.uri)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kill ends the process with SIGKILL.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// stop ends the server and checks its output.
func (s *server) stop(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
	default:
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-s.done:
	case <-time.After(processTimeout):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done
		t.Fatalf("the end hangs:\n%s", s.out())
	}
	noStack(t, s.out())
}

var stack = regexp.MustCompile(`goroutine \d+|panic:|\.go:\d+|Error types|pebble`)

// noStack fails the test if a program's output has a stack trace or the like, which only developers of the server
// understand.
func noStack(t *testing.T, text string) {
	t.Helper()
	if m := stack.FindString(text); m != "" {
		t.Errorf("%q was printed:\n%s", m, text)
	}
}

// run runs a command of the program cantle, such as salvage, to its end, and returns its output and exit status.
func run(t *testing.T, bin string, args ...string) (out string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	b, err := exec.CommandContext(ctx, bin, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("cantle %s hangs", args[0])
	}
	noStack(t, string(b))
	return string(b), status
}
