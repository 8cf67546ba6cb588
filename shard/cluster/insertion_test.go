package cluster

import (
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage/memkv"
)

// TestNonePlaced: after a start, the first scan notes whether a document is placed. Later scans have the insertion order
// after the first document is placed, too; one that was opened before has its own state.
func TestNonePlaced(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	s := &skipper{openScene(t, store), t}
	s.create(made{})
	insert := func(o *Op, doc string) {
		t.Helper()
		if _, errs, err := s.Insert(o, dbc, []bson.Raw{s.raw(doc)}, true); err != nil || len(errs) > 0 {
			t.Fatal(err, errs)
		}
	}
	restart := func(none bool, want ...string) {
		t.Helper()
		s = &skipper{openScene(t, store), t}
		if got := s.find(s.op(t.Context()), plan.Find{}); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if coll := s.catalog.Peek().Collection(dbc); s.frontier(coll).NonePlaced() != none {
			t.Errorf("%v: it is not noted that no document is placed: %v", want, none)
		}
	}
	insert(s.op(t.Context()), `{_id: 2}`)
	insert(s.op(t.Context()), `{_id: 3}`)
	restart(true, "2", "3")
	open, err := s.Find(s.op(t.Context()), dbc, plan.Find{})
	if err != nil {
		t.Fatal(err)
	}
	insert(s.op(t.Context()), `{_id: 1}`)
	o := s.op(t.Context())
	if got := s.read(open, o, nil); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("a scan that was opened before: %v", got)
	}
	if got := s.find(o, plan.Find{}); !slices.Equal(got, []string{"2", "3", "1"}) {
		t.Errorf("a scan after the first place: %v", got)
	}
	restart(false, "2", "3", "1")
}
