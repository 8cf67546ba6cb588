package update_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestGiantValues applies the updates of the cases (of a third of them, in a soak of all), without arrayFilters, to
// documents as extreme as a client can make them, and with extreme operands: each update ends soon after the command's
// time is over.
func TestGiantValues(t *testing.T) { giant.Cases(t, extremes) }

// extremes applies the updates of a case, as they are and with extreme operands, to extreme documents of one variant.
func extremes(t *testing.T, c *casefile.Case, variant int) {
	filter := bson.Empty
	if text, ok := c.Get("filter"); ok {
		filter = bsontest.Doc(t, text)
	}
	for _, text := range c.All("update") {
		v := bsontest.Value(t, text)
		giant.Watch(t, fmt.Sprintf("%s, variant %d", c.Position(), variant), func(ctx context.Context) {
			for _, u := range []bson.Value{v, giant.Inside(v, variant)} {
				env := newEnv()
				env.SetContext(ctx)
				p, err := update.Parse(env, u, nil, update.Options{})
				if err != nil {
					continue
				}
				n, err := match.Parse(env, filter)
				if err != nil {
					continue
				}
				for i, text := range c.All("doc") {
					if i < 3 {
						_, _, _ = apply(env, p, n, giant.Fields(bsontest.Doc(t, text), variant))
					}
				}
			}
		})
	}
}

// TestOperatorsHaveCases requires a case file for every operator of the table, so that a soak of TestGiantValues runs
// it too.
func TestOperatorsHaveCases(t *testing.T) {
	for _, op := range update.Operators {
		name := strings.ToLower(strings.TrimPrefix(op.Name, "$"))
		if b, err := os.ReadFile(filepath.Join("testdata", name+".txt")); err != nil || !strings.Contains(string(b), op.Name) {
			t.Errorf("%s has no cases: %v", op.Name, err)
		}
	}
}
