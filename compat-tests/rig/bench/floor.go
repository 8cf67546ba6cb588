package main

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// floor is the stub with documents: a lower bound for a server that stores. Each document is a row of the server's
// own engine, and a write also appends a log record for each document, in one commit that is on the disk before the
// reply. It reads and writes its sockets with the server's own code. It implements find, insert and update as the
// workloads send them, and nothing else: no query language, sessions, retries, users, partitions or prices. The
// server's cost beyond the floor is the cost of those.
type floor struct{ store storage.Store }

// floorFlag makes the stub run as a floor.
const floorFlag = "--floor"

// openFloor opens the store in a folder as the server does.
func openFloor(dir string) (*floor, error) {
	s, err := pebblekv.Open(dir, pebblekv.Options{CacheBytes: 1 << 30, Clock: time.Now})
	if err != nil {
		return nil, err
	}
	return &floor{s}, nil
}

// errOdd is the floor's error for a command that no workload sends.
var errOdd = errors.New("the floor knows the commands of the benchmark only")

// rowKey returns the key of a document by its _id.
func rowKey(coll string, id int64) []byte {
	key := make([]byte, 0, 64)
	return binary.BigEndian.AppendUint64(append(append(key, "r-"...), coll...), uint64(id))
}

// answer appends the reply to a command, whose document sequences are in rest, to dst. known is false for commands
// that need no documents: the stub answers these.
func (f *floor) answer(dst []byte, name string, body bsoncore.Document, rest []byte) (reply []byte, known bool, err error) {
	coll, _ := body.Index(0).Value().StringValueOK()
	switch name {
	case "find":
		reply, err = f.find(dst, coll, body)
	case "insert":
		reply, err = f.insert(dst, coll, rest)
	case "update":
		reply, err = f.update(dst, coll, rest)
	default:
		return dst, false, nil
	}
	return reply, true, err
}

// find answers a point read, {_id: n}, or a scan, {_id: {$gte: n}} with a limit.
func (f *floor) find(dst []byte, coll string, body bsoncore.Document) ([]byte, error) {
	ctx := context.Background()
	filter, ok := body.Lookup("filter", "_id").AsInt64OK()
	limit, scans := int64(1), false
	if !ok {
		filter, scans = body.Lookup("filter", "_id", "$gte").AsInt64OK()
		limit, ok = body.Lookup("limit").AsInt64OK()
		if !scans || !ok {
			return dst, errOdd
		}
	}
	r, err := f.store.Snapshot(ctx, 0)
	if err != nil {
		return dst, err
	}
	defer r.Close()
	whole, dst := bsoncore.AppendDocumentStart(dst)
	cursor, dst := bsoncore.AppendDocumentElementStart(dst, "cursor")
	batch, dst := bsoncore.AppendArrayElementStart(dst, "firstBatch")
	key := rowKey(coll, filter)
	if scans {
		end := append(rowKey(coll, 0)[:len(key)-8], 0xff)
		it, err := r.Iter(ctx, storage.Range{Start: key, End: end}, storage.IterOptions{})
		if err != nil {
			return dst, err
		}
		defer it.Close()
		for n := int64(0); n < limit && it.Next(); n++ {
			dst = bsoncore.AppendDocumentElement(dst, strconv.Itoa(int(n)), it.Value())
		}
		if err = it.Err(); err != nil {
			return dst, err
		}
	} else {
		dst = append(dst, byte(bsoncore.TypeEmbeddedDocument), '0', 0)
		if dst, err = r.Get(ctx, key, dst); err != nil {
			return dst, err
		}
	}
	if dst, err = bsoncore.AppendArrayEnd(dst, batch); err != nil {
		return dst, err
	}
	dst = bsoncore.AppendStringElement(bsoncore.AppendInt64Element(dst, "id", 0), "ns", "bench.usertable")
	if dst, err = bsoncore.AppendDocumentEnd(dst, cursor); err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(bsoncore.AppendDoubleElement(dst, "ok", 1), whole)
}

// insert adds the documents of a sequence.
func (f *floor) insert(dst []byte, coll string, rest []byte) ([]byte, error) {
	docs, _, ok := sequence(rest)
	if !ok {
		return dst, errOdd
	}
	n := int32(0)
	err := f.write(nil, func(t storage.Txn) error {
		for ; len(docs) > 0; n++ {
			doc, more, ok := bsoncore.ReadDocument(docs)
			id, is := doc.Lookup("_id").AsInt64OK()
			if !ok || !is {
				return errOdd
			}
			docs = more
			key := rowKey(coll, id)
			if there, err := t.Has(context.Background(), key); err != nil || there {
				return errors.Join(err, errOdd)
			}
			if err := errors.Join(t.Set(key, doc), t.AppendLog(floorLog, doc)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	return changed(dst, n, -1)
}

// floorLog is the name of the log.
var floorLog = []byte("changes")

// update sets the field of one document, for one statement {q: {_id: n}, u: {$set: {field: value}}}.
func (f *floor) update(dst []byte, coll string, rest []byte) ([]byte, error) {
	statements, _, _ := sequence(rest)
	statement, _, ok := bsoncore.ReadDocument(statements)
	id, is := statement.Lookup("q", "_id").AsInt64OK()
	set, has := statement.Lookup("u", "$set").DocumentOK()
	if !ok || !is || !has {
		return dst, errOdd
	}
	field := set.Index(0)
	key := rowKey(coll, id)
	err := f.write(key, func(t storage.Txn) error {
		old, err := t.Get(context.Background(), key, nil)
		if err != nil {
			return err
		}
		at, doc := bsoncore.AppendDocumentStart(make([]byte, 0, len(old)+len(field)))
		elements, err := bsoncore.Document(old).Elements()
		if err != nil {
			return err
		}
		before := bsoncore.Element(nil)
		for _, e := range elements {
			if e.Key() == field.Key() {
				e, before = field, e
			}
			doc = append(doc, e...)
		}
		if doc, err = bsoncore.AppendDocumentEnd(doc, at); err != nil {
			return err
		}
		return errors.Join(t.Set(key, doc), t.AppendLog(floorLog, append(append(append([]byte(nil), key...), set...), before...)))
	})
	if err != nil {
		return dst, err
	}
	return changed(dst, 1, 1)
}

// write makes one durable commit.
func (f *floor) write(latch []byte, change func(storage.Txn) error) error {
	o := storage.TxnOptions{}
	if latch != nil {
		o.Latch = [][]byte{latch}
	}
	t, err := f.store.Begin(context.Background(), o)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := change(t); err != nil {
		return err
	}
	_, err = t.Commit(context.Background(), storage.Synced)
	return err
}

// changed returns the reply to a write.
func changed(dst []byte, n, modified int32) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentStart(dst)
	dst = bsoncore.AppendInt32Element(dst, "n", n)
	if modified >= 0 {
		dst = bsoncore.AppendInt32Element(dst, "nModified", modified)
	}
	return bsoncore.AppendDocumentEnd(bsoncore.AppendDoubleElement(dst, "ok", 1), at)
}
