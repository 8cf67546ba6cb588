package driver

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestClientBulkWrite checks features of MongoDB 8.0 that drivers use if the server reports that version: a bulk write
// over several collections, ordered and then unordered with duplicate keys, and a sort that selects the document to
// update.
func TestClientBulkWrite(t *testing.T) {
	each(t, func(f *fixture) {
		write := func(coll string, m mongo.ClientWriteModel) mongo.ClientBulkWrite {
			return mongo.ClientBulkWrite{Database: "driver", Collection: coll, Model: m}
		}
		insert := func(coll string, id int) mongo.ClientBulkWrite {
			return write(coll, mongo.NewClientInsertOneModel().SetDocument(d("_id", id, "a", 1)))
		}
		got, err := f.client.BulkWrite(f.ctx, []mongo.ClientBulkWrite{
			insert("c", 1), insert("c", 2), insert("other", 1),
			write("c", mongo.NewClientUpdateManyModel().SetFilter(d("a", 1)).SetUpdate(d("$inc", d("a", 1)))),
			write("c", mongo.NewClientUpdateOneModel().SetFilter(d()).SetSort(d("_id", -1)).SetUpdate(d("$set", d("last", true)))),
			write("other", mongo.NewClientReplaceOneModel().SetFilter(d("_id", 9)).SetReplacement(d("new", true)).SetUpsert(true)),
			write("c", mongo.NewClientDeleteOneModel().SetFilter(d("_id", 1))),
		}, options.ClientBulkWrite().SetVerboseResults(true))
		f.ok(err)
		f.equal("counts", []int64{got.InsertedCount, got.MatchedCount, got.ModifiedCount, got.UpsertedCount, got.DeletedCount}, []int64{3, 3, 3, 1, 1})
		f.equal("results", []int{len(got.InsertResults), len(got.UpdateResults), len(got.DeleteResults)}, []int{3, 3, 1})
		var left bson.D
		f.ok(f.coll.FindOne(f.ctx, d("last", true)).Decode(&left))
		f.equal("the last", left[0].Value, int32(2))

		_, err = f.client.BulkWrite(f.ctx, []mongo.ClientBulkWrite{insert("c", 2), insert("other", 2), insert("other", 9)},
			options.ClientBulkWrite().SetOrdered(false))
		var failed mongo.ClientBulkWriteException
		if !errors.As(err, &failed) {
			f.Fatalf("a bulk with duplicates: %v", err)
		}
		f.equal("errors", []int{len(failed.WriteErrors), failed.WriteErrors[0].Code, failed.WriteErrors[2].Code}, []int{2, 11000, 11000})
		f.equal("inserted beside them", failed.PartialResult.InsertedCount, int64(1))
	})
}
