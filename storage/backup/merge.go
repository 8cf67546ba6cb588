package backup

import (
	"context"

	"github.com/cantledb/cantle/storage/pebblekv"
)

// mergeBytesMax is the maximum size in bytes of a segment made by merging consecutive ones, so that a folder does
// not have a segment for each minute of a month.
const mergeBytesMax = 64 << 20

// merge merges small consecutive segments of the timeline into larger ones. It leaves the last segment, because
// its nonce shows which data folder wrote it.
func (t *Timeline) merge(ctx context.Context) error {
	var group []*Segment
	size := int64(0)
	for i, s := range t.Segments {
		last := i == len(t.Segments)-1
		if n := len(group); n > 0 && (last || size+s.Size > mergeBytesMax || s.First != group[n-1].Next) {
			if err := t.join(ctx, group); err != nil {
				return err
			}
			group, size = nil, 0
		}
		group, size = append(group, s), size+s.Size
	}
	return nil
}

// Merging between bases: mergeTail of the newest segments, each smaller than smallBytes, become one, so that a folder
// with a segment per second has few between two bases.
const (
	mergeTail  = 64
	smallBytes = 1 << 20
)

// smallTail returns the newest segments, except for the last one, if there are mergeTail small ones without a gap.
func (t *Timeline) smallTail() []*Segment {
	end := len(t.Segments) - 1
	begin := end
	for begin > 0 && end-begin < mergeTail && t.Segments[begin-1].Size < smallBytes && (begin == end || t.Segments[begin-1].Next == t.Segments[begin].First) {
		begin--
	}
	if end-begin < mergeTail {
		return nil
	}
	return t.Segments[begin:end]
}

// join writes one segment with the writes of a group of consecutive ones, and then deletes these, the first one
// first. If the process is killed in between, the merged segment covers the remaining ones, which a later backup
// removes.
func (t *Timeline) join(ctx context.Context, group []*Segment) error {
	if len(group) < 2 {
		return nil
	}
	last := group[len(group)-1]
	w, err := t.newSegment(ctx, group[0].First, last.Next, last.Nonce)
	if err != nil {
		return err
	}
	for _, s := range group {
		if err := t.each(ctx, s, func(int64) error { return nil }, func(x pebblekv.Write) error { return w.add(x) }); err != nil {
			w.abandon()
			return err
		}
	}
	if _, err := w.finish(t, last.Time); err != nil {
		return err
	}
	for _, s := range group {
		if err := t.archive.Remove(ctx, t.segmentPath(s)); err != nil {
			return err
		}
	}
	return nil
}
