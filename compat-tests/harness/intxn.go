package harness

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// transactions runs the commands of a case in multi-document transactions, as far as they
// may be there. Commands one after another share a transaction; it is committed before a
// command that may not be in one. A command that is to fail has one of its own, because it
// ends the transaction and takes back what was done in it.
type transactions struct {
	conn   *Conn
	number int64 // of the last one
	open   bool
	held   *int // counts the commands that were in one
	// cursor is the number of the transaction that the cursor opened last belongs to, 0
	// for none.
	cursor int64
}

// session is the session of all transactions.
var session = bson.D{{Key: "id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("cases in session")}}}

// statements are the commands that may be in a transaction. create and createIndexes may
// too, but only of collections that are new, which is what cases about that look at.
// Manual: core/transactions-operations.
var statements = []string{"aggregate", "bulkWrite", "delete", "distinct", "find", "findAndModify", "findandmodify", "insert", "update"}

// apart are fields that may not be in a transaction or that it decides about, or that are
// sent by a case which is about sessions itself.
var apart = []string{"apiVersion", "autocommit", "lsid", "readConcern", "startTransaction", "tailable", "txnNumber", "writeConcern"}

// stagesApart are the stages that may not be in a transaction.
// Manual: core/transactions-operations#restricted-operations,
// reference/operator/aggregation/unionWith.
var stagesApart = []string{"$changeStream", "$collStats", "$currentOp", "$indexStats", "$listLocalSessions", "$listSessions", "$merge", "$out", "$planCacheStats", "$unionWith"}

// may reports whether a command may be in a transaction.
func (x *transactions) may(db string, cmd bson.Raw, want string) bool {
	first, err := cmd.IndexErr(0)
	if err != nil {
		return false
	}
	if first.Key() == "getMore" {
		return x.open && x.cursor == x.number
	}
	coll, _ := first.Value().StringValueOK()
	if !slices.Contains(statements, first.Key()) || strings.HasPrefix(coll, "system.") || isSystem(db) && first.Key() != "bulkWrite" {
		return false
	}
	if partly(want) {
		return false
	}
	for _, field := range apart {
		if _, err := cmd.LookupErr(field); err == nil {
			return false
		}
	}
	stages, _ := cmd.Lookup("pipeline").ArrayOK()
	values, _ := stages.Values()
	return !slices.ContainsFunc(values, func(v bson.RawValue) bool {
		stage, _ := v.DocumentOK()
		e, err := stage.IndexErr(0)
		return err == nil && slices.Contains(stagesApart, e.Key())
	})
}

// run runs a command whose printed reply should be want.
func (x *transactions) run(t *testing.T, db string, cmd bson.Raw, want string) (bson.Raw, error) {
	t.Helper()
	inside, fails := x.may(db, cmd, want), strings.HasPrefix(want, "error ")
	if !inside || fails {
		x.commit(t)
	}
	if inside {
		fields := bson.D{{Key: "lsid", Value: session}, {Key: "autocommit", Value: false}}
		if !x.open {
			x.number++
			fields = append(fields, bson.E{Key: "startTransaction", Value: true})
		}
		x.open = true
		*x.held++
		cmd = with(cmd, append(fields, bson.E{Key: "txnNumber", Value: x.number}))
	}
	reply, err := x.conn.Command(db, cmd)
	if err != nil {
		return nil, err
	}
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 && inside {
		x.open = false
	}
	if inside {
		reply = without(reply, "recoveryToken")
	}
	if _, isCursor := reply.Lookup("cursor").DocumentOK(); isCursor {
		if x.cursor = 0; inside {
			x.cursor = x.number
		}
	}
	return reply, nil
}

// partly reports whether a reply tells of writes that have failed: outside of a transaction
// those before them stay.
func partly(want string) bool {
	return strings.Contains(want, `"writeErrors":`) || strings.Contains(want, `"nErrors":`) && !strings.Contains(want, `"nErrors":0,`)
}

// commit ends the transaction, which must succeed.
func (x *transactions) commit(t *testing.T) {
	t.Helper()
	if !x.open {
		return
	}
	x.open = false
	reply, err := x.conn.Command("admin", mustMarshal(bson.D{{Key: "commitTransaction", Value: 1},
		{Key: "lsid", Value: session}, {Key: "txnNumber", Value: x.number}, {Key: "autocommit", Value: false}}))
	if err != nil {
		t.Fatal(err)
	}
	if text := Render(reply, true); strings.HasPrefix(text, "error ") {
		t.Errorf("commitTransaction: %s", text)
	}
}

// with returns a document with fields added at its end.
func with(doc bson.Raw, fields bson.D) bson.Raw {
	more := mustMarshal(fields)
	out := append(slices.Clone(doc[:len(doc)-1]), more[4:]...)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out
}

// without returns a document without a field.
func without(doc bson.Raw, name string) bson.Raw {
	var out bson.D
	elements, _ := doc.Elements()
	for _, e := range elements {
		if e.Key() != name {
			out = append(out, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return mustMarshal(out)
}
