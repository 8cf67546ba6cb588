package agg

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/casefile/giant"
)

// Every stage, accumulator and window function of the tables occurs in a case, so that a soak of TestGiantValues runs
// it too, unless it has JavaScript.
func TestTablesHaveCases(t *testing.T) {
	all := giant.CaseText(t)
	named := func(name string) {
		if !strings.Contains(all, name+":") && !strings.Contains(all, `"`+name+`":`) {
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
