package agg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every stage, accumulator and window function of the tables has a case that names it, so
// that TestGiantValues has it as well.
func TestTablesHaveCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	var all strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	named := func(name string) {
		if text := all.String(); !strings.Contains(text, name+":") && !strings.Contains(text, `"`+name+`":`) {
			t.Errorf("no case has %s", name)
		}
	}
	for i := range Stages {
		named(Stages[i].Name)
	}
	for i := range Accumulators {
		named(Accumulators[i].Name)
	}
	for i := range WindowFunctions {
		named(WindowFunctions[i].Name)
	}
}
