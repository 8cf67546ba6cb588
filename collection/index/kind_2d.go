package index

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// FlatOptions are the options of a 2d index.
type FlatOptions struct {
	Bits     int32
	Min, Max float64
}

func (o *FlatOptions) equal(p *FlatOptions) bool {
	if o == nil || p == nil {
		return o == p
	}
	return *o == *p
}

func (o *FlatOptions) grid() geo.Grid { return geo.Grid{Bits: int(o.Bits), Min: o.Min, Max: o.Max} }

// sphereRanges returns ranges of cells of a 2d index that contain all points within a circle on the sphere, whose
// radius is in radians: those of the rectangle of longitudes and latitudes around it.
func (o *FlatOptions) sphereRanges(center geo.Point, radians float64) []geo.CellRange {
	degrees := radians * 180 / math.Pi * (1 + 1e-9)
	lo, hi := geo.Point{X: o.Min, Y: center.Y - degrees}, geo.Point{X: o.Max, Y: center.Y + degrees}
	if lo.Y > -90 && hi.Y < 90 {
		// Meridians converge towards the poles.
		if x := math.Sin(radians) / math.Cos(center.Y*math.Pi/180); x < 1 {
			width := math.Asin(x) * 180 / math.Pi * (1 + 1e-9)
			if center.X-width >= -180 && center.X+width <= 180 {
				lo.X, hi.X = center.X-width, center.X+width
			}
		}
	}
	return o.grid().Ranges(lo, hi)
}

// kind2d is the index kind 2d: an entry has the cell of a legacy coordinate pair and the first value of each further
// field, null if there is none. A document has an entry for every pair, and none without pairs. Manual:
// core/indexes/index-types/geospatial/2d.
var kind2d = Kind{
	Name:  "2d",
	Doc:   "core/indexes/index-types/geospatial/2d",
	check: check2d,
	keys:  flatKeys,
}

func check2d(p *parser) error {
	o := &FlatOptions{Bits: 26, Min: -180, Max: 180}
	p.s.Flat = o
	if v := p.bits; v.Type != bson.TypeMissing {
		n, _ := v.TruncInt64()
		if v.Type == bson.TypeDecimal128 || n < 1 || n > 32 {
			return mongoerr.New(mongoerr.InvalidOptions, "bits for hash must be > 0 and <= 32, but %s bits were specified", v)
		}
		o.Bits = int32(n)
	}
	if p.min.Type != bson.TypeMissing {
		o.Min, _ = p.min.AsFloat()
	}
	if p.max.Type != bson.TypeMissing {
		o.Max, _ = p.max.AsFloat()
	}
	if !(o.Min < o.Max) || math.IsInf(o.Max-o.Min, 0) {
		return mongoerr.New(mongoerr.InvalidOptions, "region for hash must be valid and have positive area, but [%v, %v] was specified", o.Min, o.Max)
	}
	if p.s.Parts[0].Plugin != "2d" {
		return cannot("2d has to be first in index")
	}
	for i := range p.s.Parts[1:] {
		if p.s.Parts[i+1].Plugin == "2d" {
			return cannot("2d can only have one geo field")
		}
	}
	return nil
}

func flatKeys(g *generator) (err error) {
	fields := make([][]bson.Value, len(g.s.Parts))
	g.s.Parts[0].Path.Walk(g.doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		fields[0], err = g.pairs(fields[0], v)
		return err == nil
	})
	if err != nil || len(fields[0]) == 0 {
		return err
	}
	for i := range g.s.Parts[1:] {
		v := bson.Null
		g.s.Parts[i+1].Path.Walk(g.doc, path.Traverse, func(w bson.Value, _ []int32) bool {
			if !w.IsMissing() {
				v = w
			}
			return false
		})
		fields[i+1] = []bson.Value{v}
	}
	g.markMany(fields)
	return g.combine(fields, make([]bson.Value, 0, len(fields)))
}

// pairs appends to list the cells of v, a coordinate pair or an array or document of pairs. A value of another type,
// or an empty one, has no cells.
//
// Errors: 13654 for members that are not pairs, 13026 and 13068 for malformed pairs, 13027 for pairs out of bounds.
// Observed: mongod 7.0.
func (g *generator) pairs(list []bson.Value, v bson.Value) ([]bson.Value, error) {
	if v.Type != bson.TypeArray && v.Type != bson.TypeDocument {
		return list, nil
	}
	first, ok := bson.Raw(v.Data).First()
	switch {
	case !ok:
		return list, nil
	case first.Value.IsNumber():
		return g.pair(list, v)
	}
	for e := range bson.Raw(v.Data).Values() {
		switch {
		case e.Type != bson.TypeArray && e.Type != bson.TypeDocument:
			return list, mongoerr.New(13654, "location object expected, location array not in correct format: %s", v.Clipped(errorTextMax))
		case bson.Raw(e.Data).IsEmpty():
			continue
		}
		var err error
		if list, err = g.pair(list, e); err != nil {
			return list, err
		}
	}
	return list, nil
}

// pair appends to list the cell of the coordinate pair v. Members after the first two are ignored. Errors: as pairs.
func (g *generator) pair(list []bson.Value, v bson.Value) ([]bson.Value, error) {
	stored, ok := geo.Stored(v)
	if !ok || !stored.IsPoint() || !stored.Planar {
		if bson.Raw(v.Data).Len() < 2 {
			return list, mongoerr.New(13068, "geo field only has 1 element: %s", v.Clipped(errorTextMax))
		}
		return list, mongoerr.New(13026, "geo values must be 'legacy coordinate pairs' for 2d indexes: %s", v.Clipped(errorTextMax))
	}
	cell, ok := g.s.Flat.grid().Cell(stored.Points[0])
	if !ok {
		return list, mongoerr.New(13027, "point not in interval of [ %v, %v ] :: caused by :: { : %v, : %v }",
			g.s.Flat.Min, g.s.Flat.Max, stored.Points[0].X, stored.Points[0].Y)
	}
	return append(list, g.arena.Timestamp(uint32(cell>>32), uint32(cell))), nil
}
