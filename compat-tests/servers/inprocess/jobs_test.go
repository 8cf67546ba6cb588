package inprocess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/internal/testenv"
)

// eventually waits until ok returns done. If it never does, the test fails with the value seen last.
func eventually(t *testing.T, what string, ok func() (seen any, done bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		seen, done := ok()
		if done {
			return
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, seen)
		}
	}
}

// on returns the servers that own a duty.
func on(g []*gateway, name string) (list []int) {
	for i := range g {
		if !g[i].ended && g[i].d.Jobs().Owners.Owns(name) {
			list = append(list, i)
		}
	}
	return list
}

// TestDuties checks that each of four background jobs runs on one server, and on one of the others while the owner of
// one of the jobs is cut off; that this server owns none of them when it is back; and that a job moves when its server
// stops.
func TestDuties(t *testing.T) {
	g := several(t, 3)
	names := []string{"counts", "delete", "resume", "balance"}
	owners := map[string]int{}
	for _, name := range names {
		eventually(t, "who does "+name, func() (any, bool) {
			list := on(g, name)
			if len(list) == 1 {
				owners[name] = list[0]
			}
			return list, len(list) == 1
		})
	}
	asleep := owners["counts"]
	g[asleep].away.Store(true)
	others := append(append([]*gateway{}, g[:asleep]...), g[asleep+1:]...)
	for _, name := range names {
		eventually(t, "who does "+name+" after one is gone", func() (any, bool) { list := on(others, name); return list, len(list) == 1 })
	}
	g[asleep].away.Store(false)
	eventually(t, "what the one that comes back does", func() (any, bool) {
		had := 0
		for _, name := range names {
			if g[asleep].d.Jobs().Owners.Owns(name) {
				had++
			}
		}
		return had, had == 0
	})
	stopped := on(others, "counts")[0]
	others[stopped].stop()
	begun := time.Now()
	rest := []*gateway{others[1-stopped], g[asleep]}
	eventually(t, "who does it after a clean stop", func() (any, bool) { list := on(rest, "counts"); return list, len(list) == 1 })
	t.Logf("taken over %v after a clean stop", time.Since(begun))
}

// TestExpireOnce checks that documents expire once: each deletion is in the change log once, whichever server
// ran the job.
func TestExpireOnce(t *testing.T) {
	g := several(t, 3)
	_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"at": 1}, Options: options.Index().SetExpireAfterSeconds(1)})
	bsontest.Must(t, err)
	s, err := g[1].coll("x").Watch(t.Context(), mongo.Pipeline{})
	bsontest.Must(t, err)
	defer s.Close(t.Context())
	for i := range 30 {
		insert(t, g[i%3].coll("x"), bson.M{"_id": i, "at": time.Now().Add(-time.Hour)})
	}
	for i := range g {
		g[i].admin(t, bson.D{{Key: "setParameter", Value: 1}, {Key: "ttlMonitorSleepSecs", Value: 1}})
	}
	deleted := map[string]int{}
	for len(deleted) < 30 && s.Next(t.Context()) {
		if s.Current.Lookup("operationType").StringValue() == "delete" {
			deleted[s.Current.Lookup("documentKey").String()]++
		}
	}
	for key, n := range deleted {
		want(t, "deletions of "+key, n, 1)
	}
	want(t, "gateways that expire", len(on(g, "expire")), 1)
}

// TestStructure checks that writes at three servers, while two of them split and reshard the collection, are
// all there and in every index, also if the lease of the third expires now and then.
func TestStructure(t *testing.T) {
	rounds := 1
	if testenv.IsLong() {
		rounds = 4
	}
	t.Run("quiet", func(t *testing.T) { structure(t, 2*rounds, false) })
	t.Run("lapses", func(t *testing.T) { structure(t, rounds, true) })
}

