package isolation

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestCounts runs transactions that each delete as many documents as they insert. Meanwhile every count, with and
// without a filter, must return the same number, and a find that skips all but the last few documents these few.
func TestCounts(t *testing.T) { each(t, counts) }

func counts(f *fixture) {
	const documents, rest, ids = 1200, 9, 1 << 16
	var all bson.A
	for i := range documents {
		all = append(all, id(i*ids/documents)) // spread, so that the first ids are used too
	}
	_, err := f.coll.InsertMany(f.ctx, all)
	f.ok(err)
	var exchanged, counted, skipped atomic.Int64
	f.run(func(client int, rng *rand.Rand) error {
		switch {
		case client%4 == 0 && rng.IntN(2) == 0: // the counters of the partitions replace most of the scan
			skipped.Add(1)
			cursor, err := f.coll.Find(f.ctx, bson.D{}, options.Find().SetSkip(documents-rest))
			if err != nil {
				return err
			}
			var found []bson.Raw
			if err := cursor.All(f.ctx, &found); err == nil && len(found) != rest {
				f.Errorf("%d documents after a skip of %d, want %d", len(found), documents-rest, rest)
			}
			return err
		case client%4 == 0:
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
	f.Logf("%d counts and %d skips while %d documents were exchanged", counted.Load(), skipped.Load(), exchanged.Load())
	if counted.Load() == 0 || skipped.Load() == 0 || exchanged.Load() == 0 {
		f.Error("nothing happened")
	}
}
