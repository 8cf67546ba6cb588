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

// checkView checks the definition of a view: its pipeline must be valid and allowed in a view, and must not read the
// view itself.
// Manual: core/views. Errors: GraphContainsCycle (5), ViewDepthLimitExceeded (165), ViewPipelineMaxSizeExceeded
// (195), InvalidNamespace (73), errors of agg.Parse.
func checkView(c *command.Call, ns collection.Namespace, viewOn string, pipeline bson.Raw, outline *agg.Outline) error {
	base := collection.Namespace{DB: ns.DB, Coll: viewOn}
	if err := collection.CheckNamespace(base); err != nil {
		return err
	}
	if strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid view name: %s", ns)
	}
	for _, s := range outline.Limited {
		if s.NoView != 0 {
			return mongoerr.New(s.NoView, "%s is not allowed in a view definition", s.Name)
		}
	}
	if _, err := agg.Parse(c.Env().WithLateConstants(), outline.Stages, agg.Options{NS: base, In: agg.InView}); err != nil {
		return err
	}
	g := viewGraph{snap: c.Cluster.Catalog(), ns: ns, under: map[collection.Namespace]extent{}, over: map[collection.Namespace]extent{}}
	return g.check(base, outline, pipeline.Size())
}

// viewNeeds notes the privileges of a command that defines a view. If the user may read the view, it must also be
// allowed to read the view's source: otherwise the user could read any collection by defining a view on it.
func viewNeeds(q *command.PrivilegeCheck, view collection.Namespace, on string, outline *agg.Outline) {
	if q.May(auth.Find, view) {
		source := collection.Namespace{DB: view.DB, Coll: on}
		q.Need(auth.Find, source)
		q.Pipeline(source, outline, false)
	}
}
