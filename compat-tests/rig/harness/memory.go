package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakBytes is the most memory that the process ever held; not ok where the system does not
// tell.
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
