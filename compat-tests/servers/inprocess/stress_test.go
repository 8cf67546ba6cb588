package inprocess

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// stress runs definitions and writes at several servers, on few names, for some time.
type stress struct {
	t        *testing.T
	g        []*gateway
	done     atomic.Int64 // definitions that succeeded
	refused  atomic.Int64 // definitions that failed
	inserted atomic.Int64
}

var stressNames = []string{"a", "b", "c"}

// define runs one random definition on a collection.
func (s *stress) define(ctx context.Context, g *gateway, r *rand.Rand) error {
	name, other := stressNames[r.IntN(len(stressNames))], stressNames[r.IntN(len(stressNames))]
	coll := g.coll(name)
	switch r.IntN(8) {
	case 0:
		return g.Database("test").CreateCollection(ctx, name)
	case 1:
		return coll.Drop(ctx)
	case 2:
		return g.Database("admin").RunCommand(ctx, bson.D{{Key: "renameCollection", Value: "test." + name}, {Key: "to", Value: "test." + other}, {Key: "dropTarget", Value: r.IntN(2) == 0}}).Err()
	case 3, 4:
		_, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: fmt.Sprintf("f%d", r.IntN(3)), Value: 1}}})
		return err
	case 5:
		return coll.Indexes().DropOne(ctx, fmt.Sprintf("f%d_1", r.IntN(3)))
	case 6:
		return g.Database("test").RunCommand(ctx, bson.D{{Key: "collMod", Value: name}, {Key: "validationLevel", Value: "moderate"}}).Err()
	default:
		return g.Database("admin").RunCommand(ctx, bson.D{{Key: "shardCollection", Value: "test." + name}, {Key: "key", Value: bson.M{"_id": "hashed"}}}).Err()
	}
}

// run defines and writes at every server until ctx ends.
func (s *stress) run(ctx context.Context) {
	var wg sync.WaitGroup
	for i, g := range s.g {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				err := s.define(context.WithoutCancel(ctx), g, r)
				var said mongo.ServerError
				switch {
				case err == nil:
					s.done.Add(1)
				case errors.As(err, &said) && !said.HasErrorCode(1):
					s.refused.Add(1)
				default:
					s.t.Errorf("a definition at %d: %v", i, err)
				}
			}
		})
		wg.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			for n := 0; ctx.Err() == nil; n++ {
				coll := g.coll(stressNames[r.IntN(len(stressNames))])
				_, err := coll.InsertOne(context.WithoutCancel(ctx), bson.M{"_id": fmt.Sprintf("%d-%d", i, n), "f0": n % 7, "f1": bson.A{n % 3, n % 5}, "f2": n})
				var said mongo.ServerError
				if err == nil {
					s.inserted.Add(1)
				} else if !errors.As(err, &said) || said.HasErrorCode(1) {
					s.t.Errorf("an insert at %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

// verify compares the servers' views after all load has ended.
func (s *stress) verify() {
	t := s.t
	t.Helper()
	var first string
	for i, g := range s.g {
		specs, err := g.Database("test").ListCollectionSpecifications(t.Context(), bson.M{})
		bsontest.Must(t, err)
		seen, all := map[string]bool{}, map[string]string{}
		for _, spec := range specs {
			if seen[spec.Name] {
				t.Errorf("%d has two collections of the name %s", i, spec.Name)
			}
			seen[spec.Name] = true
			all[spec.Name] = fmt.Sprintf("%x %s", spec.UUID.Data, s.contents(g, spec.Name))
		}
		if got := fmt.Sprint(all); i == 0 {
			first = got
		} else if got != first {
			t.Errorf("gateway %d has\n%s\nand the first one\n%s", i, got, first)
		}
		for name := range seen { // a write at one server is now visible at the others
			id := fmt.Sprintf("last-%d", i)
			insert(t, g.coll(name), bson.M{"_id": id})
			for j := range s.g {
				want(t, "what was written at the end", len(ids(t, s.g[j].coll(name), bson.M{"_id": id})), 1)
			}
			_, err := g.coll(name).DeleteOne(t.Context(), bson.M{"_id": id})
			bsontest.Must(t, err)
		}
	}
}

// contents returns, as text, the number of documents of a collection, by a scan, and its indexes. Each index
// but _id and hashed ones must find the same documents, and validate nothing wrong.
func (s *stress) contents(g *gateway, name string) string {
	t, coll := s.t, g.coll(name)
	t.Helper()
	scan := ids(t, coll, bson.M{}, options.Find().SetHint(bson.M{"$natural": 1}))
	specs, err := coll.Indexes().ListSpecifications(t.Context())
	bsontest.Must(t, err)
	var names []string
	for _, spec := range specs {
		names = append(names, spec.Name)
		if spec.Name == "_id_" || spec.Name == "_id_hashed" {
			continue
		}
		by := ids(t, coll, bson.M{spec.Name[:2]: bson.M{"$gte": -1}}, options.Find().SetHint(spec.Name))
		want(t, fmt.Sprintf("documents of %s by %s", name, spec.Name), by, scan)
	}
	r := g.Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: name}})
	raw, err := r.Raw()
	bsontest.Must(t, err)
	if !raw.Lookup("valid").Boolean() {
		t.Errorf("validate of %s: %s", name, raw)
	}
	return fmt.Sprint(len(scan), names)
}

// enough reports whether so much was done that the comparison at the end is worth something.
func (s *stress) enough() bool { return s.done.Load() >= 20 && s.inserted.Load() >= 20 }

// TestStress runs definitions and writes at two and three servers on few names: in the end there is one
// collection of a name, the same for all, and every index has every document.
func TestStress(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := &stress{t: t, g: several(t, n)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			time.AfterFunc(4*time.Second, func() {
				for ctx.Err() == nil && !s.enough() { // on a slow machine
					time.Sleep(50 * time.Millisecond)
				}
				cancel()
			})
			s.run(ctx)
			s.verify()
			t.Logf("%d definitions, %d refused, %d inserts", s.done.Load(), s.refused.Load(), s.inserted.Load())
			if !s.enough() {
				t.Error("hardly anything was done")
			}
		})
	}
}
