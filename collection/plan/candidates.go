package plan

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Solution is a physical plan for one query.
type Solution struct {
	// Shards runs on each targeted shard: access, filter, and as much of sort,
	// skip and limit as a shard can do alone.
	Shards Node
	// Pattern merges the shards' rows; nil when their order is free.
	Pattern *order.Pattern
	// Skip and Limit are applied to the merged rows.
	Skip, Limit int64
	// Point says that the plan reads single records by key.
	Point bool
	// Index is the name of the index used, "" for a scan.
	Index string
	// SortedBy says that the index delivers the order, without a sort.
	Sorted bool

	score float64
}

// Candidates lists the ways to answer the query, best guess first. There is
// always at least one.
// Errors: BadValue (2) for a hint that names no index.
func (q *Query) Candidates() ([]*Solution, error) {
	if q.Match == match.Node(match.Always(false)) {
		return []*Solution{q.finish(&EOF{}, true, "")}, nil
	}
	if q.Natural != 0 {
		return []*Solution{q.scan(conjuncts(q.Match))}, nil
	}
	if n := q.point(); n != nil && q.Hint.IsMissing() {
		s := q.finish(n, true, "_id_")
		s.Point = true
		return []*Solution{s}, nil
	}
	cs := conjuncts(q.Match)
	if !q.Hint.IsMissing() {
		return q.hinted(cs)
	}
	var out []*Solution
	for _, ix := range q.Coll.Indexes {
		if ix.State != catalog.IndexReady || ix.Hidden {
			continue
		}
		if s := q.through(ix, cs, false); s != nil {
			out = append(out, s)
		}
	}
	if s := q.byShardKey(cs); s != nil {
		out = append(out, s)
	}
	if s := q.union(cs); s != nil {
		out = append(out, s)
	}
	if len(out) == 0 {
		out = append(out, q.scan(cs))
	}
	sortByScore(out)
	return out, nil
}

func sortByScore(s []*Solution) {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j].score > s[j-1].score; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// hinted plans with the one index that the caller names.
func (q *Query) hinted(cs []conjunct) ([]*Solution, error) {
	for _, ix := range q.Coll.Indexes {
		name, _ := q.Hint.Str()
		key, isDoc := q.Hint.Doc()
		if ix.State != catalog.IndexReady || ix.Hidden && !isDoc && name != ix.Name {
			continue
		}
		if ix.Name != name && !(isDoc && bson.Equal(key.Value(), ix.Key.Value(), nil)) {
			continue
		}
		if s := q.through(ix, cs, true); s != nil {
			return []*Solution{s}, nil
		}
		return []*Solution{q.scan(cs)}, nil
	}
	return nil, mongoerr.New(mongoerr.BadValue, "error processing query: ns=%s: planner returned error :: caused by :: hint provided does not correspond to an existing index; "+
		"list them with listIndexes, or create the index first", q.Coll.Namespace)
}

// point recognises equality on _id and the whole shard key, and nothing else.
func (q *Query) point() Node {
	if q.Pattern != nil || len(q.Min) > 0 || len(q.Max) > 0 || q.ReturnKey {
		return nil
	}
	want := 1
	for _, f := range q.Coll.Key.Fields() {
		if f.Path.String() != "_id" {
			want++
		}
	}
	parts := []match.Node{q.Match}
	if and, ok := q.Match.(*match.And); ok {
		parts = and.Children()
	}
	if len(parts) != want {
		return nil
	}
	id, ok := q.equality("_id")
	if !ok || !q.plainOrder(id) {
		return nil
	}
	h, ok := q.hash()
	if !ok {
		return nil
	}
	return &PointRead{Hash: h, ID: keystring.Append(nil, id, keystring.Ascending, q.Coll.Options.Collation.Order(), nil)}
}

// equality finds the one value that the filter wants of a path.
func (q *Query) equality(p string) (bson.Value, bool) {
	vs, ok := match.Points(q.Match, p)
	if !ok || len(vs) != 1 {
		return bson.Value{}, false
	}
	return vs[0], true
}

// plainOrder reports that v means the same under the query's and the
// collection's collation: always, unless it holds strings.
func (q *Query) plainOrder(v bson.Value) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol, bson.TypeDocument, bson.TypeArray:
		return q.Coll.Options.Collation.Equal(q.collation)
	case bson.TypeRegex:
		return false
	}
	return true
}

// hash is the position of all documents the query can match, if there is just
// one.
func (q *Query) hash() (keyspace.Hash, bool) {
	if !q.Coll.Sharded() {
		return keyspace.HashMin, true
	}
	hs := q.Hashes()
	if len(hs) != 1 {
		return 0, false
	}
	return hs[0], true
}

// Hashes are the positions that can hold matches when the filter fixes every
// field of the shard key to values; nil when it does not. They are ascending
// and distinct.
func (q *Query) Hashes() []keyspace.Hash {
	return q.Coll.Positions(q.Match, q.collation == nil)
}

