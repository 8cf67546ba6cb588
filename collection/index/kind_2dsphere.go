package index

import (
	"strings"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
)

// SphereOptions are the options of a 2dsphere index. All versions have the same keys: GeoJSON is tried before legacy
// pairs, as in version 4. Manual: core/indexes/index-types/geospatial/2dsphere/2dsphere-index-versions.
type SphereOptions struct{ Version int32 }

// kind2dsphere is the index kind 2dsphere: a document has an entry for every S2 cell that covers the geometry of the
// field; with several fields, for all combinations of their values. Documents without any geometry have none.
// Entries hold cells as timestamps, because the encoding of timestamps is eight bytes in unsigned order.
// Manual: core/indexes/index-types/geospatial/2dsphere.
var kind2dsphere = Kind{
	Name:  "2dsphere",
	Doc:   "core/indexes/index-types/geospatial/2dsphere",
	Keys:  1, // 0: values that are not geometries were refused, or had other cells
	check: check2dsphere,
	print: func(s *Spec, b *bson.Builder) { b.Int32("2dsphereIndexVersion", s.Sphere.Version) },
	keys:  sphereKeys,
}

func check2dsphere(p *parser) error {
	newest := int32(3)
	if p.env.Release.Has(release.SphereVersion4) {
		newest = 4
	}
	p.s.Sphere = &SphereOptions{Version: newest}
	if err := checkLevels(p.coarsest, p.finest); err != nil {
		return err
	}
	v := p.sphereVersion
	if v.Type == bson.TypeMissing {
		return nil
	}
	n, _ := v.AsInt64()
	if p.stored {
		newest = 4
	}
	if v.Type == bson.TypeDecimal128 || n < 1 || n > int64(newest) {
		return cannot("unsupported geo index version { 2dsphereIndexVersion : %s }, only support versions: [%s]", v, "1,2,3,4"[:2*newest-1])
	}
	p.s.Sphere.Version = int32(n)
	return nil
}

// checkLevels validates the levels of cells, which have no effect.
func checkLevels(coarsest, finest bson.Value) error {
	from, _ := coarsest.TruncInt64()
	to, _ := finest.TruncInt64()
	switch {
	case from < 0:
		return mongoerr.New(16747, "coarsestIndexedLevel must be >= 0")
	case to > 30:
		return mongoerr.New(16748, "finestIndexedLevel must be <= 30")
	case !finest.IsMissing() && to < from:
		return mongoerr.New(16749, "finestIndexedLevel must be >= coarsestIndexedLevel")
	}
	return nil
}

// cellsMax limits the entries of one document.
const cellsMax = 1 << 20

func sphereKeys(g *generator) error {
	fields := make([][]bson.Value, len(g.s.Parts))
	found, total := false, 1
	for i := range g.s.Parts {
		part := &g.s.Parts[i]
		var err error
		if part.Plugin == "2dsphere" {
			fields[i], err = g.cells(part.Path)
			found = found || len(fields[i]) > 0
		} else {
			part.Path.Walk(g.doc, path.LeafOnly, func(v bson.Value, _ []int32) bool {
				fields[i] = append(fields[i], v)
				return true
			})
		}
		if err != nil {
			return err
		}
		if len(fields[i]) == 0 {
			fields[i] = []bson.Value{bson.Null}
		}
		if total *= len(fields[i]); total > cellsMax {
			return mongoerr.New(g.geoCode(), "Can't extract geo keys: too many combinations of cells")
		}
	}
	if !found {
		return nil
	}
	g.markMany(fields)
	return g.combine(fields, make([]bson.Value, 0, len(fields)))
}

// cells returns the S2 cells that cover the geometries at a path of the document. Arrays on the path are expanded;
// an array at the end must be a legacy pair. A single empty value counts as missing.
func (g *generator) cells(at path.Path) (list []bson.Value, err error) {
	var only bson.Value
	n := 0
	at.Walk(g.doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		if v.IsNullish() {
			return true
		}
		if n++; n == 1 && isEmpty(v) {
			only = v
			return true // ignored unless there are more values
		}
		if err = g.geometry(at, &list, only); err == nil {
			err = g.geometry(at, &list, v)
		}
		only = bson.Value{}
		return err == nil
	})
	return list, err
}

// geometry appends to list the S2 cells of the geometry v, found at a path. A missing value has no cells.
func (g *generator) geometry(at path.Path, list *[]bson.Value, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	stored, err := geo.ParseStored(v)
	if err == nil && !stored.OnSphere() {
		err = mongoerr.New(mongoerr.BadValue, "longitude/latitude is out of bounds")
	}
	if err != nil {
		return g.noGeometry(at, v, mongoerr.From(err))
	}
	stored.Cells(func(c uint64) { *list = append(*list, g.arena.Timestamp(uint32(c>>32), uint32(c))) })
	return nil
}

