package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage"
)

// TestSampleIsFair draws many samples of 5 documents, by places in parts with bounds of different quality and by all keys, and
// compares how often each document was drawn with the expected number by a chi-squared test: of keys that are dense,
// random, in clusters, ObjectIds of bursts, in one partition and in three of different sizes, with deleted ones between. No sample
// has a document twice.
func TestSampleIsFair(t *testing.T) {
	const docs, size, runs = 150, 5, 400
	ids := map[string]func(r *rand.Rand, i int) string{
		"dense":    func(_ *rand.Rand, i int) string { return fmt.Sprint(i) },
		"random":   func(r *rand.Rand, _ int) string { return fmt.Sprintf("%q", fmt.Sprint(r.Uint64())) },
		"clusters": func(_ *rand.Rand, i int) string { return fmt.Sprint(math.Pow(10, float64(i/30)) + float64(i%30)/100) },
		"bursts":   func(_ *rand.Rand, i int) string { return fmt.Sprintf("ObjectId(\"%08x0102030405%06x\")", i*i/900, i) },
	}
	for name, id := range ids {
		for _, shards := range []int{1, 3} {
			for _, divided := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %d %v", name, shards, divided), func(t *testing.T) {
					r := rand.New(rand.NewPCG(11, uint64(shards)))
					key := ""
					if shards > 1 {
						key = `{_id: "hashed"}`
					}
					w := newWorld(t, key, shards)
					for i := range docs {
						w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %s, n: %d}", id(r, i), i)))
					}
					drawn := make([]int, docs)
					for range runs {
						w.sample(r, size, divided, drawn)
					}
					want := float64(runs*size) / docs
					chi := 0.
					for _, n := range drawn {
						chi += (float64(n) - want) * (float64(n) - want) / want
					}
					// The mean is the degrees of freedom, docs - 1, the variance twice as much.
					if most := docs - 1 + 4*math.Sqrt(2*(docs-1)); chi > most {
						t.Errorf("the sum of squares is %.0f, at most %.0f is expected: %v", chi, most, drawn)
					}
				})
			}
		}
	}
}

// sample draws one sample, and counts the documents by their field n.
func (w *world) sample(r *rand.Rand, size int64, divided bool, drawn []int) {
	w.t.Helper()
	reader, err := w.store.Snapshot(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Close()
	node := &plan.Sample{Size: size}
	src := exec.Source{Coll: w.coll, Reader: reader}
	var parts []*exec.SampleShard
	var divide func(storage.Range) ([]storage.Part, error)
	if divided {
		divide = func(of storage.Range) ([]storage.Part, error) { return divideFor(w.t, r, reader, of), nil }
	}
	for _, d := range w.coll.Map.Shards() {
		src.Shard = d
		p, err := exec.NewSampleShard(node, src, divide)
		if err != nil {
			w.t.Fatal(err)
		}
		parts = append(parts, p)
	}
	op := exec.NewSample(node, src, parts, r.Float64)
	defer op.Close()
	seen := map[int64]bool{}
	for {
		row, err := op.Next(w.env)
		if err != nil {
			w.t.Fatal(err)
		}
		if row == nil {
			break
		}
		n, _ := bson.Raw(row.Doc).Get("n").Int64()
		if seen[n] {
			w.t.Fatalf("%d was drawn twice", n)
		}
		seen[n] = true
		drawn[n]++
	}
	if int64(len(seen)) != size {
		w.t.Fatalf("%d documents instead of %d", len(seen), size)
	}
}

// divideFor divides a range at random keys, with bounds that are between the numbers of keys and four times as high.
func divideFor(t testing.TB, r *rand.Rand, reader storage.Reader, of storage.Range) (parts []storage.Part) {
	it, err := reader.Iter(t.Context(), of, storage.IterOptions{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	part := storage.Part{Range: storage.Range{Start: of.Start}}
	end := func(key []byte) {
		part.End = append([]byte{}, key...)
		part.Keys += r.Uint64N(3*part.Keys + 2)
		parts = append(parts, part)
		part = storage.Part{Range: storage.Range{Start: part.End}}
	}
	for it.Next() {
		if r.IntN(9) == 0 {
			end(it.Key())
		}
		part.Keys++
	}
	end(of.End)
	return parts
}
