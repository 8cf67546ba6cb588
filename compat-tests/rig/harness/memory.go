package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakBytes returns the peak resident memory of the process; ok is false where the system does not report it.
func (s *Server) PeakBytes() (n int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, " kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return kb << 10, err == nil
}
