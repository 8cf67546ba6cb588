package schema

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

const (
	// viewDepthMax is the maximum number of views in a chain in which each view reads the next. Manual: core/views.
	viewDepthMax = 20
	// viewPipelineBytesMax bounds the total size of all pipelines in a chain of views, in bytes.
	viewPipelineBytesMax = 16_000_000
)

// viewGraph holds the extents of views around a view that is to be defined: of the views that it reads (under), and
// of the existing views that read it (over).
type viewGraph struct {
	snap        *catalog.Snapshot
	ns          collection.Namespace // the view to be defined
	under, over map[collection.Namespace]extent
}

// extent holds the length of the longest chain of views from one view, and the largest total size of a chain's
// pipelines in bytes.
type extent struct{ depth, bytes int }

// with returns an extent with the larger depth and the larger bytes of two extents.
func (e extent) with(o extent) extent { return extent{max(e.depth, o.depth), max(e.bytes, o.bytes)} }

// check refuses the new view if it closes a cycle of views, or if a chain through it becomes longer than viewDepthMax
// or has more bytes of pipelines than viewPipelineBytesMax. size is the bytes of its pipeline.
//
// Errors: GraphContainsCycle (5), ViewDepthLimitExceeded (165), ViewPipelineMaxSizeExceeded (195).
func (g *viewGraph) check(base collection.Namespace, outline *agg.Outline, size int) error {
	below, err := g.below(base, outline)
	if err != nil {
		return err
	}
	above := g.above(g.ns)
	if depth := above.depth + 1 + below.depth; depth > viewDepthMax {
		return mongoerr.New(mongoerr.ViewDepthLimitExceeded, "View depth limit exceeded; maximum depth is %d", viewDepthMax)
	}
	if n := above.bytes + size + below.bytes; n > viewPipelineBytesMax {
		return mongoerr.New(mongoerr.ViewPipelineMaxSizeExceeded, "View pipeline exceeds maximum size: %d bytes, at most %d are allowed", n, viewPipelineBytesMax)
	}
	return nil
}

// below returns the extent of the views that a definition reads.
func (g *viewGraph) below(base collection.Namespace, outline *agg.Outline) (most extent, err error) {
	if outline.Err != nil {
		return most, outline.Err
	}
	for _, n := range readsOf(base, outline) {
		if n == g.ns {
			return most, mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected on %s", g.ns)
		}
		e, done := g.under[n]
		if coll := g.snap.Collection(n); !done && coll != nil && coll.IsView() {
			g.under[n] = e
			on := collection.Namespace{DB: n.DB, Coll: coll.Options.ViewOn}
			if e, err = g.below(on, agg.NewOutline(coll.Options.Pipeline)); err != nil {
				return most, err
			}
			e = extent{e.depth + 1, e.bytes + pipelineBytes(coll)}
			g.under[n] = e
		}
		most = most.with(e)
	}
	return most, nil
}

// above returns the extent of the views that read a namespace.
func (g *viewGraph) above(ns collection.Namespace) (most extent) {
	if e, done := g.over[ns]; done {
		return e
	}
	g.over[ns] = most
	for _, coll := range g.snap.Collections(ns.DB) {
		if coll.IsView() && coll.Namespace != ns && reads(coll, ns) {
			e := g.above(coll.Namespace)
			most = most.with(extent{e.depth + 1, e.bytes + pipelineBytes(coll)})
		}
	}
	g.over[ns] = most
	return most
}

// reads reports whether a view reads a namespace of its database.
func reads(view *catalog.Collection, ns collection.Namespace) bool {
	if view.Options.ViewOn == ns.Coll {
		return true
	}
	mentioned := false
	for _, s := range view.Options.Pipeline {
		mentioned = mentioned || bytes.Contains(s, []byte(ns.Coll))
	}
	if !mentioned {
		return false
	}
	for _, n := range readsOf(ns, agg.NewOutline(view.Options.Pipeline))[1:] {
		if n == ns {
			return true
		}
	}
	return false
}

// readsOf returns the namespaces of its own database that a view definition reads: base, the view's source, and the
// collections that stages such as $lookup read.
func readsOf(base collection.Namespace, outline *agg.Outline) []collection.Namespace {
	out := []collection.Namespace{base}
	for i := range outline.Involved {
		if x := &outline.Involved[i]; x.NS.Coll != "" && (x.NS.DB == "" || x.NS.DB == base.DB) {
			out = append(out, collection.Namespace{DB: base.DB, Coll: x.NS.Coll})
		}
	}
	return out
}

// pipelineBytes returns the size of a view's pipeline.
func pipelineBytes(view *catalog.Collection) int {
	b := bson.NewArrayBuilder(nil)
	for _, s := range view.Options.Pipeline {
		b.Raw("", s)
	}
	return len(b.Finish())
}
