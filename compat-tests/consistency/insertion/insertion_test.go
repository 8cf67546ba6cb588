package insertion

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// steps is the number of writes of each run.
const steps = 150

// TestOrder compares the order of reads with the model, on each engine.
func TestOrder(t *testing.T) {
	testenv.SkipWithURI(t)
	for _, c := range []struct {
		name    string
		options harness.Options
		kill    bool
	}{
		{"memory", harness.Options{}, false},
		{"files", harness.Options{Data: t.TempDir()}, true},
		{"servers", harness.Options{Servers: 2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := random(t)
			s, err := harness.Launch(c.options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { stop(t, s) })
			ctx := t.Context()
			m := newModel(t, r, s.Client(t).Database("test").Collection("c"))
			for i := range steps {
				m.step(ctx)
				if c.kill && i%50 == 49 {
					s.Kill()
					if s, err = harness.Launch(c.options); err != nil {
						t.Fatal(err)
					}
					m.coll = s.Client(t).Database("test").Collection("c")
					m.note("kill")
					m.all(ctx)
				}
			}
			m.all(ctx)
			m.valid(ctx, m.coll)
			m.copied(ctx)
		})
	}
}

func stop(t *testing.T, s *harness.Server) {
	if err := s.Stop(); err != nil {
		t.Errorf("%v\n%s", err, s.Log())
	}
}

func random(t *testing.T) *rand.Rand {
	seed, ok := testenv.Seed(t)
	if !ok {
		seed = rand.Uint64N(1 << 31)
	}
	t.Logf("CANTLE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// step makes writes and reads.
func (m *model) step(ctx context.Context) {
	switch m.r.IntN(12) {
	case 0:
		m.transaction(ctx)
	case 1:
		m.during(ctx)
	default:
		m.write(ctx)
	}
	m.check(ctx)
}

// all reads everything in both directions.
func (m *model) all(ctx context.Context) {
	m.t.Helper()
	for i, by := range natural {
		c, err := m.coll.Find(ctx, bson.D{}, options.Find().SetSort(by).SetBatchSize(7))
		m.ok(err)
		m.same(fmt.Sprint("all by ", by), m.rows(ctx, c), m.expected(i == 1, nil))
	}
}

// TestWriters has several writers at once. The order of their documents among each other is not defined, but each
// writer's documents are in the order in which it has inserted them, every document comes once, and both directions
// agree.
func TestWriters(t *testing.T) {
	coll := harness.Start(t, harness.Options{}).Client(t).Database("insertion").Collection("writers")
	ctx, seed := t.Context(), random(t).Uint64()
	const writers, inserts = 6, 60
	want := make([][]string, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			r, live := rand.New(rand.NewPCG(seed, uint64(w))), []string{}
			for i := range inserts {
				id := fmt.Sprintf("%04x-%d-%d", r.IntN(1<<16), w, i)
				if _, err := coll.InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "w", Value: w}}); err != nil {
					t.Error(err)
				}
				if live = append(live, id); i%4 == 3 {
					at := r.IntN(len(live))
					if _, err := coll.DeleteOne(ctx, bson.D{{Key: "_id", Value: live[at]}}); err != nil {
						t.Error(err)
					}
					live = slices.Delete(live, at, at+1)
				}
			}
			want[w] = live
		})
	}
	all.Wait()
	got := read(ctx, t, coll, natural[0])
	back := read(ctx, t, coll, natural[1])
	slices.Reverse(back)
	if !slices.Equal(got, back) {
		t.Errorf("forwards %v\nbackwards %v", got, back)
	}
	for w := range writers {
		own := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return id[5:7] != fmt.Sprintf("%d-", w) })
		if !slices.Equal(own, want[w]) {
			t.Errorf("writer %d:\n got %v\nwant %v", w, own, want[w])
		}
	}
	(&model{t: t}).valid(ctx, coll)
}

// read returns the texts by which the documents of a collection are identified.
func read(ctx context.Context, t *testing.T, coll *mongo.Collection, by bson.D) (out []string) {
	t.Helper()
	c, err := coll.Find(ctx, bson.D{}, options.Find().SetSort(by).SetBatchSize(20))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID string `bson:"_id"`
	}
	if err := c.All(ctx, &list); err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		out = append(out, d.ID)
	}
	return out
}
