package daemon

import (
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
)

// newLog makes the server's log, which writes to out in the configured format. The writer recent receives every line
// as well, always in JSON.
func newLog(cfg Config, out, recent io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(cfg.LogLevel)
	if err != nil || level == zerolog.NoLevel {
		return zerolog.Logger{}, fmt.Errorf("--log-level=%s: expected debug, info, warn or error", cfg.LogLevel)
	}
	switch cfg.LogFormat {
	case "json":
	case "console":
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.RFC3339, NoColor: true}
	default:
		return zerolog.Logger{}, fmt.Errorf("--log-format=%s: expected console or json", cfg.LogFormat)
	}
	return zerolog.New(zerolog.MultiLevelWriter(out, recent)).Level(level).With().Timestamp().Logger(), nil
}
