package inprocess

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
)

// inTxn runs a transaction at a server. between is called before the commit.
func (g *gateway) inTxn(t *testing.T, work func(ctx context.Context) error, between func()) error {
	t.Helper()
	s, err := g.StartSession()
	bsontest.Must(t, err)
	defer s.EndSession(context.WithoutCancel(t.Context()))
	bsontest.Must(t, s.StartTransaction())
	ctx := mongo.NewSessionContext(t.Context(), s)
	err = work(ctx)
	if err == nil {
		between()
		err = s.CommitTransaction(ctx)
	} else {
		_ = s.AbortTransaction(ctx)
	}
	return err
}

// transient checks for an error with the label TransientTransactionError, on which a driver retries the
// transaction.
func transient(t *testing.T, what string, err error) {
	t.Helper()
	var said mongo.ServerError
	if !errors.As(err, &said) || !said.HasErrorLabel("TransientTransactionError") {
		t.Errorf("%s: %v, wanted a TransientTransactionError", what, err)
	}
}

// TestDefineInTxn checks that a transaction at one server gets a transient error, and leaves nothing, if another server
// meanwhile creates a collection of the same name as the transaction does, or builds an index on a collection to which
// the transaction has written, or drops it.
func TestDefineInTxn(t *testing.T) {
	g := several(t, 2)
	x, y := g[0], g[1]
	insert(t, x.coll("old"), bson.M{"_id": 0, "a": 1})
	insert(t, y.coll("old"), bson.M{"_id": 1, "a": 1})
	index := func(name string) mongo.IndexModel { return mongo.IndexModel{Keys: bson.D{{Key: name, Value: 1}}} }

	err := x.inTxn(t, func(ctx context.Context) error {
		if err := x.Database("test").CreateCollection(ctx, "both"); err != nil {
			return err
		}
		if _, err := x.coll("old").InsertOne(ctx, bson.M{"_id": 2}); err != nil {
			return err
		}
		_, err := x.coll("both").InsertOne(ctx, bson.M{"_id": "x"})
		return err
	}, func() { insert(t, y.coll("both"), bson.M{"_id": "y"}) })
	transient(t, "a name that another gateway gives meanwhile", err)
	for i := range g {
		want(t, "documents under the name", ids(t, g[i].coll("both"), bson.M{}), []any{"y"})
		want(t, "the rest of the transaction", len(ids(t, g[i].coll("old"), bson.M{"_id": 2})), 0)
	}

	err = x.inTxn(t, func(ctx context.Context) error {
		_, err := x.coll("old").UpdateOne(ctx, bson.M{"_id": 0}, bson.M{"$set": bson.M{"a": 2}})
		return err
	}, func() {
		_, err := y.coll("old").Indexes().CreateOne(t.Context(), index("a"))
		bsontest.Must(t, err)
	})
	transient(t, "an index that another gateway makes meanwhile", err)

	err = x.inTxn(t, func(ctx context.Context) error {
		_, err := x.coll("old").UpdateOne(ctx, bson.M{"_id": 0}, bson.M{"$set": bson.M{"a": 3}})
		return err
	}, func() { bsontest.Must(t, y.coll("old").Drop(t.Context())) })
	transient(t, "a collection that another gateway drops meanwhile", err)
	want(t, "documents of what was dropped", len(ids(t, x.coll("old"), bson.M{})), 0)

	// A transaction that creates a collection of its own commits, or gets a transient error, whatever other
	// collections are defined meanwhile.
	for n := range 5 {
		name := fmt.Sprintf("own%d", n)
		for {
			err := x.inTxn(t, func(ctx context.Context) error {
				if _, err := x.coll(name).Indexes().CreateOne(ctx, index("a")); err != nil {
					return err
				}
				_, err := x.coll(name).InsertOne(ctx, bson.M{"_id": 1, "a": bson.A{1, 2}})
				return err
			}, func() {
				if n%2 == 0 && y.entry("other"+name) == nil {
					bsontest.Must(t, y.Database("test").CreateCollection(t.Context(), "other"+name))
				}
			})
			if err == nil {
				break
			}
			t.Log(n, err)
			transient(t, "definitions of other names meanwhile", err)
		}
		want(t, "documents by the index at the other", ids(t, y.coll(name), bson.M{"a": 2}), []any{int32(1)})
	}
	seen := map[[16]byte]string{}
	for _, coll := range y.d.Jobs().Catalog.Peek().Collections("") {
		if other, ok := seen[coll.UUID]; ok {
			t.Errorf("%s and %s are one collection", other, coll.Namespace)
		}
		seen[coll.UUID] = coll.Namespace.String()
		if now := x.d.Jobs().Catalog.Peek().ByID(coll.ID); now == nil || now.UUID != coll.UUID {
			t.Errorf("%s is another collection at the first", coll.Namespace)
		}
		doc, err := y.Database(coll.Namespace.DB).RunCommand(t.Context(), bson.D{{Key: "validate", Value: coll.Namespace.Coll}}).Raw()
		bsontest.Must(t, err)
		if !doc.Lookup("valid").Boolean() {
			t.Errorf("validate: %s", doc)
		}
	}
}
