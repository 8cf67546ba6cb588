package virtual

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// Stage is the row of an aggregation stage that begins a pipeline and returns data about the server; Docs computes
// its documents.
type Stage struct {
	Name string
	Docs func(o *cluster.Op, ns collection.Namespace, spec bson.Raw) ([]bson.Raw, error)
}

// Stages are the stages about the server.
type Stages []Stage

// Add adds stages, before the server serves.
func (s *Stages) Add(rows ...Stage) { *s = append(*s, rows...) }

// Docs returns the documents of the stage with a name; the cluster calls it as cluster.Upper.Info. Errors:
// NotImplemented (238) if there is no such stage; errors of the stage.
func (s *Stages) Docs(o *cluster.Op, ns collection.Namespace, name string, spec bson.Raw) ([]bson.Raw, error) {
	for _, x := range *s {
		if x.Name == name {
			return x.Docs(o, ns, spec)
		}
	}
	return nil, mongoerr.NotImplementedYet(name)
}
