package geo

import (
	"github.com/cantledb/cantle/bson"

	"github.com/golang/geo/s2"
)

// EarthRadiusMeters is MongoDB's factor from radians to metres.
// Manual: reference/operator/aggregation/geoNear#std-label-geoNear-distance.
const EarthRadiusMeters = 6378100.0

// Point is a position: longitude X and latitude Y in degrees, or coordinates in the plane.
type Point struct{ X, Y float64 }

// onSphere reports whether p is a valid longitude and latitude.
func (p Point) onSphere() bool { return p.X >= -180 && p.X <= 180 && p.Y >= -90 && p.Y <= 90 }

// S2 returns p on the unit sphere.
func (p Point) S2() s2.Point { return s2.PointFromLatLng(s2.LatLngFromDegrees(p.Y, p.X)) }

// Geometry holds the points, lines and polygons of one value. Immutable.
type Geometry struct {
	// Points are the single points, also of a legacy pair.
	Points []Point
	// Lines are the vertices of lines on the sphere.
	Lines [][]s2.Point
	// Polygons are polygons on the sphere.
	Polygons []*s2.Polygon
	// Planar reports that the value was a legacy pair.
	Planar bool
	// Strict reports that the only polygon has strict winding.
	Strict bool

	points []s2.Point // of Points, unless Planar
}

// IsPoint reports whether g is a single point.
func (g *Geometry) IsPoint() bool {
	return len(g.Points) == 1 && len(g.Lines) == 0 && len(g.Polygons) == 0
}

// OnSphere reports whether the geometry can be used with spherical shapes.
func (g *Geometry) OnSphere() bool { return !g.Planar || g.Points[0].onSphere() }

// SpherePoints returns the Points on the unit sphere.
func (g *Geometry) SpherePoints() []s2.Point {
	if g.Planar {
		return []s2.Point{g.Points[0].S2()}
	}
	return g.points
}

func (g *Geometry) addPoint(p Point) {
	g.Points = append(g.Points, p)
	g.points = append(g.points, p.S2())
}

// Stored reads the geometry in a field of a document: a GeoJSON object, or a legacy pair [x, y] or {lng: x, lat: y}.
// ok is false for anything else, and for strict winding. Rings are not checked for crossings, because an index, if
// there is one, checks them when the document is written.
func Stored(v bson.Value) (g *Geometry, ok bool) {
	if d, isDoc := v.Doc(); isDoc {
		if t := d.Get("type"); t.Type == bson.TypeString {
			g, err := parseGeoJSON(d, false)
			return g, err == nil && !g.Strict
		}
	}
	p, ok := legacyPoint(v, true)
	if !ok {
		return nil, false
	}
	return &Geometry{Points: []Point{p}, Planar: true}, true
}

// ParseStored reads a geometry as Stored does, with all checks. Indexes call it for documents that are written.
//
// Errors: 2 BadValue with the reason.
func ParseStored(v bson.Value) (*Geometry, error) {
	if d, isDoc := v.Doc(); isDoc {
		if t := d.Get("type"); t.Type == bson.TypeString {
			g, err := parseGeoJSON(d, true)
			if err == nil && g.Strict {
				err = bad("can't index geometry with strict winding order CRS")
			}
			return g, err
		}
	}
	p, ok := legacyPoint(v, true)
	if !ok {
		return nil, bad("can't extract a point or a GeoJSON object from a value of type %s", v.Type)
	}
	return &Geometry{Points: []Point{p}, Planar: true}, nil
}

// legacyPoint reads a legacy pair: [x, y] or an object whose first two fields are numbers, not NaN. If more is set,
// further elements are allowed.
func legacyPoint(v bson.Value, more bool) (p Point, ok bool) {
	if v.Type != bson.TypeArray && v.Type != bson.TypeDocument {
		return p, false
	}
	it := bson.Raw(v.Data).Iter()
	for _, to := range []*float64{&p.X, &p.Y} {
		if !it.Next() {
			return p, false
		}
		if *to, ok = it.Value.AsFloat(); !ok || *to != *to {
			return p, false
		}
	}
	return p, more || !it.Next()
}
