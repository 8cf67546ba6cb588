package geo

import (
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// tolerance is the largest distance, in radians, between geometries that count as touching: about a centimetre, the
// size of an S2 leaf cell, by which MongoDB compares.
const tolerance = 1.5e-9

// angle returns the angle in radians between two points on the sphere. Near a right angle, as between a pole and the
// equator, it adds the rounding error of π/2, which math.Atan2 leaves out.
func angle(a, b s2.Point) float64 {
	y, x := a.Cross(b.Vector).Norm(), a.Dot(b.Vector)
	if y <= math.Abs(x) {
		return math.Atan2(y, x)
	}
	const restOfRight = 6.123233995736766e-17 // π/2 minus the double math.Pi/2
	return math.Pi/2 + (restOfRight - math.Atan(x/y))
}

func distanceToEdge(p, a, b s2.Point) float64 { return s2.DistanceFromSegment(p, a, b).Radians() }

func distanceToLine(p s2.Point, line []s2.Point) float64 {
	d := math.Inf(1)
	for i := 1; i < len(line); i++ {
		d = min(d, distanceToEdge(p, line[i-1], line[i]))
	}
	return d
}

// ringLine returns a ring as a closed line.
func ringLine(l *s2.Loop) []s2.Point {
	line := make([]s2.Point, 0, l.NumVertices()+1)
	return append(append(line, l.Vertices()...), l.Vertex(0))
}

// distanceToPolygon returns the distance to a polygon, 0 inside.
func distanceToPolygon(p s2.Point, poly *s2.Polygon) float64 {
	if poly.ContainsPoint(p) {
		return 0
	}
	d := math.Inf(1)
	for _, l := range poly.Loops() {
		for i := range l.NumVertices() {
			d = min(d, distanceToEdge(p, l.Vertex(i), l.Vertex(i+1)))
		}
	}
	return d
}

// touches reports whether the point p lies in the polygon, on its boundary or within the tolerance.
func touches(poly *s2.Polygon, p s2.Point) bool { return distanceToPolygon(p, poly) <= tolerance }

// pairsMax is the largest number of pairs of edges that are compared one by one. Larger geometries use a spatial
// index, so that no two geometries take quadratic time.
const pairsMax = 4096

// crosses reports whether an edge of the line a crosses an edge of the line b; with atVertices, also whether they
// share a vertex.
func crosses(a, b []s2.Point, atVertices bool) bool {
	kind, least := s2.CrossingTypeInterior, s2.Cross
	if atVertices {
		kind, least = s2.CrossingTypeAll, s2.MaybeCross
	}
	if len(a)*len(b) <= pairsMax {
		for i := 1; i < len(a); i++ {
			for j := 1; j < len(b); j++ {
				if c := s2.CrossingSign(a[i-1], a[i], b[j-1], b[j]); c == s2.Cross || c == least {
					return true
				}
			}
		}
		return false
	}
	index := s2.NewShapeIndex()
	index.Add(s2.LaxPolylineFromPoints(b))
	query := s2.NewCrossingEdgeQuery(index)
	for i := 1; i < len(a); i++ {
		for _, edges := range query.CrossingsEdgeMap(a[i-1], a[i], kind) {
			if len(edges) > 0 {
				return true
			}
		}
	}
	return false
}

// anyNear reports whether one of the points lies on a line.
func anyNear(points, line []s2.Point) bool {
	if len(points)*len(line) <= pairsMax {
		for _, p := range points {
			if distanceToLine(p, line) <= tolerance {
				return true
			}
		}
		return false
	}
	index := s2.NewShapeIndex()
	index.Add(s2.LaxPolylineFromPoints(line))
	query := s2.NewClosestEdgeQuery(index, s2.NewClosestEdgeQueryOptions())
	for _, p := range points {
		if query.IsDistanceLess(s2.NewMinDistanceToPointTarget(p), s1.ChordAngleFromAngle(tolerance)) {
			return true
		}
	}
	return false
}

// crossLines reports whether two lines intersect.
func crossLines(a, b []s2.Point) bool {
	return crosses(a, b, true) || anyNear(a, b) || anyNear(b, a)
}

// crossesBoundary reports whether an edge of the line crosses a ring.
func crossesBoundary(poly *s2.Polygon, line []s2.Point) bool {
	for _, l := range poly.Loops() {
		if crosses(line, ringLine(l), false) {
			return true
		}
	}
	return false
}

// allTouch reports whether all points lie in the polygon, on its boundary or within the tolerance.
func allTouch(poly *s2.Polygon, points []s2.Point) bool {
	var query *s2.EdgeQuery
	for _, p := range points {
		if poly.ContainsPoint(p) {
			continue
		}
		if query == nil {
			index := s2.NewShapeIndex()
			for _, l := range poly.Loops() {
				index.Add(s2.LaxPolylineFromPoints(ringLine(l)))
			}
			query = s2.NewClosestEdgeQuery(index, s2.NewClosestEdgeQueryOptions())
		}
		if !query.IsDistanceLess(s2.NewMinDistanceToPointTarget(p), s1.ChordAngleFromAngle(tolerance)) {
			return false
		}
	}
	return true
}

// polygonCoversPoint reports whether a polygon contains a point, edges included.
func polygonCoversPoint(poly *s2.Polygon, p s2.Point) bool { return touches(poly, p) }

func polygonCoversLine(poly *s2.Polygon, line []s2.Point) bool {
	return !crossesBoundary(poly, line) && allTouch(poly, line)
}

// meets reports whether two geometries on the sphere intersect.
func meets(a, b *Geometry) bool {
	for _, p := range a.SpherePoints() {
		if meetsPoint(b, p) {
			return true
		}
	}
	for _, line := range a.Lines {
		if meetsLine(b, line) {
			return true
		}
	}
	for _, poly := range a.Polygons {
		if meetsPolygon(b, poly) {
			return true
		}
	}
	return false
}

func meetsPoint(g *Geometry, p s2.Point) bool {
	for _, q := range g.SpherePoints() {
		if angle(p, q) <= tolerance {
			return true
		}
	}
	for _, line := range g.Lines {
		if distanceToLine(p, line) <= tolerance {
			return true
		}
	}
	for _, poly := range g.Polygons {
		if touches(poly, p) {
			return true
		}
	}
	return false
}

func meetsLine(g *Geometry, line []s2.Point) bool {
	for _, p := range g.SpherePoints() {
		if distanceToLine(p, line) <= tolerance {
			return true
		}
	}
	for _, other := range g.Lines {
		if crossLines(line, other) {
			return true
		}
	}
	for _, poly := range g.Polygons {
		if lineMeetsPolygon(line, poly) {
			return true
		}
	}
	return false
}

func lineMeetsPolygon(line []s2.Point, poly *s2.Polygon) bool {
	for _, p := range line {
		if poly.ContainsPoint(p) {
			return true
		}
	}
	for _, l := range poly.Loops() {
		if ring := ringLine(l); crossLines(line, ring) {
			return true
		}
	}
	return false
}

func meetsPolygon(g *Geometry, poly *s2.Polygon) bool {
	for _, p := range g.SpherePoints() {
		if touches(poly, p) {
			return true
		}
	}
	for _, line := range g.Lines {
		if lineMeetsPolygon(line, poly) {
			return true
		}
	}
	for _, other := range g.Polygons {
		if poly.Intersects(other) {
			return true
		}
	}
	return false
}

// distance returns the distance in radians from p to the nearest point of the geometry g, on the sphere.
func distance(g *Geometry, p s2.Point) float64 {
	d := math.Inf(1)
	for _, q := range g.SpherePoints() {
		d = min(d, angle(p, q))
	}
	for _, line := range g.Lines {
		d = min(d, distanceToLine(p, line))
	}
	for _, poly := range g.Polygons {
		d = min(d, distanceToPolygon(p, poly))
	}
	return d
}

// capCovers reports whether a circle on the sphere contains the geometry g. No part of g may be farther than radius
// from the centre: the distance from the point opposite the centre must be at least π - radius.
func capCovers(g *Geometry, center s2.Point, radius float64) bool {
	switch {
	case radius >= math.Pi:
		return true
	case g.IsPoint():
		return angle(center, g.SpherePoints()[0]) <= radius+1e-15
	}
	antipode := s2.Point{Vector: center.Mul(-1)}
	return distance(g, antipode) >= math.Pi-radius-1e-15
}

// capMeets reports whether a part of the geometry is within radius.
func capMeets(g *Geometry, center s2.Point, radius float64) bool {
	return distance(g, center) <= radius
}
