package harness

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// transactions runs the commands of a case in multi-document transactions where MongoDB permits that.
// Successive commands share a transaction, which is committed before a command that may not run in one. A
// command that is expected to fail has a transaction of its own, because its failure aborts the transaction.
type transactions struct {
	conn   *Conn
	number int64 // of the last one
	open   bool
	held   *int // counts the commands that ran in a transaction
	// cursor is the number of the transaction that the cursor opened last belongs to, 0
	// for none.
	cursor int64
	// refusable reports that the store may refuse a transaction although no other one conflicts with it, as a
	// cluster may. Such a transaction is sent again, as the drivers' withTransaction does.
	refusable bool
	writes    []sent // of the open one
}

// sent is a command that was sent, without the fields of its transaction.
type sent struct {
	db  string
	cmd bson.Raw
}

// attemptsMax bounds the number of times that a transaction is sent.
const attemptsMax = 5

// newTransactions runs commands on a connection and counts those that were in a transaction.
func newTransactions(conn *Conn, held *int) *transactions {
	wanted, _ := requestedStorage()
	return &transactions{conn: conn, held: held, refusable: wanted == troubled || strings.HasPrefix(wanted, "tikv://")}
}

// session is the session of all transactions.
var session = bson.D{{Key: "id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("cases in session")}}}

// statements are the commands that may run in a transaction. create and createIndexes may too, but only for new
// collections; other cases cover that. Manual: core/transactions-operations.
var statements = []string{"aggregate", "bulkWrite", "delete", "distinct", "find", "findAndModify", "findandmodify", "insert", "update"}

// apart are fields of commands. A command with one of them runs outside of the shared transactions: it may not be in
// a transaction, or the field sets how one runs, or the case is about sessions itself.
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

// run runs a command; the last argument is the expected printed reply.
func (x *transactions) run(t *testing.T, db string, cmd bson.Raw, want string) (bson.Raw, error) {
	t.Helper()
	inside, fails := x.may(db, cmd, want), strings.HasPrefix(want, "error ")
	if !inside || fails {
		x.commit(t)
	}
	send := func() (bson.Raw, error) { return x.conn.Command(db, cmd) }
	if inside {
		*x.held++
		send = func() (bson.Raw, error) { return x.inside(db, cmd) }
	}
	reply, err := send()
	for tries := 1; inside && !fails && x.again(t, reply, err, tries); tries++ {
		reply, err = send()
	}
	if err != nil {
		return nil, err
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

// inside runs a command in the open transaction, or in a new one.
func (x *transactions) inside(db string, cmd bson.Raw) (bson.Raw, error) {
	fields := bson.D{{Key: "lsid", Value: session}, {Key: "autocommit", Value: false}}
	if !x.open {
		x.number++
		x.writes = nil
		fields = append(fields, bson.E{Key: "startTransaction", Value: true})
	}
	reply, err := x.conn.Command(db, with(cmd, append(fields, bson.E{Key: "txnNumber", Value: x.number})))
	if err != nil {
		return nil, err
	}
	ok, _ := reply.Lookup("ok").AsFloat64OK()
	x.open = ok == 1
	if first := cmd.Index(0).Key(); x.open && first != "find" && first != "getMore" {
		x.writes = append(x.writes, sent{db, cmd})
	}
	return reply, nil
}

// again repeats the transaction if it is refusable and the reply has the label TransientTransactionError, until it
// was sent attemptsMax times: it sends the earlier writes again in a new one. It reports whether that succeeded; then
// the caller sends the refused command again.
func (x *transactions) again(t *testing.T, reply bson.Raw, err error, tries int) bool {
	t.Helper()
	if err != nil || !x.refusable || tries == attemptsMax || !strings.Contains(Render(reply, true), "+TransientTransactionError") {
		return false
	}
	before := x.writes
	x.open, x.writes = false, nil
	for i, w := range before {
		reply, err := x.inside(w.db, w.cmd)
		if err != nil {
			t.Fatal(err)
		}
		if x.open {
			continue
		}
		x.writes = before // all of them: not all may have been sent again
		t.Logf("statement %d of a transaction that is sent again: %s", i, Render(reply, true))
		return x.again(t, reply, nil, tries+1)
	}
	return true
}

// partly reports whether an expected reply contains write errors. Such a command runs outside of transactions: there
// the writes before the failed one stay, while a transaction would be aborted.
func partly(want string) bool {
	return strings.Contains(want, `"writeErrors":`) || strings.Contains(want, `"nErrors":`) && !strings.Contains(want, `"nErrors":0,`)
}

// commit ends the transaction, which must succeed.
func (x *transactions) commit(t *testing.T) {
	t.Helper()
	if !x.open {
		return
	}
	for tries := 1; ; tries++ {
		reply, err := x.conn.Command("admin", mustMarshal(bson.D{{Key: "commitTransaction", Value: 1},
			{Key: "lsid", Value: session}, {Key: "txnNumber", Value: x.number}, {Key: "autocommit", Value: false}}))
		if err != nil {
			t.Fatal(err)
		}
		text := Render(reply, true)
		if x.refusable && tries < attemptsMax && strings.Contains(text, "+UnknownTransactionCommitResult") {
			continue // the outcome is undetermined; a second commit returns it
		}
		if strings.HasPrefix(text, "error ") && x.again(t, reply, nil, tries) && x.open {
			continue
		}
		if strings.HasPrefix(text, "error ") && (!x.refusable || len(x.writes) > 0) {
			t.Errorf("commitTransaction: %s", text)
		}
		x.open = false
		return
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
