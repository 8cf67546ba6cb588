package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	opGeoIntersects = Operator{Name: "$geoIntersects", Where: Field, Parse: parseGeo, Doc: "reference/operator/query/geoIntersects"}
	opGeoWithin     = Operator{Name: "$geoWithin", Where: Field, Parse: parseGeo, Doc: "reference/operator/query/geoWithin"}
	opWithin        = Operator{Name: "$within", Where: Field, Parse: parseGeo, Doc: "reference/operator/query/geoWithin"}
)

func parseGeo(p *parser, a operand) (Node, error) {
	n := &geoPredicate{op: a.op.Name, arg: a.value}
	var err error
	if n.op == "$geoIntersects" && a.all.Len() > 1 {
		return nil, badValue("$geoIntersects cannot stand with other operators on field '%s'", a.path.String())
	}
	if n.op == "$geoIntersects" {
		n.region, err = geo.ParseIntersects(a.value)
	} else {
		n.op = "$geoWithin"
		if err := checkShape(p.env, a.value); err != nil {
			return nil, err
		}
		n.region, err = geo.ParseWithin(a.value)
	}
	if err != nil {
		return nil, err
	}
	return newLeaf(a.path, n), nil
}

// checkShape refuses a shape ($box, $center, …) that an account of Azure Cosmos DB does not support. On other
// addresses it accepts all.
func checkShape(env *mql.Env, arg bson.Value) error {
	d, ok := arg.Doc()
	if !ok || env.Cosmos == nil {
		return nil
	}
	for name := range d.Fields() {
		if err := env.Cosmos.Check(cosmos.Query, string(name)); err != nil {
			return err
		}
	}
	return nil
}

// geoPredicate is the predicate of $geoWithin and $geoIntersects: a geometry lies within a shape, or intersects it.
type geoPredicate struct {
	op     string
	arg    bson.Value
	region *geo.Shape
}

// GeoShape returns the shape of a $geoWithin or $geoIntersects, from which geospatial indexes compute their bounds.
// within is true for $geoWithin; ok is false for a leaf with another operator.
func (l *Leaf) GeoShape() (s *geo.Shape, within, ok bool) {
	g, ok := l.pred.(*geoPredicate)
	if !ok {
		return nil, false, false
	}
	return g.region, g.op == "$geoWithin", true
}

func (g *geoPredicate) name() string { return g.op }

func (g *geoPredicate) reasons() (no, yes string) {
	if g.op == opGeoIntersects.Name {
		return "none of the considered geometries intersected the given geometry", "at least one of considered geometries intersected the given geometry"
	}
	return "none of the considered geometries was contained within the given geometry", "at least one of considered geometries was contained within the given geometry"
}

func (*geoPredicate) sameForEqual() bool { return false }

func (g *geoPredicate) holds(env *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		return false, nil
	}
	// The work is counted before the comparison: each part of the shape may be compared with the whole geometry.
	if err := env.Spend(len(v.Data) + g.region.Work()); err != nil {
		return false, err
	}
	stored, ok := geo.Stored(v)
	if !ok {
		return false, nil
	}
	if g.op == "$geoWithin" {
		return g.region.Covers(stored), nil
	}
	return g.region.Meets(stored), nil
}

func (g *geoPredicate) append(b *bson.Builder) { b.Value(g.op, g.arg) }

func (g *geoPredicate) shape(dst []byte) []byte { return append(dst, g.op...) }

// bounds adds all keys of an ordinary index: a geometry is a document or an array, and an array's elements, which
// are its keys, may be anything.
func (g *geoPredicate) bounds(add func(Interval)) (exact bool) {
	add(AllValues())
	return false
}
