package match_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestOperatorsHaveCases requires that every operator of the table occurs in a case, so that a soak of TestGiantValues
// runs it too, unless it is JavaScript.
func TestOperatorsHaveCases(t *testing.T) {
	all := giant.CaseText(t)
	for _, op := range match.Operators {
		if !strings.Contains(all, op.Name+":") {
			t.Errorf("no case has %s", op.Name)
		}
	}
}
