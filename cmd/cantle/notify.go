package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

// What the manager of services is told; see sd_notify(3).
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notify tells the manager of services that started this process (systemd with
// Type=notify) in which state it is; without one it does nothing. A manager that does not
// listen is told of on errs, and is no reason to stop serving.
func notify(state string, errs io.Writer) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err == nil {
		_, err = io.WriteString(conn, state)
		conn.Close()
	}
	if err != nil {
		fmt.Fprintf(errs, "cantle serve: telling %s: %v\n", state, err)
	}
}
