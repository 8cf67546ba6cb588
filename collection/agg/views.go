package agg

import (
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// viewPipelinesMax limits the number of pipelines to which the views of one command expand: twenty levels of
// views that each read two views would expand to a million.
const viewPipelinesMax = 10_000

// Reads returns the namespaces that the pipeline on ns in database db reads or writes, ns first.
func (o *Outline) Reads(db string, ns collection.Namespace) []collection.Namespace {
	nss := []collection.Namespace{ns}
	for i := range o.Involved {
		other := o.Involved[i].NS
		if other.DB == "" {
			other.DB = db
		}
		nss = append(nss, other)
	}
	return nss
}

// Below adds to the namespaces that a command reads the namespaces that the views among them read, recursively.
//
// Errors: errors of the outlines of the views' pipelines; ViewPipelineMaxSizeExceeded (195).
func Below(snap *catalog.Snapshot, nss []collection.Namespace) ([]collection.Namespace, error) {
	t := viewTree{snap: snap, all: nss}
	most := 0
	for _, ns := range nss {
		n, err := t.pipelines(ns)
		if err != nil {
			return nil, err
		}
		if most += n; most > viewPipelinesMax {
			return nil, mongoerr.New(mongoerr.ViewPipelineMaxSizeExceeded,
				"%s stands for more than %d pipelines by the views that it names and those that they name; read the collections below them", ns, viewPipelinesMax)
		}
	}
	return t.all, nil
}

// viewTree collects the namespaces that views read, and counts the pipelines to which the views expand.
type viewTree struct {
	snap *catalog.Snapshot
	all  []collection.Namespace
	seen map[collection.Namespace]int // number of pipelines by view
}

// pipelines returns the number of pipelines to which a namespace expands: 0 for a collection or an unknown
// namespace, at most viewPipelinesMax + 1 for a view.
func (t *viewTree) pipelines(ns collection.Namespace) (n int, err error) {
	coll := t.snap.Collection(ns)
	if coll == nil || !coll.IsView() {
		return 0, nil
	}
	if n, known := t.seen[ns]; known {
		return n, nil
	}
	outline := NewOutline(coll.Options.Pipeline)
	if outline.Err != nil {
		return 0, outline.Err
	}
	if t.seen == nil {
		t.seen = map[collection.Namespace]int{}
	}
	t.seen[ns], n = 1, 1
	for _, on := range outline.Reads(ns.DB, collection.Namespace{DB: ns.DB, Coll: coll.Options.ViewOn}) {
		if !slices.Contains(t.all, on) {
			t.all = append(t.all[:len(t.all):len(t.all)], on)
		}
		more, err := t.pipelines(on)
		if err != nil {
			return 0, err
		}
		n = min(n+more, viewPipelinesMax+1)
	}
	t.seen[ns] = n
	return n, nil
}
