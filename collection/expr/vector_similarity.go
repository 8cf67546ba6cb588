package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// similarity is a measure of the similarity of two vectors, such as their cosine, computed from sums over their
// elements.
// Manual: reference/operator/aggregation/similarityCosine.
type similarity struct {
	// of returns the measure from the sum of the products (dot), the sums of the squares of each vector, and
	// the sum of the squared differences.
	of func(dot, xx, yy, difference float64) float64
	// score maps the measure (a dot product, of unit vectors) to a value between 0 and 1, for the option score.
	score func(float64) float64
}

// halfway maps a value between -1 and 1 to a score.
func halfway(f float64) float64 { return (1 + f) / 2 }

// cosine is $similarityCosine: 0 if a vector is zero.
var cosine = similarity{func(dot, xx, yy, _ float64) float64 {
	if xx == 0 || yy == 0 {
		return 0
	}
	return min(max(dot/(math.Sqrt(xx)*math.Sqrt(yy)), -1), 1)
}, halfway}

// dotProduct is $similarityDotProduct.
var dotProduct = similarity{func(dot, _, _, _ float64) float64 { return dot }, halfway}

// euclidean is $similarityEuclidean, whose raw value is a distance.
var euclidean = similarity{func(_, _, _, difference float64) float64 { return math.Sqrt(difference) },
	func(f float64) float64 { return 1 / (1 + f) }}

// similarityCall is [vector, vector] or {vectors: [vector, vector], score: …}.
type similarityCall struct {
	name    string
	kind    similarity
	vectors [2]Expr
	score   bool
}

var similaritySignature = &signature{
	fields:    []field{{name: "vectors", missing: mongoerr.IDLFailedToParse}, {name: "score"}},
	notObject: mongoerr.FailedToParse, unknown: mongoerr.IDLUnknownField,
}

// parse reads both forms.
//
// Errors: 16020, FailedToParse, IDLFailedToParse, IDLUnknownField, TypeMismatch.
func (k similarity) parse(p *parser, op *Operator, v bson.Value) (Expr, error) {
	c := &similarityCall{name: op.Name, kind: k}
	list := v
	if v.Type != bson.TypeArray {
		raw, err := p.namedValues(op, similaritySignature, v)
		if err != nil {
			return nil, err
		}
		if score := raw[1]; !score.IsMissing() {
			if score.Type != bson.TypeBool {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "%s requires that 'score' be a boolean, found: %s", op.Name, score.Type)
			}
			c.score = score.Truthy()
		}
		if list = raw[0]; list.Type != bson.TypeArray {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "%s requires that 'vectors' be an array, found: %s", op.Name, list.Type)
		}
	}
	args, err := p.list(op, list)
	if err != nil {
		return nil, err
	}
	c.vectors = [2]Expr(args)
	return p.fold(c)
}

func (c *similarityCall) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	var v [2]bson.Value
	for i, e := range c.vectors {
		var err error
		if v[i], err = e.Eval(env, doc, s); err != nil {
			return v[i], err
		}
	}
	if v[0].IsNullish() || v[1].IsNullish() {
		return bson.Null, nil
	}
	var a [2]bson.Raw
	for i := range v {
		switch v[i].Type {
		case bson.TypeBinary:
			elements, err := vectorElements(env, s, v[i])
			if err != nil {
				return v[i], err
			}
			v[i] = elements
		case bson.TypeArray:
		default:
			return v[i], mongoerr.New(mongoerr.TypeMismatch, "%s requires arrays or binData as its vectors, found: %s", c.name, v[i].Type)
		}
		a[i], _ = v[i].Array()
	}
	f, err := c.sum(env, a[0], a[1])
	if err != nil {
		return bson.Null, err
	}
	if c.score {
		f = c.kind.score(f)
	}
	return s.Double(f), nil
}

// sum returns the measure of two vectors, computed in one pass over both.
//
// Errors: TypeMismatch for an element that is no number, BadValue for vectors of different lengths; the reason why the
// command must end.
func (c *similarityCall) sum(env *mql.Env, a, b bson.Raw) (float64, error) {
	dot, xx, yy, difference := 0.0, 0.0, 0.0, 0.0
	i, j := a.Iter(), b.Iter()
	for {
		more, other := i.Next(), j.Next()
		switch {
		case more != other:
			return 0, mongoerr.New(mongoerr.BadValue, "%s requires vectors of the same length", c.name)
		case !more:
			return c.kind.of(dot, xx, yy, difference), nil
		}
		x, err := c.element(i.Value)
		if err != nil {
			return 0, err
		}
		y, err := c.element(j.Value)
		if err != nil {
			return 0, err
		}
		dot, xx, yy, difference = dot+x*y, xx+x*x, yy+y*y, difference+(x-y)*(x-y)
		if err := env.Tick(); err != nil {
			return 0, err
		}
	}
}

// element returns the number of an element of a vector; booleans are 0 and 1.
func (c *similarityCall) element(v bson.Value) (float64, error) {
	f, ok := v.AsFloat()
	switch {
	case v.Type == bson.TypeBool:
		return float64(v.Data[0]), nil
	case !ok:
		return 0, mongoerr.New(mongoerr.TypeMismatch, "%s requires numbers in its vectors, found: %s", c.name, v.Type)
	}
	return f, nil
}

func (c *similarityCall) children(add func(Expr)) { add(c.vectors[0]); add(c.vectors[1]) }

func (c *similarityCall) Paths(add func(string)) { pathsOf(c, add) }

func (c *similarityCall) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(c.name)
	b.BeginArray("vectors")
	c.vectors[0].Append(b, "")
	c.vectors[1].Append(b, "")
	b.End()
	b.Bool("score", c.score)
	b.End()
	b.End()
}
