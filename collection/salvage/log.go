package salvage

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// change is the newest change of a document.
type change struct {
	doc     bson.Raw // nil if the log does not have the whole document
	deleted bool
}

// logBytesMax bounds the memory for changes from the change log.
const logBytesMax = 256 << 20

// readLog reads from the change log the newest versions of records that were in damaged tables. A version is left out
// if the log has only its changes, if a damaged part of the log may have contained a newer one, or if the
// versions already hold logBytesMax bytes of memory.
func (s *saver) readLog() error {
	s.newest = map[string]change{}
	lost := s.f.LostKeys()
	records := lost[:0:0]
	for _, r := range lost {
		if all := keyspace.PrefixRange(keyspace.RecordRange(0).Start[:1]); r.End == nil || string(r.End) > string(all.Start) && string(r.Start) < string(all.End) {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return nil
	}
	unsure := s.f.LogLost(changelog.Stream)
	size := 0
	return s.f.Scan(s.ctx, filescan.LogRange(changelog.Stream), func(e filescan.Entry) error {
		c, err := changelog.Decode(e.Value)
		if err != nil || c.Op > changelog.Delete {
			return nil
		}
		key := keyspace.AppendRecord(nil, c.Collection, c.Position, c.ID)
		if !within(key, records) {
			return nil
		}
		old := s.newest[string(key)]
		size -= len(old.doc)
		n := change{deleted: c.Op == changelog.Delete}
		if c.Op == changelog.Insert || c.Op == changelog.Replace || c.Op == changelog.Update {
			if doc, err := bson.Parse(c.Doc, bson.Limits{Bytes: bson.MaxInternalBytes}); err == nil && size < logBytesMax {
				n.doc = doc.Clone()
			}
		}
		if binary.BigEndian.Uint64(filescan.LogPlace(e.Key, changelog.Stream)) < unsure || e.Outdated {
			n = change{}
		}
		size += len(n.doc) + len(key)
		s.newest[string(key)] = n
		return nil
	})
}

// within reports whether a key is in one of the ranges.
func within(key []byte, ranges []storage.Range) bool {
	for _, r := range ranges {
		if r.Contains(key) {
			return true
		}
	}
	return false
}
