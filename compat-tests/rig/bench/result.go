package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is one row of the table.
type result struct {
	Target       string  `json:"target"`
	Workload     string  `json:"workload"`
	Clients      int     `json:"clients"`
	Operations   int     `json:"operations"`
	Seconds      float64 `json:"seconds"`
	PerSecond    float64 `json:"perSecond"`
	P50Micros    float64 `json:"p50Micros"`
	P99Micros    float64 `json:"p99Micros"`
	ServerMicros float64 `json:"serverMicros"` // CPU time of the server per operation; 0 unknown
}

// measurement collects the numbers of a result while it runs.
type measurement struct {
	result     result
	pids       []int // of the servers
	start      time.Time
	cpu        time.Duration
	latencies  []time.Duration // per request
	operations int             // per document or operation
}

// begin starts a measurement.
func (r *runner) begin(workload string, clients int) *measurement {
	return &measurement{
		result: result{Target: r.name, Workload: workload, Clients: clients},
		pids:   []int{r.pid}, start: time.Now(), cpu: processCPU(r.pid),
	}
}

// add records one request that did n operations.
func (m *measurement) add(d time.Duration, n int) {
	m.latencies = append(m.latencies, d)
	m.operations += n
}

// end finishes a measurement.
func (m *measurement) end() result {
	r := m.result
	r.Seconds = time.Since(m.start).Seconds()
	r.Operations = m.operations
	r.PerSecond = float64(m.operations) / r.Seconds
	slices.Sort(m.latencies)
	if n := len(m.latencies); n > 0 {
		r.P50Micros = micros(m.latencies[n/2])
		r.P99Micros = micros(m.latencies[min(n-1, n*99/100)])
	}
	if m.operations > 0 {
		r.ServerMicros = micros(processCPU(m.pids...)-m.cpu) / float64(m.operations)
	}
	return r
}

// micros converts to microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// ticksPerSecond is the unit of the times in /proc/<pid>/stat on every Linux that Go
// runs on.
const ticksPerSecond = 100

// processCPU returns the processor time that processes have used, 0 where /proc does not report it.
func processCPU(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		sum += oneCPU(pid)
	}
	return sum
}

// oneCPU returns the processor time of one process.
func oneCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the program's name in parentheses and may contain blanks;
	// user and system time are the 14th and 15th.
	_, rest, ok := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// printHeader prints the names of the columns.
func printHeader(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-15s %7s %10s %10s %10s %12s\n", "target", "workload", "clients", "op/s", "p50 µs", "p99 µs", "server µs/op")
}

// print prints a row.
func (r result) print(w io.Writer) {
	cpu := "-"
	if r.ServerMicros > 0 {
		cpu = fmt.Sprintf("%.1f", r.ServerMicros)
	}
	fmt.Fprintf(w, "%-8s %-15s %7d %10.0f %10.0f %10.0f %12s\n", r.Target, r.Workload, r.Clients, r.PerSecond, r.P50Micros, r.P99Micros, cpu)
}

// save writes results to a file as JSON.
func save(path string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// compare prints how results differ from those in a file.
func compare(w io.Writer, path string, results []result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var old []result
	if err := json.Unmarshal(text, &old); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(w, "\nchange against %s (op/s: more is better; the others: less is better)\n", path)
	printHeader(w)
	for _, now := range results {
		for _, before := range old {
			if before.Target == now.Target && before.Workload == now.Workload && before.Clients == now.Clients {
				fmt.Fprintf(w, "%-8s %-15s %7d %10s %10s %10s %12s\n", now.Target, now.Workload, now.Clients,
					change(before.PerSecond, now.PerSecond), change(before.P50Micros, now.P50Micros),
					change(before.P99Micros, now.P99Micros), change(before.ServerMicros, now.ServerMicros))
			}
		}
	}
	return nil
}

// change prints a relative change.
func change(before, now float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f%%", (now/before-1)*100)
}
