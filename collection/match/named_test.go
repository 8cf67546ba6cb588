package match_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/match"
)

// Every operator of the table has a case that names it, so that TestGiantValues has it as
// well.
func TestOperatorsHaveCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	var all strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, op := range match.Operators {
		if !strings.Contains(all.String(), op.Name+":") {
			t.Errorf("no case has %s", op.Name)
		}
	}
}
