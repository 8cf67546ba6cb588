package geo

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Near holds the parsed arguments of $near and $nearSphere: a point, and the smallest and largest distance from it.
// With a GeoJSON point, distances are metres on the sphere; with a legacy pair, radians for $nearSphere and units of
// the plane for $near.
type Near struct {
	Center Point
	// Sphere is set if distances are on the sphere, Meters if they are in metres.
	Sphere, Meters bool
	// Min and Max bound the distance; Max is infinite if absent.
	Min, Max float64
}

// Distance returns the distance from the point of n to the geometry g, in the units of n; ok is false if g cannot be
// used with n (such as a line in the plane), or if the distance is not between Min and Max.
func (n *Near) Distance(g *Geometry) (d float64, ok bool) {
	switch {
	case !n.Sphere:
		if !g.IsPoint() {
			return 0, false
		}
		d = math.Hypot(g.Points[0].X-n.Center.X, g.Points[0].Y-n.Center.Y)
	case !g.OnSphere():
		return 0, false
	default:
		d = distance(g, n.Center.S2())
		if n.Meters {
			d *= EarthRadiusMeters
		}
	}
	return d, d >= n.Min && d <= n.Max
}

// ParseNear parses {$near: …} or {$nearSphere: …} and the operators beside it, such as $maxDistance.
// Manual: reference/operator/query/near, reference/operator/query/nearSphere.
//
// Errors: 2 BadValue; 16893 to 16896 for invalid distances beside a legacy pair; 34413 for other operators.
func ParseNear(ops bson.Raw) (*Near, error) {
	n := &Near{Max: math.Inf(1)}
	seen, modern := false, false
	for it := ops.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "$near", "$nearSphere", "$geoNear":
			if seen {
				return nil, extraField(name)
			}
			seen = true
			if err := n.center(name, it.Value); err != nil {
				return nil, err
			}
			d, _ := it.Value.Doc()
			modern = !d.Get("$geometry").IsMissing()
		case "$minDistance":
			d, ok := it.Value.AsFloat()
			switch {
			case modern:
				return nil, extraField(name)
			case !ok:
				return nil, mongoerr.New(16893, "$minDistance must be a number")
			case !(d >= 0):
				return nil, mongoerr.New(16894, "$minDistance must be non-negative")
			}
			n.Min = d
		case "$maxDistance":
			d, ok := it.Value.AsFloat()
			switch {
			case modern:
				return nil, extraField(name)
			case !ok:
				return nil, mongoerr.New(16895, "$maxDistance must be a number")
			case !(d >= 0):
				return nil, mongoerr.New(16896, "$maxDistance must be non-negative")
			}
			n.Max = d
		case "$uniqueDocs":
			// deprecated, without effect
		default:
			return nil, mongoerr.New(34413, "invalid argument in geo near query: %s", name)
		}
	}
	return n, nil
}

// extraField returns the error for an operator beside a GeoJSON point.
func extraField(name string) error {
	return bad("geo near accepts just one argument when querying for a GeoJSON point. Extra field found: %s", name)
}

// center parses the argument of the operator itself.
func (n *Near) center(op string, v bson.Value) error {
	n.Sphere = op == "$nearSphere"
	if v.Type != bson.TypeArray && v.Type != bson.TypeDocument {
		return bad("near must be first in: %s needs a point", op)
	}
	d := bson.Raw(v.Data)
	if f, ok := d.First(); ok && v.Type == bson.TypeDocument && len(f.Name) > 0 && f.Name[0] == '$' {
		return n.geoJSON(d)
	}
	if t, ok := d.Lookup("type"); ok && t.Type == bson.TypeString {
		return n.point(v) // a GeoJSON object without $geometry
	}
	p, ok := legacyPoint(v, true)
	if !ok {
		return bad("geo near query doesn't have a point in it")
	}
	if n.Sphere && !p.onSphere() {
		return bad("invalid point in geo near query $geometry argument: longitude/latitude is out of bounds")
	}
	n.Center = p
	// A third number is the maximal distance.
	i := 0
	for e := range d.Values() {
		if i++; i == 3 {
			far, ok := e.AsFloat()
			switch {
			case !ok:
				return bad("a third element of a point must be the greatest distance")
			case !(far >= 0):
				return mongoerr.New(16896, "$maxDistance must be non-negative")
			}
			n.Max = far
		}
	}
	return nil
}

// geoJSON reads {$geometry: …, $minDistance: …, $maxDistance: …}.
func (n *Near) geoJSON(d bson.Raw) error {
	found := false
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "$geometry":
			found = true
			if err := n.point(it.Value); err != nil {
				return err
			}
		case "$minDistance", "$maxDistance":
			x, ok := it.Value.AsFloat()
			switch {
			case !ok:
				return bad("%s must be a number", name)
			case !(x >= 0) || math.IsInf(x, 0):
				return bad("%s must be non-negative", name)
			}
			if name == "$minDistance" {
				n.Min = x
			} else {
				n.Max = x
			}
		case "$uniqueDocs":
		default:
			return bad("invalid argument in geo near query: %s", name)
		}
	}
	if !found {
		return bad("$near requires a point, given no $geometry")
	}
	return nil
}

// point parses the argument of a $near from which distances are measured: a GeoJSON point or a legacy pair.
func (n *Near) point(v bson.Value) error {
	s, err := parseGeometry(v)
	if err != nil {
		return err
	}
	kind, typed := bson.Raw(v.Data).Lookup("type")
	if name, _ := kind.Str(); typed && name != "Point" {
		return bad("invalid point in geo near query $geometry argument: it is not a Point")
	}
	n.Center, n.Sphere, n.Meters = s.Geometry.Points[0], true, true
	return nil
}
