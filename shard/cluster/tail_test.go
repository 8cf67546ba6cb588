package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
)

// A turn of a tail may read the state of the store after a drop with a catalog from before the drop. No later commit
// would wake the tail, so Wait must return at once.
func TestTailMeetsDrop(t *testing.T) {
	s := newScene(t)
	s.create(made{Raw: s.raw(`{capped: true, size: 4096}`)})
	s.fill(1)
	tail, err := s.Tail(s.op(t.Context()), dbc, plan.Find{})
	if err != nil {
		t.Fatal(err)
	}
	tail.Pause()
	if _, err := s.Drop(s.op(t.Context()), dbc); err != nil {
		t.Fatal(err)
	}
	tail.at = s.store.Latest()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tail.Wait(ctx); err != nil {
		t.Error(err)
	}
	if _, err := tail.Next(tail.op.Env); mongoerr.CodeOf(err) != mongoerr.QueryPlanKilled {
		t.Error(err)
	}
}
