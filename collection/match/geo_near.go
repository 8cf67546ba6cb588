package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	opNear       = Operator{Name: "$near", Where: Field, Parse: misplacedNear, Doc: "reference/operator/query/near"}
	opNearSphere = Operator{Name: "$nearSphere", Where: Field, Parse: misplacedNear, Doc: "reference/operator/query/nearSphere"}
)

// misplacedNear returns the error for a $near that is not the first operator on its field. parser.near reads a $near
// at the allowed place.
func misplacedNear(_ *parser, a operand) (Node, error) {
	return nil, badValue("%s must be the first operator on field '%s'", a.op.Name, a.path.String())
}

// near reads {$near: …, $maxDistance: …}, which cannot be combined with other operators on the field; ok is false if
// doc does not begin with $near, $nearSphere or $geoNear.
func (p *parser) near(at path.Path, doc bson.Raw) (n Node, ok bool, err error) {
	name := firstName(doc)
	if name != "$near" && name != "$nearSphere" && name != "$geoNear" {
		return nil, false, nil
	}
	near, err := geo.ParseNear(doc)
	if err != nil {
		return nil, true, err
	}
	return &Near{Leaf: Leaf{path: at, parts: at.Components(), pred: &nearPredicate{near, doc}}}, true, nil
}

// NewNear returns the node of a $near on a path. The stage $geoNear makes it from its own arguments.
func NewNear(at path.Path, near *geo.Near) *Near {
	b := bson.NewBuilder(nil)
	b.BeginDoc("$near")
	b.BeginArray("coordinates")
	b.Double("", near.Center.X)
	b.Double("", near.Center.Y)
	b.End()
	b.End()
	return &Near{Leaf: Leaf{path: at, parts: at.Components(), pred: &nearPredicate{near, b.Doc()}}, Stage: true}
}

// Near is the filter node of $near, which requests documents in the order of their distance from a point. A
// geospatial index delivers the order; Matches only tests whether a document lies between the minimal and the
// maximal distance.
type Near struct {
	Leaf
	// Stage is set for a search of the stage $geoNear, which may read time-series collections.
	Stage bool
}

// Geo returns the parsed arguments.
func (n *Near) Geo() *geo.Near { return n.pred.(*nearPredicate).near }

// Distance returns the distance from the $near's point to the nearest geometry at the node's path in doc; ok is
// false if no geometry lies between the minimal and the maximal distance.
func (n *Near) Distance(doc bson.Raw) (d float64, ok bool) {
	near := n.Geo()
	n.path.Walk(doc, path.TraverseLeaf, func(v bson.Value, _ []int32) bool {
		if g, isGeo := geo.Stored(v); isGeo {
			if x, within := near.Distance(g); within && (!ok || x < d) {
				d, ok = x, true
			}
		}
		return true
	})
	return d, ok
}

type nearPredicate struct {
	near *geo.Near
	ops  bson.Raw
}

func (n *nearPredicate) name() string { return "$near" }

func (*nearPredicate) reasons() (no, yes string) {
	return "condition did not hold", "condition did hold"
}

func (*nearPredicate) sameForEqual() bool { return false }

func (n *nearPredicate) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return false, nil
	}
	g, ok := geo.Stored(v)
	if !ok {
		return false, nil
	}
	_, ok = n.near.Distance(g)
	return ok, nil
}

func (n *nearPredicate) append(b *bson.Builder) { b.Splice(n.ops.Elements()) }

func (n *nearPredicate) shape(dst []byte) []byte { return append(dst, firstName(n.ops)...) }

func (n *nearPredicate) bounds(add func(Interval)) (exact bool) {
	add(AllValues())
	return false
}
