package exec

import (
	"container/heap"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/geo"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// geoNear delivers the records around a centre, the nearest first. It reads circles of growing radius from a
// geospatial index. Records within the circle just read are delivered in order of distance; records found
// beyond it wait until a wider circle has been read.
type geoNear struct {
	Counters
	node    *plan.GeoNear
	src     Source
	charged bool
	radius  float64 // radius read so far
	end     float64 // largest distance of a result
	whole   bool    // the last circle has been read
	waiting nearHeap
	seen    recordSet
	held    int
	env     *mql.Env
	seq     int64

	row    Row
	meta   metaBuilder
	keyBuf []byte
	key    []byte
	buf    []byte
	filter filter
	arena  bson.Arena
}

// nearRow is a record that matches and has not been delivered.
type nearRow struct {
	distance float64
	seq      int64
	doc      bson.Raw
	point    bson.Value // in doc
	id       []byte
	hash     keyspace.Hash
}

func (r *nearRow) size() int { return len(r.doc) + len(r.id) + 96 }

type nearHeap []nearRow

func (h nearHeap) Len() int { return len(h) }
func (h nearHeap) Less(i, j int) bool {
	return h[i].distance < h[j].distance || h[i].distance == h[j].distance && h[i].seq < h[j].seq
}
func (h nearHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *nearHeap) Push(x any)   { *h = append(*h, x.(nearRow)) }
func (h *nearHeap) Pop() any {
	x := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nearRow{}
	*h = (*h)[:len(*h)-1]
	return x
}

func newGeoNear(n *plan.GeoNear, src Source) *geoNear {
	return &geoNear{node: n, src: src, end: min(n.Near.Geo().Max, n.Farthest())}
}

// A search by distance first reads a circle with a radius of a kilometre on the sphere, or of a 1024th of the largest
// distance in flat coordinates, but not less than the minimum distance. Each further circle has four times the
// radius, or twice if at least fewRecords records are waiting. None exceeds the maximum distance.
const (
	firstMeters = 1000
	firstPart   = 1.0 / 1024
	fewRecords  = 32
)

func (g *geoNear) first() float64 {
	near := g.node.Near.Geo()
	r := g.end * firstPart
	switch {
	case near.Meters:
		r = firstMeters
	case near.Sphere:
		r = firstMeters / geo.EarthRadiusMeters
	}
	return min(max(r, near.Min), g.end)
}

func (g *geoNear) Next(env *mql.Env) (*Row, error) {
	g.env = env
	if !g.charged {
		if err := g.node.CheckCenter(); err != nil {
			return nil, err
		}
		g.charged = true
		env.Meter.Visit(int(g.src.Shard.ID), 1)
	}
	next := g.first()
	for {
		if len(g.waiting) > 0 && (g.whole || g.waiting[0].distance <= g.radius) {
			return g.deliver(), nil
		}
		if g.whole {
			g.Done = true
			return nil, nil
		}
		if g.radius > 0 {
			next = g.radius * 4
		}
		if len(g.waiting) >= fewRecords {
			next = g.radius * 2
		}
		if !(next < g.end) {
			next, g.whole = g.end, true
		}
		if err := g.circle(env, next); err != nil {
			return nil, err
		}
		g.radius = next
	}
}

func (g *geoNear) deliver() *Row {
	r := heap.Pop(&g.waiting).(nearRow)
	g.env.Memory.Shrink(r.size())
	g.held -= r.size()
	g.Returned++
	b := g.meta.begin(nil)
	b.Double("geoNearDistance", r.distance)
	b.Value("geoNearPoint", r.point)
	g.arena.Reset()
	g.keyBuf = keystring.Append(g.keyBuf[:0], g.arena.Double(r.distance), keystring.Ascending, nil, nil)
	g.row = Row{Doc: r.doc, Hash: r.hash, ID: r.id, SortKey: g.keyBuf, Meta: g.meta.end(), Shard: int(g.src.Shard.ID)}
	return &g.row
}

// circle collects the matching new records that can lie within a radius around the centre; some lie beyond it.
func (g *geoNear) circle(env *mql.Env, radius float64) error {
	node, ok := g.node.Within(radius)
	if !ok {
		return storage.ErrCorruption
	}
	scan := buildIndexScan(node, g.src)
	defer scan.Close()
	for {
		r, err := scan.Next(env)
		if r == nil || err != nil {
			return err
		}
		g.KeysExamined++
		g.Works++
		fresh, err := g.seen.add(env, r)
		if err != nil {
			return err
		}
		if !fresh {
			g.Dropped++
			continue
		}
		if err := g.readCandidate(env, r); err != nil {
			return err
		}
	}
}

// readCandidate reads a record and keeps it if it matches.
func (g *geoNear) readCandidate(env *mql.Env, r *Row) error {
	if err := g.src.Trial.spend(fetchCost); err != nil {
		return err
	}
	g.key = keyspace.AppendRecord(g.key[:0], g.src.Coll.ID, r.Hash, r.ID)
	v, err := g.src.Reader.Get(env.Context(), g.key, g.buf[:0])
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	g.buf = v
	g.DocsExamined++
	env.Meter.Loaded(r.Shard, len(v), g.node.Predicates)
	d, point, ok := g.distance(bson.Raw(v))
	if !ok {
		return nil
	}
	if g.node.Filter != nil {
		if g.node.Computed {
			env.Meter.Add(r.Shard, ratelimit.ComputedTest, 1)
		}
		if ok, err := g.filter.matches(env, g.node.Filter, bson.Raw(v)); !ok || err != nil {
			return err
		}
	}
	g.seq++
	mem := append(append(make([]byte, 0, len(v)+len(r.ID)), v...), r.ID...)
	kept := nearRow{distance: d, seq: g.seq, doc: bson.Raw(mem[:len(v):len(v)]), id: mem[len(v):], hash: r.Hash, point: point.Clone()}
	heap.Push(&g.waiting, kept)
	g.held += kept.size()
	if !env.Memory.Grow(kept.size()) {
		return env.Memory.ExceededError("$geoNear")
	}
	return nil
}

// distance returns the smallest distance of a document's geometries from the centre, and the geometry that has
// it; ok is false if none lies within the search's minimum and maximum distance.
func (g *geoNear) distance(doc bson.Raw) (d float64, point bson.Value, ok bool) {
	near := g.node.Near.Geo()
	g.node.Near.Path().Walk(doc, path.TraverseLeaf, func(v bson.Value, _ []int32) bool {
		if stored, isGeo := geo.Stored(v); isGeo {
			if x, within := near.Distance(stored); within && (!ok || x < d) {
				d, point, ok = x, v, true
			}
		}
		return true
	})
	return d, point, ok
}

func (g *geoNear) Explain(b *bson.Builder, stats bool) {
	explainNode(b, g.node, &g.Counters, stats)
	if stats {
		g.appendExamined(b)
	}
}

func (g *geoNear) Close() {
	g.filter.close()
	g.seen.release()
	if g.env != nil && g.held > 0 {
		g.env.Memory.Shrink(g.held)
		g.held = 0
	}
	g.waiting, g.whole, g.Done = nil, true, true
}
