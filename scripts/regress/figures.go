package main

import (
	"fmt"
	"slices"
	"strings"
)

// figures holds the costs of benchmarks, by name.
type figures map[string]float64

// cpuSeconds is the name of the figure of a benchmark that depends on the machine's load: its CPU time.
const cpuSeconds = "CPU seconds"

// unjudged is the end of the line of a figure that is shown but cannot fail the comparison.
const unjudged = "(not judged)"

// slack is the absolute growth of a figure that is allowed besides the per cent, by unit: an emptied pool, or a
// buffer of the runtime, adds that much to an average.
var slack = map[string]float64{"allocs/op": 0.5, "B/op": 64}

// takeLeast keeps the smaller figures of two runs.
func (f figures) takeLeast(run figures) {
	for name, n := range run {
		if was, ok := f[name]; !ok || n < was {
			f[name] = n
		}
	}
}

// worse returns a line for each figure that grew by more than over per cent plus its slack since old, sorted by name.
// CPU seconds are unjudged unless cpu is set and instructions are not counted.
func (f figures) worse(old figures, over float64, cpu bool) (lines []string) {
	_, counted := f["instructions"]
	for name, now := range f {
		was, ok := old[name]
		_, unit, _ := strings.Cut(name, " ")
		if !ok || now <= was*(1+over/100)+slack[unit] {
			continue
		}
		line := fmt.Sprintf("%s: %g, was %g", name, now, was)
		if name == cpuSeconds && (counted || !cpu) {
			line += " " + unjudged
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
