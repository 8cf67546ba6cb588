package geo

import (
	"math"

	"github.com/cantledb/cantle/bson"

	"github.com/golang/geo/s2"
)

// Shape is the shape of a $geoWithin or $geoIntersects: a GeoJSON geometry, a circle on the sphere, or a
// box, polygon or circle in the plane. Immutable.
type Shape struct {
	// Sphere is set for a shape on the sphere, and false for one in the plane.
	Sphere bool
	// Geometry is set for GeoJSON.
	Geometry *Geometry
	// Center and Radius (radians on the sphere) are set for circles.
	Center *Point
	Radius float64
	// Box is set for the operator $box: its lower left and its upper right corner.
	Box *[2]Point
	// Corners are the corners of a $polygon.
	Corners []Point
}

// Work returns the approximate cost of comparing one geometry with the shape, in the bytes that Env.Spend counts.
func (s *Shape) Work() int {
	n := len(s.Corners)
	if g := s.Geometry; g != nil {
		n += len(g.Points) + 4*len(g.Lines) + 8*len(g.Polygons)
	}
	return 16 * n
}

// Covers reports whether the shape contains all of g.
func (s *Shape) Covers(g *Geometry) bool {
	if !s.Sphere {
		return g.IsPoint() && s.coversPlanar(g.Points[0])
	}
	switch {
	case !g.OnSphere():
		return false
	case s.Center != nil:
		return capCovers(g, s.Center.S2(), s.Radius)
	}
	for _, p := range g.SpherePoints() {
		if !s.anyPolygon(func(poly *s2.Polygon) bool { return polygonCoversPoint(poly, p) }) {
			return false
		}
	}
	for _, line := range g.Lines {
		if !s.anyPolygon(func(poly *s2.Polygon) bool { return polygonCoversLine(poly, line) }) {
			return false
		}
	}
	for _, other := range g.Polygons {
		if !s.anyPolygon(func(poly *s2.Polygon) bool { return poly.Contains(other) }) {
			return false
		}
	}
	return true
}

func (s *Shape) anyPolygon(ok func(*s2.Polygon) bool) bool {
	for _, poly := range s.Geometry.Polygons {
		if ok(poly) {
			return true
		}
	}
	return false
}

// Meets reports whether the shape and the geometry g intersect, for $geoIntersects. In the plane only points are
// supported, so that Meets equals Covers.
func (s *Shape) Meets(g *Geometry) bool {
	switch {
	case !s.Sphere:
		return s.Covers(g)
	case !g.OnSphere():
		return false
	case s.Center != nil:
		return capMeets(g, s.Center.S2(), s.Radius)
	}
	return meets(s.Geometry, g)
}

func (s *Shape) coversPlanar(p Point) bool {
	switch {
	case s.Box != nil:
		return p.X >= s.Box[0].X && p.X <= s.Box[1].X && p.Y >= s.Box[0].Y && p.Y <= s.Box[1].Y
	case s.Center != nil:
		return withinCircle(*s.Center, p, s.Radius)
	}
	return insidePolygon(s.Corners, p)
}

// withinCircle reports whether p is in a circle of the plane. If p is straight above, below or to the side of the
// centre, it compares p with the end of the circle, because the difference of close coordinates can be rounded to
// slightly more than the radius.
func withinCircle(center, p Point, radius float64) bool {
	switch dx, dy := math.Abs(p.X-center.X), math.Abs(p.Y-center.Y); {
	case dx == 0:
		return min(p.Y, center.Y)+radius >= max(p.Y, center.Y)
	case dy == 0:
		return min(p.X, center.X)+radius >= max(p.X, center.X)
	default:
		return math.Sqrt(dx*dx+dy*dy) <= radius
	}
}

// insidePolygon reports whether p is in a polygon of the plane, by the parity of the edges to the right of p.
// Corners and edges parallel to an axis are inside; of the other edges, those on the left side of the polygon are
// not.
// Observed: $polygon.
func insidePolygon(corners []Point, p Point) bool {
	in := false
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		if (a.X == b.X || a.Y == b.Y) && onEdge(a, b, p) || p == a {
			return true
		}
		if (a.Y < p.Y) != (b.Y < p.Y) && p.X <= (b.X-a.X)*(p.Y-a.Y)/(b.Y-a.Y)+a.X {
			in = !in
		}
	}
	return in
}

// onEdge reports whether p lies on the edge from a to b of a polygon, which must be parallel to an axis.
func onEdge(a, b, p Point) bool {
	return p.X >= min(a.X, b.X) && p.X <= max(a.X, b.X) && p.Y >= min(a.Y, b.Y) && p.Y <= max(a.Y, b.Y)
}

