package status

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/wire/command"
)

// runHostInfo replies with a description of the machine and its operating system. For values that the operating
// system does not provide it uses plausible minimums.
// Manual: reference/command/hostInfo.
func runHostInfo(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	b := c.Reply
	mem := max(machineMemory(), 1<<20)
	b.BeginDoc("system")
	b.DateTime("currentTime", c.Start.UnixMilli())
	b.String("hostname", command.Hostname())
	b.Int32("cpuAddrSize", 64)
	b.Int64("memSizeMB", mem>>20)
	b.Int64("memLimitMB", mem>>20)
	cores := int32(runtime.NumCPU())
	b.Int32("numCores", cores)
	b.Int32("numCoresAvailableToProcess", cores)
	b.Int32("numPhysicalCores", cores)
	b.Int32("numCpuSockets", 1)
	b.String("cpuArch", runtime.GOARCH)
	b.Bool("numaEnabled", false)
	b.Int32("numNumaNodes", 1)
	b.End()
	kind, version := osType(), kernelVersion()
	b.BeginDoc("os")
	b.String("type", kind)
	b.String("name", runtime.GOOS)
	b.String("version", version)
	b.End()
	b.BeginDoc("extra")
	b.String("versionString", version)
	b.String("libcVersion", "")
	b.String("kernelVersion", version)
	b.String("cpuString", runtime.GOARCH)
	b.String("cpuFeatures", "")
	page := int64(os.Getpagesize())
	b.Int64("pageSize", page)
	b.Int64("numPages", mem/page)
	b.Int32("maxOpenFiles", 1024)
	b.End()
	return nil
}

// connName returns the name of a connection in the log.
func connName(id int64) string { return "conn" + strconv.FormatInt(id, 10) }

// isoTime returns a time as text in the format of MongoDB's log, with milliseconds and the time zone.
func isoTime(t time.Time) string { return t.Format("2006-01-02T15:04:05.000-07:00") }

// osType returns the name of the operating system as MongoDB spells it.
func osType() string {
	switch runtime.GOOS {
	case "linux":
		return "Linux"
	case "darwin":
		return "Darwin"
	case "windows":
		return "Windows"
	}
	return runtime.GOOS
}

// kernelVersion returns the version of the operating system's kernel.
func kernelVersion() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(b))
}

// machineMemory returns the size of the machine's memory in bytes, 0 if it is not available.
func machineMemory() int64 { return procField("/proc/meminfo", "MemTotal:") }

// procField returns the value of a line such as "MemTotal: 123 kB" in a file under /proc, converted to bytes; 0 if
// there is no such line.
func procField(file, name string) int64 {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		rest, ok := strings.CutPrefix(s.Text(), name)
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0
		}
		n, _ := strconv.ParseInt(fields[0], 10, 64)
		if len(fields) > 1 && fields[1] == "kB" {
			n <<= 10
		}
		return n
	}
	return 0
}