func structure(t *testing.T, rounds int, lapses bool) {
	g := several(t, 3)
	done := accountOf(g)
	run := func(at int, cmd bson.D) {
		eventually(t, "a change of the structure", func() (any, bool) {
			err := g[at].Database("admin").RunCommand(t.Context(), cmd).Err()
			var said mongo.ServerError
			again := errors.As(err, &said) && said.HasErrorLabel("RetryableWriteError") || err != nil && strings.Contains(err.Error(), "NetworkTimeout")
			if err != nil && !again {
				t.Fatal(err)
			}
			return err, err == nil
		})
		done.step("gateway %d: %s has ended", at, cmd[0].Key)
	}
	run(0, bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}})
	_, err := g[1].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"n": 1}})
	bsontest.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for i := range g {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				done.write(context.WithoutCancel(ctx), i, n)
			}
		})
	}
	if lapses {
		go func() {
			every := time.NewTicker(lease + lease/2)
			defer every.Stop()
			for away := true; ; away = !away {
				g[2].away.Store(away)
				select {
				case <-every.C:
				case <-ctx.Done():
					g[2].away.Store(false)
					return
				}
			}
		}()
	}
	for round := range rounds {
		run(round%2, bson.D{{Key: "split", Value: "test.x"}, {Key: "find", Value: bson.M{"_id": fmt.Sprint(round), "k": 3 + 3*(round%4)}}})
		key := bson.M{"k": 1}
		if round%2 == 1 {
			key = bson.M{"_id": "hashed"}
		}
		run((round+1)%2, bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 2}})
	}
	stop()
	writers.Wait()
	have := 0
	for i := range g {
		var scan []any
		eventually(t, "a look at all", func() (any, bool) {
			err := g[i].coll("x").FindOne(t.Context(), bson.M{}).Err()
			return err, err == nil
		})
		scan = ids(t, g[i].coll("x"), bson.M{}, options.Find().SetHint(bson.M{"$natural": 1}))
		missing := done.missing(scan)
		want(t, "acknowledged documents that are not there", len(missing), 0)
		done.logMissing(t, missing)
		cur, err := g[i].coll("x").Find(t.Context(), bson.M{})
		bsontest.Must(t, err)
		var docs []bson.M
		bsontest.Must(t, cur.All(t.Context(), &docs))
		if wrong := done.wrong(docs); len(wrong) > 0 {
			t.Errorf("what is not as it was left: %v", wrong)
		}
		by := ids(t, g[i].coll("x"), bson.M{"n": bson.M{"$gte": 0}}, options.Find().SetHint(bson.M{"n": 1}))
		want(t, "documents by the index", by, scan)
		doc, err := g[i].Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: "x"}}).Raw()
		bsontest.Must(t, err)
		want(t, "valid", doc.Lookup("valid").Boolean(), true)
		have = len(scan)
	}
	t.Logf("%d documents acknowledged, %d there, %d deleted", len(done.wrote), have, len(done.gone))
	eventually(t, "counts of all", func() (any, bool) {
		var seen []int64
		for i := range g {
			r, err := g[i].Database("test").RunCommand(t.Context(), bson.D{{Key: "collStats", Value: "x"}}).Raw()
			bsontest.Must(t, err)
			seen = append(seen, r.Lookup("count").AsInt64())
		}
		return seen, fmt.Sprint(seen) == fmt.Sprint([]int{have, have, have})
	})
}

// stopAt makes the first job of a server that reaches a step wait there until the caller closes goOn; reached is closed
// when the job is there.
func (g *gateway) stopAt(t *testing.T, step string) (reached, goOn chan struct{}) {
	reached, goOn = make(chan struct{}), make(chan struct{})
	done := false
	g.d.Jobs().OnStep(func(at string) {
		if at == step && !done {
			done = true
			close(reached)
			<-goOn
		}
	})
	return reached, goOn
}

// settled reports whether a server sees no split in progress.
func (g *gateway) settled(name string) bool {
	for _, d := range g.entry(name).Map.Shards() {
		if !d.Settled() {
			return false
		}
	}
	return true
}

// fill inserts documents.
func fill(t *testing.T, g *gateway, n int) {
	t.Helper()
	var docs []any
	for i := range n {
		docs = append(docs, bson.M{"_id": i, "k": i % 7, "n": i})
	}
	_, err := g.coll("x").InsertMany(t.Context(), docs)
	bsontest.Must(t, err)
}

// TestTakeover checks that a reshard and a split whose server is cut off come to an end: the collection is the old
// one or the new one, writers continue after the lease has expired, and late writes of that server change nothing.
func TestTakeover(t *testing.T) {
	for _, step := range []string{"blocked", "prepared"} {
		t.Run(step, func(t *testing.T) {
			g := several(t, 2)
			bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}}).Err())
			_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"n": 1}})
			bsontest.Must(t, err)
			fill(t, g[0], 600)
			reached, goOn := g[0].stopAt(t, step)
			ended := make(chan error, 1)
			go func() {
				cmd := bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"k": 1}}, {Key: "numInitialChunks", Value: 2}}
				if step == "prepared" {
					cmd = bson.D{{Key: "split", Value: "test.x"}, {Key: "find", Value: bson.M{"_id": 1}}}
				}
				ended <- g[0].Database("admin").RunCommand(context.WithoutCancel(t.Context()), cmd).Err()
			}()
			<-reached
			begun := time.Now()
			g[0].away.Store(true)
			for i := range 50 {
				insert(t, g[1].coll("x"), bson.M{"_id": 1000 + i, "k": i % 7, "n": i})
			}
			t.Logf("writes after %v", time.Since(begun))
			if step == "prepared" {
				eventually(t, "the split is ended by the other", func() (any, bool) {
					return nil, g[1].settled("x")
				})
			} else { // another reshard is possible at once
				eventually(t, "another reshard", func() (any, bool) {
					err := g[1].Database("admin").RunCommand(t.Context(), bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"n": 1}}, {Key: "numInitialChunks", Value: 1}}).Err()
					return err, err == nil
				})
			}
			t.Logf("taken over after %v", time.Since(begun))
			g[0].away.Store(false)
			close(goOn)
			if err := <-ended; err == nil {
				t.Error("the job of a gateway that was gone succeeds")
			}
			t.Logf("ended after %v", time.Since(begun))
			insert(t, g[1].coll("x"), bson.M{"_id": 2000, "k": 1, "n": 0})
			eventually(t, "documents at both", func() (any, bool) {
				var seen []int
				for i := range g {
					cur, err := g[i].coll("x").Find(t.Context(), bson.M{"n": bson.M{"$gte": 0}}, options.Find().SetHint(bson.M{"n": 1}))
					if err != nil {
						return err, false
					}
					var docs []bson.Raw
					if err := cur.All(t.Context(), &docs); err != nil {
						return err, false
					}
					seen = append(seen, len(docs))
				}
				return seen, fmt.Sprint(seen) == "[651 651]"
			})
			t.Logf("same at both after %v", time.Since(begun))
			raw, err := g[1].Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: "x"}}).Raw()
			bsontest.Must(t, err)
			if !raw.Lookup("valid").Boolean() {
				t.Errorf("validate: %s", raw)
			}
		})
	}
}

