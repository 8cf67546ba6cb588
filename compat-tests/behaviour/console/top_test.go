package console

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cantledb/cantle/cmd/cantle/cli"
)

// top runs cantle top without a terminal.
func (s *server) top(args ...string) (status int, out, errs string) {
	s.t.Helper()
	var o, e bytes.Buffer
	status = cli.Run(s.t.Context(), append([]string{"top"}, args...), cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, nil)
	return status, o.String(), e.String()
}

// lineOf returns the line of a text that contains a part.
func lineOf(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// hotLine matches the line of cantle top about a partition that has been busy for long, with its share of the load.
var hotLine = regexp.MustCompile(`(?m)^test\.orders \d +█[▃-█]{25,} +[\d.]+ RU/s +[56]\d%$`)

func TestTopOnce(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(1)
	s.burst(30)
	for _, uri := range []string{s.url, s.daemon.URI()} {
		status, out, errs := s.top("--once", "--collection", "test.orders", "--last", "1m", uri)
		if status != 0 {
			t.Fatalf("%s: %s", uri, errs)
		}
		for _, want := range []string{"test.orders  ru, the last 1 min", "A hot line: partition", "% of the load of 4 partitions", "find test.orders {customer: ?, total: {$gte: ?}}", "find test.orders {customer: ?} [by mongo-go-driver 100%]", "▁"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if !hotLine.MatchString(out) {
			t.Errorf("no hot line in\n%s", out)
		}
	}
	if status, out, _ := s.top("--once", "--by-load", "--metric", "writes", s.url); status != 0 || !strings.Contains(out, "writes, the last 5 min") || lineOf(out, "documents/s ") == "" {
		t.Errorf("%d\n%s", status, out)
	}
	status, out, errs := s.top("--json", s.url)
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 || !strings.Contains(string(all["heat"]), `"pattern"`) || !strings.Contains(string(all["requests"]), `"ruTotal"`) {
		t.Errorf("%d %v %s %s", status, err, errs, out)
	}
	for _, c := range []struct{ arg, want string }{
		{"http://127.0.0.1:1/", "start the server with --console-listen"}, {"--metric=speed", "--metric is one of ru, reads"}, {"--last=200h", "at most 168h"}, {"--every=1ms", "at least 100ms"},
	} {
		args := []string{"--once", s.url, c.arg}
		if !strings.HasPrefix(c.arg, "-") {
			args = args[:2]
			args[1] = c.arg
		}
		if status, _, errs := s.top(args...); status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d %s", c.arg, status, errs)
		}
	}
}

// TestTopLogin checks that cantle top logs in to a server with --auth, by credentials in the console's address or in
// the connection string.
func TestTopLogin(t *testing.T) {
	s := start(t, "--auth")
	s.run("admin", `{"createUser": "ada", "pwd": "p", "roles": ["root"]}`)
	if status, _, errs := s.top("--once", s.url); status != 1 || !strings.Contains(errs, "user:password@") {
		t.Errorf("%d %s", status, errs)
	}
	if status, out, errs := s.top("--once", strings.Replace(s.url, "http://", "http://ada:p@", 1)); status != 0 || !strings.Contains(out, " as ada") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	if status, out, errs := s.top("--once", strings.Replace(s.daemon.URI(), "mongodb://", "mongodb://ada:p@", 1)); status != 0 || !strings.Contains(out, " as ada") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	if status, _, errs := s.top("--once", strings.Replace(s.url, "http://", "http://ada:wrong@", 1)); status != 1 || !strings.Contains(errs, "Authentication failed") {
		t.Errorf("%d %s", status, errs)
	}
	if status, _, errs := s.top("--once", strings.Replace(s.daemon.URI(), "mongodb://", "mongodb://ada:wrong@", 1)); status != 1 || !strings.Contains(errs, "refuses the login: correct user") {
		t.Errorf("%d %s", status, errs)
	}
}

// TestTopTerminal checks that cantle top keeps running on a terminal, and that keys change the view.
func TestTopTerminal(t *testing.T) {
	s := start(t)
	s.stop()
	s.orders()
	s.pass(1)
	s.burst(5)
	mine, theirs, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	defer mine.Close()
	defer theirs.Close()
	if err := pty.Setsize(mine, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1000)
	go func() {
		b := make([]byte, 32<<10)
		for {
			n, err := mine.Read(b)
			if err != nil {
				return
			}
			shown <- string(b[:n])
		}
	}()
	limit := time.After(time.Minute)
	await := func(want string) {
		t.Helper()
		seen := ""
		for !strings.Contains(seen, want) {
			select {
			case text := <-shown:
				seen += text
			case <-limit:
				t.Fatalf("no %q in %q", want, seen)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"top", "--every", "100ms", s.url}, cli.Streams{In: theirs, Out: theirs, Err: io.Discard}, nil)
	}()
	await("\x1b[?1049h")
	await("\x1b[48;5;229m") // the colour of the hottest cells
	for _, step := range []struct{ key, want string }{
		{"m", "reads, the last 5 min"}, {"M", "ru, the last 5 min"}, {"+", "the last 15 min"}, {"-", "the last 5 min"}, {"c", "test.orders\x1b[0m  ru"}, {"a", "all collections"},
		{"?", "another metric"}, {"h", "find test.orders"}, {" ", "paused: space continues"}, {"\x1b[B", "all collections"}, {" ", "all collections"},
	} {
		if _, err := io.WriteString(mine, step.key); err != nil {
			t.Fatal(err)
		}
		await(step.want)
	}
	if _, err := io.WriteString(mine, "q"); err != nil {
		t.Fatal(err)
	}
	await("\x1b[?1049l")
	if status := <-ended; status != 0 {
		t.Errorf("status %d", status)
	}
}
