package geo

import "math"

// Grid describes the cells of a 2d index: a square of the plane divided into 2^Bits columns and rows. The number of
// a cell interleaves the bits of column and row, so that cells close to each other mostly have close numbers.
// Manual: core/indexes/index-types/geospatial/2d.
type Grid struct {
	Bits     int // 1 to 32
	Min, Max float64
}

// Cell returns the number of the cell that contains p, shifted to the upper bits; ok is false for points outside of
// the square.
func (g Grid) Cell(p Point) (cell uint64, ok bool) {
	x, xok := g.column(p.X)
	y, yok := g.column(p.Y)
	return (spread(x)<<1 | spread(y)) << (64 - 2*g.Bits), xok && yok
}

func (g Grid) column(v float64) (uint32, bool) {
	if !(v >= g.Min && v <= g.Max) {
		return 0, false
	}
	n := (v - g.Min) / (g.Max - g.Min) * math.Exp2(float64(g.Bits))
	return uint32(min(n, math.Exp2(float64(g.Bits))-1)), true
}

// spread inserts a zero before every bit.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// Ranges returns ascending, disjoint ranges of cells that contain every point of the box from lo to hi.
func (g Grid) Ranges(lo, hi Point) []CellRange {
	type square struct {
		cell       uint64
		level      int
		x, y, side float64
	}
	pending := []square{{x: g.Min, y: g.Min, side: g.Max - g.Min}}
	slack := (g.Max - g.Min) * 1e-12
	var list []CellRange
	for len(pending) > 0 {
		s := pending[0]
		pending = pending[1:]
		if s.x > hi.X+slack || s.y > hi.Y+slack || s.x+s.side < lo.X-slack || s.y+s.side < lo.Y-slack {
			continue
		}
		inside := s.x >= lo.X && s.y >= lo.Y && s.x+s.side <= hi.X && s.y+s.side <= hi.Y
		if inside || s.level == g.Bits || len(list)+len(pending) >= queriedCellsMax {
			width := uint64(1)<<(64-2*s.level) - 1 // all bits for the whole plane
			list = append(list, CellRange{s.cell, s.cell | width})
			continue
		}
		half := s.side / 2
		for i := range uint64(4) {
			pending = append(pending, square{
				s.cell | i<<(62-2*s.level), s.level + 1,
				s.x + half*float64(i>>1), s.y + half*float64(i&1), half,
			})
		}
	}
	return merged(list)
}

// Bounds returns the bounding box of a shape in the plane; ok is false for a shape on the sphere.
func (s *Shape) Bounds() (lo, hi Point, ok bool) {
	switch {
	case s.Sphere:
		return lo, hi, false
	case s.Box != nil:
		return s.Box[0], s.Box[1], true
	case s.Center != nil:
		r := s.Radius
		return Point{s.Center.X - r, s.Center.Y - r}, Point{s.Center.X + r, s.Center.Y + r}, true
	}
	lo, hi = Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, c := range s.Corners {
		lo = Point{min(lo.X, c.X), min(lo.Y, c.Y)}
		hi = Point{max(hi.X, c.X), max(hi.Y, c.Y)}
	}
	return lo, hi, true
}