// scan reads the whole collection.
func (q *Query) scan(cs []conjunct) *Solution {
	n := &RecordScan{Reverse: q.Natural < 0, Filter: rest(cs, make([]bool, len(cs))), Seeks: 1}
	s := q.finish(n, false, "")
	s.score = -1
	return s
}

// byShardKey reads only the positions that the filter fixes; the records of one
// position lie together.
func (q *Query) byShardKey(cs []conjunct) *Solution {
	if !q.Coll.Sharded() {
		return nil
	}
	hs := q.Hashes()
	if hs == nil {
		return nil
	}
	n := &RecordScan{Place: Place{Hashes: hs}, Filter: rest(cs, make([]bool, len(cs))), Seeks: len(hs)}
	s := q.finish(n, false, "")
	s.score = 2
	return s
}

// through plans with one index, nil if that is useless or impossible.
func (q *Query) through(ix *catalog.Index, cs []conjunct, forced bool) *Solution {
	if !ix.IsOrdered() {
		return nil // other kinds plan for themselves
	}
	a, ok := q.indexAccess(ix, cs)
	if !ok {
		return nil
	}
	if err := q.applyMinMax(&a); err != nil {
		return nil
	}
	sorted, reverse := q.sortedBy(a)
	covered := q.covers(ix, cs, a)
	if a.bounded == 0 && !(sorted && q.Pattern != nil) && !covered && !forced {
		return nil
	}
	if a.bounds.Empty() {
		return q.finish(&EOF{}, true, ix.Name)
	}
	left := rest(cs, a.used)
	var n Node
	if ix.ID == 1 && !q.Coll.PhysicalID() {
		n = q.idScan(ix, a, left, reverse)
	} else {
		scan := &IndexScan{Index: ix, Bounds: a.bounds, Reverse: reverse, Seeks: a.bounds.Seeks()}
		n = scan
		if covered {
			scan.Rebuild = true
			scan.Filter = left
		} else {
			n = &Fetch{Input: scan, Filter: left}
		}
	}
	s := q.finishCovered(n, sorted, ix.Name, covered)
	s.score = float64(10*a.points+5*min(a.bounded-a.points, 1)) + float64(a.bounded)
	if sorted && q.Pattern != nil {
		s.score += 8
	}
	if covered {
		s.score += 3
	}
	if ix.Unique && a.points == len(a.bounds) {
		s.score += 20
	}
	return s
}

// idScan reads records in _id order: the _id_ index of a collection whose record
// key is that index.
func (q *Query) idScan(ix *catalog.Index, a access, left match.Node, reverse bool) *RecordScan {
	return &RecordScan{Place: Place{IDs: a.bounds[0].Intervals}, Reverse: reverse, Filter: left, Seeks: a.bounds.Seeks(),
		ByID: &IndexScan{Index: ix, Bounds: a.bounds, Reverse: reverse, Seeks: a.bounds.Seeks()}}
}

// applyMinMax replaces the bounds by those of min and max.
func (q *Query) applyMinMax(a *access) error {
	if q.Min.IsEmpty() && q.Max.IsEmpty() {
		return nil
	}
	return fmt.Errorf("min and max are planned elsewhere")
}

// sortedBy reports whether the access delivers the query's order, and in which
// direction the index is read.
func (q *Query) sortedBy(a access) (sorted, reverse bool) {
	if q.Pattern == nil {
		return true, false
	}
	if !a.index.Collation.Equal(q.collation) {
		return false, false
	}
	fields, dirs := a.index.Fields(), a.index.Dirs()
	i := 0
	flip := 0 // 0 unknown, 1 forward, -1 reverse
	for _, part := range q.Pattern.Parts {
		if part.Meta != "" {
			return false, false
		}
		name := part.Path.String()
		for i < len(fields) && fields[i] != name && isOnePoint(a.bounds[i]) {
			i++
		}
		if i < len(fields) && fields[i] == name {
			if a.index.Multikey.Field(i) {
				return false, false
			}
			d := 1
			if part.Dir != dirs[i] {
				d = -1
			}
			if isOnePoint(a.bounds[i]) {
				d = flip // equal values are in any order
			}
			if flip != 0 && d != 0 && d != flip {
				return false, false
			}
			if d != 0 {
				flip = d
			}
			i++
			continue
		}
		if fixedByEquality(fields[:i], a.bounds, name) {
			continue
		}
		return false, false
	}
	return true, flip < 0
}

func isOnePoint(f FieldBounds) bool { return len(f.Intervals) == 1 && f.IsPoint() }

// fixedByEquality reports that a sort field was bounded to one value before.
func fixedByEquality(fields []string, b Bounds, name string) bool {
	for i, f := range fields {
		if f == name && isOnePoint(b[i]) {
			return true
		}
	}
	return false
}

