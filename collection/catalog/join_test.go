package catalog_test

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// beside is a simulated shared store. Its members are this server and others, peers that have published nothing.
type beside struct {
	*among
	others []storage.Member
}

func (b *beside) Members(ctx context.Context) (storage.Timestamp, []storage.Member, error) {
	now, list, err := b.among.Members(ctx)
	return now, append(list, b.others...), err
}

// A server that has just joined and drains a collection of a dead server waits for a peer that has published no
// version, because this may not have applied the dead server's changes yet; once the peer has left, it does not wait.
func TestDrainAfterJoin(t *testing.T) {
	store := &beside{among: &among{Store: memkv.Open(memkv.Options{})}}
	defer store.Close()
	dead, err := catalog.Open(t.Context(), store, release.Default)
	bsontest.Must(t, err)
	(&room{dead, t, store}).create("db.c", "{}")
	store.others = []storage.Member{{ID: storage.MemberID{2}}}
	c, err := catalog.Open(t.Context(), store, release.Default)
	bsontest.Must(t, err)
	coll, err := c.Peek().Lookup(ns("db.c"))
	bsontest.Must(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := c.Drain(ended, coll.ID); err == nil {
		t.Error("it does not wait for a member that has told nothing")
	}
	store.others = nil
	bsontest.Must(t, c.Drain(t.Context(), coll.ID))
}
