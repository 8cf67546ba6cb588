package plan

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// endsAt is a context that counts the calls of Err and ends at the end-th (never if end is 0), so that a test can end a
// command at any check.
type endsAt struct {
	context.Context
	asked, end int
}

var errEnds = errors.New("the command is to end")

func (c *endsAt) Err() error {
	if c.asked++; c.end > 0 && c.asked >= c.end {
		return errEnds
	}
	return nil
}

// TestPlanningChecksInterrupts: parsing and planning a long filter often check whether the command must end, and stop
// within 8 more checks when it must. Twice the clauses allocate at most three times the memory.
func TestPlanningChecksInterrupts(t *testing.T) {
	for name, clause := range map[string]func(b *bson.Builder, i int){
		"$or":             func(b *bson.Builder, i int) { b.Int("a", int64(i)); b.Int("b", int64(i)) },
		"$nor":            func(b *bson.Builder, i int) { b.Int("a", int64(i)); b.Int("b", int64(i)) },
		"$or of one path": func(b *bson.Builder, i int) { b.Int("a", int64(i)) },
		"$and": func(b *bson.Builder, i int) {
			b.BeginDoc("a")
			b.Int("$gt", int64(i))
			b.End()
		},
	} {
		t.Run(name, func(t *testing.T) {
			const many = 4000
			whole := planLong(t, strings.Fields(name)[0], many, clause, 0)
			if whole.err != nil || whole.parsing < many/100 || (name == "$or" || name == "$and") && whole.planning < many/100 {
				t.Fatalf("%d questions of parsing and %d of planning for %d clauses, %v", whole.parsing, whole.planning, many, whole.err)
			}
			twice := planLong(t, strings.Fields(name)[0], 2*many, clause, 0)
			if twice.err != nil || twice.bytes > 3*whole.bytes {
				t.Errorf("%d bytes for %d clauses, %d for twice as many, %v", whole.bytes, many, twice.bytes, twice.err)
			}
			asked := whole.parsing + whole.planning
			for _, end := range []int{1, asked / 4, asked / 2, asked * 3 / 4, asked} {
				ended := planLong(t, strings.Fields(name)[0], many, clause, end)
				if !errors.Is(ended.err, errEnds) || ended.parsing+ended.planning > end+8 {
					t.Errorf("told to end at the question %d, it asked %d times: %v", end, ended.parsing+ended.planning, ended.err)
				}
			}
		})
	}
}

// planned holds the cost of planning: checks of the context, and bytes allocated.
type planned struct {
	parsing, planning int
	bytes             uint64
	err               error
}

// planLong plans {op: [clauses]} for a command that must end at a given check; 0 means never.
func planLong(t *testing.T, op string, many int, clause func(b *bson.Builder, i int), end int) planned {
	t.Helper()
	b := bson.NewBuilder(nil)
	b.BeginArray(op)
	for i := range many {
		b.BeginDoc("")
		clause(b, i)
		b.End()
	}
	b.End()
	ctx := &endsAt{Context: t.Context(), end: end}
	env := mql.NewEnv(ctx)
	m, err := shard.NewMap(shard.Unsharded, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	coll := &catalog.Collection{ID: 1, Map: m}
	for i, text := range []string{`{key: {a: 1}, name: "a"}`, `{key: {b: 1}, name: "b"}`} {
		d := bsontest.Doc(t, text)
		spec, err := index.ParseSpec(mql.NewEnv(t.Context()), d)
		if err != nil {
			t.Fatal(err)
		}
		coll.Indexes = append(coll.Indexes, &catalog.Index{Spec: spec, ID: keyspace.IndexID(i + 2), State: catalog.IndexReady})
	}
	filter := b.Doc()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	q, err := Canonical(env, coll, Find{Filter: filter})
	p := planned{parsing: ctx.asked}
	if err == nil {
		_, err = q.Candidates(env)
	}
	runtime.ReadMemStats(&after)
	p.planning, p.bytes, p.err = ctx.asked-p.parsing, after.TotalAlloc-before.TotalAlloc, err
	return p
}
