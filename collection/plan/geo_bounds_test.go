package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
)

// geoIndexes are the geospatial indexes whose bounds are tested.
var geoIndexes = []string{
	`{key: {a: "2d"}, name: "flat"}`, `{key: {a: "2d", b: 1}, name: "small", min: -10, max: 10}`, `{key: {a: "2d"}, name: "wide", min: -5000, max: 5000, bits: 12}`,
	`{key: {a: "2dsphere"}, name: "sphere"}`, `{key: {b: 1, a: "2dsphere"}, name: "sphere2"}`, `{key: {"a.x": "2d"}, name: "below"}`,
}

// coordinates returns one of a few coordinates, so that points often lie on borders.
func coordinates(r *rand.Rand) string {
	return pick(r, "0", "1", "-1", "2", "0.0001", "1.0001", "-10", "10", "9.9999", "5", "180", "-180", "90", "600", "1e-7")
}

// geoValue returns a value of a field with a geospatial index, valid or not.
func geoValue(r *rand.Rand) string {
	pair := func() string { return fmt.Sprintf("[%s, %s]", coordinates(r), coordinates(r)) }
	switch r.IntN(12) {
	case 0:
		return pick(r, "1", `"x"`, "true", "null", "{}", "[]", "undefined", "NaN")
	case 1:
		return fmt.Sprintf("{x: %s, y: %s}", coordinates(r), coordinates(r))
	case 2:
		return fmt.Sprintf("[%s, %s]", pair(), pair())
	case 3:
		return fmt.Sprintf("{type: 'Point', coordinates: %s}", pair())
	case 4:
		return fmt.Sprintf("{type: 'LineString', coordinates: [%s, %s]}", pair(), pair())
	case 5:
		return fmt.Sprintf("{x: %s, y: %s}", pair(), pair())
	case 6:
		return fmt.Sprintf("[{x: %s}, {x: %s}, {}]", pair(), pick(r, "{}", "[]", pair()))
	}
	return pair()
}

func geoFilter(r *rand.Rand) string {
	pair := func() string { return fmt.Sprintf("[%s, %s]", coordinates(r), coordinates(r)) }
	shape := ""
	switch r.IntN(5) {
	case 0:
		shape = fmt.Sprintf("$box: [%s, %s]", pair(), pair())
	case 1:
		shape = fmt.Sprintf("$center: [%s, %s]", pair(), pick(r, "0.0001", "0", "1", "5", "1000"))
	case 2:
		shape = fmt.Sprintf("$polygon: [%s, %s, %s]", pair(), pair(), pair())
	case 3:
		shape = fmt.Sprintf("$centerSphere: [%s, %s]", pair(), pick(r, "0.0001", "0", "1", "3"))
	case 4:
		shape = fmt.Sprintf("$geometry: {type: 'Polygon', coordinates: [[[0, 0], [%s, 0], %s, [0, 0]]]}", coordinates(r), pair())
	}
	return fmt.Sprintf("{%s: {$geoWithin: {%s}}}", pick(r, "a", "a", "a", "'a.x'"), strings.ReplaceAll(shape, "'", `"`))
}

// Random places and shapes: if a document matches and can be stored, it has a key within the bounds that
// a plan with the geospatial index reads.
func TestGeoBounds(t *testing.T) {
	c := checkerOf(t, geoIndexes)
	matched := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		doc := bsontest.Doc(t, strings.ReplaceAll(fmt.Sprintf("{_id: 1, a: %s, b: 1}", geoValue(r)), "'", `"`))
		filter := bsontest.Doc(t, strings.ReplaceAll(geoFilter(r), "'", `"`))
		q, err := Canonical(c.env, &catalog.Collection{ID: 1, Map: c.m}, Find{Filter: filter})
		if err != nil {
			continue // such a shape is not valid
		}
		var s expr.Scratch
		if ok, _ := q.Match.Matches(c.env, doc, &s); ok {
			matched++
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, spec := range c.specs {
				checkBounds(t, c.env, c.m, spec, doc, filter)
			}
		})
	}
	if matched < 300 {
		t.Errorf("only %d of the documents matched", matched)
	}
}
