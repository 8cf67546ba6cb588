package changelog

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Stream is the name of the log's main stream: all records in commit order.
var Stream = []byte("changes")

// Commands is a second stream that repeats the Command records, so that the names of collections at
// a time in the past are found without reading everything since.
var Commands = []byte("commands")

// Op is the kind of change that a record describes.
type Op uint8

// The operations. Values are stored; never renumber.
const (
	Insert  Op = 1
	Update  Op = 2 // operators or a pipeline; Delta holds the changes
	Replace Op = 3
	Delete  Op = 4
	Command Op = 5 // DDL; Doc holds the command, in the form of an oplog "c" entry
	Moved   Op = 6 // a shard was split or merged; Doc names parents and children
)

// Record is one committed change. Byte slices alias the bytes from which it was decoded.
type Record struct {
	Op         Op
	Collection keyspace.CollectionID
	Position   keyspace.Hash
	ID         []byte // id of the key of the record (see storage/keyspace), without type bits
	// Bytes is the change in size of the document: its length for an insert, minus its length for a delete, the
	// difference for others.
	Bytes int64
	Key   bson.Raw // _id and shard key of the document (Update, Replace, Delete)
	Doc   bson.Raw // the new document (Insert, Replace; Update when the collection keeps images); the entry of a Command or Moved
	Delta bson.Raw // Update: {updatedFields, removedFields, truncatedArrays, disambiguatedPaths}
	Pre   bson.Raw // the document before, when the collection keeps pre-images
	Undo  []byte   // restores the document before, if Pre is not kept: see AppendUndo
	// Session and TxnNumber identify the transaction or retryable write; a zero
	// Session means neither.
	Session   [16]byte
	TxnNumber int64
	StmtID    int32 // of the statement of a retryable write
	// Multi marks a change of a multi-document transaction. Owner is the digest of the user of Session; it is also
	// set for a retryable write.
	Multi bool
	Owner [32]byte
	// Wall is the time at which the command began, in milliseconds since 1970; 0 = unknown.
	Wall int64
}

// noOwner is the owner of the sessions of clients that have not logged in.
// Spec: driver-sessions.
var noOwner = sha256.Sum256(nil)

// Count returns the change of the number of documents.
func (r *Record) Count() int64 {
	switch r.Op {
	case Insert:
		return 1
	case Delete:
		return -1
	}
	return 0
}

const (
	version   = 1
	headerLen = 3 + 8 + 8

	flagDoc   = 1
	flagDelta = 2
	flagPre   = 4
	flagTxn   = 8
	flagKey   = 16
	flagMulti = 32
	flagWall  = 64
	flagUndo  = 128
)

// ErrFormat marks a record that cannot be read.
var ErrFormat = errors.New("changelog: unreadable record")

