package abuse

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/wire/defects"
)

// command runs a command on a new connection, because a panic in the server ends the connection.
func command(t *testing.T, s *harness.Server, cmd bson.D) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(cmd)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Dial(t).Command("test", doc)
	if err != nil {
		t.Fatalf("%s: %v", bson.Raw(doc), err)
	}
	return reply
}

// wantCode checks that a reply has the error code want, 0 for no error.
func wantCode(t *testing.T, what string, reply bson.Raw, want int64) {
	t.Helper()
	got, _ := reply.Lookup("code").AsInt64OK()
	if got != want || (want == 0) != (reply.Lookup("ok").Double() == 1) {
		t.Errorf("%s: %s, want code %d", what, reply, want)
	}
}

// failing sets a fail point by which the next command to which the point applies panics, as a bug would let it
// panic.
func failing(t *testing.T, s *harness.Server, point string, data bson.D) {
	t.Helper()
	doc, err := bson.Marshal(bson.D{{Key: "configureFailPoint", Value: point}, {Key: "mode", Value: bson.D{{Key: "times", Value: 1}}}, {Key: "data", Value: data}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Dial(t).Command("admin", doc)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, point, reply, 0)
}

// TestPanicIsSeen checks that a command that panics gets the reply InternalError, that its transaction or cursor
// ends, and that later commands on other connections succeed. Each panic is counted, and files in the data folder,
// one for each place of a panic, have the stacks.
func TestPanicIsSeen(t *testing.T) {
	folder := t.TempDir()
	s := harness.Start(t, harness.Options{Data: folder, Defects: true, Args: []string{"--enable-test-commands", "--metrics-listen", "127.0.0.1:0"}})
	update := func(by string, more ...bson.E) bson.D {
		return append(bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.M{"_id": 1}}, {Key: "u", Value: bson.M{"$set": bson.M{"by": by}}}}}}}, more...)
	}
	find := func(more ...bson.E) bson.D {
		return append(bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 2}}, more...)
	}
	docs := bson.A{}
	for i := range 5 {
		docs = append(docs, bson.M{"_id": i})
	}
	wantCode(t, "insert", command(t, s, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}}), 0)
	panics := bson.D{{Key: "failCommands", Value: bson.A{"find"}}, {Key: "panic", Value: true}}

	inTxn := func(first bool) (out []bson.E) {
		out = []bson.E{{Key: "lsid", Value: bson.M{"id": bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}}}, {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}}
		if first {
			out = append(out, bson.E{Key: "startTransaction", Value: true})
		}
		return out
	}
	wantCode(t, "the transaction", command(t, s, update("it", inTxn(true)...)), 0)
	failing(t, s, "failCommand", panics)
	wantCode(t, "a find that panics", command(t, s, find(inTxn(false)...)), 1)
	wantCode(t, "an update of what the transaction has written", command(t, s, update("another", bson.E{Key: "maxTimeMS", Value: 20_000})), 0)
	wantCode(t, "the next command of the transaction", command(t, s, find(inTxn(false)...)), 251)

	getMore := bson.D{{Key: "getMore", Value: command(t, s, find()).Lookup("cursor", "id").Int64()}, {Key: "collection", Value: "c"}}
	failing(t, s, "failGetMoreAfterCursorCheckout", bson.D{{Key: "panic", Value: true}})
	wantCode(t, "a getMore that panics", command(t, s, getMore), 1)
	wantCode(t, "its cursor", command(t, s, getMore), 43)
	for range 12 {
		failing(t, s, "failCommand", panics)
		wantCode(t, "a find that panics", command(t, s, find()), 1)
	}
	wantCode(t, "what the client's next connection asks", command(t, s, find()), 0)

	status := command(t, s, bson.D{{Key: "serverStatus", Value: 1}})
	if status.Lookup("asserts", "tripwire").AsInt64() != 14 || status.Lookup("asserts", "msg").AsInt64() != 0 {
		t.Errorf("asserts: %s", status.Lookup("asserts"))
	}
	at := regexp.MustCompile(`http://[0-9.:]+/metrics`).FindString(s.Log())
	if r, err := http.Get(at); err != nil {
		t.Errorf("%q: %v", at, err)
	} else {
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if !strings.Contains(string(text), `cantle_defects_total{kind="panic"} 14`) {
			t.Error("the metrics do not count them")
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "defects", "*"))
	if err != nil || len(files) < 2 || len(files) > 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "goroutine ") || !strings.Contains(string(text), "a fail point has asked for it") {
			t.Errorf("%v\n%s", err, text)
		}
		if strings.Count(s.Log(), path) != 1 {
			t.Errorf("%s is not in the log, once", path)
		}
	}
	if n := strings.Count(s.Log(), defects.Mark); n > 2*len(files) {
		t.Errorf("%d lines about %d kinds", n, len(files))
	}
}

// TestPanicFailsTests checks that a test fails if its server has logged a panic.
func TestPanicFailsTests(t *testing.T) {
	s, err := harness.Launch(harness.Options{Args: []string{"--enable-test-commands"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	failing(t, s, "failCommand", bson.D{{Key: "failCommands", Value: bson.A{"find"}}, {Key: "panic", Value: true}})
	wantCode(t, "a find that panics", command(t, s, bson.D{{Key: "find", Value: "c"}}), 1)
	if err := s.Stop(); err == nil || !strings.Contains(err.Error(), defects.Mark) {
		t.Errorf("the test has not been told: %v", err)
	}
}
