package geo

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"

	"github.com/golang/geo/s2"
)

// The names of the supported coordinate reference systems.
// Manual: reference/operator/query/geometry.
const (
	crsWGS84  = "urn:ogc:def:crs:OGC:1.3:CRS84"
	crsEPSG   = "EPSG:4326"
	crsStrict = "urn:x-mongodb:crs:strictwinding:EPSG:4326"
)

func bad(format string, args ...any) error { return mongoerr.New(mongoerr.BadValue, format, args...) }

// parseGeoJSON parses a GeoJSON object. If check is set, it also checks rings: crossesItself, holds, checkRings,
// checkNesting.
func parseGeoJSON(d bson.Raw, check bool) (*Geometry, error) {
	g := &Geometry{}
	if err := g.parse(d, check, true); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *Geometry) parse(d bson.Raw, check, collections bool) error {
	kind, ok := d.Get("type").Str()
	if !ok {
		return bad("GeoJSON type must be a string")
	}
	strict, err := parseCRS(d)
	if err != nil {
		return err
	}
	if strict && kind != "Polygon" {
		return bad("Strict winding order CRS is only supported for Polygon")
	}
	if kind == "GeometryCollection" {
		if !collections {
			return bad("GeometryCollections cannot be nested")
		}
		return g.collection(d, check)
	}
	coords := d.Get("coordinates")
	if coords.Type != bson.TypeArray && coords.Type != bson.TypeDocument {
		return bad("%s coordinates must be an array or object", kind)
	}
	switch kind {
	case "Point":
		p, err := position(coords)
		if err == nil {
			g.addPoint(p)
		}
		return err
	case "MultiPoint":
		return each(coords, kind, func(v bson.Value) error {
			p, err := position(v)
			if err == nil {
				g.addPoint(p)
			}
			return err
		})
	case "LineString":
		return g.line(coords)
	case "MultiLineString":
		return each(coords, kind, g.line)
	case "Polygon":
		g.Strict = strict
		return g.polygon(coords, check)
	case "MultiPolygon":
		return each(coords, kind, func(v bson.Value) error { return g.polygon(v, check) })
	}
	return bad("unknown GeoJSON type: %s", kind)
}

// each calls read for each member of the coordinates of a Multi… geometry such as MultiPoint, which must not be
// empty.
func each(coords bson.Value, kind string, read func(bson.Value) error) error {
	list := bson.Raw(coords.Data)
	if coords.Type != bson.TypeArray || list.IsEmpty() {
		return bad("%s coordinates must have at least one element", kind)
	}
	for v := range list.Values() {
		if err := read(v); err != nil {
			return err
		}
	}
	return nil
}

func (g *Geometry) collection(d bson.Raw, check bool) error {
	arr, ok := d.Get("geometries").Array()
	if !ok || arr.IsEmpty() {
		return bad("GeometryCollection geometries must be a nonempty array")
	}
	for v := range arr.Values() {
		sub, ok := v.Doc()
		if !ok {
			return bad("geometries of a GeometryCollection must be objects")
		}
		if err := g.parse(sub, check, false); err != nil {
			return err
		}
	}
	return nil
}

// parseCRS reads the optional field crs.
func parseCRS(d bson.Raw) (strict bool, err error) {
	v, ok := d.Lookup("crs")
	if !ok {
		return false, nil
	}
	crs, ok := v.Doc()
	if !ok {
		return false, bad("GeoJSON CRS must be an object")
	}
	if kind, _ := crs.Get("type").Str(); kind != "name" {
		return false, bad("GeoJSON CRS must have field \"type\": \"name\"")
	}
	props, ok := crs.Get("properties").Doc()
	if !ok {
		return false, bad("CRS must have field \"properties\" which is an object")
	}
	name, ok := props.Get("name").Str()
	switch {
	case !ok:
		return false, bad("In CRS, \"properties.name\" must be a string")
	case name == crsStrict:
		return true, nil
	case name == crsWGS84, name == crsEPSG:
		return false, nil
	}
	return false, bad("Unknown CRS name: %s", name)
}

// position reads the coordinates of a point of GeoJSON.
func position(v bson.Value) (Point, error) {
	if v.Type != bson.TypeArray && v.Type != bson.TypeDocument {
		return Point{}, bad("Point must be an array or object, instead got type %s", v.Type)
	}
	p, ok := legacyPoint(v, true)
	switch {
	case !ok:
		return p, bad("Point must only contain numeric elements, at least two of them")
	case !p.onSphere():
		return p, bad("longitude/latitude is out of bounds, lng: %g lat: %g", p.X, p.Y)
	}
	return p, nil
}