// covers reports that the answer can be given from index keys alone.
func (q *Query) covers(ix *catalog.Index, cs []conjunct, a access) bool {
	if ix.Multikey.Any() || ix.Collation != nil || ix.ID == 1 && !q.Coll.PhysicalID() || q.ReturnKey || q.ShowRecordID {
		return false
	}
	var need []string
	switch {
	case q.KeysOnly:
		need = q.NeedKeys
	case q.Transform == nil:
		return false
	default:
		whole := true
		need, whole = neededBy(q.Transform)
		if whole {
			return false
		}
	}
	have := map[string]bool{}
	roots := map[string]bool{}
	for _, f := range ix.Fields() {
		have[f] = true
		r := root(f)
		if roots[r] {
			return false // two fields of one embedded document are not rebuilt
		}
		roots[r] = true
	}
	for _, f := range need {
		if !have[f] {
			return false
		}
	}
	for i, c := range cs {
		if !a.used[i] && (c.path == "" || !have[c.path]) {
			return false
		}
	}
	if q.Pattern != nil {
		for _, part := range q.Pattern.Parts {
			if part.Meta != "" || !have[part.Path.String()] {
				return false
			}
		}
	}
	return true
}

func root(f string) string {
	for i := range len(f) {
		if f[i] == '.' {
			return f[:i]
		}
	}
	return f
}

// union plans a top-level $or branch by branch; each must have an index.
func (q *Query) union(cs []conjunct) *Solution {
	for k, c := range cs {
		or, ok := c.node.(*match.Or)
		if !ok {
			continue
		}
		used := make([]bool, len(cs))
		used[k] = true
		outer := rest(cs, used)
		var branches []Node
		seeks := 0
		sorted := q.Pattern != nil
		for _, child := range or.Children() {
			n, s, branchSorted := q.branch(child)
			if n == nil {
				branches = nil
				break
			}
			branches = append(branches, n)
			seeks += s
			sorted = sorted && branchSorted
		}
		if branches == nil {
			continue
		}
		var n Node = &Or{Branches: branches}
		if sorted {
			n = &SortMerge{Pattern: q.Pattern, Branches: branches}
		}
		n = &Fetch{Input: n, Filter: outer}
		s := q.finish(n, sorted || q.Pattern == nil, "")
		s.score = 4
		return s
	}
	return nil
}

// branch plans one branch of an $or. With a sort it fetches, so that branches
// can be merged.
func (q *Query) branch(child match.Node) (n Node, seeks int, sorted bool) {
	sub := *q
	sub.Match = child
	cs := conjuncts(child)
	var best *access
	var bestIx *catalog.Index
	for _, ix := range q.Coll.Indexes {
		if ix.State != catalog.IndexReady || ix.Hidden || !ix.IsOrdered() {
			continue
		}
		a, ok := sub.indexAccess(ix, cs)
		if !ok || a.bounded == 0 {
			continue
		}
		if best == nil || a.points > best.points || a.points == best.points && a.bounded > best.bounded {
			best, bestIx = &a, ix
		}
	}
	if best == nil {
		return nil, 0, false
	}
	if best.bounds.Empty() {
		return &EOF{}, 1, true
	}
	sorted, reverse := sub.sortedBy(*best)
	left := rest(cs, best.used)
	if bestIx.ID == 1 && !q.Coll.PhysicalID() {
		return q.idScan(bestIx, *best, left, reverse && sorted), best.bounds.Seeks(), sorted
	}
	n = &IndexScan{Index: bestIx, Bounds: best.bounds, Reverse: reverse && sorted, Seeks: best.bounds.Seeks()}
	if left != nil || q.Pattern != nil {
		n = &Fetch{Input: n, Filter: left}
	}
	return n, best.bounds.Seeks(), sorted
}

// finish adds sort, skip, limit and projection to an access.
func (q *Query) finish(n Node, sorted bool, index string) *Solution {
	return q.finishCovered(n, sorted, index, false)
}

func (q *Query) finishCovered(n Node, sorted bool, index string, covered bool) *Solution {
	s := &Solution{Index: index, Skip: q.Skip, Limit: q.Limit, Sorted: sorted && q.Pattern != nil}
	if q.Pattern != nil {
		s.Pattern = q.Pattern
		if !sorted {
			keep := int64(0)
			if q.Limit > 0 {
				keep = q.Skip + q.Limit
			}
			n = &Sort{Input: n, Pattern: q.Pattern, Limit: keep}
		}
	}
	if q.Limit > 0 {
		n = &Limit{Input: n, N: q.Skip + q.Limit}
	}
	if q.Transform != nil {
		if s.Sorted && q.Coll.Map.Len() > 1 {
			n = &SortKey{Input: n, Pattern: q.Pattern}
		}
		n = &Project{Input: n, Transform: q.Transform, Covered: covered}
	}
	s.Shards = n
	return s
}

// neededBy lists the paths a projection reads; whole when it needs the whole
// document.
func neededBy(t project.Transform) (paths []string, whole bool) {
	t.Paths(func(p string) {
		whole = whole || p == ""
		paths = append(paths, p)
	})
	return paths, whole
}
