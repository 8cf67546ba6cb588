package geo

import (
	"math"

	"github.com/golang/geo/s2"
)

// tolerance is how near things may be, in radians, to count as touching: about
// a centimetre, the size of an S2 leaf cell, which is what MongoDB compares.
const tolerance = 1.5e-9

func angle(a, b s2.Point) float64 { return a.Distance(b).Radians() }

func distanceToEdge(p, a, b s2.Point) float64 { return s2.DistanceFromSegment(p, a, b).Radians() }

func distanceToLine(p s2.Point, line []s2.Point) float64 {
	d := math.Inf(1)
	for i := 1; i < len(line); i++ {
		d = min(d, distanceToEdge(p, line[i-1], line[i]))
	}
	return d
}

func distanceToRing(p s2.Point, l *s2.Loop) float64 {
	d := math.Inf(1)
	for i := range l.NumVertices() {
		d = min(d, distanceToEdge(p, l.Vertex(i), l.Vertex(i+1)))
	}
	return d
}

// distanceToPolygon is 0 inside.
func distanceToPolygon(p s2.Point, poly *s2.Polygon) float64 {
	if poly.ContainsPoint(p) {
		return 0
	}
	d := math.Inf(1)
	for _, l := range poly.Loops() {
		d = min(d, distanceToRing(p, l))
	}
	return d
}

// touches reports that p lies in the polygon or on its boundary.
func touches(poly *s2.Polygon, p s2.Point) bool { return distanceToPolygon(p, poly) <= tolerance }

// crossLines reports that two lines meet.
func crossLines(a, b []s2.Point) bool {
	for i := 1; i < len(a); i++ {
		for j := 1; j < len(b); j++ {
			if s2.CrossingSign(a[i-1], a[i], b[j-1], b[j]) != s2.DoNotCross {
				return true
			}
		}
	}
	for _, p := range a {
		if distanceToLine(p, b) <= tolerance {
			return true
		}
	}
	for _, p := range b {
		if distanceToLine(p, a) <= tolerance {
			return true
		}
	}
	return false
}

// crossesBoundary reports that an edge of the line crosses a ring.
func crossesBoundary(poly *s2.Polygon, line []s2.Point) bool {
	for _, l := range poly.Loops() {
		for i := range l.NumVertices() {
			for j := 1; j < len(line); j++ {
				if s2.CrossingSign(line[j-1], line[j], l.Vertex(i), l.Vertex(i+1)) == s2.Cross {
					return true
				}
			}
		}
	}
	return false
}

func ringsCross(a, b *s2.Loop) bool {
	for i := range a.NumVertices() {
		for j := range b.NumVertices() {
			if s2.CrossingSign(a.Vertex(i), a.Vertex(i+1), b.Vertex(j), b.Vertex(j+1)) == s2.Cross {
				return true
			}
		}
	}
	return false
}

// polygonCoversPoint reports that a polygon contains a point, edges included.
func polygonCoversPoint(poly *s2.Polygon, p s2.Point) bool { return touches(poly, p) }

func polygonCoversLine(poly *s2.Polygon, line []s2.Point) bool {
	for _, p := range line {
		if !touches(poly, p) {
			return false
		}
	}
	return !crossesBoundary(poly, line)
}

// meets reports that two geometries on the sphere have something in common.
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
		if touches(poly, p) {
			return true
		}
	}
	return crossesBoundary(poly, line)
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

// distance is the least distance from p to the geometry, in radians.
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

// capCovers reports that no part of the geometry is farther than radius from
// the centre: as far as the other side of the sphere is from it.
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

// capMeets reports that some part of the geometry is within radius.
func capMeets(g *Geometry, center s2.Point, radius float64) bool {
	return distance(g, center) <= radius
}