// Append appends the encoded record.
func (r *Record) Append(dst []byte) []byte {
	flags := byte(0)
	if len(r.Key) > 0 {
		flags |= flagKey
	}
	if len(r.Doc) > 0 {
		flags |= flagDoc
	}
	if len(r.Delta) > 0 {
		flags |= flagDelta
	}
	if len(r.Pre) > 0 {
		flags |= flagPre
	}
	if len(r.Undo) > 0 {
		flags |= flagUndo
	}
	if r.Session != [16]byte{} {
		flags |= flagTxn
		if r.Multi {
			flags |= flagMulti
		}
	}
	if r.Wall != 0 {
		flags |= flagWall
	}
	const rest = headerLen + 6*binary.MaxVarintLen64 + 16 + 32 // all fields except those that follow
	dst = slices.Grow(dst, rest+len(r.ID)+len(r.Key)+len(r.Doc)+len(r.Delta)+len(r.Pre)+len(r.Undo))
	dst = append(dst, version, byte(r.Op), flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Collection))
	dst = r.Position.Append(dst)
	dst = binary.AppendVarint(dst, r.Bytes)
	dst = appendBytes(dst, r.ID)
	if flags&flagKey != 0 {
		dst = appendBytes(dst, r.Key)
	}
	if flags&flagDoc != 0 {
		dst = appendBytes(dst, r.Doc)
	}
	if flags&flagDelta != 0 {
		dst = appendBytes(dst, r.Delta)
	}
	if flags&flagPre != 0 {
		dst = appendBytes(dst, r.Pre)
	}
	if flags&flagUndo != 0 {
		dst = appendBytes(dst, r.Undo)
	}
	if flags&flagTxn != 0 {
		dst = append(dst, r.Session[:]...)
		dst = binary.AppendVarint(dst, r.TxnNumber)
	}
	if flags&flagMulti != 0 {
		dst = append(dst, r.Owner[:]...)
	}
	if flags&flagWall != 0 {
		dst = binary.AppendVarint(dst, r.Wall)
	}
	if flags&(flagTxn|flagMulti) == flagTxn {
		if dst = binary.AppendVarint(dst, int64(r.StmtID)); r.Owner != noOwner {
			dst = append(dst, r.Owner[:]...)
		}
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Decode decodes a record, which aliases rec. Errors: ErrFormat.
func Decode(rec []byte) (r Record, err error) {
	if len(rec) < headerLen || rec[0] != version {
		return r, ErrFormat
	}
	r.Op = Op(rec[1])
	flags := rec[2]
	r.Collection = keyspace.CollectionID(binary.BigEndian.Uint64(rec[3:]))
	r.Position = keyspace.Hash(binary.BigEndian.Uint64(rec[11:]))
	rest := rec[headerLen:]
	n, k := binary.Varint(rest)
	if k <= 0 {
		return r, ErrFormat
	}
	r.Bytes, rest = n, rest[k:]
	var key, doc, delta, pre []byte
	for _, part := range []struct {
		flag byte
		to   *[]byte
	}{{0, &r.ID}, {flagKey, &key}, {flagDoc, &doc}, {flagDelta, &delta}, {flagPre, &pre}, {flagUndo, &r.Undo}} {
		if flags&part.flag != part.flag {
			continue
		}
		if *part.to, rest, err = takeBytes(rest); err != nil {
			return r, err
		}
	}
	r.Key, r.Doc, r.Delta, r.Pre = key, doc, delta, pre
	if flags&flagTxn != 0 {
		if len(rest) < 17 {
			return r, ErrFormat
		}
		copy(r.Session[:], rest)
		if r.TxnNumber, k = binary.Varint(rest[16:]); k <= 0 {
			return r, ErrFormat
		}
		rest = rest[16+k:]
	}
	if flags&flagMulti != 0 {
		if len(rest) < len(r.Owner) {
			return r, ErrFormat
		}
		r.Multi = true
		rest = rest[copy(r.Owner[:], rest):]
	}
	if flags&flagWall != 0 {
		if r.Wall, k = binary.Varint(rest); k <= 0 {
			return r, ErrFormat
		}
		rest = rest[k:]
	}
	if flags&(flagTxn|flagMulti) == flagTxn {
		r.Owner = noOwner
		if len(rest) == 0 {
			return r, nil // a record of an earlier version
		}
		stmt, k := binary.Varint(rest)
		if rest = rest[max(k, 0):]; k <= 0 || len(rest) != 0 && len(rest) != len(r.Owner) {
			return r, ErrFormat
		}
		r.StmtID = int32(stmt)
		copy(r.Owner[:], rest)
	}
	return r, nil
}

// Owner decodes only the collection of a record, so that a reader of one collection skips the records of others
// cheaply.
func Owner(rec []byte) (keyspace.CollectionID, bool) {
	_, id, ok := Peek(rec)
	return id, ok
}

// Peek decodes only the operation and the collection of a record.
func Peek(rec []byte) (Op, keyspace.CollectionID, bool) {
	if len(rec) < headerLen || rec[0] != version {
		return 0, 0, false
	}
	return Op(rec[1]), keyspace.CollectionID(binary.BigEndian.Uint64(rec[3:])), true
}

// HashAndID decodes only Position and ID of a record that Peek accepts; id aliases rec.
func HashAndID(rec []byte) (h keyspace.Hash, id []byte, ok bool) {
	_, k := binary.Varint(rec[headerLen:])
	if k <= 0 {
		return 0, nil, false
	}
	id, _, err := takeBytes(rec[headerLen+k:])
	return keyspace.Hash(binary.BigEndian.Uint64(rec[11:])), id, err == nil
}

func takeBytes(b []byte) (part, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, ErrFormat
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}
