package cosmos

import (
	"encoding/binary"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestAccountVersions checks that an account reports its version, and accepts commands in the form OP_QUERY if
// MongoDB of that version did: the Java driver 3.12 sends buildInfo in this form.
// Source: Azure Cosmos DB for MongoDB, "upgrade-version". Manual: legacy-opcodes.
func TestAccountVersions(t *testing.T) {
	for _, v := range []struct {
		version, full string
		wire          int32
		queries       bool
	}{{"3.6", "3.6.0", 6, true}, {"4.2", "4.2.0", 8, true}, {"5.0", "5.0.0", 13, true}, {"6.0", "6.0.0", 17, false}, {"7.0", "", 21, false}} {
		t.Run(v.version, func(t *testing.T) {
			s := start(t, "--cosmos-version", v.version)
			if got := query(t, s.CosmosURI, "admin", d("isMaster", 1)).Lookup("maxWireVersion").Int32(); got != v.wire {
				t.Errorf("maxWireVersion %d", got)
			}
			r := query(t, s.CosmosURI, "admin", d("buildinfo", 1))
			if !v.queries {
				if r.Lookup("code").AsInt64() != 352 {
					t.Errorf("buildinfo by OP_QUERY: %v", r)
				}
				return
			}
			if r.Lookup("version").StringValue() != v.full {
				t.Errorf("buildinfo: %v", r)
			}
			if r := query(t, s.CosmosURI, "test", d("insert", "c", "documents", bson.A{d("_id", 1)})); r.Lookup("n").AsInt64() != 1 {
				t.Errorf("insert: %v", r)
			}
			r = query(t, s.CosmosURI, "test", d("$query", d("find", "c", "filter", bson.D{}), "$readPreference", d("mode", "primary")))
			if batch, err := r.Lookup("cursor", "firstBatch").Array().Values(); err != nil || len(batch) != 1 {
				t.Errorf("find: %v", r)
			}
			if r := query(t, s.URI, "admin", d("buildinfo", 1)); r.Lookup("code").AsInt64() != 352 {
				t.Errorf("at the other address: %v", r)
			}
		})
	}
}

// TestCursorOpcodes checks the old messages OP_GET_MORE, whose reply has only documents, and OP_KILL_CURSORS: the
// driver mgo uses them for the cursors of listCollections and listIndexes.
// Manual: legacy-opcodes.
func TestCursorOpcodes(t *testing.T) {
	s := start(t, "--cosmos-version", "3.6")
	for i := range 5 {
		query(t, s.CosmosURI, "test", d("insert", "c", "documents", bson.A{d("_id", i)}))
	}
	c := dial(t, s.CosmosURI)
	open := func() int64 {
		r := queryAt(t, c, "test", d("find", "c", "filter", bson.D{}, "batchSize", 0))
		return r.Lookup("cursor", "id").AsInt64()
	}
	more := func(id int64, n int32) (flags uint32, next int64, docs []bson.Raw) {
		t.Helper()
		frame := append(make([]byte, 16+4), "test.c\x00"...)
		frame = binary.LittleEndian.AppendUint32(frame, uint32(n))
		reply := send(t, c, binary.LittleEndian.AppendUint64(frame, uint64(id)), 2005)
		docs = documents(t, reply)
		if n := binary.LittleEndian.Uint32(reply[32:]); int(n) != len(docs) {
			t.Errorf("%d documents counted, %d there", n, len(docs))
		}
		return binary.LittleEndian.Uint32(reply[16:]), int64(binary.LittleEndian.Uint64(reply[20:])), docs
	}
	id := open()
	if _, next, docs := more(id, 2); next != id || len(docs) != 2 || docs[1].Lookup("_id").AsInt64() != 1 {
		t.Errorf("first batch: %d, %v", next, docs)
	}
	if _, next, docs := more(id, 0); next != 0 || len(docs) != 3 || docs[2].Lookup("_id").AsInt64() != 4 {
		t.Errorf("last batch: %d, %v", next, docs)
	}
	if flags, _, docs := more(id, 2); flags != 1 || len(docs) != 0 {
		t.Errorf("of a finished cursor: flags %d, %v", flags, docs)
	}
	id = open()
	frame := binary.LittleEndian.AppendUint32(make([]byte, 16+4), 1)
	frame = binary.LittleEndian.AppendUint64(frame, uint64(id))
	harness.PutHeader(frame, 9, 0, 2007)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	if flags, _, _ := more(id, 2); flags != 1 {
		t.Errorf("of a killed cursor: flags %d", flags)
	}
	other := dial(t, s.URI)
	frame = append(make([]byte, 16+4), "test.c\x00"...)
	docs := documents(t, send(t, other, append(frame, make([]byte, 12)...), 2005))
	if len(docs) != 1 || docs[0].Lookup("code").AsInt64() != 5739101 || docs[0].Lookup("$err").StringValue() == "" {
		t.Errorf("at the other address: %v", docs)
	}
}

// documents returns the documents of an OP_REPLY.
func documents(t *testing.T, reply []byte) (docs []bson.Raw) {
	t.Helper()
	for rest := reply[36:]; len(rest) > 0; {
		n := int(binary.LittleEndian.Uint32(rest))
		if n > len(rest) || bson.Raw(rest[:n]).Validate() != nil {
			t.Fatalf("a document of %d bytes in %d", n, len(rest))
		}
		docs, rest = append(docs, bson.Raw(rest[:n])), rest[n:]
	}
	return docs
}

// query sends a command as the old message OP_QUERY, over a new connection, and returns the document of the reply.
func query(t *testing.T, uri, db string, command bson.D) bson.Raw {
	t.Helper()
	return queryAt(t, dial(t, uri), db, command)
}

func queryAt(t *testing.T, c *harness.Conn, db string, command bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	frame := append(make([]byte, 16+4), db+".$cmd\x00"...)
	frame = binary.LittleEndian.AppendUint32(frame, 0)
	frame = append(binary.LittleEndian.AppendUint32(frame, 0xffffffff), raw...)
	return documents(t, send(t, c, frame, 2004))[0]
}

// send sends a message of an old kind, whose header it fills in, and returns the OP_REPLY.
func send(t *testing.T, c *harness.Conn, frame []byte, opCode uint32) []byte {
	t.Helper()
	harness.PutHeader(frame, 7, 0, opCode)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	reply, err := c.ReceiveFrame()
	if err != nil {
		t.Fatal(err)
	}
	if op := binary.LittleEndian.Uint32(reply[12:]); op != 1 {
		t.Fatalf("op code %d", op)
	}
	return reply
}
