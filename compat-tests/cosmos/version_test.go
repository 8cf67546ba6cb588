package cosmos

import (
	"encoding/binary"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// An account of a version shows that version, and accepts commands as OP_QUERY if MongoDB of that
// version did: the Java driver 3.12 sends buildInfo so.
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

// query sends a command as OP_QUERY and returns the document of the OP_REPLY.
func query(t *testing.T, uri, db string, command bson.D) bson.Raw {
	t.Helper()
	c := dial(t, uri)
	raw, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	frame := append(make([]byte, 16+4), db+".$cmd\x00"...)
	frame = binary.LittleEndian.AppendUint32(frame, 0)
	frame = append(binary.LittleEndian.AppendUint32(frame, 0xffffffff), raw...)
	harness.PutHeader(frame, 7, 0, 2004)
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
	return bson.Raw(reply[16+20:])
}
