package protocol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Op codes and flags used here. Spec: message/OP_MSG.
const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013

	moreToCome = 1 << 1
)

// marshal encodes a document.
func marshal(t *testing.T, doc any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// alive checks that the server answers on a new connection.
func alive(t *testing.T, s *harness.Server) {
	t.Helper()
	reply, err := s.Dial(t).Command("admin", marshal(t, bson.D{{Key: "ping", Value: 1}}))
	if err != nil || reply.Lookup("ok").Double() != 1 {
		t.Fatalf("after that, ping answers %v, %v", reply, err)
	}
}

func TestHelloByQuery(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := s.Dial(t)
	frame := make([]byte, 16+4)
	frame = append(frame, "admin.$cmd\x00"...)
	frame = binary.LittleEndian.AppendUint32(frame, 0)
	frame = binary.LittleEndian.AppendUint32(frame, 0xffffffff)
	frame = append(frame, marshal(t, bson.D{{Key: "isMaster", Value: 1}, {Key: "helloOk", Value: true}})...)
	harness.PutHeader(frame, 77, 0, opQuery)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	reply, err := c.ReceiveFrame()
	if err != nil {
		t.Fatal(err)
	}
	if op, to := binary.LittleEndian.Uint32(reply[12:]), binary.LittleEndian.Uint32(reply[8:]); op != opReply || to != 77 {
		t.Errorf("op code %d in reply to %d", op, to)
	}
	doc := bson.Raw(reply[16+20:])
	if ok, _ := doc.Lookup("ok").AsFloat64OK(); ok != 1 {
		t.Errorf("reply %s", doc)
	}
	if v, _ := doc.Lookup("maxWireVersion").AsInt64OK(); v < 17 {
		t.Errorf("maxWireVersion %d: current drivers will not connect", v)
	}
}

// TestClientMetadata checks that the client's metadata in hello must be complete (with driver and os) or empty. The
// Node driver sends empty metadata in environments of Jest.
func TestClientMetadata(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	part := func(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }
	driver := bson.D{{Key: "name", Value: "x"}, {Key: "version", Value: "1"}}
	for _, c := range []struct {
		says bson.D
		code int32
	}{
		{bson.D{}, 0},
		{part("application", part("name", "x")), 183},
		{part("driver", driver), 183},
		{append(part("driver", driver), part("os", part("type", "Linux"))...), 0},
	} {
		reply, err := s.Dial(t).Command("admin", marshal(t, bson.D{{Key: "hello", Value: 1}, {Key: "client", Value: c.says}}))
		code, _ := reply.Lookup("code").Int32OK()
		if err != nil || code != c.code {
			t.Errorf("%v: code %d, want %d; %v", c.says, code, c.code, err)
		}
	}
}

// TestMoreToComeIsNotAnswered checks that a write with the flag moreToCome gets no reply, so that the next reply
// belongs to the next command.
func TestMoreToComeIsNotAnswered(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := s.Dial(t)
	for i := range 3 {
		insert := marshal(t, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: i / 2}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "w", Value: 0}}}})
		if err := c.Send("test", insert, moreToCome); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := c.Command("test", marshal(t, bson.D{{Key: "count", Value: "c"}}))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := reply.Lookup("n").AsInt64OK(); n != 2 {
		t.Errorf("reply %s, want n: 2", reply)
	}
}

// TestSequences checks that a document sequence may come before or after the body of a message.
func TestSequences(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := s.Dial(t)
	sequence := func(name string, docs ...bson.Raw) []byte {
		body := append([]byte(name), 0)
		for _, doc := range docs {
			body = append(body, doc...)
		}
		out := binary.LittleEndian.AppendUint32([]byte{1}, uint32(len(body)+4))
		return append(out, body...)
	}
	body := append([]byte{0}, marshal(t, bson.D{{Key: "insert", Value: "c"}, {Key: "$db", Value: "test"}})...)
	docs := sequence("documents", marshal(t, bson.D{{Key: "_id", Value: 1}}), marshal(t, bson.D{{Key: "_id", Value: 2}}))
	for i, sections := range [][]byte{bytes.Join([][]byte{body, docs}, nil), bytes.Join([][]byte{docs, body}, nil)} {
		frame := append(make([]byte, 20), sections...)
		harness.PutHeader(frame, int32(i), 0, opMsg)
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		reply, err := c.ReceiveFrame()
		if err != nil {
			t.Fatal(err)
		}
		doc := bson.Raw(reply[21:])
		n, _ := doc.Lookup("n").AsInt64OK()
		if want := int64(2 - 2*i); n != want { // the second time both are duplicates
			t.Errorf("order %d: %s, want n: %d", i, doc, want)
		}
	}
}

