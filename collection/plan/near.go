package plan

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// nearest plans a search by distance ($near, $nearSphere): only a geospatial index on the path can answer it.
// hint is the index to use, nil for any.
// Manual: reference/operator/query/near, reference/operator/query/nearSphere.
func (q *Query) nearest(hint *catalog.Index) ([]*Solution, error) {
	if !q.near.Stage && q.Coll != nil && q.Coll.Options.TimeSeries != nil {
		return nil, mongoerr.New(5626500, "$near and $nearSphere are not allowed on a time-series collection: $geoNear and $geoWithin are")
	}
	cs := q.conjuncts(q.Match)
	at := q.near.Path().String()
	var out []*Solution
	for _, ix := range q.indexes() {
		if hint != nil && ix != hint {
			continue
		}
		for i := range ix.Parts {
			if ix.Parts[i].Name != at || ix.Parts[i].Plugin == "" || ix.Kind.Name != ix.Parts[i].Plugin {
				continue
			}
			if s := q.byDistance(ix, i, cs); s != nil {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		return nil, q.noGeoIndex(cs)
	}
	sortByScore(out)
	return out, nil
}

// noGeoIndex returns the error for a search by distance without an index. Its text has the query between the namespace and
// the reason, in MongoDB's form: programs read the name of the field from it (Parse Server: /field=([A-Za-z_0-9]+) /) and
// create the index.
func (q *Query) noGeoIndex(cs []conjunct) error {
	g, sphere, most := q.near.Geo(), 0, math.MaxFloat64
	if g.Sphere {
		sphere = 1
	}
	if !math.IsInf(g.Max, 0) {
		most = g.Max
	}
	tree := fmt.Sprintf("GEONEAR  field=%s maxdist=%s isNearSphere=%d\n", q.near.Path(), strconv.FormatFloat(most, 'g', 6, 64), sphere)
	if len(cs) > 1 {
		list := ""
		for _, c := range cs {
			if c.node != match.Node(q.near) {
				list += "    " + match.String(c.node).String() + "\n"
			}
		}
		tree = "$and\n" + list + "    " + tree
	}
	limit := ""
	if q.Limit > 0 {
		limit = fmt.Sprintf(" limit=%d", q.Limit)
	}
	return mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: ns=%s%sTree: %sSort: %s\nProj: %s\n"+
		" planner returned error :: caused by :: unable to find index for $geoNear query", q.Coll.Namespace, limit, tree, q.Sort, q.Projection)
}

// byDistance plans a search by distance with field i of one geospatial index; nil if the index does not fit.
func (q *Query) byDistance(ix *catalog.Index, i int, cs []conjunct) *Solution {
	g := q.near.Geo()
	if !supportsNear(ix, g) || !q.coversPartial(ix, cs) {
		return nil
	}
	bounds := make(Bounds, len(ix.Fields()))
	bounded := 0
	before := make([][]int, len(bounds)) // the conjuncts used for each field
	for k := range bounds {
		bounds[k] = everything
		if k == i || ix.Parts[k].Plugin != "" {
			continue
		}
		if f := q.field(ix, k, approach{}, cs, before[:k]); f.bounds {
			bounds[k], before[k] = f.FieldBounds, f.used
			bounded++
		}
	}
	if bounds.Empty() {
		return q.finish(&EOF{}, true, ix.Name, false)
	}
	n := &GeoNear{Index: ix, Field: i, Bounds: bounds, Near: q.near}
	n.Filter = without(cs, q.near)
	n.Computed, n.Predicates = isComputed(n.Filter), predicates(n.Filter)
	s := q.finish(n, q.Pattern == nil, ix.Name, false)
	s.guess = float64(5 + bounded)
	return s
}

// supportsNear reports whether a geospatial index supports the kind of distance that a search requests: a
// 2dsphere index distances on the sphere, a 2d index distances that are not in metres.
func supportsNear(ix *catalog.Index, g *geo.Near) bool {
	if ix.Sphere != nil {
		return g.Sphere
	}
	return ix.Flat != nil && !g.Meters
}

// Within returns the scan of the index entries that can lie within a radius around the centre. The radius has
// the unit of the search: metres, radians or the unit of the coordinates. ok is false if the index cannot
// compute the bounds.
func (n *GeoNear) Within(radius float64) (scan *IndexScan, ok bool) {
	ivs, ok := n.Index.NearIntervals(n.Field, n.Near.Geo(), radius)
	if !ok {
		return nil, false
	}
	b := append(Bounds(nil), n.Bounds...)
	b[n.Field] = encodeField(ivs, n.Index.Dirs()[n.Field], nil)
	return &IndexScan{Index: n.Index, Bounds: b, Sibling: true, Seeks: 1, Skips: true}, true
}

// CheckCenter rejects a search by distance whose centre lies outside of the area of its 2d index.
//
// Errors: 16433.
func (n *GeoNear) CheckCenter() error {
	f, c := n.Index.Flat, n.Near.Geo().Center
	if f == nil || min(c.X, c.Y) >= f.Min && max(c.X, c.Y) <= f.Max {
		return nil
	}
	return mongoerr.New(16433, "point not in interval of [ %v, %v ] :: caused by :: [ %v, %v ]", f.Min, f.Max, c.X, c.Y)
}

// Farthest returns an upper bound of the distance of any stored point from the centre of the search, in metres,
// radians or the unit of the coordinates.
func (n *GeoNear) Farthest() float64 {
	switch g := n.Near.Geo(); {
	case g.Meters:
		return math.Pi * geo.EarthRadiusMeters
	case g.Sphere:
		return math.Pi
	default:
		f := n.Index.Flat
		x := max(math.Abs(g.Center.X-f.Min), math.Abs(g.Center.X-f.Max))
		y := max(math.Abs(g.Center.Y-f.Min), math.Abs(g.Center.Y-f.Max))
		return math.Hypot(x, y) * (1 + 1e-9)
	}
}
