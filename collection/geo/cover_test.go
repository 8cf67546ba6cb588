package geo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
)

func within(list []CellRange, cell uint64) bool {
	for _, r := range list {
		if cell >= r.Lo && cell <= r.Hi {
			return true
		}
	}
	return false
}

// TestCellRanges requires that every geometry which intersects a shape has a stored cell within the shape's
// CellRanges.
func TestCellRanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	shapes := []string{
		`{$centerSphere: [[10, 20], 0.1]}`, `{$centerSphere: [[0, 90], 0.0001]}`, `{$centerSphere: [[179.9, 0], 1]}`,
		`{$geometry: {type: "Polygon", coordinates: [[[0, 0], [20, 0], [20, 20], [0, 20], [0, 0]]]}}`,
	}
	stored := []string{
		`{type: "LineString", coordinates: [[-50, 5], [50, 6]]}`,
		`{type: "Polygon", coordinates: [[[-60, -60], [60, -60], [60, 60], [-60, 60], [-60, -60]]]}`,
		`{type: "Polygon", coordinates: [[[19, 19], [21, 19], [21, 21], [19, 21], [19, 19]]]}`,
		`{type: "MultiPoint", coordinates: [[20, 20], [100, 0]]}`,
	}
	met := 0
	for _, text := range shapes {
		v := bsontest.Value(t, text)
		s, err := ParseWithin(v)
		if err != nil {
			t.Fatal(err)
		}
		list, ok := s.CellRanges()
		if !ok {
			t.Fatal(text)
		}
		check := func(g *Geometry) {
			if !s.Meets(g) {
				return
			}
			met++
			found := false
			g.Cells(func(c uint64) { found = found || within(list, c) })
			if !found {
				t.Errorf("%s meets %v, which has no cell in its intervals", text, g.Points)
			}
		}
		for range 3000 {
			check(&Geometry{Planar: true, Points: []Point{{rnd.Float64()*360 - 180, rnd.Float64()*180 - 90}}})
		}
		for _, p := range []Point{{0, 0}, {20, 0}, {10, 0}, {20, 20}, {0, 10}} {
			check(&Geometry{Planar: true, Points: []Point{p}})
		}
		for _, text := range stored {
			w := bsontest.Value(t, text)
			g, ok := Stored(w)
			if !ok {
				t.Fatal(text)
			}
			check(g)
		}
	}
	if met < 100 {
		t.Errorf("only %d geometries met a shape", met)
	}
}

// TestGrid requires that the cells of random points in a box lie within Grid.Ranges of the box.
func TestGrid(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, g := range []Grid{{26, -180, 180}, {1, 0, 1}, {32, -500, 500}} {
		size := g.Max - g.Min
		point := func() Point { return Point{g.Min + rnd.Float64()*size, g.Min + rnd.Float64()*size} }
		for range 200 {
			a, b := point(), point()
			lo, hi := Point{min(a.X, b.X), min(a.Y, b.Y)}, Point{max(a.X, b.X), max(a.Y, b.Y)}
			list := g.Ranges(lo, hi)
			for range 20 {
				p := Point{lo.X + rnd.Float64()*(hi.X-lo.X), lo.Y + rnd.Float64()*(hi.Y-lo.Y)}
				if c, ok := g.Cell(p); !ok || !within(list, c) {
					t.Fatalf("%v: point %v of box %v %v: cell %x", g, p, lo, hi, c)
				}
			}
			for _, p := range []Point{lo, hi} {
				if c, _ := g.Cell(p); !within(list, c) {
					t.Fatalf("%v: corner %v of box %v %v", g, p, lo, hi)
				}
			}
		}
		if _, ok := g.Cell(Point{g.Max, g.Min}); !ok {
			t.Error("the border is inside")
		}
		if _, ok := g.Cell(Point{math.Nextafter(g.Max, math.Inf(1)), g.Min}); ok {
			t.Error("beyond the border")
		}
	}
}
