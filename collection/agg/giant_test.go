package agg

import (
	"context"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestGiantValues runs valid pipelines of the cases (of a third of them, in a soak of all) without JavaScript over
// documents as extreme as a client can make them, and with extreme arguments: each ends soon after the command's time
// is over.
func TestGiantValues(t *testing.T) { giant.Cases(t, extremes) }

// extremes runs the pipeline of a case over extreme documents of one variant, first with its own arguments, then with
// extreme ones.
func extremes(t *testing.T, c *casefile.Case, variant int) {
	text, _ := c.Get("pipeline")
	if c.Verb != "run" || mentions(text, "$accumulator") || mentions(text, "$function") { // scripts are interrupted from outside
		return
	}
	if _, err := newWorld(t, c).parse(); err != nil {
		return // invalid pipeline
	}
	giant.Watch(t, fmt.Sprintf("%s, variant %d", c.Position(), variant), func(ctx context.Context) {
		for _, arguments := range [...]bool{false, true} {
			w := newWorld(t, c)
			w.env.SetContext(ctx)
			w.env.Memory = mql.NewMemory(mql.StageBytesMax)
			for i, d := range w.docs {
				if i < 3 {
					w.docs[i] = giant.Fields(d, variant)
				}
			}
			if arguments {
				b := bson.NewArrayBuilder(nil)
				for _, d := range w.pipeline {
					b.Raw("", d)
				}
				stages := giant.Inside(bson.Value{Type: bson.TypeArray, Data: b.Finish()}, variant)
				w.pipeline, _ = pipelineDocs(stages)
			}
			_, _ = w.collect(whole)
		}
	})
}
