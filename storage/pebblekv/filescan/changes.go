package filescan

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/storage"
)

// AppendLogPrefix appends to dst the prefix that all records of a stream of the change log have in their keys. In
// a key, the timestamp of the commit (8 bytes) and the number of the record within it (4) follow the prefix.
func AppendLogPrefix(dst, stream []byte) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, 0, 'l'), uint16(len(stream)))
	return append(dst, stream...)
}

// LogRange returns the range of the keys of all records in a stream of the change log.
func LogRange(stream []byte) storage.Range {
	prefix := AppendLogPrefix(nil, stream)
	return storage.Range{Start: prefix, End: append(append([]byte(nil), prefix...), bytes.Repeat([]byte{0xff}, 13)...)}
}

// LogPlace returns the position of a change-log record within its stream: the bytes of its key after the stream's
// prefix, which sort in the order of the stream.
func LogPlace(key, stream []byte) []byte { return key[len(stream)+4:] }

// LogLost returns the timestamp up to which change-log records of a stream may be lost in damaged tables: 0 if
// none are, the maximum if it is unknown.
func (f *Folder) LogLost(stream []byte) (newest uint64) {
	all := LogRange(stream)
	for i := range f.broken {
		k := f.broken[i].keys
		if k.End != nil && bytes.Compare(k.End, all.Start) <= 0 || bytes.Compare(k.Start, all.End) >= 0 {
			continue
		}
		if k.End == nil || bytes.Compare(k.End, all.End) >= 0 || len(k.End) < len(all.Start)+8 {
			return math.MaxUint64
		}
		newest = max(newest, binary.BigEndian.Uint64(k.End[len(all.Start):]))
	}
	return newest
}
