package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// viewPipelineBytesMax bounds a view's pipeline with everything it is built on.
const viewPipelineBytesMax = 16_000_000

// checkView checks the definition of a view: that its pipeline is one, may
// stand in a view, and ends nowhere near itself.
// Manual: core/views. Errors: GraphContainsCycle (5), ViewDepthLimitExceeded
// (165), ViewPipelineMaxSizeExceeded (195), InvalidNamespace (73), those of
// agg.Parse.
func checkView(c *command.Call, ns collection.Namespace, viewOn string, pipeline bson.Raw) error {
	base := collection.Namespace{DB: ns.DB, Coll: viewOn}
	if err := collection.CheckNamespace(base); err != nil {
		return err
	}
	if strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid view name: %s", ns)
	}
	outline := c.OutlineOf(pipeline)
	for _, s := range outline.Limited {
		if s.NoView != 0 {
			return mongoerr.New(s.NoView, "%s is not allowed in a view definition", s.Name)
		}
	}
	if _, err := agg.Parse(c.Env(), outline.Stages, agg.Options{NS: base, In: agg.InView}); err != nil {
		return err
	}
	if pipeline.Size() > viewPipelineBytesMax {
		return mongoerr.New(mongoerr.ViewPipelineMaxSizeExceeded, "View pipeline exceeds maximum size: %d bytes, at most %d are allowed", pipeline.Size(), viewPipelineBytesMax)
	}
	return checkViewGraph(c, ns, base, outline, 1, map[collection.Namespace]bool{})
}

// viewDepthMax is how long a chain of views may be. Manual: core/views.
const viewDepthMax = 20

// checkViewGraph follows everything a view is built on and refuses a way back
// to ns and chains that are too long. done are the namespaces already seen.
func checkViewGraph(c *command.Call, ns, base collection.Namespace, outline *agg.Outline, depth int, done map[collection.Namespace]bool) error {
	if depth > viewDepthMax {
		return mongoerr.New(mongoerr.ViewDepthLimitExceeded, "View depth limit exceeded; maximum depth is %d", viewDepthMax)
	}
	next := []collection.Namespace{base}
	if outline.Err != nil {
		return outline.Err
	}
	for i := range outline.Involved {
		if x := &outline.Involved[i]; x.NS.Coll != "" && (x.NS.DB == "" || x.NS.DB == ns.DB) {
			next = append(next, collection.Namespace{DB: ns.DB, Coll: x.NS.Coll})
		}
	}
	for _, n := range next {
		if n == ns {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected on %s", ns)
		}
		coll := c.Cluster.Catalog.Peek().Collection(n)
		if coll == nil || !coll.IsView() {
			continue
		}
		if done[n] && depth < viewDepthMax/2 {
			continue
		}
		done[n] = true
		below := collection.Namespace{DB: ns.DB, Coll: coll.Options.ViewOn}
		if err := checkViewGraph(c, ns, below, agg.NewOutline(coll.Options.Pipeline), depth+1, done); err != nil {
			return err
		}
	}
	return nil
}

// viewPrivileges notes that the maker of a view that it may read must be
// allowed to read what the view is made of, or a view would be a way around that.
func viewPrivileges(q *command.PrivilegeCheck) {
	on, ok := q.Arg("viewOn").Str()
	if !ok || !q.Grants.May(auth.Find, q.Namespace()) {
		return
	}
	list, _ := q.Arg("pipeline").Array()
	source := collection.Namespace{DB: q.DB, Coll: on}
	q.Need(auth.Find, source)
	q.Pipeline(source, list)
}
