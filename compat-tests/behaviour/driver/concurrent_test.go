package driver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCompression inserts and reads documents with each compressor of the driver (snappy, zlib, zstd). They are large
// enough to be compressed.
func TestCompression(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	for _, name := range []string{"snappy", "zlib", "zstd"} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{T: t, ctx: harness.Context(t), client: server.Client(t, options.Client().SetCompressors([]string{name}))}
			f.coll = f.client.Database("driver").Collection(name)
			docs := make([]any, 100)
			for i := range docs {
				docs[i] = d("_id", i, "text", fmt.Sprintf("%0500d", i))
			}
			f.insert(docs...)
			f.equal("count", len(f.ids(d("text", d("$gte", "0")))), 100)
		})
	}
}

// TestConcurrentIncrements lets 16 clients increment three documents at the same time, and checks by their sum that no
// increment is lost and none is done twice.
func TestConcurrentIncrements(t *testing.T) {
	each(t, func(f *fixture) {
		const writers, increments, counters = 16, 50, 3
		for i := range counters {
			f.insert(d("_id", i, "n", 0))
		}
		var group sync.WaitGroup
		errs := make(chan error, writers)
		for w := range writers {
			group.Go(func() {
				for i := range increments {
					up, err := f.coll.UpdateOne(f.ctx, d("_id", (w+i)%counters), d("$inc", d("n", 1)))
					if err == nil && up.ModifiedCount != 1 {
						err = fmt.Errorf("modified %d", up.ModifiedCount)
					}
					if err != nil {
						errs <- err
						return
					}
				}
			})
		}
		group.Wait()
		close(errs)
		for err := range errs {
			f.Error(err)
		}
		f.equal("sum", f.sum(f.ctx), int64(writers*increments))
	})
}

// TestConcurrentTransfers transfers amounts between accounts in transactions, while a reader adds up all accounts:
// the sum must never change.
func TestConcurrentTransfers(t *testing.T) {
	each(t, func(f *fixture) {
		const accounts, writers, transfers = 8, 4, 25
		for i := range accounts {
			f.insert(d("_id", i, "n", 100))
		}
		var writing, reading sync.WaitGroup
		var done atomic.Bool
		var bad atomic.Int64
		reading.Go(func() {
			for !done.Load() {
				if got := f.sum(f.ctx); got != accounts*100 {
					bad.Store(got)
					return
				}
			}
		})
		for w := range writers {
			writing.Go(func() {
				session, err := f.client.StartSession()
				if err != nil {
					f.Error(err)
					return
				}
				defer session.EndSession(f.ctx)
				for i := range transfers {
					from, to := (w+i)%accounts, (w*3+i*5+1)%accounts
					if from == to {
						continue
					}
					_, err := session.WithTransaction(f.ctx, func(ctx context.Context) (any, error) {
						if _, err := f.coll.UpdateOne(ctx, d("_id", from), d("$inc", d("n", -1))); err != nil {
							return nil, err
						}
						return f.coll.UpdateOne(ctx, d("_id", to), d("$inc", d("n", 1)))
					})
					if err != nil {
						f.Error(err)
						return
					}
				}
			})
		}
		writing.Wait()
		done.Store(true)
		reading.Wait()
		if got := bad.Load(); got != 0 {
			f.Errorf("a reader saw the sum %d", got)
		}
		f.equal("sum", f.sum(f.ctx), int64(accounts*100))
	})
}

// sum adds the field n of all documents on the server.
func (f *fixture) sum(ctx context.Context) int64 {
	cursor, err := f.coll.Aggregate(ctx, bson.A{d("$group", d("_id", nil, "sum", d("$sum", "$n")))})
	if err != nil {
		f.Error(err)
		return -1
	}
	defer cursor.Close(ctx)
	if !cursor.Next(ctx) {
		f.Errorf("no sum: %v", cursor.Err())
		return -1
	}
	n, _ := cursor.Current.Lookup("sum").AsInt64OK()
	return n
}