// vertices parses a list of positions and drops successive duplicates.
func vertices(v bson.Value) (list []s2.Point, first, last Point, err error) {
	arr, ok := v.Array()
	if !ok {
		return nil, first, last, bad("coordinates must be an array of positions")
	}
	for e := range arr.Values() {
		p, err := position(e)
		if err != nil {
			return nil, first, last, err
		}
		if list == nil {
			first = p
		}
		last = p
		if q := p.S2(); len(list) == 0 || list[len(list)-1] != q {
			list = append(list, q)
		}
	}
	return list, first, last, nil
}

func (g *Geometry) line(v bson.Value) error {
	list, _, _, err := vertices(v)
	switch {
	case err != nil:
		return err
	case len(list) < 2:
		return bad("GeoJSON LineString must have at least 2 vertices")
	}
	for i := 1; i < len(list); i++ {
		if list[i].Vector == list[i-1].Mul(-1) {
			return bad("GeoJSON LineString has antipodal vertices")
		}
	}
	g.Lines = append(g.Lines, list)
	return nil
}

// ringsMax is the largest number of rings of one polygon. It is limited because computing their nesting takes
// quadratic time.
const ringsMax = 4096

func (g *Geometry) polygon(v bson.Value, check bool) error {
	arr, ok := v.Array()
	switch {
	case !ok:
		return bad("Polygon coordinates must be an array")
	case arr.IsEmpty():
		return bad("Polygon has no loops.")
	case arr.Len() > ringsMax:
		return bad("Polygon has more than %d loops", ringsMax)
	case g.Strict && arr.Len() > 1:
		return bad("Only one simple loop is allowed in a big polygon")
	}
	var loops []*s2.Loop
	for ring := range arr.Values() {
		loop, err := g.ring(ring, check)
		if err != nil {
			return err
		}
		if check && len(loops) > 0 && !holds(loops[0], loop) {
			return bad("Secondary loops not contained by first exterior loop - secondary loops must be holes")
		}
		loops = append(loops, loop)
	}
	if check {
		if err := checkRings(loops); err != nil {
			return err
		}
	}
	poly := s2.PolygonFromLoops(loops)
	if check {
		if err := checkNesting(poly); err != nil {
			return err
		}
	}
	g.Polygons = append(g.Polygons, poly)
	return nil
}

// holds reports whether the ring hole lies within shell, the outer ring of its polygon. The hole may touch the
// shell, but not cross it.
func holds(shell, hole *s2.Loop) bool {
	outer := ringLine(shell)
	if crosses(ringLine(hole), outer, false) {
		return false
	}
	for _, p := range hole.Vertices() {
		if !shell.ContainsPoint(p) && !anyNear([]s2.Point{p}, outer) {
			return false
		}
	}
	return true
}

// ring reads a closed line.
func (g *Geometry) ring(v bson.Value, check bool) (*s2.Loop, error) {
	list, first, last, err := vertices(v)
	switch arr, _ := v.Array(); {
	case err != nil:
		return nil, err
	case arr.Len() < 4:
		return nil, bad("Loop must have at least 4 vertices")
	case first != last && first.S2() != last.S2():
		return nil, bad("Loop is not closed, first vertex does not equal last vertex")
	}
	if len(list) > 1 && list[0] == list[len(list)-1] {
		list = list[:len(list)-1]
	}
	if len(list) < 3 {
		return nil, bad("Loop must have at least 3 different vertices")
	}
	for i, p := range list {
		if p.Vector == list[(i+1)%len(list)].Mul(-1) {
			return nil, bad("Loop has antipodal vertices")
		}
	}
	if check {
		if err := crossesItself(list); err != nil {
			return nil, err
		}
	}
	loop := s2.LoopFromPoints(list)
	if !g.Strict {
		loop.Normalize() // the inside is the smaller part
	}
	return loop, nil
}

// crossesItself returns an error for a ring with repeated vertices or with edges that cross each other.
func crossesItself(list []s2.Point) error {
	seen := make(map[s2.Point]bool, len(list))
	for _, p := range list {
		if seen[p] {
			return bad("Loop is not valid: Duplicate vertices")
		}
		seen[p] = true
	}
	n := len(list)
	if n*n <= pairsMax { // few edges: building an index would take longer
		for i := range list {
			for j := range list {
				if s2.CrossingSign(list[i], list[(i+1)%n], list[j], list[(j+1)%n]) == s2.Cross {
					return bad("Loop is not valid: Edges %d and %d cross", i, j)
				}
			}
		}
		return nil
	}
	index := s2.NewShapeIndex()
	index.Add(s2.LaxLoopFromPoints(list))
	query := s2.NewCrossingEdgeQuery(index)
	for i, p := range list {
		for _, edges := range query.CrossingsEdgeMap(p, list[(i+1)%len(list)], s2.CrossingTypeInterior) {
			if len(edges) > 0 {
				return bad("Loop is not valid: Edges %d and %d cross", i, edges[0])
			}
		}
	}
	return nil
}