// isEmpty reports whether v is an array or a document without members.
func isEmpty(v bson.Value) bool {
	return (v.Type == bson.TypeArray || v.Type == bson.TypeDocument) && bson.Raw(v.Data).IsEmpty()
}

// geoCode returns the error code for a value that a 2dsphere index cannot hold, in the client's release of MongoDB.
func (g *generator) geoCode() mongoerr.Code {
	if g.env.Release.Has(release.GeoKeyCodes) {
		return mongoerr.GeoKeyExtractionFailed
	}
	return 16755
}

// noGeometry returns the error for a value that a 2dsphere index cannot hold, because it is no geometry. In releases
// of MongoDB with a special code for it, errInfo names the path of the value.
// Manual: release-notes/9.0 (Improved Diagnostics).
func (g *generator) noGeometry(at path.Path, v bson.Value, cause *mongoerr.Error) error {
	err := mongoerr.New(g.geoCode(), "Can't extract geo keys: %s  %s", g.doc.Clipped(errorTextMax), cause.Msg)
	if !g.env.Release.Has(release.GeoKeyCodes) {
		return err
	}
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.String("failingPath", at.String())
	b.Int32("underlyingCode", int32(cause.Code))
	b.String("underlyingReason", clip(cause.Msg, reasonMax))
	if len(v.Data) <= elementMax {
		b.Value("failingElement", v)
	} else {
		b.String("failingElement", v.Type.String())
	}
	b.End()
	return err.WithFields(b.Doc().Elements())
}

// reasonMax and elementMax are the largest lengths in bytes of the reason and of the value in errInfo for a value
// that is no geometry.
const (
	reasonMax  = 256
	elementMax = 1 << 10
)

// clip shortens a text, at the boundary of a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// markMany marks the fields with several values as if their paths contained arrays, which is mostly true: the planner
// must not combine their bounds.
func (g *generator) markMany(fields [][]bson.Value) {
	for i := range fields {
		if len(fields[i]) < 2 {
			continue
		}
		if g.arrays == nil {
			g.arrays = make(MultikeyPaths, len(g.s.fields))
			for k := range g.arrays {
				g.arrays[k].Path = path.Must(g.s.fields[k])
			}
		}
		g.arrays[i].Arrays = 1 << min(strings.Count(g.s.fields[i], "."), 63)
	}
}

// combine makes an entry for every combination of values.
func (g *generator) combine(fields [][]bson.Value, chosen []bson.Value) error {
	if len(chosen) == len(fields) {
		for _, v := range chosen {
			g.value(v)
		}
		return g.end()
	}
	for _, v := range fields[len(chosen)] {
		if err := g.combine(fields, append(chosen, v)); err != nil {
			return err
		}
	}
	return nil
}

// GeoIntervals returns intervals of the index field i that contain an entry of every geometry which intersects the
// shape. They may contain others, so each document found must be checked again. ok is false if the index cannot
// answer the shape.
func (s *Spec) GeoIntervals(i int, shape *geo.Shape) (list []match.Interval, ok bool) {
	switch s.Parts[i].Plugin {
	case "2dsphere":
		ranges, ok := shape.CellRanges()
		return intervals(ranges), ok
	case "2d":
		if lo, hi, ok := shape.Bounds(); ok {
			return intervals(s.Flat.grid().Ranges(lo, hi)), true
		}
		if shape.Center != nil { // a circle on the sphere, for legacy pairs
			return intervals(s.Flat.sphereRanges(*shape.Center, shape.Radius)), true
		}
	}
	return nil, false
}

// NearIntervals is GeoIntervals for a circle around the centre of a $near, with a radius in the units of the $near.
// A search by distance calls it with growing radii.
func (s *Spec) NearIntervals(i int, n *geo.Near, radius float64) (list []match.Interval, ok bool) {
	if n.Meters {
		radius /= geo.EarthRadiusMeters
	}
	switch p := s.Parts[i].Plugin; {
	case p == "2dsphere" && n.Sphere:
		return intervals(geo.CapRanges(n.Center, radius)), true
	case p == "2d" && n.Sphere:
		return intervals(s.Flat.sphereRanges(n.Center, radius)), true
	case p == "2d":
		lo, hi := geo.Point{X: n.Center.X - radius, Y: n.Center.Y - radius}, geo.Point{X: n.Center.X + radius, Y: n.Center.Y + radius}
		return intervals(s.Flat.grid().Ranges(lo, hi)), true
	}
	return nil, false
}

func intervals(ranges []geo.CellRange) []match.Interval {
	var a bson.Arena
	list := make([]match.Interval, len(ranges))
	for i, r := range ranges {
		list[i] = match.Interval{
			Lo: a.Timestamp(uint32(r.Lo>>32), uint32(r.Lo)), Hi: a.Timestamp(uint32(r.Hi>>32), uint32(r.Hi)),
			LoInclusive: true, HiInclusive: true,
		}
	}
	return list
}