// ParseWithin reads the argument of $geoWithin.
// Manual: reference/operator/query/geoWithin.
//
// Errors: 2 BadValue.
func ParseWithin(v bson.Value) (*Shape, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, bad("$geoWithin must be an object")
	}
	var s *Shape
	for name, arg := range d.Fields() {
		var next *Shape
		var err error
		switch string(name) {
		case "$geometry":
			next, err = parseGeometry(arg)
			if err == nil && (len(next.Geometry.Polygons) == 0 || len(next.Geometry.Points)+len(next.Geometry.Lines) > 0) {
				err = bad("$geoWithin not supported with provided geometry: it must be a Polygon or a MultiPolygon")
			}
		case "$box":
			next, err = parseBox(arg)
		case "$polygon":
			next, err = parsePolygon(arg)
		case "$center":
			next, err = parseCircle("$center", arg)
		case "$centerSphere":
			next, err = parseCircle("$centerSphere", arg)
		case "$uniqueDocs":
			continue // deprecated, without effect
		default:
			return nil, bad("unknown geo specifier: %s", name)
		}
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			return nil, bad("$geoWithin doesn't accept multiple geometry specifiers")
		}
		s = next
	}
	if s == nil {
		return nil, bad("$geoWithin requires a geometry")
	}
	return s, nil
}

// ParseIntersects reads the argument of $geoIntersects.
// Manual: reference/operator/query/geoIntersects.
//
// Errors: 2 BadValue.
func ParseIntersects(v bson.Value) (*Shape, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, bad("$geoIntersects must be an object")
	}
	f, ok := d.First()
	switch {
	case !ok:
		return nil, bad("$geoIntersects requires a $geometry")
	case string(f.Name) != "$geometry":
		return nil, bad("unknown geo specifier or not supported with $geoIntersects: %s", f.Name)
	case d.Len() > 1:
		return nil, bad("$geoIntersects doesn't accept other fields beside $geometry")
	}
	return parseGeometry(f.Value)
}

// parseGeometry parses the argument $geometry of a shape or a $near: a GeoJSON object, whose type may be missing for
// a Point, or a legacy pair.
func parseGeometry(v bson.Value) (*Shape, error) {
	if d, ok := v.Doc(); ok {
		t, typed := d.Lookup("type")
		if typed && t.Type != bson.TypeString {
			return nil, bad("GeoJSON type must be a string")
		}
		if coords, ok := d.Lookup("coordinates"); ok && !typed {
			p, err := position(coords)
			if err != nil {
				return nil, err
			}
			g := &Geometry{}
			g.addPoint(p)
			return &Shape{Sphere: true, Geometry: g}, nil
		}
		if typed {
			g, err := parseGeoJSON(d, true)
			if err != nil {
				return nil, err
			}
			return &Shape{Sphere: true, Geometry: g}, nil
		}
	}
	p, ok := legacyPoint(v, false)
	if !ok {
		return nil, bad("$geometry must be a GeoJSON object or a point")
	}
	if !p.onSphere() {
		return nil, bad("longitude/latitude is out of bounds, lng: %g lat: %g", p.X, p.Y)
	}
	g := &Geometry{}
	g.addPoint(p)
	return &Shape{Sphere: true, Geometry: g}, nil
}

// planarPoint parses a corner or a centre, which must be finite.
func planarPoint(what string, v bson.Value) (Point, error) {
	p, ok := legacyPoint(v, false)
	if !ok || math.IsInf(p.X, 0) || math.IsInf(p.Y, 0) {
		return p, bad("%s: Point must be an array or object of two finite numbers", what)
	}
	return p, nil
}

// list returns the members of an array, or the values of an object, as MongoDB accepts both for coordinates; ok is
// false for other types.
func list(v bson.Value) ([]bson.Value, bool) {
	if v.Type != bson.TypeArray && v.Type != bson.TypeDocument {
		return nil, false
	}
	var out []bson.Value
	for e := range bson.Raw(v.Data).Values() {
		out = append(out, e)
	}
	return out, true
}

func parseBox(v bson.Value) (*Shape, error) {
	l, ok := list(v)
	if !ok || len(l) < 2 {
		return nil, bad("$box requires two points")
	}
	a, err := planarPoint("$box", l[0])
	if err != nil {
		return nil, err
	}
	b, err := planarPoint("$box", l[1])
	if err != nil {
		return nil, err
	}
	return &Shape{Box: &[2]Point{{min(a.X, b.X), min(a.Y, b.Y)}, {max(a.X, b.X), max(a.Y, b.Y)}}}, nil
}

func parsePolygon(v bson.Value) (*Shape, error) {
	l, ok := list(v)
	if !ok {
		return nil, bad("$polygon must be an array or object of points")
	}
	s := &Shape{}
	for _, e := range l {
		p, err := planarPoint("$polygon", e)
		if err != nil {
			return nil, err
		}
		s.Corners = append(s.Corners, p)
	}
	if len(s.Corners) < 3 {
		return nil, bad("Polygon must have at least 3 points")
	}
	return s, nil
}

// parseCircle reads [center, radius].
func parseCircle(name string, v bson.Value) (*Shape, error) {
	l, ok := list(v)
	if !ok || len(l) < 2 {
		return nil, bad("%s must be an array of a point and a radius", name)
	}
	p, err := planarPoint(name, l[0])
	if err != nil {
		return nil, err
	}
	r, ok := l[1].AsFloat()
	switch {
	case !ok || !(r >= 0):
		return nil, bad("radius must be a non-negative number")
	case len(l) > 2:
		return nil, bad("Only 2 fields allowed for circular region")
	}
	s := &Shape{Center: &p, Radius: r, Sphere: name == "$centerSphere"}
	if s.Sphere {
		if !p.onSphere() {
			return nil, bad("longitude/latitude is out of bounds, lng: %g lat: %g", p.X, p.Y)
		}
	}
	return s, nil
}
