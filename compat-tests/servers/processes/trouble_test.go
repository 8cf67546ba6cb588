package processes

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// TestTrouble checks that in a cluster with all kinds of faults now and then, all acknowledged writes of several
// writers are there, and none is applied twice. It fails if one of the usual faults did not occur: then the suites
// that run with CANTLE_STORAGE=tikv-faults would not test it either.
func TestTrouble(t *testing.T) {
	const writers = 6
	c, err := tikvfake.NewOf(3)
	if err != nil {
		t.Fatal(err)
	}
	at, stop, err := c.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); c.Close() })
	s := mustLaunch(t, "tikv://"+at+"/gateway")
	met, end := c.InjectFaults(1)
	coll := connect(t, s.URI).Database("test").Collection("counters")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, writers)
	for w := range writers {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	wg.Wait()
	end()
	all, unknown, slowest := int64(0), int64(0), time.Duration(0)
	for w := range writers {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": w}).Decode(&doc); err != nil || doc.N != counts[w].acknowledged {
			t.Errorf("document %d has %d, %d were acknowledged, %v", w, doc.N, counts[w].acknowledged, err)
		}
		all, unknown, slowest = all+doc.N, unknown+counts[w].unknown, max(slowest, counts[w].slowest)
	}
	t.Logf("%d increments, %d errors, slowest success %v; %v", all, unknown, slowest, met)
	each := met.ByName()
	for _, what := range []string{tikvfake.Stalls, tikvfake.StaleCommands, tikvfake.RegionsNotFound, tikvfake.CutBefore, tikvfake.CutAfter,
		tikvfake.LeaderMoves, tikvfake.Splits, tikvfake.StoresDown, tikvfake.PDUnavailable} {
		if each[what] == 0 {
			t.Errorf("there were no %s", what)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestCollectPastCursors collects garbage past the snapshots of open readers, as another collector of the cluster
// might do. The readers then get an error that their snapshot is gone, instead of a part of the documents, and new
// reads and writes work as before.
func TestCollectPastCursors(t *testing.T) {
	c, place := cluster(t)
	s := mustLaunch(t, place)
	client := connect(t, s.URI)
	coll := client.Database("test").Collection("c")
	const documents = 2000
	var docs []bson.M
	for i := range documents {
		docs = append(docs, bson.M{"_id": i})
	}
	if _, err := coll.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	one := options.Find().SetBatchSize(1).SetSort(bson.M{"_id": 1})
	plain, err := coll.Find(t.Context(), bson.M{}, one)
	if err != nil || !plain.Next(t.Context()) {
		t.Fatal(err)
	}
	session, err := client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(context.Background())
	within := mongo.NewSessionContext(t.Context(), session)
	snapshot, err := coll.Find(within, bson.M{}, one)
	if err != nil || !snapshot.Next(within) {
		t.Fatal(err)
	}
	if err := c.Collect(t.Context(), "/cantle"); err != nil {
		t.Fatal(err)
	}
	var gone mongo.ServerError
	for begun := time.Now(); err == nil && time.Since(begun) < 25*time.Second; {
		_, err = coll.CountDocuments(within, bson.M{"_id": bson.M{"$lt": 100}})
	}
	if !errors.As(err, &gone) || !gone.HasErrorCode(239) {
		t.Errorf("a new read of a state that is gone: %v", err)
	}
	for what, cursor := range map[string]*mongo.Cursor{"of a snapshot": snapshot, "without one": plain} {
		if cursor.Next(within) || !errors.As(cursor.Err(), &gone) || !gone.HasErrorCode(239) {
			t.Errorf("a cursor %s, of a state that is gone: %v", what, cursor.Err())
		}
	}
	if _, err := coll.InsertOne(t.Context(), bson.M{"_id": -1}); err != nil {
		t.Error(err)
	}
	if n, err := coll.CountDocuments(t.Context(), bson.M{}); n != documents+1 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
