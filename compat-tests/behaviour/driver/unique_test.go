package driver

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestMakeUniqueViolations checks that, if an index cannot become unique (collMod) because of equal values, the error
// lists the _ids of the documents with each of these values. In the sharded collection collMod is refused already for
// the shard key.
func TestMakeUniqueViolations(t *testing.T) {
	each(t, func(f *fixture) {
		f.insert(d("_id", 2, "a", 1), d("_id", 1, "a", 1.0), d("_id", 3, "a", 2), d("_id", 4, "a", bson.A{2, 7, 7}),
			d("_id", 5), d("_id", 6, "a", nil), d("_id", 7, "a", 8))
		_, err := f.coll.Indexes().CreateOne(f.ctx, mongo.IndexModel{Keys: d("a", 1)})
		f.ok(err)
		collMod := func(field string) error {
			return f.db.RunCommand(f.ctx, d("collMod", f.coll.Name(), "index", d("name", "a_1", field, true))).Err()
		}
		if err := collMod("prepareUnique"); err != nil {
			f.code(err, 72) // the index of a sharded collection must begin with the shard key
			return
		}
		err = collMod("unique")
		f.code(err, 359)
		var told mongo.CommandError
		if !errors.As(err, &told) {
			f.Fatal(err)
		}
		var reply struct {
			Violations []struct{ IDs []int32 }
		}
		f.ok(bson.Unmarshal(told.Raw, &reply))
		f.equal("violations", reply.Violations, []struct{ IDs []int32 }{{[]int32{5, 6}}, {[]int32{1, 2}}, {[]int32{3, 4}}})
	})
}

// TestUniqueConflict checks two open transactions that insert the same value of a unique index: at most one may
// commit. The other gets a transient error, and finds the duplicate when it is retried.
func TestUniqueConflict(t *testing.T) {
	f := single(t)
	_, err := f.coll.Indexes().CreateOne(f.ctx, mongo.IndexModel{Keys: d("a", 1), Options: options.Index().SetUnique(true)})
	f.ok(err)
	insert := func(ctx context.Context, id int) error {
		_, err := f.coll.InsertOne(ctx, d("_id", id, "a", 1))
		return err
	}
	begin := func() (context.Context, *mongo.Session) {
		s, err := f.client.StartSession()
		f.ok(err)
		f.ok(s.StartTransaction())
		return mongo.NewSessionContext(f.ctx, s), s
	}
	transient := func(err error) {
		t.Helper()
		f.code(err, 112)
		var server mongo.ServerError
		if !errors.As(err, &server) || !server.HasErrorLabel("TransientTransactionError") {
			t.Errorf("%v is no error to start again after", err)
		}
	}
	// The first transaction commits, so the second one may not, although there is no duplicate in its snapshot.
	one, first := begin()
	two, second := begin()
	if err := f.coll.FindOne(two, d()).Err(); err != mongo.ErrNoDocuments {
		t.Fatalf("the second transaction begins with %v", err)
	}
	f.ok(insert(one, 1))
	if err := insert(two, 2); err != nil {
		transient(err)
		f.ok(first.CommitTransaction(f.ctx))
	} else { // while both are open, either may be the one that conflicts
		f.ok(first.CommitTransaction(f.ctx))
		transient(second.CommitTransaction(f.ctx))
	}
	again, third := begin()
	f.code(insert(again, 3), 11000)
	_ = third.AbortTransaction(f.ctx)
	f.equal("documents", f.ids(d("a", 1)), []int32{1})

	// The first transaction aborts: its writes do not block the second one.
	_, err = f.coll.DeleteMany(f.ctx, d())
	f.ok(err)
	one, first = begin()
	f.ok(insert(one, 4))
	f.ok(first.AbortTransaction(f.ctx))
	f.ok(insert(f.ctx, 5))
	f.equal("documents after an abort", f.ids(d("a", 1)), []int32{5})
}
