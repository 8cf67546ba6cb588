package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	opAlwaysFalse = Operator{Name: "$alwaysFalse", Where: Top, Parse: parseAlways, Doc: "reference/operator/query"}
	opAlwaysTrue  = Operator{Name: "$alwaysTrue", Where: Top, Parse: parseAlways, Doc: "reference/operator/query"}
)

// parseAlways reads {$alwaysTrue: 1} and {$alwaysFalse: 1}, which match every document and none. explain prints
// these operators for constant filters, and tools send what explain printed.
func parseAlways(_ *parser, a operand) (Node, error) {
	n, ok := a.value.AsInt64()
	switch {
	case !a.value.IsNumber():
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must be an integer value", a.op.Name)
	case !ok || n != 1:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must be an integer value of 1", a.op.Name)
	}
	return Always(a.op.Name == "$alwaysTrue"), nil
}

// Always matches every document or none.
type Always bool

// Matches implements Node.
func (n Always) Matches(*mql.Env, bson.Raw, *expr.Scratch) (bool, error) { return bool(n), nil }

func (n Always) holds(*mql.Env, bson.Value, *expr.Scratch) (bool, error) { return bool(n), nil }

// Children implements Node.
func (n Always) Children() []Node { return nil }

// Append implements Node.
func (n Always) Append(b *bson.Builder) {
	if n {
		b.Int32("$alwaysTrue", 1)
	} else {
		b.Int32("$alwaysFalse", 1)
	}
}

func (n Always) appendOps(b *bson.Builder) { n.Append(b) }

func (n Always) shape(dst []byte) []byte {
	if n {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}
