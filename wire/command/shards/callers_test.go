package shards

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
)

// TestCallersOfPeers checks that the callers of a shape arrive at a peer, and are added to those of the same shape there.
func TestCallersOfPeers(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := shape{ns: collection.Namespace{DB: "test", Coll: "c"}, command: "find", filter: "{a: ?}", last: now}
	s.callers.Add(&ratelimit.Caller{App: "shop", Driver: "go", User: "ada@admin"}, 2, 3, 40*ratelimit.RU, now)
	s.callers.Add(&ratelimit.Caller{}, 1, 0, 10*ratelimit.RU, now)
	b := bson.NewBuilder(nil)
	b.BeginArray("list")
	s.appendForPeer(b, false, now)
	b.End()
	var got shape
	each(b.Doc(), "list", func(d bson.Raw) { got = parseFromPeer(d, now) })
	got.merge(&s, now)
	list := got.callers.List(now)
	if len(list) != 2 || *list[0].Caller != (ratelimit.Caller{App: "shop", Driver: "go", User: "ada@admin"}) || list[0].RU != 80*ratelimit.RU || list[0].Runs != 4 || list[0].Refused != 6 || list[1].RU != 20*ratelimit.RU {
		t.Errorf("%+v", list)
	}
	if ru, refused := got.callers.Recent(now); ru != 100 || refused != 6 {
		t.Errorf("%v RU, %v refused", ru, refused)
	}
}
