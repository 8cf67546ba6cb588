package daemon

import (
	"bytes"
	"log"

	"github.com/rs/zerolog"
)

// httpErrors returns the log for the errors of an HTTP server, such as failed TLS handshakes: they become warnings of the
// server's own log, in its format. room names the HTTP server.
func (d *Daemon) httpErrors(room string) *log.Logger {
	return log.New(httpErrorLog{d.log, room}, "", 0)
}

// httpErrorLog writes each line to the server's log.
type httpErrorLog struct {
	to   zerolog.Logger
	room string
}

func (e httpErrorLog) Write(line []byte) (int, error) {
	e.to.Warn().Str("room", e.room).Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}
