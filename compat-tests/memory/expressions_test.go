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

	"github.com/cantledb/cantle/compat-tests/harness"
)

// computed asks for a value made of a text that nobody has stored.
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

// variables has many values of one expression live at once.
func variables(n int, value any) bson.D {
	vars := bson.D{}
	for i := range n {
		vars = append(vars, bson.E{Key: fmt.Sprint("v", i), Value: value})
	}
	return bson.D{{Key: "$let", Value: bson.D{{Key: "vars", Value: vars}, {Key: "in", Value: "$$v0"}}}}
}

// within fails a test whose server held more than its working memory, twice for what the
// collector has not swept yet, and a constant.
func within(ctx context.Context, t *testing.T, s *harness.Server, db *mongo.Database, before int64) {
	t.Helper()
	const constant = 64 << 20
	work := workOf(ctx, t, db)["queries"]
	after, ok := s.PeakBytes()
	t.Logf("%d MB were held at most, %d MB more than before; queries: %+v", after>>20, (after-before)>>20, work)
	if ok && after-before > 2*work.MaxBytes+constant {
		t.Errorf("expressions: %d MB were held, beside %d MB for all queries", (after-before)>>20, work.MaxBytes>>20)
	}
	givenBack(ctx, t, db, "queries")
}

// judged is whether a command was refused for want of memory, by an error that says what to do.
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

// One request whose values live at once holds their sum, and is refused for it: of a user with
// no rights at all, as the text need not be stored.
func TestExpressionsOfOneRequest(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	before, _ := s.PeakBytes()
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
	within(ctx, t, s, db, before)
}

// The requests of many connections share the memory: those that find none are refused, and
// small ones go on.
func TestExpressionsShareMemory(t *testing.T) {
	ctx := context.Background()
	const limit = 256 << 20
	s := harness.Start(t, harness.Options{Data: t.TempDir(), Env: []string{"GOMEMLIMIT=256MiB"}})
	db := s.Client(t).Database("memory")
	text := strings.Repeat("y", 1<<20)
	found := bson.D{{Key: "$regexFindAll", Value: bson.D{{Key: "input", Value: "$s"}, {Key: "regex", Value: "yyyyyyyy"}}}}
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
	peak, ok := s.PeakBytes()
	t.Logf("%d of 80 were refused, at most %d MB", refused.Load(), peak>>20)
	if ok && peak > limit+limit/2 {
		t.Errorf("expressions: %d MB were held, with a limit of %d", peak>>20, limit>>20)
	}
	givenBack(ctx, t, db, "queries")
}
