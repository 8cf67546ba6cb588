package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// score is a row of the scoreboard: the server's CPU time per operation, and the target that it is compared
// with.
type score struct {
	label    string
	workload string
	clients  int
	// against is the target of the comparison, "" for none; instead is the workload measured there if it is
	// not the same.
	against, instead string
	// unit is the unit in which the time is printed; "" is µs, for rows of single operations.
	unit string
	goal float64 // the multiple of the target's time to reach, or the time itself if there is no comparison; 0 = none
}

// scores in the order of the page. The multiples are of a stub server that only sends canned replies: the cost of
// driver, sockets and system calls on the machine. That of the transaction is of a durable insert at the server itself.
// Rows without a target are compared with nothing: their time is shown.
var scores = []score{
	{label: "C: point reads", workload: "C", clients: 16, against: stubName, goal: 1.3},
	{label: "B: 95 % reads, 5 % updates", workload: "B", clients: 16, against: stubName, goal: 1.5},
	{label: "A: half reads, half updates", workload: "A", clients: 16, against: stubName, goal: 2.4},
	{label: "F: read, then update", workload: "F", clients: 16, against: stubName, goal: 2.6},
	{label: "E: scans of up to 100", workload: "E", clients: 16, against: stubName, goal: 0.8},
	{label: "durable insert", workload: "durable-insert", clients: 64, against: stubName, goal: 1.9},
	{label: "durable update", workload: "durable-update", clients: 64, against: stubName, goal: 2.2},
	{label: "transaction of two inserts, in inserts", workload: "transaction", clients: 16, against: cantleName, instead: "durable-insert", goal: 1.6},
	{label: "insertMany, a document", workload: "load", clients: 1, unit: "µs", goal: 10},
	{label: "count of all", workload: "count", clients: 1, unit: "ms", goal: 3},
	{label: "drain of all", workload: "drain", clients: 1, unit: "ms"},
	{label: "$group of all", workload: "group", clients: 1, unit: "ms"},
}

const (
	stubName   = "stub"
	floorName  = "floor"
	cantleName = "cantle"
	// ratioRounds is the number of rounds in which everything is measured; the lowest cost counts.
	ratioRounds = 3
)

// inRatio reports whether the scoreboard needs a workload with this number of clients.
func inRatio(workload string, clients int) bool {
	return slices.ContainsFunc(scores, func(s score) bool {
		return (s.workload == workload || s.instead == workload) && s.clients == clients
	})
}

// measureRatio measures stub, floor and server in turns and prints the scoreboard. A running server (--uri) is
// measured without stub and floor, for --json.
func measureRatio(ctx context.Context, s settings) error {
	var rounds [][]result
	for i := range ratioRounds {
		fmt.Printf("round %d of %d\n", i+1, ratioRounds)
		printHeader(os.Stdout)
		var round []result
		report := func(r result) {
			round = append(round, r)
			r.print(os.Stdout)
		}
		if err := measureBoth(ctx, s, s.uri == "", report); err != nil {
			return err
		}
		rounds = append(rounds, round)
	}
	least := leastOf(rounds)
	if s.json != "" {
		if err := save(s.json, least); err != nil {
			return err
		}
	}
	beside, err := othersIn(s.beside)
	if err != nil {
		return err
	}
	writeScores(os.Stdout, s, least, beside)
	if s.page == "" {
		return nil
	}
	f, err := os.Create(s.page)
	if err != nil {
		return err
	}
	writeScores(f, s, least, beside)
	return f.Close()
}

// leastOf keeps of each row the round with the lowest cost: other load on the machine only increases the
// cost.
func leastOf(rounds [][]result) (out []result) {
	for _, round := range rounds {
		for _, r := range round {
			i := slices.IndexFunc(out, func(o result) bool {
				return o.Target == r.Target && o.Workload == r.Workload && o.Clients == r.Clients
			})
			if i < 0 {
				out = append(out, r)
			} else if n := out[i].ServerMicros; r.ServerMicros > 0 && (n == 0 || r.ServerMicros < n) {
				out[i] = r
			}
		}
	}
	return out
}

