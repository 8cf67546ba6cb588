package crash

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestRetryAfterKill checks that a retryable write gets the same reply when it is repeated after a kill, without a
// second effect, if its first reply was sent before the kill and its session has begun nothing later. The same holds
// for the commit of a transaction. Spec: retryable-writes, transactions.
func TestRetryAfterKill(t *testing.T) {
	testenv.SkipWithURI(t)
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) { return 1, "" })
	_, dir := begin(t)
	launch := func() (*harness.Server, func(format string, args ...any) bson.Raw) {
		server := harness.Start(t, harness.Options{Data: dir})
		conn := server.Dial(t)
		return server, func(format string, args ...any) bson.Raw {
			t.Helper()
			var command bson.D
			if err := bson.UnmarshalExtJSON([]byte(fmt.Sprintf(format, args...)), false, &command); err != nil {
				t.Fatal(err)
			}
			raw, err := bson.Marshal(command)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := conn.Command("crash", raw)
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
	}
	session := func(n, number int) string {
		return fmt.Sprintf(`"lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAA%c==", "subType": "04"}}}, "txnNumber": {"$numberLong": "%d"}`, "AQgw"[n], number)
	}
	commands := []string{
		`{"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0}], ` + session(0, 1) + `}`,
		`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}, {"q": {"_id": 2}, "u": {"$inc": {"n": 1}}}], ` + session(1, 5) + `}`,
		`{"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 10}}, ` + session(2, 1) + `}`,
		`{"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}], ` + session(0, 2) + `}`,
	}
	ends := `"autocommit": false, ` + session(3, 1)
	commit := `{"commitTransaction": 1, "$db": "admin", ` + ends + `}`

	server, ask := launch()
	first := make([]bson.Raw, len(commands))
	for i, command := range commands {
		if first[i] = ask("%s", command); first[i].Lookup("ok").AsInt64() != 1 {
			t.Fatalf("%s: %v", command, first[i])
		}
	}
	ask(`{"insert": "c", "documents": [{"_id": 3, "n": 0}], "startTransaction": true, %s}`, ends)
	if r := ask("%s", commit); r.Lookup("ok").AsInt64() != 1 {
		t.Fatalf("%v", r)
	}
	server.Kill()

	_, ask = launch()
	for i, command := range commands[1:] { // without the first command, whose session has a later transaction by now
		was, again := first[i+1], ask("%s", command)
		for _, field := range []string{"ok", "n", "nModified", "value", "lastErrorObject"} {
			if !again.Lookup(field).Equal(was.Lookup(field)) {
				t.Errorf("%s: %s was %v and is %v", command, field, was.Lookup(field), again.Lookup(field))
			}
		}
		if again.Lookup("retriedStmtIds").IsZero() && again.Lookup("retriedStmtId").IsZero() {
			t.Errorf("%s was not answered from memory: %v", command, again)
		}
	}
	if r := ask("%s", commit); r.Lookup("ok").AsInt64() != 1 {
		t.Errorf("the commit repeated: %v", r)
	}
	for command, want := range map[string]int64{
		commands[0]: 225, // TransactionTooOld
		`{"insert": "c", "documents": [{"_id": 4}], ` + session(3, 1) + `}`:                    217, // IncompleteTransactionHistory
		`{"insert": "c", "documents": [{"_id": 4}], ` + ends + `}`:                             256, // TransactionCommitted
		`{"commitTransaction": 1, "$db": "admin", "autocommit": false, ` + session(2, 1) + `}`: 251, // NoSuchTransaction
		`{"abortTransaction": 1, "$db": "admin", ` + ends + `}`:                                256,
	} {
		if r := ask("%s", command); r.Lookup("ok").AsInt64() != 0 || r.Lookup("code").AsInt64() != want {
			t.Errorf("%s: %v, want %d", command, r, want)
		}
	}
	docs, _ := ask(`{"find": "c", "sort": {"_id": 1}}`).Lookup("cursor", "firstBatch").ArrayOK()
	if got := docs.String(); got != `[{"_id": {"$numberInt":"1"},"n": {"$numberInt":"11"}},{"_id": {"$numberInt":"3"},"n": {"$numberInt":"0"}}]` {
		t.Errorf("the documents: %s", got)
	}
}
