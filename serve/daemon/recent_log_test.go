package daemon

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestRecentLog: the last 1024 lines of the log are kept, in JSON.
func TestRecentLog(t *testing.T) {
	var out bytes.Buffer
	recent := &recentLog{}
	log, err := newLog(Config{LogLevel: "info", LogFormat: "console"}, &out, recent)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug().Msg("too little to tell")
	log.Info().Str("room", "storage").Msg("hello")
	lines, total := recent.lines()
	if len(lines) != 1 || total != 1 || !strings.Contains(lines[0], `"room":"storage"`) || !strings.HasSuffix(lines[0], "}") {
		t.Fatalf("kept %q, %d in all", lines, total)
	}
	if !strings.Contains(out.String(), "hello") || strings.Contains(out.String(), "{") {
		t.Fatalf("the console got %q", out.String())
	}
	for i := range recentLines + 5 {
		log.Info().Msg(fmt.Sprint("line ", i))
	}
	lines, total = recent.lines()
	if len(lines) != recentLines || total != recentLines+6 {
		t.Fatalf("kept %d lines of %d", len(lines), total)
	}
	if !strings.Contains(lines[0], `"line 5"`) || !strings.Contains(lines[recentLines-1], fmt.Sprintf(`"line %d"`, recentLines+4)) {
		t.Fatalf("kept %s to %s", lines[0], lines[recentLines-1])
	}
	long := strings.Repeat("x", 5000)
	log.Info().Msg(long)
	if lines, _ = recent.lines(); len(lines[recentLines-1]) > recentLineBytes {
		t.Fatalf("a line of %d bytes", len(lines[recentLines-1]))
	}
}
