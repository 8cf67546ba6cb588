package auth

import (
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestUnauthenticatedMessagesAreShort checks that, until a client has logged in, the server refuses messages that are
// longer than a login needs.
func TestUnauthenticatedMessagesAreShort(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	big := func() bson.D {
		return bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "s", Value: string(make([]byte, 100_000))}}}}}
	}
	doc, err := bson.Marshal(big())
	bsontest.Must(t, err)
	if reply, err := s.Dial(t).Command("test", doc); err == nil {
		t.Errorf("a long message of a stranger is answered: %v", reply)
	}
	createRoot(t, dial(t, s.URI))
	bsontest.Must(t, run(t, as(t, s, rootCredential), "test", big()))
}

// TestConnectionsPerAddress checks that connections beyond --max-connections-per-address are closed at once, and that
// the connections below the limit work.
func TestConnectionsPerAddress(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--max-connections-per-address", "4"}})
	ping, err := bson.Marshal(bson.D{{Key: "ping", Value: 1}})
	bsontest.Must(t, err)
	var conns []*harness.Conn
	for range 4 {
		c := s.Dial(t)
		_, err := c.Command("admin", ping)
		bsontest.Must(t, err)
		conns = append(conns, c)
	}
	c := s.Dial(t)
	if _, err := c.Command("admin", ping); err == nil {
		t.Error("a fifth connection is served")
	}
	for _, c := range conns {
		_, err := c.Command("admin", ping)
		bsontest.Must(t, err)
	}
	_ = net.Conn(conns[0]).Close()
	for range 100 { // until the server has noticed the close
		if _, err := s.Dial(t).Command("admin", ping); err == nil {
			return
		}
	}
	t.Error("no connection after another has gone")
}
