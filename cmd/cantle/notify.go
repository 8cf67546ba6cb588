package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

// States for the service manager; see sd_notify(3).
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notify sends the state of this process to the service manager that started it (systemd with Type=notify);
// without one it does nothing. If sending fails, it writes a message to errs, and the server continues.
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
