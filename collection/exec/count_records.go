package exec

import (
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// countRows implements rowCounter for the rows that a skip drops at the beginning of a scan of all records of a shard
// whose number of documents is given (Source.Counts). All records together are counted without reading. More than half
// of them are counted by reading the others, from the other end of the scan.
func (s *recordScan) countRows(env *mql.Env, most int64, counted func(shard int, n int64)) (n int64, ok bool, err error) {
	all, given := s.src.Counts[s.src.Shard.ID]
	if !given || !s.bare || !s.wholeAhead() {
		return 0, false, nil
	}
	switch left := all - most; {
	case left <= 0:
		s.ranges, s.Done = nil, true
	case left < most:
		if placed, err := s.openPlaces(env); placed || err != nil {
			return 0, false, err // the last rows are not those with the last keys
		}
		if ok, err := s.startBeforeLast(env, left); !ok || err != nil {
			return 0, false, err
		}
	default:
		return 0, false, nil
	}
	if err := s.visit(env); err != nil {
		return 0, false, err
	}
	n = min(most, all)
	s.counted += n
	if counted != nil && n > 0 {
		counted(int(s.src.Shard.ID), n)
	}
	return n, true, nil
}

// wholeAhead reports whether the scan reads all records of its shard and has not begun.
func (s *recordScan) wholeAhead() bool {
	b := &s.node.Bounds
	return b.Ranges == nil && b.IDs == nil && s.node.Filter == nil && s.node.Times == nil && s.src.From == 0 && s.src.Trial == nil &&
		!s.Done && s.it == nil && !s.resume && len(s.ranges) == 1
}

// startBeforeLast lets a scan that has not begun deliver its last rows only, whose number is n. It returns false if
// there are fewer.
func (s *recordScan) startBeforeLast(env *mql.Env, n int64) (bool, error) {
	r := s.ranges[0]
	it, err := s.src.Reader.Iter(env.Context(), r, storage.IterOptions{Reverse: !s.node.Reverse, KeysOnly: true})
	if err != nil {
		return false, err
	}
	defer it.Close()
	for range n {
		if !it.Next() {
			return false, it.Err()
		}
		s.Works++
		if err := env.Tick(); err != nil {
			return false, err
		}
	}
	s.ranges[0] = from(r, it.Key(), s.node.Reverse)
	return true, nil
}
