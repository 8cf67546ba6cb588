package memory

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// TestLittleMemory checks a server with little memory whose clients together need many times as much: each client
// gets a result or an error with the code 33, 146 or 292, all acknowledged writes are there, and the process stays
// below twice its limit.
func TestLittleMemory(t *testing.T) {
	programme.RecordAtEnd(t, "memory", 0, func() (int, string) { return 1, "" })
	ctx := context.Background()
	s, db := limited(t)
	c, large := db.Collection("c"), db.Collection("large")
	fill(ctx, t, c, documents)
	var stored, refused atomic.Int64
	judge := func(what string, err error) {
		var e mongo.ServerError
		switch {
		case err == nil:
		case errors.As(err, &e) && (e.HasErrorCode(146) || e.HasErrorCode(292) || e.HasErrorCode(33)):
			refused.Add(1)
		default:
			t.Errorf("%s: %v", what, err)
		}
	}
	text := strings.Repeat("0123456789abcdef", 1<<20/4)
	each(2*clients, func(i int) {
		client := s.Client(t)
		for round := range 6 {
			switch (i + round) % 4 {
			case 0:
				_, err := client.Database("memory").Collection("large").InsertMany(ctx, []any{bson.D{{Key: "s", Value: text}}, bson.D{{Key: "s", Value: text}}, bson.D{{Key: "s", Value: text}}})
				if err == nil {
					stored.Add(3)
				}
				judge("insert", err)
			case 1:
				name := []string{"sort", "group", "window", "facet"}[i%len(pipelines)]
				cur, err := c.Aggregate(ctx, pipeline(name), options.Aggregate().SetAllowDiskUse(true))
				if err == nil {
					var out []bson.Raw
					err = cur.All(ctx, &out)
				}
				judge(name, err)
			case 2:
				cur, err := client.Database("memory").Collection("large").Find(ctx, bson.D{}, options.Find().SetLimit(8))
				if err == nil {
					var out []bson.Raw
					err = cur.All(ctx, &out)
				}
				judge("find", err)
			case 3:
				err := client.UseSession(ctx, func(ctx context.Context) error {
					_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
						for n := range 3 {
							if _, err := client.Database("memory").Collection("large").InsertOne(ctx, bson.D{{Key: "s", Value: text}, {Key: "n", Value: n}}); err != nil {
								return nil, err
							}
						}
						return nil, nil
					})
					return err
				})
				if err == nil {
					stored.Add(3)
				}
				judge("transaction", err)
			}
		}
	})
	n, err := large.CountDocuments(ctx, bson.D{})
	if err != nil || n < stored.Load() {
		t.Errorf("%d documents of %d that were acknowledged, %v", n, stored.Load(), err)
	}
	peak, ok := s.PeakBytes()
	t.Logf("%d stored, %d refused, at most %d MB", stored.Load(), refused.Load(), peak>>20)
	if ok && peak > 2*limit {
		t.Errorf("the server held %d MB, with a limit of %d", peak>>20, limit>>20)
	}
}
