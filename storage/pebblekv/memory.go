package pebblekv

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// MemoryBytes is the memory this process may use: the least of the Go memory
// limit, the control group's and the machine's; 1 GiB if nothing is known.
func MemoryBytes() int64 {
	n := int64(math.MaxInt64)
	if limit := debug.SetMemoryLimit(-1); limit > 0 {
		n = limit
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if v, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && v > 0 {
			n = min(n, v)
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := bytes.Fields(b); len(f) > 1 && string(f[0]) == "MemTotal:" {
			if kb, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				n = min(n, kb<<10)
			}
		}
	}
	if n == math.MaxInt64 {
		return 1 << 30
	}
	return n
}
