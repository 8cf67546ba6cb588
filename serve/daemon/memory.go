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

// memoryBytes returns the memory in bytes that this process may use: the least of the Go
// memory limit, the limit of ulimit -v (see addressBytes), the limits of the control
// groups and the machine's memory; 1 GiB if none can be read.
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

// groupBytes returns the least memory limit in bytes of this process's control groups and of the groups that contain
// them, of cgroup v1 and v2. In a container, file, which lists the groups, may have paths outside of the container;
// the limits are then at root, where the container sees its own group.
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

// limitIn returns the memory limit in bytes that a control group's file has, and the largest int64 (no limit) if
// there is no file or no positive number in it.
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
