package agg

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/casefile"
)

// elsewhere are the stages about the server itself, whose answers only the whole
// server knows: their cases are in compat-tests/cases.
var elsewhere = []string{"$changeStream", "$changeStreamSplitLargeEvent", "$currentOp", "$indexStats", "$listClusterCatalog", "$listLocalSessions",
	"$listSampledQueries", "$listSessions", "$planCacheStats", "$querySettings", "$queryStats", "$shardedDataDistribution", "$collStats"}

// infallible are the functions that take any argument.
var infallible = []string{"$addToSet", "$first", "$last", "$max", "$min", "$push", "$sum", "$avg", "$stdDevPop", "$stdDevSamp", "$covariancePop", "$covarianceSamp", "$locf"}

// Every stage, accumulator and window function of the tables has a case that
// works and one that is refused.
func TestEveryRowHasCases(t *testing.T) {
	works, fails := map[string]int{}, map[string]int{}
	for _, c := range casesOf(t) {
		pipeline, _ := c.Get("pipeline")
		into := works
		if strings.HasPrefix(c.Want(), "error ") {
			into = fails
		}
		for name := range strings.FieldsFuncSeq(pipeline, func(r rune) bool { return strings.ContainsRune("{}[]:, \"'", r) }) {
			if strings.HasPrefix(name, "$") {
				into[name]++
			}
		}
	}
	check := func(kind, name string, refused bool) {
		if works[name] == 0 && !refused {
			t.Errorf("%s %s has no case that works", kind, name)
		}
		if fails[name] == 0 && !slices.Contains(infallible, name) {
			t.Errorf("%s %s has no case that is refused", kind, name)
		}
	}
	for _, s := range Stages {
		refused := strings.HasPrefix(s.Name, "$search") || s.Name == "$vectorSearch" || s.Name == "$listSearchIndexes"
		check("stage", s.Name, refused || slices.Contains(elsewhere, s.Name))
	}
	for _, a := range Accumulators {
		check("accumulator", a.Name, false)
	}
	for _, w := range WindowFunctions {
		check("window function", w.Name, false)
	}
}

// casesOf returns the cases of testdata that run a pipeline.
func casesOf(t *testing.T) []*casefile.Case {
	t.Helper()
	var run []*casefile.Case
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no case files", err)
	}
	for _, p := range paths {
		f, err := casefile.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			if c.Verb == "run" {
				run = append(run, c)
			}
		}
	}
	return run
}
