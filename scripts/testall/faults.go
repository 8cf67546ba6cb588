package main

import (
	"fmt"
	"io"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// reportFaults prints the results of the fault programme since a time.
func reportFaults(w io.Writer, since time.Time) {
	results, err := programme.Results()
	if err != nil {
		fmt.Fprintln(w, err)
	}
	for _, r := range results {
		if !r.At.Before(since) {
			fmt.Fprintf(w, "faults: %s (%s): %s\n", r.Row, r.Column, r)
		}
	}
}

// tellFuzz records the result of the step fuzz in the row fuzz of the fault programme.
func (r *run) tellFuzz(begun time.Time, targets, failed int) error {
	inputs := fmt.Sprintf("%d inputs each", fuzzInputs)
	column := programme.Run
	if r.speed == night {
		inputs, column = "five minutes each", programme.Nightly
	}
	return programme.Record(programme.Result{Row: "fuzz", Test: "fuzz", Column: column, Part: r.part, Count: targets, Failed: failed > 0, Detail: inputs, At: begun, Took: time.Since(begun)})
}
