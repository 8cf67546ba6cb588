package cluster

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
)

// TestCountAtSnapshot: a count at a snapshot does not include a document that was inserted later, with the empty filter
// and with a filter that matches every document.
func TestCountAtSnapshot(t *testing.T) {
	s := newScene(t)
	s.create(made{})
	s.fill(3)
	then, err := s.SnapshotTime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Cluster.Close()
	if _, _, err := s.Insert(s.op(t.Context()), dbc, []bson.Raw{s.raw(`{_id: "later"}`)}, true); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{`{}`, `{_id: {$exists: true}}`} {
		o := s.op(t.Context())
		o.At = then
		n, err := s.Count(o, dbc, plan.Find{Filter: s.raw(filter)})
		if err != nil || n != 3 {
			t.Errorf("%s: %d %v, want 3", filter, n, err)
		}
	}
}
