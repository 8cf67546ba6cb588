package agg

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// TestPostings compares what postings find with a map, in memory and in several runs and pages of a file; some values
// have more documents than a page holds.
func TestPostings(t *testing.T) {
	for _, limit := range []int64{mql.StageBytesMax, 100_000, 10_000} {
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		env := mql.NewEnv(context.Background())
		env.Memory = mql.NewMemory(limit)
		env.Memory.Spill, env.Memory.SpillDir = true, t.TempDir()
		p, want := newPostings(), map[uint64][]int{}
		hash := func(k uint64) valueHash { return p.hash(binary.BigEndian.AppendUint64(nil, k)) }
		var counts exec.Tracked
		for doc := range 20_000 {
			for range r.IntN(3) {
				k := r.Uint64N(3000)
				if r.IntN(4) == 0 {
					k = r.Uint64N(3)
				}
				if !p.add(env, hash(k), doc) {
					if err := p.spill(env, "$lookup", &counts); err != nil {
						t.Fatal(err)
					}
				}
				if l := want[k]; len(l) == 0 || l[len(l)-1] != doc {
					want[k] = append(l, doc)
				}
			}
		}
		if err := p.seal(env, "$lookup", &counts); err != nil {
			t.Fatal(err)
		}
		if spilled := limit < mql.StageBytesMax; (p.file != nil) != spilled || (counts.Spilled.Spills > 1) != spilled {
			t.Errorf("limit %d: in a file: %t, after %d spills", limit, p.file != nil, counts.Spilled.Spills)
		}
		for k := range uint64(3100) {
			got, err := p.find(hash(k), nil)
			if err != nil || !slices.Equal(got, want[k]) {
				t.Fatalf("limit %d, value %d: %d documents, %v, want %d", limit, k, len(got), err, len(want[k]))
			}
		}
		if p.close(env); env.Memory.Used() != 0 {
			t.Errorf("limit %d: %d bytes stay counted", limit, env.Memory.Used())
		}
	}
}

// TestTableIsWritten checks that a spilled table is in its file, whole, once it is sealed: were a part of it written by
// the first read, a disk that is full by then would end the command.
func TestTableIsWritten(t *testing.T) {
	env := mql.NewEnv(context.Background())
	env.Memory = mql.NewMemory(10_000)
	env.Memory.Spill, env.Memory.SpillDir = true, t.TempDir()
	side, err := newForeignSide(env, path.Must("f"), true)
	if err != nil {
		t.Fatal(err)
	}
	table := newLookupTable("$lookup", true)
	defer table.drop(env)
	var s expr.Scratch
	for i := range int32(1000) {
		b := bson.NewBuilder(nil)
		b.Int32("f", i)
		if fits, err := table.add(env, b.Doc(), &side, &s); !fits || err != nil {
			t.Fatal(fits, err)
		}
	}
	if err := table.seal(env); err != nil {
		t.Fatal(err)
	}
	info, err := table.docs.file.Stat()
	if err != nil || info.Size() != table.docs.end() {
		t.Errorf("%d bytes are in the file, %v, want %d", info.Size(), err, table.docs.end())
	}
}
