package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// countsFile holds the counts that FAULTS.md shows.
const countsFile = "compat-tests/faults/programme/counts.txt"

// keepCounts stores the newest counts of the fault programme, which a run left in .cache/faults, in place of the old
// ones. The counts of tests that have not run on this machine since stay.
// Errors: no test has run.
func keepCounts(root string) error {
	kept, err := os.ReadFile(filepath.Join(root, countsFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	results, err := programme.Results()
	if err == nil && len(results) == 0 {
		err = errors.New("there are no counts in .cache/faults: run ./scripts/test first")
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, countsFile), []byte(programme.Lines(string(kept), results)), 0o644)
}

// printFaults writes or compares FAULTS.md.
func printFaults(root string, check bool) error {
	lines, err := os.ReadFile(filepath.Join(root, countsFile))
	if err != nil {
		return err
	}
	return write(filepath.Join(root, "FAULTS.md"), programme.Page(string(lines)), check)
}
