package wreck

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/storage"
)

// AppendLogPrefix appends what the keys of all records of a stream of the engine's log
// begin with; behind it stand the time of the commit (8 bytes) and the record's place in
// it (4).
func AppendLogPrefix(dst, stream []byte) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, 0, 'l'), uint16(len(stream)))
	return append(dst, stream...)
}

// LogRange is the keys of a stream of the engine's log.
func LogRange(stream []byte) storage.Range {
	prefix := AppendLogPrefix(nil, stream)
	return storage.Range{Start: prefix, End: append(append([]byte(nil), prefix...), bytes.Repeat([]byte{0xff}, 13)...)}
}

// LogPlace is where a record of a stream stands, in order: the rest of its key.
func LogPlace(key, stream []byte) []byte { return key[len(stream)+4:] }

// LogLost is the time of the newest commit of a stream of which records may be lost with
// damaged tables, 0 if none are.
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
