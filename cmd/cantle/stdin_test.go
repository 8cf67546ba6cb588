package main

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/cantledb/cantle/cmd/cantle/cli"
)

// With --until-stdin-ends a server stops when its standard input ends, with status 0.
func TestUntilStdinEnds(t *testing.T) {
	in, hold := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(t.Context(), strings.Fields("serve --memory --listen 127.0.0.1:0 --until-stdin-ends"), cli.Streams{In: in, Out: out, Err: io.Discard}, serve)
		out.Close()
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "cantle ready mongodb://") {
		t.Fatalf("%q %v", line, err)
	}
	select {
	case status := <-ended:
		t.Fatalf("ended with %d while its input was open", status)
	default:
	}
	hold.Close()
	if status := <-ended; status != 0 {
		t.Errorf("ended with %d", status)
	}
}
