package status

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// runGetDiagnosticData returns in one reply the data that monitoring agents store every second: the status of the
// server, of its replica set if clients see one, and of the machine. Every part has the times at which its collection
// started and ended.
// Manual: administration/analyzing-mongodb-performance#full-time-diagnostic-data-capture.
// Observed: mongodb_exporter 0.51, which takes most of its metrics from this command.
func (s *State) runGetDiagnosticData(c *command.Call) error {
	b := c.Reply
	now := func(name string) { b.DateTime(name, c.Cluster.Now().UnixMilli()) }
	part := func(name string, append func(*command.Call) error) error {
		b.BeginDoc(name)
		now("start")
		err := append(c)
		now("end")
		b.End()
		return err
	}
	b.BeginDoc("data")
	now("start")
	if err := part("serverStatus", s.runServerStatus); err != nil {
		return err
	}
	if _, err := ownSet(c); err == nil {
		if err := part("replSetGetStatus", runReplSetGetStatus); err != nil {
			return err
		}
	}
	if err := part("systemMetrics", appendMachine); err != nil {
		return err
	}
	now("end")
	b.End()
	return nil
}

// The status of the machine is read from files of Linux under /proc; on other systems its parts are empty.
// Source of the files' meaning: proc(5).
const (
	tickMillis = 10  // of /proc/stat: Linux counts 100 ticks per second on every machine
	disksMax   = 100 // disks in the reply
)

// appendMachine appends the activity of the machine's processors, memory and disks.
func appendMachine(c *command.Call) error {
	b := c.Reply
	b.BeginDoc("cpu")
	appendProcessors(b)
	b.End()
	b.BeginDoc("memory")
	procLines("/proc/meminfo", func(name string, fields []string) {
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && len(fields) == 2 && fields[1] == "kB" {
			b.Int64(strings.TrimSuffix(name, ":")+"_kb", n)
		}
	})
	b.End()
	b.BeginDoc("vmstat")
	procLines("/proc/vmstat", func(name string, fields []string) {
		switch name {
		case "balloon_deflate", "balloon_inflate", "nr_mlock", "pgfault", "pgmajfault", "pswpin", "pswpout":
			appendNumbers(b, fields, name)
		}
	})
	b.End()
	b.BeginDoc("disks")
	appendDisks(b)
	b.End()
	return nil
}

// appendProcessors appends the time that the machine's processors have spent in each kind of work since it was
// started, in milliseconds.
func appendProcessors(b *bson.Builder) {
	processors := int32(0)
	procLines("/proc/stat", func(name string, fields []string) {
		switch name {
		case "cpu":
			for i, kind := range [...]string{"user_ms", "nice_ms", "system_ms", "idle_ms", "iowait_ms", "irq_ms", "softirq_ms", "steal_ms", "guest_ms", "guest_nice_ms"} {
				if i < len(fields) {
					n, _ := strconv.ParseInt(fields[i], 10, 64)
					b.Int64(kind, n*tickMillis)
				}
			}
		case "ctxt", "btime", "processes", "procs_running", "procs_blocked":
			appendNumbers(b, fields, name)
		default:
			if strings.HasPrefix(name, "cpu") {
				processors++
			}
		}
	})
	b.Int32("num_cpus", processors)
}

// appendDisks appends the activity of whole disks, without their partitions.
func appendDisks(b *bson.Builder) {
	disks := 0
	procLines("/proc/diskstats", func(_ string, fields []string) {
		const columns = 13 // minor number and name, then the counters
		if len(fields) < columns || disks == disksMax {
			return
		}
		name := fields[1]
		if _, err := os.Stat("/sys/block/" + name); err != nil || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") {
			return
		}
		disks++
		b.BeginDoc(name)
		appendNumbers(b, fields[2:], "reads", "reads_merged", "read_sectors", "read_time_ms",
			"writes", "writes_merged", "write_sectors", "write_time_ms", "io_in_progress", "io_time_ms", "io_queued_ms")
		b.End()
	})
}

// appendNumbers appends the first fields under the given names.
func appendNumbers(b *bson.Builder, fields []string, names ...string) {
	for i, name := range names {
		if i < len(fields) {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			b.Int64(name, n)
		}
	}
}

// procLines calls each for every line of a file under /proc that has two or more words, with the first word and the
// others.
func procLines(file string, each func(name string, fields []string)) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 1 {
			each(fields[0], fields[1:])
		}
	}
}
