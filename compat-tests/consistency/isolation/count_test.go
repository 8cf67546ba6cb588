package isolation

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestCounts runs transactions that each delete as many documents as they insert. Meanwhile every count, with and
// without a filter, must return the same number.
func TestCounts(t *testing.T) { each(t, counts) }

func counts(f *fixture) {
	const documents, ids = 60, 1 << 16
	for i := range documents {
		_, err := f.coll.InsertOne(f.ctx, id(i*ids/documents)) // spread, so that the first ids are used too
		f.ok(err)
	}
	var exchanged, counted atomic.Int64
	f.run(func(client int, rng *rand.Rand) error {
		if client%4 == 0 {
			counted.Add(1)
			filter := bson.D{}
			if client%8 == 0 {
				filter = bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: 0}}}}
			}
			n, err := f.coll.CountDocuments(f.ctx, filter)
			if err == nil && n != documents {
				f.Errorf("%d documents by %v, want %d", n, filter, documents)
			}
			return err
		}
		_, err := f.transact(func(ctx context.Context) error {
			for range 1 + rng.IntN(3) {
				if err := f.coll.FindOneAndDelete(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: rng.IntN(ids)}}}}).Err(); err == mongo.ErrNoDocuments {
					continue
				} else if err != nil {
					return err
				}
				if _, err := f.coll.InsertOne(ctx, id(rng.IntN(ids))); err != nil {
					return err
				}
				exchanged.Add(1)
			}
			return nil
		})
		if err != nil && (transient(err) || mongo.IsDuplicateKeyError(err)) {
			return nil
		}
		return err
	})
	f.Logf("%d counts while %d documents were exchanged", counted.Load(), exchanged.Load())
	if counted.Load() == 0 || exchanged.Load() == 0 {
		f.Error("nothing happened")
	}
}
