package agg

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/casefile"
)

// infallible are the functions that accept any argument.
var infallible = []string{"$addToSet", "$first", "$last", "$max", "$min", "$push", "$sum", "$avg", "$stdDevPop", "$stdDevSamp", "$covariancePop", "$covarianceSamp", "$locf"}

// Every stage, accumulator and window function of the tables has its own case file, with a case that works (except
// those of Atlas Search) and a case that is rejected (except infallible).
func TestEveryRowHasCases(t *testing.T) {
	check := func(prefix, name string, refused bool) {
		file := prefix + strings.ToLower(name[1:]) + ".txt"
		works, fails := 0, 0
		for _, c := range casesOf(t, file) {
			pipeline, _ := c.Get("pipeline")
			switch {
			case !mentions(pipeline, name):
			case strings.HasPrefix(c.Want(), "error "):
				fails++
			default:
				works++
			}
		}
		if works == 0 && !refused {
			t.Errorf("%s has no case of %s that works", file, name)
		}
		if fails == 0 && !slices.Contains(infallible, name) {
			t.Errorf("%s has no case of %s that is refused", file, name)
		}
	}
	for _, s := range Stages {
		check("", s.Name, strings.HasPrefix(s.Name, "$search") || s.Name == "$vectorSearch" || s.Name == "$listSearchIndexes")
	}
	for _, a := range Accumulators {
		check("acc_", a.Name, false)
	}
	for _, w := range WindowFunctions {
		check("window_", w.Name, false)
	}
}

// mentions reports whether a pipeline contains an operator.
func mentions(pipeline, name string) bool {
	names := strings.FieldsFuncSeq(pipeline, func(r rune) bool { return strings.ContainsRune("{}[]:, \"'", r) })
	for n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// casesOf returns the cases of one file of testdata that run a pipeline.
func casesOf(t *testing.T, file string) []*casefile.Case {
	t.Helper()
	f, err := casefile.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(f.Cases, func(c *casefile.Case) bool { return c.Verb != "run" })
}
