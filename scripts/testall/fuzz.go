package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// fuzzInputs is the number of inputs that each fuzz target gets without --long.
const fuzzInputs = 500

// fuzz is the step that runs every fuzz target, or a part of them: fuzzInputs inputs each, with --long five minutes
// each.
func (r *run) fuzz() error {
	part, err := programme.ParsePart(r.part)
	if err != nil {
		return err
	}
	targets, err := r.fuzzTargets()
	if err != nil {
		return err
	}
	targets = programme.Of(part, targets)
	if len(targets) == 0 {
		return errNothing
	}
	begun, failed := time.Now(), 0
	// Without --long, the amount is a number of inputs and not a time: at the end of a timed run on a busy machine
	// the fuzzer may report its own deadline as a failure of the target.
	amount := fmt.Sprintf("%dx", fuzzInputs)
	if r.speed == night {
		amount = "5m"
	}
	for _, t := range targets {
		err := r.output("go", "test", "-tags", testTags, "-vet=off", r.hang(), "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", amount, t.path)
		if r.ctx.Err() != nil {
			return err
		}
		if err != nil {
			r.count.fail(t.path + " " + t.name)
			failed++
			continue
		}
		r.count.passed++
	}
	return r.tellFuzz(begun, len(targets), failed)
}

// target is one fuzz target.
type target struct{ path, name string }

// fuzzTargets returns the fuzz targets of the run's packages, which it finds by reading the test files.
func (r *run) fuzzTargets() ([]target, error) {
	listed, err := r.list(
		`{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}` +
			`{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}`)
	if err != nil {
		return nil, err
	}
	var out []target
	for line := range strings.Lines(listed) {
		path, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for source := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(source, "func Fuzz"); ok {
				name, _, _ := strings.Cut(rest, "(")
				out = append(out, target{path, "Fuzz" + name})
			}
		}
	}
	return out, nil
}
