package processes

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// servers starts several equal servers over one storage address.
func servers(t *testing.T, n int, place string, flags ...string) (list []*harness.Server) {
	t.Helper()
	for range n {
		list = append(list, mustLaunch(t, place, flags...))
	}
	return list
}

// hosts returns a connection string with all servers.
func hosts(list ...*harness.Server) string {
	uri := "mongodb://"
	for i, s := range list {
		if i > 0 {
			uri += ","
		}
		uri += s.Addr
	}
	return uri + "/"
}

// TestServers checks that servers over one keyspace are one database: definitions, changes and writes of one
// are visible at the others, and none uses what was dropped.
func TestServers(t *testing.T) {
	_, place := cluster(t)
	list := servers(t, 3, place)
	var colls []*mongo.Collection
	for _, s := range list {
		colls = append(colls, connect(t, s.URI).Database("test").Collection("c"))
	}
	if _, err := colls[0].InsertOne(t.Context(), bson.M{"_id": 1, "u": 1}); err != nil {
		t.Fatal(err)
	}
	for i, coll := range colls {
		if n, err := coll.CountDocuments(t.Context(), bson.M{"_id": 1}); n != 1 || err != nil {
			t.Errorf("server %d finds %d documents, %v", i, n, err)
		}
	}
	if _, err := colls[1].Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "u", Value: 1}}, Options: options.Index().SetUnique(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := colls[2].InsertOne(t.Context(), bson.M{"u": 1}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a server does not know the unique index of another one: %v", err)
	}
	err := colls[0].Database().Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}).Err()
	if e, ok := err.(mongo.CommandError); !ok || e.Name != "CommandNotSupported" {
		t.Errorf("fsync with a lock: %v", err)
	}
	if err := colls[2].Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, coll := range colls {
		if n, err := coll.CountDocuments(t.Context(), bson.M{}); n != 0 || err != nil {
			t.Errorf("server %d finds %d documents of the dropped collection, %v", i, n, err)
		}
	}
	for _, s := range list {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestKillOneOfSeveral kills servers, one after the other, under writers whose driver has the addresses of
// all: the others continue, all acknowledged writes are there, and none was applied twice.
func TestKillOneOfSeveral(t *testing.T) {
	const writers = 6
	_, place := cluster(t)
	addresses := []string{freePort(t), freePort(t), freePort(t)}
	list := make([]*harness.Server, len(addresses))
	for i, a := range addresses {
		list[i] = mustLaunch(t, place, "--listen", a)
	}
	coll := connect(t, hosts(list...)).Database("test").Collection("counters")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, writers)
	for w := range writers {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	for i := range list {
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-t.Context().Done():
		}
		list[i].Kill()
		list[i] = mustLaunch(t, place, "--listen", addresses[i])
	}
	cancel()
	wg.Wait()
	for w := range writers {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": w}).Decode(&doc); err != nil || doc.N != counts[w].acknowledged {
			t.Errorf("document %d has %d, %d were acknowledged, %v", w, doc.N, counts[w].acknowledged, err)
		}
		if counts[w].acknowledged == 0 {
			t.Errorf("writer %d did nothing", w)
		}
		t.Logf("document %d: %d, %d undetermined; the slowest took %v", w, doc.N, counts[w].unknown, counts[w].slowest.Round(time.Millisecond))
	}
	for _, s := range list {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}
