package match

import (
	"math/rand/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opSampleRate = Operator{Name: "$sampleRate", Where: Top, Parse: parseSampleRate, Since: "4.4", Doc: "reference/operator/aggregation/sampleRate"}

func parseSampleRate(p *parser, a operand) (Node, error) {
	if p.nested {
		return nil, badValue("$sampleRate can only be applied to the top-level document")
	}
	f, ok := a.value.AsFloat()
	switch {
	case !ok:
		return nil, badValue("argument to $sampleRate must be a numeric type")
	case !(f >= 0 && f <= 1):
		return nil, badValue("numeric argument to $sampleRate must be in [0, 1]")
	case f == 0:
		return Always(false), nil
	case f == 1:
		return Always(true), nil
	}
	return Sample(f), nil
}

// Sample matches a document at random, with this probability.
type Sample float64

// Matches implements Node.
func (n Sample) Matches(env *mql.Env, _ bson.Raw, _ *expr.Scratch) (bool, error) {
	env.NoteRandom()
	return rand.Float64() < float64(n), nil
}

// Children implements Node.
func (n Sample) Children() []Node { return nil }

// Append implements Node.
func (n Sample) Append(b *bson.Builder) { b.Double("$sampleRate", float64(n)) }

func (n Sample) shape(dst []byte) []byte { return append(dst, "$sampleRate"...) }
