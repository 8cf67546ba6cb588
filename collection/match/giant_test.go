package match_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestGiantValues evaluates the filters of the cases of the verb match (of a third of them, in a soak of all), except
// JavaScript, on documents as extreme as a client can make them, and with extreme operands: each evaluation ends soon
// after the command's time is over.
func TestGiantValues(t *testing.T) { giant.Cases(t, extremes) }

// extremes evaluates the filters of a case, as they are and with extreme operands, on extreme documents of one variant.
func extremes(t *testing.T, c *casefile.Case, variant int) {
	if c.Verb != "match" {
		return
	}
	for _, text := range c.All("filter") {
		if strings.Contains(text, "$where") || strings.Contains(text, "$function") { // scripts are interrupted from outside
			continue
		}
		filter := bsontest.Doc(t, text)
		giant.Watch(t, fmt.Sprintf("%s, variant %d", c.Position(), variant), func(ctx context.Context) {
			huge, _ := giant.Inside(filter.Value(), variant).Doc()
			for _, filter := range []bson.Raw{filter, huge} {
				env := newEnv(t, c)
				env.SetContext(ctx)
				n, err := match.Parse(env, filter)
				if err != nil {
					continue
				}
				n = match.Normalize(n)
				var s expr.Scratch
				for k, text := range c.All("doc") {
					if k < 3 {
						_, _ = n.Matches(env, giant.Fields(bsontest.Doc(t, text), variant), &s)
					}
				}
			}
		})
	}
}
