package geo

import (
	"cmp"
	"math"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// A 2dsphere index holds the S2 cells that cover a geometry, points as cells of the smallest size. A query covers
// its own shape by cells, and reads from the index the cells inside of these, and their ancestors.
// Manual: core/indexes/index-types/geospatial/2dsphere.

const (
	storedCellsMax  = 20 // for one line or polygon of a document
	storedLevelMax  = 23
	queriedCellsMax = 24
	queriedLevelMax = 23
)

// Cells calls add with the S2 cells under which a 2dsphere index stores the geometry g, without duplicates. g must
// be OnSphere.
func (g *Geometry) Cells(add func(cell uint64)) {
	var cells s2.CellUnion
	for _, p := range g.SpherePoints() {
		cells = append(cells, s2.CellFromPoint(p).ID())
	}
	coverer := &s2.RegionCoverer{MaxLevel: storedLevelMax, MaxCells: storedCellsMax}
	for _, r := range g.regions() {
		cells = append(cells, coverer.Covering(r)...)
	}
	slices.Sort(cells)
	for _, c := range slices.Compact(cells) {
		add(uint64(c))
	}
}

// regions returns the lines and polygons.
func (g *Geometry) regions() (list []s2.Region) {
	for _, line := range g.Lines {
		l := s2.Polyline(line)
		list = append(list, &l)
	}
	for _, p := range g.Polygons {
		list = append(list, p)
	}
	return list
}

// CellRange is an interval of cells, including both ends.
type CellRange struct{ Lo, Hi uint64 }

// CellRanges returns ascending, disjoint ranges of S2 cells which contain a stored cell of every geometry that
// intersects the shape. A query reads them from a 2dsphere index. ok is false for shapes in the plane.
func (s *Shape) CellRanges() (list []CellRange, ok bool) {
	switch {
	case !s.Sphere:
		return nil, false
	case s.Center != nil:
		return CapRanges(*s.Center, s.Radius), true
	}
	var cells s2.CellUnion
	coverer := &s2.RegionCoverer{MaxLevel: queriedLevelMax, MaxCells: queriedCellsMax}
	points, regions := s.Geometry.SpherePoints(), s.Geometry.regions()
	if len(points)+len(regions) > partsMax {
		all := s2.EmptyRect()
		for _, p := range points {
			all = all.AddPoint(s2.LatLngFromPoint(p))
		}
		for _, r := range regions {
			all = all.Union(r.RectBound())
		}
		return ranges(coverer.Covering(all)), true
	}
	for _, p := range points {
		cells = append(cells, s2.CellFromPoint(p).ID())
	}
	for _, r := range regions {
		cells = append(cells, coverer.Covering(r)...)
	}
	return ranges(cells), true
}

// partsMax is the largest number of points, lines and polygons of a shape that are covered by cells one by one. A
// shape of more parts is replaced by its bounding rectangle.
const partsMax = 256

// CapRanges returns the CellRanges of a circle on the sphere around a point, with a radius in radians.
func CapRanges(center Point, radians float64) []CellRange {
	radians = min(max(radians, 0)*(1+1e-9)+2*tolerance, math.Pi)
	coverer := &s2.RegionCoverer{MaxLevel: queriedLevelMax, MaxCells: queriedCellsMax}
	return ranges(coverer.Covering(s2.CapFromCenterAngle(center.S2(), s1.Angle(radians))))
}

// ranges returns the ranges of cells to be read for a covering of a shape: all cells inside of the covering's cells,
// and their ancestors one by one. The covering is first grown by the tolerance, because points within the tolerance
// count as inside.
func ranges(cells s2.CellUnion) []CellRange {
	cells.Normalize()
	cells.ExpandByRadius(s1.Angle(2*tolerance), 6)
	cells.Normalize()
	list := make([]CellRange, 0, 2*len(cells))
	for _, c := range cells {
		list = append(list, CellRange{uint64(c.RangeMin()), uint64(c.RangeMax())})
		for level := c.Level() - 1; level >= 0; level-- {
			a := uint64(c.Parent(level))
			list = append(list, CellRange{a, a})
		}
	}
	return merged(list)
}

// merged sorts intervals and joins those that overlap or touch.
func merged(list []CellRange) []CellRange {
	slices.SortFunc(list, func(a, b CellRange) int {
		return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(b.Hi, a.Hi))
	})
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && (r.Lo <= out[n-1].Hi || r.Lo == out[n-1].Hi+1) {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out = append(out, r)
	}
	return out
}
