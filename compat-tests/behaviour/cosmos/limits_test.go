package cosmos

import (
	"encoding/binary"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestInsertMany checks that a driver can insert 2,500 documents by one InsertMany at the Cosmos address, which
// accepts fewer in a command: the driver splits the insert by the maximum that hello reports.
// Source: Azure Cosmos DB for MongoDB, "optimize-write-performance".
func TestInsertMany(t *testing.T) {
	s := start(t)
	coll := connect(t, s.CosmosURI).Database("test").Collection("many")
	docs := make([]bson.D, 2500)
	for i := range docs {
		docs[i] = d("_id", i)
	}
	ctx := harness.Context(t)
	if r, err := coll.InsertMany(ctx, docs); err != nil || len(r.InsertedIDs) != len(docs) {
		t.Fatal(err)
	}
	if n, err := coll.CountDocuments(ctx, bson.D{}); err != nil || n != int64(len(docs)) {
		t.Errorf("%d documents, %v", n, err)
	}
}

// TestReportedLimits checks that each address enforces the limits that its hello reports: a request at the limit is
// accepted, and one beyond it is refused.
func TestReportedLimits(t *testing.T) {
	s := start(t)
	for _, at := range []struct {
		uri   string
		batch int32
	}{{s.URI, 100_000}, {s.CosmosURI, 1000}} {
		c := limitsConn{t, address(t, at.uri)}
		hello := c.send("hello", bson.D{})
		if got := hello.Lookup("maxWriteBatchSize").Int32(); got != at.batch {
			t.Errorf("%s: maxWriteBatchSize %d, want %d", c.addr, got, at.batch)
		}
		c.batches(int(hello.Lookup("maxWriteBatchSize").Int32()))
		c.documents(int(hello.Lookup("maxBsonObjectSize").Int32()))
		c.messages(int(hello.Lookup("maxMessageSizeBytes").Int32()), int(hello.Lookup("maxBsonObjectSize").Int32()))
		if build := c.send("buildInfo", bson.D{}); !build.Lookup("maxBsonObjectSize").Equal(hello.Lookup("maxBsonObjectSize")) {
			t.Errorf("%s: buildInfo has another size than hello", c.addr)
		}
	}
}

// limitsConn sends commands to one address of the server, each over a new connection.
type limitsConn struct {
	*testing.T
	addr string
}

// send sends a command with the given name, on the collection c, with further fields, and returns the reply.
func (c limitsConn) send(name string, more bson.D) bson.Raw {
	c.Helper()
	conn, err := harness.DialAddr(c.addr)
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close()
	raw, err := bson.Marshal(append(d(name, "c"), more...))
	if err != nil {
		c.Fatal(err)
	}
	reply, err := conn.Command("limits", raw)
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	return reply
}

// batches checks the maximum number of statements of insert, update and delete: n of them are accepted, and one more
// is refused.
func (c limitsConn) batches(n int) {
	c.Helper()
	list := func(statement bson.D, n int) bson.A {
		out := make(bson.A, n)
		for i := range out {
			out[i] = statement
		}
		return out
	}
	nothing := d("_id", "nothing")
	for name, of := range map[string]func(n int) bson.D{
		"insert": func(n int) bson.D { return d("documents", list(bson.D{}, n)) },
		"update": func(n int) bson.D { return d("updates", list(d("q", nothing, "u", d("$set", d("a", 1))), n)) },
		"delete": func(n int) bson.D { return d("deletes", list(d("q", nothing, "limit", 1), n)) },
	} {
		if r := c.send(name, of(n)); r.Lookup("ok").Double() != 1 || r.Lookup("writeErrors").Type != 0 {
			c.Errorf("%s: %s of %d: %v", c.addr, name, n, r)
		}
		if r := c.send(name, of(n+1)); r.Lookup("code").AsInt64() != 16 {
			c.Errorf("%s: %s of %d: %v", c.addr, name, n+1, r)
		}
	}
}

// documents checks the maximum size of a document: one of n bytes is accepted, and one of n+1 bytes is refused.
func (c limitsConn) documents(n int) {
	c.Helper()
	sized := func(n int) bson.D {
		empty, err := bson.Marshal(d("_id", c.addr, "n", int32(n), "s", ""))
		if err != nil {
			c.Fatal(err)
		}
		return d("documents", bson.A{d("_id", c.addr, "n", int32(n), "s", strings.Repeat("s", n-len(empty)))})
	}
	if r := c.send("insert", sized(n)); r.Lookup("n").AsInt64() != 1 {
		c.Errorf("%s: a document of %d bytes: %v", c.addr, n, r)
	}
	if r := c.send("insert", sized(n+1)); r.Lookup("ok").Double() == 1 && r.Lookup("n").AsInt64() == 1 {
		c.Errorf("%s: a document of %d bytes: %v", c.addr, n+1, r)
	}
}

// messages checks the maximum length of messages: one of n bytes, with documents of at most size bytes, is accepted,
// and one of n+1 bytes is refused.
func (c limitsConn) messages(n, size int) {
	c.Helper()
	body, err := bson.Marshal(d("insert", "c", "$db", "limits"))
	if err != nil {
		c.Fatal(err)
	}
	sized := func(n int) []byte {
		frame := append(make([]byte, 16, n), 0, 0, 0, 0, 0)
		frame = append(frame, body...)
		frame = append(frame, 1)
		frame = binary.LittleEndian.AppendUint32(frame, uint32(n-len(frame)))
		frame = append(frame, "documents\x00"...)
		empty, err := bson.Marshal(d("s", ""))
		if err != nil {
			c.Fatal(err)
		}
		for parts := (n - len(frame) + size - 1) / size; parts > 0; parts-- {
			pad := strings.Repeat("s", (n-len(frame))/parts-len(empty))
			doc, err := bson.Marshal(d("s", pad))
			if err != nil {
				c.Fatal(err)
			}
			frame = append(frame, doc...)
		}
		harness.PutHeader(frame, 0, 0, 2013)
		return frame
	}
	answered := func(n int) (bson.Raw, bool) {
		conn, err := harness.DialAddr(c.addr)
		if err != nil {
			c.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(sized(n)); err != nil {
			return nil, false
		}
		r, err := conn.Receive()
		return r, err == nil && r.Lookup("ok").Double() == 1
	}
	if r, ok := answered(n); !ok {
		c.Errorf("%s: a message of %d bytes: %v", c.addr, n, r)
	}
	if _, ok := answered(n + 1); ok {
		c.Errorf("%s: a message of %d bytes is answered", c.addr, n+1)
	}
}
