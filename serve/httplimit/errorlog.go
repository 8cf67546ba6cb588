package httplimit

import (
	"bytes"
	"log"

	"github.com/rs/zerolog"
)

// ErrorLog returns the log for the errors of an HTTP server, such as failed TLS handshakes: they become warnings of the
// server's own log, in its format. room names the HTTP server.
func ErrorLog(to zerolog.Logger, room string) *log.Logger {
	return log.New(errorLog{to, room}, "", 0)
}

// errorLog writes each line to the server's log.
type errorLog struct {
	to   zerolog.Logger
	room string
}

func (e errorLog) Write(line []byte) (int, error) {
	e.to.Warn().Str("room", e.room).Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}
