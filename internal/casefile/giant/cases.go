package giant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/testenv"
)

// soaks reports whether the run has time for all variants.
func soaks() bool { return testenv.IsNightly() }

// Ways returns the variants of extreme values with which the i-th case is tried: one of them, or in a soak all.
func Ways(i int) (variants []int) {
	if !soaks() {
		return []int{i % Variants}
	}
	for v := range Variants {
		variants = append(variants, v)
	}
	return variants
}

// CaseText returns the text of all case files in testdata, for tests that require that each row of a table is named
// in a case.
func CaseText(t *testing.T) string {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.txt")
	var all strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// Cases calls run with every third case of the case files in testdata, and one variant of extreme values; in a soak,
// with all cases and all variants. Each file is a subtest.
func Cases(t *testing.T, run func(t *testing.T, c *casefile.Case, variant int)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no case files: ", err)
	}
	for _, name := range files {
		f, err := casefile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			for i, c := range f.Cases {
				if i%3 != 0 && !soaks() {
					continue
				}
				for _, variant := range Ways(i) {
					run(t, c, variant)
				}
			}
		})
	}
}
