package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// computed runs a pipeline that computes the expression value over a text, which is sent with the request and not
// stored.
func computed(ctx context.Context, db *mongo.Database, text string, value any) error {
	cur, err := db.Aggregate(ctx, bson.A{
		bson.D{{Key: "$documents", Value: bson.A{bson.D{{Key: "s", Value: text}}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$size", Value: value}}}}}},
	})
	if err == nil {
		err = cur.Close(ctx)
	}
	return err
}

// variables returns an expression that holds n results of value in memory at the same time.
func variables(n int, value any) bson.D {
	vars := bson.D{}
	for i := range n {
		vars = append(vars, bson.E{Key: fmt.Sprint("v", i), Value: value})
	}
	return bson.D{{Key: "$let", Value: bson.D{{Key: "vars", Value: vars}, {Key: "in", Value: "$$v0"}}}}
}

// limit is the memory limit of the server's process in bytes; a quarter of it is working memory.
const limit = 256 << 20

func limited(t *testing.T) (*harness.Server, *mongo.Database) {
	t.Helper()
	s := harness.Start(t, harness.Options{Data: t.TempDir(), Env: []string{"GOMEMLIMIT=256MiB"}})
	return s, s.Client(t).Database("memory")
}

// within fails the test if the server's peak memory exceeded its limit by more than a half, an allowance for
// memory outside of Go's heap.
func within(ctx context.Context, t *testing.T, s *harness.Server, db *mongo.Database) {
	t.Helper()
	peak, ok := s.PeakBytes()
	t.Logf("at most %d MB; queries: %+v", peak>>20, workOf(ctx, t, db)["queries"])
	if ok && peak > limit+limit/2 {
		t.Errorf("expressions: %d MB were held, with a limit of %d", peak>>20, limit>>20)
	}
	waitReleased(ctx, t, db, "queries")
}

// judged reports whether a command was refused for lack of memory, and checks that the error then names
// --work-memory.
func judged(t *testing.T, err error) (refused bool) {
	t.Helper()
	var e mongo.CommandError
	if err == nil {
		return false
	}
	if !errors.As(err, &e) || e.Code != 146 || !strings.Contains(e.Message, "--work-memory") {
		t.Error(err)
	}
	return true
}

// TestExpressionsOfOneRequest checks that the server counts the sum of all values that one request holds in memory
// at once, and refuses the request if that is too large. A user without privileges can send such a request,
// because the text need not be stored.
func TestExpressionsOfOneRequest(t *testing.T) {
	ctx := context.Background()
	s, db := limited(t)
	text := strings.Repeat("y", 200<<10) // its parts are three megabytes
	for name, value := range map[string]any{
		"$split":        bson.D{{Key: "$split", Value: bson.A{"$s", "y"}}},
		"$regexFindAll": bson.D{{Key: "$regexFindAll", Value: bson.D{{Key: "input", Value: "$s"}, {Key: "regex", Value: "yyyy"}}}},
		"$range":        bson.D{{Key: "$range", Value: bson.A{0, 200_000}}},
	} {
		if err := computed(ctx, db, text, variables(2, value)); err != nil {
			t.Errorf("two of %s: %v", name, err)
		}
		if !judged(t, computed(ctx, db, text, variables(40, value))) {
			t.Errorf("forty of %s were not refused", name)
		}
	}
	within(ctx, t, s, db)
}

// TestExpressionsShareMemory checks that requests of many connections share the working memory: each large request
// succeeds or is refused for lack of memory, and small ones continue.
func TestExpressionsShareMemory(t *testing.T) {
	ctx := context.Background()
	s, db := limited(t)
	text := strings.Repeat("y", 64<<10) // its matches are four megabytes
	found := variables(7, bson.D{{Key: "$regexFindAll", Value: bson.D{{Key: "input", Value: "$s"}, {Key: "regex", Value: "y"}}}})
	var refused atomic.Int64
	each(20, func(int) {
		for range 4 {
			if judged(t, computed(ctx, db, text, found)) {
				refused.Add(1)
			}
			if err := computed(ctx, db, "a b c", bson.D{{Key: "$split", Value: bson.A{"$s", " "}}}); err != nil {
				t.Errorf("a small one meanwhile: %v", err)
			}
		}
	})
	t.Logf("%d of 80 were refused", refused.Load())
	within(ctx, t, s, db)
}

// TestStagesOfOneRequest checks that the server counts the sum of the documents that all stages of a request hold
// in memory.
func TestStagesOfOneRequest(t *testing.T) {
	ctx := context.Background()
	s, db := limited(t)
	parts := func(stages int) error {
		p := bson.A{
			bson.D{{Key: "$documents", Value: bson.A{bson.D{{Key: "s", Value: strings.Repeat("y", 100<<10)}}}}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "s", Value: bson.D{{Key: "$split", Value: bson.A{"$s", "y"}}}}}}},
		}
		for i := range stages {
			p = append(p, bson.D{{Key: "$set", Value: bson.D{{Key: fmt.Sprint("n", i), Value: bson.D{{Key: "$add", Value: bson.A{i, "$n"}}}}}}})
		}
		cur, err := db.Aggregate(ctx, append(p, bson.D{{Key: "$count", Value: "n"}}))
		if err == nil {
			err = cur.Close(ctx)
		}
		return err
	}
	if err := parts(2); err != nil {
		t.Errorf("two stages: %v", err)
	}
	if !judged(t, parts(200)) {
		t.Error("two hundred stages were not refused")
	}
	within(ctx, t, s, db)
}

// TestLookupsReleaseMemory checks that the pipeline of a $lookup, which runs once for each document, frees its
// memory after each run.
func TestLookupsReleaseMemory(t *testing.T) {
	ctx := context.Background()
	_, db := start(t)
	c := db.Collection("c")
	fill(ctx, t, c, documents)
	cur, err := c.Aggregate(ctx, bson.A{bson.D{{Key: "$lookup", Value: bson.D{
		{Key: "from", Value: "c"}, {Key: "let", Value: bson.D{{Key: "id", Value: "$_id"}}}, {Key: "as", Value: "found"},
		{Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{{Key: "$expr", Value: bson.D{{Key: "$eq", Value: bson.A{"$_id", "$$id"}}}}}}},
			bson.D{{Key: "$project", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$range", Value: bson.A{"$_id", 5000}}}}}}},
			bson.D{{Key: "$limit", Value: 1}},
			bson.D{{Key: "$project", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$size", Value: "$n"}}}}}},
		}},
	}}}, bson.D{{Key: "$count", Value: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cur.Close(ctx); err != nil {
		t.Error(err)
	}
	waitReleased(ctx, t, db, "queries")
}
