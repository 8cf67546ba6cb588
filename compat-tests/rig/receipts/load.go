package receipts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Load is the random load of one client on the collection orders of a database, and on collections beside it: single
// writes and batches, cursors of several pages, pipelines, errors, transactions that commit and that do not, commands of
// operators.
type Load struct {
	DB     *mongo.Database
	Client int // a number of its own; the _ids of its documents begin with it
	Random *rand.Rand

	next int
}

// Run makes steps, until one fails. Errors: those of Step.
func (l *Load) Run(ctx context.Context, steps int) error {
	for range steps {
		if err := l.Step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Step sends a command, or a few. Errors: those of the driver, but not errors that the load causes.
func (l *Load) Step(ctx context.Context) error {
	l.next++
	orders, id := l.DB.Collection("orders"), fmt.Sprintf("%d-%d", l.Client, l.next)
	tenant := fmt.Sprintf("t%d", l.Random.IntN(5))
	doc := bson.M{"_id": id, "tenant": tenant, "n": l.next, "pad": string(make([]byte, l.Random.IntN(3000)))}
	if _, err := orders.InsertOne(ctx, doc); err != nil {
		return err
	}
	switch l.Random.IntN(11) {
	case 0:
		return orders.FindOne(ctx, bson.M{"_id": id, "tenant": tenant}).Err()
	case 1:
		cur, err := orders.Find(ctx, bson.M{"n": bson.M{"$gte": 0}}, options.Find().SetBatchSize(20).SetLimit(150))
		if err != nil {
			return err
		}
		defer cur.Close(ctx)
		for left := l.Random.IntN(200); left > 0 && cur.Next(ctx); left-- {
		}
		return cur.Err()
	case 2:
		_, err := orders.UpdateMany(ctx, bson.M{"n": l.next}, bson.M{"$set": bson.M{"seen": true}})
		return err
	case 3:
		cur, err := orders.Aggregate(ctx, bson.A{bson.M{"$match": bson.M{"tenant": tenant}}, bson.M{"$group": bson.M{"_id": "$tenant", "n": bson.M{"$sum": 1}}}})
		if err != nil {
			return err
		}
		return cur.Close(ctx)
	case 4:
		_, err := l.DB.Collection(fmt.Sprintf("other%d", l.Random.IntN(20))).InsertMany(ctx, []any{bson.M{"_id": id}, bson.M{"_id": id + "-"}})
		return err
	case 5:
		_, err := orders.InsertOne(ctx, doc)
		switch {
		case mongo.IsDuplicateKeyError(err):
			return nil
		case mongo.IsNetworkError(err):
			return err
		}
		return fmt.Errorf("the second insert of %s: %v", id, err)
	case 6:
		_, err := orders.DeleteOne(ctx, bson.M{"_id": id, "tenant": tenant})
		return err
	case 7:
		_, err := orders.CountDocuments(ctx, bson.M{"tenant": tenant})
		return err
	case 8:
		return orders.FindOneAndUpdate(ctx, bson.M{"_id": id, "tenant": tenant}, bson.M{"$inc": bson.M{"n": 1}}).Err()
	case 9:
		return l.DB.RunCommand(ctx, bson.D{{Key: "find", Value: "orders"}, {Key: "filter", Value: bson.M{"_id": id}}, {Key: "comment", Value: bson.M{"priority": "operator"}}}).Err()
	}
	return l.transaction(ctx, orders, id, tenant)
}

// transaction reads and writes in a transaction, and commits it or aborts it. A write conflict is no error.
func (l *Load) transaction(ctx context.Context, orders *mongo.Collection, id, tenant string) error {
	s, err := l.DB.Client().StartSession()
	if err != nil {
		return err
	}
	defer s.EndSession(ctx)
	if err := s.StartTransaction(); err != nil {
		return err
	}
	in := mongo.NewSessionContext(ctx, s)
	_, err = orders.UpdateOne(in, bson.M{"_id": id, "tenant": tenant}, bson.M{"$set": bson.M{"paid": true}})
	if err == nil {
		_, err = l.DB.Collection("totals").UpdateOne(in, bson.M{"_id": tenant}, bson.M{"$inc": bson.M{"n": 1}}, options.UpdateOne().SetUpsert(true))
	}
	if err == nil && l.Random.IntN(3) > 0 {
		err = s.CommitTransaction(in)
	} else if e := s.AbortTransaction(in); err == nil {
		err = e
	}
	var refused mongo.ServerError
	if errors.As(err, &refused) && !mongo.IsNetworkError(err) {
		return nil
	}
	return err
}
