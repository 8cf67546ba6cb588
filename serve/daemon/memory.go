package daemon

import (
	"bytes"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryBytes is the memory this process may use: the least of the Go memory
// limit, what ulimit -v allows, the control groups' limits and the machine's memory;
// 1 GiB if nothing is known.
func memoryBytes() int64 {
	n := min(groupBytes("/proc/self/cgroup", "/sys/fs/cgroup"), addressBytes())
	if limit := debug.SetMemoryLimit(-1); limit > 0 {
		n = min(n, limit)
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

// groupBytes is the least memory limit of the control groups that this process is in, of
// either version, and of those around them. In a container the file of groups may name
// places outside of it, whose limits are then those of the root that it sees.
// Source: the kernel's admin-guide/cgroup-v2 (memory.max) and cgroup-v1/memory.
func groupBytes(file, root string) int64 {
	n := min(limitIn(root+"/memory.max"), limitIn(root+"/memory/memory.limit_in_bytes"))
	b, err := os.ReadFile(file)
	if err != nil {
		return n
	}
	for line := range strings.Lines(string(b)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 {
			continue
		}
		at, name := root, "memory.max"
		if part[0] != "0" || part[1] != "" {
			if at, name = root+"/memory", "memory.limit_in_bytes"; part[1] != "memory" {
				continue
			}
		}
		for dir := path.Clean("/" + part[2]); dir != "/"; dir = path.Dir(dir) {
			n = min(n, limitIn(at+dir+"/"+name))
		}
	}
	return n
}

// limitIn is the number in a file; without one there is no limit.
func limitIn(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && n > 0 {
		return n
	}
	return math.MaxInt64
}
