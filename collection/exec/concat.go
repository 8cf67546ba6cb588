package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// concat runs several operators one after the other, such as the shards of an unsorted read.
type concat struct {
	in []Operator
	at int
}

// Concat returns an operator that delivers all rows of the first input, then of the second, and so on. One of several
// inputs is closed as soon as it has ended.
func Concat(in []Operator) Operator {
	if len(in) == 1 {
		return in[0]
	}
	return &concat{in: in}
}

func (c *concat) Next(env *mql.Env) (*Row, error) {
	for c.at < len(c.in) {
		r, err := c.in[c.at].Next(env)
		if r != nil || err != nil {
			return r, err
		}
		c.in[c.at].Close()
		c.at++
	}
	return nil, nil
}

func (c *concat) Explain(b *bson.Builder, stats bool) {
	if len(c.in) > 0 {
		c.in[0].Explain(b, stats)
	}
}
func (c *concat) Close() { closeAll(c.in) }
