package memory

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/wire"
)

// TestIdleConnections checks that idle connections take little memory in the server: they have buffers only while
// a message is being received or sent.
func TestIdleConnections(t *testing.T) {
	const conns, bytesEach = 1000, 16 << 10
	ctx := context.Background()
	s, db := start(t)
	resident := func() int64 {
		var out struct {
			Mem struct {
				Resident int64 `bson:"resident"`
			} `bson:"mem"`
		}
		if err := db.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&out); err != nil {
			t.Fatal(err)
		}
		if out.Mem.Resident == 0 {
			t.Skip("this system does not tell how much memory a process holds")
		}
		return out.Mem.Resident << 20
	}
	before := resident()
	body, err := bson.Marshal(bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		t.Fatal(err)
	}
	hello, head := wire.AppendMsg(nil, 1, 0, body), make([]byte, wire.HeaderSize)
	for range conns {
		conn, err := net.DialTimeout("tcp", s.Addr, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(hello); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
	}
	grown := resident() - before
	t.Logf("%d bytes for each of %d connections", grown/conns, conns)
	if grown > conns*bytesEach {
		t.Errorf("%d connections that wait hold %d bytes, more than %d each", conns, grown, bytesEach)
	}
}
