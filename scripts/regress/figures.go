package main

import (
	"fmt"
	"slices"
	"strings"
)

// figures are what benchmarks cost, by name.
type figures map[string]float64

// cpuSeconds is the figure that depends on the machine.
const cpuSeconds = "CPU seconds"

// unjudged ends the line of a figure that is only shown.
const unjudged = "(not judged)"

// slack is by how much a figure may grow beside the per cent: what a pool that was emptied, or
// a buffer of a runtime, adds to an average.
var slack = map[string]float64{"allocs/op": 0.5, "B/op": 64}

// takeLeast keeps the lesser of two runs.
func (f figures) takeLeast(run figures) {
	for name, n := range run {
		if was, ok := f[name]; !ok || n < was {
			f[name] = n
		}
	}
}

// worse lists the figures that grew by more than so many per cent, by name.
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
