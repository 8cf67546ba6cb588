package pebblekv

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// The engine's own keys. Callers cannot reach them, because the first byte of a caller's key is >= 0x01:
//
//	00 'f'                                       → format version, 1 byte
//	00 'l' ‖ len(stream) 2 ‖ stream ‖ ts 8 ‖ n 4  → log record; n of the last record of a commit is 2³²-1
//	00 'b'                                       → 8 bytes: marks a position for a backup, or the start of a process
//	00 'p'                                       → FollowPosition of a store that follows another one
//	00 't'                                       → 8 bytes: no commit has a later timestamp
//	00 'x' ‖ stream                              → 8 bytes: records up to here were truncated
var (
	keyFormat  = []byte{0, 'f'}
	keyCeiling = []byte{0, 't'}
	keyMark    = []byte{0, 'b'}
	keyFollow  = []byte{0, 'p'}

	logStart = []byte{0, 'l'}
	logEnd   = []byte{0, 'm'}

	userStart = []byte{0x01}
	userEnd   = []byte{0xFF}
)

// lastInCommit is the number n in the key of the last change-log record of a commit. Earlier records of the commit
// count down from it: so the difference, subtracted from the commit's timestamp, gives the record's own one.
const lastInCommit = math.MaxUint32

// appendLogKey appends the key of one change-log record to dst. ts is the timestamp of its commit, n its number in
// it.
func appendLogKey(dst, stream []byte, ts storage.Timestamp, n uint32) []byte {
	dst = filescan.AppendLogPrefix(dst, stream)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, uint64(ts)), n)
}

// family returns the common prefix of the keys of one kind: for callers' keys the first byte, for keys of the
// change log everything before the timestamp. Deleted ranges are collected per family.
func family(key []byte) string {
	if start := len(logStart) + 2; bytes.HasPrefix(key, logStart) && len(key) >= start {
		return string(key[:min(len(key), start+int(binary.BigEndian.Uint16(key[len(logStart):])))])
	}
	return string(key[:1])
}

// logKeyTimestamp returns the commit timestamp in the key of a change-log record.
func logKeyTimestamp(key []byte) storage.Timestamp {
	return storage.Timestamp(binary.BigEndian.Uint64(key[len(key)-12:]))
}

// logKeyOwn returns the own timestamp of a change-log record, computed from its key. In keys of earlier versions,
// which counted n up from 0, it returns the timestamp of the commit.
func logKeyOwn(key []byte) storage.Timestamp {
	ts, n := logKeyTimestamp(key), binary.BigEndian.Uint32(key[len(key)-4:])
	if n <= lastInCommit/2 {
		return ts
	}
	return ts - storage.Timestamp(lastInCommit-n)
}

// appendTruncatedKey appends the key of a stream's truncation mark.
func appendTruncatedKey(dst, stream []byte) []byte { return append(append(dst, 0, 'x'), stream...) }

func encodeTimestamp(ts storage.Timestamp) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(ts))
}

func decodeTimestamp(b []byte) (storage.Timestamp, error) {
	if len(b) != 8 {
		return 0, storage.ErrCorruption
	}
	return storage.Timestamp(binary.BigEndian.Uint64(b)), nil
}

// clip limits a range to callers' keys, so that no caller reads or deletes the engine's own.
func clip(r storage.Range) storage.Range {
	if len(r.Start) == 0 || r.Start[0] == 0 {
		r.Start = userStart
	}
	if r.End == nil || len(r.End) > 0 && r.End[0] == 0xFF {
		r.End = userEnd
	}
	return r
}
