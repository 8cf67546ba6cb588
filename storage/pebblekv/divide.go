package pebblekv

import (
	"bytes"
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// Divide implements storage.Divider. The parts end where tables of one level begin, the level with most of the entries,
// and between every partSamples of the sampled keys that are not flushed. A table counts completely in each part that it
// overlaps with.
func (s *store) Divide(ctx context.Context, r storage.Range) ([]storage.Part, error) {
	done, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if s.o.ReadOnly {
		return nil, nil // memtables hold writes that were replayed from the log
	}
	r = clip(r)
	if r.Empty() {
		return nil, nil
	}
	// Before the tables: a flush between moves keys into them.
	fresh, all := s.unflushed.within(r)
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(r.Start, r.End), pebble.WithProperties())
	if err != nil {
		return nil, s.translate(err)
	}
	var most uint64
	var by []pebble.SSTableInfo
	var tables []tableEntries
	for _, level := range levels {
		var entries uint64
		for i := range level {
			t := &level[i]
			if t.Virtual {
				return nil, nil // only the entries of the whole file are counted
			}
			entries += t.Properties.NumEntries
			tables = append(tables, tableEntries{t.Smallest.UserKey, t.Largest.UserKey, t.Properties.NumEntries})
		}
		if entries > most {
			most, by = entries, level
		}
	}
	var ends [][]byte
	for i := range by {
		ends = append(ends, by[i].Smallest.UserKey)
	}
	if n := len(by); n > 0 { // the tables of level 0 overlap
		last := slices.MaxFunc(by, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Largest.UserKey, b.Largest.UserKey) })
		ends = append(ends, after(last.Largest.UserKey))
	}
	for i := partSamples; i < len(fresh); i += partSamples {
		ends = append(ends, fresh[i])
	}
	return bounded(cut(r, ends), tables, fresh, all), nil
}

// partSamples is the number of sampled unflushed keys after which a part ends: about 8,000 keys.
const partSamples = 8192 / sampleEvery

// tableEntries holds the number of entries of a table, and its first and last key.
type tableEntries struct {
	first, last []byte
	n           uint64
}

// cut divides a range at the keys of ends that lie within it.
func cut(r storage.Range, ends [][]byte) (parts []storage.Part) {
	slices.SortFunc(ends, bytes.Compare)
	start := r.Start
	for _, end := range ends {
		if bytes.Compare(end, start) > 0 && bytes.Compare(end, r.End) < 0 {
			parts = append(parts, storage.Part{Range: storage.Range{Start: start, End: bytes.Clone(end)}})
			start = parts[len(parts)-1].End
		}
	}
	return append(parts, storage.Part{Range: storage.Range{Start: start, End: r.End}})
}

// bounded sets the bounds of the parts. fresh holds the sampled keys that are not flushed, sorted, all the number of
// all unflushed writes. Parts without keys are left out.
func bounded(parts []storage.Part, tables []tableEntries, fresh [][]byte, all uint64) []storage.Part {
	kept := parts[:0]
	for _, p := range parts {
		for _, t := range tables {
			if bytes.Compare(t.first, p.End) < 0 && bytes.Compare(t.last, p.Start) >= 0 {
				p.Keys += t.n
			}
		}
		from, _ := slices.BinarySearchFunc(fresh, p.Start, bytes.Compare)
		to, _ := slices.BinarySearchFunc(fresh, p.End, bytes.Compare)
		if p.Keys += min(all, unflushedBound(to-from)); p.Keys > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}
