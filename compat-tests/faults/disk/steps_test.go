package disk

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// inTxn returns the fields that make a command a statement of a transaction: session, number, and whether it is
// the first.
func inTxn(n byte, number int64, first bool) bson.D {
	d := bson.D{{Key: "lsid", Value: session(n)}, {Key: "txnNumber", Value: number}, {Key: "autocommit", Value: false}}
	if first {
		d = append(d, bson.E{Key: "startTransaction", Value: true})
	}
	return d
}

// code returns the code in an error reply of the server, 0 for no error, -1 for any other error.
func code(err error) int32 {
	var r *refused
	if errors.As(err, &r) {
		return r.code
	}
	if err != nil {
		return -1
	}
	return 0
}

// spent inserts documents with _ids from from on until the budget of the collection refuses one, and returns the
// number of inserts.
func (h *hardship) spent(m *machine, from int) (n int) {
	h.Helper()
	for ; n < 5000; n++ {
		s := insert("shop.paid", document(h.rng, from+n, 1, 50))
		err := s.do(m.client)
		if code(err) == 16500 {
			return n
		}
		if err != nil {
			h.Fatalf("a write under a budget: %v", err)
		}
		h.held.apply(s.changes)
	}
	h.Fatal("the budget does not end")
	return n
}

// sessionsThroughSteps sets the wall clock forward and back while a cursor, a session, a transaction, a snapshot and
// a budget are in use. Each must go on, no budget may get more than its rate, and every timeout must follow the
// elapsed time and not the wall clock.
func sessionsThroughSteps(h *hardship) {
	m := h.boot(func(errorfs.Op) error { return nil }, -1)
	h.must(m, command("paid", "shop", bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "paid"}, {Key: "offerThroughput", Value: 400}}, false, made("shop.paid")...))
	h.spent(m, 10_000)
	time.Sleep(time.Second)
	usual := h.spent(m, 20_000) // a budget that is not full
	number := int64(0)
	for i, by := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour} {
		number++
		ask := func(what string, db string, cmd bson.D) bson.Raw {
			h.Helper()
			reply, err := m.run(db, cmd)
			if err != nil {
				h.Errorf("step %d of %v: %s: %v", i, by, what, err)
			}
			return reply
		}
		cursor := func() int64 {
			reply := ask("find", "shop", bson.D{{Key: "find", Value: "orders"}, {Key: "batchSize", Value: int32(2)}, {Key: "lsid", Value: session(7)}})
			return reply.Lookup("cursor", "id").Int64()
		}
		more := func(id int64) bson.D {
			return bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: "orders"}, {Key: "batchSize", Value: int32(2)}, {Key: "lsid", Value: session(7)}}
		}
		open, idle := cursor(), cursor()
		doc := document(h.rng, 5000+i, 1, 50)
		write := bson.D{{Key: "insert", Value: "items"}, {Key: "documents", Value: bson.A{doc}}}
		ask("the transaction's write", "shop", append(write, inTxn(8, number, true)...))
		left := bson.D{{Key: "insert", Value: "items"}, {Key: "documents", Value: bson.A{document(h.rng, 6000+i, 1, 50)}}}
		ask("the other transaction's write", "shop", append(left, inTxn(9, number, true)...))
		reply := ask("ping", "shop", bson.D{{Key: "ping", Value: 1}})
		sec, inc := reply.Lookup("operationTime").Timestamp()
		at := bson.Timestamp{T: sec, I: inc}

		h.spent(m, 100_000*(i+1))
		h.jump.Add(int64(by))
		if n := h.spent(m, 100_000*(i+1)+30_000); n != 0 {
			h.Errorf("step %d of %v: a budget that is spent lets %d writes through", i, by, n)
		}
		time.Sleep(time.Second)
		if n := h.spent(m, 100_000*(i+1)+60_000); n == 0 || n > usual+1 {
			h.Errorf("step %d of %v: a second later the budget lets %d writes through, otherwise %d", i, by, n, usual)
		}
		ask("getMore", "shop", more(open))
		ask("a snapshot", "shop", bson.D{{Key: "find", Value: "orders"}, {Key: "lsid", Value: session(7)}, {Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}, {Key: "atClusterTime", Value: at}}}})
		ask("the commit", "admin", append(bson.D{{Key: "commitTransaction", Value: 1}}, inTxn(8, number, false)...))
		h.held.apply([]change{held("shop.items", doc)})

		time.Sleep(3 * time.Minute) // a transaction times out after one
		if _, err := m.run("admin", append(bson.D{{Key: "commitTransaction", Value: 1}}, inTxn(9, number, false)...)); code(err) != 251 {
			h.Errorf("step %d of %v: a transaction that was left alone for three minutes: %v", i, by, err)
		}
		time.Sleep(10 * time.Minute) // a cursor times out after ten
		if _, err := m.run("shop", more(idle)); code(err) != 43 {
			h.Errorf("step %d of %v: a cursor that was left alone for 13 minutes: %v", i, by, err)
		}
	}
	// A step of the clock ends no session that is in use. An unused session ends after its timeout.
	listed := func() bool {
		docs, err := m.all("admin", bson.D{{Key: "aggregate", Value: int32(1)}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$listLocalSessions", Value: bson.D{{Key: "allUsers", Value: true}}}}}}})
		if err != nil {
			h.Error(err)
		}
		want := session(7)[0].Value.(bson.Binary).Data
		for _, doc := range docs {
			if _, id := doc.Lookup("_id", "id").Binary(); string(id) == string(want) {
				return true
			}
		}
		return false
	}
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		if _, err := m.run("shop", bson.D{{Key: "ping", Value: int32(1)}, {Key: "lsid", Value: session(7)}}); err != nil {
			h.Error(err)
		}
		h.jump.Add(int64(by))
		time.Sleep(25 * time.Minute)
		if !listed() {
			h.Errorf("a step of %v ends a session that was used 25 minutes ago", by)
		}
		time.Sleep(7 * time.Minute)
		if listed() {
			h.Errorf("after a step of %v a session lives that was not used for 32 minutes", by)
		}
	}
	h.end(m)
}
