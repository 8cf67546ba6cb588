package memory

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestHalfSentMessages checks that clients that announce messages of 48 MB and send only a part hold no more
// memory than the limit of all messages, and that memory is taken from them for a client that sends.
func TestHalfSentMessages(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	c := db.Collection("c")
	head := make([]byte, 256<<10)
	binary.LittleEndian.PutUint32(head, 48_000_000)
	binary.LittleEndian.PutUint32(head[12:], 2013)
	var conns []net.Conn
	for i := range 12 {
		conn, err := net.DialTimeout("tcp", s.Addr, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // the deadline ends the write: the server does not read from connections for which it has no memory
		_, _ = conn.Write(head[:len(head)>>(i%3*8)])
	}
	large := bson.D{{Key: "s", Value: strings.Repeat("x", 4<<20)}}
	if _, err := c.InsertOne(ctx, large); err != nil {
		t.Errorf("a large document meanwhile: %v", err)
	}
	if m := workOf(ctx, t, db)["messages"]; m.PeakBytes == 0 || m.PeakBytes > m.MaxBytes {
		t.Errorf("messages: %+v", m)
	}
	for _, conn := range conns {
		conn.Close()
	}
	waitReleased(ctx, t, db, "messages")
}

// TestUnreadReplies checks that replies that clients do not read hold at most 17 MiB more than the limit of all
// replies, and less than the limit after a while, and that another client continues.
func TestUnreadReplies(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	c := db.Collection("c")
	for range 24 { // few cursors, because each holds one document of half a megabyte
		if _, err := c.InsertOne(ctx, bson.D{{Key: "s", Value: strings.Repeat("x", 512<<10)}}); err != nil {
			t.Fatal(err)
		}
	}
	body, err := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 100}, {Key: "$db", Value: "memory"}})
	if err != nil {
		t.Fatal(err)
	}
	message := append(make([]byte, 16+5), body...)
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	binary.LittleEndian.PutUint32(message[12:], 2013)
	for range 12 {
		conn, err := net.DialTimeout("tcp", s.Addr, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(message); err != nil {
			t.Fatal(err)
		}
	}
	cur, err := c.Find(ctx, bson.D{}, options.Find().SetBatchSize(100))
	if err != nil {
		t.Fatal(err)
	}
	var out []bson.Raw
	if err := cur.All(ctx, &out); err != nil || len(out) != 24 {
		t.Errorf("a reader meanwhile: %d documents, %v", len(out), err)
	}
	var r share
	for range 600 { // the server disconnects a client that does not read
		if r = workOf(ctx, t, db)["replies"]; r.Bytes <= r.MaxBytes/8*7 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if r.Bytes > r.MaxBytes/8*7 || r.PeakBytes > r.MaxBytes+17<<20 {
		t.Errorf("replies: %+v", r)
	}
}

// TestUncommittedWritesShareMemory checks that the uncommitted writes of all transactions share memory: writes
// beyond it are refused, and a write succeeds once the transactions have ended.
func TestUncommittedWritesShareMemory(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	if err := db.CreateCollection(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	client := s.Client(t)
	c := client.Database("memory").Collection("c")
	doc := bson.D{{Key: "s", Value: strings.Repeat("x", 3<<20)}}
	var sessions []*mongo.Session
	refused := 0
	for range 8 {
		session, err := client.StartSession()
		if err != nil {
			t.Fatal(err)
		}
		defer session.EndSession(ctx)
		if err := session.StartTransaction(); err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
		limited, cancel := context.WithTimeout(mongo.NewSessionContext(ctx, session), time.Minute)
		defer cancel()
		if _, err := c.InsertOne(limited, doc); err != nil {
			e, ok := err.(mongo.CommandError)
			if refused++; !ok || e.Code != 146 || !e.HasErrorLabel("TransientTransactionError") {
				t.Errorf("the write that is too much: %v", err)
			}
		}
	}
	if w := workOf(ctx, t, db)["writes"]; refused == 0 || refused == 8 || w.PeakBytes > w.MaxBytes {
		t.Errorf("%d were refused, writes: %+v", refused, w)
	}
	for _, session := range sessions {
		_ = session.AbortTransaction(ctx)
	}
	if _, err := c.InsertOne(ctx, doc); err != nil {
		t.Errorf("after they ended: %v", err)
	}
	waitReleased(ctx, t, db, "writes")
}
