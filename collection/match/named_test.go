package match_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// Every operator of the table has a case that names it, so that TestGiantValues has it as
// well.
func TestOperatorsHaveCases(t *testing.T) {
	all := giant.CaseText(t)
	for _, op := range match.Operators {
		if !strings.Contains(all, op.Name+":") {
			t.Errorf("no case has %s", op.Name)
		}
	}
}