// brokenFrames returns frames with errors, by names. Each is sent over a connection of its own.
func brokenFrames(t *testing.T) map[string][]byte {
	ping := marshal(t, bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "admin"}})
	msg := func(op uint32, flags uint32, sections ...[]byte) []byte {
		frame := binary.LittleEndian.AppendUint32(make([]byte, 16), flags)
		for _, s := range sections {
			frame = append(frame, s...)
		}
		harness.PutHeader(frame, 1, 0, op)
		return frame
	}
	withLength := func(frame []byte, n uint32) []byte {
		frame = bytes.Clone(frame)
		binary.LittleEndian.PutUint32(frame, n)
		return frame
	}
	body := append([]byte{0}, ping...)
	good := msg(opMsg, 0, body)
	tooLong := bytes.Clone(body)
	binary.LittleEndian.PutUint32(tooLong[1:], 0x7fffffff)
	badName := marshal(t, bson.D{{Key: "find", Value: "c"}, {Key: "$db", Value: "test"}, {Key: "filter", Value: bson.D{{Key: "a", Value: "text"}}}})
	badString := bytes.Replace(bytes.Clone(badName), []byte{5, 0, 0, 0, 't', 'e', 'x', 't'}, []byte{0xff, 0xff, 0xff, 0x7f, 't', 'e', 'x', 't'}, 1)
	deep := bson.D{{Key: "a", Value: 1}}
	for range 1000 {
		deep = bson.D{{Key: "a", Value: deep}}
	}
	return map[string][]byte{
		"zero length":         withLength(good, 0),
		"negative length":     withLength(good, 0xffffffff),
		"huge length":         withLength(good, 0x7fffffff),
		"short length":        withLength(good, 15),
		"length cuts a body":  withLength(good, 30),
		"unknown op code":     msg(4711, 0, body),
		"unknown flag":        msg(opMsg, 1<<5, body),
		"no section":          msg(opMsg, 0),
		"unknown section":     msg(opMsg, 0, []byte{7, 5, 0, 0, 0, 0}),
		"two bodies":          msg(opMsg, 0, body, body),
		"body length":         msg(opMsg, 0, tooLong),
		"checksum missing":    msg(opMsg, 1, []byte{0}),
		"checksum wrong":      msg(opMsg, 1, body, []byte{1, 2, 3, 4}),
		"sequence length":     msg(opMsg, 0, body, []byte{1, 0xff, 0xff, 0xff, 0x7f, 'a', 0}),
		"sequence unending":   msg(opMsg, 0, body, []byte{1, 8, 0, 0, 0, 'a', 'b', 'c', 'd'}),
		"string length":       msg(opMsg, 0, append([]byte{0}, badString...)),
		"1000 levels deep":    msg(opMsg, 0, append([]byte{0}, marshal(t, bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: deep}, {Key: "$db", Value: "test"}})...)),
		"compressed nonsense": msg(2012, 0, bytes.Repeat([]byte{0xee}, 40)),
		"text":                []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"half a frame":        good[:len(good)-3],
		"half a header":       good[:7],
	}
}

func TestBrokenFrames(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	for name, frame := range brokenFrames(t) {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			c := s.Dial(t)
			if _, err := c.Write(frame); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(name, "half") && !strings.Contains(name, "cuts") {
				// The reply must be an error; to close the connection without a reply is right, too.
				if reply, err := c.ReceiveFrame(); err == nil && len(reply) > 21 {
					if ok, _ := bson.Raw(reply[21:]).Lookup("ok").AsFloat64OK(); ok == 1 {
						t.Errorf("answered ok: %s", bson.Raw(reply[21:]))
					}
				}
			}
			_ = c.Close()
			alive(t, s)
		})
	}
}

// TestErrorsKeepTheConnection checks that unknown or invalid commands get their error, and that the connection stays
// open.
func TestErrorsKeepTheConnection(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := s.Dial(t)
	for _, tc := range []struct {
		cmd  bson.D
		code int32
	}{
		{bson.D{{Key: "noSuchCommand", Value: 1}}, 59},
		{bson.D{{Key: "find", Value: 1}}, 73},
		{bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: "x"}}, 14},
		{bson.D{{Key: "getMore", Value: int64(12345)}, {Key: "collection", Value: "c"}}, 43},
		{bson.D{{Key: "ping", Value: 1}, {Key: "lsid", Value: 1}}, 14},
	} {
		reply, err := c.Command("test", marshal(t, tc.cmd))
		if err != nil {
			t.Fatalf("%v: %v", tc.cmd, err)
		}
		if code, _ := reply.Lookup("code").AsInt64OK(); code != int64(tc.code) {
			t.Errorf("%v: %s, want code %d", tc.cmd, reply, tc.code)
		}
	}
}

// TestLargeDocuments checks that a result of more than 16 MB is divided into batches, and that a document of nearly
// 16 MB can be inserted.
func TestLargeDocuments(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := s.Dial(t)
	text := strings.Repeat("x", 6<<20)
	for i := range 5 {
		insert := marshal(t, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: i}, {Key: "t", Value: text}}}}})
		if reply, err := c.Command("test", insert); err != nil || reply.Lookup("ok").Double() != 1 {
			t.Fatalf("%v %v", reply, err)
		}
	}
	reply, err := c.Command("test", marshal(t, bson.D{{Key: "find", Value: "c"}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(reply) > 16<<20+16<<10 {
		t.Errorf("a reply of %d bytes", len(reply))
	}
	values, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	if len(values) != 2 || reply.Lookup("cursor", "id").Int64() == 0 {
		t.Errorf("%d documents in the first batch, want 2 and an open cursor", len(values))
	}
	big := bson.D{{Key: "_id", Value: "big"}, {Key: "t", Value: strings.Repeat("y", 16<<20-64)}}
	insert := marshal(t, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{big}}})
	if reply, err := c.Command("test", insert); err != nil || fmt.Sprint(reply.Lookup("n")) == "0" || reply.Lookup("ok").Double() != 1 {
		t.Errorf("a document just below 16 MB: %v, %v", err, reply)
	}
}
