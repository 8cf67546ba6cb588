package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/wire"
)

// serveStub answers every command with a canned reply on a free port until it gets a signal. It reads no more
// than it needs: the command's name, the number of documents of an insert, the limit of a find. With
// floorFlag it runs as a floor.
func serveStub() (err error) {
	s := &stub{document: mustMarshal(document(rand.New(rand.NewPCG(1, 1)), 1))}
	if i := slices.Index(os.Args, "--data"); slices.Contains(os.Args, floorFlag) && i > 0 {
		if s.floor, err = openFloor(os.Args[i+1]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.floor.store.Close()) }()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-end
		_ = l.Close()
	}()
	fmt.Printf("cantle ready mongodb://%s/\n", l.Addr())
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.floor != nil {
			c = wire.NewSocket(c)
		}
		go s.serve(c)
	}
}

// stub holds the canned document.
type stub struct {
	document bson.Raw
	floor    *floor // nil for the stub without documents
}

// Op codes and sizes of the wire protocol.
const (
	opReply     = 1
	opQuery     = 2004
	opMsg       = 2013
	headerBytes = 16
)

// serve answers one connection until it closes.
func (s *stub) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 64<<10)
	var frame, out []byte
	for {
		var head [headerBytes]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		size := int(binary.LittleEndian.Uint32(head[:])) - headerBytes
		if size < 0 || size > 48<<20 {
			return
		}
		if cap(frame) < size {
			frame = make([]byte, size)
		}
		frame = frame[:size]
		if _, err := io.ReadFull(in, frame); err != nil {
			return
		}
		id := int32(binary.LittleEndian.Uint32(head[4:]))
		out = append(out[:0], make([]byte, headerBytes)...)
		op := binary.LittleEndian.Uint32(head[12:])
		if op == opQuery {
			out = append(out, make([]byte, 20)...) // flags, cursor, start, number returned
			binary.LittleEndian.PutUint32(out[len(out)-4:], 1)
			out = append(out, hello()...)
			harness.PutHeader(out, 0, id, opReply)
		} else {
			out = append(out, 0, 0, 0, 0, 0)
			var err error
			if out, err = s.answer(out, frame); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			harness.PutHeader(out, 0, id, opMsg)
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// answer appends the reply to an OP_MSG frame without its header.
func (s *stub) answer(dst, frame []byte) ([]byte, error) {
	if len(frame) < 10 || frame[4] != 0 {
		return append(dst, okReply()...), nil
	}
	size := int(binary.LittleEndian.Uint32(frame[5:]))
	if size < 5 || 5+size > len(frame) {
		return append(dst, okReply()...), nil
	}
	body, rest := bson.Raw(frame[5:5+size]), frame[5+size:]
	first, err := body.IndexErr(0)
	if err != nil {
		return append(dst, okReply()...), nil
	}
	if s.floor != nil {
		if out, known, err := s.floor.answer(dst, first.Key(), bsoncore.Document(body), rest); known {
			return out, err
		}
	}
	return append(dst, s.canned(first.Key(), body, rest)...), nil
}

// canned returns the reply of the stub without documents.
func (s *stub) canned(name string, body bson.Raw, rest []byte) bson.Raw {
	switch name {
	case "hello", "isMaster", "ismaster":
		return hello()
	case "insert":
		return mustMarshal(bson.D{{Key: "n", Value: countDocuments(rest)}, {Key: "ok", Value: 1.0}})
	case "update":
		return mustMarshal(bson.D{{Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)}, {Key: "ok", Value: 1.0}})
	case "find":
		limit, ok := body.Lookup("limit").AsInt64OK()
		if !ok {
			limit = 1
		}
		batch := make(bson.A, limit)
		for i := range batch {
			batch[i] = s.document
		}
		return mustMarshal(bson.D{{Key: "cursor", Value: bson.D{
			{Key: "firstBatch", Value: batch}, {Key: "id", Value: int64(0)}, {Key: "ns", Value: "bench.usertable"},
		}}, {Key: "ok", Value: 1.0}})
	}
	return okReply()
}

// countDocuments counts the documents of the document sequences in rest.
func countDocuments(rest []byte) int32 {
	n := int32(0)
	for docs, after, ok := sequence(rest); ok; docs, after, ok = sequence(after) {
		for ; len(docs) >= 5; n++ {
			size := int(binary.LittleEndian.Uint32(docs))
			if size < 5 || size > len(docs) {
				break
			}
			docs = docs[size:]
		}
	}
	return n
}

// sequence returns the documents of the document sequence that rest begins with, and the bytes after it.
func sequence(rest []byte) (docs, after []byte, ok bool) {
	if len(rest) < 5 || rest[0] != 1 {
		return nil, nil, false
	}
	size := int(binary.LittleEndian.Uint32(rest[1:]))
	if size < 4 || 1+size > len(rest) {
		return nil, nil, false
	}
	_, docs, ok = bytes.Cut(rest[5:1+size], []byte{0}) // behind the name
	return docs, rest[1+size:], ok
}

// hello returns the handshake of a current server without sessions.
func hello() bson.Raw {
	return mustMarshal(bson.D{
		{Key: "ismaster", Value: true}, {Key: "helloOk", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
		{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "localTime", Value: time.Now()},
		{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: release.Default.MaxWireVersion()},
		{Key: "readOnly", Value: false}, {Key: "ok", Value: 1.0},
	})
}

// okReply returns the reply to everything else.
func okReply() bson.Raw { return mustMarshal(bson.D{{Key: "ok", Value: 1.0}}) }

// mustMarshal encodes a document that is known to be encodable.
func mustMarshal(d bson.D) bson.Raw {
	raw, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return raw
}
