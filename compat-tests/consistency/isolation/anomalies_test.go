package isolation

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// open is a transaction that a test steps through.
type open struct {
	*fixture
	session *mongo.Session
	ctx     context.Context
}

func (f *fixture) begin() *open {
	f.Helper()
	s, err := f.client.StartSession()
	f.ok(err)
	f.ok(s.StartTransaction())
	f.Cleanup(func() { s.EndSession(context.Background()) })
	return &open{f, s, mongo.NewSessionContext(f.ctx, s)}
}

// read returns the value of a document.
func (o *open) read(n int) int {
	o.Helper()
	var doc struct{ V int }
	o.ok(o.coll.FindOne(o.ctx, id(n)).Decode(&doc))
	return doc.V
}

func (o *open) write(n, v int) error {
	_, err := o.coll.UpdateOne(o.ctx, id(n), set("$set", "v", v))
	return err
}

func (o *open) commit() error { return o.session.CommitTransaction(o.ctx) }

// conflict fails the test unless err is a write conflict after which a driver retries the transaction.
func (f *fixture) conflict(err error) {
	f.Helper()
	var server mongo.ServerError
	if !errors.As(err, &server) || !server.HasErrorCode(112) || !server.HasErrorLabel("TransientTransactionError") {
		f.Errorf("%v, want WriteConflict with TransientTransactionError", err)
	}
}

// refused fails the test unless err, the error of a statement, is a write conflict with another transaction. If that
// transaction ran at another server, the conflict may appear only at the commit.
func (o *open) refused(err error) {
	o.Helper()
	if err == nil && o.several {
		err = o.commit()
	}
	o.conflict(err)
}

func (f *fixture) want(what string, got, want int) {
	f.Helper()
	if got != want {
		f.Errorf("%s: %d, want %d", what, got, want)
	}
}

// value reads a document outside of transactions.
func (f *fixture) value(n int) int {
	f.Helper()
	var doc struct{ V int }
	f.ok(f.coll.FindOne(f.ctx, id(n)).Decode(&doc))
	return doc.V
}

// fill replaces the documents of the collection by two: _id 1 with the value 10, and _id 2 with the value 20.
func (f *fixture) fill() {
	f.Helper()
	_, err := f.coll.DeleteMany(f.ctx, bson.D{})
	f.ok(err)
	for n := 1; n <= 2; n++ {
		_, err := f.coll.InsertOne(f.ctx, bson.D{{Key: "_id", Value: n}, {Key: "v", Value: n * 10}})
		f.ok(err)
	}
}

func TestAnomalies(t *testing.T) {
	each(t, func(f *fixture) {
		for _, c := range []struct {
			name string
			test func(a, b *open)
		}{
			{"P0 dirty write", func(a, b *open) {
				f.ok(a.write(1, 11))
				err := b.write(1, 12)
				f.ok(a.write(2, 21))
				f.ok(a.commit())
				b.refused(err)
				f.want("first", f.value(1), 11)
				f.want("second", f.value(2), 21)
			}},
			{"G1a aborted read", func(a, b *open) {
				f.ok(a.write(1, 101))
				f.want("before", b.read(1), 10)
				f.ok(a.session.AbortTransaction(a.ctx))
				f.want("after", b.read(1), 10)
				f.ok(b.commit())
			}},
			{"G1b intermediate read", func(a, b *open) {
				f.ok(a.write(1, 101))
				f.want("before", b.read(1), 10)
				f.ok(a.write(1, 11))
				f.ok(a.commit())
				f.want("after", b.read(1), 10)
			}},
			{"G1c circular flow", func(a, b *open) {
				f.ok(a.write(1, 11))
				f.ok(b.write(2, 22))
				f.want("a", a.read(2), 20)
				f.want("b", b.read(1), 10)
				f.ok(a.commit())
				f.ok(b.commit())
			}},
			{"P4 lost update", func(a, b *open) {
				v := a.read(1)
				f.want("b", b.read(1), v)
				f.ok(a.write(1, v+1))
				f.ok(a.commit())
				b.refused(b.write(1, v+1))
			}},
			{"G-single read skew", func(a, b *open) {
				f.want("one", a.read(1), 10)
				f.ok(b.write(1, 12))
				f.ok(b.write(2, 18))
				f.ok(b.commit())
				f.want("two", a.read(2), 20)
				f.want("one again", a.read(1), 10)
				n, err := a.coll.CountDocuments(a.ctx, bson.D{{Key: "v", Value: bson.D{{Key: "$in", Value: bson.A{12, 18}}}}})
				f.ok(err)
				f.want("by a filter", int(n), 0)
				_, err = a.coll.DeleteMany(a.ctx, bson.D{{Key: "v", Value: 20}})
				a.refused(err)
			}},
			{"PMP phantom", func(a, b *open) {
				n, err := a.coll.CountDocuments(a.ctx, bson.D{})
				f.ok(err)
				f.want("before", int(n), 2)
				_, err = b.coll.InsertOne(b.ctx, bson.D{{Key: "_id", Value: 3}, {Key: "v", Value: 30}})
				f.ok(err)
				f.ok(b.commit())
				n, err = a.coll.CountDocuments(a.ctx, bson.D{})
				f.ok(err)
				f.want("after", int(n), 2)
			}},
			// Write skew: snapshot isolation allows it, and so does MongoDB.
			{"G2-item write skew", func(a, b *open) {
				f.want("a", a.read(1)+a.read(2), 30)
				f.want("b", b.read(1)+b.read(2), 30)
				f.ok(a.write(1, -10))
				f.ok(b.write(2, -10))
				f.ok(a.commit())
				f.ok(b.commit())
			}},
			// A write without a transaction waits until a transaction that has written the same document has ended.
			{"write outside", func(a, _ *open) {
				if f.several {
					return // the write waits only at the transaction's server; elsewhere the transaction's commit fails
				}
				f.ok(a.write(1, 11))
				done := make(chan error, 1)
				go func() {
					_, err := f.coll.UpdateOne(f.ctx, id(1), set("$inc", "v", 100))
					done <- err
				}()
				select {
				case err := <-done:
					f.Errorf("the write did not wait: %v", err)
				case <-time.After(50 * time.Millisecond):
				}
				f.want("meanwhile", f.value(1), 10)
				f.ok(a.commit())
				f.ok(<-done)
				f.want("in the end", f.value(1), 111)
			}},
			{"insert of one _id", func(a, b *open) {
				_, err := a.coll.InsertOne(a.ctx, id(5))
				f.ok(err)
				_, err = b.coll.InsertOne(b.ctx, id(5))
				f.ok(a.commit())
				b.refused(err)
			}},
		} {
			f.fill()
			f.Run(c.name, func(t *testing.T) {
				inner := *f
				inner.T = t
				a, b := inner.begin(), inner.begin()
				c.test(a, b)
			})
		}
	})
}
