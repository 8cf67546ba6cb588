package geo_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/geo"
)

func stored(t testing.TB, s string) *geo.Geometry {
	t.Helper()
	g, ok := geo.Stored(bsontest.Value(t, s))
	if !ok {
		t.Fatalf("%s is no geometry", s)
	}
	return g
}

const square = `{type: "Polygon", coordinates: [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}`

func TestStored(t *testing.T) {
	for _, s := range []string{
		`[1, 2]`, `{lng: 1, lat: 2}`, `[1, 2, 3]`, `{type: "Point", coordinates: [1, 2]}`, square,
		`{type: "MultiPoint", coordinates: [[1, 2], [3, 4]]}`,
		`{type: "MultiPolygon", coordinates: [[[[0, 0], [1, 0], [1, 1], [0, 0]]]]}`,
		`{type: "GeometryCollection", geometries: [{type: "Point", coordinates: [1, 2]}, ` + square + `]}`,
	} {
		stored(t, s)
		if _, err := geo.ParseStored(bsontest.Value(t, s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{
		`1`, `null`, `[1]`, `["a", 1]`, `[NaN, 1]`, `{}`, `{a: 1}`, `{type: "Point"}`, `{type: "Foo", coordinates: [1, 2]}`,
		`{type: "Point", coordinates: [1, 91]}`, `{type: "LineString", coordinates: [[1, 1], [1, 1]]}`,
		`{type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1]]]}`, `{type: "Polygon", coordinates: []}`,
		`{type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1]]]}`,
		`{type: "GeometryCollection", geometries: []}`,
		`{type: "GeometryCollection", geometries: [{type: "GeometryCollection", geometries: [{type: "Point", coordinates: [1, 2]}]}]}`,
	} {
		if _, ok := geo.Stored(bsontest.Value(t, s)); ok {
			t.Errorf("%s is taken for a geometry", s)
		}
		if _, err := geo.ParseStored(bsontest.Value(t, s)); err == nil {
			t.Errorf("%s: no error", s)
		}
	}
}

func TestCrossingRingsAreRefusedWhereChecked(t *testing.T) {
	bowtie := bsontest.Value(t, `{type: "Polygon", coordinates: [[[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]]}`)
	if _, err := geo.ParseStored(bowtie); err == nil {
		t.Error("a ring that crosses itself passes the checks")
	}
	hole := bsontest.Value(t, `{type: "Polygon", coordinates: [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]], [[20, 20], [21, 20], [21, 21], [20, 20]]]}`)
	if _, err := geo.ParseStored(hole); err == nil {
		t.Error("a hole outside of its polygon passes the checks")
	}
}

// TestHoles requires that ParseStored refuses polygons whose rings are valid one by one but do not make a polygon with
// holes, and that Stored, which does not check this, accepts them.
func TestHoles(t *testing.T) {
	const outer = `[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]`
	for _, c := range []struct {
		holes string
		ok    bool
	}{
		{`[[2, 2], [4, 2], [4, 4], [2, 2]]`, true},
		{`[[2, 2], [4, 2], [4, 4], [2, 2]], [[6, 6], [8, 6], [8, 8], [6, 6]]`, true},
		{`[[2, 2], [4, 2], [4, 4], [2, 2]], [[4, 4], [6, 4], [6, 6], [4, 4]]`, true}, // touch
		{`[[0, 0], [4, 2], [4, 4], [0, 0]]`, true},                                   // touches the outer ring once
		{`[[0, 0], [5, 5], [10, 10], [4, 6], [0, 0]]`, false},                        // and twice
		{`[[0, 0], [10, 0], [5, 5], [0, 0]]`, false},                                 // an edge of the outer ring
		{`[[2, 2], [8, 2], [8, 8], [2, 8], [2, 2]], [[4, 4], [6, 4], [6, 6], [4, 4]]`, false},
		{`[[2, 2], [6, 2], [6, 6], [2, 6], [2, 2]], [[4, 4], [8, 4], [8, 8], [4, 8], [4, 4]]`, false},
		{`[[2, 2], [6, 2], [6, 6], [2, 2]], [[2, 2], [6, 6], [2, 6], [2, 2]]`, false},
		{`[[2, 2], [4, 2], [4, 4], [2, 2]], [[2, 2], [4, 2], [4, 4], [2, 2]]`, false},
	} {
		v := bsontest.Value(t, `{type: "Polygon", coordinates: [`+outer+`, `+c.holes+`]}`)
		if _, err := geo.ParseStored(v); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.holes, err)
		}
		if _, ok := geo.Stored(v); !ok {
			t.Errorf("%s: what lies in documents is not checked", c.holes)
		}
	}
	strict := bsontest.Value(t, `{type: "Polygon", coordinates: [`+outer+`], crs: {type: "name", properties: {name: "urn:x-mongodb:crs:strictwinding:EPSG:4326"}}}`)
	if _, err := geo.ParseStored(strict); err == nil {
		t.Error("a polygon with strict winding can be stored in an index")
	}
}

// TestMeetsIsSymmetric requires that two geometries intersect or not whichever of them is stored and whichever is
// the shape of the query.
func TestMeetsIsSymmetric(t *testing.T) {
	list := []string{
		`{type: "Point", coordinates: [5, 5]}`, `{type: "Point", coordinates: [0, 0]}`, `{type: "Point", coordinates: [50, 5]}`,
		`{type: "LineString", coordinates: [[5, 5], [50, 5]]}`, `{type: "LineString", coordinates: [[-5, 20], [50, 25]]}`,
		`{type: "LineString", coordinates: [[-5, 5], [15, 5]]}`, square,
		`{type: "Polygon", coordinates: [[[5, 5], [20, 5], [20, 20], [5, 5]]]}`,
		`{type: "Polygon", coordinates: [[[50, 5], [60, 5], [60, 20], [50, 5]]]}`,
		`{type: "MultiPoint", coordinates: [[5, 5], [70, 7]]}`,
	}
	for _, a := range list {
		for _, b := range list {
			x, err := geo.ParseIntersects(bsontest.Value(t, `{$geometry: `+a+`}`))
			if err != nil {
				t.Fatal(err)
			}
			y, err := geo.ParseIntersects(bsontest.Value(t, `{$geometry: `+b+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if x.Meets(stored(t, b)) != y.Meets(stored(t, a)) {
				t.Errorf("%s and %s", a, b)
			}
			if a == b && !x.Meets(stored(t, b)) {
				t.Errorf("%s does not meet itself", a)
			}
		}
	}
}

// A geometry within a shape intersects the shape.
func TestCoversImpliesMeets(t *testing.T) {
	for _, s := range []string{
		`{$geometry: ` + square + `}`, `{$centerSphere: [[5, 5], 0.1]}`, `{$centerSphere: [[5, 5], 3]}`, `{$centerSphere: [[5, 5], 4]}`,
		`{$box: [[0, 0], [10, 10]]}`, `{$center: [[5, 5], 3]}`, `{$polygon: [[0, 0], [10, 0], [10, 10]]}`,
	} {
		shape, err := geo.ParseWithin(bsontest.Value(t, s))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for x := -20; x <= 20; x++ {
			for y := -20; y <= 20; y++ {
				g := &geo.Geometry{Points: []geo.Point{{X: float64(x), Y: float64(y)}}, Planar: true}
				if shape.Covers(g) {
					if n++; !shape.Meets(g) {
						t.Errorf("%s covers (%d, %d) without meeting it", s, x, y)
					}
				}
			}
		}
		if n == 0 {
			t.Errorf("%s covers nothing", s)
		}
	}
}

func TestDistance(t *testing.T) {
	degree := math.Pi / 180
	for _, c := range []struct {
		ops, doc string
		want     float64
		ok       bool
	}{
		{`{$near: [0, 0]}`, `[3, 4]`, 5, true},
		{`{$near: [0, 0], $maxDistance: 4}`, `[3, 4]`, 5, false},
		{`{$near: [0, 0]}`, square, 0, false},
		{`{$nearSphere: [0, 0]}`, `[1, 0]`, degree, true},
		{`{$near: {$geometry: {type: "Point", coordinates: [0, 0]}}}`, `[1, 0]`, degree * geo.EarthRadiusMeters, true},
		{`{$near: {$geometry: {type: "Point", coordinates: [5, 5]}}}`, square, 0, true},
		{`{$near: {$geometry: {type: "Point", coordinates: [0, 12]}}}`, `{type: "LineString", coordinates: [[0, 0], [0, 10]]}`, 2 * degree * geo.EarthRadiusMeters, true},
	} {
		ops, _ := bsontest.Value(t, c.ops).Doc()
		n, err := geo.ParseNear(ops)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := n.Distance(stored(t, c.doc))
		if ok != c.ok || ok && math.Abs(d-c.want) > 1e-6*max(1, c.want) {
			t.Errorf("%s to %s: %v %t, want %v %t", c.ops, c.doc, d, ok, c.want, c.ok)
		}
	}
}

// TestDistanceToPoles compares the distances from the equator to a pole with fixed ones. The angle must be the double
// above a right angle, not the nearest one, which is below it.
func TestDistanceToPoles(t *testing.T) {
	for ops, want := range map[string]float64{
		`{$nearSphere: [180, 90]}`:                                        1.5707963267948968,
		`{$nearSphere: [-180, -90]}`:                                      1.5707963267948968,
		`{$near: {$geometry: {type: "Point", coordinates: [180, 90]}}}`:   10018696.051930532,
		`{$near: {$geometry: {type: "Point", coordinates: [-180, -90]}}}`: 10018696.051930532,
	} {
		spec, _ := bsontest.Value(t, ops).Doc()
		n, err := geo.ParseNear(spec)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := n.Distance(stored(t, `[0, 0]`)); d != want || !ok {
			t.Errorf("%s: %v, want %v", ops, d, want)
		}
	}
}

// Shapes and geometries of 5,000 vertices are compared rightly; edge by edge, which the code avoids, it would take
// long.
func TestManyVertices(t *testing.T) {
	line := func(n int, x0, dx, y0, y1 float64) string {
		b := []byte(`{type: "LineString", coordinates: [`)
		for i := range n {
			b = fmt.Appendf(b, "[%g, %g],", x0+dx*float64(i), []float64{y0, y1}[i%2])
		}
		return string(b) + "]}"
	}
	ring := []byte(`{type: "Polygon", coordinates: [[`)
	const n = 5000
	for i := range n {
		a := 2 * math.Pi * float64(i) / n
		ring = fmt.Appendf(ring, "[%g, %g],", 20*math.Cos(a), 20*math.Sin(a))
	}
	ring = append(ring, "[20, 0]]]}"...)
	shape, err := geo.ParseIntersects(bsontest.Value(t, `{$geometry: `+string(ring)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if !shape.Meets(stored(t, line(n, -40, 80.0/n, -30, 30))) {
		t.Error("a zigzag across the ring does not meet it")
	}
	if shape.Meets(stored(t, line(n, -40, 80.0/n, 30, 40))) {
		t.Error("a zigzag beside the ring meets it")
	}
	within, err := geo.ParseWithin(bsontest.Value(t, `{$geometry: `+string(ring)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if !within.Covers(stored(t, line(n, -10, 20.0/n, -5, 5))) {
		t.Error("a zigzag inside the ring is not covered")
	}
}
