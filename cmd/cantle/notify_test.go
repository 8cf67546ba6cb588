package main

import (
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// notify sends the state to the service manager in one datagram. If there is no manager, or the manager is gone, the
// program continues.
func TestNotify(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no datagrams between processes")
	}
	var errs strings.Builder
	t.Setenv("NOTIFY_SOCKET", "")
	notify(stateReady, &errs)
	socket := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", socket)
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	notify(stateReady, &errs)
	got := make([]byte, 100)
	if n, err := l.Read(got); err != nil || string(got[:n]) != "READY=1" || errs.Len() > 0 {
		t.Errorf("%q %v %s", got[:n], err, errs.String())
	}
	l.Close()
	notify(stateStopping, &errs)
	if !strings.Contains(errs.String(), "telling STOPPING=1: ") {
		t.Errorf("nobody listens: %q", errs.String())
	}
}