// TestLeftFrozen checks that a split at one server, and then an insert at the other, succeed in a collection that is
// still frozen, as a job leaves it if its server has lost the lease. The split must first unfreeze the collection,
// because the split writes as well.
func TestLeftFrozen(t *testing.T) {
	g := several(t, 2)
	bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}}).Err())
	_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"n": 1}})
	bsontest.Must(t, err)
	fill(t, g[0], 100)
	bsontest.Must(t, g[0].d.Jobs().Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(collection.Namespace{DB: "test", Coll: "x"})
		return m.Put(coll.With(func(d *catalog.Collection) { d.Frozen = true }))
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bsontest.Must(t, g[1].Database("admin").RunCommand(ctx, bson.D{{Key: "split", Value: "test.x"}, {Key: "find", Value: bson.M{"_id": 1}}}).Err())
	insert(t, g[0].coll("x"), bson.M{"_id": 1000, "k": 1, "n": 1})
}

// TestAbortElsewhere checks that a reshard is visible and can be aborted at another server.
func TestAbortElsewhere(t *testing.T) {
	g := several(t, 2)
	bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}}).Err())
	fill(t, g[0], 300)
	abort := bson.D{{Key: "abortReshardCollection", Value: "test.x"}}
	if err := g[1].Database("admin").RunCommand(t.Context(), abort).Err(); err == nil || !strings.Contains(err.Error(), "NoSuchReshardCollection") {
		t.Errorf("nothing to abort: %v", err)
	}
	reached, goOn := g[0].stopAt(t, "copied")
	ended := make(chan error, 1)
	go func() {
		ended <- g[0].Database("admin").RunCommand(context.WithoutCancel(t.Context()), bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"k": 1}}}).Err()
	}()
	<-reached
	eventually(t, "currentOp at the other", func() (any, bool) {
		raw, err := g[1].Database("admin").RunCommand(t.Context(), bson.D{{Key: "currentOp", Value: 1}}).Raw()
		bsontest.Must(t, err)
		return raw, strings.Contains(raw.String(), "Reshard Collection")
	})
	aborted := make(chan error, 1)
	go func() { aborted <- g[1].Database("admin").RunCommand(context.WithoutCancel(t.Context()), abort).Err() }()
	goOnOnce := time.AfterFunc(time.Second, func() { close(goOn) })
	defer goOnOnce.Stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "ReshardCollectionAborted") {
		t.Errorf("the reshard: %v", err)
	}
	bsontest.Must(t, <-aborted)
	for i := range g {
		insert(t, g[i].coll("x"), bson.M{"_id": 1000 + i, "k": 1})
	}
	want(t, "documents", len(ids(t, g[0].coll("x"), bson.M{})), 302)
}

// TestOneAtATime checks that nine concurrent index builds on one collection, at three servers, all succeed: its
// structure changes by one command at a time.
func TestOneAtATime(t *testing.T) {
	g := several(t, 3)
	fill(t, g[0], 200)
	done := make(chan error, 9)
	for n := range 9 {
		go func() {
			_, err := g[n%3].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{fmt.Sprintf("f%d", n): 1}})
			done <- err
		}()
	}
	for range 9 {
		bsontest.Must(t, <-done)
	}
	for i := range g {
		specs, err := g[i].coll("x").Indexes().ListSpecifications(t.Context())
		bsontest.Must(t, err)
		want(t, "indexes", len(specs), 10)
	}
}