// othersIn reads the results of other servers, each named after its file.
func othersIn(files string) (out []result, err error) {
	for path := range strings.FieldsFuncSeq(files, func(c rune) bool { return c == ',' }) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var rows []result
		if err := json.Unmarshal(text, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i := range rows {
			rows[i].Target = strings.TrimSuffix(filepath.Base(path), ".json")
		}
		out = append(out, rows...)
	}
	return out, nil
}

// cost returns the cost per operation of a row at a target in microseconds, 0 if it was not measured.
func cost(rows []result, target, workload string, clients int) float64 {
	for _, r := range rows {
		if r.Target == target && r.Workload == workload && r.Clients == clients {
			return r.ServerMicros
		}
	}
	return 0
}

// writeScores writes the scoreboard as a page.
func writeScores(w io.Writer, s settings, rows, beside []result) {
	var others []string
	for _, r := range beside {
		if !slices.Contains(others, r.Target) {
			others = append(others, r.Target)
		}
	}
	fmt.Fprintf(w, "# What an operation costs\n\nWritten by `./scripts/bench --ratio`; do not edit.\n\n")
	fmt.Fprintf(w, "CPU time of the server per operation, the least of %d rounds of %g s each, in turns with a stub that answers canned replies, on\n", ratioRounds, s.seconds)
	fmt.Fprintf(w, "%d cores that client and server share, with %d documents of 1 KB; load of the machine at the end: %s. A multiple is of the stub's\n", runtime.NumCPU(), s.documents, loadAverage())
	fmt.Fprintf(w, "cost where nothing else is said: what is left of it is what this server does. Goals are what the project aims at. The floor is\n")
	fmt.Fprintf(w, "the stub with the server's engine behind it: the documents and a log of their changes on the disk before the reply, and nothing else.\n\n")
	fmt.Fprintf(w, "| operation | clients | Cantle | stub | multiple | goal | floor | of the floor |%s\n", column(others, func(o string) string { return o }))
	fmt.Fprintf(w, "|---|---:|---:|---:|---:|---:|---:|---:|%s\n", strings.Repeat("---:|", len(others)))
	for _, x := range scores {
		own := cost(rows, cantleName, x.workload, x.clients)
		base := cost(rows, x.against, orElse(x.instead, x.workload), x.clients)
		multiple, goal := "", ""
		switch {
		case base > 0:
			multiple = fmt.Sprintf("%.2f", own/base)
			goal = fmt.Sprintf("%.1f", x.goal)
		case x.goal > 0 && x.unit != "":
			goal = fmt.Sprintf("%g %s", x.goal, x.unit)
		}
		stub := ""
		if n := cost(rows, stubName, x.workload, x.clients); n > 0 {
			stub = amount(n, x.unit)
		}
		floor, above := "", ""
		if n := cost(rows, floorName, x.workload, x.clients); n > 0 {
			floor, above = amount(n, x.unit), fmt.Sprintf("%.2f", own/n)
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s |%s\n", x.label, x.clients, amount(own, x.unit), stub, multiple, goal, floor, above,
			column(others, func(o string) string { return amount(cost(beside, o, x.workload, x.clients), x.unit) }))
	}
}

// column returns the cells of other servers.
func column(others []string, cell func(string) string) string {
	out := ""
	for _, o := range others {
		out += " " + cell(o) + " |"
	}
	return out
}

// amount prints microseconds in a unit, µs if none is given; "-" for what was not measured.
func amount(micros float64, unit string) string {
	switch {
	case micros == 0:
		return "-"
	case unit == "ms":
		return fmt.Sprintf("%.2f ms", micros/1000)
	}
	return fmt.Sprintf("%.1f µs", micros)
}

func orElse(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}

// loadAverage returns the three load averages of /proc/loadavg, "unknown" where there is none.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(text))
	if err != nil || len(f) < 3 {
		return "unknown"
	}
	return strings.Join(f[:3], " ")
}
